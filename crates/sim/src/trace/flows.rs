//! Flows: for each command, its slices in the order in which they begin.

use std::collections::BTreeMap;

use super::TraceId;

/// What a slice is in the flow of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    First,
    Between,
    Last,
}

/// Collects what is done for commands.
#[derive(Default)]
pub(super) struct Flows(BTreeMap<TraceId, Vec<(u64, usize, usize)>>);

impl Flows {
    /// Slice `number` is for `command` and begins at `begin`. Of those that begin together, the
    /// command itself comes first: its `rank` is 0.
    pub(super) fn add(&mut self, command: TraceId, begin: u64, rank: usize, number: usize) {
        self.0
            .entry(command)
            .or_default()
            .push((begin, rank, number));
    }

    /// For each of `slices` slices, its steps in flows. A command with one slice has no flow.
    pub(super) fn steps(self, slices: usize) -> Vec<Vec<(TraceId, Step)>> {
        let mut steps = vec![Vec::new(); slices];
        for (command, mut parts) in self.0 {
            parts.sort_unstable();
            let last = parts.len() - 1;
            if last == 0 {
                continue;
            }
            for (place, (_, _, number)) in parts.into_iter().enumerate() {
                let step = match place {
                    0 => Step::First,
                    place if place == last => Step::Last,
                    _ => Step::Between,
                };
                steps[number].push((command, step));
            }
        }
        steps
    }
}
