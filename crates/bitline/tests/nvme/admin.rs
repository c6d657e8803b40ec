//! Log pages, features, events, Abort, Sanitize.

use bitline::inside::{InsideDrive, InsideHost};
use bitline::{Drive, Status};
use nvme::command::{FeatureId, FeatureSelect, LogPageId};
use nvme::log::sanitize_state;
use nvme::{AsyncEvent, BROADCAST_NAMESPACE, CommandId, QueueId};

use crate::{blocks, drive, host_status, status};

fn health(drive: &mut Drive) -> nvme::log::HealthLog {
    let page = drive.run(|host| async move { host.admin().health().await });
    page.expect("power").expect("a page")
}

#[test]
fn health_counts_over_power_cycles() {
    let mut drive = drive(&[]);
    drive.write(0, &blocks(0, 1000)).expect("room");
    drive.write(0, &blocks(0, 8)).expect("room");
    drive.read(0, 16).expect("written");
    let page = health(&mut drive);
    assert_eq!(page.data_units_written.get(), 2, "1008 sectors");
    assert_eq!(page.data_units_read.get(), 1);
    assert_eq!((page.host_writes.get(), page.host_reads.get()), (2, 1));
    assert_eq!(page.power_cycles.get(), 1);
    assert_eq!(page.unsafe_shutdowns.get(), 0);
    assert_eq!(page.available_spare, 100);
    assert_eq!(page.temperature.get(), 313);
    assert_eq!(page.critical_warning, 0);
    for cuts in 1..4 {
        drive.power_cut().expect("no image");
        drive.power_up().expect("it recovers");
        let page = health(&mut drive);
        assert_eq!(page.power_cycles.get(), cuts + 1);
        assert_eq!(page.unsafe_shutdowns.get(), cuts);
    }
}

/// One that has no room for all of its data at once, and one over blocks that are marked, too.
#[test]
fn a_write_counts_once() {
    let mut drive = drive(&[("memory.page_buffers", "16")]);
    drive.write(0, &blocks(0, 256)).expect("room");
    assert_eq!(health(&mut drive).host_writes.get(), 1);
    drive.write_uncorrectable(10, 3).expect("marks are free");
    drive.write(0, &blocks(0, 256)).expect("room");
    assert_eq!(health(&mut drive).host_writes.get(), 2);
}

#[test]
fn an_orderly_shutdown_keeps_all_counts() {
    let path = std::env::temp_dir().join(format!("bitline-health-{}", std::process::id()));
    let open = || Drive::open_image(crate::config(&[("data.storage", "image")]), &path);
    let mut first = open().expect("a new image");
    first.write(0, &blocks(0, 1001)).expect("room");
    first.read(0, 1001).expect("written");
    assert_eq!(
        status(first.compare(0, &blocks(1, 1))),
        Status::COMPARE_FAILURE
    );
    first.close().expect("the image can be written");
    let mut second = open().expect("the same image");
    let page = health(&mut second);
    assert_eq!(page.data_units_written.get(), 2);
    assert_eq!(page.data_units_read.get(), 2);
    assert_eq!((page.host_writes.get(), page.host_reads.get()), (1, 2));
    assert_eq!(page.error_entries.get(), 1);
    assert_eq!(page.power_cycles.get(), 2);
    assert_eq!(page.unsafe_shutdowns.get(), 0);
    drop(second);
    std::fs::remove_file(&path).expect("it is there");
}

#[test]
fn the_error_log_keeps_the_newest() {
    let mut drive = drive(&[]);
    for lba in 0..70 {
        assert_eq!(
            status(drive.compare(lba, &[1; 512])),
            Status::COMPARE_FAILURE
        );
    }
    let errors = drive.run(|host| async move { host.admin().errors().await });
    let errors = errors.expect("power").expect("a page");
    assert_eq!(errors.len(), 64);
    let newest = &errors[0];
    assert_eq!((newest.count.get(), newest.lba.get()), (70, 69));
    assert_eq!((newest.queue.get(), newest.opcode), (1, 0x05));
    assert_eq!(newest.namespace.get(), 1);
    assert_eq!(newest.status.get() >> 1, Status::COMPARE_FAILURE.field());
    assert_eq!(errors[63].count.get(), 7);
}

