//! How long an evaluation takes on an idle drive, from how long each of its resources is busy.
//!
//! Dies, channels, the accelerator and the link work side by side on different chunks. So the time is
//! about that of the busiest, and of one batch of chunks on its way through all of them.

use media::channel::ChannelConfig;
use media::link::LinkConfig;
use media::nand::{Geometry, NandConfig};
use sim::Span;

use crate::bits::classes::Share;
use crate::bits::config::BitsConfig;
use crate::bits::estimate::step_cost;
use crate::bits::plan::{Plan, Program};

/// What a page or a command takes, on each resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    nand: NandConfig,
    page_out: Span,
    page_in: Span,
    accelerator: Span,
    link: Span,
}

/// Command and address cycles of a sense, about (Flash-Cosmos Figure 15): opcode, flags, address and
/// page bitmap, confirmation.
const SENSE_CYCLES: u64 = 16;

impl Rates {
    /// The rates of a drive.
    pub fn new(
        nand: &NandConfig,
        channel: &ChannelConfig,
        link: &LinkConfig,
        bits: &BitsConfig,
    ) -> Rates {
        let page = u64::from(nand.geometry.page_bytes);
        let bus = Span::of_transfer(page, (channel.megabytes_per_second * 1e6) as u64);
        Rates {
            page_out: bus + Span::from_ns(nand.bus.t_rr_ns),
            page_in: bus + Span::from_ns(nand.bus.t_adl_ns),
            accelerator: Span::of_transfer(page, bits.accelerator_megabytes_per_second * 1_000_000),
            link: link.span_of_wire(link.wire_bytes(page)),
            nand: nand.clone(),
        }
    }

    /// What the array takes for a program, and its commands on the channel.
    fn array(&self, program: &Program) -> (Span, Span) {
        let (mut array, mut commands) = (Span::ZERO, Span::ZERO);
        for step in &program.steps {
            array += step_cost(&self.nand, step).0;
            commands += Span::from_ns(self.nand.bus.command_cycle_ns) * SENSE_CYCLES;
        }
        (array, commands)
    }
}

/// How long each resource is busy.
pub struct Loads<'a> {
    rates: &'a Rates,
    /// By die.
    dies: Vec<Span>,
    channels: Vec<Span>,
    accelerator: Span,
    link: Span,
    /// One batch on its way through all.
    passage: Span,
}

impl<'a> Loads<'a> {
    /// Nothing to do yet.
    pub fn new(rates: &'a Rates) -> Loads<'a> {
        let geometry = &rates.nand.geometry;
        Loads {
            rates,
            dies: vec![Span::ZERO; geometry.dies() as usize],
            channels: vec![Span::ZERO; geometry.channels as usize],
            accelerator: Span::ZERO,
            link: Span::ZERO,
            passage: Span::ZERO,
        }
    }

    /// The programs of `plan` run for so many chunks, and the controller combines their pages.
    pub fn evaluate<'b>(
        &mut self,
        plan: &Plan,
        chunks: u64,
        share_of: impl Fn(&Program) -> &'b Share,
    ) {
        let mut longest = Span::ZERO;
        for program in &plan.programs {
            let share = share_of(program);
            let (array, commands) = self.rates.array(program);
            let out = self.rates.page_out;
            self.each_die(share, |die, channel, batches, pages| {
                *die += (array + commands) * batches + out * pages;
                *channel += commands * batches + out * pages;
            });
            longest = longest.max(array + commands + out * share.largest);
        }
        self.passage += longest;
        let operands = plan.controller_bytes_per_page(1);
        self.take_in(operands, chunks);
    }

    /// The accelerator takes in so many pages for each chunk.
    pub fn take_in(&mut self, pages: u64, chunks: u64) {
        self.accelerator += self.rates.accelerator * (pages * chunks);
        self.passage += self.rates.accelerator * pages;
    }

    /// A page for each chunk is programmed.
    pub fn program(&mut self, share: &Share) {
        let esp = Span::from_ns(self.rates.nand.latency.program_esp_ns);
        let page_in = self.rates.page_in;
        self.each_die(share, |die, channel, batches, pages| {
            *die += esp * batches + page_in * pages;
            *channel += page_in * pages;
        });
        self.passage += esp + page_in * share.largest;
    }

    /// A page for each chunk goes to the host.
    pub fn send(&mut self, chunks: u64) {
        self.link += self.rates.link * chunks;
        self.passage += self.rates.link;
    }

    /// Tells for every die of a share, and its channel, how many batches and pages it has.
    fn each_die(&mut self, share: &Share, mut load: impl FnMut(&mut Span, &mut Span, u64, u64)) {
        let geometry: &Geometry = &self.rates.nand.geometry;
        for &(die, batches, pages) in &share.dies {
            let plane = geometry.plane_of_die(die, 0);
            let channel = geometry.plane_place(plane).channel as usize;
            let die = die.0 as usize;
            load(
                &mut self.dies[die],
                &mut self.channels[channel],
                batches,
                pages,
            );
        }
    }

    /// The time of the busiest resource, or of one batch on its way if that is longer.
    pub fn time(&self) -> Span {
        let busiest = self.dies.iter().chain(&self.channels).copied();
        let busiest = busiest.chain([self.accelerator, self.link]).max();
        busiest.unwrap_or(Span::ZERO).max(self.passage)
    }
}
