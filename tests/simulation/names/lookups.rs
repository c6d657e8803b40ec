//! Lookups, and what they must find.

use std::collections::BTreeMap;
use std::rc::Rc;

use host::search::{DataRegion, SearchError, Wanted};
use nvme::query::{Part, Pattern, Query, Term};

use super::client::{Device, NameClient};
use super::shelf::Shelf;
use super::slots::Slot;

impl NameClient {
    /// What commands look for.
    pub(super) fn query(&mut self, shelf: &Shelf, most: u64, parts: bool) -> Query {
        let term = |client: &mut NameClient| {
            let at = client.random().below(shelf.region.names.len() as u64) as usize;
            let field = &shelf.region.names[at];
            let there = client.random().below(1 + shelf.entries.len() as u64) as usize;
            let like = shelf
                .entries
                .values()
                .nth(there)
                .map(|entry| entry.names[at].clone());
            let like = like.unwrap_or_else(|| client.name(field.kind));
            let random = client.random();
            let mut bits = field.kind.bits;
            if random.chance(0.15) {
                bits = 1 + random.below(u64::from(bits) + 5) as u32;
            }
            let bytes = bits.div_ceil(8) as usize;
            let mut name = like.name().to_vec();
            name.resize(bytes, 0);
            let mut mask = vec![u8::MAX; bytes];
            match random.below(5) {
                0 | 1 => {}
                2 => random.fill(&mut mask),
                3 => {
                    mask.fill(0);
                    let bit = random.below(bits.into()) as usize;
                    mask[bit / 8] = 1 << (bit % 8);
                }
                _ => mask[0] &= random.bits() as u8,
            }
            Term {
                region: field.region,
                pattern: Pattern::new(bits, &name, &mask).expect("as many bytes as bits"),
            }
        };
        let groups = (0..1 + self.random().below(most)).map(|_| {
            let terms = 1 + self.random().below(most);
            (0..terms).map(|_| term(self)).collect::<Vec<_>>()
        });
        let groups = groups.collect::<Vec<_>>();
        let value_bytes = shelf.region.value_bytes;
        let parts = (0..u64::from(parts) * self.random().below(3)).map(|_| {
            let first = self.random().below(value_bytes.into()) as u32;
            let bytes = 1 + self.random().below((value_bytes - first).into()) as u32;
            Part { first, bytes }
        });
        let parts = parts.collect();
        Query::new(groups, parts).expect("a query")
    }

    pub(super) async fn look_up(&mut self, slot: &Rc<Slot>, device: &Device) {
        let _claim = slot.read();
        let begun = slot.with(|shelf| {
            let most = 1 + self.random().below(4);
            let query = self.query(shelf, most, true);
            (shelf.region.clone(), query, shelf.watch())
        });
        let Some((region, query, watch)) = begun else {
            return;
        };
        let generation = slot.generation.get();
        let small = self.random().chance(0.3);
        let first_bytes = match small {
            true => 8 + self.random().below(2000),
            false => 1 << 18,
        };
        let wanted = Wanted {
            numbers: true,
            pages: false,
        };
        let device = device.clone().beginning_with(first_bytes);
        let found = device.look_up(&region, &query, wanted).await;
        if slot.has_changed_since(generation) {
            return;
        }
        self.counts.borrow_mut().lookups += 1;
        let found = match found {
            Ok(found) => found,
            Err(SearchError::Expired(_)) => return,
            Err(error) => return self.complain(format!("a lookup failed: {error}")),
        };
        let numbers = found.numbers.iter().map(|number| *number as u32);
        let found: Vec<_> = numbers.zip(found.iter().map(<[u8]>::to_vec)).collect();
        self.counts.borrow_mut().found += found.len() as u64;
        let judged = slot.with(|shelf| shelf.judge(&watch, &query, &found));
        match judged {
            Some(Ok(dropped)) => self.counts.borrow_mut().dropped += dropped,
            Some(Err(wrong)) => self.complain(wrong),
            None => {}
        }
    }

    pub(super) async fn count(&mut self, slot: &Rc<Slot>, device: &Device) {
        let _claim = slot.read();
        let begun = slot.with(|shelf| {
            let query = self.query(shelf, 2, false);
            (shelf.region.clone(), query, shelf.watch())
        });
        let Some((region, query, watch)) = begun else {
            return;
        };
        let generation = slot.generation.get();
        let counted = device.count(&region, &query).await;
        if slot.has_changed_since(generation) {
            return;
        }
        let (least, most) = slot
            .with(|shelf| shelf.bounds(&watch, &query))
            .unwrap_or((0, usize::MAX));
        match counted {
            Ok(count) if (least..=most).contains(&(count as usize)) => {}
            Ok(count) => self.complain(format!("{query:?} counts {count}, not {least} to {most}")),
            Err(error) => self.complain(format!("a count failed: {error}")),
        }
    }

