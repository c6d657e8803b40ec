//! What whoever serves a drive is told besides the figures: what went wrong, a line each.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Lines that are kept until somebody takes them.
const KEPT: usize = 256;

/// Lines for a log, from any thread. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<String>,
    dropped: u64,
}

impl Notes {
    /// Notes a line. If nobody has taken the last 256, it is only counted.
    pub fn note(&self, line: impl Into<String>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.lines.len() < KEPT {
            kept.lines.push_back(line.into());
        } else {
            kept.dropped += 1;
        }
    }

    /// What was noted since the last time, in its order.
    pub fn take(&self) -> Vec<String> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines: Vec<String> = kept.lines.drain(..).collect();
        let dropped = std::mem::take(&mut kept.dropped);
        if dropped > 0 {
            lines.push(format!("and {dropped} more lines"));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_those_beyond_counted() {
        let notes = Notes::default();
        for number in 0..300 {
            notes.clone().note(number.to_string());
        }
        let lines = notes.take();
        assert_eq!(lines.len(), KEPT + 1);
        assert_eq!((&*lines[0], &*lines[KEPT]), ("0", "and 44 more lines"));
        assert!(notes.take().is_empty());
    }
}
