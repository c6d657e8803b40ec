//! The generator of a flow: draws one request after another.

use sim::{Random, Sim, Time};

use super::Flow;
use super::arrival::Arrivals;
use super::pattern::Places;
use super::size::Sizes;
use crate::Error;
use crate::request_kind::RequestKind;
use crate::workload::draw;
use crate::workload::range::Range;
use crate::workload::request::{Request, Source};

/// Whether a request reads.
enum Choice {
    Always(RequestKind),
    /// Reads below this share of 2^64.
    Below(u64, Random),
}

/// A flow at work.
pub(in crate::workload) struct Generator {
    range: Range,
    alignment: u64,
    /// Pieces of the range, as long as the alignment.
    slots: u64,
    arrivals: Arrivals,
    choice: Choice,
    sizes: Sizes,
    pattern: Places,
}

impl Generator {
    /// The generator of `flow`, which goes to `range`, with the numbers of draw `draw`.
    pub(in crate::workload) fn new(flow: &Flow, range: Range, sim: &Sim, draw: u64) -> Generator {
        let stream = |part: &str| draw::stream(sim, &format!("{part} of flow {}", flow.name), draw);
        let alignment = u64::from(flow.alignment());
        // At least one request of any size but the largest normally distributed fits.
        let needed = u64::from(flow.blocks.blocks_needed());
        let places = (range.blocks - needed) / alignment + 1;
        Generator {
            range,
            alignment,
            slots: range.blocks / alignment,
            arrivals: Arrivals::new(
                &flow.arrival,
                flow.requests,
                flow.stop_ns,
                stream("arrivals"),
            ),
            choice: match flow.read_fraction {
                1.0 => Choice::Always(RequestKind::Read),
                0.0 => Choice::Always(RequestKind::Write),
                share => Choice::Below((share * 2f64.powi(64)) as u64, stream("kinds")),
            },
            sizes: flow.blocks.draw(range.blocks, stream("sizes")),
            pattern: flow.pattern.choose(places, stream("places")),
        }
    }

    #[inline]
    fn kind(&mut self) -> RequestKind {
        match &mut self.choice {
            Choice::Always(kind) => *kind,
            Choice::Below(share, random) => match random.bits() < *share {
                true => RequestKind::Read,
                false => RequestKind::Write,
            },
        }
    }

    /// Where a request of `blocks` goes.
    #[inline]
    fn place(&mut self, blocks: u64) -> u64 {
        let length = match self.alignment {
            alignment if alignment == blocks => 1,
            alignment => blocks.div_ceil(alignment),
        };
        let place = self.pattern.next(length, self.slots) * self.alignment;
        if place + blocks <= self.range.blocks {
            return place;
        }
        // A large one among small ones, drawn near the end: the last place that holds it.
        (self.range.blocks - blocks) / self.alignment * self.alignment
    }
}

impl Source for Generator {
    fn begin(&mut self, now: Time) {
        self.arrivals.begin(now);
    }

    #[inline]
    fn next(&mut self, now: Time) -> Result<Option<Request>, Error> {
        let Some(arrives) = self.arrivals.next(now) else {
            return Ok(None);
        };
        let kind = self.kind();
        let blocks = self.sizes.next();
        let place = self.place(u64::from(blocks));
        Ok(Some(Request {
            kind,
            device: 0,
            lba: self.range.first + place,
            blocks,
            arrives,
        }))
    }
}
