//! Sanitize and Format erase what they say, seen on the flash itself: with full compute blocks, full
//! drives, flash that fails, blocks out of use, and power cuts at any event.

use std::cell::Cell;
use std::rc::Rc;

use bitline::inside::{InsideDrive, InsideHost};
use bitline::{Drive, Error, Status, VolumeError};
use media::nand::Failures;
use nvme::log::sanitize_state;

use crate::remnants::{bad_blocks_with_pages, blocks_of_vectors, remnants, secret, secrets};
use crate::{drive, host_status, status};

/// A drive of few blocks, so that an event is a large part of what it does.
const TINY: [(&str, &str); 5] = [
    ("nand.geometry.channels", "1"),
    ("nand.geometry.dies_per_chip", "1"),
    ("nand.geometry.planes_per_die", "2"),
    ("nand.geometry.blocks_per_plane", "16"),
    ("nand.geometry.cells_per_string", "4"),
];
const CAPACITOR: [(&str, &str); 3] = [
    ("cache.mode", "write"),
    ("cache.capacity_bytes", "32768"),
    ("cache.capacitor", "true"),
];

fn tiny(changes: &[(&str, &str)]) -> Drive {
    drive(&[&TINY[..], changes].concat())
}

/// Writes every block of the drive.
fn fill(drive: &mut Drive) {
    let blocks = drive.blocks().expect("power");
    for first in (0..blocks).step_by(64) {
        let count = (blocks - first).min(64);
        let written = drive.write(first, &secret(count as usize));
        written.expect("the drive has room for all its blocks");
    }
}

/// Writes vectors until there is no room for another; how many.
fn fill_with_vectors(drive: &mut Drive) -> u32 {
    let planes = drive.nand().borrow().geometry().planes();
    for number in 0.. {
        let group = drive.group(&(number / 32).to_string()).expect("a name");
        let group = if number % 2 == 1 {
            group.inverse()
        } else {
            group.writer()
        };
        // A page of every plane.
        let data = secret(8 * planes as usize);
        match group.write(8 * data.len() as u64, [data]) {
            Ok(_) => {}
            // The addresses, or the blocks.
            Err(Error::Volume(VolumeError::NoSpace { .. })) => return number,
            refused => {
                let refused = status(refused);
                assert!(refused.is(Status::GROUP_FULL), "{refused}");
                return number;
            }
        }
    }
    unreachable!("a drive has an end")
}

/// The state of the last sanitize operation, once it is not under way.
fn sanitized(drive: &mut Drive) -> u16 {
    let ended = drive.run(|host| async move {
        loop {
            let page = host.admin().sanitize_status().await?;
            if !page.is_in_progress() {
                return Ok::<_, bitline::HostError>(page.state.get());
            }
            host.sim().sleep(sim::Span::from_us(100)).await;
        }
    });
    ended.expect("power").expect("a page")
}

fn begin_sanitize(drive: &mut Drive) {
    let begun = drive.run(|host| async move { host.admin().sanitize().await });
    begun.expect("power").expect("it begins");
}

pub(crate) fn nothing_is_left(drive: &mut Drive) {
    assert_eq!(remnants(drive), [], "of what the host wrote");
    assert_eq!(secrets(drive), [], "of what the host wrote");
}

/// Lets programs or erases fail while the cells say so.
fn fail(drive: &Drive, programs: &Rc<Cell<bool>>, erases: &Rc<Cell<bool>>) {
    let draw = |cell: &Rc<Cell<bool>>| if cell.get() { 1_000_000 } else { 0 };
    drive.nand().borrow_mut().set_failures(Some(Failures {
        program_per_million: draw(programs),
        erase_per_million: draw(erases),
        draw: Box::new(|| 0),
    }));
}

fn all_erases_fail(drive: &Drive, fails: bool) {
    fail(drive, &Rc::default(), &Rc::new(Cell::new(fails)));
}

#[test]
fn full_compute_blocks_are_sanitized() {
    let mut drive = drive(&[("bits.compute_blocks_percent", "40")]);
    let vectors = fill_with_vectors(&mut drive);
    assert!(vectors > 100, "{vectors} vectors");
    let planes = drive.nand().borrow().geometry().planes() as usize;
    assert_eq!(blocks_of_vectors(&drive), planes * 16, "40 % of 40 blocks");
    drive.sanitize().expect("it ends");
    assert_eq!(drive.groups().expect("a list"), []);
    nothing_is_left(&mut drive);
    assert_eq!(blocks_of_vectors(&drive), 0);
    // All of the room is there again.
    assert_eq!(fill_with_vectors(&mut drive), vectors);
}

