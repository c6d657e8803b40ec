//! What a plan will take and spend, from the rates of a drive that does nothing else.
//!
//! An evaluation is a pipeline: dies sense and send pages over their channel, the accelerator takes
//! some of them in, results cross the link. Each stage is busy for a time that follows from what
//! passes through it; the whole takes the longest of these, after the time until work first gets
//! there and before the time that the last of it needs from there on. Energy is counted, not
//! estimated: it is what the accounts of [`sim::Ledger`] will say.

use arrayvec::ArrayVec;
use media::channel::ChannelConfig;
use media::link::{LinkConfig, READ_REQUEST_BYTES};
use media::nand::{BlockId, Command, MwsPlane, MwsSlot, NandConfig, PLANES_PER_DIE_MAX, PlaneMask};
use sim::{Energy, Span};

use super::{Plan, Program, Step};
use crate::bits::BitsConfig;
use crate::config::DeviceConfig;

/// Bytes of the messages that come with a command besides its expression and data.
const DOORBELL_BYTES: u64 = 4;
const ENTRY_BYTES: u64 = 64;
const COMPLETION_BYTES: u64 = 16;
const COUNT_BYTES: u64 = 8;
/// An expression that is one vector.
const OPERAND_BYTES: u64 = 9;
/// Bytes of operands that the accelerator's energy is stated for.
const ACCELERATOR_UNIT_BYTES: u64 = 64;

/// What the parts of a drive can do.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    nand: NandConfig,
    channel: ChannelConfig,
    link: LinkConfig,
    bits: BitsConfig,
}

/// What is asked of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Length of the vectors, in bits.
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
    /// Those of a drive of this configuration.
    pub fn of(config: &DeviceConfig) -> Rates {
        Rates {
            nand: config.nand.clone(),
            channel: config.channel.clone(),
            link: config.link.clone(),
            bits: config.bits,
        }
    }

    /// What one step takes in a die and spends in each plane of it.
    pub fn step(&self, step: &Step) -> (Span, Energy) {
        match step {
            Step::Sense(sense) => self.nand.mws_cost(sense.iscm, &plane_of(sense)),
            Step::Xor => self.nand.xor_cost(),
        }
    }

    /// Bytes of a page.
    fn page_bytes(&self) -> u64 {
        u64::from(self.nand.geometry.page_bytes)
    }

    fn message(&self, payload: u64) -> Span {
        self.link.span_of_wire(self.link.wire_bytes(payload))
    }

    fn accelerate(&self, bytes: u64) -> Span {
        let rate = self.bits.accelerator_megabytes_per_second * 1_000_000;
        Span::of_transfer(bytes, rate)
    }

    /// What a program takes in `planes` planes of a die.
    fn phases(&self, program: &Program, planes: u64) -> Phases {
        let mut phases = Phases::default();
        for step in &program.steps {
            let command = match step {
                Step::Sense(sense) => {
                    let plane = plane_of(sense);
                    let planes = (0..planes).map(|_| plane.clone());
                    Command::mws(
                        sense.iscm,
                        planes.collect::<ArrayVec<_, PLANES_PER_DIE_MAX>>(),
                    )
                }
                Step::Xor => Command::Xor {
                    planes: PlaneMask((0..planes).fold(0, |mask, plane| mask | 1 << plane)),
                },
            };
            phases.commands += self.nand.command_span(&command);
            phases.array += self.step(step).0;
        }
        let setup = Span::from_ns(self.nand.bus.t_rr_ns);
        phases.out = (setup + self.channel.span_of(self.page_bytes())) * planes;
        phases
    }
}

/// A sense in a plane, wherever its strings are.
fn plane_of(sense: &super::Sense) -> MwsPlane {
    let slots = sense.slots.iter().map(|slot| MwsSlot {
        block: BlockId(0),
        string: 0,
        wordlines: slot.wordlines,
    });
    MwsPlane {
        slots: slots.collect(),
    }
}

/// What a program occupies, one after the other but for cycles between senses.
#[derive(Clone, Copy, Debug, Default)]
struct Phases {
    /// Command cycles on the channel.
    commands: Span,
    /// The die's own work.
    array: Span,
    /// Pages on the channel.
    out: Span,
}

