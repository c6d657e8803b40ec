//! The accounts that the firmware books energy on.

use media::nand::Command;
use sim::{AccountId, Energy, Ledger, Span};

/// What a power spends in a time.
pub(crate) fn of_power(milliwatts: u64, time: Span) -> Energy {
    // A milliwatt for a picosecond is a thousandth of a picojoule.
    let picojoules = u128::from(time.as_ps()) * u128::from(milliwatts) / 1000;
    Energy::from_pj(picojoules as u64)
}

/// Accounts of the flash back end.
#[derive(Clone, Copy)]
pub(crate) struct FlashAccounts {
    read: AccountId,
    sense: AccountId,
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
            Command::Program { .. } | Command::CopybackProgram { .. } => self.program,
            Command::Erase { .. } => self.erase,
            Command::Suspend
            | Command::Resume
            | Command::SetFeature { .. }
            | Command::Reset
            | Command::ReadStatus => self.other,
        }
    }
}
