//! The accounts that the firmware books energy on.

use media::nand::Command;
use sim::{AccountId, Ledger};

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
