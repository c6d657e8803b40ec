//! The blocks set aside for computing are there when they are asked for.

use std::cell::Cell;
use std::rc::Rc;

use bitline::inside::InsideHost;
use bitline::{Config, Drive, Host, Rows};
use sim::Span;

fn tiny() -> Drive {
    let changes = [
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.planes_per_die", "2"),
        ("nand.geometry.blocks_per_plane", "40"),
        ("nand.geometry.strings_per_block", "2"),
        ("nand.geometry.cells_per_string", "4"),
        ("ftl.mode", "slc"),
        ("ftl.gc.threshold_blocks", "4"),
        ("bits.compute_blocks_percent", "25"),
    ];
    let config = Config::preset("flash-cosmos").expect("a preset");
    Drive::open(config.with(changes).expect("a configuration")).expect("a drive")
}

/// Writes vectors of one page, each in a group of its own, until the drive has no
/// more room for any; gives how many it took.
async fn fill_with_vectors(host: &Host) -> u32 {
    let data = vec![0x5A; 16384];
    for group in 0.. {
        let (name, rows) = (group.to_string(), Rows::new(8 * 16384));
        let written = host.write_vectors(&name, &rows, &[&data]).await;
        if let Err(error) = written {
            assert_eq!(error.to_string(), "fc_write: Vector Group Full");
            return group;
        }
    }
    unreachable!("no drive takes vectors for ever")
}

/// Overwrites all of the namespace but what is for vectors, again and again until told to stop.
async fn overwrite(host: Host, worker: u64, stop: Rc<Cell<bool>>) -> Result<(), host::Error> {
    let (device, mut random) = (host.block(), host.sim().random(&format!("worker {worker}")));
    while !stop.get() {
        let lba = random.below(host.area().start / 4) * 4;
        device.write(lba, &[1; 16384]).await?;
    }
    Ok(())
}

#[test]
fn data_does_not_take_the_share_of_computing() {
    let fresh = tiny().run(|host| async move { fill_with_vectors(&host).await });
    let fresh = fresh.expect("power");
    assert!(fresh > 0);
    let mut drive = tiny();
    let under_load = drive.run(|host| async move {
        let stop = Rc::new(Cell::new(false));
        let workers: Vec<_> = (0..32)
            .map(|worker| {
                host.sim()
                    .spawn(overwrite(host.clone(), worker, stop.clone()))
            })
            .collect();
        // Long enough for every block to have been filled and collected.
        host.sim().sleep(Span::from_us(1_000_000)).await;
        let taken = fill_with_vectors(&host).await;
        stop.set(true);
        for worker in workers {
            worker.await?;
        }
        Ok::<_, host::Error>(taken)
    });
    let under_load = under_load.expect("power").expect("the writes");
    let collected = drive.statistics().expect("power").ftl.gc_blocks;
    assert!(collected > 100, "{collected}");
    assert_eq!(under_load, fresh);
}
