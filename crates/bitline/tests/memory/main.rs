//! The memory that programs and the host share with a drive: Subsystem Local Memory and Computational Programs on whole drives,
//! against a model of bytes, and against what the standard says of commands that cannot be.

#![expect(
    clippy::single_range_in_vec_init,
    reason = "sets of one range are sets"
)]

mod erased;
mod model;
mod programs;
mod refused;
mod told;

use bitline::inside::InsideHost;
use bitline::{Config, Drive, Error, HostError, Loading, Program, Status};
use nvme::{CompletionEntry, NamespaceId, SubmissionEntry};

/// The namespaces of a drive with one of blocks.
const BLOCKS: NamespaceId = NamespaceId::new(1);
const MEMORY: NamespaceId = NamespaceId::new(2);
const COMPUTE: NamespaceId = NamespaceId::new(3);
/// Bytes of memory of the drives here.
const BYTES: u64 = 1 << 20;

/// A small drive with pages of 4096 bytes, blocks of 512, and a MiB of memory.
fn config(changes: &[(&str, &str)]) -> Config {
    const SMALL: [(&str, &str); 12] = [
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.blocks_per_plane", "40"),
        ("nand.geometry.strings_per_block", "2"),
        ("nand.geometry.cells_per_string", "8"),
        ("nand.geometry.page_bytes", "4096"),
        ("frontend.block_bytes", "512"),
        ("ftl.overprovisioning", "0.25"),
        ("ftl.gc.threshold_blocks", "4"),
        ("local_memory.bytes", "1048576"),
        ("local_memory.range_sets", "3"),
        ("local_memory.ranges", "4"),
    ];
    let preset = Config::preset("flash-cosmos").expect("the preset exists");
    let keys = SMALL.iter().chain(changes).copied();
    preset.with(keys).expect("a possible drive")
}

fn drive(changes: &[(&str, &str)]) -> Drive {
    Drive::open(config(changes)).expect("it opens")
}

/// A module that multiplies each number of 32 bits of its first file by its first parameter, adds the number that its arguments begin
/// with, writes that to its second file, and returns the sum of what it wrote.
fn scale() -> Vec<u8> {
    let text = r#"(module
        (import "isc" "file_size" (func $size (param i32) (result i64)))
        (import "isc" "file_read" (func $read (param i32 i32 i32 i64) (result i64)))
        (import "isc" "file_write" (func $write (param i32 i32 i32 i64) (result i64)))
        (import "isc" "get_args" (func $arguments (param i32 i32 i32) (result i32)))
        (import "isc" "parameter" (func $parameter (param i32) (result i64)))
        (import "isc" "put_ret" (func $return (param i32 i32) (result i32)))
        (memory (export "memory") 40)
        (func (export "isc_main") (result i32)
            (local $at i32) (local $end i32) (local $value i32)
            (drop (call $arguments (i32.const 0) (i32.const 4) (i32.const 0)))
            (local.set $at (i32.const 1024))
            (local.set $end (i32.add (i32.const 1024) (i32.wrap_i64 (call $size (i32.const 0)))))
            (drop (call $read (i32.const 0) (i32.const 1024) (i32.wrap_i64 (call $size (i32.const 0))) (i64.const 0)))
            (block $done (loop $next
                (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
                (local.set $value (i32.add (i32.load (i32.const 0))
                    (i32.mul (i32.load (local.get $at)) (i32.wrap_i64 (call $parameter (i32.const 0))))))
                (i32.store (local.get $at) (local.get $value))
                (i64.store (i32.const 8) (i64.add (i64.load (i32.const 8)) (i64.extend_i32_u (local.get $value))))
                (local.set $at (i32.add (local.get $at) (i32.const 4)))
                (br $next)))
            (drop (call $write (i32.const 1) (i32.const 1024) (i32.sub (local.get $end) (i32.const 1024)) (i64.const 0)))
            (call $return (i32.const 8) (i32.const 8))))"#;
    wat::parse_str(text).expect("a module")
}

/// What [`scale`] makes of data, and the sum.
fn scaled(data: &[u8], by: u32, plus: u32) -> (Vec<u8>, u64) {
    let numbers = data.as_chunks::<4>().0.iter();
    let numbers = numbers.map(|four| {
        u32::from_le_bytes(*four)
            .wrapping_mul(by)
            .wrapping_add(plus)
    });
    let numbers: Vec<u32> = numbers.collect();
    let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
    (
        bytes.collect(),
        numbers.iter().map(|number| u64::from(*number)).sum(),
    )
}

/// A module that returns a code.
fn fails(code: i32) -> Vec<u8> {
    let text = format!(
        r#"(module (memory (export "memory") 1) (func (export "isc_main") (result i32) (i32.const {code})))"#
    );
    wat::parse_str(text).expect("a module")
}

fn load(drive: &mut Drive, module: &[u8]) -> Program {
    let loaded = drive.tasks().load(module, Loading::default());
    loaded.expect("room")
}

/// Sends an entry as it is.
fn sent(drive: &mut Drive, entry: SubmissionEntry, admin: bool) -> CompletionEntry {
    let completion = drive.run(move |host| async move {
        let queue = host.queue(0)?;
        match admin {
            true => host::Transport::admin(&queue, &entry).await,
            false => host::Transport::io(&queue, &entry).await,
        }
    });
    completion
        .expect("it has power")
        .expect("the transport does not fail")
}

/// The status that a call of a drive ended with.
fn status<T: std::fmt::Debug>(outcome: Result<T, Error>) -> Status {
    match outcome {
        Ok(_) => Status::SUCCESS,
        Err(Error::Host(HostError::Status(error))) => error.status,
        Err(other) => panic!("no status: {other}"),
    }
}

/// Bytes that differ from place to place.
fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    sim::Random::named(seed, "bytes").fill(&mut bytes);
    bytes
}
