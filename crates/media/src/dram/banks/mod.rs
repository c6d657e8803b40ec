//! Banks with their row buffers, the ranks that are refreshed, and the data buses: when the data of an
//! access has moved.
//!
//! Accesses are served in the order in which they come. A bank prepares its row while the bus still
//! carries what came before; data crosses the bus in order. A refresh that falls due while its rank is
//! at work waits until it is not, and closes every row.
//!
//! Left out, as they are small beside the rest: write recovery and turning the bus around, limits on
//! activations at a time (tRRD, tFAW), cycles of the command bus.

mod address;
mod refresh;

pub use address::DramRow;
use refresh::Refresh;
use sim::{Span, Time};

use super::{DramConfig, RowPolicy};

/// What one bank is at.
#[derive(Clone, Copy, Default)]
struct Bank {
    /// The row in its row buffer.
    open: Option<u64>,
    /// When a row may be activated, while none is open.
    activates_at: Time,
    /// When the open row takes column commands.
    column_at: Time,
    /// When the open row may be closed.
    closes_at: Time,
}

/// A rank: its banks, and when they were last refreshed.
struct Rank {
    banks: Box<[Bank]>,
    refresh: Refresh,
    /// When the last data of it has moved.
    busy_until: Time,
}

/// A channel: its ranks and its bus.
struct ChannelState {
    ranks: Box<[Rank]>,
    free_at: Time,
}

/// All banks of a DRAM.
pub(super) struct Banks {
    config: DramConfig,
    channels: Box<[ChannelState]>,
    activations: u64,
    busy: Span,
}

impl Banks {
    /// Banks at rest, all rows closed.
    pub(super) fn new(config: &DramConfig) -> Banks {
        let rank = |_| Rank {
            banks: vec![Bank::default(); config.banks as usize].into_boxed_slice(),
            refresh: Refresh::new(config),
            busy_until: Time::ZERO,
        };
        let channel = |_| ChannelState {
            ranks: (0..config.ranks).map(rank).collect(),
            free_at: Time::ZERO,
        };
        Banks {
            channels: (0..config.channels).map(channel).collect(),
            config: config.clone(),
            activations: 0,
            busy: Span::ZERO,
        }
    }

    /// Serves an access of `bytes` from `address` on that comes at `at`, row after row; gives the
    /// instant at which its last byte has moved. Each row's part is told to `observe`. Calls must not go back in time.
    #[inline]
    pub(super) fn access(
        &mut self,
        at: Time,
        address: u64,
        bytes: u64,
        observe: impl Fn(Moved),
    ) -> Time {
        let row_bytes = u64::from(self.config.row_bytes);
        let (mut begin, end) = (address, address + bytes);
        let mut done = at;
        while begin < end {
            let in_row = end.min((begin / row_bytes + 1) * row_bytes) - begin;
            let moved = self.access_row(at, begin, in_row);
            observe(moved);
            done = done.max(moved.end);
            begin += in_row;
        }
        done
    }

    /// As [`Banks::access`], within one row.
    fn access_row(&mut self, at: Time, address: u64, bytes: u64) -> Moved {
        let config = &self.config;
        let place = config.row_of(address);
        let channel = &mut self.channels[place.channel as usize];
        let rank = &mut channel.ranks[place.rank as usize];
        // What waits for the bus long is prepared only when its turn comes near.
        let lead = config.closing() + config.opening();
        let near = Time::from_ps(channel.free_at.as_ps().saturating_sub(lead.as_ps()));
        let at = rank.refreshed(config, at.max(near));
        let bank = &mut rank.banks[place.bank as usize];
        let (column_at, activated) = bank.open_row(config, at, place.row);
        let cl = Span::from_ns(u64::from(config.t_cl_ns));
        let span = config.span_of_data(bursts(config, address, bytes));
        let moved = channel.free_at.max(column_at + cl) + span;
        channel.free_at = moved;
        rank.busy_until = moved;
        bank.used_until(config, moved);
        self.activations += u64::from(activated);
        self.busy += span;
        Moved {
            channel: place.channel,
            end: moved,
            span,
            bytes,
        }
    }

    /// Rows that were opened.
    pub(super) fn activations(&self) -> u64 {
        self.activations
    }

    /// How long the buses carried data, all of them together, counting what is promised.
    pub(super) fn busy(&self) -> Span {
        self.busy
    }
}

/// What a channel has moved, or will have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved {
    pub(super) channel: u32,
    pub(super) end: Time,
    /// How long its bus is occupied.
    pub(super) span: Span,
    /// What was asked for.
    pub(super) bytes: u64,
}

/// Bytes that move for `bytes` from `address` on: whole bursts.
fn bursts(config: &DramConfig, address: u64, bytes: u64) -> u64 {
    let burst = config.burst_bytes();
    (address + bytes).next_multiple_of(burst) - address / burst * burst
}

impl Rank {
    /// When work that comes at `at` may begin: after the refreshes that are due by then.
    fn refreshed(&mut self, config: &DramConfig, at: Time) -> Time {
        let Some(end) = self.refresh.until(config, at, self.busy_until) else {
            return at;
        };
        for bank in &mut self.banks {
            bank.open = None;
            bank.activates_at = bank.activates_at.max(end);
        }
        at
    }
}

impl Bank {
    /// Opens `row` if it is not; gives when it takes column commands, and whether it had to be opened.
    fn open_row(&mut self, config: &DramConfig, at: Time, row: u64) -> (Time, bool) {
        if self.open == Some(row) {
            return (self.column_at.max(at), false);
        }
        let activated = match self.open {
            Some(_) => self.closes_at.max(at) + config.closing(),
            None => self.activates_at.max(at),
        };
        self.open = Some(row);
        self.column_at = activated + Span::from_ns(u64::from(config.t_rcd_ns));
        self.closes_at = activated + Span::from_ns(u64::from(config.t_ras_ns));
        (self.column_at, true)
    }

    /// The last data of the open row moves at `moved`.
    fn used_until(&mut self, config: &DramConfig, moved: Time) {
        self.closes_at = self.closes_at.max(moved);
        if config.row_policy == RowPolicy::Closed {
            self.open = None;
            self.activates_at = self.closes_at + config.closing();
        }
    }
}

#[cfg(test)]
mod tests;