#[test]
fn log_pages_have_ends() {
    let mut drive = drive(&[]);
    let seen = drive.run(|host| async move {
        let admin = host.admin();
        let page = |page, offset, bytes| {
            let admin = admin.clone();
            async move { admin.log_page(page, offset, bytes, true).await }
        };
        let whole = page(LogPageId::FIRMWARE_SLOT, 0, 512).await?;
        assert_eq!(whole[0], 1);
        assert_eq!(whole[8..13], *env!("CARGO_PKG_VERSION").as_bytes());
        // A part, and more than there is: what is past the end stays as it was.
        assert_eq!(page(LogPageId::FIRMWARE_SLOT, 8, 8).await?, whole[8..16]);
        assert_eq!(page(LogPageId::HEALTH, 508, 16).await?, [0; 16]);
        let past = page(LogPageId::HEALTH, 516, 4).await;
        assert_eq!(host_status(past), Status::INVALID_FIELD);
        let none = page(LogPageId(0x42), 0, 4).await;
        assert_eq!(host_status(none), Status::INVALID_LOG_PAGE);
        let effects = page(LogPageId::COMMANDS_SUPPORTED, 0, 4096).await?;
        let io = |opcode: usize| effects[1024 + 4 * opcode];
        assert_eq!((io(0x02), io(0x01), io(0x0D)), (1, 3, 0));
        Ok::<_, host::Error>(())
    });
    seen.expect("power").expect("all of it is legal");
}

#[test]
fn a_volatile_cache_that_is_disabled_loses_nothing() {
    let cached = [("cache.mode", "write"), ("cache.write_back", "lazy")];
    let feature = FeatureId::VOLATILE_WRITE_CACHE;
    let set = |drive: &mut Drive, value, save| {
        let set = drive
            .run(move |host| async move { host.admin().set_feature(feature, value, save).await });
        status(set.expect("power").map_err(bitline::Error::from))
    };
    let after_a_cut = |drive: &mut Drive| {
        drive.power_cut().expect("no image");
        drive.power_up().expect("it recovers");
        drive.read(0, 8).expect("something")
    };
    let mut drive = drive(&cached);
    drive.write(0, &blocks(0, 8)).expect("room");
    assert_eq!(after_a_cut(&mut drive), [0; 8 * 512], "it was in DRAM only");
    // What is in the cache goes to flash when it is disabled, and so does what follows.
    drive.write(0, &blocks(1, 8)).expect("room");
    assert_eq!(set(&mut drive, 0, true), Status::SUCCESS);
    assert_eq!(after_a_cut(&mut drive), blocks(1, 8));
    drive.write(0, &blocks(2, 8)).expect("room");
    assert_eq!(after_a_cut(&mut drive), blocks(2, 8), "it was saved");
    assert_eq!(set(&mut drive, 1, false), Status::SUCCESS);
    drive.write(0, &blocks(3, 8)).expect("room");
    assert_eq!(after_a_cut(&mut drive), blocks(2, 8));
    // Without such a cache there is no such feature.
    let mut without = crate::drive(&[]);
    assert_eq!(set(&mut without, 0, false), Status::INVALID_FIELD);
}

#[test]
fn features_are_set_for_now_or_for_good() {
    let mut drive = drive(&[]);
    let value = |drive: &mut Drive, feature, select, cdw11| {
        let value = drive
            .run(move |host| async move { host.admin().feature(feature, select, cdw11).await });
        value.expect("power").map_err(bitline::Error::from)
    };
    let set = |drive: &mut Drive, feature, cdw11, save| {
        let set = drive
            .run(move |host| async move { host.admin().set_feature(feature, cdw11, save).await });
        status(set.expect("power").map_err(bitline::Error::from))
    };
    let arbitration = FeatureId::ARBITRATION;
    let before = value(&mut drive, arbitration, FeatureSelect::Default, 0).expect("it is there");
    assert_eq!(before, 0x0703_0100, "weights 8, 4, 2; bursts of one");
    assert_eq!(
        set(&mut drive, arbitration, 0x0101_0102, true),
        Status::SUCCESS
    );
    assert_eq!(
        set(&mut drive, arbitration, 0x0202_0203, false),
        Status::SUCCESS
    );
    let current = value(&mut drive, arbitration, FeatureSelect::Current, 0);
    assert_eq!(current.expect("it is there"), 0x0202_0203);
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    for select in [FeatureSelect::Current, FeatureSelect::Saved] {
        let saved = value(&mut drive, arbitration, select, 0);
        assert_eq!(saved.expect("it is there"), 0x0101_0102);
    }
    let capabilities = FeatureSelect::SupportedCapabilities;
    let of = value(&mut drive, arbitration, capabilities, 0);
    assert_eq!(of.expect("it is there"), 0b101);
    let queues = FeatureId::NUMBER_OF_QUEUES;
    assert_eq!(
        value(&mut drive, queues, FeatureSelect::Current, 0).expect("it is there"),
        0x3F_003F
    );
    assert_eq!(
        set(&mut drive, queues, 7, false),
        Status::COMMAND_SEQUENCE_ERROR
    );
    assert_eq!(
        set(&mut drive, queues, 7, true),
        Status::FEATURE_NOT_SAVEABLE
    );
    let power = FeatureId::POWER_MANAGEMENT;
    assert_eq!(set(&mut drive, power, 0, false), Status::SUCCESS);
    assert_eq!(set(&mut drive, power, 1, false), Status::INVALID_FIELD);
    let unknown = value(&mut drive, FeatureId(0x77), FeatureSelect::Current, 0);
    assert_eq!(status(unknown), Status::INVALID_FIELD);
}