#[test]
fn full_drives_are_sanitized() {
    for changes in [
        &[][..],
        &CAPACITOR[..],
        &[("ftl.mode", "tlc"), ("ftl.slc_cache.blocks_per_plane", "2")],
        &[
            ("ftl.mapping.kind", "cached"),
            ("ftl.checkpoint.interval_pages", "50"),
        ],
    ] {
        let mut drive = drive(changes);
        fill(&mut drive);
        fill(&mut drive);
        drive.sanitize().expect("it ends");
        nothing_is_left(&mut drive);
        fill(&mut drive);
        drive.power_cut().expect("no image");
        drive.power_up().expect("it recovers");
        assert_eq!(drive.read(0, 64).expect("written"), secret(64));
    }
}

#[test]
fn what_blocks_out_of_use_hold_is_sanitized() {
    let mut drive = drive(&[("faults.program_failures_per_million", "300")]);
    fill(&mut drive);
    fill(&mut drive);
    drive.nand().borrow_mut().set_failures(None);
    let retired = drive.statistics().expect("power").ftl.blocks_retired;
    assert!(retired > 3, "{retired} blocks were retired");
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    // The second time, nobody knows of those that were erased whether they held on to their bits.
    for _ in 0..2 {
        drive.sanitize().expect("it ends");
        assert_eq!(bad_blocks_with_pages(&drive), 0);
        nothing_is_left(&mut drive);
    }
}

#[test]
fn a_block_that_cannot_be_erased_fails_the_operation() {
    let mut drive = drive(&[]);
    drive.write(0, &secret(512)).expect("room");
    all_erases_fail(&drive, true);
    assert_eq!(status(drive.sanitize()), Status::SANITIZE_FAILED);
    assert!(!remnants(&drive).is_empty());
    for _ in 0..2 {
        assert_eq!(status(drive.read(0, 8)), Status::SANITIZE_FAILED);
        assert_eq!(status(drive.write(0, &secret(8))), Status::SANITIZE_FAILED);
        drive.power_cut().expect("no image");
        drive.power_up().expect("it recovers");
    }
    // What failed in restricted mode is left by a sanitize operation that succeeds, not otherwise
    // (Base 2.1, 8.1.24).
    assert_eq!(exit_failure(&mut drive), Status::SANITIZE_FAILED);
    assert_eq!(status(drive.read(0, 8)), Status::SANITIZE_FAILED);
    assert_eq!(unrestricted(&mut drive), Status::SANITIZE_FAILED);
    all_erases_fail(&drive, false);
    drive.sanitize().expect("it ends");
    nothing_is_left(&mut drive);
    drive.write(0, &secret(8)).expect("room");
}

const UNRESTRICTED_BLOCK_ERASE: u32 = 2 | 1 << 3;

fn send_sanitize(drive: &mut Drive, cdw10: u32) -> Status {
    let sent = drive.run(move |host| async move {
        let mut entry = nvme::SubmissionEntry {
            opcode: nvme::command::opcode::SANITIZE,
            ..Default::default()
        };
        entry.cdw10.set(cdw10);
        let queue = host.queue(0)?;
        bitline::inside::send_raw_admin(&queue, entry).await
    });
    sent.expect("power").expect("it is sent")
}

fn exit_failure(drive: &mut Drive) -> Status {
    send_sanitize(drive, 1)
}

fn unrestricted(drive: &mut Drive) -> Status {
    send_sanitize(drive, UNRESTRICTED_BLOCK_ERASE)
}

#[test]
fn an_unrestricted_failure_can_be_left() {
    let mut drive = drive(&[]);
    drive.write(0, &secret(512)).expect("room");
    all_erases_fail(&drive, true);
    assert_eq!(unrestricted(&mut drive), Status::SUCCESS);
    assert_eq!(sanitized(&mut drive), sanitize_state::FAILED);
    assert_eq!(status(drive.read(0, 8)), Status::SANITIZE_FAILED);
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    all_erases_fail(&drive, false);
    assert_eq!(exit_failure(&mut drive), Status::SUCCESS);
    assert_eq!(drive.read(0, 8).expect("left"), vec![0; 8 * 512]);
    drive.write(0, &secret(8)).expect("room");
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    assert_eq!(drive.read(0, 8).expect("written"), secret(8));
}

