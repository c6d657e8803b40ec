//! No platform is faster than the one that is the default: expressions of all families, homes and lengths on idle drives,
//! each answered by default and by every platform, the answers held against plain loops.

mod families;
#[path = "../support/random.rs"]
mod random;

use bitline::inside::InsideConfig;
use std::collections::BTreeMap;

use bitline::{Config, Drive, Expression, Home, Platform, VectorId};
use sim::Span;

use families::{Case, case};
use random::{Random, ones, oracle};

/// Drives of different widths, pages and rates, so that different parts are what an evaluation waits for.
const DRIVES: [&[(&str, &str)]; 6] = [
    &[],
    &[
        ("nand.geometry.page_bytes", "16384"),
        ("bits.accelerator_buffer_bytes", "262144"),
    ],
    &[
        ("nand.geometry.channels", "4"),
        ("nand.geometry.chips_per_channel", "4"),
        ("nand.geometry.page_bytes", "16384"),
        ("nand.geometry.cells_per_string", "48"),
        ("bits.accelerator_buffer_bytes", "262144"),
    ],
    &[
        ("nand.geometry.page_bytes", "4096"),
        ("nand.geometry.planes_per_die", "1"),
        ("nand.geometry.cells_per_string", "16"),
        ("bits.accelerator_buffer_bytes", "65536"),
        ("bits.accelerator_megabytes_per_second", "1500"),
        ("link.lanes", "1"),
    ],
    &[
        ("nand.geometry.page_bytes", "16384"),
        ("nand.geometry.cells_per_string", "16"),
        ("nand.mws.time", "measured"),
        ("bits.accelerator_buffer_bytes", "262144"),
        ("bits.accelerator_megabytes_per_second", "300"),
    ],
    &[
        ("nand.geometry.channels", "1"),
        ("nand.geometry.chips_per_channel", "8"),
        ("nand.geometry.page_bytes", "16384"),
        ("nand.mws.blocks_max", "1"),
        ("bits.accelerator_buffer_bytes", "262144"),
        ("channel.megabytes_per_second", "400"),
    ],
];

/// What all of them have in common: so small that vectors of some pages span stripes.
const SMALL: [(&str, &str); 11] = [
    ("nand.geometry.channels", "2"),
    ("nand.geometry.chips_per_channel", "2"),
    ("nand.geometry.planes_per_die", "2"),
    ("nand.geometry.blocks_per_plane", "200"),
    ("nand.geometry.strings_per_block", "2"),
    ("nand.geometry.cells_per_string", "8"),
    ("nand.geometry.page_bytes", "512"),
    ("frontend.block_bytes", "512"),
    ("ftl.gc.threshold_blocks", "3"),
    ("bits.compute_blocks_percent", "60"),
    ("bits.accelerator_buffer_bytes", "2048"),
];

/// Logical pages of a flash page, where it has room for so many.
const UNITS: [u32; 4] = [1, 4, 16, 2];

/// Expressions that a drive is asked.
const EXPRESSIONS: u64 = 20;

/// Drives on which another platform was faster, once.
const LOST_ONCE: [u64; 4] = [137, 415, 420, 450];

/// A drive with vectors, and what is in them.
struct Setting {
    drive: Drive,
    vectors: BTreeMap<VectorId, Vec<u8>>,
    bits: u64,
    /// How the vectors lie, in words.
    told: String,
}

impl Setting {
    fn new(number: u64, random: &mut Random) -> Setting {
        let settings = DRIVES[number as usize % DRIVES.len()];
        let preset = Config::preset("flash-cosmos").expect("a preset");
        let preset = preset.with(SMALL).expect("a legal drive");
        let config = preset
            .with(settings.iter().copied())
            .expect("a legal drive");
        let geometry = config.device().nand.geometry.clone();
        let units = UNITS[number as usize / DRIVES.len() % UNITS.len()];
        let unit = (geometry.page_bytes / units).max(config.device().frontend.block_bytes);
        let unit = [("ftl.mapping_unit_bytes", &*unit.to_string())];
        let config = config.with(unit).expect("a legal drive");
        let page_bits = u64::from(geometry.page_bytes) * 8;
        let chunks = match random.below(3) {
            0 => 1,
            1 => 1 + random.below(u64::from(geometry.planes())),
            _ => 1 + random.below(3 * u64::from(geometry.planes())),
        };
        let mut setting = Setting {
            drive: Drive::open(config).expect("a drive in memory"),
            vectors: BTreeMap::new(),
            bits: chunks * page_bits - random.below(page_bits),
            told: String::new(),
        };
        let is_spread = random.below(3) == 0;
        let groups = 1 + random.below(if is_spread { 4 } else { 8 });
        let each = 1 + random.below(24 / groups);
        for group in 0..groups {
            let home = match random.below(4) {
                _ if !is_spread => Home::ALL,
                0 => Home::ALL,
                dies => Home {
                    first: random.below(geometry.dies().into()) as u16,
                    dies: dies as u16,
                },
            };
            setting.write(group, home, random.below(2) == 0, each, random);
        }
        let unit = setting.drive.config().device().ftl.mapping_unit_bytes;
        setting.told = format!(
            "drive {number}, {chunks} chunks, units of {unit} bytes{}",
            setting.told
        );
        setting
    }