#[test]
fn events_are_told_once_until_their_page_is_read() {
    let mut drive = drive(&[]);
    let seen = drive.run(|host| async move {
        let admin = host.admin();
        let threshold = FeatureId::TEMPERATURE_THRESHOLD;
        let waiting = {
            let admin = admin.clone();
            host.sim().spawn(async move { admin.next_event().await })
        };
        admin.set_feature(threshold, 300, false).await?;
        assert_eq!(waiting.await?, AsyncEvent::TEMPERATURE);
        assert_eq!(admin.health().await?.critical_warning, 2);
        // Masked events are not told; others that waited are.
        admin.set_feature(threshold, 400, false).await?;
        let events = FeatureId::ASYNC_EVENT_CONFIGURATION;
        admin.set_feature(events, 1 << 8, false).await?;
        admin.set_feature(threshold, 300, false).await?;
        admin.format(BROADCAST_NAMESPACE, 512).await?;
        assert_eq!(admin.next_event().await?, AsyncEvent::NAMESPACE_CHANGED);
        admin.format(BROADCAST_NAMESPACE, 512).await?;
        let waiting = {
            let admin = admin.clone();
            host.sim().spawn(async move { admin.next_event().await })
        };
        host.sim().sleep(sim::Span::from_us(1000)).await;
        assert!(!waiting.is_finished(), "the page was not read");
        admin.changed_namespaces().await?;
        assert_eq!(waiting.await?, AsyncEvent::NAMESPACE_CHANGED);
        Ok::<_, host::Error>(())
    });
    seen.expect("power").expect("all of it is legal");
}

/// A drive whose blocks have been erased as often as they are rated for says so, once, and in its next life again.
#[test]
fn a_drive_that_is_worn_out_warns() {
    let mut drive = drive(&[("frontend.health.rated_erases", "1")]);
    let end = drive.blocks().expect("power");
    let seen = drive.run(move |host| async move {
        let admin = host.admin();
        let waiting = {
            let admin = admin.clone();
            host.sim().spawn(async move { admin.next_event().await })
        };
        let mut before = admin.health().await?;
        assert_eq!((before.critical_warning, before.percentage_used), (0, 0));
        for write in (0..end).step_by(64).cycle() {
            host.block()
                .write(write, &blocks(write, 64.min(end - write)))
                .await?;
            if waiting.is_finished() {
                break;
            }
            let now = admin.health().await?;
            if now.percentage_used < 100 {
                assert_eq!(now.critical_warning, 0, "at {} %", now.percentage_used);
            }
            before = now;
        }
        assert!(before.percentage_used >= 98, "{}", before.percentage_used);
        assert_eq!(waiting.await?, AsyncEvent::RELIABILITY);
        let page = admin.health().await?;
        assert_eq!((page.critical_warning, page.percentage_used), (4, 100));
        Ok::<_, host::Error>(())
    });
    seen.expect("power").expect("all of it is legal");
    assert_eq!(
        drive.health().expect("a page").critical_warnings,
        ["reliability"]
    );
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    let told = drive.run(|host| async move { host.admin().next_event().await });
    assert_eq!(told.expect("power").expect("one"), AsyncEvent::RELIABILITY);
}

#[test]
fn requests_for_events_are_limited_and_can_be_aborted() {
    let mut drive = drive(&[]);
    let seen = drive.run(|host| async move {
        let admin = host.admin();
        let held: Vec<_> = (0..9)
            .map(|_| {
                let admin = admin.clone();
                host.sim().spawn(async move { admin.next_event().await })
            })
            .collect();
        let mut held = held.into_iter();
        let last = held.next_back().expect("nine of them").await;
        assert_eq!(host_status(last), Status::ASYNC_EVENT_LIMIT_EXCEEDED);
        // One of the eight that wait is aborted; identifiers are given out by the driver.
        let mut aborted = 0;
        for command in 0..31 {
            let command = CommandId::new(command);
            aborted += u32::from(admin.abort(QueueId::new(0), command).await?);
        }
        assert_eq!(aborted, 8);
        for request in held {
            assert_eq!(host_status(request.await), Status::ABORT_REQUESTED);
        }
        Ok::<_, host::Error>(())
    });
    seen.expect("power").expect("all of it is legal");
}

