//! What an operation will take and spend on a drive that does nothing else, without that drive: the one
//! model by which plans and ways are chosen and told.
//!
//! Whoever asks says what the parts of the drive have to do, as a [`Demand`]: which dies work how long, what crosses which
//! bus, what the accelerator takes in. It is lived through on an [`IdleDrive`]: the same channels, link, cores and
//! queues as those of a drive, the dies' included, and dies and an accelerator that only take their time. What they are charged comes from
//! the functions that charge a drive, and is what the accounts of [`sim::Ledger`] will say.

mod array;
mod bound;
mod demand;
mod idle;
mod prices;
#[cfg(test)]
pub(crate) mod tests;

use media::channel::ChannelConfig;
use media::core::CoresConfig;
use media::dram::DramConfig;
use media::link::LinkConfig;
use media::nand::NandConfig;
use sim::{Energy, Span};

use crate::schedule::ScheduleConfig;

pub use bound::{Adding, Bound, Repeated};
pub use demand::{
    AskedOfDies, BatchDemand, Command, Demand, Destination, DieDemand, Fetch, Op, PageRead,
    StageDemand,
};
pub use idle::IdleDrive;
pub use prices::Price;

/// Bytes of operands that the accelerator's energy is stated for.
pub const ACCELERATOR_UNIT_BYTES: u64 = 64;

/// What the parts of a drive can do, and what it takes and spends.
#[derive(Clone, Debug, PartialEq)]
pub struct CostModel {
    pub(crate) nand: NandConfig,
    pub(crate) channel: ChannelConfig,
    pub(crate) link: LinkConfig,
    pub(crate) accelerator: AcceleratorModel,
    pub(crate) active_milliwatts: u64,
    pub(crate) cores: CoresConfig,
    pub(crate) dram: DramConfig,
    /// Page buffers that a command can have at once.
    pub(crate) page_buffers: u32,
    /// The order in which dies do what waits for them.
    pub(crate) schedule: ScheduleConfig,
}

/// What the controller's accelerator can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceleratorModel {
    /// Pages that its buffer holds.
    pub pages: u64,
    /// Bytes of operands that it takes in each second.
    pub bytes_per_second: u64,
    /// Energy of [`ACCELERATOR_UNIT_BYTES`].
    pub pj_per_unit: u64,
}

impl AcceleratorModel {
    /// What taking in so many bytes takes and spends.
    pub fn of(&self, bytes: u64) -> (Span, Energy) {
        let energy = bytes.div_ceil(ACCELERATOR_UNIT_BYTES) * self.pj_per_unit;
        (
            Span::of_transfer(bytes, self.bytes_per_second),
            Energy::from_pj(energy),
        )
    }
}

impl CostModel {
    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        u64::from(self.nand.geometry.page_bytes)
    }

    /// Bits of a page in every plane.
    pub fn stripe_bits(&self) -> u64 {
        u64::from(self.nand.geometry.planes()) * self.page_bytes() * 8
    }

    /// Dies.
    pub fn dies(&self) -> u64 {
        self.nand.geometry.dies().into()
    }
}

/// A part of the drive that an operation may have to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bottleneck {
    /// The dies: senses, programs, and the latches being read out.
    Array,
    /// The channels between dies and controller.
    Channel,
    /// The accelerator of the controller, or its buffer.
    Accelerator,
    /// The link to the host.
    Link,
    /// The controller's cores.
    Cores,
    /// The drive's DRAM.
    Dram,
}

impl Bottleneck {
    /// Its name, as in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Bottleneck::Array => "array",
            Bottleneck::Channel => "channel",
            Bottleneck::Accelerator => "accelerator",
            Bottleneck::Link => "link",
            Bottleneck::Cores => "cores",
            Bottleneck::Dram => "dram",
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

/// Time and energy of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// From the host's doorbell to the last completion.
    pub time: Span,
    /// How long the busiest die works.
    pub array: Span,
    /// How long the busiest channel is occupied.
    pub channel: Span,
    /// How long the accelerator is at work.
    pub accelerator: Span,
    /// How long the direction of the link to the host is occupied.
    pub link: Span,
    /// How long the cores work, all of them together.
    pub cores: Span,
    /// How long the drive's DRAM moves data, the mean of its channels.
    pub dram: Span,
    /// How long commands are in flight.
    pub active: Span,
    /// What is spent, in the order of [`ACCOUNTS`].
    pub energy: [Energy; ACCOUNTS.len()],
}

/// The accounts that operations are charged to, by component and cause.
pub const ACCOUNTS: [(&str, &str); 12] = [
    ("nand", "multi-wordline sense"),
    ("nand", "latch operation"),
    ("nand", "read"),
    ("nand", "program"),
    ("channel", "data"),
    ("controller", "bitwise accelerator"),
    ("link", "host to drive"),
    ("link", "drive to host"),
    ("controller", "active"),
    ("controller", "cores"),
    ("dram", "data"),
    ("dram", "activation"),
];

