//! What is on flash before the requests begin.

use std::collections::HashMap;

use device::ftl::Lpn;

use crate::device::MqsimDevice;
use crate::error::RunError;
use crate::random::Generator;
use crate::requests::{Range, Requests, ranges};
use crate::workload::{Addresses, FlowSource, MqsimFlow, Scenario, Synthetic};

/// A logical page that has a place on flash, and a bit for each sector that it holds.
pub(super) type Occupied = (Lpn, u64);

/// Logical pages, in the order in which they were first put there.
#[derive(Default)]
struct Pages {
    list: Vec<Occupied>,
    places: HashMap<u32, usize>,
}

impl Pages {
    fn add(&mut self, page: u32, sectors: u64) {
        match self.places.get(&page) {
            Some(place) => self.list[*place].1 |= sectors,
            None => {
                self.places.insert(page, self.list.len());
                self.list.push((Lpn(page), sectors));
            }
        }
    }
}

/// The pages that a scenario reads before it writes them, in the order in which it does. MQSim gives
/// such a page a place on flash when it is read, and takes the sectors that are read for written.
///
/// # Errors
/// A trace that cannot be read.
pub(super) fn read_before_written(
    device: &MqsimDevice,
    scenario: &Scenario,
) -> Result<Vec<Occupied>, RunError> {
    let mut flows = Vec::new();
    for (flow, range) in scenario.flows.iter().zip(ranges(device, scenario)) {
        flows.push(Requests::new(flow, range)?);
    }
    let per_page = u64::from(device.page_sectors);
    let mut seen: HashMap<u32, ()> = HashMap::new();
    let mut found = Vec::new();
    let mut more = true;
    while more {
        more = false;
        for flow in &mut flows {
            let Some(request) = flow.next(0)? else {
                continue;
            };
            more = true;
            let end = request.sector + u64::from(request.sectors);
            for page in request.sector / per_page..end.div_ceil(per_page) {
                let new = seen.insert(page as u32, ()).is_none();
                if new && request.reads {
                    let first = request.sector.max(page * per_page);
                    let last = end.min((page + 1) * per_page);
                    found.push((Lpn(page as u32), mask(first % per_page, last - first)));
                }
            }
        }
    }
    Ok(found)
}

/// `count` bits from bit `first` on; bits beyond 63 are left out.
fn mask(first: u64, count: u64) -> u64 {
    (first..(first + count).min(64)).fold(0, |mask, bit| mask | 1 << bit)
}

/// The pages that MQSim preconditions: as many as the flow's occupancy says, from the requests
/// that the flow itself will draw. Of each, the sector at which a request enters it counts as
/// written.
///
/// # Errors
/// A trace that cannot be read.
pub(super) fn preconditioned(
    device: &MqsimDevice,
    scenario: &Scenario,
) -> Result<Vec<Occupied>, RunError> {
    let mut all = Vec::new();
    for (flow, range) in scenario.flows.iter().zip(ranges(device, scenario)) {
        let mut pages = Pages::default();
        let wanted = occupied(device, flow, range);
        match &flow.source {
            FlowSource::Synthetic(synthetic) => {
                draw(device, synthetic, range, wanted, &mut pages);
            }
            FlowSource::Trace(_) => touch(device, flow, range, wanted, &mut pages)?,
        }
        all.append(&mut pages.list);
    }
    Ok(all)
}

fn occupied(device: &MqsimDevice, flow: &MqsimFlow, range: Range) -> usize {
    let pages = range.sectors() / u64::from(device.page_sectors);
    (f64::from(flow.initial_occupancy_percent) / 100.0 * pages as f64) as usize
}

/// Where requests are drawn from while a synthetic flow's pages are collected.
struct Bounds {
    least: u64,
    most: u64,
}

