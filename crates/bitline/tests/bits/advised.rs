//! What the advisor tells against what a drive then takes: a workload before vectors are placed anew, placing them, and the
//! workload afterwards.

use std::collections::BTreeMap;

use bitline::advise::{Advice, Asked, Given, Placed};
use bitline::inside::InsideConfig;
use bitline::{Drive, Expression, Move, Rows, VectorId};
use sim::Span;

use crate::{Random, open};

/// Drives that are bound by different parts.
const DRIVES: [&[(&str, &str)]; 4] = [
    &[("nand.geometry.cells_per_string", "16")],
    &[
        ("nand.geometry.channels", "8"),
        ("nand.geometry.chips_per_channel", "4"),
        ("nand.geometry.page_bytes", "16384"),
        ("nand.geometry.cells_per_string", "48"),
        ("bits.accelerator_buffer_bytes", "262144"),
    ],
    &[
        ("nand.geometry.page_bytes", "16384"),
        ("nand.geometry.cells_per_string", "16"),
        ("nand.mws.time", "measured"),
        ("bits.accelerator_buffer_bytes", "262144"),
        ("bits.accelerator_megabytes_per_second", "300"),
    ],
    &[
        ("nand.geometry.page_bytes", "4096"),
        ("nand.geometry.planes_per_die", "1"),
        ("nand.geometry.cells_per_string", "16"),
        ("bits.accelerator_buffer_bytes", "65536"),
        ("channel.megabytes_per_second", "300"),
        ("link.lanes", "1"),
    ],
];

/// Columns of a bitmap index, a few questions about each pair of them.
fn bitmap_index(columns: &[u32]) -> Vec<Expression> {
    let mut begin = 0;
    let mut asked = Vec::new();
    let mut before: Vec<std::ops::Range<u32>> = Vec::new();
    for bitmaps in columns {
        let column = begin..begin + bitmaps;
        begin = column.end;
        for other in &before {
            asked.push(Expression::And(vec![any(&column), any(other)]));
            asked.push(Expression::And(vec![any(&column), vector(other.start)]));
        }
        before.push(column);
    }
    asked
}

fn vector(number: u32) -> Expression {
    VectorId::new(0, number).into()
}

fn any(numbers: &std::ops::Range<u32>) -> Expression {
    Expression::Or(numbers.clone().map(vector).collect())
}

/// Expressions, how often each is asked, and where the vectors lie.
fn workload(number: u64) -> (Vec<Asked>, BTreeMap<VectorId, Given>) {
    let mut random = Random(number);
    let most = if number % 8 == 7 { 8 } else { 5 };
    let vectors: Vec<VectorId> = (0..most).map(|number| VectorId::new(0, number)).collect();
    let expressions = match number % 4 {
        0 => vec![any(&(0..12 + number as u32 % 16))],
        1 => bitmap_index(&[5, 4, 3]),
        _ => (0..3).map(|_| random.expression(&vectors, 3)).collect(),
    };
    let mut given = BTreeMap::new();
    for id in expressions.iter().flat_map(|asked| asked.vectors()) {
        let (group, inverse) = (random.below(3) as u32, random.below(2) == 0);
        given.insert(id, Given::new(group, inverse));
    }
    let asked = expressions
        .into_iter()
        .map(|expression| Asked::new(expression, 1 + random.below(9)));
    (asked.collect(), given)
}

/// Time and energy.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    time: Span,
    energy_pj: u64,
}

impl Taken {
    /// What is told of all that is asked, each as often as it is.
    fn told(asked: &[Asked], placed: &Placed) -> Taken {
        let costs = asked.iter().zip(&placed.costs);
        costs.fold(Taken::default(), |sum, (asked, cost)| {
            let energy_pj = cost.energy.as_pj();
            let time = cost.time;
            sum.and(Taken { time, energy_pj }, asked.frequency)
        })
    }

    fn and(self, other: Taken, times: u64) -> Taken {
        Taken {
            time: self.time + other.time * times,
            energy_pj: self.energy_pj + other.energy_pj * times,
        }
    }

