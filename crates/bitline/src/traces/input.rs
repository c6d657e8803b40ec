//! Lines out of a file, which may be compressed with gzip or zstd. Memory is one
//! buffer and what the decompression keeps.

use std::io::{self, BufReader, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The buffer: no line may be longer.
pub(super) const LINE_BYTES_MAX: usize = 1 << 16;

const GZIP: &[u8] = &[0x1F, 0x8B];
const ZSTD: &[u8] = &[0x28, 0xB5, 0x2F, 0xFD];

/// A stream of bytes whose first ones can be looked at.
type Plain = io::Chain<io::Cursor<Vec<u8>>, Box<dyn Read>>;

/// The bytes of `file`, decompressed if it is compressed.
///
/// # Errors
/// What reading says.
pub(super) fn decompressed(mut file: Box<dyn Read>) -> io::Result<Box<dyn Read>> {
    let mut head = Vec::new();
    file.by_ref()
        .take(ZSTD.len() as u64)
        .read_to_end(&mut head)?;
    let (gzip, zstd) = (head.starts_with(GZIP), head.starts_with(ZSTD));
    let whole: Plain = io::Cursor::new(head).chain(file);
    Ok(if gzip {
        Box::new(MultiGzDecoder::new(BufReader::new(whole)))
    } else if zstd {
        Box::new(Zstd {
            source: BufReader::new(whole),
            decoder: FrameDecoder::new(),
            in_frame: false,
        })
    } else {
        Box::new(whole)
    })
}

/// Frame after frame, as files that were compressed in parallel have them.
struct Zstd {
    source: BufReader<Plain>,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl Read for Zstd {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !into.is_empty() {
            if !self.in_frame && !self.next_frame()? {
                return Ok(0);
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let block = BlockDecodingStrategy::UptoBlocks(1);
                let decoded = self.decoder.decode_blocks(&mut self.source, block);
                decoded.map_err(invalid)?;
            }
            let count = self.decoder.read(into)?;
            if count > 0 {
                return Ok(count);
            }
            self.in_frame = false;
        }
        Ok(0)
    }
}

impl Zstd {
    /// Begins the next frame that holds data; false if there is none.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !io::BufRead::fill_buf(&mut self.source)?.is_empty() {
            match self.decoder.init(&mut self.source) {
                Ok(()) => {
                    self.in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(
                        &mut self.source.by_ref().take(length.into()),
                        &mut io::sink(),
                    )?;
                }
                Err(error) => return Err(invalid(error)),
            }
        }
        Ok(false)
    }
}

fn invalid(error: FrameDecoderError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// The lines of a stream, numbered from one.
pub(super) struct Lines {
    input: Box<dyn Read>,
    buffer: Box<[u8]>,
    /// What of the buffer is read and not given out.
    begin: usize,
    end: usize,
    at_end: bool,
    number: u64,
}

/// What comes next in a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// A line: where it lies in the buffer, without its end.
    Line(usize, usize),
    /// A line longer than any format has; it was passed over.
    TooLong,
    End,
}

impl Lines {
    pub(super) fn new(input: Box<dyn Read>) -> Lines {
        Lines {
            input,
            buffer: vec![0; LINE_BYTES_MAX].into_boxed_slice(),
            begin: 0,
            end: 0,
            at_end: false,
            number: 0,
        }
    }

    /// The number of the line that was last given out.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The bytes of a line.
    pub(super) fn line(&self, begin: usize, end: usize) -> &[u8] {
        &self.buffer[begin..end]
    }

    /// Finds the next line.
    ///
    /// # Errors
    /// What reading says.
    pub(super) fn next(&mut self) -> io::Result<Next> {
        let mut searched = self.begin;
        loop {
            let found = self.buffer[searched..self.end]
                .iter()
                .position(|byte| *byte == b'\n');
            if let Some(offset) = found {
                let (begin, end) = (self.begin, searched + offset);
                self.begin = end + 1;
                return Ok(self.give(begin, end));
            }
            if self.at_end {
                let (begin, end) = (self.begin, self.end);
                self.begin = self.end;
                return Ok(match begin == end {
                    true => Next::End,
                    false => self.give(begin, end),
                });
            }
            if self.end - self.begin == self.buffer.len() {
                return self.pass_over();
            }
            searched = self.fill()?;
        }
    }

    fn give(&mut self, begin: usize, end: usize) -> Next {
        self.number += 1;
        let returns = end > begin && self.buffer[end - 1] == b'\r';
        Next::Line(begin, end - usize::from(returns))
    }

    /// Reads more; gives where the new bytes begin.
    fn fill(&mut self) -> io::Result<usize> {
        self.buffer.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        let searched = self.end;
        let count = loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome?,
            }
        };
        self.end += count;
        self.at_end = count == 0;
        Ok(searched)
    }

    /// Drops the rest of a line that fills the whole buffer.
    fn pass_over(&mut self) -> io::Result<Next> {
        self.number += 1;
        loop {
            (self.begin, self.end) = (0, 0);
            self.fill()?;
            let found = self.buffer[..self.end]
                .iter()
                .position(|byte| *byte == b'\n');
            if let Some(offset) = found {
                self.begin = offset + 1;
                return Ok(Next::TooLong);
            }
            if self.at_end {
                return Ok(Next::TooLong);
            }
        }
    }
}
