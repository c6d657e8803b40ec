//! Commands Supported and Effects, and Supported Log Pages (Base 5.1.12.1.1, 5.1.12.1.6).

use std::mem::size_of;

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::command::LogPageId;

/// Bits of a command's effects.
pub mod effect {
    /// CSUPP: the command is supported.
    pub const SUPPORTED: u32 = 1 << 0;
    /// LBCC: the content of logical blocks may change.
    pub const CHANGES_BLOCKS: u32 = 1 << 1;
    /// NCC: the capabilities of a namespace may change.
    pub const CHANGES_NAMESPACE: u32 = 1 << 2;
    /// CSE = 001b: no other command to the same namespace meanwhile.
    pub const ALONE_IN_NAMESPACE: u32 = 1 << 16;
    /// CSE = 010b: no other command to any namespace meanwhile.
    pub const ALONE: u32 = 2 << 16;
}

/// The Commands Supported and Effects page.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct CommandEffects {
    /// Admin commands by opcode: bits of [`effect`].
    pub admin: [U32; 256],
    /// I/O commands by opcode.
    pub io: [U32; 256],
    reserved: [u8; 2048],
}

impl CommandEffects {
    /// The page of a drive that supports these commands, each with its effects.
    pub fn new(admin: &[(u8, u32)], io: &[(u8, u32)]) -> CommandEffects {
        let mut page = CommandEffects::new_zeroed();
        for (opcode, effects) in admin {
            page.admin[usize::from(*opcode)].set(effect::SUPPORTED | effects);
        }
        for (opcode, effects) in io {
            page.io[usize::from(*opcode)].set(effect::SUPPORTED | effects);
        }
        page
    }
}

/// The Supported Log Pages page: bit 0 of each identifier's dword says that it is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct SupportedLogs {
    /// By log page identifier.
    pub pages: [U32; 256],
}

impl SupportedLogs {
    /// The page of a drive that has these log pages.
    pub fn new(supported: &[LogPageId]) -> SupportedLogs {
        let mut page = SupportedLogs::new_zeroed();
        for log in supported {
            page.pages[usize::from(log.0)].set(1);
        }
        page
    }
}

const _: () = {
    assert!(size_of::<CommandEffects>() == 4096);
    assert!(size_of::<SupportedLogs>() == 1024);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_lies_at_its_opcode() {
        let page = CommandEffects::new(&[(0x80, effect::CHANGES_NAMESPACE)], &[(0x02, 0)]);
        assert_eq!(page.as_bytes()[0x80 * 4..0x80 * 4 + 4], [5, 0, 0, 0]);
        assert_eq!(page.as_bytes()[1024 + 8..1024 + 12], [1, 0, 0, 0]);
        let logs = SupportedLogs::new(&[LogPageId::HEALTH]);
        assert_eq!(logs.as_bytes()[..12], [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    }
}
