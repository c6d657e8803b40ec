//! Admin commands that erase: Format NVM (Base 5.1.10) and Sanitize (Base 5.1.22).

use crate::command::bit;
use crate::entry::SubmissionEntry;
use crate::identifier::NamespaceId;
use crate::status::Status;

/// What Format NVM does to user data (SES).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecureErase {
    /// Nothing is asked for; content is undefined afterwards.
    None,
    /// All user data is erased.
    UserData,
    /// All user data is erased by changing its key.
    Cryptographic,
}

/// Format NVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatNvm {
    /// Which namespace; all of them if broadcast.
    pub namespace: NamespaceId,
    /// Index of the LBA format (LBAFU and LBAFL).
    pub format: u8,
    /// Metadata at the end of each block, for formats that have some (MSET).
    pub metadata_inline: bool,
    /// End-to-end protection; 0 is none (PI).
    pub protection: u8,
    /// What happens to user data.
    pub secure_erase: SecureErase,
}

/// What a Sanitize command asks for (SANACT).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SanitizeAction {
    /// Leave the failure mode.
    ExitFailure,
    /// Erase all blocks.
    BlockErase,
    /// Overwrite everything with a pattern.
    Overwrite,
    /// Change the key.
    CryptoErase,
}

/// Sanitize.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sanitize {
    /// What to do.
    pub action: SanitizeAction,
    /// A failure may be left without a further success (AUSE).
    pub allow_unrestricted_exit: bool,
    /// Blocks stay allocated afterwards (NDAS).
    pub keep_allocated: bool,
    /// CDW10 as it was, for the log page.
    pub cdw10: u32,
}

impl FormatNvm {
    /// # Errors
    /// Invalid Field for a reserved kind of erase.
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<FormatNvm, Status> {
        let cdw10 = entry.cdw10.get();
        let secure_erase = match cdw10 >> 9 & 7 {
            0 => SecureErase::None,
            1 => SecureErase::UserData,
            2 => SecureErase::Cryptographic,
            _ => return Err(Status::INVALID_FIELD),
        };
        Ok(FormatNvm {
            namespace: entry.namespace(),
            format: (cdw10 & 0xF | (cdw10 >> 12 & 3) << 4) as u8,
            metadata_inline: bit(cdw10, 4),
            protection: (cdw10 >> 5 & 7) as u8,
            secure_erase,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        let format = u32::from(self.format);
        let erase = self.secure_erase as u32;
        entry.cdw10.set(
            format & 0xF
                | (format >> 4 & 3) << 12
                | u32::from(self.metadata_inline) << 4
                | u32::from(self.protection & 7) << 5
                | erase << 9,
        );
        entry
    }
}

impl Sanitize {
    /// A block erase, after which blocks are deallocated.
    pub fn block_erase() -> Sanitize {
        Sanitize {
            action: SanitizeAction::BlockErase,
            allow_unrestricted_exit: false,
            keep_allocated: false,
            cdw10: 2,
        }
    }

    /// # Errors
    /// Invalid Field for a reserved action.
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<Sanitize, Status> {
        let cdw10 = entry.cdw10.get();
        let action = match cdw10 & 7 {
            1 => SanitizeAction::ExitFailure,
            2 => SanitizeAction::BlockErase,
            3 => SanitizeAction::Overwrite,
            4 => SanitizeAction::CryptoErase,
            _ => return Err(Status::INVALID_FIELD),
        };
        Ok(Sanitize {
            action,
            allow_unrestricted_exit: bit(cdw10, 3),
            keep_allocated: bit(cdw10, 9),
            cdw10,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        entry.cdw10.set(self.cdw10);
        entry
    }
}
