//! Results of evaluations, where they arrived.

use host::Buffer;

use crate::error::Error;

/// The result of an evaluation in the host's memory, which is given back when this is dropped: who looks at it there
/// saves a copy, and fresh memory for one.
pub struct Received {
    place: Place,
    /// Of a check: in how many bits a second plan's result differs; `u32::MAX` stands for so many and more.
    pub differing_bits: u32,
}

enum Place {
    /// As the drive wrote it, so many bytes.
    Memory(Buffer, u64),
    /// As the host combined it.
    Own(Vec<u8>),
    /// So many bytes, which the drive keeps no data for.
    Zeroes(u64),
}

impl Received {
    pub(super) fn in_memory(buffer: Buffer, bytes: u64, differing_bits: u32) -> Received {
        Received {
            place: Place::Memory(buffer, bytes),
            differing_bits,
        }
    }

    pub(super) fn own(bytes: Vec<u8>) -> Received {
        Received {
            place: Place::Own(bytes),
            differing_bits: 0,
        }
    }

    pub(super) fn zeroes(bytes: u64) -> Received {
        Received {
            place: Place::Zeroes(bytes),
            differing_bits: 0,
        }
    }

    /// Its bytes, how many.
    pub fn bytes(&self) -> u64 {
        match &self.place {
            Place::Memory(_, bytes) | Place::Zeroes(bytes) => *bytes,
            Place::Own(bytes) => bytes.len() as u64,
        }
    }

    /// Whether it is nothing but zeroes because the drive keeps no data: [`Received::look`] has to make them.
    pub fn is_without_data(&self) -> bool {
        matches!(self.place, Place::Zeroes(_))
    }

    /// Shows its bytes to `look`: bit i of the result is bit i mod 8 of byte i / 8.
    ///
    /// # Errors
    /// None while the drive lives; host memory reports its own errors all the same.
    pub fn look<R>(&self, look: impl FnOnce(&[u8]) -> R) -> Result<R, Error> {
        match &self.place {
            Place::Memory(buffer, bytes) => Ok(buffer.look(*bytes, look)?),
            Place::Own(bytes) => Ok(look(bytes)),
            Place::Zeroes(bytes) => Ok(look(&vec![0; *bytes as usize])),
        }
    }

    /// Copies its bytes to `into`.
    ///
    /// # Errors
    /// [`Error::Usage`](host::Error::Usage) if that has not room for exactly these.
    pub fn copy_to(&self, into: &mut [u8]) -> Result<(), Error> {
        check_room(into.len() as u64, self.bytes())?;
        match &self.place {
            Place::Memory(buffer, _) => buffer.copy_to(into)?,
            Place::Own(bytes) => into.copy_from_slice(bytes),
            Place::Zeroes(_) => into.fill(0),
        }
        Ok(())
    }

    /// Its bytes.
    ///
    /// # Errors
    /// As [`Received::look`].
    pub fn into_vec(self) -> Result<Vec<u8>, Error> {
        match self.place {
            Place::Own(bytes) => Ok(bytes),
            Place::Zeroes(bytes) => Ok(vec![0; bytes as usize]),
            Place::Memory(..) => self.look(<[u8]>::to_vec),
        }
    }
}

/// Whether memory of `room` bytes takes a result of `bytes`.
pub(super) fn check_room(room: u64, bytes: u64) -> Result<(), Error> {
    if room == bytes {
        return Ok(());
    }
    let told =
        format!("the result has {bytes} bytes, and there is room for {room}: give exactly as many");
    Err(host::Error::Usage(told).into())
}
