//! What was recorded, kept flat: arguments of all slices lie in one table.

use super::Trace;
use super::args::Arg;
use crate::quantity::Time;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slice {
    pub(super) track: u32,
    pub(super) name: &'static str,
    pub(super) begin: Time,
    pub(super) end: Time,
    /// Where its arguments lie in the table of its record.
    args: u32,
    arg_count: u16,
}

impl Slice {
    pub(super) fn new(track: u32, name: &'static str, begin: Time, end: Time) -> Slice {
        Slice {
            track,
            name,
            begin,
            end,
            args: 0,
            arg_count: 0,
        }
    }

    pub(super) fn is_in_window(&self, begin: Time) -> bool {
        self.end > begin && self.begin < begin + Trace::BUSIEST
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Count {
    pub(super) counter: u32,
    pub(super) at: Time,
    pub(super) value: u32,
}

/// What was recorded.
#[derive(Clone, Default)]
pub(super) struct Record {
    pub(super) slices: Vec<Slice>,
    pub(super) counts: Vec<Count>,
    args: Vec<Arg>,
}

impl Record {
    pub(super) fn push(&mut self, slice: Slice, args: &[Arg]) {
        let arg_count = args.len().min(usize::from(u16::MAX));
        self.slices.push(Slice {
            args: self.args.len() as u32,
            arg_count: arg_count as u16,
            ..slice
        });
        self.args.extend_from_slice(&args[..arg_count]);
    }

    /// The arguments of one of its slices.
    pub(super) fn args_of(&self, slice: &Slice) -> &[Arg] {
        let first = slice.args as usize;
        &self.args[first..first + usize::from(slice.arg_count)]
    }

    fn only(&self, keep: impl Fn(&Slice) -> bool, counts: Vec<Count>) -> Record {
        let mut record = Record {
            counts,
            ..Record::default()
        };
        for slice in self.slices.iter().filter(|slice| keep(slice)) {
            record.push(*slice, self.args_of(slice));
        }
        record
    }

    /// What it holds of the window from `begin` on, and the counters' values before it.
    pub(super) fn excerpt(&self, begin: Time) -> Record {
        let end = begin + Trace::BUSIEST;
        let mut counts = latest_before(&self.counts, begin);
        let inside = |count: &&Count| count.at >= begin && count.at < end;
        counts.extend(self.counts.iter().filter(inside));
        self.only(|slice| slice.is_in_window(begin), counts)
    }

    /// Forgets what was over before `begin`, but for the counters' last values.
    pub(super) fn forget_before(&mut self, begin: Time) {
        let mut counts = latest_before(&self.counts, begin);
        counts.extend(self.counts.iter().filter(|count| count.at >= begin));
        *self = self.only(|slice| slice.end > begin, counts);
    }
}

/// The last value of each counter before `begin`, in the order of counters.
fn latest_before(counts: &[Count], begin: Time) -> Vec<Count> {
    let mut latest: Vec<Option<Count>> = Vec::new();
    for count in counts.iter().filter(|count| count.at < begin) {
        let counter = count.counter as usize;
        if latest.len() <= counter {
            latest.resize(counter + 1, None);
        }
        latest[counter] = Some(*count);
    }
    latest.into_iter().flatten().collect()
}
