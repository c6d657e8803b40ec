//! Leased latches: nothing that would change them is legal, and what they hold can be moved out and
//! back.

use super::*;

const BOTH: Latches = Latches { s: true, c: true };
const SENSING: Latches = Latches { s: true, c: false };
const CACHE: Latches = Latches { s: false, c: true };
const FIRST: PlaneMask = PlaneMask(1);

/// A driver with two pages in each plane of die 0, and in plane 0's latches S = a AND b, C = a.
fn sensed() -> (Driver, [u8; 32], [u8; 32]) {
    let mut d = Driver::new(&small(), Storage::Memory);
    let (a, b) = ([0b1100_1010; 32], [0b1010_0110; 32]);
    for block in [0, 6] {
        d.program(page(block, 0), ProgramMode::Esp, &a, b"");
        d.program(page(block + 1, 0), ProgramMode::Esp, &b, b"");
    }
    d.must(0, &mws(flags("sct"), &[(0, 0, &[0])]));
    d.must(0, &mws(flags(""), &[(1, 0, &[0])]));
    (d, a, a.map(|byte| byte & b[0]))
}

fn out(d: &Driver, plane: u32) -> [u8; 32] {
    let mut bytes = [0; 32];
    d.nand
        .data_out(PlaneId(plane), 0, &mut bytes)
        .expect("an idle die");
    bytes
}

#[test]
fn nothing_changes_leased_latches() {
    for leased in [BOTH, SENSING, CACHE] {
        let (mut d, a, _) = sensed();
        d.nand.lease(DieId(0), FIRST, leased).expect("sensed");
        let pages = PageSet::from_iter([page(0, 0)]);
        let mode = ProgramMode::Esp;
        let destroying = [
            Command::read(page(0, 0)),
            Command::CacheRead {
                pages: pages.clone(),
            },
            Command::CopybackRead { pages },
            mws(flags("sct"), &[(0, 0, &[0])]),
            mws(flags(""), &[(0, 0, &[0])]),
            Command::program(page(2, 0), mode),
            Command::CopybackProgram {
                pages: PageSet::from_iter([page(2, 0)]),
                mode,
            },
            Command::erase(BlockId(2)),
        ];
        for command in destroying {
            refused(d.run(0, &command), &[command.name(), "is leased"]);
        }
        for (command, changes) in [
            (Command::Xor { planes: FIRST }, CACHE),
            (Command::LatchTransfer { planes: FIRST }, CACHE),
            (Command::CacheReadEnd { planes: FIRST }, CACHE),
            (Command::LatchLoad { planes: FIRST }, SENSING),
        ] {
            if changes.s && leased.s || changes.c && leased.c {
                refused(d.run(0, &command), &["is leased"]);
            }
        }
        if leased.c {
            refused(d.nand.data_in(PlaneId(0), 0, &[0; 32]), &["is leased"]);
        }
        assert_eq!(out(&d, 0), a, "reading out is allowed");
        // The other plane is nobody's.
        d.must(0, &Command::read(page(6, 0)));
        d.must(0, &Command::erase(BlockId(8)));
        d.nand.end_lease(DieId(0), FIRST);
        d.must(0, &Command::read(page(0, 0)));
    }
}

#[test]
fn a_lease_is_of_latches_that_hold_something_of_a_die_at_rest() {
    let mut d = Driver::new(&small(), Storage::Memory);
    refused(d.nand.lease(DieId(0), FIRST, CACHE), &["holds nothing"]);
    refused(d.nand.lease(DieId(4), FIRST, CACHE), &["does not exist"]);
    let read = Command::read(page(0, 0));
    let busy = d.nand.begin(DieId(0), &read, d.now).expect("legal");
    refused(d.nand.lease(DieId(0), FIRST, CACHE), &["lease", "die 0"]);
    let end = d.now + busy.span;
    d.nand.finish(DieId(0), end).expect("its time has come");
    d.nand.lease(DieId(0), FIRST, CACHE).expect("sensed");
    d.nand.power_cut(end).expect("no image");
    d.now = end;
    d.must(0, &Command::read(page(0, 0)));
}

#[test]
fn what_was_moved_out_can_be_moved_back() {
    for storage in [Storage::Memory, Storage::None] {
        let keeps = matches!(storage, Storage::Memory);
        let (mut d, a, both) = match keeps {
            true => sensed(),
            false => {
                let mut d = Driver::new(&small(), storage);
                d.must(0, &mws(flags("sct"), &[(0, 0, &[0])]));
                (d, [0; 32], [0; 32])
            }
        };
        let cache = out(&d, 0);
        d.must(0, &Command::CacheReadEnd { planes: FIRST });
        let sensing = out(&d, 0);
        assert_eq!((cache, sensing), (a, both));
        // Other work.
        d.must(0, &Command::read(page(1, 0)));
        d.must(0, &Command::program(page(2, 0), ProgramMode::Esp));
        let restore = |d: &mut Driver, bytes: &[u8; 32], status| {
            let bytes = keeps.then_some(&bytes[..]);
            d.nand.restore(PlaneId(0), bytes, status).expect("at rest");
        };
        restore(&mut d, &sensing, PageStatus::Ok);
        d.must(0, &Command::LatchLoad { planes: FIRST });
        restore(&mut d, &cache, PageStatus::Uncorrectable);
        assert_eq!(out(&d, 0), a);
        d.must(0, &Command::LatchTransfer { planes: FIRST });
        let or: Vec<u8> = a.iter().zip(both).map(|(a, b)| a | b).collect();
        assert_eq!(out(&d, 0)[..], or[..]);
        let status = d.nand.page_status(PlaneId(0)).expect("at rest");
        assert_eq!(status, PageStatus::Uncorrectable, "what was lost stays so");
    }
}
