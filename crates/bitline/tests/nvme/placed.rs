//! Logical pages written with a placement handle: they are logical pages as any, and can be computed with.

use bitline::inside::{InsideDrive, InsideHost};
use bitline::{Drive, Host, Status};
use host::bits::{BitsDevice, PlacementHandle, Request};
use nvme::command::{Engine, Home};
use nvme::{Expression, Lba};

use crate::{config, drive, host_status};

/// Blocks of a logical page, and of a row: three pages.
const PAGE: u64 = 8;
const ROW: u64 = 3 * PAGE;
const BYTES: usize = 3 * 4096;

fn bits(host: &Host) -> BitsDevice<bitline::inside::Queue> {
    BitsDevice::new(host.block().clone())
}

fn handle(number: u16) -> PlacementHandle {
    PlacementHandle {
        number,
        anchor: 0,
        pitch: ROW,
        home: Home::ALL,
    }
}

/// Data that differs from row to row, with as many zeroes as ones about.
fn row(number: u64) -> Vec<u8> {
    let mut state = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..BYTES).map(|_| next()).collect()
}

fn all(rows: &[u64]) -> Expression<Lba> {
    Expression::all(rows.iter().map(|row| Lba::new(row * ROW))).expect("operands")
}

fn and(rows: &[u64]) -> Vec<u8> {
    let rows = rows.iter().map(|number| row(*number));
    let both = |a: Vec<u8>, b: Vec<u8>| a.iter().zip(b).map(|(a, b)| a & b).collect();
    rows.reduce(both).expect("rows")
}

/// The AND of rows, as the array computes it.
async fn evaluated(
    bits: &BitsDevice<bitline::inside::Queue>,
    rows: &[u64],
) -> Result<Vec<u8>, host::Error> {
    let (all, bytes) = (all(rows), BYTES as u64);
    let request = Request::new(&all, Engine::FlashCosmos, bytes * 8);
    Ok(bits.evaluate(request).await?.result)
}

/// The ones of 999 bits.
async fn count(
    bits: &BitsDevice<bitline::inside::Queue>,
    expression: &Expression<Lba>,
) -> Result<u64, host::Error> {
    let request = Request::new(expression, Engine::FlashCosmos, 999);
    Ok(bits.count(request).await?.result)
}

/// Writes rows with handle 1, every other one inverted.
async fn fill(host: &Host, rows: &[u64]) -> Result<(), host::Error> {
    let bits = bits(host);
    bits.open_handle(&handle(1)).await?;
    for &number in rows {
        let lba = number * ROW;
        bits.write(1, number % 2 == 1, lba, &row(number)).await?;
    }
    Ok(())
}

fn run<T: 'static, F>(drive: &mut Drive, work: impl FnOnce(Host) -> F) -> T
where
    F: Future<Output = Result<T, host::Error>> + 'static,
{
    drive.run(work).expect("power").expect("all of it is legal")
}

#[test]
fn an_ordinary_read_returns_what_is_placed_inverted_or_not() {
    let mut drive = drive(&[]);
    run(&mut drive, |host| async move {
        fill(&host, &[0, 1, 2, 3]).await?;
        for number in 0..4 {
            let (lba, data) = (number * ROW, row(number));
            assert_eq!(host.block().read(lba, ROW).await?, data);
            // A part of a page, too.
            let part = host.block().read(lba + 3, 2).await?;
            assert_eq!(part, data[3 * 512..5 * 512]);
            host.block().compare(lba, &data).await?;
            host.block().verify(lba, ROW).await?;
        }
        let three = all(&[0, 2, 3]);
        for engine in [Engine::FlashCosmos, Engine::ParaBit, Engine::InStorage] {
            let result = bits(&host)
                .evaluate(Request::new(&three, engine, BYTES as u64 * 8))
                .await?;
            assert_eq!(result.result, and(&[0, 2, 3]));
        }
        Ok(())
    });
    let counts = drive.statistics().expect("power");
    assert_eq!(
        (counts.bits.rows_written, counts.bits.pages_written),
        (4, 12)
    );
    assert!(counts.bits.flash_cosmos_senses > 0);
    let health = drive.health().expect("a log");
    // Each row has 24 blocks of 512 bytes; a data unit is a thousand of them, begun.
    assert_eq!((health.host_writes, health.data_units_written), (4, 1));
}

