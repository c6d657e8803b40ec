//! Flows: for each command, its slices in the order in which they begin.

use super::TraceId;

/// What a slice is in the flow of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    First,
    Between,
    Last,
}

/// Collects what is done for commands, in one list: a trace has millions of slices.
#[derive(Default)]
pub(super) struct Flows(Vec<(TraceId, u64, usize, usize)>);

impl Flows {
    /// Slice `number` is for `command` and begins at `begin`. Of those that begin together, the
    /// command itself comes first: its `rank` is 0.
    pub(super) fn add(&mut self, command: TraceId, begin: u64, rank: usize, number: usize) {
        self.0.push((command, begin, rank, number));
    }

    /// The steps of all flows as (slice, command, step), in the order of slices. A command with one slice has no flow.
    pub(super) fn steps(mut self) -> Vec<(usize, TraceId, Step)> {
        self.0.sort_unstable();
        let mut steps = Vec::with_capacity(self.0.len());
        for flow in self.0.chunk_by(|one, next| one.0 == next.0) {
            let last = flow.len() - 1;
            for (place, &(command, _, _, number)) in flow.iter().enumerate() {
                let step = match place {
                    _ if last == 0 => continue,
                    0 => Step::First,
                    place if place == last => Step::Last,
                    _ => Step::Between,
                };
                steps.push((number, command, step));
            }
        }
        steps.sort_unstable_by_key(|&(number, command, _)| (number, command));
        steps
    }
}
