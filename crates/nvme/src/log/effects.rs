//! Commands Supported and Effects, and Supported Log Pages (Base 5.1.12.1.1, 5.1.12.1.6).

use std::mem::size_of;

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::command::{CommandSet, LogPageId, commands, effect};

/// The Commands Supported and Effects page.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct CommandEffects {
    /// Admin commands by opcode: bits of [`crate::command::effect`].
    pub admin: [U32; 256],
    /// I/O commands by opcode.
    pub io: [U32; 256],
    reserved: [u8; 2048],
}

impl CommandEffects {
    /// The page of a drive that supports all commands of the table, with the I/O commands of `set`.
    pub fn of_table(set: CommandSet) -> CommandEffects {
        let mut page = CommandEffects::new_zeroed();
        for row in commands() {
            let of_set = match row.set {
                CommandSet::Admin => &mut page.admin,
                of if of == set => &mut page.io,
                _ => continue,
            };
            of_set[usize::from(row.opcode)].set(effect::SUPPORTED | row.effects);
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
        let page = CommandEffects::of_table(CommandSet::Nvm);
        assert_eq!(page.as_bytes()[0x80 * 4..0x80 * 4 + 4], [7, 0, 1, 0]);
        assert_eq!(page.as_bytes()[0x7F * 4..0x80 * 4], [0; 4]);
        assert_eq!(page.as_bytes()[1024 + 8..1024 + 12], [1, 0, 0, 0]);
        let page = CommandEffects::of_table(CommandSet::Memory);
        assert_eq!(
            page.as_bytes()[1024..1036],
            [0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]
        );
        let logs = SupportedLogs::new(&[LogPageId::HEALTH]);
        assert_eq!(logs.as_bytes()[..12], [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    }
}
