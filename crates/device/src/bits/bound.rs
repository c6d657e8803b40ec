//! The work of the parts of a drive for a route: the cost model's bound, of what plans say for the chunks of classes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use media::nand::Geometry;

use super::classes::{Class, DieShare, by_die};
use super::demand::{Plans, Question, command_of};
use super::plan::Plan;
use super::rows::Operand;
use crate::cost::{Adding, Bound, CostModel, Repeated};

/// What a page of each chunk is to dies.
type PagesAsked = Rc<[Repeated]>;

/// How the chunks of a class are shared out over dies.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    /// By site.
    of_sites: Vec<Vec<DieShare>>,
    /// By the site that asks and the site that is asked, what a page of each chunk is to the dies of the latter.
    asked: RefCell<BTreeMap<(usize, usize), PagesAsked>>,
}

impl Shares {
    /// The shares of a class.
    pub(super) fn of(class: &Class, geometry: &Geometry) -> Shares {
        let sites = 0..class.sites();
        Shares {
            of_sites: sites.map(|site| class.shares(geometry, site)).collect(),
            asked: RefCell::default(),
        }
    }

    /// How much of everything a page of each chunk is, where that is most.
    pub(super) fn extent(&self, geometry: &Geometry) -> Extent {
        let mut extent = Extent::default();
        for shares in &self.of_sites {
            let mut channels = vec![0; geometry.channels as usize];
            let mut chunks = 0;
            for share in shares {
                let pages = pages_of(share);
                extent.batches = extent.batches.max(share.batches.len() as u64);
                extent.pages_of_die = extent.pages_of_die.max(pages);
                channels[(share.die.0 / geometry.dies_per_channel()) as usize] += pages;
                chunks += pages;
            }
            let busiest = channels.into_iter().max().unwrap_or(0);
            extent.pages_of_channel = extent.pages_of_channel.max(busiest);
            extent.chunks = chunks;
        }
        extent
    }

    /// What a page of each chunk is to the dies of site `to`, asked for by those of site `from`.
    fn asked(&self, class: &Class, geometry: &Geometry, (from, to): (usize, usize)) -> PagesAsked {
        let mut asked = self.asked.borrow_mut();
        let known = asked.entry((from, to)).or_insert_with(|| {
            let mut repeated: BTreeMap<(u32, u32), u64> = BTreeMap::new();
            for share in &self.of_sites[from] {
                for batch in &share.batches {
                    if from == to {
                        *repeated
                            .entry((share.die.0, batch.len() as u32))
                            .or_default() += 1;
                        continue;
                    }
                    for of_die in by_die(geometry, batch, |place| class.plane(geometry, to, place))
                    {
                        let planes = of_die.numbers.len() as u32;
                        *repeated.entry((of_die.die.0, planes)).or_default() += 1;
                    }
                }
            }
            let repeated = repeated.into_iter();
            let repeated = repeated.map(|((die, planes), times)| Repeated { die, planes, times });
            repeated.collect()
        });
        known.clone()
    }
}

fn pages_of(share: &DieShare) -> u64 {
    share.batches.iter().map(|batch| batch.len() as u64).sum()
}

/// How much of everything a page for each chunk is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent {
    /// Batches of the busiest die.
    pub(super) batches: u64,
    /// Pages of the busiest die.
    pub(super) pages_of_die: u64,
    /// Pages of the busiest channel.
    pub(super) pages_of_channel: u64,
    /// Chunks.
    pub(super) chunks: u64,
}

/// What evaluating classes side by side has the parts do, each by its plans.
pub(super) fn bound<'a>(
    classes: impl ExactSizeIterator<Item = (&'a Class, &'a Shares, Plans<'a>)>,
    question: &Question,
    model: &CostModel,
) -> Bound {
    let mut adding = Adding::new(model);
    let mixed = classes.len() > 1;
    for (class, shares, plans) in classes {
        let mut class = OfClass {
            class,
            shares,
            site: plans.site,
            mixed,
            adding: &mut adding,
            model,
        };
        for brought in plans.brought {
            class.plan(brought, 0);
            class.programs();
        }
        class.plan(plans.plan, u64::from(question.count_only));
        if !question.count_only {
            class.result(question.bits);
        }
        adding.beside();
    }
    adding.sum()
}