#[test]
fn abort_takes_back_what_was_not_fetched() {
    let mut drive = drive(&[("frontend.commands_in_flight", "2")]);
    drive.write(0, &blocks(0, 512)).expect("room");
    let seen = drive.run(|host| async move {
        let reads: Vec<_> = (0..20u64)
            .map(|number| {
                let block = host.block().clone();
                host.sim()
                    .spawn(async move { block.read(number * 8, 8).await })
            })
            .collect();
        host.sim().sleep(sim::Span::from_us(30)).await;
        let admin = host.admin();
        let mut aborted = 0;
        for command in (0..20).rev() {
            aborted += u32::from(
                admin
                    .abort(QueueId::new(1), CommandId::new(command))
                    .await?,
            );
        }
        let mut failed = 0;
        for (number, read) in (0..).zip(reads) {
            match read.await {
                Ok(data) => assert_eq!(data, blocks(number * 8, 8)),
                Err(error) => {
                    assert_eq!(host_status::<()>(Err(error)), Status::ABORT_REQUESTED);
                    failed += 1;
                }
            }
        }
        // What was aborted was told so, and nothing else failed.
        assert_eq!(aborted, failed);
        assert!((5..20).contains(&aborted), "{aborted} of 20");
        assert_eq!(host.block().read(0, 8).await?, blocks(0, 8));
        Ok::<_, host::Error>(())
    });
    seen.expect("power").expect("all of it is legal");
}

#[test]
fn sanitize_erases_and_survives_power_cuts() {
    let mut drive = drive(&[]);
    drive.write(0, &blocks(0, 512)).expect("room");
    let group = drive.group("bits").expect("a name");
    let written = group.write(4096, [[9; 512]]).expect("room");
    let extent = written[0].extents[0];
    assert_eq!(drive.read(extent.first, 1).expect("its bits"), [9; 512]);
    let begun = drive.run(|host| async move {
        let admin = host.admin();
        admin.sanitize().await?;
        assert!(admin.sanitize_status().await?.is_in_progress());
        assert_eq!(
            host_status(admin.sanitize().await),
            Status::SANITIZE_IN_PROGRESS
        );
        let format = admin.format(BROADCAST_NAMESPACE, 512).await;
        assert_eq!(host_status(format), Status::SANITIZE_IN_PROGRESS);
        let read = host.block().read(0, 8).await;
        assert_eq!(host_status(read), Status::SANITIZE_IN_PROGRESS);
        host.block().flush().await
    });
    begun.expect("power").expect("a flush is allowed");
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    assert_eq!(status(drive.read(0, 8)), Status::SANITIZE_IN_PROGRESS);
    let done = drive.run(|host| async move {
        let event = host.admin().next_event().await?;
        let status = host.admin().sanitize_status().await?;
        Ok::<_, host::Error>((event, status))
    });
    let (event, page) = done.expect("power").expect("it ends");
    assert_eq!(event, AsyncEvent::SANITIZE_COMPLETED);
    assert_eq!(page.state.get(), sanitize_state::COMPLETED);
    assert_eq!((page.progress.get(), page.command.get()), (0xFFFF, 2));
    assert_eq!(drive.read(0, 512).expect("zeroes"), vec![0; 512 * 512]);
    let (first, count) = (extent.first, extent.blocks);
    let vector = drive.read(first, count).expect("zeroes");
    assert_eq!(vector, vec![0; count as usize * 512]);
    nothing_is_left(&drive);
    drive.write(0, &blocks(0, 8)).expect("room");
    drive.sanitize().expect("it ends");
    nothing_is_left(&drive);
}

/// No page of the flash holds what the tests write.
fn nothing_is_left(drive: &Drive) {
    let nand = drive.nand().borrow();
    let device = drive.device().expect("power");
    let used: Vec<_> = (0..nand.geometry().blocks())
        .map(|block| nand.block_state(media::nand::BlockId(block)))
        .filter(|state| state.mode.is_some())
        .collect();
    // Records of the translation layer and notes of the front end are all that is programmed.
    let pages: u32 = used.iter().map(|state| state.next_page).sum();
    let mapped = (0..device.ftl.logical_pages())
        .filter(|page| {
            matches!(
                device.ftl.lookup(device::ftl::Lpn(*page)),
                device::ftl::Mapping::Data(_)
            )
        })
        .count();
    assert_eq!(mapped, 0);
    assert!(pages < 60, "{pages} pages are programmed");
}
