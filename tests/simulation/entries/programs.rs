//! Legal entries of the commands of programs: few programs, in namespaces of which no block is kept, that read and write what
//! they are given.

use nvme::command::{AdminCommand, ExecuteProgram, LoadProgram, ProgramActivation, WEB_ASSEMBLY};
use nvme::task::{Extent, File, Isolation, Limits, Outcome, Request};
use nvme::{CommandId, IoCommand, NamespaceId, RegionId, SubmissionEntry};
use sim::Random;

use super::shapes::{of, pointer};
use super::world::{Space, World};

/// Indices that entries name.
pub(super) const PROGRAMS: u64 = 3;

/// Adds 1 to the first byte of every file; of one that is only to be read, in memory alone. In a stream it emits what it takes then.
const TASK: &str = r#"(module
  (import "isc" "file_count" (func $file_count (result i32)))
  (import "isc" "file_read" (func $file_read (param i32 i32 i32 i64) (result i64)))
  (import "isc" "file_write" (func $file_write (param i32 i32 i32 i64) (result i64)))
  (import "isc" "stream_next" (func $next (param i32 i32 i32) (result i64)))
  (import "isc" "stream_emit" (func $emit (param i32 i32) (result i64)))
  (memory (export "memory") 1)
  (func (export "isc_main") (result i32)
    (local $file i32) (local $bytes i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $file) (call $file_count)))
        (drop (call $file_read (local.get $file) (i32.const 0) (i32.const 1) (i64.const 0)))
        (i32.store8 (i32.const 0) (i32.add (i32.load8_u (i32.const 0)) (i32.const 1)))
        (drop (call $file_write (local.get $file) (i32.const 0) (i32.const 1) (i64.const 0)))
        (local.set $file (i32.add (local.get $file) (i32.const 1)))
        (br $next)))
    (loop $pieces
      (local.set $bytes (i32.wrap_i64
        (call $next (i32.const 1024) (i32.const 8192) (i32.const 0))))
      (if (i32.gt_s (local.get $bytes) (i32.const 0)) (then
        (drop (call $emit (i32.const 1024) (local.get $bytes)))
        (br $pieces))))
    (i32.const 0)))"#;

/// A namespace of which no block is kept.
pub(super) fn space(world: &World, random: &mut Random) -> Space {
    let spaces = world.spaces.iter().filter(|space| space.id.get() != 1);
    let spaces: Vec<&Space> = spaces.collect();
    *spaces[random.below(spaces.len() as u64) as usize]
}

/// A namespace that has programs.
fn owner(world: &World, random: &mut Random) -> NamespaceId {
    match random.chance(0.4) {
        true => super::memory::COMPUTE,
        false => space(world, random).id,
    }
}

/// How a command names that of its program.
pub(super) fn program_namespace(random: &mut Random) -> u16 {
    match random.chance(0.4) {
        true => super::memory::COMPUTE.get() as u16,
        false => 0,
    }
}

/// Search regions that a run may look names up in: none, one of the namespace, seldom one that may not be there.
fn stores(world: &World, random: &mut Random, space: Space) -> Vec<RegionId> {
    if random.chance(0.1) {
        return vec![RegionId::new(random.below(4) as u16)];
    }
    let regions = world.regions.iter();
    let here = regions.filter(|(of, _)| of.id == space.id);
    let here: Vec<RegionId> = here
        .map(|(_, record)| RegionId::new(record.region.get()))
        .collect();
    if here.is_empty() || random.chance(0.5) {
        return Vec::new();
    }
    vec![here[random.below(here.len() as u64) as usize]]
}

pub(super) fn load(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let module = wat::parse_str(TASK).expect("a module");
    let address = world.list(&module);
    let bytes = module.len() as u64;
    let data = pointer(world, random, address, bytes);
    let command = AdminCommand::LoadProgram(LoadProgram {
        namespace: owner(world, random),
        program: random.below(PROGRAMS) as u16,
        program_type: WEB_ASSEMBLY,
        unload: random.chance(0.2),
        persistent: random.chance(0.2),
        program_bytes: bytes as u32,
        identifier: random.bits(),
        chunk_bytes: bytes as u32,
        offset: 0,
        data,
    });
    command.encode(CommandId::new(0))
}

pub(super) fn activate(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let command = AdminCommand::ProgramActivation(ProgramActivation {
        namespace: owner(world, random),
        program: random.below(PROGRAMS) as u16,
        activate: random.chance(0.95),
    });
    command.encode(CommandId::new(0))
}

/// What a run or a stream is asked to do.
pub(super) fn request(world: &World, random: &mut Random, space: Space) -> Request {
    let files = (0..random.below(3)).map(|_| {
        let (first, blocks) = world.pages(random, space);
        File {
            bytes: random.below(blocks * space.block_bytes + 1),
            writable: random.chance(0.7),
            extents: vec![Extent { first, blocks }],
        }
    });
    let files: Vec<File> = files.collect();
    let limits = Limits {
        cycles: 1_000_000,
        log_bytes: 16,
        return_bytes: 16,
        ..Limits::default()
    };
    Request {
        identifier: u64::from(random.chance(0.05)),
        isolation: Isolation::ALL[random.below(4) as usize],
        retries: random.below(2) as u16,
        limits,
        files,
        stores: stores(world, random, space),
        arguments: vec![7; random.below(9) as usize],
    }
}

pub(super) fn execute(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let space = space(world, random);
    let request = request(world, random, space);
    let limits = request.limits;
    let mut bytes = request.encode().expect("few files");
    let request_bytes = bytes.len() as u32;
    let result_bytes = Outcome::room(limits.return_bytes, limits.log_bytes) as u32;
    bytes.resize(bytes.len().max(result_bytes as usize), 0);
    let address = world.list(&bytes);
    let data = pointer(world, random, address, bytes.len() as u64);
    of(IoCommand::Execute(ExecuteProgram {
        program_namespace: program_namespace(random),
        namespace: space.id,
        program: random.below(PROGRAMS) as u16,
        request_bytes,
        result_bytes,
        data,
    }))
}

/// No program comes into the namespace whose blocks are kept, where a request that was garbled could name them.
pub(super) fn spare_first(entry: &mut SubmissionEntry) {
    if entry.namespace() == NamespaceId::new(1) {
        entry.namespace_id.set(2);
    }
}
