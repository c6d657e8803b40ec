//! Several namespaces, their formats, Format NVM.

use bitline::inside::{InsideDrive, InsideHost};
use bitline::{Config, Drive, Status};
use nvme::NamespaceId;

use crate::{blocks, config, drive, host_status, status};

const THREE: &str = "[{ share = 0.5, block_bytes = 512 }, { blocks = 11, block_bytes = 4096 }, \
                     { share = 0.25, block_bytes = 1024 }]";

fn id(number: u32) -> NamespaceId {
    NamespaceId::new(number)
}

#[test]
fn namespaces_are_apart() {
    let mut drive = drive(&[("frontend.namespaces", THREE)]);
    let seen = drive.run(|host| async move {
        let ids = host.admin().namespaces().await?;
        assert_eq!(ids, [id(1), id(2), id(3)]);
        let second = host.namespace(1, id(2)).await?;
        assert_eq!((second.blocks(), second.block_bytes()), (11, 4096));
        let third = host.namespace(2, id(3)).await?;
        assert_eq!(third.block_bytes(), 1024);
        let first = host.block();
        let last = first.blocks() - 1;
        first.write(last, &[1; 512]).await?;
        second.write(0, &[2; 11 * 4096]).await?;
        third.write(0, &[3; 1024]).await?;
        assert_eq!(first.read(last, 1).await?, [1; 512]);
        assert_eq!(second.read(0, 11).await?, [2; 11 * 4096]);
        assert_eq!(third.read(0, 2).await?, [[3; 1024], [0; 1024]].concat());
        // Nobody reaches past the end of a namespace.
        let buffer = second.buffer(2)?;
        let outside = second.read_into(10, 2, &buffer).await;
        assert_eq!(host_status(outside), Status::LBA_OUT_OF_RANGE);
        let none = host.namespace(0, id(6)).await.map(|_| ());
        assert_eq!(host_status(none), Status::INVALID_NAMESPACE_OR_FORMAT);
        Ok::<_, host::Error>(())
    });
    seen.expect("power").expect("all of it is legal");
}

#[test]
fn a_format_is_durable_and_erases_its_namespace_only() {
    let mut drive = drive(&[("frontend.namespaces", THREE)]);
    drive.write(0, &blocks(0, 64)).expect("room");
    let third = drive.run(|host| async move {
        let third = host.namespace(0, id(3)).await?;
        third.write(5, &[7; 2048]).await?;
        Ok::<_, host::Error>(third.blocks())
    });
    let third = third.expect("power").expect("room");
    drive.write_uncorrectable(70, 4).expect("marks are free");
    drive.format(1, 4096).expect("a format");
    let check = |drive: &mut Drive| {
        assert_eq!(drive.block_bytes().expect("power"), 4096);
        assert_eq!(drive.read(0, 10).expect("zeroes"), vec![0; 10 * 4096]);
        let seen = drive.run(|host| async move {
            let third = host.namespace(0, id(3)).await?;
            Ok::<_, host::Error>((third.blocks(), third.read(5, 2).await?))
        });
        let seen = seen.expect("power").expect("it is there");
        assert_eq!(seen, (third, vec![7; 2048]));
    };
    check(&mut drive);
    for _ in 0..2 {
        drive.power_cut().expect("no image");
        drive.power_up().expect("it recovers");
        check(&mut drive);
    }
    drive.format(u32::MAX, 512).expect("all of them");
    assert_eq!(drive.blocks().expect("power"), 8 * pages(&drive));
    let changed = drive.run(|host| async move { host.admin().changed_namespaces().await });
    let changed = changed.expect("power").expect("a page");
    assert_eq!(changed, [id(1), id(2), id(3)]);
}

/// Pages of the first namespace.
fn pages(drive: &Drive) -> u64 {
    let device = drive.device().expect("power");
    u64::from(device.controller.pages_of(id(1)).expect("it is there").end)
}

#[test]
fn a_format_that_power_interrupts_is_completed() {
    // Cut at each of a format's first events and at some later ones: afterwards it was never begun,
    // or is complete.
    let mut outcomes = [0, 0];
    for events in (0..40).chain((40..400).step_by(17)) {
        let mut drive = drive(&[]);
        drive.write(0, &blocks(0, 64)).expect("room");
        let host = drive.host().expect("power");
        let admin = host.admin();
        host.sim().spawn_detached(async move {
            let _ = admin.format(id(1), 4096).await;
        });
        let simulation = drive.simulation().expect("power");
        (0..events).for_each(|_| {
            simulation.step();
        });
        drive.power_cut().expect("no image");
        drive.power_up().expect("it recovers");
        match drive.block_bytes().expect("power") {
            512 => {
                outcomes[0] += 1;
                assert_eq!(drive.read(0, 64).expect("untouched"), blocks(0, 64));
            }
            4096 => {
                outcomes[1] += 1;
                assert_eq!(drive.read(0, 8).expect("zeroes"), vec![0; 8 * 4096]);
            }
            other => panic!("blocks of {other} bytes"),
        }
    }
    assert!(outcomes.iter().all(|count| *count > 2), "{outcomes:?}");
}

#[test]
fn what_is_no_format_is_refused() {
    let mut drive = drive(&[("nand.geometry.page_bytes", "2048")]);
    drive.write(0, &blocks(0, 8)).expect("room");
    assert_eq!(status(drive.format(1, 4096)), Status::INVALID_FORMAT);
    assert_eq!(
        status(drive.format(4, 512)),
        Status::INVALID_NAMESPACE_OR_FORMAT
    );
    assert_eq!(drive.read(0, 8).expect("untouched"), blocks(0, 8));
}

#[test]
fn a_thousand_tiny_namespaces() {
    let list = vec!["{ blocks = 3, block_bytes = 512 }"; 1024].join(", ");
    let mut drive = drive(&[
        ("frontend.namespaces", &format!("[{list}]")),
        ("nand.geometry.blocks_per_plane", "60"),
    ]);
    let seen = drive.run(|host| async move {
        assert_eq!(host.admin().namespaces().await?.len(), 1024);
        for number in 1..=1024 {
            let one = host.namespace(0, id(number)).await?;
            one.write(1, &[number as u8; 512]).await?;
        }
        host.admin().format(id(500), 1024).await?;
        Ok::<_, host::Error>(())
    });
    seen.expect("power").expect("room");
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    let seen = drive.run(|host| async move {
        for number in 1..=1024 {
            let one = host.namespace(0, id(number)).await?;
            if number == 500 {
                assert_eq!((one.blocks(), one.block_bytes()), (1, 1024));
                continue;
            }
            assert_eq!(one.read(1, 1).await?, [number as u8; 512]);
        }
        Ok::<_, host::Error>(())
    });
    seen.expect("power").expect("all of them can be read");
}

#[test]
fn namespaces_that_cannot_be_are_refused_with_a_reason() {
    let refused = |list: &str| {
        let outcome: Result<Config, _> = config(&[]).with([("frontend.namespaces", list)]);
        outcome.expect_err("it cannot be").to_string()
    };
    assert!(
        refused("[{ share = 0.7, block_bytes = 512 }, { share = 0.4, block_bytes = 512 }]")
            .contains("logical pages")
    );
    assert!(refused("[{ block_bytes = 512 }]").contains("either share"));
    assert!(refused("[{ share = 0.5, blocks = 3, block_bytes = 512 }]").contains("either share"));
    assert!(refused("[{ share = 0.5, block_bytes = 3000 }]").contains("3000"));
    assert!(refused("[{ share = 0.5, block_byte = 512 }]").contains("block_byte"));
}
