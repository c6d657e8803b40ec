//! What a plan will take and spend on a drive that does nothing else, without that drive.
//!
//! Time is lived through by a [`Pipeline`]: dies, channels, accelerator and link with nothing in
//! them, in a simulation of their own. Energy is counted: it is what the accounts of [`sim::Ledger`]
//! will say.

mod pipeline;

use media::channel::ChannelConfig;
use media::core::CoresConfig;
use media::link::{LinkConfig, READ_REQUEST_BYTES};
use media::nand::{BlockId, Command, MwsPlane, MwsSlot, NandConfig, PlaneMask};
use nvme::{CompletionEntry, SubmissionEntry};
use sim::{Energy, Span};

use super::config::BitsConfig;
use super::engine::ACCELERATOR_UNIT_BYTES;
use super::plan::{Plan, Sense, Step};
use crate::port::DOORBELL_BYTES;
use crate::region::Layout;
pub use pipeline::{Busy, Pipeline};

/// Bytes of the messages that come with a command besides its expression and data.
const ENTRY_BYTES: u64 = size_of::<SubmissionEntry>() as u64;
const COMPLETION_BYTES: u64 = CompletionEntry::BYTES as u64;
const COUNT_BYTES: u64 = 8;
/// Commands of all dies that are lived through at most, about; longer vectors go on as they began.
const COMMANDS_MAX: u64 = 100_000;
/// Stripes of a vector that are lived through at least.
const STRIPES_MIN: u64 = 4;

/// What the parts of a drive can do.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    pub(crate) nand: NandConfig,
    pub(crate) channel: ChannelConfig,
    pub(crate) link: LinkConfig,
    pub(crate) bits: BitsConfig,
    pub(crate) active_milliwatts: u64,
    pub(crate) cores: CoresConfig,
}

/// What is asked of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// First page of the vectors that is evaluated; 0 for all of them.
    pub first_page: u64,
    /// Length of what is evaluated, in bits.
    pub bits: u64,
    /// Bytes of the expression as it crosses the link.
    pub expression_bytes: u64,
    /// Only the ones of the result are counted.
    pub count_only: bool,
}

/// A part of the drive that an evaluation may have to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The dies: senses, and the latches being read out.
    Array,
    /// The channels between dies and controller.
    Channel,
    /// The accelerator of the controller, or its buffer.
    Accelerator,
    /// The link to the host.
    Link,
}

impl Stage {
    /// Its name, as in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Array => "array",
            Stage::Channel => "channel",
            Stage::Accelerator => "accelerator",
            Stage::Link => "link",
        }
    }
}

/// Energy that will be booked on an account of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spending {
    /// The part that spends, as in [`sim::Account`].
    pub component: &'static str,
    /// What it spends on.
    pub cause: &'static str,
    /// How much.
    pub energy: Energy,
}

/// Time and energy of an evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// From the host's doorbell to its completion.
    pub time: Span,
    /// How long the busiest die senses.
    pub array: Span,
    /// How long the busiest channel is occupied.
    pub channel: Span,
    /// How long the accelerator is at work.
    pub accelerator: Span,
    /// How long the direction of the link to the host is occupied.
    pub link: Span,
    /// What the evaluation waits for.
    pub bound: Stage,
    /// By account; accounts without energy are left out.
    pub energy: Vec<Spending>,
}

impl Estimate {
    /// The energy of all accounts.
    pub fn total_energy(&self) -> Energy {
        let spent = self.energy.iter();
        spent.fold(Energy::ZERO, |sum, spending| sum + spending.energy)
    }
}

impl Rates {
    /// What one step takes in a die and spends in each plane of it.
    pub fn step(&self, step: &Step) -> (Span, Energy) {
        step_cost(&self.nand, step)
    }

    /// Bytes of a page.
    fn page_bytes(&self) -> u64 {
        u64::from(self.nand.geometry.page_bytes)
    }

    /// A step in the first `planes` planes of a die, wherever its strings are.
    fn command(&self, step: &Step, planes: usize) -> Command {
        match step {
            Step::Sense(sense) => {
                let planes = (0..planes).map(|_| plane_of(sense));
                Command::mws(sense.iscm, planes.collect())
            }
            Step::Xor => Command::Xor {
                planes: PlaneMask((0..planes).fold(0, |mask, plane| mask | 1 << plane)),
            },
        }
    }

    fn layout(&self) -> Layout {
        Layout::new(self.nand.geometry.clone())
    }

    /// Bytes on the wire of a result, a message for each batch of its pages.
    fn wire_of_result(&self, question: &Question) -> u64 {
        let (layout, page) = (self.layout(), self.page_bytes());
        let geometry = &self.nand.geometry;
        let (first, stripe) = (question.first_page, u64::from(geometry.planes()));
        let chunks = layout.chunks(question.bits);
        let cut = chunks * page - question.bits.div_ceil(8);
        // Stripes are alike but for the first and the last, which may be parts of one.
        let whole = ((first + chunks - 1) / stripe).saturating_sub(first.div_ceil(stripe) + 1);
        let batch = self
            .link
            .wire_bytes(u64::from(geometry.planes_per_die) * page);
        let mut all = batch * whole * u64::from(geometry.dies());
        let part = first..first + chunks - whole * stripe;
        for lane in layout.lanes(part.clone()) {
            for batch in layout.lane(lane, part.clone()) {
                let is_last = batch.contains(&(part.end - 1));
                let cut = if is_last { cut } else { 0 };
                all += self.link.wire_bytes(batch.len() as u64 * page - cut);
            }
        }
        all
    }