impl Phases {
    fn on_channel(self) -> Span {
        self.commands + self.out
    }

    fn in_all(self) -> Span {
        self.commands + self.array + self.out
    }
}

/// How the chunks of a vector are spread over the dies (see [`crate::bits::placement::Layout`]):
/// each die has so many whole batches, and some have a smaller last one.
#[derive(Clone, Copy, Debug)]
struct Spread {
    chunks: u64,
    dies: u64,
    channels: u64,
    planes: u64,
    whole: u64,
    rest: u64,
    /// Of a vector.
    bytes: u64,
}

impl Spread {
    fn new(rates: &Rates, bits: u64) -> Spread {
        let geometry = &rates.nand.geometry;
        let (dies, planes) = (
            u64::from(geometry.dies()),
            u64::from(geometry.planes_per_die),
        );
        let chunks = bits.div_ceil(rates.page_bytes() * 8);
        Spread {
            chunks,
            dies,
            channels: u64::from(geometry.channels),
            planes,
            whole: chunks / (dies * planes),
            rest: chunks % (dies * planes),
            bytes: bits.div_ceil(8),
        }
    }

    /// Chunks of the last, smaller batch of a die.
    fn last_of(&self, lane: u64) -> u64 {
        self.rest.saturating_sub(lane).div_ceil(self.dies)
    }

    /// Chunks of the first batch of the first die, which has the most.
    fn first(&self) -> u64 {
        if self.whole > 0 {
            self.planes
        } else {
            self.last_of(0)
        }
    }

    /// Chunks of the batch that ends last.
    fn last(&self) -> u64 {
        match self.last_of(0) {
            0 => self.planes,
            chunks => chunks,
        }
    }

    /// Dies of the first channel that hold something.
    fn lanes_of_channel(&self) -> u64 {
        let lanes = if self.whole > 0 {
            self.dies
        } else {
            self.rest.min(self.dies)
        };
        lanes.div_ceil(self.channels)
    }

    /// The sum over the batches of the first die of what `of` says of their sizes.
    fn over_die(&self, of: impl Fn(u64) -> Span) -> Span {
        let last = self.last_of(0);
        let rest = if last > 0 { of(last) } else { Span::ZERO };
        of(self.planes) * self.whole + rest
    }

    /// The same over all batches of the first channel.
    fn over_channel(&self, of: impl Fn(u64) -> Span) -> Span {
        let lanes = (0..self.dies).step_by(self.channels as usize);
        let lasts = lanes
            .map(|lane| self.last_of(lane))
            .filter(|&last| last > 0);
        let rest = lasts.fold(Span::ZERO, |sum, last| sum + of(last));
        of(self.planes) * (self.whole * self.dies / self.channels) + rest
    }

    /// Bytes on the wire of the messages that bring the result, one a batch.
    fn result_wire_bytes(&self, rates: &Rates) -> u64 {
        let page = rates.page_bytes();
        let wire = |bytes: u64| rates.link.wire_bytes(bytes);
        let lasts = (0..self.dies)
            .map(|lane| self.last_of(lane))
            .filter(|&last| last > 0);
        let all = wire(self.planes * page) * self.whole * self.dies
            + lasts.map(|last| wire(last * page)).sum::<u64>();
        // The last page is sent as far as it is part of the vector.
        let end = self.chunks - 1;
        let batch = match self.last_of(end % self.dies) {
            0 => self.planes,
            chunks => chunks,
        };
        let cut = self.chunks * page - self.bytes;
        all - wire(batch * page) + wire(batch * page - cut)
    }
}

/// What an evaluation moves besides the pages of its programs.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// Pages that the accelerator takes in for each chunk.
    operands: u64,
    /// Results that cross the link whole.
    results: u64,
    /// Commands, each with an expression of so many bytes.
    commands: u64,
    expression_bytes: u64,
}

/// Estimates what evaluating `plan` takes, for vectors of `question.bits` bits whatever the plan
/// was made for.
///
/// # Panics
/// If the vectors have no bits.
pub fn estimate(plan: &Plan, question: &Question, rates: &Rates) -> Estimate {
    let load = Load {
        operands: plan.root.operand_pages() + u64::from(question.count_only),
        results: u64::from(!question.count_only),
        commands: 1,
        expression_bytes: question.expression_bytes,
    };
    estimate_load(plan, question.bits, load, rates)
}

