//! Legal entries of the commands of streams: of the few programs that entries load, fed by the host or from blocks of which none is
//! kept.

use nvme::command::{StreamClose, StreamCommand, StreamOpen, StreamRead, StreamWrite};
use nvme::{IoCommand, SubmissionEntry};
use sim::Random;

use super::programs::{PROGRAMS, request, space};
use super::shapes::{of, pointer};
use super::world::{Space, World};

/// Bytes that are read or written at most.
const BYTES_MAX: u64 = 8192;

/// A stream that is open, seldom one that may not be.
fn stream(world: &World, random: &mut Random) -> (Space, u32) {
    let open = &world.streams;
    if open.is_empty() || random.chance(0.05) {
        return (space(world, random), random.below(100) as u32);
    }
    open[random.below(open.len() as u64) as usize]
}

pub(super) fn open(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let space = space(world, random);
    let mut request = request(world, random, space);
    request.retries = 0;
    let file = |random: &mut Random, number: usize| {
        let is_file = number < request.files.len() && random.chance(0.4);
        is_file.then_some(number as u32)
    };
    let (input, output) = (file(random, 0), file(random, 1));
    let bytes = request.encode().expect("few files");
    let address = world.list(&bytes);
    let data = pointer(world, random, address, bytes.len() as u64);
    of(IoCommand::Stream(StreamCommand::Open(StreamOpen {
        program_namespace: super::programs::program_namespace(random),
        namespace: space.id,
        program: random.below(PROGRAMS) as u16,
        request_bytes: bytes.len() as u32,
        piece_bytes: random.below(5000) as u32,
        elements: random.below(4) as u16,
        unordered: random.chance(0.5),
        input,
        collector: random.chance(0.05).then(|| random.below(5) as u16),
        output,
        data,
    })))
}

pub(super) fn read(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let (space, stream) = stream(world, random);
    let bytes = 1 + random.below(BYTES_MAX);
    let address = world.list(&vec![0; bytes as usize]);
    let data = pointer(world, random, address, bytes);
    of(IoCommand::Stream(StreamCommand::Read(StreamRead {
        namespace: space.id,
        stream,
        bytes: bytes as u32,
        data,
    })))
}

pub(super) fn write(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let (space, stream) = stream(world, random);
    let bytes = 1 + random.below(BYTES_MAX);
    let address = world.list(&vec![7; bytes as usize]);
    let data = pointer(world, random, address, bytes);
    of(IoCommand::Stream(StreamCommand::Write(StreamWrite {
        namespace: space.id,
        stream,
        bytes: bytes as u32,
        end: random.chance(0.2),
        data,
    })))
}

pub(super) fn close(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let (space, stream) = stream(world, random);
    of(IoCommand::Stream(StreamCommand::Close(StreamClose {
        namespace: space.id,
        stream,
    })))
}
