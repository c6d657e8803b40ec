//! Bounds against what idle drives live through: never more, and about that where there is much to do.

use std::ops::Range;

use media::nand::{Geometry, PageAddress, PlaneId, ProgramMode};
use sim::{Simulation, Span};

use super::{Expression, Random, group};
use crate::bits::bound::{Shares, bound, bound_of_reading};
use crate::bits::classes::{Class, classes};
use crate::bits::config::RouteRule;
use crate::bits::demand::{Detail, Plans, Question, demand};
use crate::bits::engine::{Engine, Evaluator, Objective};
use crate::bits::plan::{Limits, Plan, Planner, Weights};
use crate::bits::routes::time::time_of;
use crate::bits::routes::ways::Ways;
use crate::bits::routes::{Choice, Route, Routes, routes};
use crate::bits::rows::Leaf;
use crate::cost::{AcceleratorModel, Bound, Cost, CostModel, IdleDrive, PageRead, tests};
use crate::ftl::{Lpn, Stored};
use crate::region::{Home, Layout};

/// Logical pages from the first of an operand to that of the next.
const APART: u32 = 1 << 12;
const ENGINES: [Engine; 3] = [Engine::FlashCosmos, Engine::ParaBit, Engine::InStorage];

impl Random {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }
}

/// A drive of random extent that is bound by one part or another.
fn model(random: &mut Random) -> CostModel {
    let mut model = tests::model();
    let geometry = &mut model.nand.geometry;
    geometry.blocks_per_plane = 1024;
    geometry.channels = [1, 2, 4][random.below(3) as usize];
    geometry.chips_per_channel = 1 + random.below(4) as u32;
    geometry.planes_per_die = [1, 2, 4][random.below(3) as usize];
    geometry.page_bytes = [512, 4096, 16384][random.below(3) as usize];
    let page_bytes = u64::from(geometry.page_bytes);
    model.channel.megabytes_per_second = [200.0, 1200.0][random.below(2) as usize];
    model.link.lanes = [1, 4][random.below(2) as usize];
    let planes = u64::from(geometry.planes_per_die);
    model.accelerator = AcceleratorModel {
        pages: planes * (1 + random.below(8)),
        bytes_per_second: [300_000_000, 9_600_000_000][random.below(2) as usize],
        ..model.accelerator
    };
    if random.below(3) == 0 {
        model.cores.work.fetch_cycles = 1_850;
        model.cores.work.plan_cycles = 20_000 / (16_384 / page_bytes).max(1);
        model.cores.work.complete_cycles = 794;
    }
    model
}

/// Operands of three groups, each at a home of its own or outside of the region.
pub(super) struct Operands {
    pub(super) geometry: Geometry,
    pub(super) groups: Vec<Option<(Layout, bool)>>,
}

impl Operands {
    fn new(geometry: &Geometry, random: &mut Random) -> Operands {
        let all = Layout::new(geometry.clone());
        let group = |_| {
            let first = random.below(geometry.dies().into()) as u16;
            let dies = (random.below(4) as u16).min(geometry.dies() as u16);
            let home = Home { first, dies };
            let layout = all.at(home).expect("a home of this drive");
            let inverse = random.below(2) == 0;
            (random.below(8) > 0).then_some((layout, inverse))
        };
        Operands {
            geometry: geometry.clone(),
            groups: (0..3).map(group).collect(),
        }
    }

    /// Where a chunk of an operand is, and what is read of it outside of the region: a page, or parts of pages of
    /// different planes and modes.
    fn stored(&self, leaf: Leaf, chunk: u64, reads: &mut Vec<PageRead>) -> Stored {
        let Leaf::Stored(number) = leaf else {
            panic!("not brought yet");
        };
        let geometry = &self.geometry;
        let (group, vector) = (group(leaf) as u32, number % 10);
        match &self.groups[group as usize] {
            Some((layout, inverse)) => {
                let index = group * 256 + layout.block_index(chunk) as u32;
                let block = geometry.block_of_plane(layout.plane(chunk), index);
                Stored::Placed {
                    page: layout.page(block, chunk, vector),
                    inverse: *inverse,
                }
            }
            None => {
                let planes = u64::from(geometry.planes());
                let plane = (chunk + u64::from(vector)) % planes;
                let plane = PlaneId(plane as u32);
                let block = geometry.block_of_plane(plane, 1000);
                let page = (chunk / planes) as u32;
                let first = PageAddress { block, page };
                let parts = 1 << ((chunk + u64::from(vector)) % 3);
                reads.extend((0..parts).map(|part| {
                    let plane = PlaneId((plane.0 + part) % planes as u32);
                    PageRead {
                        page: PageAddress {
                            block: geometry.block_of_plane(plane, 1000 + part),
                            page: page + part / 2,
                        },
                        mode: [ProgramMode::Tlc, ProgramMode::Esp][part as usize % 2],
                        bytes: geometry.page_bytes / parts,
                        inverse: part == 3,
                    }
                }));
                Stored::Elsewhere(Some(first))
            }
        }
    }

