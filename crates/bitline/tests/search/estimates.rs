//! Estimates of lookups against what the simulation then takes and spends.

use std::collections::BTreeMap;

use bitline::inside::InsideConfig;
use bitline::{
    Config, Content, Drive, EnergyEntry, ExpectedMatches, NameKind, NameTerm, NewStore, Part,
    Pattern, Returns, Wanted,
};
use sim::Span;

use crate::tiny;

/// What is set otherwise on the tiny drive.
const SETTINGS: &[&[(&str, &str)]] = &[
    &[],
    &[("search.early_termination", "false")],
    &[("search.voltage_tuning", "false")],
    &[("search.duplicate_suppression", "false")],
    &[
        ("cores.count", "2"),
        ("cores.active_milliwatts", "200"),
        ("cores.idle_milliwatts", "2"),
        ("cores.work.fetch_cycles", "1850"),
        ("cores.work.plan_cycles", "20000"),
        ("cores.work.complete_cycles", "794"),
        ("cores.work.examine_cycles", "300"),
        ("search.early_termination", "false"),
    ],
    &[("memory.page_buffers", "64")],
    &[("data.storage", "none")],
    &[
        ("cache.mode", "write"),
        ("link.lanes", "1"),
        ("nand.mws.time", "measured"),
    ],
];

/// Bits of the names of an entry: its number, a tag that some entries share, and one longer than a string.
const NAMES: [u32; 3] = [24, 12, 130];
const VALUE_BYTES: u32 = 48;

/// A refresh of DRAM, and opening a row after it, in nanoseconds: whether a lookup meets one more is not known before.
const REFRESH_NS: f64 = 280.0 + 3.0 * 18.0;

/// How many entries have each bit of the tag. They lie evenly among all.
const TAGGED: [u64; 4] = [2, 40, 600, 2900];

/// Whether an entry is one of so many that lie evenly.
fn is_even(number: u32, entries: u32, tagged: u64) -> bool {
    let (number, entries) = (u64::from(number), u64::from(entries));
    let which = (number * tagged).div_ceil(entries);
    which < tagged && which * entries / tagged == number
}

fn names_of(number: u32, entries: u32) -> Vec<u8> {
    let bits = (0..).zip(TAGGED);
    let set = bits.filter(|(_, tagged)| is_even(number, entries, *tagged));
    let beside = u16::from(number % 1000 < 10) << TAGGED.len();
    let tag = set.fold(beside, |tag, (bit, _)| tag | 1 << bit);
    let mut names = number.to_le_bytes()[..3].to_vec();
    names.extend(tag.to_le_bytes());
    names.extend([number as u8; 17]);
    names
}

/// A drive with a store of so many entries, as many rows of which as are full are in flash.
fn filled(mut drive: Drive, entries: u32) -> Drive {
    let names = NAMES.map(|bits| NameKind {
        bits,
        ternary: false,
    });
    let store = NewStore {
        entries,
        value_bytes: VALUE_BYTES,
        names: names.to_vec(),
        schema: Vec::new(),
    };
    drive.search().create("store", &store).expect("it fits");
    let record = |number: u32| {
        let mut record = names_of(number, entries);
        record.extend([number as u8; VALUE_BYTES as usize]);
        record
    };
    for begin in (0..entries).step_by(50_000) {
        let some = begin..entries.min(begin + 50_000);
        let records: Vec<u8> = some.clone().flat_map(record).collect();
        let appended = drive.search().append("store", &records, some.len() as u32);
        appended.expect("it fits");
    }
    for _ in 0..3 {
        pass(&mut drive, 1_000_000);
        let file = Content::File { bytes: 4 };
        drive.volume().write("clock", file, b"tick").expect("room");
    }
    drive
}

fn pass(drive: &mut Drive, microseconds: u64) {
    let pause = drive.run(move |host| async move {
        host.sim().sleep(Span::from_us(microseconds)).await;
    });
    pause.expect("nothing hangs");
}