/// Estimates what reading vectors of `bits` bits takes, each page of `plan` being of another vector
/// and asked for by a command of its own, several at the same time.
///
/// # Panics
/// If the vectors have no bits.
pub fn estimate_reads(plan: &Plan, bits: u64, rates: &Rates) -> Estimate {
    let vectors = plan.programs.len() as u64;
    let load = Load {
        operands: 0,
        results: vectors,
        commands: vectors,
        expression_bytes: OPERAND_BYTES,
    };
    estimate_load(plan, bits, load, rates)
}

fn estimate_load(plan: &Plan, bits: u64, load: Load, rates: &Rates) -> Estimate {
    assert!(bits > 0, "a vector has bits");
    let spread = Spread::new(rates, bits);
    let stages = Stages::new(plan, load, rates, &spread);
    let (time, bound) = stages.time(rates);
    Estimate {
        time,
        array: stages.array,
        channel: stages.channel,
        accelerator: stages.accelerator,
        link: stages.link,
        bound,
        energy: energies(plan, load, rates, &spread),
    }
}

/// What each stage is busy with, and the way of the first and last pages.
struct Stages {
    /// Senses of the busiest die.
    array: Span,
    /// The same with its commands and pages on the channel.
    die: Span,
    channel: Span,
    accelerator: Span,
    /// The accelerator's buffer, if pages wait for room in it.
    buffer: Span,
    link: Span,
    /// From the doorbell until the drive knows the expression.
    command: Span,
    /// Until the latches of the first die hold a page.
    first_ready: Span,
    /// What other dies of the channel have sent to them meanwhile.
    first_commands: Span,
    /// Until that page is in the controller.
    first_out: Span,
    /// Until the first result is there.
    first_result: Span,
    /// What dies of a channel that are ready at the same time wait for each other.
    stagger: Span,
    /// What the accelerator does after the last page came.
    last_accelerated: Span,
    /// Until the last result is with the host.
    last_sent: Span,
}

impl Stages {
    fn new(plan: &Plan, load: Load, rates: &Rates, spread: &Spread) -> Stages {
        let programs = &plan.programs;
        let sum = |planes: u64, of: fn(Phases) -> Span| {
            let phases = programs
                .iter()
                .map(|program| of(rates.phases(program, planes)));
            phases.fold(Span::ZERO, |sum, span| sum + span)
        };
        let (first, lanes) = (spread.first(), spread.lanes_of_channel());
        let begin = programs.first().map(|program| rates.phases(program, first));
        let begin = begin.unwrap_or_default();
        let first_ready = begin.commands + begin.array;
        // A result may begin with the last page of it.
        let count = (programs.len() as u64).max(1);
        let pages = count / load.results.max(1);
        let round = sum(first, Phases::in_all).max(sum(first, Phases::on_channel) * lanes);
        let last_accelerated = load.last_accelerated(rates, spread, count);
        Stages {
            array: spread.over_die(|planes| sum(planes, |phases| phases.array)),
            die: spread.over_die(|planes| sum(planes, Phases::in_all)),
            channel: spread.over_channel(|planes| sum(planes, Phases::on_channel)),
            accelerator: rates.accelerate(load.operands * spread.chunks * rates.page_bytes()),
            buffer: load.buffer_time(rates, spread, programs.len() as u64, begin.out),
            link: rates.link.span_of_wire(load.wire_up(rates, spread)),
            command: rates.message(DOORBELL_BYTES)
                + rates.message(READ_REQUEST_BYTES) * 2
                + rates.message(ENTRY_BYTES)
                + rates.message(load.expression_bytes),
            first_ready,
            first_commands: (begin.commands * lanes).min(first_ready),
            first_out: begin.out,
            first_result: round * (pages - 1) / count + first_ready + begin.out + last_accelerated,
            stagger: begin.out * lanes.saturating_sub(1),
            last_accelerated,
            last_sent: rates.message(load.last_bytes(rates, spread)),
        }
    }

