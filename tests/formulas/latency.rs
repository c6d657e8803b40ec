//! One command at a time on a drive at rest: every picosecond is accounted for.

use bitline::inside::InsideHost;
use bitline::{Config, Drive, Host};
use sim::Span;

use crate::model::{Model, drive};

pub(crate) const BLOCK: u64 = 4096;

/// Lets the drive come to rest, then runs one command and gives what it took.
pub(crate) fn timed<F>(drive: &mut Drive, command: impl FnOnce(Host) -> F + 'static) -> u64
where
    F: Future<Output = Result<(), host::Error>> + 'static,
{
    let run = drive.run(|host| async move {
        let sim = host.sim().clone();
        sim.sleep(Span::from_us(100_000)).await;
        let begin = sim.now();
        command(host).await.map(|()| sim.now().since(begin))
    });
    run.expect("power").expect("a command").as_ps()
}

pub(crate) fn timed_read(drive: &mut Drive, lba: u64, blocks: u64) -> u64 {
    timed(drive, move |host| async move {
        let buffer = host.block().buffer(blocks as u32)?;
        host.block().read_into(lba, blocks as u32, &buffer).await
    })
}

pub(crate) fn timed_write(drive: &mut Drive, lba: u64, blocks: u64) -> u64 {
    timed(drive, move |host| async move {
        let buffer = host.block().buffer(blocks as u32)?;
        host.block().write_from(lba, blocks as u32, &buffer).await
    })
}

/// The bytes of each page that a request touches: first and last byte in the page.
fn pieces(model: &Model, lba: u64, blocks: u64) -> Vec<(u64, u64)> {
    let page = model.page_bytes();
    let (start, end) = (lba * BLOCK, (lba + blocks) * BLOCK);
    (start / page..end.div_ceil(page))
        .map(|number| {
            let first = start.max(number * page) - number * page;
            let last = end.min((number + 1) * page) - number * page;
            (first, last)
        })
        .collect()
}

/// First block and number of blocks: parts of pages, whole pages, several pages
/// on different channels, aligned and not.
fn requests(model: &Model) -> Vec<(u64, u64)> {
    let page = model.page_bytes() / BLOCK;
    let channels = u64::from(model.0.nand.geometry.channels);
    vec![
        (0, 1),
        (page - 1, 1),
        (0, page),
        (page - 1, 2),
        (1, 2 * page),
        (page, 3 * page),
        (0, channels * page),
    ]
}

/// The firmware looks the pages up one after another.
fn read_formula(model: &Model, lba: u64, blocks: u64) -> u64 {
    let page = model.firmware(model.work().read_page_cycles);
    let flash = (1..)
        .zip(pieces(model, lba, blocks))
        .map(|(number, (first, last))| number * page + model.page_read(last - first))
        .max();
    model.fetch() + flash.expect("a page") + model.link(blocks * BLOCK) + model.completion()
}

/// A write of pages that hold data already if `mapped`: what it does not replace
/// is read first, in one piece. The cores give the pages their places, each the next one.
fn write_formula(model: &Model, lba: u64, blocks: u64, mapped: bool) -> u64 {
    let page = model.page_bytes();
    let missing = |(first, last): (u64, u64)| match (first, page - last) {
        (0, after) => after,
        (before, 0) => before,
        _ => page,
    };
    let page_work = model.firmware(model.work().write_page_cycles);
    let cores = u64::from(model.0.cores.firmware_cores());
    let flash = (0..)
        .zip(pieces(model, lba, blocks))
        .map(|(number, piece)| {
            let program = model.part_program(piece.1 - piece.0);
            let turn = (number / cores + 1) * page_work;
            match missing(piece) {
                0 => turn + program,
                _ if !mapped => turn + program,
                missing => turn + model.page_read(missing) + program,
            }
        })
        .max();
    model.fetch() + model.host_read(blocks * BLOCK) + flash.expect("a page") + model.completion()
}

#[test]
fn reads_of_a_drive_at_rest() {
    for preset in Config::preset_names() {
        let mut drive = drive(&preset, &[]);
        let model = Model::of(&drive);
        let all = 8 * model.page_bytes() / BLOCK + 1;
        drive
            .write(0, &vec![0; (all * BLOCK) as usize])
            .expect("a write");
        for (lba, blocks) in requests(&model) {
            assert_eq!(
                timed_read(&mut drive, lba, blocks),
                read_formula(&model, lba, blocks),
                "{preset}: {blocks} blocks from {lba}"
            );
        }
    }
}

#[test]
fn writes_of_a_drive_at_rest() {
    for preset in Config::preset_names() {
        for mapped in [false, true] {
            for number in 0..7 {
                // A fresh drive each, as a write maps what it writes.
                let mut drive = drive(&preset, &[]);
                let model = Model::of(&drive);
                let (lba, blocks) = requests(&model)[number];
                if mapped {
                    let all = 8 * model.page_bytes() + BLOCK;
                    drive.write(0, &vec![0; all as usize]).expect("a write");
                }
                assert_eq!(
                    timed_write(&mut drive, lba, blocks),
                    write_formula(&model, lba, blocks, mapped),
                    "{preset}: {blocks} blocks from {lba}, mapped: {mapped}"
                );
            }
        }
    }
}

#[test]
fn what_needs_no_flash_takes_the_link_only() {
    for preset in Config::preset_names() {
        let mut drive = drive(&preset, &[]);
        let model = Model::of(&drive);
        let link = model.fetch() + model.completion();
        let flushed = timed(&mut drive, |host| async move { host.block().flush().await });
        assert_eq!(flushed, link, "{preset}: flush");
        let read = timed_read(&mut drive, 0, 3);
        let pages = pieces(&model, 0, 3).len() as u64;
        let looked_up = pages * model.firmware(model.work().read_page_cycles);
        let expected = link + looked_up + model.link(3 * BLOCK);
        assert_eq!(read, expected, "{preset}: unwritten");
    }
}

#[test]
fn pages_of_one_channel_wait_for_its_bus() {
    // Ways before channels: consecutive pages lie on dies of the same channel.
    let changes = [("ftl.plane_allocation", "WCDP")];
    for preset in ["flash-cosmos", "mqsim-default"] {
        let mut drive = drive(preset, &changes);
        let model = Model::of(&drive);
        for pages in 1..=model.0.nand.geometry.chips_per_channel.into() {
            let bytes = pages * model.page_bytes();
            let fetch = model.fetch() + model.host_read(bytes);
            let phases = model.program_command(1) + model.channel(model.page_bytes());
            assert_eq!(
                timed_write(&mut drive, 0, bytes / BLOCK),
                fetch + pages * phases + model.program() + model.completion(),
                "{preset}: write of {pages} pages"
            );
            // Commands go first and hide behind the sense; data comes out page by page.
            let flash =
                model.read_command(1) + model.sense() + pages * model.data_out(model.page_bytes());
            assert_eq!(
                timed_read(&mut drive, 0, bytes / BLOCK),
                model.fetch() + flash + model.link(bytes) + model.completion(),
                "{preset}: read of {pages} pages"
            );
        }
    }
}

#[test]
fn planes_of_one_die_work_at_once_or_in_turn() {
    for preset in ["flash-cosmos", "anvil-ssd-a", "mqsim-default"] {
        for together in [true, false] {
            let merging = if together { "true" } else { "false" };
            let changes = [
                ("ftl.plane_allocation", "PCWD"),
                ("schedule.multi_plane", merging),
            ];
            let mut drive = drive(preset, &changes);
            let model = Model::of(&drive);
            let page = model.page_bytes();
            let (into, out) = (model.channel(page), model.data_out(page));
            let (program, read) = if together {
                (
                    model.program_command(2) + 2 * into + model.program(),
                    model.read_command(2) + model.sense() + 2 * out,
                )
            } else {
                (2 * model.page_program(), 2 * model.page_read(page))
            };
            let blocks = 2 * page / BLOCK;
            assert_eq!(
                timed_write(&mut drive, 0, blocks),
                model.fetch() + model.host_read(2 * page) + program + model.completion(),
                "{preset}: write, together: {together}"
            );
            assert_eq!(
                timed_read(&mut drive, 0, blocks),
                model.fetch() + read + model.link(2 * page) + model.completion(),
                "{preset}: read, together: {together}"
            );
        }
    }
}