    /// This as parts of another.
    fn of(self, other: Taken) -> [f64; 2] {
        let part = |of: f64, all: f64| if of == all { 1.0 } else { of / all };
        [
            part(self.time.as_ns(), other.time.as_ns()),
            part(self.energy_pj as f64, other.energy_pj as f64),
        ]
    }
}

/// A drive with a workload's vectors.
struct Placing {
    drive: Drive,
    bits: u64,
    /// By name in the workload.
    stored: BTreeMap<VectorId, VectorId>,
}

impl Placing {
    /// Of vectors of so many pages.
    fn new(settings: &[(&str, &str)], pages: u64) -> Placing {
        let none = [
            ("data.storage", "none"),
            ("nand.geometry.blocks_per_plane", "128"),
        ];
        let drive = open(&[settings, &none].concat());
        let page_bytes = drive.config().device().nand.geometry.page_bytes;
        Placing {
            drive,
            bits: u64::from(page_bytes) * 8 * pages,
            stored: BTreeMap::new(),
        }
    }

    /// Writes vectors where they are given to be.
    fn write(&mut self, asked: &[Asked], given: &BTreeMap<VectorId, Given>) {
        let named = asked.iter().flat_map(|asked| asked.expression.vectors());
        for id in named {
            if self.stored.contains_key(&id) {
                continue;
            }
            let place = given[&id];
            let group = self.drive.group(&format!("group {}", place.group));
            let mut group = group.expect("a name").writer();
            if place.inverse {
                group = group.inverse();
            }
            let row = vec![0; self.bits as usize / 8];
            let written = group.write(self.bits, [row]).expect("there is room");
            self.stored.insert(id, written[0].id);
        }
    }

    /// What is asked, of the vectors that there are.
    fn of_stored(&self, asked: &[Asked]) -> Vec<Asked> {
        let of_stored = |asked: &Asked| {
            let expression = asked.expression.map(|id| self.stored[&id]);
            Asked::new(expression, asked.frequency)
        };
        asked.iter().map(of_stored).collect()
    }

    fn advise(&mut self, asked: &[Asked]) -> Advice {
        let asked = self.of_stored(asked);
        self.drive.advise(&asked).expect("plans")
    }

    fn settle(&mut self) {
        let pause = self
            .drive
            .run(|host| async move { host.sim().sleep(Span::from_us(100_000)).await });
        pause.expect("nothing hangs");
    }

    /// What was spent, but for erasing what became empty.
    fn spent_pj(&self) -> u64 {
        let statistics = self.drive.statistics().expect("power");
        let energy = statistics.energy.iter();
        let energy = energy.filter(|entry| entry.cause != "erase");
        energy.map(|entry| entry.energy_pj).sum()
    }

    /// What something takes on a drive at rest.
    fn taken(&mut self, of: impl FnOnce(&mut Placing)) -> Taken {
        self.settle();
        let (begin, spent) = (self.drive.now(), self.spent_pj());
        of(self);
        let time = self.drive.now().since(begin);
        self.settle();
        let energy_pj = self.spent_pj() - spent;
        Taken { time, energy_pj }
    }

    /// What all that is asked takes, each as often as it is.
    fn ask(&mut self, asked: &[Asked]) -> Taken {
        let asked = self.of_stored(asked);
        asked.iter().fold(Taken::default(), |sum, asked| {
            let taken = self.taken(|placing| {
                let counted = placing.drive.query(&asked.expression).count();
                counted.expect("the vectors are there");
            });
            sum.and(taken, asked.frequency)
        })
    }

    /// What it takes to follow advice.
    fn apply(&mut self, advice: &Advice) -> Taken {
        self.taken(|placing| {
            let applied = placing.drive.apply(advice).expect("there is room");
            for id in placing.stored.values_mut() {
                *id = applied.get(id).map_or(*id, |vector| vector.id);
            }
        })
    }
}

