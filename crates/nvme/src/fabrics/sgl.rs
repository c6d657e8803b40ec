//! Where a capsule's data is: in the capsule, or to be transferred by PDUs of its own (TCP 3.4; Base 4.3.2).

use crate::entry::SubmissionEntry;
use crate::status::Status;

const DATA_BLOCK: u8 = 0x0;
const SEGMENT: u8 = 0x2;
const LAST_SEGMENT: u8 = 0x3;
const TRANSPORT_DATA_BLOCK: u8 = 0x5;
const BY_ADDRESS: u8 = 0x0;
const BY_OFFSET: u8 = 0x1;
const SPECIFIC_TO_TRANSPORT: u8 = 0xA;

/// PSDT 01b: an SGL, as all capsules have.
const PSDT_SGL: u8 = 1;

/// SGL Descriptor 1 of a capsule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sgl {
    /// The data is in the capsule, `length` bytes of it from `offset` on (Data Block, by offset).
    InCapsule {
        /// From the beginning of the capsule's data.
        offset: u64,
        /// Bytes.
        length: u32,
    },
    /// The data crosses by PDUs of its own (Transport SGL Data Block).
    Transport {
        /// Bytes.
        length: u32,
    },
}

impl Sgl {
    /// That of an entry.
    ///
    /// # Errors
    /// Invalid Field if it says to have PRPs or an SGL of metadata; SGL Descriptor Type Invalid for others than those two (a
    /// Data Block of no bytes is taken for no data); Invalid SGL Segment Descriptor.
    pub fn decode(entry: &SubmissionEntry) -> Result<Sgl, Status> {
        if entry.psdt() != PSDT_SGL {
            return Err(Status::INVALID_FIELD);
        }
        let mut low = [0; 8];
        low.copy_from_slice(&entry.data_pointer[..8]);
        let mut length = [0; 4];
        length.copy_from_slice(&entry.data_pointer[8..12]);
        let (address, length) = (u64::from_le_bytes(low), u32::from_le_bytes(length));
        let identifier = entry.data_pointer[15];
        match (identifier >> 4, identifier & 0xF) {
            (DATA_BLOCK, BY_OFFSET) => Ok(Sgl::InCapsule {
                offset: address,
                length,
            }),
            (TRANSPORT_DATA_BLOCK, SPECIFIC_TO_TRANSPORT) => Ok(Sgl::Transport { length }),
            (DATA_BLOCK, BY_ADDRESS) if length == 0 => Ok(Sgl::Transport { length: 0 }),
            (SEGMENT | LAST_SEGMENT, _) => Err(Status::INVALID_SGL_SEGMENT),
            _ => Err(Status::SGL_TYPE_INVALID),
        }
    }

    /// Puts it into an entry, PSDT included.
    pub fn encode_into(self, entry: &mut SubmissionEntry) {
        let (address, length, identifier) = match self {
            Sgl::InCapsule { offset, length } => (offset, length, DATA_BLOCK << 4 | BY_OFFSET),
            Sgl::Transport { length } => {
                let identifier = TRANSPORT_DATA_BLOCK << 4 | SPECIFIC_TO_TRANSPORT;
                (0, length, identifier)
            }
        };
        entry.flags = entry.flags & 0x3F | PSDT_SGL << 6;
        entry.data_pointer = [0; 16];
        entry.data_pointer[..8].copy_from_slice(&address.to_le_bytes());
        entry.data_pointer[8..12].copy_from_slice(&length.to_le_bytes());
        entry.data_pointer[15] = identifier;
    }

    /// Its bytes.
    pub fn length(self) -> u32 {
        match self {
            Sgl::InCapsule { length, .. } | Sgl::Transport { length } => length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_read_as_they_are_written() {
        for sgl in [
            Sgl::InCapsule {
                offset: 16,
                length: 4096,
            },
            Sgl::Transport { length: 1 << 20 },
        ] {
            let mut entry = SubmissionEntry::default();
            sgl.encode_into(&mut entry);
            assert_eq!(Sgl::decode(&entry), Ok(sgl));
            entry.flags = 0;
            assert_eq!(Sgl::decode(&entry), Err(Status::INVALID_FIELD));
        }
        let mut entry = SubmissionEntry::default();
        Sgl::Transport { length: 8 }.encode_into(&mut entry);
        entry.data_pointer[15] = 0x00;
        assert_eq!(Sgl::decode(&entry), Err(Status::SGL_TYPE_INVALID));
        entry.data_pointer[15] = 0x30;
        assert_eq!(Sgl::decode(&entry), Err(Status::INVALID_SGL_SEGMENT));
        entry.data_pointer = [0; 16];
        assert_eq!(Sgl::decode(&entry), Ok(Sgl::Transport { length: 0 }));
    }
}
