//! What recovery reads, with checkpoints and without.

use bitline::Drive;
use bitline::inside::{InsideDrive, InsideHost};

use crate::model::{Model, drive};

const INTERVAL: u64 = 400;

fn small(interval: u64) -> Drive {
    let interval = interval.to_string();
    let changes = [
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.dies_per_chip", "1"),
        ("nand.geometry.planes_per_die", "2"),
        ("nand.geometry.blocks_per_plane", "100"),
        ("nand.geometry.cells_per_string", "4"),
        ("bits.compute_blocks_percent", "0"),
        ("ftl.checkpoint.interval_pages", interval.as_str()),
    ];
    drive("flash-cosmos", &changes)
}

/// Writes the first `pages` logical pages one after another, again and again, until
/// `writes` are done; then cuts the power. Gives how many pages recovery reads.
fn pages_read_after(drive: &mut Drive, pages: u64, writes: u64) -> u64 {
    let model = Model::of(drive);
    let page_blocks = (model.page_bytes() / 4096) as u32;
    let run = drive.run(move |host| async move {
        let buffer = host.block().buffer(page_blocks)?;
        for write in 0..writes {
            let lba = write % pages * u64::from(page_blocks);
            host.block().write_from(lba, page_blocks, &buffer).await?;
        }
        Ok::<_, host::Error>(())
    });
    run.expect("power").expect("writes");
    drive.power_cut().expect("a cut");
    drive.power_up().expect("power");
    let device = drive.device().expect("power");
    device
        .recovered
        .as_ref()
        .map_or(0, |found| found.pages_read)
}

#[test]
fn checkpoints_bound_what_recovery_reads() {
    for (pages, writes) in [(1000, 6000), (1000, 12_000), (3000, 12_000)] {
        let mut drive = small(INTERVAL);
        let read = pages_read_after(&mut drive, pages, writes);
        let model = Model::of(&drive);
        let geometry = &model.0.nand.geometry;
        let ftl = &model.0.ftl;
        let planes = u64::from(geometry.planes());
        let block_pages = u64::from(geometry.pages_per_block(ftl.mode));
        let blocks = planes * u64::from(geometry.blocks_per_plane);
        let entries = model.page_bytes() / u64::from(ftl.mapping.entry_bytes);
        let logical_pages = drive.blocks().expect("power") * 4096 / model.page_bytes();
        let mapping_pages = logical_pages.div_ceil(entries);
        // A page a block; each mapping page, and a newer copy of it; a block of roots and a
        // root; the blocks that were open in any plane when the last checkpoint began, for the
        // host, for collection, for wear levelling and for mapping pages; and what was
        // programmed since, of which each page may compete with another.
        let open = 4 * planes * block_pages;
        let since = 2 * INTERVAL + open;
        let bound = blocks + 2 * mapping_pages + block_pages + 1 + open + 2 * since;
        assert!(
            read <= bound,
            "{pages} {writes}: {read} pages read, {bound} at most"
        );
        let all = pages_read_after(&mut small(0), pages, writes);
        println!("{pages} pages, {writes} writes: {read} read, {bound} at most, {all} without");
        assert!(2 * read < all, "{pages} {writes}: {read} of {all}");
    }
}
