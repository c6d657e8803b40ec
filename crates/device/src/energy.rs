//! The accounts that the firmware books energy on, and what a power draws.

use std::cell::Cell;

use media::nand::Command;
use sim::{AccountId, Energy, Ledger, Span, Time};

/// What a power spends in a time.
pub(crate) fn of_power(milliwatts: u64, time: Span) -> Energy {
    // A milliwatt for a picosecond is a thousandth of a picojoule.
    let picojoules = u128::from(time.as_ps()) * u128::from(milliwatts) / 1000;
    Energy::from_pj(picojoules as u64)
}

/// How long commands are in flight, one or more at a time.
#[derive(Default)]
pub(crate) struct ActiveTime {
    in_flight: Cell<u64>,
    /// When the first of those in flight came.
    since: Cell<Time>,
    before: Cell<Span>,
    /// How often there was one again.
    times: Cell<u64>,
}

impl ActiveTime {
    /// A command comes.
    #[inline]
    pub(crate) fn begin(&self, now: Time) {
        let in_flight = self.in_flight.get();
        if in_flight == 0 {
            self.since.set(now);
            self.times.set(self.times.get() + 1);
        }
        self.in_flight.set(in_flight + 1);
    }

    /// It is done.
    #[inline]
    pub(crate) fn end(&self, now: Time) {
        let in_flight = self.in_flight.get() - 1;
        self.in_flight.set(in_flight);
        if in_flight == 0 {
            let span = now.since(self.since.get());
            self.before.set(self.before.get() + span);
        }
    }

    /// How long until `now`.
    pub(crate) fn span(&self, now: Time) -> Span {
        let current = match self.in_flight.get() {
            0 => Span::ZERO,
            _ => now.since(self.since.get()),
        };
        self.before.get() + current
    }

    /// How often there was a command after there was none.
    pub(crate) fn times(&self) -> u64 {
        self.times.get()
    }
}

/// Accounts of the flash back end.
#[derive(Clone, Copy)]
pub(crate) struct FlashAccounts {
    read: AccountId,
    pub(crate) sense: AccountId,
    latch: AccountId,
    program: AccountId,
    erase: AccountId,
    other: AccountId,
}

impl FlashAccounts {
    pub(crate) fn open(ledger: &Ledger) -> FlashAccounts {
        FlashAccounts {
            read: ledger.open("nand", "read"),
            sense: ledger.open("nand", "multi-wordline sense"),
            latch: ledger.open("nand", "latch operation"),
            program: ledger.open("nand", "program"),
            erase: ledger.open("nand", "erase"),
            other: ledger.open("nand", "other"),
        }
    }

    /// Where the array's part of `command` is booked.
    #[inline]
    pub(crate) fn of(&self, command: &Command) -> AccountId {
        match command {
            Command::Read { .. } | Command::CacheRead { .. } | Command::CopybackRead { .. } => {
                self.read
            }
            Command::Mws(_) => self.sense,
            Command::Xor { .. }
            | Command::LatchTransfer { .. }
            | Command::LatchLoad { .. }
            | Command::CacheReadEnd { .. } => self.latch,
            Command::Program { .. }
            | Command::ProgramComplement { .. }
            | Command::Raise { .. }
            | Command::CopybackProgram { .. } => self.program,
            Command::Erase { .. } => self.erase,
            Command::Suspend
            | Command::Resume
            | Command::SetFeature { .. }
            | Command::Reset
            | Command::ReadStatus => self.other,
        }
    }
}
