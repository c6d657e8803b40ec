//! Identify pages of memory and compute namespaces, and the one that is the same for all command sets.
//!
//! The fields of a compute namespace lie where implementations of CP 1.1 have them. The page of a memory namespace could not be held
//! against the standard: it is this drive's own.

use std::mem::{offset_of, size_of};

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::identify::IDENTIFY_BYTES;

/// FPI bit 7: the progress of a format is told.
const PROGRESS_TOLD: u8 = 1 << 7;
/// NSTAT bit 0: the namespace is ready.
const READY: u8 = 1;
/// A unit of the bytes that programs may have.
const PROGRAM_UNIT: u64 = 1 << 20;

/// The Identify Namespace page of a memory namespace, CNS 05h and CSI 3.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct IdentifyMemoryNamespace {
    /// Size, bytes.
    pub bytes: U64,
    /// What places and lengths are multiples of, bytes.
    pub granularity: U32,
    reserved: [u8; 4084],
}

/// The Identify Namespace page of a compute namespace, CNS 05h and CSI 4.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct IdentifyComputeNamespace {
    /// MAXACT: programs that may be active.
    pub active_max: U16,
    /// MAXMEMRS: memory range sets that there may be.
    pub sets_max: U16,
    /// MRSG: what places and lengths of ranges are multiples of, log2 of bytes.
    pub range_granularity: U16,
    /// MAXMEMR: ranges of a set, at most.
    pub ranges_max: u8,
    reserved_7: u8,
    /// MAXPB: bytes of all programs, MiB.
    pub program_mebibytes: U64,
    /// LPG: what chunks of programs are multiples of, log2 of bytes.
    pub load_granularity: u8,
    reserved_17: [u8; 4079],
}

/// The I/O Command Set Independent Identify Namespace page, CNS 08h (Base 2.1, Figure 319).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct IndependentNamespace {
    reserved_0: [u8; 3],
    /// FPI: format progress.
    pub format_progress: u8,
    reserved_4: [u8; 10],
    /// NSTAT: status.
    pub status: u8,
    reserved_15: [u8; 5],
    /// RGRPID: reachability group.
    pub reachability_group: U32,
    reserved_24: [u8; 4072],
}

const _: () = {
    assert!(size_of::<IdentifyMemoryNamespace>() == IDENTIFY_BYTES);
    assert!(size_of::<IdentifyComputeNamespace>() == IDENTIFY_BYTES);
    assert!(size_of::<IndependentNamespace>() == IDENTIFY_BYTES);
    assert!(offset_of!(IdentifyComputeNamespace, program_mebibytes) == 8);
    assert!(offset_of!(IndependentNamespace, reachability_group) == 20);
};

impl IdentifyMemoryNamespace {
    /// The page of a namespace of so many bytes.
    pub fn new(bytes: u64, granularity: u32) -> IdentifyMemoryNamespace {
        let mut page = IdentifyMemoryNamespace::new_zeroed();
        page.bytes.set(bytes);
        page.granularity.set(granularity);
        page
    }
}

impl IdentifyComputeNamespace {
    /// The page of a namespace whose ranges are multiples of `granularity`, a power of two, and whose programs, of which there are
    /// at most `programs`, come in chunks of any length.
    pub fn new(
        programs: u16,
        program_bytes: u64,
        (sets, ranges): (u16, u8),
        granularity: u32,
    ) -> IdentifyComputeNamespace {
        let mut page = IdentifyComputeNamespace::new_zeroed();
        page.active_max.set(programs);
        page.sets_max.set(sets);
        page.ranges_max = ranges;
        page.range_granularity.set(granularity.ilog2() as u16);
        page.program_mebibytes.set(program_bytes / PROGRAM_UNIT);
        page
    }
}

impl IndependentNamespace {
    /// The page of a namespace of that reachability group, 0 for none.
    pub fn new(format_left_percent: u8, is_ready: bool, group: u32) -> IndependentNamespace {
        let mut page = IndependentNamespace::new_zeroed();
        page.format_progress = PROGRESS_TOLD | format_left_percent;
        page.status = u8::from(is_ready) * READY;
        page.reachability_group.set(group);
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_where_they_should() {
        let compute = IdentifyComputeNamespace::new(64, 64 << 20, (16, 8), 4);
        assert_eq!(
            compute.as_bytes()[..17],
            [64, 0, 16, 0, 2, 0, 8, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0]
        );
        let memory = IdentifyMemoryNamespace::new(1 << 20, 4);
        assert_eq!(
            memory.as_bytes()[..12],
            [0, 0, 0x10, 0, 0, 0, 0, 0, 4, 0, 0, 0]
        );
        let any = IndependentNamespace::new(0, true, 3);
        assert_eq!(any.as_bytes()[3], 0x80);
        assert_eq!(any.as_bytes()[14], 1);
        assert_eq!(any.as_bytes()[20..24], [3, 0, 0, 0]);
    }
}
