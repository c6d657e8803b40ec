//! What a die refuses, and what can go wrong with where its bits are kept.

use super::check::ConfigError;
use super::geometry::{BlockPlace, PagePlace, PlanePlace};
use super::mode::ProgramMode;
use super::storage::StorageError;
use sim::Time;

/// The flash packages could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MediaError {
    /// The configuration is impossible.
    #[error("NAND configuration: {0}")]
    Config(#[from] ConfigError),
    /// The storage of bits failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// A command or transfer that a die refuses. Nothing has changed when one is returned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NandError {
    /// There is no such die.
    #[error("die {die} does not exist; the drive has dies 0 to {last}")]
    NoSuchDie {
        /// The die asked for.
        die: u32,
        /// The last die there is.
        last: u32,
    },
    /// There is no such plane.
    #[error("plane {plane} does not exist; the drive has planes 0 to {last}")]
    NoSuchPlane {
        /// The plane asked for.
        plane: u32,
        /// The last plane there is.
        last: u32,
    },
    /// A command names a block of another die, or one that does not exist.
    #[error(
        "{command} names block {block}, which is not in die {die}; its blocks are {first} to {last}"
    )]
    ForeignBlock {
        /// The command.
        command: &'static str,
        /// The global number of the block.
        block: u32,
        /// The die commanded.
        die: u32,
        /// The first block of the die.
        first: u32,
        /// The last block of the die.
        last: u32,
    },
    /// A command names planes its die does not have, or none.
    #[error("{command} names planes {mask:#b} of a die; it must name some of the {planes} planes")]
    BadPlanes {
        /// The command.
        command: &'static str,
        /// The planes named.
        mask: u8,
        /// How many planes the die has.
        planes: u32,
    },
    /// A multi-plane command names a plane twice.
    #[error(
        "{command} names {plane} twice; a multi-plane command takes one page or block per plane"
    )]
    PlaneTwice {
        /// The command.
        command: &'static str,
        /// The plane.
        plane: PlanePlace,
    },
    /// A page beyond those its block has.
    #[error("{page} does not exist; a block has pages 0 to {last} in {mode} mode")]
    NoSuchPage {
        /// The page.
        page: PagePlace,
        /// The mode of the block, or of the program.
        mode: ProgramMode,
        /// The last page in that mode.
        last: u32,
    },
    /// A mode for cells of another kind.
    #[error("{mode} mode refused: cells of this drive hold at most {most} bits")]
    TooDense {
        /// The mode.
        mode: ProgramMode,
        /// Bits that a cell can hold.
        most: u32,
    },
    /// The die is still at work.
    #[error(
        "{command} refused: die {die} is busy until {until}, now is {now}; suspend, reset and read status are legal meanwhile"
    )]
    Busy {
        /// The command or transfer.
        command: &'static str,
        /// The die.
        die: u32,
        /// When it becomes ready.
        until: Time,
        /// The time of the command.
        now: Time,
    },
    /// The operation has ended but was not finished.
    #[error(
        "{command} refused: die {die} has been ready since {since}; finish its last command first"
    )]
    NotFinished {
        /// The command.
        command: &'static str,
        /// The die.
        die: u32,
        /// When it became ready.
        since: Time,
    },
    /// Finished too early.
    #[error("die {die} is not ready at {now}; it is at {until}")]
    NotReady {
        /// The die.
        die: u32,
        /// The time of the question.
        now: Time,
        /// When it becomes ready.
        until: Time,
    },
    /// Finished without a command in progress.
    #[error("die {die} has no command in progress to finish")]
    Idle {
        /// The die.
        die: u32,
    },
    /// Nothing that could be suspended or resumed.
    #[error("{command} refused: die {die} has no {what}")]
    NothingTo {
        /// Suspend or resume.
        command: &'static str,
        /// The die.
        die: u32,
        /// What it would need.
        what: &'static str,
    },
    /// A command that must wait for a suspended one.
    #[error(
        "{command} refused: die {die} has a suspended program or erase; only reads of other blocks, resume and reset are legal"
    )]
    Suspended {
        /// The command.
        command: &'static str,
        /// The die.
        die: u32,
    },
    /// A read of a block whose program or erase is suspended.
    #[error("{command} of {block} refused: its program or erase is suspended; resume it first")]
    BlockSuspended {
        /// The command.
        command: &'static str,
        /// The block.
        block: BlockPlace,
    },
    /// A page that has been passed, be it programmed or skipped.
    #[error("program of {page} refused: pages of a block are programmed once, in ascending order; {}", next_legal(*.next, *.last))]
    NotInOrder {
        /// The page.
        page: PagePlace,
        /// The lowest page that may be programmed.
        next: u32,
        /// The last page of the block.
        last: u32,
    },
    /// A program in another mode than the block has.
    #[error("{mode} program of {page} refused: the block is in {block_mode} mode until erased")]
    WrongMode {
        /// The page.
        page: PagePlace,
        /// The mode of the program.
        mode: ProgramMode,
        /// The mode of the block.
        block_mode: ProgramMode,
    },
    /// A program of a block whose last erase did not complete.
    #[error(
        "program of {page} refused: the last erase of the block did not complete; erase it first"
    )]
    NeedsErase {
        /// The page.
        page: PagePlace,
    },
    /// A raise of cells that hold nothing, or several bits each.
    #[error(
        "raise of {page} refused: {what}; legal are pages of SLC and ESP blocks that were programmed well"
    )]
    NotRaisable {
        /// The page.
        page: PagePlace,
        /// What it is instead.
        what: &'static str,
    },
    /// A program or erase of a block marked bad.
    #[error("{command} of {block} refused: it is marked bad")]
    Bad {
        /// The command.
        command: &'static str,
        /// The block.
        block: BlockPlace,
    },
    /// A sense whose read voltage would be raised too far.
    #[error("a sense with its read voltage raised by {raise} steps refused; legal are 0 to {most}")]
    BadRaise {
        /// Steps asked for.
        raise: u8,
        /// The most there are.
        most: u8,
    },
    /// Flags that contradict each other.
    #[error("a sense with the inverse flag must initialize the S-latch (Flash-Cosmos 6.2)")]
    InverseWithoutInit,
    /// A latch is to be combined with that holds nothing.
    #[error(
        "{command} refused: the {latch}-latch of {plane} holds nothing; sense with its initialization flag first"
    )]
    LatchEmpty {
        /// The command.
        command: &'static str,
        /// "S" or "C".
        latch: &'static str,
        /// The plane.
        plane: PlanePlace,
    },
    /// The complement is asked for of what is no longer there.
    #[error(
        "{command} refused: the C-latch of {plane} does not hold what was programmed last; its complement can be programmed right after a program"
    )]
    RegisterChanged {
        /// The command.
        command: &'static str,
        /// The plane.
        plane: PlanePlace,
    },
    /// A latch would be changed whose content somebody still needs.
    #[error(
        "{command} refused: the {latch}-latch of {plane} is leased; end its lease, or save what it holds first"
    )]
    LatchLeased {
        /// The command.
        command: &'static str,
        /// "S" or "C".
        latch: &'static str,
        /// The plane.
        plane: PlanePlace,
    },
    /// Too many or too few blocks in one sense.
    #[error("a sense of {slots} blocks of {plane} refused; 1 to {most} are legal (mws.blocks_max)")]
    TooManyBlocks {
        /// Blocks asked for.
        slots: usize,
        /// The plane.
        plane: PlanePlace,
        /// The limit.
        most: u32,
    },
    /// A block twice in one sense.
    #[error("a sense names {block} twice; each slot must name another block")]
    BlockTwice {
        /// The block.
        block: BlockPlace,
    },
    /// A sense with slots of several planes in one plane's entry.
    #[error("a sense of {plane} names {block}; the blocks of a slot list share a plane")]
    MixedPlanes {
        /// The plane of the first slot.
        plane: PlanePlace,
        /// The block elsewhere.
        block: BlockPlace,
    },
    /// A string or wordlines the block does not have.
    #[error(
        "a sense of {block} string {string} with {wordlines} wordlines up to layer {last} refused; legal are strings below {strings} and one or more layers below {cells}"
    )]
    BadWordlines {
        /// The block.
        block: BlockPlace,
        /// The string.
        string: u32,
        /// How many wordlines were asked for.
        wordlines: u32,
        /// The highest of them.
        last: u32,
        /// Strings of a block.
        strings: u32,
        /// Cells of a string.
        cells: u32,
    },
    /// A multi-wordline sense of cells that hold several bits.
    #[error(
        "a multi-wordline sense of {block} refused: it is in {mode} mode; legal are SLC and ESP"
    )]
    NotComputable {
        /// The block.
        block: BlockPlace,
        /// Its mode.
        mode: ProgramMode,
    },
    /// A transfer past the end of a page or its spare bytes.
    #[error("{what} of {bytes} bytes at {column} refused: {plane} has {size}")]
    PastEnd {
        /// Which transfer.
        what: &'static str,
        /// Bytes to transfer.
        bytes: usize,
        /// Where they begin.
        column: usize,
        /// The plane.
        plane: PlanePlace,
        /// Bytes there are.
        size: usize,
    },
    /// A feature value out of range.
    #[error("feature {feature} cannot be {value}; legal are {allowed}")]
    BadFeature {
        /// The feature.
        feature: &'static str,
        /// The value.
        value: u32,
        /// What it may be.
        allowed: &'static str,
    },
    /// The storage of bits failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

fn next_legal(next: u32, last: u32) -> String {
    if next > last {
        "the block is full; erase it first".to_owned()
    } else {
        format!("pages {next} to {last} are legal")
    }
}