/// Steps through a sanitize operation; the power is cut after so many events. Whether it was over
/// before.
fn cut_while_sanitizing(drive: &mut Drive, events: u32) -> bool {
    begin_sanitize(drive);
    let simulation = drive.simulation().expect("power");
    let over = !(0..events).all(|_| simulation.step());
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    over
}

#[test]
fn sanitize_ends_through_power_cuts_at_any_event() {
    for changes in [
        &[][..],
        &CAPACITOR[..],
        &[
            ("ftl.mapping.kind", "cached"),
            ("ftl.checkpoint.interval_pages", "20"),
        ],
    ] {
        let mut events = 0;
        loop {
            let mut drive = tiny(changes);
            drive.write(0, &secret(256)).expect("room");
            drive.write(0, &secret(64)).expect("room");
            let group = drive.group("bits").expect("a name");
            group.write(32768, [secret(8)]).expect("room");
            let over = cut_while_sanitizing(&mut drive, events);
            let state = sanitized(&mut drive);
            assert_eq!(state, sanitize_state::COMPLETED, "cut after {events}");
            assert_eq!(remnants(&drive), [], "cut after {events} events");
            let read = drive.read(0, 256).expect("zeroes");
            assert_eq!(read, vec![0; 256 * 512], "cut after {events} events");
            if over {
                break;
            }
            events += 1;
        }
        assert!(events > 40, "{events} events");
    }
}

#[test]
fn what_is_acknowledged_after_a_sanitize_stays() {
    for changes in [&[][..], &CAPACITOR[..]] {
        for events in 0..60 {
            let mut drive = tiny(changes);
            drive.write(0, &secret(64)).expect("room");
            drive.sanitize().expect("it ends");
            drive.write(0, &secret(32)).expect("room");
            let simulation = drive.simulation().expect("power");
            for _ in 0..events {
                simulation.step();
            }
            drive.power_cut().expect("no image");
            drive.power_up().expect("it recovers");
            assert_eq!(drive.read(0, 32).expect("written"), secret(32));
        }
    }
}

/// The end of a sanitize operation cannot be noted: it is not told as completed, nothing is
/// admitted, and the next life sanitizes again.
#[test]
fn a_sanitize_that_cannot_be_noted_is_not_completed() {
    for changes in [&[][..], &CAPACITOR[..]] {
        let mut drive = tiny(changes);
        drive.write(0, &secret(256)).expect("room");
        begin_sanitize(&mut drive);
        while !remnants(&drive).is_empty() {
            let goes_on = drive.simulation().expect("power").step();
            assert!(goes_on, "the sanitize operation hangs");
        }
        fail(&drive, &Rc::new(Cell::new(true)), &Rc::default());
        assert_eq!(sanitized(&mut drive), sanitize_state::FAILED);
        let written = drive.write(0, &secret(32));
        assert_eq!(status(written), Status::SANITIZE_FAILED);
        let read = drive.read(0, 32);
        assert_eq!(status(read), Status::SANITIZE_FAILED);
        drive.power_cut().expect("no image");
        drive.power_up().expect("it recovers");
        assert_ne!(sanitized(&mut drive), sanitize_state::COMPLETED);
    }
}

/// Leaving the failure mode is noted before anything is admitted.
#[test]
fn an_exit_that_cannot_be_noted_is_none() {
    let mut drive = tiny(&[]);
    drive.write(0, &secret(64)).expect("room");
    all_erases_fail(&drive, true);
    assert_eq!(unrestricted(&mut drive), Status::SUCCESS);
    assert_eq!(sanitized(&mut drive), sanitize_state::FAILED);
    fail(&drive, &Rc::new(Cell::new(true)), &Rc::default());
    assert_ne!(exit_failure(&mut drive), Status::SUCCESS);
    assert_eq!(status(drive.read(0, 8)), Status::SANITIZE_FAILED);
}