/// A computation is a read of what it sends: its result or a count, however much it senses.
#[test]
fn health_counts_what_computations_send() {
    let mut drive = drive(&[]);
    let units = |drive: &mut Drive| {
        let health = drive.health().expect("a log");
        (health.host_reads, health.data_units_read)
    };
    let ask = |drive: &mut Drive, times: u32, count: bool| {
        run(drive, move |host| async move {
            let (both, bits) = (all(&[0, 1]), bits(&host));
            for _ in 0..times {
                if count {
                    bits.count(Request::new(&both, Engine::FlashCosmos, BYTES as u64 * 8))
                        .await?;
                } else {
                    bits.evaluate(Request::new(&both, Engine::FlashCosmos, BYTES as u64 * 8))
                        .await?;
                }
            }
            Ok(())
        });
    };
    run(&mut drive, |host| async move { fill(&host, &[0, 1]).await });
    assert_eq!(units(&mut drive), (0, 0));
    // Counts of eight bytes are together less than a sector; a thousand sectors are a unit.
    ask(&mut drive, 60, true);
    assert_eq!(units(&mut drive), (60, 1));
    let sectors = BYTES.div_ceil(512) as u64;
    let times = 2000 / sectors + 1;
    ask(&mut drive, times as u32, false);
    let (reads, read) = units(&mut drive);
    assert_eq!(reads, 60 + times);
    assert_eq!(read, (1 + times * sectors).div_ceil(1000), "{sectors}");
}

#[test]
fn an_ordinary_write_makes_ordinary_pages_which_are_computed_with_all_the_same() {
    let mut drive = drive(&[]);
    run(&mut drive, |host| async move {
        fill(&host, &[0, 1, 2]).await?;
        // One page of three: its chunk goes through the controller.
        let page = PAGE as usize * 512;
        host.block().write(ROW + PAGE, &row(9)[..page]).await?;
        let mut changed = row(1);
        changed[page..2 * page].copy_from_slice(&row(9)[..page]);
        assert_eq!(host.block().read(ROW, ROW).await?, changed);
        let expected: Vec<u8> = row(0).iter().zip(&changed).map(|(a, b)| a & b).collect();
        let both = all(&[0, 1]);
        let bits = bits(&host);
        for engine in [Engine::FlashCosmos, Engine::ParaBit, Engine::InStorage] {
            let result = bits
                .evaluate(Request::new(&both, engine, BYTES as u64 * 8))
                .await?;
            assert_eq!(result.result, expected, "{engine:?}");
        }
        // Part of a placed page: what is not written stays.
        host.block().write(2 * ROW + 1, &[7; 512]).await?;
        let mut changed = row(2);
        changed[512..1024].fill(7);
        assert_eq!(host.block().read(2 * ROW, ROW).await?, changed);
        // Written with the handle again, it is placed again.
        bits.write(1, false, ROW, &row(1)).await?;
        assert_eq!(
            bits.evaluate(Request::new(&both, Engine::FlashCosmos, 8))
                .await?
                .result,
            and(&[0, 1])[..1]
        );
        Ok(())
    });
}

#[test]
fn what_was_deallocated_or_never_written_is_zeroes() {
    let mut drive = drive(&[]);
    run(&mut drive, |host| async move {
        fill(&host, &[0, 1, 2]).await?;
        host.block().deallocate(ROW, PAGE).await?;
        let mut holes = row(1);
        holes[..PAGE as usize * 512].fill(0);
        assert_eq!(host.block().read(ROW, ROW).await?, holes);
        let bits = bits(&host);
        let either = Expression::any([Lba::new(ROW), Lba::new(50 * ROW)]).expect("operands");
        let result = bits.evaluate(Request::new(&either, Engine::FlashCosmos, BYTES as u64 * 8));
        assert_eq!(result.await?.result, holes);
        let none = Expression::from(Lba::new(50 * ROW));
        assert_eq!(count(&bits, &none).await?, 0);
        let ones = !Expression::from(Lba::new(50 * ROW));
        assert_eq!(count(&bits, &ones).await?, 999);
        Ok(())
    });
}

#[test]
fn format_and_sanitize_take_placed_pages_and_their_blocks() {
    let mut drive = drive(&[]);
    let (first, second) = ([0, 1, 2, 3], [0, 1]);
    run(&mut drive, |host| async move { fill(&host, &first).await });
    assert!(drive.device().expect("power").ftl.compute_blocks() > 0);
    drive.format(1, 512).expect("a format");
    // It asks for a secure erase.
    assert_eq!(drive.device().expect("power").ftl.compute_blocks(), 0);
    assert_eq!(drive.read(0, 4 * ROW).expect("zeroes"), vec![0; 4 * BYTES]);
    run(&mut drive, |host| async move { fill(&host, &second).await });
    drive.sanitize().expect("it ends");
    assert_eq!(drive.read(0, 2 * ROW).expect("zeroes"), vec![0; 2 * BYTES]);
    assert_eq!(drive.device().expect("power").ftl.compute_blocks(), 0);
}

