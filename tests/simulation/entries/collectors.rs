//! Legal entries of the commands of collections: of the few ports that have wires, to pages of which the clients keep none.

use nvme::collector::Policy;
use nvme::command::{CollectorClose, CollectorExtend, CollectorOpen, StreamCommand};
use nvme::task::Request;
use nvme::{IoCommand, SubmissionEntry};
use sim::Random;

use super::programs::{request, space};
use super::shapes::{of, pointer};
use super::world::{PORTS, Space, World};

/// A port where something is collected, seldom another one.
fn collector(world: &World, random: &mut Random) -> (Space, u16) {
    let open = &world.collectors;
    if open.is_empty() || random.chance(0.1) {
        return (space(world, random), random.below(PORTS.into()) as u16);
    }
    open[random.below(open.len() as u64) as usize]
}

/// What the extents of a collection are asked for with: at most one file, and seldom more that means nothing here.
fn extents(world: &World, random: &mut Random, space: Space) -> Request {
    let mut request = request(world, random, space);
    request.files.truncate(1);
    for file in &mut request.files {
        file.writable = true;
    }
    if random.chance(0.05) {
        // With what only runs are asked for.
        return request;
    }
    Request {
        identifier: request.identifier,
        files: request.files,
        ..Request::default()
    }
}

pub(super) fn open(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let space = space(world, random);
    let request = extents(world, random, space);
    let bytes = request.encode().expect("few files");
    let address = world.list(&bytes);
    let data = pointer(world, random, address, bytes.len() as u64);
    of(IoCommand::Stream(StreamCommand::CollectorOpen(
        CollectorOpen {
            namespace: space.id,
            port: random.below(u64::from(PORTS) + 1) as u16,
            policy: Policy::ALL[random.below(3) as usize],
            goes_on: random.chance(0.2),
            request_bytes: bytes.len() as u32,
            share_bytes: random.below(3) as u32 * (64 << 10),
            low_bytes: random.below(5000) as u32,
            data,
        },
    )))
}

pub(super) fn extend(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let (space, port) = collector(world, random);
    let request = extents(world, random, space);
    let bytes = request.encode().expect("few files");
    let address = world.list(&bytes);
    let data = pointer(world, random, address, bytes.len() as u64);
    of(IoCommand::Stream(StreamCommand::CollectorExtend(
        CollectorExtend {
            namespace: space.id,
            port,
            request_bytes: bytes.len() as u32,
            data,
        },
    )))
}

pub(super) fn close(world: &mut World, random: &mut Random) -> SubmissionEntry {
    let (space, port) = collector(world, random);
    of(IoCommand::Stream(StreamCommand::CollectorClose(
        CollectorClose {
            namespace: space.id,
            port,
        },
    )))
}
