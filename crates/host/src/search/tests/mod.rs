//! Lookups against a drive of a few lines, which has small transfers, forgets cursors and lies if asked to.

mod commands;
mod drive;
mod lies;
pub(crate) mod model;
mod ranges;

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use nvme::NamespaceId;
use nvme::query::{Pattern, Query, Term};

use super::{DataRegion, NameKind, SearchDevice};
use crate::block::BlockDevice;
use drive::LookupDrive;

/// Runs what never waits.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the drive of these tests answers at once"),
    }
}

fn device(drive: &LookupDrive) -> SearchDevice<LookupDrive> {
    let block = BlockDevice::open(drive.clone(), NamespaceId::new(1));
    SearchDevice::new(now(block).expect("it identifies itself")).beginning_with(64)
}

fn kind(bits: u32, ternary: bool) -> NameKind {
    NameKind { bits, ternary }
}

/// A query for one pattern in the `field`-th search region.
fn query(region: &DataRegion, field: usize, pattern: Pattern) -> Query {
    Query::of(region.names[field].region, pattern)
}

fn term(region: &DataRegion, field: usize, pattern: Pattern) -> Term {
    Term {
        region: region.names[field].region,
        pattern,
    }
}

/// Numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}