    /// The classes of the first chunks of what an expression names, and it over numbers of these.
    pub(super) fn classes(&self, expression: &Expression, chunks: u32) -> (Expression, Vec<Class>) {
        let names = expression.vectors();
        let place = |name: Leaf| names.binary_search(&name).expect("it is named") as u32;
        let numbered = expression.try_map(|name| Ok::<_, ()>(Leaf::Stored(place(name))));
        let numbered = numbered.expect("nothing fails");
        let first: Vec<Lpn> = (0..names.len() as u32).map(|at| Lpn(at * APART)).collect();
        let stored = |lpn: Lpn, reads: &mut Vec<PageRead>| {
            let leaf = names[(lpn.0 / APART) as usize];
            self.stored(leaf, u64::from(lpn.0 % APART), reads)
        };
        let classes = classes(stored, &self.geometry, (&first, 1), 0..chunks, |_| {});
        (numbered, classes)
    }
}

/// All ways of an engine, the one in the controller first.
fn ways(expression: &Expression, engine: Engine, class: &Class, choice: &Choice<'_>) -> Vec<Route> {
    let (weights, mut ways) = (choice.limits.weights, Ways::new(expression, class, choice));
    let mut all = vec![ways.in_controller(engine, weights)];
    if engine == Engine::FlashCosmos {
        let brought = ways.brought(weights).into_iter();
        all.extend(brought.map(|way| ways.gathered(way, weights)));
    }
    all
}

/// What evaluating classes by routes takes at least, and what it takes.
fn both(routes: &[(&Class, &Route)], question: &Question, model: &CostModel) -> (Bound, Cost) {
    let geometry = &model.nand.geometry;
    let of = |(class, _): &(&Class, &Route)| Shares::of(class, geometry);
    let shares: Vec<Shares> = routes.iter().map(of).collect();
    let plans = routes.iter().zip(&shares);
    let plans = plans.map(|((class, route), shares)| (*class, shares, route.plans()));
    let bound = bound(plans, question, model);
    let plans = routes.iter().map(|(class, route)| (*class, route.plans()));
    let demand = demand(plans, question, model, Detail::Commands);
    (bound, IdleDrive::live(demand, model))
}

/// Sorted ratios of what is about to be taken and what is.
struct Ratios(Vec<f64>);

impl Ratios {
    /// The ratio that this share of them, in percent, does not exceed.
    fn percentile(&self, percent: usize) -> f64 {
        self.0[(self.0.len() - 1) * percent / 100]
    }

    /// All ratios are within `all`, nine in ten within `most`.
    fn expect(&mut self, name: &str, all: Range<f64>, most: Range<f64>) {
        self.0.sort_by(f64::total_cmp);
        let told = [0, 5, 50, 95, 100].map(|percent| self.percentile(percent));
        println!(
            "about, {name}: {} cases, {told:.3?} at 0, 5, 50, 95, 100 percent",
            self.0.len()
        );
        assert!(
            told[0] >= all.start && told[4] < all.end,
            "{name}: {told:?}"
        );
        assert!(
            told[1] >= most.start && told[3] < most.end,
            "{name}: {told:?}"
        );
    }
}

