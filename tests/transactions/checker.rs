//! Whether a history can have come from transactions under snapshot isolation.
//!
//! Adya's definition (Weak Consistency, MIT 1999, chapters 3 and 4) as a search in the graph of who depended on whom, with the
//! order of versions inferred as Elle does (Kingsbury and Alvaro, VLDB 2020): whoever writes a place has read it, so that each
//! version names the one before it. Commands of the host are transactions of one operation; they write without reading, but
//! those of one page come from one client, one after the other. Edges:
//!
//! - *ww*, *wr*, *rw*: to who wrote the next version, who read a version, who replaced a version that was read;
//! - *start*: from who was told of his end before the other asked to begin.
//!
//! Forbidden are reads of what was rolled back (G1a) or overwritten by its writer (G1b), reads from who asked to end after the
//! reader's snapshot was taken (G-SIa), two successors of a version (lost update), and cycles with at most one *rw* (G1c, G-SIb);
//! for serializable transactions any cycle (G2). Durability is a special case: what was told to be committed and is not seen by
//! who reads everything later makes a cycle.

use std::collections::BTreeMap;

use crate::history::{History, Kind, Node, Outcome, Place, Value};

/// What transactions promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    Snapshot,
    Serializable,
}

/// Bits of who is reached, of up to 128.
type Reach = Vec<u128>;

struct Graph<'a> {
    nodes: Vec<&'a Node>,
    /// Who wrote a value.
    writers: BTreeMap<Value, usize>,
    /// Who wrote the next version of a place.
    successors: BTreeMap<(Place, Value), usize>,
    depends: Reach,
    anti: Vec<(usize, usize)>,
}

/// # Errors
/// What cannot be.
pub fn check(history: &History, promise: Promise) -> Result<(), String> {
    let nodes = counted(history)?;
    assert!(nodes.len() <= 128, "a history is short");
    let mut graph = Graph {
        depends: vec![0; nodes.len()],
        nodes,
        writers: BTreeMap::new(),
        successors: BTreeMap::new(),
        anti: Vec::new(),
    };
    for (number, node) in graph.nodes.iter().enumerate() {
        graph
            .writers
            .extend(node.writes.values().map(|value| (*value, number)));
    }
    graph.order_versions(history)?;
    graph.draw()?;
    graph.find_cycle(promise)
}

/// Those that count: who committed, and who may have, if anybody saw it.
fn counted(history: &History) -> Result<Vec<&Node>, String> {
    let mut counts: Vec<bool> = history
        .nodes
        .iter()
        .map(|node| node.outcome == Outcome::Committed)
        .collect();
    let mut by_value = BTreeMap::new();
    for (number, node) in history.nodes.iter().enumerate() {
        by_value.extend(node.writes.values().map(|value| (*value, number)));
    }
    loop {
        let mut found = None;
        for (number, node) in history
            .nodes
            .iter()
            .enumerate()
            .filter(|(number, _)| counts[*number])
        {
            for (place, value) in &node.reads {
                let Some(writer) = by_value.get(value).filter(|writer| !counts[**writer]) else {
                    continue;
                };
                if *writer != number && history.nodes[*writer].outcome == Outcome::RolledBack {
                    return Err(format!(
                        "G1a: {place:?} shows {value}, which was rolled back, to {node:?}"
                    ));
                }
                found = Some(*writer);
            }
        }
        match found {
            Some(writer) => counts[writer] = true,
            None => break,
        }
    }
    let overwritten = |value: &Value| {
        history
            .nodes
            .iter()
            .any(|node| node.overwritten.contains(value))
    };
    let nodes: Vec<&Node> = history
        .nodes
        .iter()
        .zip(counts)
        .filter(|(_, counts)| *counts)
        .map(|(node, _)| node)
        .collect();
    let mut reads = nodes.iter().flat_map(|node| &node.reads);
    if let Some((place, value)) = reads.find(|(_, value)| overwritten(value)) {
        return Err(format!(
            "G1b: {place:?} shows {value}, which its writer had overwritten"
        ));
    }
    Ok(nodes)
}

