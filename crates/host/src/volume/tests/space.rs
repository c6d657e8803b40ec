//! The allocator: first fit, alignment to a pitch, several extents where no one run is long enough.

use crate::volume::extent::{Alignment, Run, Space};

fn run(first: u32, pages: u32) -> Run {
    Run { first, pages }
}

#[test]
fn the_first_run_with_room_is_taken() {
    let mut space = Space::new(20);
    for first in [2, 8, 14] {
        assert!(space.claim(run(first, 1)));
    }
    let mut take = |pages| space.allocate(pages, Alignment::ANY, 9);
    assert_eq!(take(3), Some(vec![run(3, 3)]));
    assert_eq!(take(2), Some(vec![run(0, 2)]));
    assert_eq!(take(5), Some(vec![run(9, 5)]));
    assert_eq!(
        take(6),
        Some(vec![run(15, 5), run(6, 1)]),
        "the longest first"
    );
    assert_eq!(take(2), None);
    assert_eq!(take(1), Some(vec![run(7, 1)]));
    assert_eq!(space.free_pages(), 0);
}

#[test]
fn nothing_is_taken_when_not_all_fits() {
    let mut space = Space::new(10);
    assert!(space.claim(run(4, 1)));
    let before = space.clone();
    assert_eq!(
        space.allocate(9, Alignment::ANY, 1),
        None,
        "two pieces at least"
    );
    assert_eq!(space.allocate(10, Alignment::ANY, 9), None);
    assert_eq!(space, before);
}

#[test]
fn pages_keep_their_place_modulo_the_pitch() {
    let alignment = Alignment {
        modulus: 4,
        residue: 6,
    };
    let mut space = Space::new(24);
    let mut take = || space.allocate(3, alignment, 9);
    assert_eq!(
        take(),
        Some(vec![run(6, 3)]),
        "not before the matrix begins"
    );
    assert_eq!(take(), Some(vec![run(10, 3)]));
    assert_eq!(take(), Some(vec![run(14, 3)]));
    assert_eq!(take(), Some(vec![run(18, 3)]));
    assert_eq!(take(), None, "22 and 23 are no whole row");
    assert!(space.claim(run(22, 1)) && space.claim(run(9, 1)));
    space.release(run(7, 2));
    space.release(run(10, 1));
    // Page 0 of a row fits at 10; page 1 at 7 and page 2 at 8.
    let taken = space.allocate(3, alignment, 9);
    assert_eq!(taken, Some(vec![run(10, 1), run(7, 2)]));
}

#[test]
fn what_is_not_free_cannot_be_claimed_and_runs_grow_together() {
    let mut space = Space::new(10);
    assert!(!space.claim(run(8, 3)), "beyond the end");
    assert!(!space.claim(run(8, 0)));
    assert!(space.claim(run(2, 3)));
    assert!(!space.claim(run(4, 2)));
    assert!(!space.claim(run(1, 2)));
    assert!(space.claim(run(5, 2)));
    space.release(run(2, 3));
    space.release(run(5, 2));
    assert_eq!(space, Space::new(10));
}