fn draw(
    device: &MqsimDevice,
    flow: &Synthetic,
    range: Range,
    mut wanted: usize,
    pages: &mut Pages,
) {
    let per_page = u64::from(device.page_sectors);
    let share = f64::from(flow.working_set_percent) / 100.0;
    let unit = u64::from(flow.alignment.unwrap_or(1));
    let working = range.part(share);
    let mut bounds = Bounds {
        least: working.start().next_multiple_of(unit),
        most: working.end() - 1,
    };
    let last_page = |bounds: &Bounds| (bounds.most / per_page).saturating_sub(1);
    let room = |last: u64| (last - working.start() / per_page) as usize;
    // A little more than wanted must be there to draw from, else MQSim draws from all.
    let enough = |room: usize, wanted: usize| match flow.addresses {
        Addresses::Streaming => room >= wanted,
        _ => room as f64 >= 1.1 * wanted as f64,
    };
    if !enough(room(last_page(&bounds)), wanted) {
        bounds.most = bounds.least + ((bounds.most - bounds.least) as f64 / share) as u64;
        let room = room(bounds.most / per_page);
        if !enough(room, wanted) {
            wanted = match flow.addresses {
                Addresses::Streaming => room + 1,
                _ => (room as f64 * 0.9) as usize,
            };
        }
    }
    let mut seed = flow.seed + 1;
    let mut generator = || {
        seed += 1;
        Generator::new(seed - 1)
    };
    let mut places = generator();
    let hot_cold = matches!(flow.addresses, Addresses::HotCold(_));
    let (mut hot_places, mut hot_or_cold) = if hot_cold {
        (generator(), generator())
    } else {
        (Generator::new(0), Generator::new(0))
    };
    let mut sizes = generator();
    let mut streaming = 0;
    if flow.addresses == Addresses::Streaming {
        streaming = places.between(bounds.least, bounds.most);
    }
    let hot = match flow.addresses {
        // MQSim takes a large hot region for none.
        Addresses::HotCold(hot) if hot <= 0.3 => Some(hot),
        _ => None,
    };
    let hot_end = bounds.least + ((bounds.most - bounds.least) as f64 * hot.unwrap_or(0.0)) as u64;
    let mut sweep = (hot.is_some() && room(hot_end / per_page) < wanted).then_some(bounds.least);
    while pages.list.len() < wanted {
        let size = match flow.deviation_sectors {
            None => u64::from(flow.request_sectors),
            Some(deviation) => {
                let (mean, deviation) = (f64::from(flow.request_sectors), f64::from(deviation));
                (sizes.normal(mean, deviation).ceil() as u64).max(1)
            }
        };
        let fits = |sector: u64| sector + size <= bounds.most;
        let or_first = |sector: u64, first: u64| if fits(sector) { sector } else { first };
        let sector = match (flow.addresses, hot, sweep) {
            (Addresses::Streaming, ..) => {
                let here = or_first(streaming, bounds.least);
                streaming += size;
                if streaming > bounds.most {
                    streaming = bounds.least;
                }
                streaming = streaming.next_multiple_of(unit);
                here
            }
            (_, Some(_), Some(at)) if at <= hot_end => {
                sweep = Some(at + size);
                at
            }
            (_, Some(_), Some(_)) => {
                or_first(hot_places.between(hot_end + 1, bounds.most), hot_end + 1)
            }
            (_, Some(hot), None) if hot_or_cold.unit() < hot => {
                or_first(hot_places.between(hot_end + 1, bounds.most), hot_end + 1)
            }
            (_, Some(_), None) => hot_places.between(bounds.least, hot_end),
            _ => or_first(places.between(bounds.least, bounds.most), bounds.least),
        };
        enter(per_page, range.place(sector - sector % unit), size, pages);
    }
}

/// A request touches its pages.
fn enter(per_page: u64, sector: u64, sectors: u64, pages: &mut Pages) {
    let (mut at, end) = (sector, sector + sectors);
    while at < end {
        pages.add((at / per_page) as u32, mask(at % per_page, 1));
        at = (at / per_page + 1) * per_page;
    }
}

/// The pages of a trace, then others at random.
fn touch(
    device: &MqsimDevice,
    flow: &MqsimFlow,
    range: Range,
    wanted: usize,
    pages: &mut Pages,
) -> Result<(), RunError> {
    let per_page = u64::from(device.page_sectors);
    let mut requests = Requests::new(flow, range)?;
    while let Some(request) = requests.next(0)? {
        let (mut at, end) = (request.sector, request.sector + u64::from(request.sectors));
        while at < end && pages.list.len() < wanted {
            let next = end.min((at / per_page + 1) * per_page);
            let page = (at / per_page) as u32;
            pages.add(page, mask(at % per_page, next - at));
            at = next;
        }
    }
    let mut places = Generator::new(0);
    while pages.list.len() < wanted {
        let sector = range.place(places.between(range.start(), range.end() - per_page));
        enter(per_page, sector, 1, pages);
    }
    Ok(())
}
