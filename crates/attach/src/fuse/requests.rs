//! What requests to the file do on the drive's thread: bytes become logical blocks.

use std::ops::Range;

use bitline::Error;
use bitline::inside::InsideHost;
use bitline::inside::sim::resource::Access;

use super::data::{Data, Spare};
use crate::engine::Served;

/// Reads bytes, with the logical blocks around them.
pub(super) async fn read(served: &Served, bytes: Range<u64>, spare: &Spare) -> Result<Data, Error> {
    let block = served.host().block();
    let block_bytes = u64::from(block.block_bytes());
    let blocks = around(&bytes, block_bytes);
    let count = (blocks.end - blocks.start) as u32;
    let start = (bytes.start - blocks.start * block_bytes) as usize;
    let length = (bytes.end - bytes.start) as usize;
    let mut data = spare.room(
        start..start + length,
        (u64::from(count) * block_bytes) as usize,
    );
    let buffer = block.buffer_of(data.take());
    block.read_all_into(blocks.start, count, &buffer).await?;
    let mut read = buffer.take_back()?;
    if !block.keeps_data() {
        // It transferred nothing.
        read.fill(0);
    }
    data.put_back(read);
    Ok(data)
}

/// Writes bytes. Of logical blocks of which they are a part, the rest is read before.
pub(super) async fn write(served: &Served, offset: u64, data: Data) -> Result<(), Error> {
    let bytes = offset..offset + data.bytes().len() as u64;
    let blocks = around(&bytes, served.host().block_bytes().into());
    let sole = served.writing().lock(blocks, Access::Exclusive).await;
    let written = write_locked(served, bytes, data).await;
    drop(sole);
    written
}

async fn write_locked(served: &Served, bytes: Range<u64>, mut data: Data) -> Result<(), Error> {
    let host = served.host();
    let block = host.block();
    let block_bytes = u64::from(block.block_bytes());
    let blocks = around(&bytes, block_bytes);
    let count = (blocks.end - blocks.start) as u32;
    if inside(&bytes, block_bytes) == blocks {
        let buffer = block.buffer_of(data.take());
        host.write_from(blocks.start, count, &buffer).await?;
        data.put_back(buffer.take_back()?);
        return Ok(());
    }
    let buffer = block.buffer(count)?;
    block.read_all_into(blocks.start, count, &buffer).await?;
    buffer.put(bytes.start - blocks.start * block_bytes, data.bytes())?;
    host.write_from(blocks.start, count, &buffer).await
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
    write(served, bytes.start, zeroes.into()).await
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
}
