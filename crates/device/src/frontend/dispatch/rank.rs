//! The rank of a command among those that wait for dies: TH-iSSD 3.3, Equation 1.

use nvme::{Command, IoCommand, SearchCommand};

use crate::frontend::Controller;
use crate::frontend::transport::FetchedCommand;
use crate::schedule::Rank;

impl Controller {
    /// What the application gave a command, and its size as far as its entry says it; whoever carries out another adds that.
    /// Admin commands are as of a page.
    #[inline]
    pub(in crate::frontend) fn rank_of(&self, fetched: &FetchedCommand) -> Rank {
        let Ok(Command::Nvm(command)) = &fetched.command else {
            return Rank::PAGE;
        };
        let given = Rank::given(fetched.entry.given_priority());
        match command.blocks() {
            Some(blocks) => match self.namespaces.get(command.namespace()) {
                Ok(namespace) => {
                    let block_bytes = u64::from(namespace.block_bytes());
                    given.sized(u64::from(blocks.count) * block_bytes)
                }
                Err(_) => given,
            },
            None => self.rank_without_blocks(command, given),
        }
    }

    fn rank_without_blocks(&self, command: &IoCommand, given: Rank) -> Rank {
        match command {
            IoCommand::Search(search) => given.sized(returned_bytes(search)),
            // No more than the tables of its ranges.
            IoCommand::DatasetManagement(_) => given.sized(u64::from(self.unit.bytes())),
            // Their files, vectors and sources are known when their requests were fetched.
            _ => given,
        }
    }
}

/// What a command of names may return; one that changes some counts as a page.
fn returned_bytes(command: &SearchCommand) -> u64 {
    match command {
        SearchCommand::SimpleLookup(lookup) => lookup.buffer_bytes.into(),
        SearchCommand::Lookup(lookup) => lookup.buffer_bytes.into(),
        SearchCommand::LookupContinue(lookup) => lookup.buffer_bytes.into(),
        _ => 16 << 10,
    }
}