/// Number of an account in [`ACCOUNTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Account {
    /// Senses.
    Sense,
    /// Latch operations.
    Latch,
    /// Pages read.
    Read,
    /// Pages programmed.
    Program,
    /// Data on the channels.
    Channel,
    /// The accelerator.
    Accelerator,
    /// Messages from the host.
    Down,
    /// Messages to the host.
    Up,
    /// The controller while commands are in flight.
    Active,
    /// The cores.
    Cores,
    /// Data of the drive's DRAM; its refreshes come whatever is done.
    DramData,
    /// Rows of it that are opened.
    DramRows,
}

impl Cost {
    /// What is spent, account by account; those without energy are left out.
    pub fn spendings(&self) -> impl Iterator<Item = Spending> + '_ {
        let accounts = ACCOUNTS.iter().zip(self.energy);
        let spendings = accounts.map(|(&(component, cause), energy)| Spending {
            component,
            cause,
            energy,
        });
        spendings.filter(|spending| spending.energy > Energy::ZERO)
    }

    /// The energy of all accounts.
    pub fn total_energy(&self) -> Energy {
        self.energy.iter().fold(Energy::ZERO, |sum, of| sum + *of)
    }

    /// The part that is busy longest.
    pub fn bottleneck(&self) -> Bottleneck {
        let parts = [
            (self.dram, Bottleneck::Dram),
            (self.cores, Bottleneck::Cores),
            (self.link, Bottleneck::Link),
            (self.accelerator, Bottleneck::Accelerator),
            (self.channel, Bottleneck::Channel),
            (self.array, Bottleneck::Array),
        ];
        let longest = parts.into_iter().max_by_key(|(span, _)| *span);
        longest.map_or(Bottleneck::Array, |(_, part)| part)
    }

    /// This, of so many more stripes; `shorter` is the same of `fewer` stripes less.
    pub fn extended(self, shorter: Cost, more: u64, fewer: u64) -> Cost {
        let added = |long: u64, short: u64| {
            let each = u128::from(long.saturating_sub(short)) * u128::from(more);
            long + (each / u128::from(fewer)) as u64
        };
        let span =
            |of: fn(&Cost) -> Span| Span::from_ps(added(of(&self).as_ps(), of(&shorter).as_ps()));
        let energy = |at: usize| {
            let (long, short) = (self.energy[at], shorter.energy[at]);
            Energy::from_pj(added(long.as_pj(), short.as_pj()))
        };
        Cost {
            time: span(|cost| cost.time),
            array: span(|cost| cost.array),
            channel: span(|cost| cost.channel),
            accelerator: span(|cost| cost.accelerator),
            link: span(|cost| cost.link),
            cores: span(|cost| cost.cores),
            dram: span(|cost| cost.dram),
            active: span(|cost| cost.active),
            energy: std::array::from_fn(energy),
        }
    }

    fn spend(&mut self, account: Account, energy: Energy) {
        self.energy[account as usize] += energy;
    }
}

/// Commands of all dies that are lived through at most, about; what is longer goes on as it began.
const COMMANDS_MAX: u64 = 100_000;
/// Stripes that are lived through at least.
const STRIPES_MIN: u64 = 4;

/// What `lived` says of an amount that comes in stripes of `stripe`, and a rest. Of many stripes a part is lived
/// through, and half of that part: what remains takes as long a stripe as what the one has and the other has not. How
/// many commands of the dies a stripe takes is asked only where there are many.
///
/// # Errors
/// Those of `lived` and of `commands`.
pub fn of_stripes<E>(
    amount: u64,
    stripe: u64,
    commands: impl FnOnce() -> Result<u64, E>,
    lived: impl Fn(u64) -> Result<Cost, E>,
) -> Result<Cost, E> {
    if amount / stripe <= STRIPES_MIN {
        return lived(amount);
    }
    let most = COMMANDS_MAX / commands()?.max(1);
    of_at_most(amount, stripe, most.max(STRIPES_MIN) / 2 * 2, lived)
}

/// The same, where at most `long` stripes are lived through, an even number.
///
/// # Errors
/// Those of `lived`.
pub fn of_at_most<E>(
    amount: u64,
    stripe: u64,
    long: u64,
    lived: impl Fn(u64) -> Result<Cost, E>,
) -> Result<Cost, E> {
    let (stripes, rest) = (amount / stripe, amount % stripe);
    if stripes <= long {
        return lived(amount);
    }
    let of = |stripes| lived(stripes * stripe + rest);
    Ok(of(long)?.extended(of(long / 2)?, stripes - long, long / 2))
}