impl Graph<'_> {
    /// Who follows whom: whoever reads before he writes follows what he read; the host's writes of a place follow all
    /// that follows the one before.
    fn order_versions(&mut self, history: &History) -> Result<(), String> {
        let mut heads: BTreeMap<Place, Vec<(u64, Value)>> = BTreeMap::new();
        for (number, node) in self.nodes.iter().enumerate() {
            for (place, value) in &node.writes {
                match node.reads.get(place) {
                    Some(before) => {
                        let other = self.successors.insert((*place, *before), number);
                        if let Some(other) = other {
                            let (other, node) = (self.nodes[other], node);
                            return Err(format!(
                                "lost update: {before} of {place:?} was replaced by {other:?} and by {node:?}"
                            ));
                        }
                    }
                    None => heads
                        .entry(*place)
                        .or_default()
                        .push((node.began.0, *value)),
                }
            }
        }
        for (place, mut of_host) in heads {
            of_host.sort_unstable();
            let mut last = history.before.get(&place).copied().unwrap_or(0);
            for (_, head) in of_host {
                last = self.last_of(place, last);
                self.successors.insert((place, last), self.writers[&head]);
                last = head;
            }
        }
        Ok(())
    }

    /// The last of those that follow a version one after another.
    fn last_of(&self, place: Place, mut value: Value) -> Value {
        while let Some(next) = self.successors.get(&(place, value)) {
            value = self.nodes[*next].writes[&place];
        }
        value
    }

    fn draw(&mut self) -> Result<(), String> {
        for (number, node) in self.nodes.iter().enumerate() {
            for (place, value) in &node.reads {
                if let Some(writer) = self.writers.get(value).filter(|writer| **writer != number) {
                    let other = self.nodes[*writer];
                    if other.ended.0 > node.began.1 && other.outcome == Outcome::Committed {
                        return Err(format!(
                            "G-SIa: {other:?} ends after {node:?}, which sees it, has begun"
                        ));
                    }
                    self.depends[*writer] |= 1 << number;
                }
                if let Some(next) = self
                    .successors
                    .get(&(*place, *value))
                    .filter(|next| **next != number)
                {
                    self.anti.push((number, *next));
                }
            }
            for (other, later) in self.nodes.iter().enumerate() {
                if node.ended.1 < later.began.0 {
                    self.depends[number] |= 1 << other;
                }
            }
        }
        for ((_, before), next) in &self.successors {
            if let Some(writer) = self.writers.get(before).filter(|writer| *writer != next) {
                self.depends[*writer] |= 1 << *next;
            }
        }
        Ok(())
    }

    fn find_cycle(&self, promise: Promise) -> Result<(), String> {
        let mut reach = self.depends.clone();
        if promise == Promise::Serializable {
            self.anti
                .iter()
                .for_each(|(from, to)| reach[*from] |= 1 << *to);
        }
        for through in 0..reach.len() {
            let further = reach[through];
            for from in &mut reach {
                if *from & 1 << through != 0 {
                    *from |= further;
                }
            }
        }
        for (number, reached) in reach.iter().enumerate() {
            if reached & 1 << number != 0 {
                let name = if promise == Promise::Snapshot {
                    "G1c"
                } else {
                    "G2"
                };
                return Err(format!("{name}: a cycle through {:?}", self.nodes[number]));
            }
        }
        for (from, to) in &self.anti {
            if reach[*to] & 1 << from != 0 {
                let (from, to) = (self.nodes[*from], self.nodes[*to]);
                return Err(format!(
                    "G-SIb: {from:?} sees what {to:?} replaced, and follows it"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Log;

    const X: Place = (0, 0);
    const Y: Place = (1, 0);

    /// Somebody who began and ended so, read and wrote that.
    fn node(
        log: &Log,
        kind: Kind,
        times: (u64, u64),
        reads: &[(Place, Value)],
        writes: &[(Place, Value)],
    ) -> usize {
        let number = log.begin(kind);
        log.with(number, |node| {
            node.began = (times.0, times.0);
            node.ended = (times.1, times.1);
            node.outcome = Outcome::Committed;
            node.reads = reads.iter().copied().collect();
            node.writes = writes.iter().copied().collect();
        });
        number
    }

    fn told(log: &Log, promise: Promise) -> String {
        check(&log.take(), promise)
            .expect_err("it cannot be")
            .chars()
            .take_while(|c| *c != ':')
            .collect()
    }

    #[test]
    fn one_after_the_other_may_be() {
        let log = Log::default();
        node(
            &log,
            Kind::Transaction,
            (1, 4),
            &[(X, 0), (Y, 0)],
            &[(X, 1), (Y, 2)],
        );
        node(&log, Kind::Host, (2, 3), &[(X, 0)], &[]);
        node(&log, Kind::Host, (5, 6), &[], &[(X, 3)]);
        node(&log, Kind::Everything, (7, 8), &[(X, 3), (Y, 2)], &[]);
        assert_eq!(check(&log.take(), Promise::Serializable), Ok(()));
    }

    #[test]
    fn a_lost_update_is_found() {
        let log = Log::default();
        node(&log, Kind::Transaction, (1, 4), &[(X, 0)], &[(X, 1)]);
        node(&log, Kind::Transaction, (2, 5), &[(X, 0)], &[(X, 2)]);
        assert_eq!(told(&log, Promise::Snapshot), "lost update");
    }

    #[test]
    fn an_update_of_the_host_that_is_lost_is_found() {
        let log = Log::default();
        node(&log, Kind::Transaction, (1, 6), &[(X, 0)], &[(X, 1)]);
        node(&log, Kind::Host, (2, 3), &[], &[(X, 2)]);
        node(&log, Kind::Everything, (7, 8), &[(X, 1)], &[]);
        assert_eq!(told(&log, Promise::Snapshot), "G-SIb");
    }

    #[test]
    fn half_of_a_commit_is_found() {
        let log = Log::default();
        node(
            &log,
            Kind::Transaction,
            (1, 4),
            &[(X, 0), (Y, 0)],
            &[(X, 1), (Y, 2)],
        );
        node(&log, Kind::Transaction, (2, 6), &[(X, 1), (Y, 0)], &[]);
        assert_eq!(told(&log, Promise::Snapshot), "G-SIa");
        node(
            &log,
            Kind::Transaction,
            (1, 4),
            &[(X, 0), (Y, 0)],
            &[(X, 1), (Y, 2)],
        );
        node(&log, Kind::Everything, (6, 7), &[(X, 1), (Y, 0)], &[]);
        assert_eq!(told(&log, Promise::Snapshot), "G-SIb");
    }

    #[test]
    fn what_was_committed_and_is_gone_is_found() {
        let log = Log::default();
        node(&log, Kind::Transaction, (1, 4), &[(X, 0)], &[(X, 1)]);
        node(&log, Kind::Everything, (6, 7), &[(X, 0)], &[]);
        assert_eq!(told(&log, Promise::Snapshot), "G-SIb");
    }

    #[test]
    fn what_was_rolled_back_and_is_seen_is_found() {
        let log = Log::default();
        let undone = node(&log, Kind::Transaction, (1, 4), &[(X, 0)], &[(X, 1)]);
        log.with(undone, |node| node.outcome = Outcome::RolledBack);
        node(&log, Kind::Everything, (6, 7), &[(X, 1)], &[]);
        assert_eq!(told(&log, Promise::Snapshot), "G1a");
    }

    #[test]
    fn write_skew_is_found_where_it_must_not_be() {
        let log = Log::default();
        let skewed = || {
            node(
                &log,
                Kind::Transaction,
                (1, 4),
                &[(X, 0), (Y, 0)],
                &[(X, 1)],
            );
            node(
                &log,
                Kind::Transaction,
                (2, 5),
                &[(X, 0), (Y, 0)],
                &[(Y, 2)],
            );
        };
        skewed();
        assert_eq!(check(&log.take(), Promise::Snapshot), Ok(()));
        skewed();
        assert_eq!(told(&log, Promise::Serializable), "G2");
    }
}
