//! What ANVIL's ways to move less and to be right save and cost: the same work with a key of `search.` on and off.
//!
//! `cargo run --release --example lookup_switches`
//!
//! Names are numbers of 20 bits. Rows have as many of them as a page has bits, and lie in an otherwise empty drive; lookups
//! are of an idle one. What programming costs is counted from when the last entry of a row has been appended.

use std::fmt;

use bitline::{
    Ageing, Config, Drive, Error, Found, NameKind, NameTerm, NewStore, Pattern, Statistics, Wanted,
};

/// Those of the preset; the tests live it in small.
const PAGE_BYTES: u32 = if cfg!(test) { 1024 } else { 16_384 };
const NAME_BITS: u32 = 20;
const VALUE_BYTES: u32 = 64;
/// Rows that are looked through.
const ROWS: u32 = 2;
/// Entries that the lookups of several find: of so many that follow one another, or of so many pages.
const ALIKE: u32 = 16;
/// Cycles of cells that have been used, and names that are looked up there, each by itself.
const CYCLES: u32 = 2_500;
const ASKED: u32 = 100;

fn main() -> Result<(), Error> {
    let table = switches(PAGE_BYTES)?;
    print!("{table}");
    table.check();
    #[cfg(test)]
    tests::check_page(&table.to_string());
    Ok(())
}

/// What some work took, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Took {
    nanoseconds: f64,
    picojoules: f64,
    channels: u64,
    dram: u64,
    link: u64,
    pages: u64,
    /// Names that were not found, and entries that were found by mistake.
    missed: u64,
    mistaken: u64,
}

/// One of its figures.
#[derive(Clone, Copy, Debug)]
enum Figure {
    Time,
    Energy,
    Channels,
    Dram,
    Link,
    Pages,
    Missed,
    Mistaken,
}

/// The same work with a key on and off.
struct Switch {
    what: &'static str,
    figures: &'static [Figure],
    on: Took,
    off: Took,
}

/// All of them.
struct Table(Vec<Switch>);

/// Tries all of them, on drives with pages of so many bytes.
fn switches(page_bytes: u32) -> Result<Table, Error> {
    let mut table = Table(Vec::new());
    less_movement(page_bytes, &mut table)?;
    more_margin(page_bytes, &mut table)?;
    Ok(table)
}

/// What moves less (ANVIL 5.2).
fn less_movement(page_bytes: u32, table: &mut Table) -> Result<(), Error> {
    use Figure::{Channels, Dram, Energy, Link, Pages, Time};
    let filled = |keys: &[(&str, &str)], rows| Filled::new(page_bytes, keys, rows, 0);
    let mut usual = filled(&[], ROWS)?;
    let mut whole_vectors = filled(&[("search.early_termination", "false")], ROWS)?;
    let mut read_again = filled(&[("search.duplicate_suppression", "false")], ROWS)?;
    let by_channel = filled(&[("search.write_inversion", "false")], 1)?;
    table.add(
        "early_termination: a name that one entry of two rows has",
        &[Time, Energy, Dram],
        [usual.look_up_one()?, whole_vectors.look_up_one()?],
    );
    table.add(
        "duplicate_suppression: 16 entries that have one page of values",
        &[Time, Energy, Channels, Pages],
        [
            usual.look_up_neighbours()?,
            read_again.look_up_neighbours()?,
        ],
    );
    table.add(
        "result compaction: 16 values instead of the 16 pages that they lie in",
        &[Time, Energy, Link],
        [
            usual.look_up_scattered(false)?,
            usual.look_up_scattered(true)?,
        ],
    );
    table.add(
        "write_inversion: a row of names is programmed",
        &[Time, Energy, Channels],
        [usual.programmed, by_channel.programmed],
    );
    Ok(())
}

/// What makes lookups right (ANVIL 5.1).
fn more_margin(page_bytes: u32, table: &mut Table) -> Result<(), Error> {
    use Figure::{Energy, Missed, Mistaken, Time};
    let new = |esp| Filled::new(page_bytes, &[("search.esp", esp)], 1, 0);
    table.add(
        "esp: a row of names is programmed",
        &[Time, Energy],
        [new("true")?.programmed, new("false")?.programmed],
    );
    let worn = |esp, tuned| {
        // Values are programmed with one bit a cell, which those of worn cells are for.
        let keys = [
            ("search.esp", esp),
            ("search.voltage_tuning", tuned),
            ("ftl.mode", "slc"),
        ];
        Filled::new(page_bytes, &keys, 1, CYCLES)?.look_up_each()
    };
    let (both, tuned) = (worn("true", "true")?, worn("false", "true")?);
    let (strong, neither) = (worn("true", "false")?, worn("false", "false")?);
    let all = &[Time, Energy, Missed, Mistaken];
    let lookups = [
        (
            "esp, tuned: 100 names after 2,500 cycles, one by one",
            [both, tuned],
        ),
        ("esp, not tuned: the same", [strong, neither]),
        ("voltage_tuning with esp: the same", [both, strong]),
        ("voltage_tuning without esp: the same", [tuned, neither]),
    ];
    for (what, took) in lookups {
        table.add(what, all, took);
    }
    Ok(())
}

