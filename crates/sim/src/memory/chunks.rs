//! Chunks of memory as large as is good to ask of the operating system, to be cut up.

use bytes::{Buf, Bytes, BytesMut};

/// Bytes of a chunk, about: more than what the allocator would look for among what was freed before.
pub(super) const CHUNK_BYTES: usize = 64 << 20;

/// What a chunk begins at: a memory page, so that what is cut from it lies on no more of them than it must. The operating system
/// looks each of them up when it copies.
const ALIGNMENT: usize = 4096;

/// Zeroes that begin with a memory page. Who holds little takes little: the first chunk is used by ordinary memory pages.
#[cold]
pub(super) fn new_chunk(bytes: usize, huge: bool) -> BytesMut {
    let room = bytes + ALIGNMENT;
    let memory = match huge {
        true => super::zeroed(room),
        false => vec![0; room],
    };
    let skipped = memory.as_ptr().align_offset(ALIGNMENT);
    // Nobody else has it, so that nothing is copied.
    let mut chunk = BytesMut::from(Bytes::from(memory));
    chunk.advance(skipped);
    chunk
}
