//! What lies between the stages of a stream: its input and output, and the ways of the DRAM on which bytes come and go.

use std::rc::Rc;

use sim::{Requester, Sim};

use super::input::Input;
use super::notes::Notes;
use super::output::Output;
use super::rest::Rest;
use crate::memory::{Copier, DramMap};

/// Where the input comes from, and where the output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    /// A file of the request, from its beginning to its end; else the host sends it, or a collector.
    pub(super) input: Option<u32>,
    /// A collector sends it.
    pub(super) is_collected: bool,
    /// A file of the request, from its beginning on; else the host fetches it.
    pub(super) output: Option<u32>,
}

impl Ends {
    /// Whether the host sends the input.
    pub(super) fn is_of_host(&self) -> bool {
        self.input.is_none() && !self.is_collected
    }
}

/// A stream's buffers, between its stages.
pub(super) struct Pipeline {
    pub(super) input: Input,
    pub(super) output: Output,
    pub(super) rest: Rest,
    pub(super) ends: Ends,
    pub(super) piece_bytes: u32,
    pub(super) notes: Rc<Notes>,
    copier: Copier,
    map: DramMap,
}

impl Pipeline {
    pub(super) fn new(
        (sim, notes): (&Sim, &Rc<Notes>),
        (copier, map): (Copier, DramMap),
        half: u64,
        (ends, piece_bytes): (Ends, u32),
        (is_ordered, elements): (bool, u32),
    ) -> Pipeline {
        Pipeline {
            input: Input::new(sim, notes, half),
            output: Output::new((sim, notes), half, is_ordered, elements),
            rest: Rest::new(sim),
            ends,
            piece_bytes,
            notes: notes.clone(),
            copier,
            map,
        }
    }

    /// Whether the output goes to a file, which the task may not write by itself then.
    pub(super) fn writes_to(&self, file: u32) -> bool {
        self.ends.output == Some(file)
    }

    /// Bytes come into the stream's buffers, straight from a channel or the link.
    pub(super) async fn take_in(&self, requester: Requester, bytes: u32) {
        let (bytes, streams) = (bytes.into(), self.map.streams);
        self.copier.write(requester, bytes, streams).await;
    }

    /// Moves bytes from the stream's buffers into the memory of an element.
    pub(super) async fn bring_in(&self, requester: Requester, bytes: u32) {
        let parts = (self.map.streams, self.map.tasks);
        self.copier.copy(requester, bytes, parts).await;
    }

    /// Moves bytes from the memory of an element into the stream's buffers.
    pub(super) async fn bring_out(&self, requester: Requester, bytes: u32) {
        let parts = (self.map.tasks, self.map.streams);
        self.copier.copy(requester, bytes, parts).await;
    }

    /// Bytes leave the stream's buffers, straight for a channel.
    pub(super) async fn give_out(&self, requester: Requester, bytes: u32) {
        let (bytes, streams) = (bytes.into(), self.map.streams);
        self.copier.read(requester, bytes, streams).await;
    }
}
