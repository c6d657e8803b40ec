//! Preconditioning: a drive that is set up at once behaves as one that was written.

use bitline::inside::{InsideConfig, InsideDrive};
use bitline::{Drive, History, Precondition};

use crate::write_amplification::{one_plane, random_writes};

fn precondition(drive: &mut Drive, occupied: f64, history: History) {
    let plan = Precondition::new(history).occupying(occupied);
    drive.precondition(&plan).expect("a blank drive");
}

/// Programs for each host write while the whole drive is overwritten once at random.
fn amplification(drive: &mut Drive) -> f64 {
    let before = drive.statistics().expect("power");
    random_writes(drive, 1.0, false);
    let after = drive.statistics().expect("power");
    let programs = after.flash.page_programs - before.flash.page_programs;
    programs as f64 / (after.ftl.host_page_writes - before.ftl.host_page_writes) as f64
}

#[test]
fn a_steady_state_is_steady() {
    for overprovisioning in ["0.2", "0.35"] {
        let mut written = one_plane("greedy", overprovisioning);
        random_writes(&mut written, 6.0, true);
        let expected = amplification(&mut written);
        let histories = [History::SteadyState, History::Random { overwrites: 6.0 }];
        for history in histories {
            let mut made = one_plane("greedy", overprovisioning);
            precondition(&mut made, 1.0, history);
            let found = amplification(&mut made);
            assert!(
                (found / expected - 1.0).abs() < 0.03,
                "{history:?} at {overprovisioning}: {found}, not {expected}"
            );
        }
    }
}

#[test]
fn a_young_drive_begins_to_collect_when_a_written_one_does() {
    let begins = |drive: &mut Drive| {
        (0..100).find(|_| {
            random_writes(drive, 0.005, false);
            drive.statistics().expect("power").ftl.gc_blocks > 0
        })
    };
    let mut written = one_plane("greedy", "0.35");
    random_writes(&mut written, 0.2, true);
    let mut made = one_plane("greedy", "0.35");
    precondition(&mut made, 1.0, History::Random { overwrites: 0.2 });
    let (expected, found) = (begins(&mut written), begins(&mut made));
    let steps = |begins: Option<i32>| begins.expect("it begins");
    assert!(
        (steps(expected) - steps(found)).abs() <= 2,
        "{expected:?}, {found:?}"
    );
}

#[test]
fn a_power_cut_right_after_recovers_everything() {
    let histories = [
        History::Sequential,
        History::Random { overwrites: 0.1 },
        History::SteadyState,
        History::Mqsim,
    ];
    for history in histories {
        let mut drive = one_plane("greedy", "0.2");
        precondition(&mut drive, 0.7, history);
        let pages = drive.device().expect("power").ftl.logical_pages();
        let lookup = |drive: &Drive| -> Vec<_> {
            let ftl = &drive.device().expect("power").ftl;
            (0..pages)
                .map(|page| ftl.lookup(device::ftl::Lpn(page)))
                .collect()
        };
        let before = lookup(&drive);
        let mapped = before
            .iter()
            .filter(|page| **page != device::ftl::Mapping::Unmapped);
        let share = mapped.count() as f64 / f64::from(pages);
        assert!((share - 0.7).abs() < 0.001, "{share}");
        drive.power_cut().expect("nothing to write");
        drive.power_up().expect("a recovery");
        // Where free blocks are short, collection begins at power-up and moves pages.
        let holds = |page: &device::ftl::Mapping| matches!(page, device::ftl::Mapping::Data(_));
        let (held, found) = (before.iter().map(holds), lookup(&drive));
        assert!(held.eq(found.iter().map(holds)), "{history:?}");
        random_writes(&mut drive, 0.5, false);
    }
}

#[test]
fn pages_behind_all_others_lie_where_writes_would_go_and_nothing_is_collected_for_them() {
    use device::ftl::{Lpn, Mapping};
    for frontiers in ["on_demand", "ahead"] {
        let changes = [
            ("compatibility.frontiers", frontiers),
            ("compatibility.gc_pace", "per_block"),
            ("nand.geometry.channels", "2"),
            ("nand.geometry.blocks_per_plane", "64"),
            ("ftl.gc.threshold_blocks", "20"),
        ];
        let mut drive = crate::model::drive("mqsim-default", &changes);
        let all = drive.device().expect("power").ftl.logical_pages();
        let (occupied, rest): (Vec<_>, Vec<_>) =
            (0..all).map(Lpn).partition(|page| page.0 % 10 < 7);
        let occupied: Vec<(Lpn, u64)> = occupied.into_iter().map(|page| (page, 1)).collect();
        drive
            .occupy(&occupied, History::Mqsim)
            .expect("a blank drive");
        let planes = drive.config().device().nand.geometry.planes() as usize;
        let rest: Vec<(Lpn, u64)> = rest
            .into_iter()
            .take(3 * planes)
            .map(|page| (page, 1))
            .collect();
        let both = [&rest[..], &occupied[..5]].concat();
        // Those that hold data stay where they are.
        assert_eq!(drive.append(&both).expect("room"), rest.len() as u64);
        let before = drive.statistics().expect("power");
        for (page, _) in &rest {
            let mapping = drive.device().expect("power").ftl.lookup(*page);
            assert!(matches!(mapping, Mapping::Data(_)), "{page:?}: {mapping:?}");
        }
        drive.simulation().expect("power").run();
        let after = drive.statistics().expect("power");
        assert_eq!(
            after.flash.block_erases, before.flash.block_erases,
            "{frontiers}"
        );
        drive.power_cut().expect("nothing to write");
        drive.power_up().expect("a recovery");
        for (page, _) in &rest {
            let mapping = drive.device().expect("power").ftl.lookup(*page);
            assert!(matches!(mapping, Mapping::Data(_)), "{page:?}: {mapping:?}");
        }
    }
}

#[test]
fn a_drive_is_preconditioned_once_and_within_its_ranges() {
    let mut drive = one_plane("greedy", "0.2");
    let error = |drive: &mut Drive, occupied, working_set| {
        let plan = Precondition::new(History::Sequential)
            .occupying(occupied)
            .within(working_set);
        drive
            .precondition(&plan)
            .expect_err("it is refused")
            .to_string()
    };
    assert_eq!(
        error(&mut drive, 1.5, 1.0),
        "precondition: occupied = 1.5 cannot be; it must be 0 to 1"
    );
    assert_eq!(
        error(&mut drive, 0.7, 0.5),
        "precondition: working_set = 0.5 cannot be; it must be at least occupied and at most 1"
    );
    precondition(&mut drive, 0.5, History::Sequential);
    assert_eq!(
        error(&mut drive, 0.5, 1.0),
        "precondition: only a drive that was never written can be preconditioned"
    );
}