    fn write(&mut self, group: u64, home: Home, inverse: bool, count: u64, random: &mut Random) {
        let rows: Vec<Vec<u8>> = (0..count).map(|_| random.vector(self.bits)).collect();
        let group = format!("g{group}");
        let writer = self.drive.group(&group).expect("a name").at(home);
        let writer = if inverse { writer.inverse() } else { writer };
        let written = writer
            .write(self.bits, rows.clone())
            .expect("there is room");
        for (vector, row) in written.iter().zip(rows) {
            self.vectors.insert(vector.id, row);
        }
        let Home { first, dies } = home;
        self.told += &format!(
            "; {count} at {first}+{dies}{}",
            if inverse { " inverted" } else { "" }
        );
    }

    /// What was estimated of the default, and of a platform that is faster.
    fn estimates(&mut self, expression: &Expression, faster: Platform, count: bool) -> String {
        let mut of = |platform: Platform| {
            let setting = &mut *self;
            let asked = setting.drive.query(expression).on(platform);
            let told = asked.explanation(None, count).expect("it can be answered");
            let (chosen, time) = (told.chosen, told.estimate.time_ns);
            let (senses, pages) = (told.senses, told.page_transfers);
            let took = setting.time_of(expression, Some(platform), count);
            format!(
                "{chosen} of {senses} senses and {pages} pages was to take {time:.0} ns and took {took:.0}"
            )
        };
        format!("{}; {}", of(Platform::default()), of(faster))
    }

    /// How long an answer takes from now on, in nanoseconds; it has to be right.
    fn time_of(&mut self, expression: &Expression, platform: Option<Platform>, count: bool) -> f64 {
        // What is left of the answer before is over by then, erases of temporary strings included.
        let pause = self
            .drive
            .run(|host| async move { host.sim().sleep(Span::from_us(200_000)).await });
        pause.expect("nothing hangs");
        let expected = oracle(expression, &self.vectors, self.bits);
        let begin = self.drive.now();
        let asked = self.drive.query(expression);
        let asked = match platform {
            Some(platform) => asked.on(platform),
            None => asked,
        };
        let case = || format!("{platform:?}, count {count}, {}: {expression}", self.told);
        if count {
            assert_eq!(
                asked.count().expect("it can be answered"),
                ones(&expected),
                "{}",
                case()
            );
        } else {
            assert!(
                asked.read().expect("it can be answered") == expected,
                "{}",
                case()
            );
        }
        self.drive.now().since(begin).as_ns()
    }
}

/// How much longer the default takes than the fastest platform, and which that is.
fn ratio(setting: &mut Setting, expression: &Expression, count: bool) -> (f64, Platform) {
    let fastest = PLATFORMS
        .map(|platform| (setting.time_of(expression, Some(platform), count), platform))
        .into_iter()
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let (best, platform) = fastest.expect("there are platforms");
    (setting.time_of(expression, None, count) / best, platform)
}

/// All that an expression can be asked of by name.
const PLATFORMS: [Platform; 4] = [
    Platform::Host,
    Platform::InStorage,
    Platform::ParaBit,
    Platform::FlashCosmos,
];

/// The drives that so many expressions are asked of, by number, or those that the environment names.
fn drives(cases: u64) -> Vec<u64> {
    if let Ok(told) = std::env::var("BITLINE_DRIVES") {
        let numbers = told.split(',');
        return numbers
            .map(|number| number.parse().expect("a number"))
            .collect();
    }
    let first = 0..cases.div_ceil(EXPRESSIONS);
    let others = LOST_ONCE.iter().filter(|number| !first.contains(number));
    first.clone().chain(others.copied()).collect()
}

/// Asks `cases` expressions and more, and says where another platform was more than 2 % faster.
fn losses(cases: u64, seed: u64) -> Vec<String> {
    let mut losses = Vec::new();
    let (mut worst, mut families) = (0.0_f64, BTreeMap::<&str, (u32, f64)>::new());
    let mut wins = BTreeMap::<&str, u32>::new();
    let drives = drives(cases);
    let cases = drives.len() as u64 * EXPRESSIONS;
    for number in drives {
        let mut random = Random(seed << 32 | number);
        let mut setting = Setting::new(number, &mut random);
        let vectors: Vec<VectorId> = setting.vectors.keys().copied().collect();
        for _ in 0..EXPRESSIONS {
            let usable = if vectors.len() < 4 {
                None
            } else {
                Some(&vectors[..])
            };
            let (name, expression): Case = match usable {
                Some(vectors) => case(&mut random, vectors),
                None => ("random", random.expression(&vectors, 3)),
            };
            let count = random.below(2) == 0;
            let (ratio, platform) = ratio(&mut setting, &expression, count);
            worst = worst.max(ratio);
            let of_family = families.entry(name).or_default();
            *of_family = (
                of_family.0 + u32::from(ratio > 1.02),
                of_family.1.max(ratio),
            );
            *wins.entry(platform.name()).or_default() += 1;
            if ratio > 1.02 {
                let told = setting.estimates(&expression, platform, count);
                losses.push(format!(
                    "{ratio:.3} of {platform}, {name}, count {count}, {}: {expression}; {told}",
                    setting.told
                ));
            }
        }
    }
    println!(
        "{cases} cases, {} lost by more than 2 %, the worst ratio {worst:.3}",
        losses.len()
    );
    println!("fastest of those named: {wins:?}");
    for (name, (lost, worst)) in families {
        println!("{name:20} {lost:5} lost, worst {worst:.3}");
    }
    losses
}

/// `BITLINE_CASES` says how many, `BITLINE_DRIVES` which drives to look at again, by their numbers.
#[test]
fn no_platform_is_faster_than_the_default() {
    let cases = std::env::var("BITLINE_CASES").ok();
    let cases = cases.map_or(240, |cases| cases.parse().expect("a number of cases"));
    let losses = losses(cases, 8);
    assert!(losses.is_empty(), "{}", losses.join("\n"));
}
