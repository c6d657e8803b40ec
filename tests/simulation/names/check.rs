//! After a power cut: what the drive says of regions, and what it finds, against the oracle.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use bitline::Drive;
use bitline::inside::InsideHost;
use host::search::{DataRegion, NameKind, SearchDevice, Wanted};
use nvme::NamespaceId;
use nvme::command::RegionRecord;
use nvme::query::{Pattern, Query};
use sim::Random;

use super::client::{Device, wants_space};
use super::lookups::{everything, numbers_of};
use super::shelf::Shelf;
use super::slots::{Content, Reshaping, Slot};
use super::{Counts, NameLife};

/// Bits of a search region's names that are looked at.
const BITS_LOOKED_AT: u32 = 5;

impl NameLife {
    /// Checks all slots, and holds the drive to what it says from now on.
    ///
    /// # Errors
    /// What is lost, has come back, came in part, or is not found.
    pub fn check(&mut self, drive: &mut Drive) -> Result<(), String> {
        self.slots.release_all();
        let slots = self.slots.all().to_vec();
        let (counts, mut random) = (self.counts.clone(), self.random.clone());
        let checked = drive.run(move |host| async move {
            let device = host.namespace(0, NamespaceId::new(1)).await;
            let device = SearchDevice::new(device.map_err(|error| error.to_string())?);
            for slot in &slots {
                Check {
                    slot,
                    device: &device,
                    counts: &counts,
                    random: &mut random,
                }
                .run(host.sim())
                .await?;
            }
            Ok::<_, String>(random)
        });
        self.random = checked.map_err(|error| error.to_string())??;
        Ok(())
    }
}

struct Check<'a> {
    slot: &'a Rc<Slot>,
    device: &'a Device,
    counts: &'a RefCell<Counts>,
    random: &'a mut Random,
}

fn kind_of(record: &RegionRecord) -> NameKind {
    NameKind {
        bits: record.name_bits.get().into(),
        ternary: record.ternary.get() != 0,
    }
}

impl Check<'_> {
    async fn run(&mut self, sim: &sim::Sim) -> Result<(), String> {
        let start = self.slot.first / u64::from(self.device.block().block_bytes());
        let told = self
            .device
            .report()
            .await
            .map_err(|error| error.to_string())?;
        let told: Vec<RegionRecord> = told
            .into_iter()
            .filter(|of| of.start.get() == start)
            .collect();
        let going = self.slot.going.replace(false);
        let reshaping = self.slot.reshaping.take();
        let content = self.slot.put(Content::Empty);
        let left = match content {
            _ if going && told.is_empty() => None,
            Content::Empty if told.is_empty() => None,
            Content::Empty => return Err(format!("{told:?} has come from nowhere")),
            Content::Coming(kinds) => {
                self.counts.borrow_mut().cut_short += 1;
                let there: Vec<NameKind> = told.iter().map(kind_of).collect();
                if !kinds.starts_with(&there) {
                    return Err(format!("{told:?} is there of {kinds:?}"));
                }
                self.clear(&told, sim).await?;
                None
            }
            Content::Leaving(_) if told.is_empty() => None,
            Content::There(shelf) | Content::Written(shelf) if told.is_empty() => {
                return Err(format!("{:?} is gone", shelf.region));
            }
            Content::Leaving(mut shelf) => {
                // The last search region goes first.
                self.counts.borrow_mut().cut_short += 1;
                while shelf.region.names.len() > told.len() {
                    let last = shelf.region.names.len() - 1;
                    shelf.reshape(Some(Reshaping::Without(last)), None);
                }
                Some(shelf)
            }
            Content::There(mut shelf) | Content::Written(mut shelf) => {
                let number = told.iter().find(|of| {
                    !shelf
                        .region
                        .names
                        .iter()
                        .any(|name| name.region.get() == of.region.get())
                });
                let number = number.map(|of| nvme::RegionId::new(of.region.get()));
                let reshaped = told.len() != shelf.region.names.len();
                if reshaped {
                    shelf.reshape(reshaping, number);
                }
                Some(shelf)
            }
        };
        let Some(mut shelf) = left else {
            return Ok(());
        };
        if shelf.spoiled {
            return self.clear(&told, sim).await;
        }
        let same = told.len() == shelf.region.names.len()
            && told.iter().zip(&shelf.region.names).all(|(told, name)| {
                told.region.get() == name.region.get() && kind_of(told) == name.kind
            });
        if !same {
            return Err(format!("{told:?} is told of {:?}", shelf.region.names));
        }
        self.counts.borrow_mut().checked += 1;
        self.counts.borrow_mut().cut_short += u64::from(shelf.pending().is_some());
        self.check_entries(&mut shelf, &told).await?;
        self.slot.put(Content::There(shelf));
        Ok(())
    }

    async fn clear(&self, told: &[RegionRecord], sim: &sim::Sim) -> Result<(), String> {
        for record in told.iter().rev() {
            let region = nvme::RegionId::new(record.region.get());
            loop {
                match self.device.deallocate_one(region).await {
                    Ok(()) => break,
                    Err(error) if wants_space(&error) => sim.sleep(sim::Span::from_us(500)).await,
                    Err(error) => return Err(format!("deallocate: {error}")),
                }
            }
        }
        Ok(())
    }

    async fn find(
        &self,
        region: &DataRegion,
        query: &Query,
    ) -> Result<BTreeMap<u32, Vec<u8>>, String> {
        let wanted = Wanted {
            numbers: true,
            pages: false,
        };
        let found = self.device.look_up(region, query, wanted).await;
        let found = found.map_err(|error| format!("after power-up: {error}"))?;
        let numbers = found.numbers.iter().map(|number| *number as u32);
        Ok(numbers.zip(found.iter().map(<[u8]>::to_vec)).collect())
    }

    async fn check_entries(
        &mut self,
        shelf: &mut Shelf,
        told: &[RegionRecord],
    ) -> Result<(), String> {
        let region = shelf.region.clone();
        let seen = self.find(&region, &everything(&region, 0)).await?;
        shelf.observe(&seen)?;
        shelf.changes.clear();
        for (at, field) in region.names.iter().enumerate() {
            let here = numbers_of(self.device, &region, at).await?;
            if !here.iter().eq(seen.keys()) {
                return Err(format!(
                    "search regions do not have the same entries: {} and {}",
                    here.len(),
                    seen.len()
                ));
            }
            for _ in 0..BITS_LOOKED_AT {
                let bit = self.random.below(field.kind.bits.into()) as usize;
                let (mut name, mut mask) = (
                    vec![0; field.kind.name_bytes()],
                    vec![0; field.kind.name_bytes()],
                );
                mask[bit / 8] = 1 << (bit % 8);
                if self.random.chance(0.5) {
                    name[bit / 8] = mask[bit / 8];
                }
                let pattern = Pattern::new(field.kind.bits, &name, &mask).expect("a pattern");
                let query = Query::of(field.region, pattern);
                let found = self.find(&region, &query).await?;
                let expected = shelf.find(&query);
                let all = expected.iter().all(|number| found.contains_key(number));
                if !all || (shelf.exact && found.len() != expected.len()) {
                    let differs = |number: &&u32| !expected.contains(number);
                    return Err(format!(
                        "{query:?} finds {} entries, expected {}; more: {:?}",
                        found.len(),
                        expected.len(),
                        found.keys().find(differs)
                    ));
                }
            }
        }
        let live = told[0].live.get() as usize;
        match live == seen.len() {
            true => Ok(()),
            false => Err(format!(
                "{live} entries are told to be there, and {} found",
                seen.len()
            )),
        }
    }
}
