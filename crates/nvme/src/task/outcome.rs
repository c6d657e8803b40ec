//! What becomes of a run.

use std::mem::size_of;

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

const VERSION: u8 = 1;
/// Bytes of an outcome without reason, value and log.
pub const RESULT_BYTES_MIN: u32 = size_of::<Head>() as u32;
/// The most bytes of an outcome.
pub const MAX_RESULT_BYTES: u32 = 64 << 20;
/// The most bytes of a reason; a longer one is cut.
pub const REASON_BYTES_MAX: usize = 1024;

/// How a run ended. What "left nothing" says holds for transactions: of a run with another isolation there is what it had
/// written by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// It succeeded, and what it wrote is there: all of it, for good.
    Committed,
    /// Somebody else wrote first what it wrote, or read; it left nothing.
    Conflict,
    /// It asked to be rolled back, with this code; it left nothing.
    Failed(i32),
    /// It did what a program cannot do, such as reach beyond its memory, or used more than it may; it left nothing.
    Trapped,
    /// It was not begun.
    Rejected,
    /// The drive could not keep for it the state of the files when it began; it left nothing.
    Lost,
    /// The drive could not read or write; it left nothing.
    Faulted,
    /// The drive ended it, for all of its namespace is erased; it left nothing.
    Stopped,
    /// The drive had no room for what it wrote; it left nothing.
    Full,
}

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// How it ended.
    pub ended: Ended,
    /// Why, unless it succeeded.
    pub reason: String,
    /// What it returned.
    pub value: Vec<u8>,
    /// What it logged.
    pub log: String,
    /// Cycles of the core, of all attempts.
    pub cycles: u64,
    /// The most bytes of memory that it had.
    pub memory_bytes: u64,
    /// How often it was begun.
    pub attempts: u32,
    /// Simulated time from when the drive had the request until the outcome was there, nanoseconds.
    pub nanoseconds: u64,
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Head {
    version: u8,
    ended: u8,
    reserved: [u8; 2],
    code: U32,
    reason_bytes: U32,
    value_bytes: U32,
    log_bytes: U32,
    attempts: U32,
    cycles: U64,
    memory_bytes: U64,
    nanoseconds: U64,
    more: [U32; 4],
}

const _: () = assert!(size_of::<Head>() == 64);

impl Ended {
    /// The number that tells it.
    pub const fn code(self) -> u8 {
        match self {
            Ended::Committed => 0,
            Ended::Conflict => 1,
            Ended::Failed(_) => 2,
            Ended::Trapped => 3,
            Ended::Rejected => 4,
            Ended::Lost => 5,
            Ended::Faulted => 6,
            Ended::Stopped => 7,
            Ended::Full => 8,
        }
    }

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Ended::Committed => "committed",
            Ended::Conflict => "conflict",
            Ended::Failed(_) => "failed",
            Ended::Trapped => "trapped",
            Ended::Rejected => "rejected",
            Ended::Lost => "lost",
            Ended::Faulted => "faulted",
            Ended::Stopped => "stopped",
            Ended::Full => "full",
        }
    }

    /// What a number tells; of a run that failed, with its code.
    pub const fn from_code(code: u8, failure: i32) -> Option<Ended> {
        Some(match code {
            0 => Ended::Committed,
            1 => Ended::Conflict,
            2 => Ended::Failed(failure),
            3 => Ended::Trapped,
            4 => Ended::Rejected,
            5 => Ended::Lost,
            6 => Ended::Faulted,
            7 => Ended::Stopped,
            8 => Ended::Full,
            _ => return None,
        })
    }
}

impl Outcome {
    /// One of a run that was not begun.
    pub fn not_begun(ended: Ended, reason: impl Into<String>) -> Outcome {
        Outcome {
            ended,
            reason: reason.into(),
            value: Vec::new(),
            log: String::new(),
            cycles: 0,
            memory_bytes: 0,
            attempts: 0,
            nanoseconds: 0,
        }
    }

    /// Bytes that have room for any outcome of a run with a value and a log of at most so many bytes.
    pub fn room(return_bytes: u32, log_bytes: u32) -> u64 {
        u64::from(RESULT_BYTES_MIN)
            + REASON_BYTES_MAX as u64
            + u64::from(return_bytes)
            + u64::from(log_bytes)
    }

    /// Its bytes: a head of 64, the reason, the value, the log.
    pub fn encode(&self) -> Vec<u8> {
        let reason = cut(&self.reason);
        let code = match self.ended {
            Ended::Failed(code) => code,
            _ => 0,
        };
        let head = Head {
            version: VERSION,
            ended: self.ended.code(),
            reserved: [0; 2],
            code: (code as u32).into(),
            reason_bytes: (reason.len() as u32).into(),
            value_bytes: (self.value.len() as u32).into(),
            log_bytes: (self.log.len() as u32).into(),
            attempts: self.attempts.into(),
            cycles: self.cycles.into(),
            memory_bytes: self.memory_bytes.into(),
            nanoseconds: self.nanoseconds.into(),
            more: Default::default(),
        };
        let mut bytes = head.as_bytes().to_vec();
        bytes.extend(reason.as_bytes());
        bytes.extend(&self.value);
        bytes.extend(self.log.as_bytes());
        bytes
    }

    /// The outcome that the beginning of `bytes` is, if it is one.
    pub fn decode(bytes: &[u8]) -> Option<Outcome> {
        let (head, rest) = Head::read_from_prefix(bytes).ok()?;
        let ended = Ended::from_code(head.ended, head.code.get() as i32)?;
        let (reason, rest) = rest.split_at_checked(head.reason_bytes.get() as usize)?;
        let (value, rest) = rest.split_at_checked(head.value_bytes.get() as usize)?;
        let log = rest.get(..head.log_bytes.get() as usize)?;
        (head.version == VERSION).then(|| Outcome {
            ended,
            reason: String::from_utf8_lossy(reason).into_owned(),
            value: value.to_vec(),
            log: String::from_utf8_lossy(log).into_owned(),
            cycles: head.cycles.get(),
            memory_bytes: head.memory_bytes.get(),
            attempts: head.attempts.get(),
            nanoseconds: head.nanoseconds.get(),
        })
    }
}

/// A reason, no longer than one may be.
fn cut(reason: &str) -> &str {
    let ends = (0..=reason.len().min(REASON_BYTES_MAX)).rev();
    let end = ends.into_iter().find(|end| reason.is_char_boundary(*end));
    &reason[..end.unwrap_or(0)]
}
