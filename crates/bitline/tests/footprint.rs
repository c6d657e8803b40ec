//! The memory that the tables of a drive take. A process of its own, with one test: what others
//! reserve meanwhile would count as the drive's.

use bitline::{Config, Drive};

/// KiB of address space that this process has reserved; none where the system does not tell.
fn reserved() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmSize:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The estimate is of the size of what is really taken, table by table.
#[test]
fn the_figure_is_what_a_drive_takes() {
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
