//! What the data cache makes of pages that it has in parts, and of flash that fails it.

use bitline::inside::InsideHost;
use bitline::{Ageing, Drive, Status};
use sim::Random;

use crate::{blocks, drive, forced_read, status};

/// Logical blocks of a page.
const PAGE: u64 = 8;

/// A volatile cache that keeps what is written until it is flushed.
fn lazy(changes: &[(&str, &str)]) -> Drive {
    let cache = [("cache.mode", "write"), ("cache.write_back", "lazy")];
    drive(&[&cache[..], changes].concat())
}

/// What lies between the parts comes from flash, and the parts themselves do not.
#[test]
fn parts_of_a_page_that_lie_apart_are_written_back_together() {
    for unit in ["4096", "2048"] {
        let mut drive = lazy(&[("ftl.mapping_unit_bytes", unit)]);
        let mut expected = blocks(0, PAGE);
        drive.write(0, &expected).expect("room");
        drive.flush().expect("room");
        for (at, data) in [(0, blocks(100, 1)), (2, blocks(200, 1))] {
            drive.write(at, &data).expect("room");
            expected[at as usize * 512..][..512].copy_from_slice(&data);
        }
        drive.flush().expect("room");
        drive.power_cut().expect("no image");
        drive.power_up().expect("it recovers");
        assert!(drive.read(0, PAGE).expect("written") == expected, "{unit}");
    }
}

/// The pages that were programmed by what `work` does.
fn programs(drive: &mut Drive, work: impl FnOnce(&mut Drive) -> Status) -> u64 {
    let count = |drive: &Drive| drive.statistics().expect("power").flash.page_programs;
    let before = count(drive);
    assert_eq!(work(drive), Status::SUCCESS);
    count(drive) - before
}

/// As long as something cannot be written back the host hears of it from each write, which goes to flash. When nobody needs
/// that any more, writes complete in DRAM again.
#[test]
fn what_failed_and_is_deallocated_troubles_nobody() {
    let mut drive = lazy(&[]);
    drive.write(0, &blocks(0, PAGE)).expect("room");
    drive.flush().expect("room");
    let centuries = Ageing::new(8_000_000.0, 30.0).after_cycles(20_000);
    drive.grow_older(&centuries).expect("it can");
    // The rest of the page cannot be read any more.
    drive.write(0, &blocks(1, 1)).expect("it waits in DRAM");
    assert_ne!(status(drive.flush()), Status::SUCCESS);
    // Both are told, the one that takes the page to flash, in vain, and the one that finds it on its way.
    let reads = drive.run(|host| async move {
        let other = host.clone();
        let read = host
            .sim()
            .spawn(async move { forced_read(&other, 1).await.0 });
        [forced_read(&host, 1).await.0, read.await]
    });
    let lost = Status::UNRECOVERED_READ_ERROR;
    assert_eq!(reads.expect("power"), [lost; 2]);
    let write =
        |page: u64| move |drive: &mut Drive| status(drive.write(page * PAGE, &blocks(page, PAGE)));
    assert_eq!(programs(&mut drive, write(1)), 1, "past the cache");
    let deallocated = drive.run(|host| async move { host.block().deallocate(0, PAGE).await });
    assert_eq!(
        crate::host_status(deallocated.expect("power")),
        Status::SUCCESS
    );
    assert_eq!(programs(&mut drive, write(2)), 0, "in the cache");
    let flushed = programs(&mut drive, |drive| status(drive.flush()));
    assert_eq!(flushed, 1);
    assert_eq!(drive.read(0, PAGE).expect("zeroes"), vec![0; 8 * 512]);
}

/// The other pages of a read take a while to be saved, in which the first is written again, and again. Neither is the host
/// given what a power cut takes, nor does it wait for a page that is never at rest.
#[test]
fn what_is_read_with_force_unit_access_beside_writes_stays() {
    const PAGES: u64 = 3;
    for wait_us in [30, 300] {
        let mut drive = lazy(&[]);
        drive.write(0, &blocks(0, PAGES * PAGE)).expect("room");
        let read = drive.run(move |host| async move {
            let (writer, sim) = (host.block().clone(), host.sim().clone());
            let writing = host.sim().spawn(async move {
                for round in 1..250 {
                    let written = writer.write(0, &[round; PAGE as usize * 512]).await;
                    written.expect("room");
                    sim.sleep(sim::Span::from_us(wait_us)).await;
                }
            });
            host.sim().sleep(sim::Span::from_us(20)).await;
            let (status, read) = forced_read(&host, (PAGES * PAGE) as u32).await;
            assert_eq!(status, Status::SUCCESS);
            assert!(!writing.is_finished(), "it waited for the last write");
            read
        });
        let read = read.expect("power");
        drive.power_cut().expect("no image");
        drive.power_up().expect("it recovers");
        let left = drive.read(0, PAGES * PAGE).expect("written");
        let (first, page) = (read[0], PAGE as usize * 512);
        assert!(first > 0, "nothing was written beside it");
        assert!(
            left[0] >= first,
            "round {first} is lost, {} is left",
            left[0]
        );
        assert!(left[page..] == read[page..], "the others are as written");
    }
}

/// Pages that come together lie together in the cache, and go to flash from there. What is written meanwhile, to some of them or
/// to a part of one, changes neither what is on its way nor what its neighbours hold.
#[test]
fn pages_that_lie_together_are_pages_of_their_own() {
    const BLOCKS: u64 = 48 * PAGE;
    let ways = ["4096", "2048", "1024"].map(|unit| [(unit, "lazy"), (unit, "eager")]);
    for (unit, write_back) in ways.into_iter().flatten() {
        let mut drive = drive(&[
            ("cache.mode", "write"),
            ("cache.write_back", write_back),
            ("cache.capacity_bytes", "65536"),
            ("ftl.mapping_unit_bytes", unit),
        ]);
        let expected = drive.run(async move |host| {
            let mut random = Random::named(7, unit);
            let mut expected = vec![0u8; BLOCKS as usize * 512];
            host.write(0, &expected).await.expect("room");
            for round in 0..1500 {
                // One to three whole pages, or some blocks anywhere.
                let whole = random.chance(0.6);
                let (grain, most) = if whole { (PAGE, 3) } else { (1, 5) };
                let count = grain * (1 + random.below(most));
                let at = random.below((BLOCKS - count) / grain + 1) * grain;
                let bytes = at as usize * 512..(at + count) as usize * 512;
                match random.below(4) {
                    0 => {
                        let read = host.read(at, count).await.expect("written");
                        assert!(read == expected[bytes], "{unit} {write_back} {round}");
                    }
                    1 if round % 8 == 0 => {
                        let flushing = host.block().clone();
                        let flush = async move { flushing.flush().await.expect("room") };
                        host.sim().spawn_detached(flush);
                    }
                    _ => {
                        random.fill(&mut expected[bytes.clone()]);
                        host.write(at, &expected[bytes]).await.expect("room");
                    }
                }
            }
            host.block().flush().await.expect("room");
            expected
        });
        let expected = expected.expect("power");
        drive.power_cut().expect("no image");
        drive.power_up().expect("it recovers");
        let left = drive.read(0, BLOCKS).expect("written");
        assert!(left == expected, "{unit} {write_back}");
    }
}
