//! When a rank is refreshed.

use sim::{Span, Time};

use crate::dram::DramConfig;

/// The refreshes of one rank, worked out when somebody wants something of it.
pub(super) struct Refresh {
    interval: u64,
    /// Refreshes that are over or begun.
    done: u64,
}

impl Refresh {
    pub(super) fn new(config: &DramConfig) -> Refresh {
        Refresh {
            interval: Span::from_ns(u64::from(config.t_refi_ns)).as_ps(),
            done: 0,
        }
    }

    /// Carries out what is due at `at`, of a rank that was at work until `busy_until`; gives the end
    /// of the last refresh, or nothing if none was due. Those that fell due while the rank was at work
    /// follow one another after that; the others were in time.
    pub(super) fn until(
        &mut self,
        config: &DramConfig,
        at: Time,
        busy_until: Time,
    ) -> Option<Time> {
        let due = at.as_ps().checked_div(self.interval)?;
        if due <= self.done {
            return None;
        }
        let takes = Span::from_ns(u64::from(config.t_rfc_ns));
        let late = (busy_until.as_ps() / self.interval).clamp(self.done, due) - self.done;
        self.done = due;
        let in_time = Time::from_ps(due * self.interval) + takes;
        if late == 0 {
            return Some(in_time);
        }
        let caught_up = busy_until + config.closing() + takes * late;
        if due * self.interval <= busy_until.as_ps() {
            return Some(caught_up);
        }
        Some(caught_up.max(in_time))
    }
}
