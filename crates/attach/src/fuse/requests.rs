//! What requests to the file do on the drive's thread: bytes become logical blocks.

use std::ops::Range;

use bitline::Error;
use bitline::inside::InsideHost;
use bitline::inside::sim::resource::Access;

use super::data::{Data, Room};
use crate::engine::Served;

/// The logical blocks around bytes, and where in them the bytes lie.
pub(super) fn blocks_around(bytes: &Range<u64>, block_bytes: u32) -> (Range<u64>, Range<usize>) {
    let block_bytes = u64::from(block_bytes);
    let blocks = around(bytes, block_bytes);
    let start = (bytes.start - blocks.start * block_bytes) as usize;
    (blocks, start..start + (bytes.end - bytes.start) as usize)
}

/// Reads logical blocks to where there is room for them.
pub(super) async fn read(
    served: &Served,
    blocks: Range<u64>,
    mut room: Room,
) -> Result<Room, Error> {
    served.check_format()?;
    let block = served.host().block();
    let count = (blocks.end - blocks.start) as u32;
    let buffer = block.lend(room.take());
    block.read_all_into(blocks.start, count, &buffer).await?;
    let mut read = buffer.take_back();
    // It may have waited for a Format.
    served.check_format()?;
    if !block.keeps_data() {
        // It transferred nothing.
        read.fill(0);
    }
    room.put_back(read);
    Ok(room)
}

/// Writes bytes. Of logical blocks of which they are a part, the rest is read before.
pub(super) async fn write(served: &Served, offset: u64, mut data: Data) -> Result<(), Error> {
    let block = served.host().block();
    let bytes = offset..offset + data.length() as u64;
    let (blocks, place) = blocks_around(&bytes, block.block_bytes());
    let _sole = served
        .writing()
        .lock(blocks.clone(), Access::Exclusive)
        .await;
    if inside(&bytes, block.block_bytes().into()) != blocks {
        let parts = write_parts(served, blocks, place.start, data.stretches());
        return Box::pin(parts).await;
    }
    served.check_format()?;
    let buffer = block.lend(data.take());
    let count = (blocks.end - blocks.start) as u32;
    let host = served.host();
    let written = host.write_from(blocks.start, count, &buffer).await;
    // Whatever became of it, some of the memory may be the drive's own by now.
    data.put_back(buffer.take_back());
    written?;
    served.check_format()
}

/// Writes blocks of which all is as it was but `data`, from byte `at` on.
async fn write_parts<'a>(
    served: &Served,
    blocks: Range<u64>,
    mut at: usize,
    data: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(), Error> {
    served.check_format()?;
    let block = served.host().block();
    let count = (blocks.end - blocks.start) as u32;
    let buffer = block.buffer(count)?;
    block.read_all_into(blocks.start, count, &buffer).await?;
    served.check_format()?;
    for stretch in data {
        buffer.put(at as u64, stretch)?;
        at += stretch.len();
    }
    served
        .host()
        .write_from(blocks.start, count, &buffer)
        .await?;
    served.check_format()
}

/// Gives bytes back: whole logical pages of the drive are deallocated. All of them read as zeroes from then on.
pub(super) async fn discard(served: &Served, bytes: Range<u64>) -> Result<(), Error> {
    let host = served.host();
    let block = host.block();
    let block_bytes = u64::from(block.block_bytes());
    let unit_bytes = block_bytes * u64::from(block.unit_blocks());
    let units = inside(&bytes, unit_bytes);
    if units.is_empty() {
        return zero(served, bytes).await;
    }
    let whole = units.start * unit_bytes..units.end * unit_bytes;
    let blocks = whole.start / block_bytes..whole.end / block_bytes;
    {
        let _sole = served
            .writing()
            .lock(blocks.clone(), Access::Exclusive)
            .await;
        served.check_format()?;
        host.deallocate(blocks.start, blocks.end - blocks.start)
            .await?;
    }
    zero(served, bytes.start..whole.start).await?;
    zero(served, whole.end..bytes.end).await
}

/// Has bytes read as zeroes from then on.
pub(super) async fn zero(served: &Served, bytes: Range<u64>) -> Result<(), Error> {
    let host = served.host();
    let block_bytes = u64::from(host.block_bytes());
    let blocks = inside(&bytes, block_bytes);
    if blocks.is_empty() {
        return write_zeroes(served, bytes).await;
    }
    let whole = blocks.start * block_bytes..blocks.end * block_bytes;
    {
        let _sole = served
            .writing()
            .lock(blocks.clone(), Access::Exclusive)
            .await;
        served.check_format()?;
        host.write_zeroes(blocks.start, blocks.end - blocks.start)
            .await?;
    }
    write_zeroes(served, bytes.start..whole.start).await?;
    write_zeroes(served, whole.end..bytes.end).await
}

/// Writes fewer zeroes than two blocks have.
async fn write_zeroes(served: &Served, bytes: Range<u64>) -> Result<(), Error> {
    if bytes.is_empty() {
        return Ok(());
    }
    let zeroes = vec![0; (bytes.end - bytes.start) as usize];
    let (blocks, place) = blocks_around(&bytes, served.host().block_bytes());
    let _sole = served
        .writing()
        .lock(blocks.clone(), Access::Exclusive)
        .await;
    write_parts(served, blocks, place.start, [&zeroes[..]]).await
}

/// The units that have any of `bytes`.
fn around(bytes: &Range<u64>, unit_bytes: u64) -> Range<u64> {
    bytes.start / unit_bytes..bytes.end.div_ceil(unit_bytes)
}

/// The units all of whose bytes are among `bytes`; an empty range if there is none.
fn inside(bytes: &Range<u64>, unit_bytes: u64) -> Range<u64> {
    let first = bytes.start.div_ceil(unit_bytes);
    first..first.max(bytes.end / unit_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_lie_in_units() {
        for (bytes, of_all, whole) in [
            (0..4096, 0..1, 0..1),
            (1..4096, 0..1, 1..1),
            (4095..8193, 0..3, 1..2),
            (100..200, 0..1, 1..1),
        ] {
            assert_eq!(around(&bytes, 4096), of_all);
            assert_eq!(inside(&bytes, 4096), whole);
        }
    }

    /// Each of the many that are under way has a task of the simulation, which is memory that is had anew, and moved.
    #[test]
    fn requests_take_little_memory() {
        fn room<F: Future, D>(_: impl FnOnce(&'static Served, D) -> F) -> usize {
            size_of::<F>()
        }
        let (reads, writes) = (
            room(|served, data| read(served, 0..1, data)),
            room(|served, data| write(served, 0, data)),
        );
        assert!(
            reads <= 1024 && writes <= 1024,
            "{reads} and {writes} bytes"
        );
    }
}
