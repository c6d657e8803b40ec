//! Which transactions did not commit, though pages of theirs are on flash; and what of that outlives the power.
//!
//! A page that a transaction writes has a version with a mark and the transaction's number. It counts as soon as the
//! transaction has committed, so a commit moves no data and writes no page. What is kept is the contrary: who has *not*
//! committed. One fact of the journal says it for all: every transaction from a *horizon* on, and of those before it the
//! ones it lists. Nothing has to be remembered of a transaction that committed, nor of one whose pages are all erased.

use std::collections::{BTreeMap, BTreeSet};

use media::nand::BlockId;

use crate::journal::{FactKey, FactKind};
use crate::planted::{Bug, is_planted};

/// Marks the version of a page that a transaction wrote: the rest of it is the transaction's number.
pub(in crate::ftl) const TENTATIVE: u64 = 1 << 39;

/// What the journal keeps of transactions.
pub(super) const STATE: FactKey = FactKind::TRANSACTIONS.key(0);

/// Bytes of a transaction in the fact.
const EACH: usize = 8;

/// What the fact says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// Transactions of this number or a higher one have not committed.
    horizon: u64,
    /// Of those of lower numbers, these have not.
    undone: BTreeSet<u64>,
}

impl State {
    /// Its form in the journal: numbers of eight bytes, little-endian.
    pub(super) fn encode(&self) -> Vec<u8> {
        let numbers = [self.horizon]
            .into_iter()
            .chain(self.undone.iter().copied());
        numbers.flat_map(u64::to_le_bytes).collect()
    }

    fn decode(bytes: &[u8]) -> State {
        let numbers = bytes.chunks_exact(EACH);
        let mut numbers = numbers.map(|bytes| {
            bytes
                .iter()
                .rev()
                .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
        });
        State {
            horizon: numbers.next().unwrap_or(0),
            undone: numbers.collect(),
        }
    }

    fn has_committed(&self, transaction: u64) -> bool {
        transaction < self.horizon && !self.undone.contains(&transaction)
    }
}

/// Bytes of the fact if so many transactions have not committed.
pub(crate) fn state_bytes(transactions: u32) -> u64 {
    (1 + u64::from(transactions)) * EACH as u64
}

/// Who has not committed.
#[derive(Default)]
pub(in crate::ftl) struct Undone {
    /// Transactions that have not committed and have pages on flash, and the blocks that these are in.
    blocks: BTreeMap<u64, BTreeSet<BlockId>>,
    /// By block, the version that was noted of it last: most programs need not be noted again.
    noted: Vec<u64>,
    /// What the journal says.
    saved: State,
    /// Transactions that the journal has commit, before everybody sees what they wrote.
    committing: BTreeSet<u64>,
    /// Commits of this life, and how many of them the journal tells of.
    commits: u64,
    saved_commits: u64,
}

impl Undone {
    /// Takes what the journal says at power-up.
    pub(super) fn restore(&mut self, fact: Option<&[u8]>) {
        self.saved = fact.map(State::decode).unwrap_or_default();
    }

    /// Whether the journal says that the transaction of a page has committed; the page's version then.
    pub(super) fn judge(&self, version: u64) -> Option<u64> {
        if version & TENTATIVE == 0 {
            return Some(version);
        }
        let transaction = version & !TENTATIVE;
        let counts =
            self.saved.has_committed(transaction) || is_planted(Bug::RecoveryTakesUncommitted);
        counts.then_some(transaction)
    }

    /// The version of a copy of a page: as that of any other, once the journal says that it counts.
    pub(super) fn of_copy(&self, version: u64) -> u64 {
        let transaction = version & !TENTATIVE;
        let is_open = version & TENTATIVE == 0 || self.blocks.contains_key(&transaction);
        match !is_open && self.saved.has_committed(transaction) {
            true => transaction,
            false => version,
        }
    }

    /// A page of this version is about to be programmed to a block, or was found in it.
    pub(super) fn note(&mut self, version: u64, block: BlockId) {
        let at = block.0 as usize;
        if self.noted.len() <= at {
            self.noted.resize(at + 1, 0);
        }
        if std::mem::replace(&mut self.noted[at], version) != version {
            let blocks = self.blocks.entry(version & !TENTATIVE).or_default();
            blocks.insert(block);
        }
    }

    /// A page is copied to a block.
    pub(super) fn note_copy(&mut self, version: u64, block: BlockId) {
        if let Some(blocks) = self.blocks.get_mut(&(version & !TENTATIVE)) {
            blocks.insert(block);
        }
    }

    /// The journal is about to say that transactions have committed: everybody sees what they wrote only afterwards.
    pub(super) fn begin_commits(&mut self, transactions: &[u64]) {
        self.committing.extend(transactions);
    }

