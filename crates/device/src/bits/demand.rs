//! What an evaluation has the parts of a drive do, for the cost model: the plans and classes that are carried out,
//! without their data.

use std::rc::Rc;

use media::core::Work;
use media::nand::{BlockId, DieId, Geometry, MwsPlane, MwsSlot, NandConfig};
use sim::{Energy, Span};

use super::classes::{Class, DieShare, by_die};
use super::plan::{Computation, Plan, Sense, Step};
use super::recipe::{Instruction, Recipe};
use crate::cost::{
    AskedOfDies, BatchDemand, Command, CostModel, Demand, Destination, DieDemand, Fetch, Op,
    StageDemand,
};
use crate::region::DieBatch;

/// Bytes of a count as the host gets it.
const COUNT_BYTES: u64 = 8;

/// What an evaluation is, whatever its classes.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Bits of the result, from the first chunk of the vectors on.
    pub bits: u64,
    /// Bytes of the expression as it crosses the link.
    pub expression_bytes: u64,
    /// Only the ones of the result are counted.
    pub count_only: bool,
}

/// How finely the work of dies is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Command by command.
    Commands,
    /// The commands of a page as one: a few thousandths off where many dies share a channel, and as many events as pages.
    Pages,
}

/// The plans that are carried out for a class: pages that are brought to the dies of a site, then what gives the result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plans<'a> {
    pub(super) site: usize,
    pub(super) brought: &'a [Rc<Plan>],
    pub(super) plan: &'a Plan,
}

/// The demand of evaluating classes, each by its plans.
pub(super) fn demand<'a>(
    classes: impl ExactSizeIterator<Item = (&'a Class, Plans<'a>)>,
    question: &Question,
    model: &CostModel,
    detail: Detail,
) -> Demand {
    let mixed = classes.len() > 1;
    Demand {
        fetched_bytes: question.expression_bytes,
        firmware: vec![Work::Fetch, Work::Plan],
        dies: classes
            .flat_map(|(class, plans)| shares(class, plans, question, model, (mixed, detail)))
            .collect(),
        answer_bytes: if question.count_only { COUNT_BYTES } else { 0 },
    }
}

/// The dies' shares of a class.
fn shares(
    class: &Class,
    plans: Plans<'_>,
    question: &Question,
    model: &CostModel,
    (mixed, detail): (bool, Detail),
) -> Vec<DieDemand> {
    let site = Site::new(class, plans.site, model);
    let result = if question.count_only {
        Destination::Nowhere
    } else {
        Destination::Host
    };
    let brought = plans.brought.iter();
    let brought = brought.map(|plan| (&**plan, Destination::Die));
    let steps: Vec<StageSteps<'_>> = brought
        .chain([(plans.plan, result)])
        .map(|(plan, destination)| StageSteps::new(plan, destination, &site, (mixed, detail)))
        .collect();
    let shares = class.shares(site.geometry, plans.site).into_iter();
    let share = |share: DieShare| DieDemand {
        stages: (0..)
            .zip(&steps)
            .map(|(layer, steps)| {
                let batches = share.batches.iter();
                let demand = |batch| site.batch(share.die, batch, layer, steps, question.bits);
                (steps.demand.clone(), batches.map(demand).collect())
            })
            .collect(),
    };
    shares.map(share).collect()
}

/// A stage: its plan, and what is done with every batch.
struct StageSteps<'a> {
    plan: &'a Plan,
    order: Vec<usize>,
    demand: Rc<StageDemand>,
}

impl<'a> StageSteps<'a> {
    fn new(
        plan: &'a Plan,
        destination: Destination,
        site: &Site<'_>,
        (mixed, detail): (bool, Detail),
    ) -> StageSteps<'a> {
        let mut computations = plan.computations.iter();
        let across = mixed
            || computations.any(|computation| site.class.is_elsewhere(computation, site.site));
        let recipe = Recipe::new(
            plan,
            matches!(destination, Destination::Nowhere),
            None,
            across,
        );
        StageSteps {
            plan,
            demand: Rc::new(stage(
                plan,
                &recipe,
                destination,
                (across, detail),
                site.model,
            )),
            order: recipe.order,
        }
    }
}

/// The site whose dies carry a class out.
struct Site<'a> {
    class: &'a Class,
    model: &'a CostModel,
    geometry: &'a Geometry,
    site: usize,
    /// By place: the string that is lent for a chunk, of the blocks of its plane.
    strings: Vec<u32>,
}