/// Energy by component and cause.
fn spent(drive: &Drive) -> BTreeMap<(String, String), u64> {
    let entries = drive.statistics().expect("power").energy.into_iter();
    let entry = |entry: EnergyEntry| ((entry.component, entry.cause), entry.energy_pj);
    entries.map(entry).collect()
}

fn term(name: usize, bytes: &[u8]) -> NameTerm {
    let pattern = Pattern::exact(NAMES[name], bytes).expect("a name");
    NameTerm { name, pattern }
}

/// Entries with a bit of the tag.
fn tagged(bit: u16) -> Vec<NameTerm> {
    let bit = (1_u16 << bit).to_le_bytes();
    let pattern = Pattern::new(NAMES[1], &bit, &bit).expect("a pattern");
    vec![NameTerm { name: 1, pattern }]
}

fn wants_pages(returns: Returns<'_>) -> bool {
    matches!(returns, Returns::Records { wanted, .. } if wanted.pages)
}

/// Carries a lookup out; how many entries it found.
fn look_up(drive: &mut Drive, groups: &[Vec<NameTerm>], returns: Returns<'_>) -> u32 {
    let mut search = drive.search();
    match returns {
        Returns::Count => search.count("store", groups),
        Returns::Records { parts, wanted } => {
            let found = search.look_up("store", groups, parts, wanted);
            found.map(|found| found.count)
        }
    }
    .expect("it can be asked")
}

/// Checks an estimate of a lookup of which so many entries are known to match, evenly: energy account by account, but for what
/// is drawn all the time, exactly; that, and time itself, within a percent. Refreshes of DRAM come when they do.
fn check(
    drive: &mut Drive,
    groups: &[Vec<NameTerm>],
    returns: Returns<'_>,
    expected: impl Into<ExpectedMatches>,
    case: &str,
) {
    let expected = expected.into();
    let ExpectedMatches { matches, .. } = expected;
    let case = format!("{case}, {expected:?}, {returns:?}");
    let told = drive.search().estimate("store", groups, returns, expected);
    let told = told.expect("it can be asked");
    pass(drive, 20);
    let (before, begin) = (spent(drive), drive.now());
    let found = look_up(drive, groups, returns);
    let took = drive.now().since(begin).as_ns();
    pass(drive, 20);
    assert!(
        u64::from(found) == matches || wants_pages(returns),
        "{case}"
    );
    let tolerance_ns = REFRESH_NS + 0.01 * took;
    let off_ns = (told.time_ns - took).abs();
    assert!(off_ns <= tolerance_ns, "{off_ns} of {took} ns of {case}");
    let milliwatts = drive.config().device().frontend.active_milliwatts as f64;
    for (account, energy) in spent(drive) {
        let spent = energy - before.get(&account).copied().unwrap_or(0);
        let mut entries = told.energy.iter();
        let entry =
            entries.find(|entry| (&entry.component, &entry.cause) == (&account.0, &account.1));
        let estimated = entry.map_or(0, |entry| entry.energy_pj);
        match account.1.as_str() {
            "active" => assert!(
                (estimated as f64 - spent as f64).abs() <= tolerance_ns * milliwatts,
                "{estimated} of {spent} pJ of {account:?} of {case}"
            ),
            "activation" => assert!(
                estimated.abs_diff(spent) <= 2 * drive.config().device().dram.activate_pj,
                "{estimated} of {spent} pJ of {account:?} of {case}"
            ),
            // It is on while time passes before and after.
            "cores" => assert!(estimated <= spent, "{account:?} of {case}"),
            _ => assert_eq!(estimated, spent, "{account:?} of {case}"),
        }
    }
}