    /// The journal could not be written.
    pub(super) fn cancel_commits(&mut self, transactions: &[u64]) {
        transactions.iter().for_each(|transaction| {
            self.committing.remove(transaction);
        });
    }

    /// A transaction has committed.
    pub(super) fn commit(&mut self, transaction: u64) {
        self.committing.remove(&transaction);
        self.blocks.remove(&transaction);
        self.commits += 1;
    }

    /// A block was erased; gives whether that was the last of some transaction.
    pub(super) fn erased(&mut self, block: BlockId, is_open: impl Fn(u64) -> bool) -> bool {
        if let Some(noted) = self.noted.get_mut(block.0 as usize) {
            *noted = 0;
        }
        let before = self.blocks.len();
        self.blocks.retain(|transaction, blocks| {
            blocks.remove(&block);
            !blocks.is_empty() || is_open(*transaction)
        });
        self.blocks.len() < before
    }

    /// The blocks that hold pages of transactions that have not committed.
    pub(super) fn all_blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.blocks.values().flatten().copied()
    }

    /// The blocks of the oldest transaction that is over and not committed.
    pub(super) fn oldest(&self, is_open: impl Fn(u64) -> bool) -> Vec<BlockId> {
        let oldest = self
            .blocks
            .iter()
            .find(|(transaction, _)| !is_open(**transaction));
        oldest.map_or_else(Vec::new, |(_, blocks)| blocks.iter().copied().collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether the journal does not say all.
    pub(super) fn is_unsaved(&self) -> bool {
        self.commits > self.saved_commits
    }

    /// Commits of this life, with those that the journal is about to tell of.
    pub(super) fn commits(&self) -> u64 {
        self.commits + self.committing.len() as u64
    }

    /// Transactions of this number or a higher one had not committed when the journal was last told.
    pub(super) fn horizon(&self) -> u64 {
        self.saved.horizon
    }

    /// What the journal is to say: of `open` transactions all but those that are about to commit have not.
    pub(super) fn state(&self, horizon: u64, open: impl Iterator<Item = u64>) -> State {
        let undone = self.blocks.keys().copied().chain(open);
        State {
            horizon,
            undone: undone
                .filter(|number| !self.committing.contains(number))
                .collect(),
        }
    }

    /// The journal says so now, and so tells of that many commits.
    pub(super) fn saved(&mut self, state: State, commits: u64) {
        self.saved = state;
        self.saved_commits = commits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(horizon: u64, undone: &[u64]) -> State {
        State {
            horizon,
            undone: undone.iter().copied().collect(),
        }
    }

    #[test]
    fn who_has_not_committed_survives_the_journal() {
        let kept = state(70_000_000_000, &[5, 69_999_999_999]);
        assert_eq!(State::decode(&kept.encode()), kept);
        assert_eq!(kept.encode().len() as u64, state_bytes(2));
        assert_eq!(State::decode(&[]), State::default());
    }

    #[test]
    fn a_page_counts_once_its_transaction_has_committed() {
        let mut undone = Undone::default();
        undone.note(TENTATIVE | 7, BlockId(1));
        undone.note(TENTATIVE | 9, BlockId(2));
        undone.begin_commits(&[7]);
        undone.saved(undone.state(10, [8].into_iter()), 1);
        // Whoever is not told of began before the horizon, and is no more.
        let judged = [3, 6, 7, 8, 9, 10].map(|number| undone.judge(TENTATIVE | number));
        assert_eq!(judged, [Some(3), Some(6), Some(7), None, None, None]);
        assert_eq!(undone.judge(12), Some(12));
        // Its copies keep the mark until it is not open any more.
        assert_eq!(undone.of_copy(TENTATIVE | 7), TENTATIVE | 7);
        undone.commit(7);
        assert_eq!(undone.of_copy(TENTATIVE | 7), 7);
        assert_eq!(undone.of_copy(TENTATIVE | 9), TENTATIVE | 9);
    }

    #[test]
    fn what_is_erased_need_not_be_remembered() {
        let mut undone = Undone::default();
        undone.note(TENTATIVE | 7, BlockId(1));
        undone.note_copy(TENTATIVE | 7, BlockId(2));
        undone.note_copy(TENTATIVE | 8, BlockId(2));
        assert!(!undone.erased(BlockId(1), |_| false));
        assert_eq!(undone.all_blocks().collect::<Vec<_>>(), [BlockId(2)]);
        assert!(!undone.erased(BlockId(2), |number| number == 7));
        assert!(undone.erased(BlockId(3), |_| false));
        assert!(undone.is_empty());
    }
}