    /// The longest way through the stages, and the stage that makes it so.
    fn time(&self, rates: &Rates) -> (Span, Stage) {
        let end = self.last_accelerated + self.last_sent;
        let channel = self.channel.saturating_sub(self.first_commands);
        let ways = [
            (self.stagger + self.die + end, Stage::Array),
            (self.first_ready + channel + end, Stage::Channel),
            (
                self.first_ready
                    + self.first_out
                    + self.accelerator.max(self.buffer)
                    + self.last_sent,
                Stage::Accelerator,
            ),
            (self.first_result + self.link, Stage::Link),
        ];
        let mut longest = ways[0];
        for way in ways {
            if way.0 > longest.0 {
                longest = way;
            }
        }
        let around = self.command + rates.message(COMPLETION_BYTES);
        (around + longest.0, longest.1)
    }
}

impl Load {
    /// How long pages pass through the accelerator's buffer, each batch of them holding its room
    /// from the latches until it was taken in.
    fn buffer_time(self, rates: &Rates, spread: &Spread, programs: u64, out: Span) -> Span {
        if self.operands == 0 || programs == 0 {
            return Span::ZERO;
        }
        let (page, batch) = (rates.page_bytes(), spread.first());
        let held = out + rates.accelerate(batch * page);
        let at_once = (rates.bits.accelerator_buffer_bytes / page / batch).max(1);
        let batches = (programs * spread.chunks).div_ceil(batch);
        held * batches.div_ceil(at_once)
    }

    /// What is left to take in when the last page has come; others were while it was sensed.
    fn last_accelerated(self, rates: &Rates, spread: &Spread, programs: u64) -> Span {
        let late = self.operands.saturating_sub(programs - 1);
        rates.accelerate(late * spread.last() * rates.page_bytes())
    }

    /// Bytes of the last message with a result.
    fn last_bytes(self, rates: &Rates, spread: &Spread) -> u64 {
        match self.results {
            0 => COUNT_BYTES,
            _ => (spread.last() * rates.page_bytes()).min(spread.bytes),
        }
    }

    /// Bytes on the wire of the results.
    fn wire_up(self, rates: &Rates, spread: &Spread) -> u64 {
        match self.results {
            0 => rates.link.wire_bytes(COUNT_BYTES),
            results => spread.result_wire_bytes(rates) * results,
        }
    }
}

fn energies(plan: &Plan, load: Load, rates: &Rates, spread: &Spread) -> Vec<Spending> {
    let (mut senses, mut moves) = (Energy::ZERO, Energy::ZERO);
    for step in plan.programs.iter().flat_map(|program| &program.steps) {
        let account = match step {
            Step::Sense(_) => &mut senses,
            Step::Xor => &mut moves,
        };
        *account += rates.step(step).1 * spread.chunks;
    }
    let page = rates.page_bytes();
    let pages = plan.page_transfers() as u64 * spread.chunks;
    let channel = pages * page * u64::from(rates.channel.transfer_pj_per_byte);
    let accelerated = (load.operands * spread.chunks * page).div_ceil(ACCELERATOR_UNIT_BYTES);
    let wire = |payloads: &[u64]| -> u64 {
        let messages = payloads.iter().map(|&bytes| rates.link.wire_bytes(bytes));
        messages.sum::<u64>() * load.commands
    };
    let up = wire(&[READ_REQUEST_BYTES, READ_REQUEST_BYTES, COMPLETION_BYTES])
        + load.wire_up(rates, spread);
    let down = wire(&[
        DOORBELL_BYTES,
        ENTRY_BYTES,
        load.expression_bytes,
        DOORBELL_BYTES,
    ]);
    let per_byte = u64::from(rates.link.transfer_pj_per_byte);
    let per_unit = rates.bits.accelerator_pj_per_64b;
    let mut energies: Vec<Spending> = [
        ("nand", "multi-wordline sense", senses),
        ("nand", "latch operation", moves),
        ("channel", "data", Energy::from_pj(channel)),
        (
            "controller",
            "bitwise accelerator",
            Energy::from_pj(accelerated * per_unit),
        ),
        ("link", "host to drive", Energy::from_pj(down * per_byte)),
        ("link", "drive to host", Energy::from_pj(up * per_byte)),
    ]
    .into_iter()
    .map(|(component, cause, energy)| Spending {
        component,
        cause,
        energy,
    })
    .collect();
    energies.retain(|spending| spending.energy > Energy::ZERO);
    energies
}
