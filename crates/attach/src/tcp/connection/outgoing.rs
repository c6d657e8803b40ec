//! What a connection has to send: PDUs that are made, in order, with the data that belongs to them where it lies.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::ops::Range;

/// Something to be sent.
enum Piece {
    /// A header, or what follows data.
    Small { bytes: [u8; SMALL_BYTES], end: u8 },
    /// Data of a command. The buffer counts for so many bytes.
    Data {
        buffer: Box<[u8]>,
        range: Range<usize>,
    },
}

/// As long as the longest header, aligned as far as a host may ask for.
const SMALL_BYTES: usize = 152;

/// What is to be sent, first to last.
#[derive(Default)]
pub(super) struct Outgoing {
    pieces: VecDeque<Piece>,
    /// Bytes of the first piece that are sent.
    sent: usize,
    bytes: usize,
}

/// Slices handed to the operating system at once.
pub(crate) const SLICES_MAX: usize = 64;

impl Outgoing {
    /// Bytes that are not sent.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends up to 152 bytes, of one or several parts.
    pub(super) fn put(&mut self, parts: &[&[u8]]) {
        let (mut bytes, mut end) = ([0; SMALL_BYTES], 0);
        for part in parts {
            bytes[end..end + part.len()].copy_from_slice(part);
            end += part.len();
        }
        self.bytes += end;
        let end = end as u8;
        self.pieces.push_back(Piece::Small { bytes, end });
    }

    /// Appends a part of a buffer.
    pub(super) fn put_data(&mut self, buffer: Box<[u8]>, range: Range<usize>) {
        self.bytes += range.len();
        self.pieces.push_back(Piece::Data { buffer, range });
    }

    /// What is to be sent next, into `slices`; gives how many.
    pub(super) fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>; SLICES_MAX]) -> usize {
        let mut skip = self.sent;
        let mut count = 0;
        for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
            *slice = IoSlice::new(&piece.bytes()[skip..]);
            (skip, count) = (0, count + 1);
        }
        count
    }

    /// So many bytes are sent; buffers that are not needed any more go to `done`.
    pub(super) fn sent(&mut self, bytes: usize, mut done: impl FnMut(Box<[u8]>)) {
        self.bytes -= bytes;
        let mut left = self.sent + bytes;
        while let Some(piece) = self.pieces.front() {
            let length = piece.bytes().len();
            if left < length {
                break;
            }
            left -= length;
            if let Some(Piece::Data { buffer, .. }) = self.pieces.pop_front() {
                done(buffer);
            }
        }
        self.sent = left;
    }

    /// Drops all of it; buffers go to `done`.
    pub(super) fn clear(&mut self, mut done: impl FnMut(Box<[u8]>)) {
        for piece in self.pieces.drain(..) {
            if let Piece::Data { buffer, .. } = piece {
                done(buffer);
            }
        }
        (self.sent, self.bytes) = (0, 0);
    }
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Piece::Small { bytes, end } => &bytes[..usize::from(*end)],
            Piece::Data { buffer, range } => &buffer[range.clone()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_sent_in_any_portions() {
        for portion in 1..20 {
            let mut outgoing = Outgoing::default();
            outgoing.put(&[b"ab", b"c"]);
            outgoing.put_data((*b"..defghi..").into(), 2..8);
            outgoing.put(&[b"jk"]);
            let (mut all, mut freed) = (Vec::new(), 0);
            while outgoing.bytes() > 0 {
                let mut slices = [IoSlice::new(&[]); SLICES_MAX];
                let count = outgoing.slices(&mut slices);
                let flat: Vec<u8> = slices[..count].iter().flat_map(|s| s.to_vec()).collect();
                assert_eq!(flat.len(), outgoing.bytes());
                let portion = portion.min(flat.len());
                all.extend(&flat[..portion]);
                outgoing.sent(portion, |_| freed += 1);
            }
            assert_eq!((all.as_slice(), freed), (&b"abcdefghijk"[..], 1));
        }
    }
}