/// By how much what is told may be off.
const OFF: f64 = 0.01;

/// What was told and what it was, of a workload over vectors of so many pages: a sentence for what is off; and whether following
/// the advice has won time.
fn followed(number: u64, pages: u64) -> (Option<String>, bool) {
    let (asked, given) = workload(number);
    let mut placing = Placing::new(DRIVES[(number / 4) as usize % DRIVES.len()], pages);
    placing.write(&asked, &given);
    let advice = placing.advise(&asked);
    let before = placing.ask(&asked);
    let replacing = placing.apply(&advice);
    let after = placing.ask(&asked);
    let again = placing.advise(&asked);
    let told = Taken {
        time: advice.replacing.time,
        energy_pj: advice.replacing.energy.as_pj(),
    };
    let ratios = [
        Taken::told(&asked, &advice.before).of(before),
        Taken::told(&asked, &advice.after).of(after),
        told.of(replacing),
    ];
    let is_off = |ratio: &f64| (ratio - 1.0).abs() > OFF;
    let is_off = ratios.as_flattened().iter().any(is_off);
    let proposes = again.new_groups().count();
    let is_slower = after.time > before.time;
    let sentence = format!(
        "{number}, {pages} pages: told {ratios:.4?} of {before:?} to {after:?}, then {proposes} groups"
    );
    let is_wrong = is_off || is_slower || proposes > 0;
    (is_wrong.then_some(sentence), after.time < before.time)
}

/// What workloads take is what was told before they were placed anew and after, and what that takes itself; it is no more after
/// than before, and nothing further is proposed then.
fn advice_holds(workloads: impl Iterator<Item = (u64, u64)>) {
    let (off, won): (Vec<_>, Vec<_>) = workloads
        .map(|(number, pages)| followed(number, pages))
        .unzip();
    let all = off.len();
    let off: Vec<String> = off.into_iter().flatten().collect();
    let won = won.into_iter().filter(|won| *won).count();
    assert!(
        off.is_empty(),
        "{} of {all}:\n{}",
        off.len(),
        off.join("\n")
    );
    assert!(won * 2 > all, "{won} of {all} are faster");
}

/// Pages in every plane of a drive.
fn planes(number: u64) -> u64 {
    let drive = open(DRIVES[(number / 4) as usize % DRIVES.len()]);
    drive.config().device().nand.geometry.planes().into()
}

#[test]
fn advice_holds_when_it_is_followed() {
    advice_holds((0..24).map(|number| (number, planes(number))));
}

/// From a page to stripes and a rest.
#[test]
fn advice_holds_for_the_length_of_the_vectors() {
    let workloads = (0..32_u64).map(|number| {
        let planes = planes(number);
        let pages = [1, planes / 2 + 1, planes * 2 + 3, planes * 11];
        (number, pages[(number / 16 + number) as usize % 4])
    });
    advice_holds(workloads);
}

/// What is freed is deallocated run by run.
#[test]
fn vectors_between_others_take_longer_to_move() {
    let all: Vec<Asked> = (0..16)
        .map(|number| Asked::new(vector(number), 1))
        .collect();
    let id = |number| VectorId::new(0, number);
    let given = (0..16).map(|number| (id(number), Given::new(0, false)));
    let given: BTreeMap<VectorId, Given> = given.collect();
    for step in [1, 2] {
        let mut placing = Placing::new(DRIVES[1], 1);
        placing.write(&all, &given);
        let some = (0..8).map(|number| vector(number * step));
        let asked = [Asked::new(some.reduce(|a, b| a | b).expect("some"), 1)];
        let advice = placing.advise(&asked);
        assert_eq!(advice.replacing.vectors, 8);
        let taken = placing.apply(&advice);
        let told = Taken {
            time: advice.replacing.time,
            energy_pj: advice.replacing.energy.as_pj(),
        };
        let ratios = told.of(taken);
        let is_off = |ratio: &f64| (ratio - 1.0).abs() > OFF;
        assert!(!ratios.iter().any(is_off), "{step}: {ratios:.4?}");
    }
}