/// What it has dies and channels do at least that each operand of classes is read once, by whoever wants it: pages of
/// different planes of a die go together wherever they may.
pub(super) fn bound_of_reading<'a>(
    classes: impl Iterator<Item = &'a Class>,
    model: &CostModel,
) -> Bound {
    let geometry = &model.nand.geometry;
    let mut adding = Adding::new(model);
    let mut of_planes = vec![0; geometry.planes() as usize];
    for class in classes {
        let places = 0..class.len() as u64;
        let mut of_sites = vec![0; class.sites()];
        for operand in 0..class.operands() {
            match class.operand(operand) {
                Operand::Zeroes => {}
                Operand::Row(row) if row.row_set.operand().is_some() => {
                    let reads = places.clone();
                    adding.read(reads.flat_map(|place| class.reads(operand, place)));
                }
                Operand::Row(_) => of_sites[class.site(operand)] += 1,
            }
        }
        let of_sites = of_sites.into_iter().enumerate();
        for (site, operands) in of_sites.filter(|(_, operands)| *operands > 0) {
            for place in places.clone() {
                of_planes[class.plane(geometry, site, place).0 as usize] += operands;
            }
        }
    }
    let fetched = fewest_commands(of_planes, geometry);
    adding.fetch(&fetched, false, |planes| model.sense_of_one(planes));
    adding.sum()
}

/// So many pages of each plane, by dies that bring as many at once as they can.
fn fewest_commands(mut of_planes: Vec<u64>, geometry: &Geometry) -> Vec<Repeated> {
    let mut commands = Vec::new();
    let dies = of_planes.chunks_mut(geometry.planes_per_die as usize);
    for (die, pages) in (0..).zip(dies) {
        pages.sort_unstable();
        let mut brought = 0;
        for (planes, pages) in (1..=pages.len() as u32).rev().zip(pages) {
            let times = *pages - brought;
            brought = *pages;
            commands.extend((times > 0).then_some(Repeated { die, planes, times }));
        }
    }
    commands
}

/// What a plan has the parts do if all its operands and its result are a page in every plane, and that is not sent.
pub(in crate::bits) fn bound_of_stripe(plan: &Plan, model: &CostModel) -> Bound {
    let geometry = &model.nand.geometry;
    let of_die = |die| Repeated {
        die,
        planes: geometry.planes_per_die,
        times: 1,
    };
    let stripe: Vec<Repeated> = (0..geometry.dies()).map(of_die).collect();
    let mut adding = Adding::new(model);
    let operands = plan.root.operand_pages();
    for computation in &plan.computations {
        let of = |planes| command_of(computation, planes, model);
        adding.fetch(&stripe, operands > 0, of);
    }
    adding.accelerate(operands * u64::from(geometry.planes()));
    adding.sum()
}

/// Adds what is done for one class.
struct OfClass<'a, 'b> {
    class: &'a Class,
    shares: &'a Shares,
    /// The site whose dies have the work.
    site: usize,
    /// It is one of several.
    mixed: bool,
    adding: &'a mut Adding<'b>,
    model: &'b CostModel,
}

impl OfClass<'_, '_> {
    /// The pages of a plan; the accelerator takes in `operands` pages of each chunk more.
    fn plan(&mut self, plan: &Plan, operands: u64) {
        let (model, geometry) = (self.model, &self.model.nand.geometry);
        let operands = plan.root.operand_pages() + operands;
        self.adding.accelerate(operands * self.class.len() as u64);
        let computations = &plan.computations;
        let is_elsewhere = |computation| self.class.is_elsewhere(computation, self.site);
        let across = self.mixed || computations.iter().any(is_elsewhere);
        let through_accelerator = operands > 0 && !across;
        for computation in computations {
            if let Some(operand) = computation.page_operand() {
                let places = 0..self.class.len() as u64;
                let reads = places.flat_map(|place| self.class.reads(operand, place));
                self.adding.read(reads);
                continue;
            }
            let to = self.class.site_asked(computation, self.site);
            let asked = self.shares.asked(self.class, geometry, (self.site, to));
            let of = |planes| command_of(computation, planes, model);
            self.adding.fetch(&asked, through_accelerator, of);
        }
    }

    /// Programs of a page of each chunk.
    fn programs(&mut self) {
        let geometry = &self.model.nand.geometry;
        let of_site = (self.site, self.site);
        let programmed = self.shares.asked(self.class, geometry, of_site);
        self.adding.program(&programmed);
    }

    /// A result of so many bits from the first of all chunks on is sent.
    fn result(&mut self, bits: u64) {
        let page_bytes = self.model.page_bytes();
        let of_chunk = |place| {
            let before = self.class.chunk(place) * page_bytes * 8;
            bits.saturating_sub(before).div_ceil(8).min(page_bytes)
        };
        let last = (self.shares.of_sites[self.site].iter())
            .flat_map(|share| share.batches.last().into_iter().flatten());
        let last = last.map(|&place| of_chunk(place)).sum();
        let all = (0..self.class.len() as u64).map(of_chunk).sum();
        self.adding.send(all, last);
    }
}