/// Lookups of nothing, one, some and many, of one term and several, of short names and long ones.
fn check_all(drive: &mut Drive, case: &str) {
    let all = Returns::Records {
        parts: &[],
        wanted: Wanted::default(),
    };
    let parts = [
        Part { first: 8, bytes: 8 },
        Part {
            first: 40,
            bytes: 4,
        },
    ];
    let some = Returns::Records {
        parts: &parts,
        wanted: Wanted {
            numbers: true,
            pages: false,
        },
    };
    for returns in [Returns::Count, all, some] {
        let none = vec![vec![term(0, &[255; 3])]];
        check(drive, &none, returns, 0, case);
        // The first entry is where the only one is taken to be.
        check(drive, &[vec![term(0, &[0; 3])]], returns, 1, case);
        let both = vec![term(0, &[0; 3]), term(2, &[0; 17])];
        check(drive, &[both], returns, 1, case);
        let groups = [
            vec![term(2, &[1; 17]), term(0, &[2; 3])],
            vec![term(0, &[0; 3])],
        ];
        check(drive, &groups, returns, 1, case);
    }
    check(drive, &[tagged(9), tagged(8)], all, 0, case);
    let pages = Returns::Records {
        parts: &[],
        wanted: Wanted {
            numbers: false,
            pages: true,
        },
    };
    for (bit, matches) in (0..).zip(TAGGED) {
        for returns in [Returns::Count, all, some] {
            check(drive, &[tagged(bit)], returns, matches, case);
        }
        if matches < 100 {
            check(drive, &[tagged(bit)], pages, matches, case);
        }
    }
}

#[test]
fn estimates_of_lookups_are_what_the_simulation_takes_and_spends() {
    for settings in SETTINGS {
        // In memory alone; in flash, and some beside; in several waves.
        for entries in [3000, 4096 * 3 + 100, 4096 * 9 + 8] {
            let mut drive = filled(tiny(settings), entries);
            check_all(&mut drive, &format!("{settings:?}, {entries} entries"));
        }
    }
}

#[test]
fn estimates_hold_on_the_drives_of_anvil() {
    for preset in ["anvil-ssd-a", "anvil-ssd-b"] {
        for entries in [10_000, 300_000] {
            let config = Config::preset(preset).expect("a preset");
            let mut drive = filled(Drive::open(config).expect("a drive"), entries);
            check_all(&mut drive, &format!("{preset}, {entries} entries"));
        }
    }
}

#[test]
fn values_that_share_pages_are_read_as_estimated() {
    for switch in ["true", "false"] {
        let switch = &[("search.duplicate_suppression", switch)][..];
        let mut drive = filled(tiny(switch), 4000);
        let all = Returns::Records {
            parts: &[],
            wanted: Wanted::default(),
        };
        // Ten values to a page, all of four pages.
        let expected = ExpectedMatches {
            matches: 40,
            pages: Some(4),
        };
        check(&mut drive, &[tagged(4)], all, expected, "side by side");
        // All that there are, in all pages; there are no more.
        let pattern = Pattern::new(NAMES[0], &[0; 3], &[0; 3]).expect("a pattern");
        let any = vec![NameTerm { name: 0, pattern }];
        for pages in [400, 5000, 1] {
            let expected = ExpectedMatches {
                matches: 4000,
                pages: Some(pages),
            };
            check(
                &mut drive,
                std::slice::from_ref(&any),
                all,
                expected,
                "all of them",
            );
        }
    }
}

#[test]
fn what_cannot_be_looked_up_is_not_estimated() {
    let mut drive = filled(tiny(&[]), 100);
    let parts = [Part {
        first: 0,
        bytes: VALUE_BYTES + 1,
    }];
    let outside = Returns::Records {
        parts: &parts,
        wanted: Wanted::default(),
    };
    let mut search = drive.search();
    let expected = ExpectedMatches::default();
    let groups = [tagged(0)];
    assert!(
        search
            .estimate("store", &groups, outside, expected)
            .is_err()
    );
    assert!(
        search
            .estimate("other", &groups, Returns::Count, expected)
            .is_err()
    );
    // More than there are are all.
    let mut estimate = |matches| {
        let expected = ExpectedMatches {
            matches,
            pages: Some(u64::MAX),
        };
        let told = search.estimate("store", &groups, Returns::Count, expected);
        told.expect("it can be asked")
    };
    assert_eq!(estimate(100), estimate(u64::MAX));
}
