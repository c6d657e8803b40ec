//! What spare bytes say, told to those who look at the media past the firmware.

use super::lpn::Lpn;
use super::spare::{Content, Record};
use crate::region::{Owner, Placement};

/// What the spare bytes of a page say of it: for those who look at the media past the firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRecord {
    /// Whose it is.
    pub owner: Owner,
    /// Of a placed page, which logical page it is and how it is placed.
    pub placed: Option<(Lpn, Placement)>,
    /// Rises with every change that the host asks for.
    pub version: u64,
    /// Rises with every program.
    pub sequence: u64,
}

impl PageRecord {
    /// The record in these spare bytes; none if they hold none.
    pub fn decode(spare: &[u8]) -> Option<PageRecord> {
        let Record {
            content,
            version,
            sequence,
        } = Record::decode(spare)?;
        let placed = match content {
            Content::Placed { lpn, placement } => Some((lpn, placement)),
            _ => None,
        };
        Some(PageRecord {
            owner: content.owner(),
            placed,
            version,
            sequence,
        })
    }
}