    /// What the controller draws in so long with commands in flight.
    fn active(&self, span: Span) -> Energy {
        // A milliwatt for a picosecond is a thousandth of a picojoule.
        let picojoules = u128::from(span.as_ps()) * u128::from(self.active_milliwatts) / 1000;
        Energy::from_pj(picojoules as u64)
    }
}

/// What one step takes in a die and spends in each plane of it.
pub(super) fn step_cost(nand: &NandConfig, step: &Step) -> (Span, Energy) {
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

/// Estimates what evaluating `plan` takes, for vectors of `question.bits` bits whatever the plan
/// was made for.
///
/// # Panics
/// If the vectors have no bits.
pub fn estimate(plan: &Plan, question: &Question, rates: &Rates) -> Estimate {
    assert!(question.bits > 0, "a vector has bits");
    let steps = plan
        .programs
        .iter()
        .map(|program| program.steps.len() as u64);
    let busy = live(question.bits, steps.sum(), rates, |bits| {
        Pipeline::live(plan, &Question { bits, ..*question }, rates)
    });
    Estimate {
        time: busy.time,
        array: busy.array,
        channel: busy.channel,
        accelerator: busy.accelerator,
        link: busy.link,
        bound: busy.bound(),
        energy: with_activity(energies(plan, question, rates), &busy, rates),
    }
}

/// What `lived` says of vectors of `bits` bits, where each chunk takes so many steps in the array.
/// Of long vectors a part is lived through, and a part of half as many stripes: the rest takes as
/// long a stripe as what the one has and the other has not.
pub fn live(bits: u64, steps: u64, rates: &Rates, lived: impl Fn(u64) -> Busy) -> Busy {
    let geometry = &rates.nand.geometry;
    let stripe = u64::from(geometry.planes()) * rates.page_bytes() * 8;
    let stripes = bits / stripe;
    let most = COMMANDS_MAX / (u64::from(geometry.dies()) * steps.max(1));
    let long = most.max(STRIPES_MIN) / 2 * 2;
    if stripes <= long {
        return lived(bits);
    }
    let end = bits % stripe;
    let (long_lived, short_lived) = (lived(long * stripe + end), lived(long / 2 * stripe + end));
    long_lived.extended(short_lived, stripes - long, long / 2)
}

/// Adds what the controller draws while commands are in flight, and its cores at work and idle.
pub fn with_activity(mut energies: Vec<Spending>, busy: &Busy, rates: &Rates) -> Vec<Spending> {
    let of = |cause, energy| Spending {
        component: "controller",
        cause,
        energy,
    };
    energies.push(of("active", rates.active(busy.active)));
    let cores = rates.cores.energy(busy.time, busy.cores);
    if cores > Energy::ZERO {
        energies.push(of("cores", cores));
    }
    energies
}

/// What evaluating `plan` spends, by account, but for the controller's own activity; accounts
/// without energy are left out.
pub fn energies(plan: &Plan, question: &Question, rates: &Rates) -> Vec<Spending> {
    let chunks = rates.layout().chunks(question.bits);
    let (mut senses, mut moves) = (Energy::ZERO, Energy::ZERO);
    for step in plan.programs.iter().flat_map(|program| &program.steps) {
        let account = match step {
            Step::Sense(_) => &mut senses,
            Step::Xor => &mut moves,
        };
        *account += rates.step(step).1 * chunks;
    }
    let page = rates.page_bytes();
    let channel = plan.page_transfers() as u64 * chunks * page;
    let operands = plan.root.operand_pages() + u64::from(question.count_only);
    let accelerated = (operands * chunks * page).div_ceil(ACCELERATOR_UNIT_BYTES);
    let (up, down) = question.wire_bytes(rates);
    let pj = |count: u64, each: u64| Energy::from_pj(count * each);
    let per_byte = u64::from(rates.link.transfer_pj_per_byte);
    let energies = [
        ("nand", "multi-wordline sense", senses),
        ("nand", "latch operation", moves),
        (
            "channel",
            "data",
            pj(channel, u64::from(rates.channel.transfer_pj_per_byte)),
        ),
        (
            "controller",
            "bitwise accelerator",
            pj(accelerated, rates.bits.accelerator_pj_per_64b),
        ),
        ("link", "host to drive", pj(down, per_byte)),
        ("link", "drive to host", pj(up, per_byte)),
    ];
    let spendings = energies
        .into_iter()
        .map(|(component, cause, energy)| Spending {
            component,
            cause,
            energy,
        });
    spendings
        .filter(|spending| spending.energy > Energy::ZERO)
        .collect()
}

impl Question {
    /// Bytes on the wire to the host and from it.
    fn wire_bytes(&self, rates: &Rates) -> (u64, u64) {
        let wire = |payloads: &[u64]| -> u64 {
            let messages = payloads.iter();
            messages.map(|&bytes| rates.link.wire_bytes(bytes)).sum()
        };
        let result = if self.count_only {
            wire(&[COUNT_BYTES])
        } else {
            rates.wire_of_result(self)
        };
        let up = wire(&[READ_REQUEST_BYTES, READ_REQUEST_BYTES, COMPLETION_BYTES]) + result;
        let down = wire(&[
            DOORBELL_BYTES,
            ENTRY_BYTES,
            self.expression_bytes,
            DOORBELL_BYTES,
        ]);
        (up, down)
    }
}
