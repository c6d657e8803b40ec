//! Identify pages that are lists: namespaces, their identifiers, controllers, command sets.

use std::mem::size_of;

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::identifier::{ControllerId, NamespaceId};
use crate::identify::IDENTIFY_BYTES;

/// Identifiers a namespace list holds.
const NAMESPACES_IN_LIST: usize = 1024;
/// Identifiers a controller list holds.
const CONTROLLERS_IN_LIST: usize = 2047;
/// Combinations an I/O command set page holds.
const COMMAND_SET_COMBINATIONS: usize = 512;

/// A namespace list: ascending identifiers, zero after the last (Base 4.6.2).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct NamespaceList {
    identifiers: [U32; NAMESPACES_IN_LIST],
}

impl NamespaceList {
    /// Those of `namespaces`, which ascend, that are greater than `after`, as many as fit.
    pub fn new(
        namespaces: impl IntoIterator<Item = NamespaceId>,
        after: NamespaceId,
    ) -> NamespaceList {
        let mut list = NamespaceList::new_zeroed();
        let greater = namespaces
            .into_iter()
            .filter(|namespace| *namespace > after);
        for (slot, namespace) in list.identifiers.iter_mut().zip(greater) {
            slot.set(namespace.get());
        }
        list
    }

    /// The identifiers listed.
    pub fn iter(&self) -> impl Iterator<Item = NamespaceId> + '_ {
        let identifiers = self.identifiers.iter().map(|identifier| identifier.get());
        identifiers
            .take_while(|raw| *raw != 0)
            .map(NamespaceId::new)
    }
}

/// A controller list: a count, then ascending identifiers (Base 4.6.1).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct ControllerList {
    count: U16,
    identifiers: [U16; CONTROLLERS_IN_LIST],
}

impl ControllerList {
    /// Those of `controllers`, which ascend, that are not less than `from`, as many as fit.
    pub fn new(
        controllers: impl IntoIterator<Item = ControllerId>,
        from: ControllerId,
    ) -> ControllerList {
        let mut list = ControllerList::new_zeroed();
        let wanted = controllers
            .into_iter()
            .filter(|controller| *controller >= from);
        let mut count = 0;
        for (slot, controller) in list.identifiers.iter_mut().zip(wanted) {
            slot.set(controller.get());
            count += 1;
        }
        list.count.set(count);
        list
    }

    /// The identifiers listed.
    pub fn iter(&self) -> impl Iterator<Item = ControllerId> + '_ {
        let count = usize::from(self.count.get());
        let identifiers = self.identifiers.iter().take(count);
        identifiers.map(|identifier| ControllerId::new(identifier.get()))
    }
}

/// The I/O command sets a controller supports, a bit each (CNS 1Ch; Base 5.1.13.2).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct CommandSets {
    /// Combinations that can be selected; zero after the last.
    pub combinations: [U64; COMMAND_SET_COMBINATIONS],
}

impl CommandSets {
    /// A controller that has these command sets, all at once.
    pub fn of(sets: &[u8]) -> CommandSets {
        let mut page = CommandSets::new_zeroed();
        let bits = sets.iter().fold(0, |bits, set| bits | 1u64 << set);
        page.combinations[0].set(bits);
        page
    }
}

const _: () = {
    assert!(size_of::<NamespaceList>() == IDENTIFY_BYTES);
    assert!(size_of::<ControllerList>() == IDENTIFY_BYTES);
    assert!(size_of::<CommandSets>() == IDENTIFY_BYTES);
};

/// One identifier of a namespace (NIDT and NID; Base 5.1.13.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceDescriptor {
    /// Type 1: IEEE extended unique identifier.
    Eui64([u8; 8]),
    /// Type 2: namespace globally unique identifier.
    Nguid([u8; 16]),
    /// Type 3: namespace UUID.
    Uuid([u8; 16]),
    /// Type 4: I/O command set.
    CommandSet(u8),
}

impl NamespaceDescriptor {
    fn kind(&self) -> u8 {
        match self {
            NamespaceDescriptor::Eui64(_) => 1,
            NamespaceDescriptor::Nguid(_) => 2,
            NamespaceDescriptor::Uuid(_) => 3,
            NamespaceDescriptor::CommandSet(_) => 4,
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            NamespaceDescriptor::Eui64(bytes) => bytes,
            NamespaceDescriptor::Nguid(bytes) | NamespaceDescriptor::Uuid(bytes) => bytes,
            NamespaceDescriptor::CommandSet(byte) => std::slice::from_ref(byte),
        }
    }
}

/// The page of a namespace's identifiers, CNS 03h: each a type, a length, two reserved bytes and
/// the identifier; a zero length ends the list. Identifiers past the end of the page are left out.
pub fn namespace_descriptors(descriptors: &[NamespaceDescriptor]) -> [u8; IDENTIFY_BYTES] {
    const HEADER_BYTES: usize = 4;
    let mut page = [0; IDENTIFY_BYTES];
    let mut rest = &mut page[..];
    for descriptor in descriptors {
        let bytes = descriptor.bytes();
        let Some((slot, following)) = rest.split_at_mut_checked(HEADER_BYTES + bytes.len()) else {
            break;
        };
        slot[0] = descriptor.kind();
        // An identifier is at most 16 bytes long.
        slot[1] = bytes.len() as u8;
        slot[HEADER_BYTES..].copy_from_slice(bytes);
        rest = following;
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identify::NVM_COMMAND_SET;

    fn namespaces(range: std::ops::RangeInclusive<u32>) -> impl Iterator<Item = NamespaceId> {
        range.map(NamespaceId::new)
    }

    #[test]
    fn namespace_list_begins_after_the_one_given() {
        let list = NamespaceList::new(namespaces(1..=3), NamespaceId::new(1));
        assert_eq!(list.as_bytes()[..12], [2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
        assert!(list.iter().eq(namespaces(2..=3)));
        let full = NamespaceList::new(namespaces(1..=2000), NamespaceId::new(0));
        assert!(full.iter().eq(namespaces(1..=1024)));
    }

    #[test]
    fn controller_list_counts_and_begins_at_the_one_given() {
        let all = [1, 5, 0x0203].map(ControllerId::new);
        let list = ControllerList::new(all, ControllerId::new(5));
        assert_eq!(list.as_bytes()[..8], [2, 0, 5, 0, 3, 2, 0, 0]);
        assert!(list.iter().eq(all.into_iter().skip(1)));
    }

    #[test]
    fn command_sets_have_a_bit_each() {
        assert_eq!(CommandSets::of(&[0, 3, 4]).as_bytes()[0], 0b1_1001);
        let page = CommandSets::of(&[NVM_COMMAND_SET]);
        assert_eq!(
            page.as_bytes()[..16],
            [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        );
    }

    #[test]
    fn descriptors_are_laid_end_to_end() {
        let page = namespace_descriptors(&[
            NamespaceDescriptor::Eui64(*b"ABCDEFGH"),
            NamespaceDescriptor::CommandSet(NVM_COMMAND_SET),
        ]);
        assert_eq!(&page[..12], b"\x01\x08\0\0ABCDEFGH");
        assert_eq!(page[12..20], [4, 1, 0, 0, 0, 0, 0, 0]);
        let many = namespace_descriptors(&[NamespaceDescriptor::Uuid([9; 16]); 300]);
        assert_eq!(many[4080..], [0; 16], "204 descriptors of 20 bytes fit");
        assert_eq!(many[4079], 9);
    }
}
