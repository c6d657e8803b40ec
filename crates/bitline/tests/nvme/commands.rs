//! Compare, Verify, Write Uncorrectable, Copy.

use std::cell::RefCell;
use std::rc::Rc;

use bitline::Status;
use bitline::inside::InsideHost;

use crate::{blocks, drive, status};

#[test]
fn compare_tells_equal_from_different() {
    let mut drive = drive(&[]);
    let data = blocks(0, 40);
    drive.write(3, &data).expect("room");
    assert_eq!(status(drive.compare(3, &data)), Status::SUCCESS);
    let mut other = data.clone();
    other[20_000] ^= 1;
    assert_eq!(status(drive.compare(3, &other)), Status::COMPARE_FAILURE);
    // What was never written compares as zeroes.
    assert_eq!(status(drive.compare(100, &[0; 512])), Status::SUCCESS);
    assert_eq!(
        status(drive.compare(100, &[1; 512])),
        Status::COMPARE_FAILURE
    );
}

#[test]
fn compare_takes_the_same_time_without_data() {
    let now = |storage: &str| {
        let mut drive = drive(&[("data.storage", storage)]);
        drive.write(0, &blocks(0, 64)).expect("room");
        let _ = drive.compare(0, &blocks(1, 64));
        let _ = drive.copy(&[(5, 9), (30, 3)], 101);
        drive.verify(0, 64).expect("all of it can be read");
        drive.now()
    };
    assert_eq!(now("memory"), now("none"));
}

#[test]
fn uncorrectable_blocks_fail_until_they_are_written() {
    let mut drive = drive(&[]);
    drive.write(0, &blocks(0, 64)).expect("room");
    drive.write_uncorrectable(10, 20).expect("marks are free");
    let unreadable = Status::UNRECOVERED_READ_ERROR;
    for round in 0..3 {
        assert_eq!(status(drive.read(9, 2)), unreadable, "round {round}");
        assert_eq!(status(drive.read(29, 1)), unreadable);
        assert_eq!(status(drive.verify(0, 64)), unreadable);
        assert_eq!(status(drive.compare(12, &blocks(12, 1))), unreadable);
        assert_eq!(status(drive.copy(&[(12, 2)], 100)), unreadable);
        assert_eq!(drive.read(0, 10).expect("before it"), blocks(0, 10));
        assert_eq!(drive.read(30, 34).expect("after it"), blocks(30, 34));
        // Also after a power cut, and an orderly one.
        drive.power_cut().expect("no image");
        drive.power_up().expect("it recovers");
    }
    // In the middle, at an end, and the rest as zeroes.
    drive.write(15, &blocks(115, 3)).expect("room");
    drive.write(8, &blocks(108, 4)).expect("room");
    assert_eq!(drive.read(8, 4).expect("written again"), blocks(108, 4));
    assert_eq!(drive.read(15, 3).expect("written again"), blocks(115, 3));
    assert_eq!(status(drive.read(14, 1)), unreadable);
    assert_eq!(status(drive.read(18, 1)), unreadable);
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    assert_eq!(status(drive.read(14, 1)), unreadable);
    assert_eq!(drive.read(15, 3).expect("written again"), blocks(115, 3));
    drive.write_zeroes(12, 18).expect("room");
    assert_eq!(drive.read(12, 18).expect("zeroes"), vec![0; 18 * 512]);
    drive.verify(0, 64).expect("all of it can be read");
}

#[test]
fn copy_moves_blocks_across_pages() {
    let mut drive = drive(&[]);
    drive.write(0, &blocks(0, 100)).expect("room");
    drive
        .copy(&[(3, 17), (50, 1), (90, 9)], 203)
        .expect("within the limits");
    let mut expected = blocks(3, 17);
    expected.extend(blocks(50, 1));
    expected.extend(blocks(90, 9));
    assert_eq!(drive.read(203, 27).expect("copied"), expected);
    // A range may lie over its own destination.
    drive.copy(&[(0, 64)], 5).expect("within the limits");
    assert_eq!(drive.read(5, 64).expect("copied"), blocks(0, 64));
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    assert_eq!(drive.read(203, 27).expect("copied"), expected);
}

