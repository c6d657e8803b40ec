//! Lookups that are not simulated again take what they would have taken.

use bitline::inside::{InsideDrive, InsideHost};
use bitline::{Config, Drive, Host, NameKind, Statistics};
use host::search::{SearchDevice, Wanted};
use nvme::query::{Pattern, Query, Term};
use sim::{Random, Span};

/// Names of a row.
const ROW: u32 = 4096;
const BITS: u32 = 20;
const VALUE_BYTES: usize = 32;

/// What a life showed: the answers and when they came, what the drive counted, how often each block was sensed, and events.
struct Life {
    answers: Vec<(u64, Vec<u8>)>,
    statistics: Statistics,
    reads: Vec<u32>,
    events: u64,
}

fn record(name: u32) -> Vec<u8> {
    let mut record = name.to_le_bytes()[..3].to_vec();
    record.push(name as u8 & 0xF);
    record.resize(4 + VALUE_BYTES, name as u8);
    record
}

/// Lookups and changes of a store, one after the other, a read beside some of them.
async fn live(host: Host, seed: u64) -> Vec<(u64, Vec<u8>)> {
    let search = SearchDevice::new(host.block().clone());
    let kinds = [(BITS, false), (4, true)].map(|(bits, ternary)| NameKind { bits, ternary });
    let kinds = [
        kinds[0],
        NameKind {
            ternary: false,
            ..kinds[1]
        },
    ];
    let region = search.allocate(0, 16 * ROW, VALUE_BYTES as u32, &kinds);
    let region = region.await.expect("it fits");
    let mut random = Random::named(seed, "again");
    let mut names: Vec<u32> = Vec::new();
    let mut answers = Vec::new();
    let mut append = 3 * ROW + 100;
    for step in 0..300 {
        if append > 0 {
            let new: Vec<u32> = (0..append)
                .map(|_| match random.below(4) {
                    // Of some names there are several, of tags hundreds.
                    0 => random.below(300) as u32,
                    _ => random.below(1 << BITS) as u32,
                })
                .collect();
            let records: Vec<u8> = new.iter().flat_map(|name| record(*name)).collect();
            let appended = search.append(&region, &records, append).await;
            appended.expect("it fits");
            names.extend(new);
            host.sim().sleep(Span::from_us(20_000)).await;
            append = 0;
        }
        let name = match random.below(3) {
            0 => random.below(1 << BITS) as u32,
            _ => names[random.below(names.len() as u64) as usize],
        };
        let (bytes, tag) = (&name.to_le_bytes()[..3], [name as u8 & 0xF]);
        let exact = || Pattern::exact(BITS, bytes).expect("a name");
        let tagged = || Pattern::exact(4, &tag).expect("a name");
        let most = || Pattern::new(BITS, bytes, &[0xF0, 0xFF, 0xF]).expect("a name");
        let term = |column: usize, pattern| Term {
            region: region.names[column].region,
            pattern,
        };
        let groups = match random.below(6) {
            0 => vec![vec![term(0, most()), term(1, tagged())]],
            1 => vec![vec![term(0, most())], vec![term(0, exact())]],
            2 => vec![vec![term(1, tagged())]],
            _ => vec![vec![term(0, exact())]],
        };
        let query = Query::new(groups, Vec::new()).expect("a query");
        let beside = (step % 7 == 0).then(|| {
            let (block, sim) = (host.block().clone(), host.sim().clone());
            let (wait, lba) = (Span::from_us(random.below(60)), random.below(2000));
            host.sim().spawn(async move {
                sim.sleep(wait).await;
                block.read(lba, 1).await.expect("values are there");
            })
        });
        let answer = match random.below(4) {
            0 => search
                .count(&region, &query)
                .await
                .expect("told")
                .to_le_bytes()
                .to_vec(),
            _ => {
                let wanted = Wanted {
                    numbers: true,
                    ..Wanted::default()
                };
                let found = search.look_up(&region, &query, wanted).await.expect("told");
                found
                    .numbers
                    .iter()
                    .flat_map(|number| number.to_le_bytes())
                    .collect()
            }
        };
        answers.push((host.sim().now().as_ps(), answer));
        match random.below(40) {
            0 => append = 1 + random.below(u64::from(ROW)) as u32,
            1 => {
                let query = Query::of(region.names[0].region, exact());
                search.delete(&region, &query).await.expect("told");
                names.retain(|other| *other != name);
            }
            2 => host.sim().sleep(Span::from_us(random.below(1000))).await,
            _ => {}
        }
        if let Some(beside) = beside {
            beside.await;
        }
    }
    answers
}

fn lived(config: &Config, seed: u64, closed: bool) -> Life {
    let mut drive = Drive::open(config.clone()).expect("a drive");
    let before = drive.simulation().expect("power").events();
    let answers = if closed {
        drive.run(move |host| live(host, seed)).expect("it ends")
    } else {
        // Somebody could come from outside at any event.
        let host = drive.host().expect("power");
        let simulation = drive.simulation().expect("power");
        let task = host.sim().clone().spawn(live(host, seed));
        while !simulation.advance(&task, 1000).expect("it goes on") {}
        task.take().expect("it is over")
    };
    let events = drive.simulation().expect("power").events() - before;
    let statistics = drive.statistics().expect("power");
    let nand = drive.nand().borrow();
    let blocks = (0..nand.geometry().blocks()).map(media::nand::BlockId);
    let reads = blocks.map(|block| nand.reads_since_erase(block));
    Life {
        reads: reads.collect(),
        answers,
        statistics,
        events,
    }
}

#[test]
fn a_lookup_that_is_not_simulated_takes_what_one_would() {
    for (seed, (preset, switches)) in [
        ("anvil-ssd-a", &[][..]),
        ("anvil-ssd-b", &[]),
        ("anvil-ssd-a", &[("search.early_termination", "false")]),
        ("flash-cosmos", &[("search.capacitor", "false")]),
        ("anvil-ssd-a", &[("cores.work.examine_cycles", "700")]),
    ]
    .into_iter()
    .enumerate()
    {
        let keys = [
            ("data.storage", "none"),
            ("nand.geometry.channels", "2"),
            ("nand.geometry.chips_per_channel", "1"),
            ("nand.geometry.dies_per_chip", "2"),
            ("nand.geometry.blocks_per_plane", "64"),
            ("nand.geometry.page_bytes", "512"),
            ("frontend.block_bytes", "512"),
            ("bits.compute_blocks_percent", "40"),
            ("search.buffer_bytes", "1048576"),
        ];
        let config = Config::preset(preset).expect("a preset");
        let config = config.with(keys).expect("a possible drive");
        let config = config
            .with(switches.iter().copied())
            .expect("a possible drive");
        let [short, long] = [true, false].map(|closed| lived(&config, seed as u64, closed));
        for (step, (short, long)) in short.answers.iter().zip(&long.answers).enumerate() {
            assert_eq!(short, long, "{preset} {switches:?}, step {step}");
        }
        assert_eq!(short.statistics, long.statistics, "{preset} {switches:?}");
        assert_eq!(short.reads, long.reads, "{preset} {switches:?}");
        assert!(
            short.events + 300 < long.events,
            "{preset} {switches:?}: {} events, {} otherwise",
            short.events,
            long.events,
        );
    }
}