/// A drive with a store whose rows are programmed.
struct Filled {
    drive: Drive,
    entries: u32,
    /// What it took to program the last row.
    programmed: Took,
}

impl Filled {
    fn new(
        page_bytes: u32,
        keys: &[(&str, &str)],
        rows: u32,
        cycles: u32,
    ) -> Result<Filled, Error> {
        let bytes = page_bytes.to_string();
        let size = [
            ("nand.geometry.page_bytes", bytes.as_str()),
            ("frontend.block_bytes", "512"),
        ];
        let config = Config::preset("flash-cosmos")?.with(size)?;
        let mut drive = Drive::open(config.with(keys.iter().copied())?)?;
        drive.grow_older(&Ageing::new(0.0, 30.0).after_cycles(cycles))?;
        let entries = rows * page_bytes * 8;
        let name = NameKind {
            bits: NAME_BITS,
            ternary: false,
        };
        let store = NewStore {
            entries,
            value_bytes: VALUE_BYTES,
            names: vec![name],
            schema: Vec::new(),
        };
        drive.search().create("numbers", &store)?;
        let record = |number: u32| {
            let mut record = number.to_le_bytes()[..3].to_vec();
            record.extend(number.to_le_bytes().repeat(VALUE_BYTES as usize / 4));
            record
        };
        let last = entries - page_bytes * 8;
        for range in [0..last, last..entries - 1, entries - 1..entries] {
            let records: Vec<u8> = range.clone().flat_map(record).collect();
            let count = range.len() as u32;
            if count > 0 {
                drive.search().append("numbers", &records, count)?;
            }
            if range.end == last {
                wait_for_flash(&mut drive)?;
            }
        }
        let before = drive.statistics()?;
        wait_for_flash(&mut drive)?;
        let programmed = Took::since(&before, &drive)?;
        Ok(Filled {
            drive,
            entries,
            programmed,
        })
    }

    /// What a lookup finds of names that are `name` in the bits of `mask`, and what it takes.
    fn look_up(&mut self, name: u32, mask: u32, pages: bool) -> Result<(Found, Took), Error> {
        let bytes = |bits: u32| bits.to_le_bytes()[..3].to_vec();
        let pattern = Pattern::new(
            NAME_BITS,
            &bytes(name),
            &bytes(mask & ((1 << NAME_BITS) - 1)),
        );
        let pattern = pattern.expect("three bytes for twenty bits");
        let wanted = Wanted {
            numbers: false,
            pages,
        };
        let before = self.drive.statistics()?;
        let groups = [vec![NameTerm { name: 0, pattern }]];
        let found = self
            .drive
            .search()
            .look_up("numbers", &groups, &[], wanted)?;
        Ok((found, Took::since(&before, &self.drive)?))
    }

    fn look_up_one(&mut self) -> Result<Took, Error> {
        let (found, took) = self.look_up(self.entries / 3, u32::MAX, false)?;
        assert_eq!(found.count, 1);
        Ok(took)
    }

    /// Entries that follow one another.
    fn look_up_neighbours(&mut self) -> Result<Took, Error> {
        let (found, took) = self.look_up(5 * ALIKE, !(ALIKE - 1), false)?;
        assert_eq!(found.count, ALIKE);
        Ok(took)
    }

    /// As many as far from one another as can be, or the pages of their values.
    fn look_up_scattered(&mut self, pages: bool) -> Result<Took, Error> {
        let (found, took) = self.look_up(77, self.entries / ALIKE - 1, pages)?;
        assert_eq!(found.count, ALIKE);
        Ok(took)
    }

    /// Each of some names, one after another: what that takes in all.
    fn look_up_each(mut self) -> Result<Took, Error> {
        let before = self.drive.statistics()?;
        let (mut missed, mut mistaken) = (0, 0);
        for asked in 0..ASKED {
            let name = asked * (self.entries / ASKED);
            let (found, _) = self.look_up(name, u32::MAX, false)?;
            // The host's look at what was found: values have a copy of their name.
            let is_it = |value: &&[u8]| value[..4] == name.to_le_bytes();
            let right = found.iter().filter(is_it).count() as u64;
            missed += 1 - right;
            mistaken += u64::from(found.count) - right;
        }
        let took = Took::since(&before, &self.drive)?;
        Ok(Took {
            missed,
            mistaken,
            ..took
        })
    }
}

/// Asks again and again until no name waits in memory.
fn wait_for_flash(drive: &mut Drive) -> Result<(), Error> {
    while drive.search().report("numbers")?[0].buffered.get() > 0 {}
    Ok(())
}