#[test]
fn what_cannot_be_copied_is_refused_as_a_whole() {
    let mut drive = drive(&[]);
    let end = drive.blocks().expect("power");
    drive.write(0, &blocks(0, 8)).expect("room");
    let many = vec![(0, 1); 129];
    let limit = Status::COMMAND_SIZE_LIMIT_EXCEEDED;
    assert_eq!(status(drive.copy(&many, 100)), limit);
    assert_eq!(status(drive.copy(&[(0, 2049)], 100)), limit);
    let range = Status::LBA_OUT_OF_RANGE;
    assert_eq!(status(drive.copy(&[(0, 4), (end, 1)], 100)), range);
    assert_eq!(status(drive.copy(&[(0, 4)], end - 3)), range);
    assert_eq!(drive.read(100, 8).expect("untouched"), vec![0; 8 * 512]);
}

#[test]
fn transfers_keep_to_the_limit() {
    let mut drive = drive(&[("frontend.max_data_transfer", "2")]);
    // 2^2 pages of 4096 bytes are 32 blocks; the library divides its calls to that.
    let data = blocks(0, 100);
    drive.write(0, &data).expect("room");
    assert_eq!(drive.read(0, 100).expect("written"), data);
    let outcome = drive.run(|host| async move {
        let block = host.block();
        let buffer = block.buffer(33)?;
        let fits = block.read_into(0, 32, &buffer).await;
        assert!(fits.is_ok(), "{fits:?}");
        block.read_into(0, 33, &buffer).await
    });
    let outcome = outcome.expect("power").map_err(bitline::Error::from);
    assert_eq!(status(outcome), Status::INVALID_FIELD);
}

#[test]
fn a_page_is_overwritten_while_the_command_before_waits_for_room() {
    let keys = [
        ("cache.mode", "write"),
        ("cache.write_back", "eager"),
        ("cache.back_pressure_pages", "2"),
    ];
    let mut drive = drive(&keys);
    let run = drive.run(|host| async move {
        let (sim, block) = (host.sim().clone(), host.block().clone());
        let writing = sim.spawn(async move { block.write(0, &blocks(0, 256)).await });
        // The command has its data in the drive by then, and some of its 32 pages in the cache.
        sim.sleep(sim::Span::from_us(60)).await;
        // Past the cache, where there is no room to wait for.
        let overwritten = host.block().write_durably(0, &blocks(1000, 8)).await;
        overwritten.expect("room");
        let waits = !writing.is_finished();
        writing.await.expect("room comes");
        waits
    });
    assert!(run.expect("power"), "the page waited for all the others");
    assert_eq!(drive.read(0, 8).expect("written"), blocks(1000, 8));
    assert_eq!(drive.read(8, 248).expect("written"), blocks(8, 248));
}

/// Who waits for a page besides is passed over meanwhile, and has room before those who came later.
#[test]
fn writes_have_room_in_the_order_in_which_they_came() {
    let keys = [
        ("cache.mode", "write"),
        ("cache.write_back", "eager"),
        ("cache.back_pressure_pages", "2"),
    ];
    let mut drive = drive(&keys);
    // Much to wait for; two that share the second page; others. A page has eight blocks.
    let writes = [(800, 256), (0, 12), (12, 8), (80, 8), (160, 8), (240, 16)];
    let run = drive.run(|host| async move {
        let done = Rc::new(RefCell::new(Vec::new()));
        let writing = writes.map(|(lba, count)| {
            let (block, done) = (host.block().clone(), done.clone());
            host.sim().spawn(async move {
                let written = block.write(lba, &blocks(lba, count)).await;
                written.expect("room comes");
                done.borrow_mut().push(lba);
            })
        });
        for write in writing {
            write.await;
        }
        done.take()
    });
    assert_eq!(run.expect("power"), [800, 0, 12, 80, 160, 240]);
    for (lba, count) in writes {
        assert_eq!(drive.read(lba, count).expect("written"), blocks(lba, count));
    }
}
