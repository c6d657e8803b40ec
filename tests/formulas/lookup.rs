//! Lookups on a drive at rest: a sense for each slice, and a match vector for each row over its channel.

use bitline::inside::InsideHost;
use bitline::{Drive, NameKind};
use host::search::{DataRegion, SearchDevice};
use nvme::query::{Pattern, Query};
use sim::Span;

use crate::latency::timed;
use crate::model::{Model, drive};

/// A drive with entries in flash, whose names are their numbers, in so many bits.
struct Filled {
    drive: Drive,
    region: DataRegion,
}

impl Filled {
    fn new(preset: &str, page_bytes: &str, bits: u32, rows: u32) -> Filled {
        // Values end with their rows' entries; most are not written, and the drive keeps none.
        let more = [
            ("nand.geometry.page_bytes", page_bytes),
            ("frontend.block_bytes", "512"),
        ];
        let mut drive = drive(preset, &more);
        let entries = rows * 8 * page_bytes.parse::<u32>().expect("a number");
        let filled = drive.run(move |host| async move {
            let search = SearchDevice::new(host.block().clone());
            let kind = NameKind {
                bits,
                ternary: false,
            };
            let region = search.allocate(0, entries, 16, &[kind]).await;
            let region = region.expect("it fits");
            let record = |number: u32| {
                let mut record = vec![0; bits.div_ceil(8) as usize + 16];
                record[..4].copy_from_slice(&number.to_le_bytes());
                record
            };
            let records: Vec<u8> = (0..entries).flat_map(record).collect();
            let appended = search.append(&region, &records, entries).await;
            appended.expect("it fits");
            let sim = host.sim().clone();
            sim.sleep(Span::from_us(10_000_000)).await;
            Ok::<_, host::Error>(region)
        });
        let region = filled.expect("power").expect("commands");
        Filled { drive, region }
    }

    /// What counting the entries takes whose name is a number that none has: of match vectors without a match nothing goes to
    /// DRAM.
    fn count(&mut self, bits: u32, number: u32) -> u64 {
        let region = self.region.clone();
        timed(&mut self.drive, move |host| async move {
            let search = SearchDevice::new(host.block().clone());
            let mut name = vec![0; bits.div_ceil(8) as usize];
            name[..4].copy_from_slice(&number.to_le_bytes());
            let pattern = Pattern::exact(bits, &name).expect("a name");
            let query = Query::of(region.names[0].region, pattern);
            let count = search.count(&region, &query).await.expect("it is told");
            assert_eq!(count, 0);
            Ok(())
        })
    }
}

#[test]
fn a_lookup_is_a_sense_and_a_page_for_each_row_of_a_channel() {
    for (preset, channels, slices) in [("anvil-ssd-a", 8, 1), ("anvil-ssd-b", 4, 2)] {
        for rows in [1, 3, channels + 1, 2 * channels + 2] {
            let mut filled = Filled::new(preset, "4096", 60, rows);
            let model = Model::of(&filled.drive);
            let took = filled.count(60, u32::MAX);
            let of_channel = u64::from(rows.div_ceil(channels));
            let expected = formula(&model, slices, of_channel);
            assert_eq!(took, expected, "{preset}: {rows} rows");
        }
    }
}

/// A lookup of names in so many slices, in so many rows of dies of one channel, of which the first sends its vector when it
/// has sensed and the others wait for the channel.
fn formula(model: &Model, slices: u64, rows: u64) -> u64 {
    let sense = model.search_command() + 1000 * model.0.nand.latency.mws_ns;
    let vectors = rows * model.data_out(model.page_bytes());
    let work = model.firmware(model.work().plan_cycles);
    model.fetch() + work + slices * sense + vectors + model.completion()
}