/// A power cut leaves all vectors where they were, or has all moved.
#[test]
fn a_power_cut_moves_all_vectors_or_none() {
    let rows = [vec![0b0011_u8; 100], vec![0b0101; 100], vec![0b1001; 100]];
    let mut moved = Vec::new();
    for cut_us in (0..4000).step_by(125) {
        let mut drive = open(&[]);
        let mut before = drive
            .group("one")
            .expect("a name")
            .write(800, rows[..2].to_vec())
            .expect("room");
        before.extend(
            drive
                .group("two")
                .expect("a name")
                .write(800, rows[2..].to_vec())
                .expect("room"),
        );
        let ids: Vec<VectorId> = before.iter().map(|vector| vector.id).collect();
        let begun = drive.run(|host| async move {
            let mover = host.clone();
            let to = |ids: &[VectorId]| Move::new(ids.to_vec(), "all", Rows::new(800));
            let moves = [to(&ids[..1]), to(&ids[1..])];
            let task = host
                .sim()
                .spawn(async move { mover.move_vectors(&moves).await });
            host.sim().sleep(Span::from_us(cut_us)).await;
            drop(task);
        });
        begun.expect("it is under way");
        drive.power_cut().expect("power");
        drive.power_up().expect("it recovers");
        let groups: Vec<String> = drive
            .groups()
            .expect("groups")
            .into_iter()
            .map(|group| group.name)
            .collect();
        let is_moved = groups == ["all"];
        assert!(
            is_moved || groups == ["one", "two"],
            "{cut_us} us: {groups:?}"
        );
        let found = groups.iter().flat_map(|group| {
            let vectors = drive.group(group).expect("it is there").vectors();
            vectors.expect("it has some")
        });
        let found: Vec<_> = found.collect();
        for (vector, row) in found.iter().zip(&rows) {
            let bits = drive.query(&vector.into()).read().expect("it can be read");
            assert_eq!(&bits, row, "{cut_us} us");
        }
        assert_eq!(found.len(), rows.len());
        moved.push(is_moved);
    }
    assert!(moved.is_sorted(), "what is moved stays so");
    assert!(!moved[0] && moved[moved.len() - 1], "{moved:?}");
}

/// A vector that is overwritten twice is where it was, with other bits.
#[test]
fn what_is_overwritten_while_it_is_moved_keeps_the_new_bits() {
    for overwrites in 1..=3 {
        let mut drive = open(&[]);
        let one = drive
            .group("one")
            .expect("a name")
            .write(800, [vec![0x11; 100]]);
        let others = drive
            .group("two")
            .expect("a name")
            .write(800, vec![vec![3; 100]; 7]);
        let vectors = [one.expect("room"), others.expect("room")].concat();
        let ids: Vec<VectorId> = vectors.iter().map(|vector| vector.id).collect();
        let run = drive.run(|host| async move {
            let (mover, first) = (host.clone(), ids[0]);
            let moving = host.sim().spawn(async move {
                let all = Move::new(ids, "all", Rows::new(800));
                mover.move_vectors(&[all]).await
            });
            host.sim().sleep(Span::from_us(500)).await;
            let mut last = 0x11;
            for number in 0..overwrites {
                let row = [0xA0 + number; 100];
                match host.overwrite_vector(first, None, &row).await {
                    Ok(_) => last = row[0],
                    // It has been moved.
                    Err(error) => assert!(matches!(error, bitline::Error::NoVector(_)), "{error}"),
                }
            }
            (last, moving.await.is_ok())
        });
        let (last, is_moved) = run.expect("power");
        let mut group = drive
            .group(if is_moved { "all" } else { "one" })
            .expect("a name");
        let first = group.vectors().expect("vectors").remove(0);
        let read = drive.query(&(&first).into()).read().expect("a vector");
        assert_eq!(read, [last; 100], "{overwrites} times, moved: {is_moved}");
    }
}