/// Random expressions of operands at random homes and in no home, of random lengths, on random drives.
#[test]
fn bounds_are_no_more_than_what_is_lived() {
    let (mut short, mut long, mut gathered) = (Ratios(vec![]), Ratios(vec![]), Ratios(vec![]));
    let mut read = Ratios(vec![]);
    for seed in 0..400 {
        let random = &mut Random(seed);
        let model = model(random);
        let geometry = &model.nand.geometry;
        let operands = Operands::new(geometry, random);
        let expression = random.expression(4);
        let planes = u64::from(geometry.planes());
        let chunks = 1 + random.below(6 * planes);
        let (expression, classes) = operands.classes(&expression, chunks as u32);
        let page_bits = u64::from(geometry.page_bytes) * 8;
        let question = Question {
            bits: chunks * page_bits - random.below(page_bits),
            expression_bytes: random.below(200),
            count_only: random.below(2) == 0,
        };
        let choice = Choice {
            geometry,
            limits: &Limits {
                blocks_max: 4,
                weights: [Weights::SENSES_FIRST, Weights::PAGES_FIRST][random.below(2) as usize],
            },
            model: &model,
            rule: RouteRule::Fastest,
            count_only: question.count_only,
        };
        for engine in ENGINES {
            let of = |class| ways(&expression, engine, class, &choice);
            let ways: Vec<Vec<Route>> = classes.iter().map(of).collect();
            for way in 0..ways[0].len() {
                let routes = classes.iter().zip(&ways);
                let routes = routes.map(|(class, ways)| (class, &ways[way.min(ways.len() - 1)]));
                let routes: Vec<(&Class, &Route)> = routes.collect();
                let (bound, cost) = both(&routes, &question, &model);
                let gathers = routes.iter().any(|(_, route)| route.gathers());
                let case = format!("seed {seed}, {engine}, way {way}, {question:?}: {expression}");
                is_no_more(&bound, &cost, &model, &case);
                // Reads of several planes may go together.
                let reads = classes.iter().any(Class::has_pages);
                if !gathers && !reads {
                    assert_eq!(bound.channel, cost.channel, "{case}");
                }
                let about = bound.about().as_ps() as f64 / cost.time.as_ps() as f64;
                let ratios = match (gathers, chunks >= 4 * planes) {
                    (true, _) => &mut gathered,
                    (false, _) if reads => &mut read,
                    (false, true) => &mut long,
                    (false, false) => &mut short,
                };
                ratios.0.push(about);
            }
        }
    }
    long.expect("four stripes and more", 0.7..1.02, 0.8..1.01);
    short.expect("fewer", 0.6..1.25, 0.8..1.01);
    // Of the reads that wait for a die at once, more go together than follow one another, or none do.
    read.expect("pages are read", 0.5..2.1, 0.75..1.3);
    // Programs and senses of classes that are brought together on each other's dies wait for one another.
    gathered.expect("gathered", 0.45..1.4, 0.65..1.1);
}

/// What is chosen between engines takes no longer than what any of them would do, however many classes share the drive.
#[test]
fn no_engine_alone_is_faster_than_the_best() {
    let (mut alone, mut together, mut considerate) = (0, 0, 0);
    for seed in 0..300 {
        let random = &mut Random(seed);
        let model = model(random);
        let geometry = &model.nand.geometry;
        let operands = Operands::new(geometry, random);
        let expression = random.expression(4);
        let chunks = 1 + random.below(2 * u64::from(geometry.planes()));
        let (expression, classes) = operands.classes(&expression, chunks as u32);
        let choice = Choice {
            geometry,
            limits: &Limits {
                blocks_max: 4,
                weights: Weights::SENSES_FIRST,
            },
            model: &model,
            rule: RouteRule::Fastest,
            count_only: false,
        };
        let time = |by| {
            let planned = routes(&expression, by, classes.clone(), &choice);
            let of = planned.iter();
            let of = of.map(|(class, routes)| (class, &routes.chosen));
            time_of(&of.collect::<Vec<_>>(), &choice).as_ps()
        };
        let best = time(Evaluator::Best(Objective::Time));
        for engine in ENGINES {
            let other = time(Evaluator::Engine(engine));
            let case = format!("seed {seed}, {engine}, {} classes", classes.len());
            assert!(best <= other + other / 50, "{case}: {best} of {other} ps");
            let told = if classes.len() == 1 {
                &mut alone
            } else {
                &mut together
            };
            *told += u32::from(best < other);
        }
        // Each class by what would be best if the others were not there.
        let one_by_one = classes.iter().map(|class| {
            let by = Evaluator::Best(Objective::Time);
            let mut planned = routes(&expression, by, vec![class.clone()], &choice);
            planned.swap_remove(0).1.chosen
        });
        let one_by_one: Vec<Route> = one_by_one.collect();
        let each = classes.iter().zip(&one_by_one);
        let each = time_of(&each.collect::<Vec<_>>(), &choice).as_ps();
        assert!(best <= each, "seed {seed}: {best} of {each} ps");
        considerate += u32::from(best < each);
    }
    assert!(
        alone > 100 && together > 10 && considerate > 5,
        "{alone} and {together} faster, {considerate} as they are together"
    );
}