/// A write admitted before a sanitize or format is over before it, or refused: never acknowledged
/// and then erased by the same operation in the next life.
#[test]
fn writes_beside_an_erasure_are_kept_or_never_acknowledged() {
    for sanitize in [true, false] {
        for wait in (0..4000).step_by(130) {
            let mut drive = tiny(&CAPACITOR[..2]);
            drive.write(0, &secret(64)).expect("room");
            let acknowledged = drive.run(move |host| async move {
                let (sim, other) = (host.sim().clone(), host.clone());
                let erasing = sim.spawn(async move {
                    let admin = other.admin();
                    if sanitize {
                        return admin.sanitize().await.is_ok();
                    }
                    admin.format(nvme::NamespaceId::new(1), 512).await.is_ok()
                });
                sim.sleep(sim::Span::from_ns(wait)).await;
                let mut last = None;
                for number in 0..40u64 {
                    let lba = number % 64;
                    let data = [number as u8 + 1; 512];
                    match host_status(host.block().write_durably(lba, &data).await) {
                        Status::SUCCESS => last = Some((lba, data)),
                        _ => last = None,
                    }
                }
                assert!(erasing.await, "it begins or ends");
                last
            });
            let acknowledged = acknowledged.expect("power");
            drive.power_cut().expect("no image");
            drive.power_up().expect("it recovers");
            if sanitize {
                assert_eq!(sanitized(&mut drive), sanitize_state::COMPLETED);
            }
            if let Some((lba, data)) = acknowledged {
                let read = drive.read(lba, 1).expect("written");
                assert_eq!(read, data, "after {wait} ns");
            }
        }
    }
}

#[test]
fn a_format_erases_its_namespace_and_no_other() {
    let namespaces = "[{ share = 0.5, block_bytes = 512 }, { share = 0.5, block_bytes = 512 }]";
    let mut drive = drive(&[("frontend.namespaces", namespaces)]);
    let kept = crate::blocks(0, 256);
    let (first, second) = (secret(512), kept.clone());
    let written = drive.run(move |host| async move {
        let spaces = [1, 2].map(nvme::NamespaceId::new);
        let one = host.namespace(0, spaces[0]).await?;
        let other = host.namespace(0, spaces[1]).await?;
        // Side by side in the same blocks.
        for lba in (0..256).step_by(16) {
            let at = lba as usize * 512;
            one.write(lba, &first[at..at + 16 * 512]).await?;
            other.write(lba, &second[at..at + 16 * 512]).await?;
        }
        host.admin().format(spaces[0], 4096).await?;
        let left = host.namespace(0, spaces[0]).await?.read(0, 8).await?;
        Ok::<_, bitline::HostError>((left, other.read(0, 256).await?))
    });
    let (left, read) = written.expect("power").expect("they work");
    assert_eq!(left, vec![0; left.len()]);
    assert_eq!(read, kept);
    assert_eq!(secrets(&mut drive), []);
}

#[test]
fn a_format_that_leaves_bits_fails() {
    let mut drive = drive(&[]);
    drive.write(0, &secret(512)).expect("room");
    all_erases_fail(&drive, true);
    assert_eq!(status(drive.format(1, 512)), Status::WRITE_FAULT);
    assert_eq!(status(drive.read(0, 8)), Status::NAMESPACE_NOT_READY);
    assert_eq!(status(drive.format(1, 512)), Status::WRITE_FAULT);
    // The next life has erases that do not fail, and ends what was begun.
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    assert_eq!(drive.read(0, 512).expect("zeroes"), vec![0; 512 * 512]);
    nothing_is_left(&mut drive);
}

#[test]
fn formats_end_through_power_cuts_at_any_event() {
    for changes in [&[][..], &CAPACITOR[..]] {
        let mut events = 0;
        loop {
            let mut drive = tiny(changes);
            drive.write(0, &secret(128)).expect("room");
            let host = drive.host().expect("power");
            let formatted = Rc::new(Cell::new(false));
            let told = formatted.clone();
            host.sim().clone().spawn_detached(async move {
                let space = nvme::NamespaceId::new(1);
                told.set(host.admin().format(space, 1024).await.is_ok());
            });
            let simulation = drive.simulation().expect("power");
            for _ in 0..events {
                simulation.step();
            }
            let over = formatted.get();
            drive.power_cut().expect("no image");
            drive.power_up().expect("it recovers");
            let block_bytes = drive.block_bytes().expect("power");
            assert!(!over || block_bytes == 1024);
            let read = drive.read(0, 64 * 1024 / u64::from(block_bytes));
            let read = read.expect("readable");
            let (zeroes, before) = (vec![0; 64 * 1024], secret(128));
            if block_bytes == 1024 {
                assert_eq!(read, zeroes, "cut after {events} events");
                nothing_is_left(&mut drive);
            } else {
                assert_eq!(read, before, "cut after {events} events");
            }
            if over {
                break;
            }
            events += 1;
        }
        assert!(events > 40, "{events} events");
    }
}
