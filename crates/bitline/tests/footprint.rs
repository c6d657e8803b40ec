//! The memory that the tables of a drive take. A process of its own, with one test at a time: what others
//! take meanwhile would count as the drive's.

use std::sync::Mutex;

use bitline::{Config, Drive};

static ALONE: Mutex<()> = Mutex::new(());

/// KiB of address space that this process has reserved; none where the system does not tell.
fn reserved() -> Option<u64> {
    told("VmSize:")
}

/// KiB of memory that it has.
fn resident() -> Option<u64> {
    told("VmRSS:")
}

fn told(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The estimate is of the size of what is really taken, table by table.
#[test]
fn the_figure_is_what_a_drive_takes() {
    let _alone = ALONE.lock();
    for (channels, blocks) in [("8", "16384"), ("2048", "64")] {
        let changes = [
            ("nand.geometry.channels", channels),
            ("nand.geometry.blocks_per_plane", blocks),
            ("nand.geometry.strings_per_block", "1"),
            ("nand.geometry.cells_per_string", "8"),
            ("ftl.gc.threshold_blocks", "3"),
            ("data.storage", "none"),
        ];
        let preset = Config::preset("flash-cosmos").expect("the preset exists");
        let config = preset.with(changes).expect("a possible drive");
        let estimate = config.table_bytes().expect("it is a drive") >> 10;
        let Some(before) = reserved() else { return };
        let drive = Drive::open(config).expect("it opens");
        let taken = reserved().map_or(0, |after| after.saturating_sub(before));
        drop(drive);
        assert!(
            (taken / 4..=2 * taken).contains(&estimate),
            "{channels} channels of {blocks} blocks: estimated {estimate} KiB, taken {taken} KiB"
        );
    }
}

/// As a new file system writes to each of its groups: a huge page of memory for each would be all of the tables.
#[test]
fn blocks_written_here_and_there_take_little_memory() {
    const GROUP_BLOCKS: usize = 32_768;
    let _alone = ALONE.lock();
    let preset = Config::preset("flash-cosmos").expect("the preset exists");
    let config = preset.with([
        ("ftl.mapping_unit_bytes", "4096"),
        ("cache.mode", "write"),
        ("data.storage", "none"),
    ]);
    let mut drive = Drive::open(config.expect("a possible drive")).expect("it opens");
    let Some(before) = resident() else { return };
    let blocks = drive.blocks().expect("it has power");
    for lba in (0..blocks).step_by(GROUP_BLOCKS) {
        drive.write(lba, &[0; 4096]).expect("there is room");
    }
    drive.flush().expect("it has power");
    let taken = resident().map_or(0, |after| after.saturating_sub(before));
    assert!(blocks > 500_000_000, "{blocks} blocks");
    assert!(taken < 1 << 20, "{taken} KiB");
}
