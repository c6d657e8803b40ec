//! What the advisor tells against what a drive then takes: a workload before vectors are placed anew, placing them, and the
//! workload afterwards.

use std::collections::BTreeMap;

use bitline::advise::{Advice, Asked, Given, Member, Placed, advise};
use bitline::inside::InsideConfig;
use bitline::{Drive, Expression, VectorId};
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
    /// Of vectors of so many pages in every plane.
    fn new(settings: &[(&str, &str)], stripes: u64) -> Placing {
        let none = [
            ("data.storage", "none"),
            ("nand.geometry.blocks_per_plane", "128"),
        ];
        let drive = open(&[settings, &none].concat());
        let geometry = &drive.config().device().nand.geometry;
        let bits = u64::from(geometry.planes()) * u64::from(geometry.page_bytes) * 8;
        Placing {
            drive,
            bits: bits * stripes,
            stored: BTreeMap::new(),
        }
    }

    /// Writes groups, vectors that are stored alike with one call.
    fn write(&mut self, groups: &[Vec<Member>], name: &str) {
        for (number, group) in groups.iter().enumerate() {
            let name = format!("{name}{number}");
            for alike in group.chunk_by(|one, next| one.inverse == next.inverse) {
                let rows = alike.iter().map(|_| vec![0; self.bits as usize / 8]);
                let group = self.drive.group(&name).expect("a name").writer();
                let group = if alike[0].inverse {
                    group.inverse()
                } else {
                    group
                };
                let written = group.write(self.bits, rows).expect("there is room");
                let members = alike.iter().zip(written);
                self.stored
                    .extend(members.map(|(member, vector)| (member.vector, vector.id)));
            }
        }
    }

    fn settle(&mut self) {
        let pause = self
            .drive
            .run(|host| async move { host.sim().sleep(Span::from_us(100_000)).await });
        pause.expect("nothing hangs");
    }

    fn spent_pj(&self) -> u64 {
        let statistics = self.drive.statistics().expect("power");
        statistics.energy.iter().map(|entry| entry.energy_pj).sum()
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
        asked.iter().fold(Taken::default(), |sum, asked| {
            let expression = asked.expression.map(|id| self.stored[&id]);
            let taken = self.taken(|placing| {
                let counted = placing.drive.query(&expression).count();
                counted.expect("the vectors are there");
            });
            sum.and(taken, asked.frequency)
        })
    }

    /// What it takes to read the vectors of new groups and to write these.
    fn replace(&mut self, advice: &Advice) -> Taken {
        let is_new = |group: &&Vec<Member>| !advice.before.groups.contains(group);
        let after: Vec<Vec<Member>> = advice.after.groups.iter().filter(is_new).cloned().collect();
        self.taken(|placing| {
            for member in after.iter().flatten() {
                let vector: Expression = placing.stored[&member.vector].into();
                let read = placing.drive.query(&vector).read();
                read.expect("it is there");
            }
            placing.write(&after, "after");
        })
    }
}

/// What a workload takes is what was told before it was placed anew and after, and what that takes itself; and no more after
/// than before.
#[test]
fn advice_holds_when_it_is_followed() {
    const WORKLOADS: u64 = 24;
    /// By how much what is told may be off.
    const OFF: f64 = 0.01;
    let mut off: Vec<String> = Vec::new();
    let mut won = 0;
    for number in 0..WORKLOADS {
        let (asked, given) = workload(number);
        let mut placing = Placing::new(DRIVES[(number / 4) as usize % DRIVES.len()], 1);
        let advice = advise(placing.drive.config(), &asked, &given).expect("plans");
        placing.write(&advice.before.groups, "before");
        let before = placing.ask(&asked);
        let replacing = placing.replace(&advice);
        let after = placing.ask(&asked);
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
        if ratios.as_flattened().iter().any(is_off) || after.time > before.time {
            off.push(format!(
                "{number}: told {ratios:.4?} of {before:?} to {after:?}"
            ));
        }
        won += u64::from(after.time < before.time);
    }
    assert!(won * 2 > WORKLOADS, "{won} are faster");
    assert!(off.is_empty(), "{}", off.join("\n"));
}
