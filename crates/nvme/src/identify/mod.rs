//! Identify pages: what a drive tells of itself, 4096 bytes each (Base 5.1.13, NVM 4.1.5).

mod controller;
mod lists;
mod local;
mod namespace;
mod nvm;

pub use controller::{
    ControllerDescription, IdentifyController, PowerState, VERSION_2_1, controller_type,
    optional_command, sanitize_capability,
};
pub use lists::{
    CommandSets, ControllerList, NamespaceDescriptor, NamespaceList, namespace_descriptors,
};
pub use local::{IdentifyComputeNamespace, IdentifyMemoryNamespace, IndependentNamespace};
pub use namespace::{
    CopyLimits, IdentifyNamespace, LBA_FORMAT_BYTES, LbaFormat, NamespaceDescription, format_index,
};
pub use nvm::IdentifyNvmController;

/// The most ranges one command may carry: NR is a zeroes-based byte.
pub const MAX_DATASET_RANGES: usize = 256;

/// Bytes of an identify page.
pub const IDENTIFY_BYTES: usize = 4096;

/// The I/O command set identifier of the NVM command set (CSI).
pub const NVM_COMMAND_SET: u8 = 0;
/// That of memory namespaces.
pub const MEMORY_COMMAND_SET: u8 = 3;
/// That of compute namespaces.
pub const COMPUTE_COMMAND_SET: u8 = 4;

/// Which identify page is asked for (CNS; Base 5.1.13.1). Values this drive has no page for are
/// refused when the command is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cns {
    /// 00h: Identify Namespace.
    Namespace,
    /// 01h: Identify Controller.
    Controller,
    /// 02h: Active Namespace ID list.
    ActiveNamespaces,
    /// 03h: Namespace Identification Descriptor list.
    NamespaceDescriptors,
    /// 05h: I/O Command Set specific Identify Namespace.
    CommandSetNamespace,
    /// 06h: I/O Command Set specific Identify Controller.
    CommandSetController,
    /// 07h: I/O Command Set specific Active Namespace ID list.
    CommandSetActiveNamespaces,
    /// 08h: I/O Command Set Independent Identify Namespace.
    IndependentNamespace,
    /// 10h: Allocated Namespace ID list.
    AllocatedNamespaces,
    /// 11h: Identify Namespace of an allocated namespace.
    AllocatedNamespace,
    /// 12h: controllers attached to a namespace.
    AttachedControllers,
    /// 13h: controllers of the subsystem.
    Controllers,
    /// 1Ch: I/O command sets.
    CommandSets,
}

impl Cns {
    /// Every page, with its code.
    const ALL: [(Cns, u8); 13] = [
        (Cns::Namespace, 0x00),
        (Cns::Controller, 0x01),
        (Cns::ActiveNamespaces, 0x02),
        (Cns::NamespaceDescriptors, 0x03),
        (Cns::CommandSetNamespace, 0x05),
        (Cns::CommandSetController, 0x06),
        (Cns::CommandSetActiveNamespaces, 0x07),
        (Cns::IndependentNamespace, 0x08),
        (Cns::AllocatedNamespaces, 0x10),
        (Cns::AllocatedNamespace, 0x11),
        (Cns::AttachedControllers, 0x12),
        (Cns::Controllers, 0x13),
        (Cns::CommandSets, 0x1C),
    ];

    /// The page of a CNS value; none if it is not among these.
    pub fn from_code(code: u8) -> Option<Cns> {
        let found = Cns::ALL.iter().find(|(_, of_page)| *of_page == code);
        found.map(|(cns, _)| *cns)
    }

    /// The CNS value.
    pub fn code(self) -> u8 {
        Cns::ALL[self as usize].1
    }
}

/// `text` as the padded ASCII of an identify field: left-justified, spaces after it, bytes outside
/// printable ASCII as `?` (Base 1.4.2).
pub(crate) fn ascii<const LENGTH: usize>(text: &str) -> [u8; LENGTH] {
    let mut field = [b' '; LENGTH];
    for (into, byte) in field.iter_mut().zip(text.bytes()) {
        *into = if byte == b' ' || byte.is_ascii_graphic() {
            byte
        } else {
            b'?'
        };
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip() {
        for (index, (cns, code)) in Cns::ALL.into_iter().enumerate() {
            assert_eq!(cns as usize, index, "the table follows the declaration");
            assert_eq!(Cns::from_code(code), Some(cns));
            assert_eq!(cns.code(), code);
        }
        assert_eq!(Cns::from_code(0x04), None);
        assert_eq!(Cns::from_code(0xFF), None);
    }

    #[test]
    fn text_is_padded_and_truncated() {
        assert_eq!(ascii::<6>("ab c"), *b"ab c  ");
        assert_eq!(ascii::<2>("abc"), *b"ab");
        assert_eq!(ascii::<4>("a\nb"), *b"a?b ");
    }
}
