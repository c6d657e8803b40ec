//! The commands of the standard, against what it says of them.

mod addresses;
mod admin;
mod arbitration;
mod cached;
mod commands;
mod erasure;
mod journal;
mod lent;
mod names_erased;
mod namespaces;
mod placed;
mod remnants;
mod survival;
mod units;

use bitline::inside::{InsideHost, send_raw};
use bitline::{Config, Drive, Error, Host, HostError, Status};
use nvme::command::{BlockRange, ReadWrite};
use nvme::{CommandId, IoCommand, Lba};

/// A small drive with pages of 4096 bytes and blocks of 512.
pub(crate) fn config(changes: &[(&str, &str)]) -> Config {
    const SMALL: [(&str, &str); 9] = [
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.blocks_per_plane", "40"),
        ("nand.geometry.strings_per_block", "2"),
        ("nand.geometry.cells_per_string", "8"),
        ("nand.geometry.page_bytes", "4096"),
        ("frontend.block_bytes", "512"),
        ("ftl.overprovisioning", "0.25"),
        ("ftl.gc.threshold_blocks", "4"),
    ];
    let preset = Config::preset("flash-cosmos").expect("the preset exists");
    let keys = SMALL.iter().chain(changes).copied();
    preset.with(keys).expect("a possible drive")
}

pub(crate) fn drive(changes: &[(&str, &str)]) -> Drive {
    Drive::open(config(changes)).expect("it opens")
}

/// Blocks of 512 bytes, each different.
pub(crate) fn blocks(first: u64, count: u64) -> Vec<u8> {
    (first..first + count)
        .flat_map(|block| [block as u8 ^ (block >> 8) as u8 ^ 0x5A; 512])
        .collect()
}

/// The status that a call of a drive ended with.
pub(crate) fn status<T: std::fmt::Debug>(outcome: Result<T, Error>) -> Status {
    match outcome {
        Ok(_) => Status::SUCCESS,
        Err(Error::Host(HostError::Status(error))) => error.status,
        Err(other) => panic!("no status: {other}"),
    }
}

pub(crate) fn host_status<T: std::fmt::Debug>(outcome: Result<T, HostError>) -> Status {
    status(outcome.map_err(Error::from))
}

/// Reads the first blocks of the drive with Force Unit Access.
pub(crate) async fn forced_read(host: &Host, count: u32) -> (Status, Vec<u8>) {
    let (block, queue) = (host.block(), host.queue(0).expect("a queue"));
    let buffer = block.buffer(count).expect("room");
    let command = IoCommand::Read(ReadWrite {
        namespace: block.namespace(),
        blocks: BlockRange::new(Lba::new(0), count),
        force_unit_access: true,
        limited_retry: false,
        data: buffer.pointer(buffer.bytes() as u32),
    });
    let sent = send_raw(&queue, command.encode(CommandId::new(0))).await;
    let read = buffer.to_vec().expect("it is not written to any more");
    (sent.expect("an answer"), read)
}