#[test]
fn commands_that_cannot_be_are_refused_and_change_nothing() {
    let mut drive = drive(&[]);
    run(&mut drive, |host| async move {
        fill(&host, &[0]).await?;
        let (bits, blocks) = (bits(&host), host.block().blocks());
        let unknown = bits.write(2, false, 0, &row(5)).await;
        assert_eq!(host_status(unknown), Status::INVALID_FIELD);
        let part = bits.write(1, false, 4, &row(5)).await;
        assert_eq!(host_status(part), Status::INVALID_FIELD);
        let outside = bits.write(1, false, blocks - PAGE, &row(5)).await;
        assert_eq!(host_status(outside), Status::LBA_OUT_OF_RANGE);
        let odd = PlacementHandle {
            pitch: 5,
            ..handle(3)
        };
        assert_eq!(
            host_status(bits.open_handle(&odd).await),
            Status::INVALID_FIELD
        );
        let nowhere = PlacementHandle {
            home: Home { first: 99, dies: 1 },
            ..handle(3)
        };
        assert_eq!(
            host_status(bits.open_handle(&nowhere).await),
            Status::INVALID_FIELD
        );
        assert_eq!(
            host_status(bits.release_handle(3).await),
            Status::INVALID_FIELD
        );
        let within = Expression::from(Lba::new(3));
        let read = bits
            .evaluate(Request::new(&within, Engine::FlashCosmos, 8))
            .await;
        assert_eq!(host_status(read), Status::INVALID_FIELD);
        let last = Expression::from(Lba::new(blocks - PAGE));
        let read = bits
            .evaluate(Request::new(&last, Engine::FlashCosmos, PAGE * 4096 + 1))
            .await;
        assert_eq!(host_status(read), Status::LBA_OUT_OF_RANGE);
        assert_eq!(host.block().read(0, ROW).await?, row(0));
        // Marks hide operands as they hide blocks.
        host.block().write_uncorrectable(PAGE, 1).await?;
        let marked = bits
            .evaluate(Request::new(
                &all(&[0]),
                Engine::FlashCosmos,
                BYTES as u64 * 8,
            ))
            .await;
        assert_eq!(host_status(marked), Status::UNRECOVERED_READ_ERROR);
        bits.write(1, true, 0, &row(0)).await?;
        assert_eq!(host.block().read(0, ROW).await?, row(0));
        Ok(())
    });
}

#[test]
fn handles_are_listed_and_close_with_the_power_but_strings_go_on() {
    let mut drive = drive(&[]);
    run(&mut drive, |host| async move {
        fill(&host, &[0, 1]).await?;
        let listed = bits(&host).handles().await?;
        assert_eq!(listed, [(handle(1), 3)], "a block for each page of a row");
        Ok(())
    });
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    run(&mut drive, |host| async move {
        assert_eq!(bits(&host).handles().await?, []);
        assert_eq!(host.block().read(ROW, ROW).await?, row(1));
        // Opened again, further rows join the strings of those before.
        fill(&host, &[2, 4]).await?;
        assert_eq!(bits(&host).handles().await?, [(handle(1), 3)]);
        assert_eq!(evaluated(&bits(&host), &[0, 2, 4]).await?, and(&[0, 2, 4]));
        Ok(())
    });
    let counts = drive.statistics().expect("power").bits;
    assert_eq!(counts.flash_cosmos_senses, 3, "one for each page");
}

#[test]
fn the_data_cache_and_placed_pages_agree() {
    let cached = [
        ("cache.mode", "read_write"),
        ("cache.write_back", "lazy"),
        ("cache.capacity_bytes", "65536"),
    ];
    let mut drive = drive(&cached);
    run(&mut drive, |host| async move {
        // Dirty in the cache: computed from there.
        host.block().write(0, &row(0)).await?;
        fill(&host, &[2]).await?;
        let bits = bits(&host);
        let both = all(&[0, 2]);
        let result = bits.evaluate(Request::new(&both, Engine::FlashCosmos, BYTES as u64 * 8));
        assert_eq!(result.await?.result, and(&[0, 2]));
        // Placed over what is dirty: nothing old goes to flash behind it.
        bits.write(1, false, 0, &row(4)).await?;
        assert_eq!(host.block().read(0, ROW).await?, row(4));
        host.block().flush().await?;
        assert_eq!(host.block().read(0, ROW).await?, row(4));
        assert_eq!(evaluated(&bits, &[0, 2]).await?, and(&[4, 2]));
        Ok(())
    });
}