impl<'a> Site<'a> {
    fn new(class: &'a Class, site: usize, model: &'a CostModel) -> Site<'a> {
        let geometry = &model.nand.geometry;
        let numbers = class.numbers_in_plane(geometry, site);
        let strings = numbers.map(|(_, number)| number % geometry.strings_per_block);
        Site {
            class,
            model,
            geometry,
            site,
            strings: strings.collect(),
        }
    }

    /// What a die has to do for a batch; pages that are brought are of `layer`.
    fn batch(
        &self,
        die: DieId,
        batch: &DieBatch,
        layer: u32,
        steps: &StageSteps<'_>,
        bits: u64,
    ) -> BatchDemand {
        let page_bytes = self.model.page_bytes();
        let bytes = |&place: &u64| {
            let before = self.class.chunk(place) * page_bytes * 8;
            bits.saturating_sub(before).div_ceil(8).min(page_bytes)
        };
        let page = |&place: &u64| {
            let plane = self.class.plane(self.geometry, self.site, place);
            let string = self.strings[place as usize];
            (plane.0, self.geometry.page_at(string, layer))
        };
        let is_programmed = matches!(steps.demand.destination, Destination::Die);
        let order = steps.order.iter();
        BatchDemand {
            die: die.0,
            pages: batch.len() as u32,
            bytes: batch.iter().map(bytes).sum(),
            works: 0,
            asked: order
                .map(|&computation| self.asked(&steps.plan.computations[computation], batch))
                .collect(),
            programmed: batch.iter().filter(|_| is_programmed).map(page).collect(),
        }
    }

    /// What a computation asks dies for the pages of a batch.
    fn asked(&self, computation: &Computation, batch: &DieBatch) -> AskedOfDies {
        if let Some(operand) = computation.page_operand() {
            let reads = batch.iter().map(|&place| self.class.reads(operand, place));
            return AskedOfDies::Reads {
                reads: reads.flatten().copied().collect(),
                cached: Vec::new(),
            };
        }
        let site = self.class.site_asked(computation, self.site);
        let plane = |place| self.class.plane(self.geometry, site, place);
        let dies = by_die(self.geometry, batch, plane);
        let dies = dies.iter();
        let dies = dies.map(|of_die| (of_die.die.0, of_die.numbers.len() as u32));
        AskedOfDies::Commands(dies.collect())
    }
}

fn stage(
    plan: &Plan,
    recipe: &Recipe,
    destination: Destination,
    (across, detail): (bool, Detail),
    model: &CostModel,
) -> StageDemand {
    let planes = model.nand.geometry.planes_per_die;
    let programs_pages = matches!(destination, Destination::Die);
    let ahead = recipe.fetches_ahead(across, programs_pages, planes, model.page_buffers);
    StageDemand {
        fetches: recipe
            .order
            .iter()
            .map(|&computation| fetch(&plan.computations[computation], model, detail))
            .collect(),
        ops: recipe.instructions.iter().flat_map(op).collect(),
        ahead: ahead.fetches as usize,
        buffers: ahead.buffers,
        keeps: false,
        through_accelerator: recipe.uses_accelerator(),
        destination,
    }
}

fn op(instruction: &Instruction) -> Option<Op> {
    match *instruction {
        Instruction::Fetch { operand, .. } => Some(Op::Fetched { operand }),
        Instruction::Again { .. } | Instruction::Constant(_) => None,
        Instruction::Not { due }
        | Instruction::Combine { due, .. }
        | Instruction::Compare { due }
        | Instruction::Count { due } => (due > 0).then_some(Op::Accelerate(due)),
    }
}

fn fetch(computation: &Computation, model: &CostModel, detail: Detail) -> Fetch {
    let of = |planes: u32| {
        let commands = commands_of(computation, planes, model);
        match detail {
            Detail::Commands => commands.collect(),
            Detail::Pages => commands.reduce(Command::then).into_iter().collect(),
        }
    };
    let planes = match computation.page_operand() {
        Some(_) => 0,
        None => model.nand.geometry.planes_per_die,
    };
    Fetch {
        commands: (1..=planes).map(of).collect(),
    }
}

/// The commands of a computation in `planes` planes of a die, as one; those of one that reads no page.
pub(super) fn command_of(computation: &Computation, planes: u32, model: &CostModel) -> Command {
    let commands = commands_of(computation, planes, model).reduce(Command::then);
    commands.expect("a computation has a step at least")
}

/// The commands of a computation in `planes` planes of a die.
fn commands_of(
    computation: &Computation,
    planes: u32,
    model: &CostModel,
) -> impl Iterator<Item = Command> {
    let steps = computation.steps.iter();
    steps.map(move |step| command(step, planes, model))
}

/// A step in `planes` planes of a die, wherever its strings are.
fn command(step: &Step, planes: u32, model: &CostModel) -> Command {
    match step {
        Step::Sense(sense) => model.sense(sense.iscm, &plane_of(sense), planes),
        Step::Xor => model.xor(planes),
    }
}

/// What one step takes in a die and spends in each plane of it.
pub fn step_cost(nand: &NandConfig, step: &Step) -> (Span, Energy) {
    match step {
        Step::Sense(sense) => nand.mws_cost(sense.iscm, &plane_of(sense)),
        Step::Xor => nand.xor_cost(),
    }
}

/// A sense in a plane.
fn plane_of(sense: &Sense) -> MwsPlane {
    let slots = sense.slots.iter().map(|slot| MwsSlot {
        block: BlockId(0),
        string: 0,
        wordlines: slot.wordlines,
    });
    MwsPlane {
        slots: slots.collect(),
    }
}
