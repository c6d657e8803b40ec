//! Names that are on the drive while entries are sent to it, and lookups that have begun.

use bitline::inside::InsideHost;
use bitline::{Drive, Host};
use host::Buffer;
use host::search::{NameKind, SearchDevice, SearchError};
use nvme::command::{RegionRecord, Returned, SimpleLookup};
use nvme::{CommandId, IoCommand, RegionId, SearchCommand, Status};
use sim::Random;

use super::world::{Space, World};

/// Data regions that there are at least when a batch begins, if there is room: batches erase them all the time.
const REGIONS: usize = 6;
/// Lookups that are begun before a batch, to be gone on with.
const CURSORS: u64 = 8;

impl World {
    /// Has names kept where there are few, asks the drive for all of them, and begins lookups.
    pub(crate) fn look_for_names(&mut self, drive: &mut Drive, random: &mut Random) {
        self.report(drive);
        if self.regions.len() < REGIONS {
            for _ in self.regions.len()..REGIONS {
                let space = self.space(random);
                let (start, _) = self.pages(random, space);
                let kinds = (0..1 + random.below(2)).map(|_| NameKind {
                    bits: 1 + random.below(8) as u32,
                    ternary: random.chance(0.3),
                });
                let (kinds, value_bytes) = (kinds.collect(), 1 + random.below(4) as u32);
                let kept =
                    drive.run(move |host| keep_names(host, space, start, kinds, value_bytes));
                // Where there is another region, or no room, there is none.
                let _ = kept.expect("it has power");
            }
            self.report(drive);
        }
        self.begin_lookups(drive, random);
    }

    fn report(&mut self, drive: &mut Drive) {
        let spaces = self.spaces.clone();
        let told = drive.run(|host| async move {
            let mut regions = Vec::new();
            for space in spaces {
                let block = host.namespace(0, space.id).await?;
                let there = SearchDevice::new(block).report().await?.into_iter();
                regions.extend(there.map(|region| (space, region)));
            }
            Ok::<_, SearchError>(regions)
        });
        let told = told.expect("it has power");
        self.regions = told.expect("Search Region Report works");
    }

    /// A search region with all of its data region, itself among them, and their namespace.
    pub(crate) fn region(&self, random: &mut Random) -> Option<(Space, Vec<RegionRecord>)> {
        let at = random.below((self.regions.len() as u64).max(1)) as usize;
        let (space, region) = self.regions.get(at)?;
        let of_data = self
            .regions
            .iter()
            .filter(|(other, of)| other.id == space.id && of.start == region.start);
        Some((*space, of_data.map(|(_, region)| *region).collect()))
    }

    /// Lookups of which the drive has told a little, so that they can be gone on with.
    fn begin_lookups(&mut self, drive: &mut Drive, random: &mut Random) {
        let begun: Vec<_> = (0..CURSORS).filter_map(|_| self.region(random)).collect();
        let begun = drive.run(|host| async move {
            let queue = host.queue(0).expect("there is a queue");
            let mut cursors = Vec::new();
            for (space, regions) in begun {
                let region = RegionId::new(regions[0].region.get());
                let memory = host::Transport::memory(&queue);
                let buffer = Buffer::new(memory, regions[0].value_bytes.get().into())?;
                let all = SearchCommand::SimpleLookup(SimpleLookup {
                    namespace: space.id,
                    region,
                    returned: Returned::default(),
                    buffer_bytes: regions[0].value_bytes.get(),
                    name: [0; 16],
                    mask: [0; 16],
                    data: buffer.pointer(buffer.bytes() as u32),
                });
                let entry = IoCommand::Search(all).encode(CommandId::new(0));
                let completion = host::Transport::io(&queue, &entry).await?;
                if completion.status().is(Status::SUCCESS) && completion.dw1.get() != 0 {
                    cursors.push((space, region, completion.dw1.get()));
                }
            }
            Ok::<_, bitline::HostError>(cursors)
        });
        self.cursors = begun.expect("it has power").expect("host memory has room");
    }

    /// A lookup that could be gone on with when it was begun.
    pub(crate) fn cursor(&self, random: &mut Random) -> Option<(Space, RegionId, u32)> {
        let at = random.below((self.cursors.len() as u64).max(1)) as usize;
        self.cursors.get(at).copied()
    }
}

/// Makes a data region with a few entries.
async fn keep_names(
    host: Host,
    space: Space,
    start: nvme::Lba,
    kinds: Vec<NameKind>,
    value_bytes: u32,
) -> Result<(), SearchError> {
    let device = SearchDevice::new(host.namespace(0, space.id).await?);
    let region = device
        .allocate(start.get(), 100, value_bytes, &kinds)
        .await?;
    let records = vec![0; region.record_bytes() as usize * 20];
    device.append(&region, &records, 20).await?;
    Ok(())
}