/// The share of computing is used up, emptied, and used again, far more often than it has blocks; in the end one block of each
/// column is enough for what is left.
#[test]
fn rows_overwritten_and_deallocated_make_room_for_others() {
    let mut drive = drive(&[("bits.compute_blocks_percent", "20")]);
    run(&mut drive, |host| async move {
        let bits = bits(&host);
        bits.open_handle(&handle(1)).await?;
        let mut full = 0;
        for step in 0..600u64 {
            // In no order, so that some rows outlive those beside them.
            let number = u64::from(row(step)[0]) % 50;
            match bits
                .write(1, step % 3 == 0, number * ROW, &row(number))
                .await
            {
                Ok(()) => {}
                Err(error) => {
                    assert_eq!(host_status(Err::<(), _>(error)), Status::GROUP_FULL);
                    full += 1;
                }
            }
            if step % 5 == 0 {
                let other = u64::from(row(step)[1]) % 50;
                host.block().deallocate(other * ROW, ROW).await?;
            }
        }
        assert_eq!(full, 0, "no more than 50 rows are needed at a time");
        Ok(())
    });
    let statistics = drive.statistics().expect("power");
    let counts = statistics.ftl;
    assert!(counts.compute_blocks_erased > 20, "{counts:?}");
    assert!(counts.compute_page_copies > 0, "{counts:?}");
    // Who wins the room reads and programs for itself.
    let mut tenants = statistics.tenants.iter();
    let collection = tenants.find(|entry| entry.tenant == "collection");
    let collection = collection.expect("every tenant has an entry");
    let copies = counts.compute_page_copies + counts.gc_page_copies;
    assert_eq!(collection.programs.count, copies, "{counts:?}");
}

#[test]
fn ordinary_writes_find_room_at_every_address() {
    let mut drive = drive(&[]);
    let blocks = drive.blocks().expect("power");
    assert!(drive.data_blocks().expect("power") < blocks);
    let data = |lba: u64| crate::blocks(lba, 64);
    for round in 0..2 {
        for lba in (0..blocks / 64 * 64).step_by(64) {
            drive.write(lba, &data(lba + round)).expect("room");
        }
    }
    for lba in (0..blocks / 64 * 64).step_by(64) {
        assert!(
            drive.read(lba, 64).expect("in range") == data(lba + 1),
            "{lba}"
        );
    }
    // Where data has the blocks, pages are placed only as far as others make room; data has room all the same.
    let mut refused = 0;
    for row_of in 0..blocks / ROW {
        let placed = drive.run(move |host| async move { fill(&host, &[row_of]).await });
        if let Err(error) = placed.expect("power") {
            assert_eq!(host_status(Err::<(), _>(error)), Status::GROUP_FULL);
            refused += 1;
        }
        let lba = row_of * 7 % (blocks / 64) * 64;
        drive.write(lba, &data(lba + 2)).expect("room");
    }
    assert!(refused > 0 && refused < blocks / ROW, "{refused} refused");
    for lba in (0..blocks / 64 * 64).step_by(64) {
        drive.write(lba, &data(lba + 3)).expect("room");
    }
    for lba in (0..blocks / 64 * 64).step_by(64) {
        assert!(drive.read(lba, 64).expect("in range") == data(lba + 3));
    }
    drive.deallocate(0, blocks).expect("in range");
    run(&mut drive, |host| async move { fill(&host, &[0]).await });
}

#[test]
fn namespaces_have_handles_of_their_own() {
    let two = "[{ share = 0.5, block_bytes = 512 }, { share = 0.5, block_bytes = 4096 }]";
    let mut drive = Drive::open(config(&[("frontend.namespaces", two)])).expect("it opens");
    run(&mut drive, |host| async move {
        fill(&host, &[0, 2]).await?;
        let second = BitsDevice::new(host.namespace(0, nvme::NamespaceId::new(2)).await?);
        // Opened for the first namespace only.
        let other = second.write(1, false, 0, &row(1)).await;
        assert_eq!(host_status(other), Status::INVALID_FIELD);
        let handle = PlacementHandle {
            number: 2,
            pitch: 3,
            ..handle(2)
        };
        second.open_handle(&handle).await?;
        second.write(2, false, 3, &row(7)).await?;
        assert_eq!(second.block().read(3, 3).await?, row(7));
        let itself = Expression::from(Lba::new(3));
        assert_eq!(
            second
                .evaluate(Request::new(&itself, Engine::FlashCosmos, BYTES as u64 * 8))
                .await?
                .result,
            row(7)
        );
        assert_eq!(evaluated(&bits(&host), &[0, 2]).await?, and(&[0, 2]));
        Ok(())
    });
}