    /// Pages with matches; nobody changes anything meanwhile.
    pub(super) async fn look_up_pages(&mut self, slot: &Rc<Slot>, device: &Device) {
        let Some(_claim) = slot.write() else {
            return;
        };
        let begun = slot.with(|shelf| {
            let query = self.query(shelf, 2, false);
            let found = shelf.find(&query);
            (shelf.region.clone(), query, found, shelf.entries.clone())
        });
        let Some((region, query, expected, entries)) = begun else {
            return;
        };
        let unit =
            u64::from(device.block().unit_blocks()) * u64::from(device.block().block_bytes());
        let value_bytes = region.value_bytes as usize;
        let per_page = unit as u32 / region.value_bytes;
        let row_names = slot.with(|shelf| shelf.row_names).unwrap_or(1);
        let page = |number: u32| (number / row_names, number % row_names / per_page);
        let wanted = Wanted {
            numbers: true,
            pages: true,
        };
        let found = match device.look_up(&region, &query, wanted).await {
            Ok(found) => found,
            Err(SearchError::Expired(_)) => return,
            Err(error) => return self.complain(format!("a lookup of pages failed: {error}")),
        };
        let pages: BTreeMap<_, &[u8]> = found
            .numbers
            .iter()
            .map(|number| page(*number as u32))
            .zip(found.iter())
            .collect();
        let of_page = |number: &u32| {
            let content = pages.get(&page(*number))?;
            let at = (number % row_names % per_page) as usize * value_bytes;
            (content[at..at + value_bytes] == entries[number].value[..]).then_some(())
        };
        let wrong = expected.iter().find(|number| of_page(number).is_none());
        let needless = pages
            .keys()
            .find(|of| !expected.iter().any(|number| page(*number) == **of));
        if wrong.is_some() || (self.exact && needless.is_some()) {
            self.complain(format!(
                "pages of {query:?} lack {wrong:?}, and should lack {needless:?}"
            ));
        }
    }

    pub(super) async fn report(&mut self, slot: &Rc<Slot>, device: &Device) {
        let Some(_claim) = slot.write() else {
            return;
        };
        let start = slot.first / u64::from(device.block().block_bytes());
        let told = match device.report().await {
            Ok(told) => told,
            Err(error) => return self.complain(format!("report: {error}")),
        };
        let wrong = slot.with(|shelf| {
            let there: Vec<_> = told
                .iter()
                .filter(|record| record.start.get() == start)
                .collect();
            let same =
                |(record, field): (&&nvme::command::RegionRecord, &host::search::NameField)| {
                    record.region.get() == field.region.get()
                        && u32::from(record.name_bits.get()) == field.kind.bits
                        && (record.ternary.get() != 0) == field.kind.ternary
                        && record.live.get() as usize == shelf.entries.len()
                        && record.value_bytes.get() == shelf.region.value_bytes
                        && record.row_names.get() == shelf.row_names
                };
            let names = &shelf.region.names;
            let all = there.len() == names.len() && there.iter().zip(names).all(same);
            (!all).then(|| {
                format!(
                    "{there:?} is told of {names:?} with {} entries",
                    shelf.entries.len()
                )
            })
        });
        if let Some(Some(wrong)) = wrong {
            self.complain(wrong);
        }
    }
}

/// A query that finds all entries by one search region.
pub(super) fn everything(region: &DataRegion, at: usize) -> Query {
    let field = &region.names[at];
    let nothing = vec![0; field.kind.name_bytes()];
    let pattern = Pattern::new(field.kind.bits, &nothing, &nothing).expect("a pattern");
    Query::of(field.region, pattern)
}

/// The numbers of all entries, as one search region has them.
///
/// # Errors
/// What the drive says.
pub(super) async fn numbers_of(
    device: &Device,
    region: &DataRegion,
    at: usize,
) -> Result<Vec<u32>, String> {
    let wanted = Wanted {
        numbers: true,
        pages: false,
    };
    let found = device
        .look_up(region, &everything(region, at), wanted)
        .await;
    let found = found.map_err(|error| format!("all entries: {error}"))?;
    Ok(found.numbers.iter().map(|number| *number as u32).collect())
}
