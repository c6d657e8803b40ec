//! The busiest window of a trace, found while it is recorded.

use std::collections::VecDeque;

use super::args::Arg;
use super::record::{Record, Slice};
use super::{Keep, Trace};
use crate::quantity::{Span, Time};

/// A window moves in so many steps over its own length.
const STEPS: usize = 20;

/// Looks for the window in which most was begun.
#[derive(Default)]
pub(super) struct Busiest {
    /// Whether the record keeps only what may still be in the busiest window.
    only: bool,
    /// Number of the step under way, counted from time zero.
    step: u64,
    /// The first step that is measured.
    first: u64,
    /// What was begun in the last steps, the one under way included.
    sums: VecDeque<Span>,
    best: Option<Best>,
}

struct Best {
    sum: Span,
    begin: Time,
    /// Its content, if nothing else keeps it.
    record: Record,
}

fn step_span() -> Span {
    Trace::BUSIEST / STEPS as u64
}

impl Busiest {
    /// For a section that begins at `now`: no window reaches back behind the step that holds it.
    pub(super) fn starting_at(now: Time, keep: Keep) -> Busiest {
        let step = now.as_ps() / step_span().as_ps();
        Busiest {
            only: keep == Keep::Busiest,
            step,
            first: step,
            ..Busiest::default()
        }
    }

    pub(super) fn measure_from(&mut self, now: Time) {
        // No window reaches back behind the step after this one.
        self.step = now.as_ps() / step_span().as_ps() + 1;
        self.first = self.step;
        self.sums.clear();
        self.best = None;
    }

    /// Counts a slice that was just put into `record`. It counts for the step in which it
    /// begins, or for the one under way if that is over; and no more than a whole step, so
    /// that a long erase is not worth more than the many reads of another window.
    pub(super) fn note(
        &mut self,
        slice: Slice,
        args: &[Arg],
        exclusive: bool,
        record: &mut Record,
    ) {
        let step = slice.begin.as_ps() / step_span().as_ps();
        if step > self.step {
            self.close(step, record);
        }
        if let Some(best) = self.best.as_mut().filter(|_| self.only)
            && slice.is_in_window(best.begin)
        {
            best.record.push(slice, args);
        }
        if exclusive && slice.end.as_ps() / step_span().as_ps() >= self.step {
            if self.sums.is_empty() {
                self.sums.push_back(Span::ZERO);
            }
            if let Some(sum) = self.sums.back_mut() {
                *sum += (slice.end - slice.begin).min(step_span());
            }
        }
    }

    /// The step under way is over; `next` begins.
    fn close(&mut self, next: u64, record: &mut Record) {
        let sum = self.sums.iter().fold(Span::ZERO, |all, step| all + *step);
        if sum > self.best.as_ref().map_or(Span::ZERO, |best| best.sum) {
            self.take(sum, self.window_begin(), record);
        }
        for _ in 0..(next - self.step).min(STEPS as u64) {
            self.sums.push_back(Span::ZERO);
        }
        while self.sums.len() > STEPS {
            self.sums.pop_front();
        }
        self.step = next;
        if self.only {
            record.forget_before(self.window_begin());
        }
    }

    /// Where the window that ends with the step under way begins.
    fn window_begin(&self) -> Time {
        let step = (self.step + 1).saturating_sub(STEPS as u64);
        Time::from_ps(step.max(self.first) * step_span().as_ps())
    }

    fn take(&mut self, sum: Span, begin: Time, record: &Record) {
        let record = if self.only {
            record.excerpt(begin)
        } else {
            Record::default()
        };
        self.best = Some(Best { sum, begin, record });
    }

    /// The busiest window's begin, and what it holds.
    pub(super) fn window(&self, record: &Record) -> Option<(Time, Record)> {
        let sum = self.sums.iter().fold(Span::ZERO, |all, step| all + *step);
        match &self.best {
            Some(best) if best.sum >= sum && self.only => Some((best.begin, best.record.clone())),
            Some(best) if best.sum >= sum => Some((best.begin, record.excerpt(best.begin))),
            _ if sum > Span::ZERO => {
                let begin = self.window_begin();
                Some((begin, record.excerpt(begin)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;

    /// Slices of 10 us, `every` so many ps apart, in the millisecond `ms`.
    fn burst(trace: &Trace, track: crate::Track, ms: u64, every: u64) {
        let mut at = ms * MS;
        while at < (ms + 1) * MS {
            let begin = Time::from_ps(at);
            trace.slice(track, "work", begin, begin + Span::from_us(10));
            at += every;
        }
    }

    fn traced(only: bool) -> (Trace, crate::Track) {
        let trace = Trace::default();
        let keep = if only { Keep::Busiest } else { Keep::All };
        trace.start(Time::ZERO, keep);
        let track = trace.track("group", "track");
        (trace, track)
    }

    #[test]
    fn the_busiest_window_is_the_same_whatever_else_is_kept() {
        let mut found = Vec::new();
        for only in [false, true] {
            let (trace, track) = traced(only);
            let counter = trace.counter("group", "waiting");
            for ms in 0..50 {
                trace.count(counter, Time::from_ps(ms * MS), ms as usize);
                let every = if ms == 20 { 10 } else { 100 };
                burst(&trace, track, ms, every * 1_000_000);
            }
            let busiest = trace.busiest().expect("something was recorded");
            assert!(
                busiest.begin_ns <= 20e6 && busiest.end_ns >= 20.9e6,
                "{busiest:?}"
            );
            assert_eq!(busiest.end_ns - busiest.begin_ns, 2e6);
            assert!(
                only == (trace.len() < 400),
                "{} slices are kept",
                trace.len()
            );
            found.push(serde_json::to_string(&busiest).expect("it is plain data"));
        }
        assert_eq!(found[0], found[1]);
    }

    #[test]
    fn what_came_before_measuring_does_not_count() {
        for only in [false, true] {
            let (trace, track) = traced(only);
            burst(&trace, track, 0, 10_000_000);
            trace.measure_from(Time::from_ps(5 * MS));
            burst(&trace, track, 7, 50_000_000);
            let busiest = trace.busiest().expect("something was recorded");
            assert!(busiest.end_ns >= 7e6, "{busiest:?}");
            assert!(busiest.slices.iter().all(|(_, _, begin, _)| *begin >= 5e6));
        }
    }

    #[test]
    fn what_ends_after_the_window_was_chosen_is_still_in_it() {
        let (trace, track) = traced(true);
        burst(&trace, track, 3, 10_000_000);
        burst(&trace, track, 9, 500_000_000);
        trace.slice(track, "long", Time::from_ps(3 * MS), Time::from_ps(10 * MS));
        let busiest = trace.busiest().expect("something was recorded");
        assert!(busiest.slices.iter().any(|(_, name, _, _)| *name == "long"));
    }

    #[test]
    fn nothing_recorded_is_no_window() {
        assert!(traced(true).0.busiest().is_none());
    }
}
