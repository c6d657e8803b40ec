//! What a mapping table cached on demand costs.

use bitline::Drive;
use bitline::inside::InsideHost;
use sim::Span;

use crate::model::{Model, drive};

fn cached(changes: &[(&str, &str)]) -> Drive {
    let cached = [("ftl.mapping.kind", "cached")];
    let changes: Vec<_> = cached.iter().chain(changes).copied().collect();
    drive("flash-cosmos", &changes)
}

/// Reads single blocks at the same time, and gives what that took.
fn read_together(drive: &mut Drive, lbas: Vec<u64>) -> u64 {
    let run = drive.run(|host| async move {
        let sim = host.sim().clone();
        sim.sleep(Span::from_us(100_000)).await;
        let begin = sim.now();
        let reads = lbas.into_iter().map(|lba| {
            let host = host.clone();
            sim.spawn(async move {
                let buffer = host.block().buffer(1)?;
                host.block().read_into(lba, 1, &buffer).await
            })
        });
        for read in reads.collect::<Vec<_>>() {
            read.await?;
        }
        Ok::<_, host::Error>(sim.now().since(begin))
    });
    run.expect("power").expect("reads").as_ps()
}

fn write(drive: &mut Drive, lba: u64) {
    let bytes = drive.block_bytes().expect("power") as usize;
    drive.write(lba, &vec![1; bytes]).expect("a write");
    // What has to be written back is.
    let rest = drive.run(|host| async move {
        host.sim().sleep(Span::from_us(100_000)).await;
    });
    rest.expect("power");
}

#[test]
fn a_miss_costs_a_read_of_the_mapping_page_and_a_hit_nothing() {
    let mut drive = cached(&[]);
    let model = Model::of(&drive);
    let fetch_bytes = u64::from(model.0.ftl.mapping.fetch_bytes);
    let miss = read_together(&mut drive, vec![0]);
    let hit = read_together(&mut drive, vec![0]);
    assert_eq!(miss - hit, model.page_read(fetch_bytes));
    let counts = drive.statistics().expect("power").ftl;
    assert_eq!((counts.cmt_read_misses, counts.cmt_read_hits), (1, 1));
    assert_eq!(counts.mapping_page_reads, 1);
}

#[test]
fn all_who_wait_for_a_mapping_page_share_its_read() {
    let mut drive = cached(&[]);
    let model = Model::of(&drive);
    let page_blocks = model.page_bytes() / u64::from(model.0.frontend.block_bytes);
    read_together(&mut drive, (0..8).map(|page| page * page_blocks).collect());
    let counts = drive.statistics().expect("power").ftl;
    assert_eq!((counts.cmt_read_misses, counts.mapping_page_reads), (8, 1));
}

#[test]
fn a_changed_entry_that_has_to_go_is_written_back() {
    let mut drive = cached(&[("ftl.mapping.cache_entries", "1")]);
    let model = Model::of(&drive);
    let mapping = &model.0.ftl.mapping;
    let entries = model.page_bytes() / u64::from(mapping.entry_bytes);
    let page_blocks = model.page_bytes() / u64::from(model.0.frontend.block_bytes);
    write(&mut drive, 0);
    assert_eq!(
        drive.statistics().expect("power").ftl.mapping_page_writes,
        0
    );
    write(&mut drive, entries * page_blocks);
    let counts = drive.statistics().expect("power").ftl;
    assert_eq!(counts.mapping_page_writes, 1);
    // One for each miss, and one to merge the change with the rest of its page.
    assert_eq!((counts.cmt_write_misses, counts.mapping_page_reads), (2, 3));
}
