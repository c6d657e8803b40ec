//! Write amplification of uniform random writes against closed forms of P. Desnoyers,
//! "Analytic Modeling of SSD Write Performance", SYSTOR 2012, at three ratios of
//! over-provisioning, within 3 %.
//!
//! The forms take two numbers of the drive: the pages of the host, and the pages in
//! which they lie, that is all but those of the blocks that are kept free.

use bitline::Drive;
use bitline::workload::{Arrival, Flow};

use crate::model::drive;

const PAGES_PER_BLOCK: f64 = 32.0;
const BLOCKS: f64 = 512.0;
const FREE_BLOCKS: f64 = 3.0;

/// A drive of one plane that collects by `policy`.
pub(crate) fn one_plane(policy: &str, overprovisioning: &str) -> Drive {
    let keys = [
        ("nand.geometry.channels", "1"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.dies_per_chip", "1"),
        ("nand.geometry.planes_per_die", "1"),
        ("nand.geometry.blocks_per_plane", "512"),
        ("nand.geometry.strings_per_block", "1"),
        ("nand.geometry.cells_per_string", "32"),
        ("nand.geometry.page_bytes", "4096"),
        ("bits.compute_blocks_percent", "0"),
        ("ftl.mode", "slc"),
        ("ftl.overprovisioning", overprovisioning),
        ("ftl.gc.policy", policy),
        ("ftl.gc.threshold_blocks", "3"),
        ("ftl.gc.concurrent_blocks", "1"),
    ];
    drive("flash-cosmos", &keys)
}

/// Random writes over the whole drive, `times` its size.
pub(crate) fn random_writes(drive: &mut Drive, times: f64, prefill: bool) {
    let pages = drive.blocks().expect("power");
    let flow = Flow {
        read_fraction: 0.0,
        requests: (pages as f64 * times) as u64,
        range_blocks: pages,
        arrival: Arrival::Closed { depth: 8 },
        prefill,
        ..Flow::default()
    };
    drive.run_flows(&[flow], |_| {}).expect("the writes");
}

/// Pages programmed for each that the host wrote, once the drive has settled.
fn write_amplification(drive: &mut Drive) -> f64 {
    random_writes(drive, 6.0, true);
    let before = drive.statistics().expect("power");
    random_writes(drive, 4.0, false);
    let after = drive.statistics().expect("power");
    let programs = after.flash.page_programs - before.flash.page_programs;
    let writes = after.ftl.host_page_writes - before.ftl.host_page_writes;
    programs as f64 / writes as f64
}

/// The principal branch of Lambert's function, w with w exp(w) = x, for x in (-1/e, 0).
fn lambert_w(x: f64) -> f64 {
    let mut w: f64 = -0.5;
    for _ in 0..100 {
        let (exp, error) = (w.exp(), w * w.exp() - x);
        w -= error / (exp * (w + 1.0) - (w + 2.0) * error / (2.0 * w + 2.0));
    }
    w
}

/// First in, first out (LRU in section 3): `spare` is physical over logical pages.
fn fifo(spare: f64) -> f64 {
    spare / (spare + lambert_w(-spare * (-spare).exp()))
}

/// Greedy (section 4), with blocks of `pages` pages.
fn greedy(spare: f64, pages: f64) -> f64 {
    let factor = (1.0 + 0.5 / pages) * spare;
    let left = 0.5 - pages / spare * lambert_w(-factor * (-factor).exp());
    pages / (pages - (left - 1.0))
}

/// Asserts that the drive amplifies writes as `formula` of its physical over its logical
/// pages says.
fn assert_amplification(policy: &str, overprovisioning: &str, formula: impl Fn(f64) -> f64) {
    let mut drive = one_plane(policy, overprovisioning);
    let logical = drive.blocks().expect("power") as f64;
    let expected = formula((BLOCKS - FREE_BLOCKS) * PAGES_PER_BLOCK / logical);
    let found = write_amplification(&mut drive);
    println!("{policy} at {overprovisioning}: {found:.3}, formula {expected:.3}");
    assert!(
        (found / expected - 1.0).abs() < 0.03,
        "{policy} at {overprovisioning}: {found}, not {expected}"
    );
}

#[test]
fn greedy_collection() {
    for overprovisioning in ["0.12", "0.2", "0.35"] {
        assert_amplification("greedy", overprovisioning, |spare| {
            greedy(spare, PAGES_PER_BLOCK)
        });
    }
}

#[test]
fn first_in_first_out_collection() {
    for overprovisioning in ["0.12", "0.2", "0.35"] {
        assert_amplification("fifo", overprovisioning, fifo);
    }
}

#[test]
fn policies_that_draw_lie_between_random_and_greedy() {
    let amplification = |policy| write_amplification(&mut one_plane(policy, "0.2"));
    let [greedy, rga, d_choices, random] =
        ["greedy", "rga", "d_choices", "random"].map(amplification);
    assert!(
        greedy < rga && rga < random && greedy < d_choices && d_choices < random,
        "greedy {greedy}, rga {rga}, d_choices {d_choices}, random {random}"
    );
    // A victim drawn from all blocks would hold as much as any on average; one whose pages are
    // all needed is not taken.
    let uniform = 1.0 / (1.0 - 0.8 * BLOCKS / (BLOCKS - FREE_BLOCKS));
    assert!(random < uniform, "{random}, not below {uniform}");
}