impl Took {
    fn since(before: &Statistics, drive: &Drive) -> Result<Took, Error> {
        let after = drive.statistics()?;
        Ok(Took {
            nanoseconds: after.now_ns - before.now_ns,
            picojoules: (after.energy_pj - before.energy_pj) as f64,
            channels: after.channel_bytes - before.channel_bytes,
            dram: after.search.match_vector_bytes - before.search.match_vector_bytes,
            link: after.link_up_bytes - before.link_up_bytes,
            pages: after.search.value_pages_read - before.search.value_pages_read,
            missed: 0,
            mistaken: 0,
        })
    }

    fn figure(&self, figure: Figure) -> f64 {
        match figure {
            Figure::Time => self.nanoseconds,
            Figure::Energy => self.picojoules,
            Figure::Channels => self.channels as f64,
            Figure::Dram => self.dram as f64,
            Figure::Link => self.link as f64,
            Figure::Pages => self.pages as f64,
            Figure::Missed => self.missed as f64,
            Figure::Mistaken => self.mistaken as f64,
        }
    }
}

impl Table {
    /// Each switch saves what it is for.
    fn check(&self) {
        let [
            early,
            again,
            pages,
            inverted,
            programmed,
            both,
            untuned,
            _,
            weak,
        ] = &self.0[..]
        else {
            panic!("there are nine");
        };
        assert!(early.on.dram < early.off.dram);
        assert!(early.on.nanoseconds < early.off.nanoseconds);
        assert_eq!((again.on.pages, again.off.pages), (1, u64::from(ALIKE)));
        assert!(again.on.nanoseconds < again.off.nanoseconds);
        assert!(pages.on.link < pages.off.link && pages.on.nanoseconds < pages.off.nanoseconds);
        assert_eq!(2 * inverted.on.channels, inverted.off.channels);
        assert!(inverted.on.picojoules < inverted.off.picojoules);
        assert!(
            programmed.on.nanoseconds > programmed.off.nanoseconds,
            "margin takes time"
        );
        for strong in [both.on, untuned.on] {
            assert_eq!((strong.missed, strong.mistaken), (0, 0));
        }
        assert_eq!(weak.on.missed, 0, "voltages are raised for that");
        assert!(weak.off.missed > 0);
        assert!(weak.on.mistaken > weak.off.mistaken);
    }

    fn add(&mut self, what: &'static str, figures: &'static [Figure], [on, off]: [Took; 2]) {
        self.0.push(Switch {
            what,
            figures,
            on,
            off,
        });
    }
}

impl Figure {
    const fn name(self) -> &'static str {
        match self {
            Figure::Time => "simulated time",
            Figure::Energy => "energy",
            Figure::Channels => "over channels",
            Figure::Dram => "match vectors to DRAM",
            Figure::Link => "over the link to the host",
            Figure::Pages => "pages of values read",
            Figure::Missed => "names missed",
            Figure::Mistaken => "entries found by mistake",
        }
    }

    fn shown(self, value: f64) -> String {
        match self {
            Figure::Time => format!("{:.1} µs", value / 1e3),
            Figure::Energy => format!("{:.1} µJ", value / 1e6),
            Figure::Channels | Figure::Dram | Figure::Link => format!("{value} B"),
            Figure::Pages | Figure::Missed | Figure::Mistaken => value.to_string(),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<44}{:>12}{:>12}{:>12}",
            "search.", "on", "off", "off/on"
        )?;
        for switch in &self.0 {
            writeln!(f, "{}", switch.what)?;
            for figure in switch.figures {
                let (on, off) = (switch.on.figure(*figure), switch.off.figure(*figure));
                let times = match on {
                    0.0 => "-".to_owned(),
                    on => format!("{:.2}", off / on),
                };
                let (on, off) = (figure.shown(on), figure.shown(off));
                let name = figure.name();
                writeln!(f, "  {name:<42}{on:>12}{off:>12}{times:>12}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    const PAGE: &str = include_str!("../docs/model.md");
    const COMMAND: &str = "$ cargo run --release --example lookup_switches\n";

    /// What a table says of itself, without figures.
    fn lines(table: &str) -> Vec<&str> {
        let name = |line| match line {
            _ if !str::starts_with(line, "  ") => line,
            line => line[..44].trim_end(),
        };
        table.lines().map(name).collect()
    }

    /// The page has the lines of this table.
    pub(super) fn check_page(shown: &str) {
        assert!(shown.lines().all(|line| line.chars().count() <= 80));
        let page = PAGE.split(COMMAND).nth(1).expect("the page has its output");
        let printed = page.split("```").next().expect("it ends");
        assert_eq!(lines(printed), lines(shown), "docs/model.md");
    }

    #[test]
    fn runs() -> Result<(), super::Error> {
        super::main()
    }
}
