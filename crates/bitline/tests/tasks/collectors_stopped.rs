//! Collections whose source, power or caller stops at any time: what comes after goes on where that was, in order, and nobody is left behind.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;

use bitline::{Attach, Drive, Error, Packet, Source, Watch};
use sim::Span;

use crate::collectors::{Counting, FAST, allocate, attach, bytes, drive, status, wait};
use crate::collectors_held::{detach, read, run, send};
use crate::cut;

/// Resumed far behind its beginning, an object grows as it did before.
#[test]
fn what_goes_on_grows_in_time() {
    for by in [5_000, 100_000] {
        let mut drive = drive(&[("collector.position_us", "100")]);
        allocate(&mut drive, "frames", 400_000);
        let asked = Attach::to(0, "frames").wired(FAST).growing(1, by);
        let collector = attach(&mut drive, &asked);
        send(&mut drive, &collector, 300_000);
        run(&mut drive, &collector).expect("power");
        cut(&mut drive);
        let collector = attach(&mut drive, &asked.clone().going_on());
        let begun = status(&mut drive, &collector).bytes.get();
        assert!(begun > 40_000, "{begun}");
        let mut source = Counting::new(&[5000], begun + 900_000, Span::from_us(1));
        source.at = begun;
        drive.collectors().send(&collector, source).expect("power");
        run(&mut drive, &collector).expect("it grows");
        assert_eq!(detach(&mut drive, collector), begun + 900_000);
        assert!(read(&mut drive, "frames") == bytes(0, begun + 900_000));
    }
}

/// Large packets of two sources at one port follow each other, and are not mixed.
#[test]
fn packets_of_two_sources_stay_whole() {
    let mut drive = drive(&[]);
    allocate(&mut drive, "frames", 2 << 20);
    let asked = Attach::to(0, "frames").wired(FAST).share(64 << 10);
    let collector = attach(&mut drive, &asked);
    for byte in [1, 2] {
        let packets = (0..4).map(move |_| vec![byte; 200_000]);
        drive
            .collectors()
            .send(&collector, Given(packets))
            .expect("power");
    }
    run(&mut drive, &collector).expect("power");
    assert_eq!(detach(&mut drive, collector), 1_600_000);
    let kept = read(&mut drive, "frames");
    assert!(
        kept.chunks(200_000)
            .all(|packet| packet.iter().all(|byte| *byte == packet[0]))
    );
}

/// Packets, each due at once.
struct Given<I>(I);

impl<I: Iterator<Item = Vec<u8>>> Source for Given<I> {
    fn next(&mut self) -> Option<Packet> {
        let data = self.0.next()?;
        let after = Span::ZERO;
        Some(Packet { after, data })
    }
}

/// Whatever is broken off, and when: nothing is left attached that nobody has, and what has ended is told.
#[test]
fn what_is_broken_off_leaves_no_orphans() {
    for events in 0..120 {
        // Looks that are left until what goes on is broken off, as long as any are counted.
        let looks: Rc<Cell<Option<u32>>> = Rc::default();
        let left = looks.clone();
        let watch: Watch = Rc::new(move || {
            let count = left.get();
            left.set(count.map(|count| count.saturating_sub(1)));
            match count {
                Some(0) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
        let config = crate::config(&[("nand.geometry.blocks_per_plane", "400")]);
        let mut drive = Drive::open_watched(config, None, watch).expect("a drive");
        allocate(&mut drive, "frames", 40_000);
        let asked = Attach::to(0, "frames").wired(FAST).growing(1, 5000);
        looks.set(Some(events));
        let attached = drive.collectors().attach(&asked);
        looks.set(None);
        let collector = match attached {
            Ok(collector) => collector,
            Err(Error::Interrupted) => {
                wait(&mut drive, Span::from_us(20_000));
                assert!(drive.collectors().list().expect("power").is_empty());
                drive.volume().remove("frames").expect("nobody holds it");
                continue;
            }
            Err(error) => panic!("{events}: {error}"),
        };
        send(&mut drive, &collector, 50_000);
        run(&mut drive, &collector).expect("power");
        looks.set(Some(events));
        let detached = drive.collectors().detach(collector.clone());
        looks.set(None);
        match detached {
            Ok(bytes) => assert_eq!(bytes, 50_000),
            Err(Error::Interrupted) => {
                // Detached or about to be, it sends no more.
                wait(&mut drive, Span::from_us(50_000));
                assert!(run(&mut drive, &collector).is_err());
                assert_eq!(detach(&mut drive, collector), 50_000);
            }
            Err(error) => panic!("{events}: {error}"),
        }
        assert!(read(&mut drive, "frames") == bytes(0, 50_000), "{events}");
    }
}
