//! The list of programs: a log page of a namespace, which also tells what programs may use there.

use std::mem::size_of;

use sha2::{Digest, Sha256};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

const VERSION: u8 = 1;

/// What programs and runs of a namespace may use, and what of that is in use.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct ProgramLimits {
    version: u8,
    reserved: [u8; 3],
    /// Programs listed.
    pub programs: U32,
    /// Programs that there may be.
    pub programs_max: U32,
    /// Runs at a time; further ones wait.
    pub runs_max: U32,
    /// Bytes of all programs that there may be.
    pub bytes_max: U64,
    /// Bytes of all programs listed.
    pub bytes: U64,
    /// Bytes that a program may have.
    pub program_bytes_max: U32,
    /// Bytes that a program may have that is kept through power cycles.
    pub persistent_bytes_max: U32,
    /// Bytes of memory of a run.
    pub memory_bytes_max: U64,
    /// Cycles of a run.
    pub cycles_max: U64,
    /// Bytes of the log of a run.
    pub log_bytes_max: U32,
    /// Bytes of the value of a run.
    pub return_bytes_max: U32,
    /// Tickets of a run.
    pub tickets_max: U32,
    /// Bytes of arguments.
    pub argument_bytes_max: U32,
    more: [U32; 14],
}

/// What a program is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramState {
    /// Chunks are still to come.
    Loading,
    /// All of it is there.
    Loaded,
    /// It can run.
    Active,
}

/// A program.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct ProgramRecord {
    /// Its index in the namespace.
    pub index: U16,
    /// What it is at: 1 loading, 2 loaded, 3 active.
    pub state: u8,
    /// 1 if it is kept through power cycles.
    pub persistent: u8,
    /// What it is written in.
    pub program_type: u8,
    reserved: [u8; 3],
    /// Bytes of all of it.
    pub bytes: U32,
    /// Bytes that are there.
    pub loaded_bytes: U32,
    /// What its owner calls it.
    pub identifier: U64,
    /// How often it was activated since power-up.
    pub activations: U32,
    /// Runs under way.
    pub running: U32,
    /// Runs begun since power-up.
    pub runs: U64,
    /// What tells its module from others: [`ProgramRecord::digest_of`]; zeroes until it is whole.
    pub digest: [u8; 16],
    more: [U32; 2],
}

const _: () = {
    assert!(size_of::<ProgramLimits>() == 128);
    assert!(size_of::<ProgramRecord>() == 64);
};

/// The log page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramList {
    /// What they may use.
    pub limits: ProgramLimits,
    /// The programs, by index.
    pub programs: Vec<ProgramRecord>,
}

impl ProgramRecord {
    /// What tells a module from others: the first half of its SHA-256.
    pub fn digest_of(module: &[u8]) -> [u8; 16] {
        let whole: [u8; 32] = Sha256::digest(module).into();
        *whole.first_chunk().expect("half of it")
    }

    /// What it is at.
    pub fn state(&self) -> Option<ProgramState> {
        Some(match self.state {
            1 => ProgramState::Loading,
            2 => ProgramState::Loaded,
            3 => ProgramState::Active,
            _ => return None,
        })
    }
}

impl ProgramList {
    /// A list of these programs, by index.
    pub fn new(limits: ProgramLimits, programs: Vec<ProgramRecord>) -> ProgramList {
        ProgramList { limits, programs }
    }

    /// Its bytes: 128 of limits, 64 for each program.
    pub fn encode(&self) -> Vec<u8> {
        let mut limits = self.limits;
        limits.version = VERSION;
        limits.programs.set(self.programs.len() as u32);
        let mut bytes = limits.as_bytes().to_vec();
        bytes.extend(self.programs.as_bytes());
        bytes
    }

    /// What the page begins with.
    pub fn limits(page: &[u8]) -> Option<ProgramLimits> {
        let (limits, _) = ProgramLimits::read_from_prefix(page).ok()?;
        (limits.version == VERSION).then_some(limits)
    }

    /// How many bytes the page has that begins so.
    pub fn bytes(limits: &ProgramLimits) -> u64 {
        let records = u64::from(limits.programs.get()) * size_of::<ProgramRecord>() as u64;
        size_of::<ProgramLimits>() as u64 + records
    }

    /// The list that a page is; `None` of one that is cut short.
    pub fn decode(page: &[u8]) -> Option<ProgramList> {
        let limits = ProgramList::limits(page)?;
        let rest = page.get(size_of::<ProgramLimits>()..)?;
        let count = limits.programs.get() as usize;
        let (records, _) = <[ProgramRecord]>::ref_from_prefix_with_elems(rest, count).ok()?;
        Some(ProgramList {
            limits,
            programs: records.to_vec(),
        })
    }
}
