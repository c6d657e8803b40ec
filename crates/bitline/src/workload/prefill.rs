//! Writes what is empty of the ranges of workloads, so that reads find data. What holds something stays as it is. Of a
//! range that is long, only the pages that requests will touch.

use std::iter;
use std::rc::Rc;

use device::ftl::Lpn;
use host::{Buffer, Transport};
use nvme::NamespaceId;
use sim::join_all;

use super::flow::{Flow, Generator};
use super::format::{Format, device};
use super::progress::Progress;
use super::range::Range;
use super::request::Source;
use crate::Error;
use crate::drive::Drive;
use crate::host_end::Host;
use crate::logical_pages::LogicalPages;

/// Ranges of so many logical blocks are filled as a whole.
const WHOLE_BLOCKS: u64 = 1 << 16;
/// So many requests for each page of a range may as well touch all of it.
const REQUESTS_PER_PAGE_MAX: u64 = 8;

/// Whoever may break it off is asked every so many requests or pages: some milliseconds.
const LOOK_EVERY: u64 = 1 << 16;

/// A range to fill.
pub(super) struct Prefill {
    pub(super) namespace: u32,
    pub(super) block_bytes: u32,
    pub(super) range: Range,
    /// The pages of it that will be touched; none for all.
    pub(super) touched: Option<Touched>,
}

/// Pages of a range, a bit each.
pub(super) struct Touched {
    /// Of the namespace.
    first_page: u64,
    pages: Vec<u64>,
}

impl Touched {
    /// What the requests of a flow will touch; none where that is to be taken for the whole range.
    ///
    /// # Errors
    /// [`Error::NoPower`]; [`Error::Interrupted`].
    pub(super) fn by(
        flow: &Flow,
        range: Range,
        format: &Format,
        drive: &Drive,
        draw: u64,
    ) -> Result<Option<Touched>, Error> {
        let page_blocks = drive
            .device_for("a workload")?
            .ftl
            .unit()
            .blocks(format.block_bytes);
        let pages = range.pages(page_blocks);
        let (first_page, end) = (pages.start, pages.end);
        let requests = flow.requests_most();
        if range.blocks <= WHOLE_BLOCKS || requests / REQUESTS_PER_PAGE_MAX > end - first_page {
            return Ok(None);
        }
        let simulation = drive.simulation()?;
        let mut generator = Generator::new(flow, range, &simulation.handle(), draw);
        generator.begin(simulation.now());
        let mut pages = vec![0; (end - first_page).div_ceil(64) as usize];
        let watch = drive.watch();
        for number in 0..requests {
            if number % LOOK_EVERY == 0 && watch().is_break() {
                return Err(Error::Interrupted);
            }
            let Some(request) = generator.next(simulation.now())? else {
                break;
            };
            let last = request.lba + u64::from(request.blocks) - 1;
            for page in request.lba / page_blocks..=last / page_blocks {
                let place = page - first_page;
                pages[(place / 64) as usize] |= 1 << (place % 64);
            }
        }
        Ok(Some(Touched { first_page, pages }))
    }

    /// They, in order.
    fn numbers(&self) -> impl Iterator<Item = u64> {
        let words = self.pages.iter().zip((self.first_page..).step_by(64));
        words.flat_map(|(word, first)| {
            let left = |bits: u64| (bits != 0).then_some(bits);
            let each = iter::successors(left(*word), move |bits| left(bits & (bits - 1)));
            each.map(move |bits| first + u64::from(bits.trailing_zeros()))
        })
    }
}

impl Prefill {
    /// The parts of the range whose pages are to be touched and hold nothing, on flash or in the cache.
    pub(super) fn empty(&self, drive: &Drive) -> Result<Vec<Range>, Error> {
        let device = drive.device_for("a workload")?;
        let namespace = NamespaceId::new(self.namespace);
        let pages = LogicalPages::of(device, namespace, self.block_bytes);
        let page_blocks = pages.blocks();
        let end = self.range.first + self.range.blocks;
        let mut parts: Vec<Range> = Vec::new();
        let lpns: Box<dyn Iterator<Item = Lpn>> = match &self.touched {
            Some(touched) => {
                let numbers = touched.numbers();
                Box::new(numbers.filter_map(|page| pages.page_of(page * page_blocks)))
            }
            None => Box::new(pages.touched(self.range.first..end).map(Lpn)),
        };
        let watch = drive.watch();
        for (number, lpn) in (0..).zip(lpns) {
            if number % LOOK_EVERY == 0 && watch().is_break() {
                return Err(Error::Interrupted);
            }
            if device.controller.holds_data(lpn) {
                continue;
            }
            let first = pages.first_block(lpn.0);
            let begin = first.max(self.range.first);
            let blocks = (first + page_blocks).min(end) - begin;
            match parts.last_mut() {
                Some(part) if part.first + part.blocks == begin => part.blocks += blocks,
                _ => parts.push(Range {
                    first: begin,
                    blocks,
                }),
            }
        }
        Ok(parts)
    }
}

/// Parts of a namespace to fill.
pub(super) struct Filling {
    pub(super) namespace: u32,
    pub(super) parts: Vec<Range>,
}

/// Fills one namespace's parts after another's.
pub(super) async fn all(
    host: Host,
    fillings: Vec<Filling>,
    progress: Rc<Progress>,
) -> Result<(), Error> {
    for filling in &fillings {
        one(&host, filling, &progress).await?;
    }
    Ok(())
}

/// Fills parts many blocks at a time, several at once.
async fn one(host: &Host, filling: &Filling, progress: &Progress) -> Result<(), host::Error> {
    const PIECE_BYTES: u64 = 1 << 20;
    const DEPTH: usize = 16;
    let device = &device(host, filling.namespace, 0).await?;
    let piece = (PIECE_BYTES / u64::from(device.block_bytes())).max(1);
    let pieces = |part: &Range| {
        let end = part.first + part.blocks;
        let begins = (part.first..end).step_by(piece as usize);
        begins.map(move |begin| (begin, (end - begin).min(piece)))
    };
    let workers = (0..DEPTH).map(|worker| async move {
        let mine = || filling.parts.iter().flat_map(pieces).skip(worker);
        let Some(longest) = mine().step_by(DEPTH).map(|(_, blocks)| blocks).max() else {
            return Ok(());
        };
        let zeroes = vec![0; (longest * u64::from(device.block_bytes())) as usize];
        let buffer = Buffer::holding(device.transport().memory(), &zeroes)?;
        for (begin, blocks) in mine().step_by(DEPTH) {
            if progress.stopped.get() {
                break;
            }
            device.write_from(begin, blocks as u32, &buffer).await?;
        }
        Ok(())
    });
    join_all(workers).await.into_iter().collect()
}
