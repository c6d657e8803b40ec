//! Commands that are sent at once: what they share, and what they do not wait for.

use bitline::inside::InsideHost;
use bitline::{Drive, Host};
use sim::{Span, join_all};

use crate::latency::BLOCK;
use crate::model::{Model, drive};

/// Lets the drive come to rest, then sends `count` commands at once and gives what all of them took.
fn all_at_once<F>(drive: &mut Drive, count: u64, command: fn(Host, u64) -> F) -> u64
where
    F: Future<Output = Result<(), host::Error>> + 'static,
{
    let run = drive.run(move |host| async move {
        let sim = host.sim().clone();
        sim.sleep(Span::from_us(100_000)).await;
        let begin = sim.now();
        let commands = (0..count).map(|number| sim.spawn(command(host.clone(), number)));
        for done in join_all(commands.collect::<Vec<_>>()).await {
            done?;
        }
        Ok::<_, host::Error>(sim.now().since(begin))
    });
    run.expect("power").expect("commands").as_ps()
}

/// Writes a page's worth of blocks from the middle of a page on: each shares a page with the one before.
async fn write_across(host: Host, number: u64) -> Result<(), host::Error> {
    let buffer = host.block().buffer(4)?;
    host.block().write_from(2 + 4 * number, 4, &buffer).await
}

#[test]
fn a_chain_of_writes_that_overlap_takes_as_long_as_two_of_them() {
    for interleave in ["die", "chip"] {
        let mut drive = drive("flash-cosmos", &[("compatibility.interleave", interleave)]);
        let model = Model::of(&drive);
        assert_eq!(model.page_bytes(), 4 * BLOCK);
        let link = |commands: u64| {
            commands * (model.fetch() + model.host_read(model.page_bytes())) + model.completion()
        };
        // Every page is programmed by one command, then read and programmed by the other.
        let half = model.page_bytes() / 2;
        let page = model.part_program(half) + model.page_read(half) + model.part_program(half);
        let count = u64::from(model.0.nand.geometry.channels);
        let took = all_at_once(&mut drive, count, write_across);
        assert!(
            (page..page + link(count)).contains(&took),
            "{interleave}: {count} writes took {took} ps, a page takes {page}"
        );
    }
}

/// Reads a page and sends nothing to the host.
async fn verify(host: Host, number: u64) -> Result<(), host::Error> {
    host.block().verify(4 * number, 4).await
}

#[test]
fn entries_are_fetched_one_by_one_or_one_behind_the_other() {
    for pipelined in [false, true] {
        let fetch = if pipelined { "pipelined" } else { "one_by_one" };
        let mut drive = drive("flash-cosmos", &[("compatibility.entry_fetch", fetch)]);
        let model = Model::of(&drive);
        let count = u64::from(model.0.nand.geometry.channels);
        drive
            .write(0, &vec![0; (count * model.page_bytes()) as usize])
            .expect("a write");
        let took = all_at_once(&mut drive, count, verify);
        // Doorbells are rung at once; the last entry's page lies on a channel of its own.
        let (doorbell, request, entry) = (model.link(4), model.link(32), model.link(64));
        let entries = if pipelined {
            count * (doorbell + entry)
        } else {
            // The first entry is on its way with its doorbell, before the other doorbells.
            let first = doorbell + request + entry;
            first + (count - 1) * doorbell + entry + (count - 2) * (request + entry)
        };
        let page = model.page_read(model.page_bytes());
        assert_eq!(took, entries + page + model.completion(), "{fetch}");
    }
}