/// What the dies and channels have to do for whoever reads each operand by itself is no more than what that takes.
#[test]
fn reading_each_operand_takes_no_less_than_its_bound() {
    let mut ratios = Vec::new();
    for seed in 0..200 {
        let random = &mut Random(seed);
        let model = model(random);
        let geometry = &model.nand.geometry;
        let operands = Operands::new(geometry, random);
        let expression = random.expression(3);
        let chunks = 1 + random.below(3 * u64::from(geometry.planes()));
        let (_, classes) = operands.classes(&expression, chunks as u32);
        let bound = bound_of_reading(classes.iter(), &model);
        let question = Question {
            bits: u64::MAX,
            expression_bytes: 0,
            count_only: false,
        };
        let simulation = Simulation::new(0);
        let drive = IdleDrive::new(&simulation.handle(), &model);
        for operand in expression.vectors() {
            let (vector, classes) = operands.classes(&operand.into(), chunks as u32);
            let of = |class: &Class| Planner::new(&vector, 4, |_| class.operand(0));
            let plan =
                |class| Plan::clone(of(class).plan(Engine::InStorage, Weights::SENSES_FIRST));
            let plans: Vec<Plan> = classes.iter().map(plan).collect();
            let plans = classes.iter().zip(&plans).map(|(class, plan)| {
                let (site, brought) = (0, &[][..]);
                (
                    class,
                    Plans {
                        site,
                        brought,
                        plan,
                    },
                )
            });
            let demand = demand(plans, &question, &model, Detail::Commands);
            let read = drive.clone().carry_out(demand);
            simulation.handle().spawn_detached(read);
        }
        simulation.run();
        let (bound, took) = (bound.die.max(bound.channel), drive.cost().time);
        assert!(
            bound <= took,
            "seed {seed}: {bound} of {took}, {expression}"
        );
        ratios.push(bound.as_ps() as f64 / took.as_ps() as f64);
    }
    ratios.sort_by(f64::total_cmp);
    let middle = ratios[ratios.len() / 2];
    assert!(middle > 0.7, "{ratios:.2?}");
}

/// What several classes do not do is told as it would be if all of them did it.
#[test]
fn the_other_way_of_classes_is_told_for_all_of_them() {
    let (mut gathering, mut staying) = (0, 0);
    for seed in 0..300 {
        let random = &mut Random(seed);
        let mut model = model(random);
        model.accelerator.bytes_per_second = 30_000_000;
        let geometry = &model.nand.geometry;
        let operands = Operands::new(geometry, random);
        let expression = random.expression(4);
        let (expression, classes) = operands.classes(&expression, 2 * geometry.planes());
        let choice = Choice {
            geometry,
            limits: &Limits {
                blocks_max: 4,
                weights: Weights::SENSES_FIRST,
            },
            model: &model,
            rule: RouteRule::Fastest,
            count_only: false,
        };
        let by = Evaluator::Engine(Engine::FlashCosmos);
        let planned = routes(&expression, by, classes, &choice);
        let gathers = |(_, routes): &(Class, Routes)| routes.chosen.gathers();
        if planned.len() < 2 || planned.iter().all(|(_, routes)| routes.other.is_none()) {
            continue;
        }
        let told = planned
            .iter()
            .filter_map(|(_, routes)| routes.other.as_ref());
        let told: Vec<(bool, Option<Span>)> = told
            .map(|other| (other.gathers(), other.estimate))
            .collect();
        for wanted in [false, true] {
            let ways = planned.iter().map(|(class, routes)| {
                let all = [Some(&routes.chosen), routes.other.as_ref()];
                let mut all = all.into_iter().flatten();
                let way = all.find(|way| way.gathers() == wanted);
                (class, way.unwrap_or(&routes.chosen))
            });
            let time = time_of(&ways.collect::<Vec<_>>(), &choice);
            for (_, estimate) in told.iter().filter(|(gathers, _)| *gathers == wanted) {
                assert_eq!(*estimate, Some(time), "seed {seed}, gathers {wanted}");
            }
        }
        let some = planned.iter().any(gathers);
        *(if some { &mut gathering } else { &mut staying }) += 1;
    }
    assert!(
        gathering > 5 && staying > 5,
        "{gathering} gather and {staying} do not"
    );
}

/// No part of a bound is more than what was lived through.
fn is_no_more(bound: &Bound, cost: &Cost, model: &CostModel, case: &str) {
    let parts = [
        ("time", bound.least(), cost.time),
        ("channel", bound.channel, cost.channel),
        ("accelerator", bound.accelerator, cost.accelerator),
        ("link", bound.link, cost.link),
    ];
    for (part, bound, lived) in parts {
        assert!(bound <= lived, "{part}: {bound} of {lived}, {case}");
    }
    let (least, lived) = (bound.least_energy(model), cost.total_energy());
    assert!(least <= lived, "{least:?} of {lived:?}, {case}");
}
