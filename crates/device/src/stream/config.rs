//! What the configuration says of streams.

use media::OutOfRange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pieces that a stream's share of the buffers holds of its input at least, so that one is read while others are computed.
const PIECES_MIN: u64 = 4;
/// The shares of a stream: a half for input, a half for output.
const HALVES: u64 = 2;

/// Streams: files as the drive's tasks make them, piece by piece (TH-iSSD 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamConfig {
    /// Bytes of the drive's DRAM for pieces on their way, of all streams together: each has its share, a half for its input and a
    /// half for its output.
    pub buffer_bytes: u64,
    /// Streams that are open at once; further ones are refused.
    pub streams_max: u32,
    /// Bytes of a piece, if the stream asks for no other.
    pub piece_bytes: u32,
    /// Instances of its task that a stream may have at a time, on as many cores as are free.
    pub elements_max: u32,
}

impl StreamConfig {
    /// # Errors
    /// The first number that cannot be.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        OutOfRange::check("streams_max", self.streams_max, 1, 1 << 16)?;
        OutOfRange::check("elements_max", self.elements_max, 1, 1 << 10)?;
        OutOfRange::check("piece_bytes", self.piece_bytes, 512, 1 << 30)?;
        let least = u64::from(self.streams_max) * HALVES * PIECES_MIN * u64::from(self.piece_bytes);
        OutOfRange::check("buffer_bytes", self.buffer_bytes, least, 1 << 40)
    }

    /// Bytes of input, and of output, that a stream may have on their way.
    pub(super) fn half(&self) -> u64 {
        self.buffer_bytes / u64::from(self.streams_max) / HALVES
    }

    /// The most bytes that a piece may have.
    pub fn piece_bytes_max(&self) -> u64 {
        self.half() / PIECES_MIN
    }
}
