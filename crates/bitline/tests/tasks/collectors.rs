//! Collectors: what they send is on flash in order and without holes, whatever becomes of the power; who is dropped is counted.

use bitline::inside::InsideDrive;
use bitline::inside::nvme::collector::{CollectorRecord, Policy};
use bitline::{
    Attach, Collector, Content, Drive, Ended, Error, Pace, Packet, Source, StreamRun, TaskRun,
    Wiring,
};
use sim::Span;

use crate::drive_status;
use crate::streams::{echo, load};

/// Each byte tells where it is.
pub(crate) fn byte(at: u64) -> u8 {
    (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

pub(crate) fn bytes(begin: u64, count: u64) -> Vec<u8> {
    (begin..begin + count).map(byte).collect()
}

/// So many bytes that tell where they are, in packets of given lengths, one after the other, each interval the same.
pub(crate) struct Counting {
    pub(crate) at: u64,
    end: u64,
    lengths: Vec<u64>,
    number: usize,
    interval: Span,
}

impl Counting {
    pub(crate) fn new(lengths: &[u64], bytes: u64, interval: Span) -> Counting {
        Counting {
            at: 0,
            end: bytes,
            lengths: lengths.to_vec(),
            number: 0,
            interval,
        }
    }
}

impl Source for Counting {
    fn next(&mut self) -> Option<Packet> {
        let length = self.lengths[self.number % self.lengths.len()];
        let length = length.min(self.end - self.at);
        if length == 0 {
            return None;
        }
        self.number += 1;
        let data = bytes(self.at, length);
        self.at += length;
        Some(Packet {
            after: self.interval,
            data,
        })
    }
}

/// Fast enough never to be waited for.
pub(crate) const FAST: Wiring = Wiring {
    bytes_per_second: 1_250_000_000,
    packet_bytes: 1500,
    overhead_bytes: 0,
};

/// A drive with room for some.
pub(crate) fn drive(changes: &[(&str, &str)]) -> Drive {
    crate::drive(&[changes, &[("nand.geometry.blocks_per_plane", "400")]].concat())
}

pub(crate) fn wait(drive: &mut Drive, span: Span) {
    let slept = drive.run(|host| async move { host.sim().sleep(span).await });
    slept.expect("power");
}

pub(crate) fn attach(drive: &mut Drive, asked: &Attach) -> Collector {
    drive.collectors().attach(asked).expect("it is attached")
}

pub(crate) fn status(drive: &mut Drive, collector: &Collector) -> CollectorRecord {
    drive.collectors().status(collector).expect("it is known")
}

pub(crate) fn allocate(drive: &mut Drive, name: &str, bytes: u64) {
    drive.collectors().allocate(name, bytes).expect("room");
}

/// A collector at the first port for streams, and for an object of so many bytes if it is to be kept.
pub(crate) fn feeding(drive: &mut Drive, is_kept: bool, bytes: u64) -> Collector {
    let asked = match is_kept {
        true => {
            allocate(drive, "frames", bytes);
            Attach::to(0, "frames")
        }
        false => Attach::for_streams(0),
    };
    attach(drive, &asked.wired(FAST))
}

#[test]
fn what_is_sent_is_there_in_order_as_long_as_it_is() {
    let mut drive = drive(&[]);
    allocate(&mut drive, "frames", 1 << 20);
    let collector = attach(&mut drive, &Attach::to(3, "frames").wired(FAST));
    let source = Counting::new(&[1, 700, 4096, 9000, 33], 500_003, Span::from_us(20));
    drive.collectors().send(&collector, source).expect("power");
    drive.collectors().run(&collector).expect("power");
    let told = status(&mut drive, &collector);
    assert_eq!(told.packet_bytes.get(), 500_003);
    assert_eq!(told.room_bytes.get(), 1 << 20);
    let lost = (told.newest.get(), told.oldest.get());
    assert_eq!(lost, (0, 0), "nothing is dropped");
    let collected = drive.collectors().detach(collector).expect("it ends");
    assert_eq!(collected, 500_003);
    let kept = drive.volume().read("frames").expect("it is there");
    assert!(kept == bytes(0, 500_003), "other bytes");
    assert!(drive.collectors().list().expect("power").is_empty());
}

/// Though the page that it ends in waits for more: pieces are whole, and so is what is kept.
#[test]
fn a_task_has_what_is_sent_at_once() {
    for is_kept in [false, true] {
        let mut drive = drive(&[]);
        let collector = feeding(&mut drive, is_kept, 1 << 20);
        let program = load(&mut drive, &echo());
        let asked = StreamRun::of(TaskRun::of(Vec::new())).from_collector(0);
        let opened = drive.streams().open(&program, &asked.piece_bytes(500));
        let mut stream = opened.expect("room");
        let mut sent = 0;
        for count in [1000, 500, 4000, 12_000, 500] {
            let source = Counting {
                at: sent,
                ..Counting::new(&[250, 3000, 17], sent + count, Span::from_us(3))
            };
            drive.collectors().send(&collector, source).expect("power");
            drive.collectors().run(&collector).expect("power");
            let read = drive
                .streams()
                .read(&mut stream, count)
                .expect("it is there");
            assert!(
                read == bytes(sent, count),
                "{sent}: {} of {count}",
                read.len()
            );
            sent += count;
        }
        drive.collectors().detach(collector).expect("it ends");
        assert_eq!(drive.streams().read(&mut stream, 1).expect("well"), b"");
        drive.streams().close(stream).expect("it is open");
        if is_kept {
            let kept = drive.volume().read("frames").expect("it is there");
            assert!(kept == bytes(0, sent), "other bytes");
        }
    }
}

/// Without data everything takes as long.
#[test]
fn without_data_it_takes_as_long() {
    let times = ["memory", "none"].map(|storage| {
        let mut drive = drive(&[("data.storage", storage)]);
        allocate(&mut drive, "frames", 1 << 20);
        let collector = attach(&mut drive, &Attach::to(0, "frames"));
        let pace = Pace {
            jitter: 0.3,
            ..Pace::even(20e6)
        };
        let generated = drive.collectors().generate(&collector, pace, 3000, 400_000);
        generated.expect("power");
        drive.collectors().run(&collector).expect("power");
        drive.collectors().detach(collector).expect("it ends");
        (drive.now(), drive.statistics().expect("power").energy_pj)
    });
    assert_eq!(times[0], times[1]);
}

/// What a wire carries, its overhead included, is its rate; and a port has one collector.
#[test]
fn packets_pay_what_their_protocol_adds() {
    let mut drive = drive(&[]);
    allocate(&mut drive, "frames", 1 << 20);
    let wiring = Wiring {
        bytes_per_second: 10_000_000,
        packet_bytes: 1000,
        overhead_bytes: 250,
    };
    let asked = Attach::to(0, "frames").wired(wiring);
    let collector = attach(&mut drive, &asked);
    let refused = drive.collectors().attach(&Attach::for_streams(0));
    assert_eq!(
        drive_status(refused.map(drop)).to_string(),
        "Collector In Use"
    );
    let begun = drive.now();
    let source = Counting::new(&[2500], 250_000, Span::ZERO);
    drive.collectors().send(&collector, source).expect("power");
    drive.collectors().run(&collector).expect("power");
    // 100 packets of 2500 bytes and three times 250 of overhead, at 10 bytes a microsecond; the last goes to the DRAM then.
    let took = drive.now().since(begun).as_ns();
    let expected = 100.0 * 325_000.0;
    assert!((expected..expected * 1.001).contains(&took), "{took} ns");
    let too_fast = Wiring {
        bytes_per_second: 2_000_000_000,
        ..wiring
    };
    let refused = drive
        .collectors()
        .attach(&Attach::to(1, "frames").wired(too_fast));
    let error = refused.map(drop).expect_err("faster than a port");
    assert!(
        error
            .to_string()
            .contains("collector.port_megabytes_per_second"),
        "{error}"
    );
}

/// Programs bound what all collectors send together: what there is is shared alike, whoever has more of the switch.
#[test]
fn collectors_that_send_too_much_have_what_flash_takes_in_equal_shares() {
    const COUNT: u16 = 20;
    let mut drive = crate::drive(&[
        ("data.storage", "none"),
        ("nand.geometry.blocks_per_plane", "1600"),
    ]);
    let each = 1 << 20;
    let share = |port: u16| (64_u32 << 10) << (port % 3);
    let all: Vec<Collector> = (0..COUNT)
        .map(|port| {
            let name = format!("frames {port}");
            allocate(&mut drive, &name, each);
            let to = Attach::to(port, name).wired(FAST).share(share(port));
            attach(&mut drive, &to)
        })
        .collect();
    let begun = drive.now();
    for collector in &all {
        let generated = drive
            .collectors()
            .generate(collector, Pace::even(1e9), 4096, each);
        generated.expect("power");
    }
    // A while before the first is done, they are all as far, but for what waits in the switch.
    wait(&mut drive, Span::from_us(60_000));
    let status_of = |collector| status(&mut drive, collector).packet_bytes.get();
    let far: Vec<u64> = all.iter().map(status_of).collect();
    let far: Vec<u64> = (0..COUNT)
        .zip(far)
        .map(|(port, taken)| taken - u64::from(share(port)))
        .collect();
    let mean = far.iter().sum::<u64>() as f64 / f64::from(COUNT);
    let (least, most) = (far.iter().min().unwrap(), far.iter().max().unwrap());
    assert!(
        most - least <= 4 * 4096,
        "a row of pages for each in turn: {far:?}"
    );
    assert!(mean < each as f64 * 0.9, "they are not done: {far:?}");
    for collector in all {
        assert_eq!(
            drive.collectors().detach(collector).expect("it ends") % 4096,
            0
        );
    }
    // 2 channels of one die with two planes; a program of TLC pages takes 700 us, and four planes work at a time.
    let written = drive.statistics().expect("power").flash.page_programs as f64 * 4096.0;
    let took = drive.now().since(begun).as_seconds();
    let most = 4.0 * 4096.0 / 700e-6;
    let rate = written / took;
    assert!((0.9 * most..most).contains(&rate), "{rate} of {most}");
}

#[test]
fn who_finds_no_room_waits_or_is_dropped_and_counted() {
    for policy in Policy::ALL {
        let mut drive = drive(&[]);
        allocate(&mut drive, "frames", 4 << 20);
        let asked = Attach::to(0, "frames")
            .wired(FAST)
            .policy(policy)
            .share(64 << 10);
        let collector = attach(&mut drive, &asked);
        // 400 MB/s; four planes take some 23 MB/s.
        let source = Counting::new(&[2000], 1_000_000, Span::from_us(5));
        drive.collectors().send(&collector, source).expect("power");
        drive.collectors().run(&collector).expect("power");
        let told = status(&mut drive, &collector);
        let taken = (told.packets.get(), told.packet_bytes.get());
        assert_eq!(told.packets.get() + told.newest.get(), 500, "{policy:?}");
        assert_eq!(
            (told.packet_bytes.get(), told.newest_bytes.get()),
            (2000 * taken.0, 2000 * told.newest.get())
        );
        let most = drive.device().expect("power").collectors.held_most();
        assert!(most <= 64 << 10, "{policy:?}: {most} bytes in the switch");
        let collected = drive.collectors().detach(collector).expect("it ends");
        assert_eq!(collected, taken.1 - told.oldest_bytes.get(), "{policy:?}");
        let kept = drive.volume().read("frames").expect("it is there");
        let numbers = packets_of(&kept);
        assert!(
            numbers.is_sorted() && !numbers.is_empty(),
            "{policy:?}: out of order"
        );
        match policy {
            Policy::Stall => {
                assert_eq!((taken.0, told.newest.get(), told.oldest.get()), (500, 0, 0));
                assert!(told.stalled_ns.get() > 20_000_000, "{}", told.stalled_ns);
            }
            Policy::DropNewest => {
                assert!(told.newest.get() > 300 && told.oldest.get() == 0);
                assert_eq!(
                    numbers[..10],
                    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
                    "the first ones are kept"
                );
            }
            Policy::DropOldest => {
                assert!(
                    told.oldest.get() > 300 && told.newest.get() == 0,
                    "{told:?}"
                );
                assert_eq!(numbers.last(), Some(&499), "the last one is kept");
            }
        }
    }
}

/// Which packets of 2000 bytes these are.
fn packets_of(kept: &[u8]) -> Vec<u64> {
    assert_eq!(kept.len() % 2000, 0, "a packet is kept in part");
    let all: Vec<Vec<u8>> = (0..500).map(|number| bytes(2000 * number, 2000)).collect();
    kept.chunks(2000)
        .map(|packet| {
            let found = all.iter().position(|whole| whole == packet);
            found.expect("a packet that was sent") as u64
        })
        .collect()
}

/// An object grows in time, as the drive says that there is little room left; one that does not ends up full.
#[test]
fn objects_grow_in_time_or_hold_their_source_back() {
    let mut drive = drive(&[]);
    allocate(&mut drive, "frames", 64 << 10);
    let asked = Attach::to(0, "frames")
        .wired(FAST)
        .growing(32 << 10, 128 << 10);
    let collector = attach(&mut drive, &asked);
    let source = Counting::new(&[3000], 900_000, Span::from_us(300));
    drive.collectors().send(&collector, source).expect("power");
    drive.collectors().run(&collector).expect("power");
    let told = status(&mut drive, &collector);
    assert!(told.room_bytes.get() >= 900_000, "{}", told.room_bytes);
    assert_eq!(told.stalled_ns.get(), 0, "it never had to wait");
    assert_eq!(
        drive.collectors().detach(collector).expect("it ends"),
        900_000
    );
    assert!(drive.volume().read("frames").expect("there") == bytes(0, 900_000));

    allocate(&mut drive, "short", 64 << 10);
    let asked = Attach::to(0, "short")
        .wired(FAST)
        .policy(Policy::DropNewest)
        .share(64 << 10);
    let collector = attach(&mut drive, &asked);
    let source = Counting::new(&[2048], 400_000, Span::from_us(300));
    drive.collectors().send(&collector, source).expect("power");
    drive.collectors().run(&collector).expect("power");
    wait(&mut drive, Span::from_us(200_000));
    let told = status(&mut drive, &collector);
    assert_eq!(told.bytes.get(), 64 << 10, "it is full");
    assert_eq!(
        told.packet_bytes.get(),
        128 << 10,
        "and so is its share of the switch"
    );
    assert_eq!(
        drive.collectors().detach(collector).expect("it ends"),
        64 << 10
    );
    assert!(drive.volume().read("short").expect("there") == bytes(0, 64 << 10));
}

/// The stream of a collector gives what a file of the same bytes would, and the object has them too.
#[test]
fn a_stream_takes_what_comes() {
    for with_object in [false, true] {
        let mut drive = drive(&[]);
        let asked = match with_object {
            true => {
                allocate(&mut drive, "frames", 1 << 20);
                Attach::to(7, "frames")
            }
            false => Attach::for_streams(7),
        };
        let collector = attach(&mut drive, &asked.wired(FAST));
        let program = load(&mut drive, &echo());
        let run = StreamRun::of(TaskRun::default())
            .from_collector(7)
            .piece_bytes(10_000);
        let mut stream = drive.streams().open(&program, &run).expect("it opens");
        let source = Counting::new(&[5000, 123], 300_000, Span::from_us(100));
        drive.collectors().send(&collector, source).expect("power");
        let mut got = drive
            .streams()
            .read(&mut stream, 250_000)
            .expect("it is fed");
        assert_eq!(got.len(), 250_000);
        let refused = drive.streams().write(&mut stream, b"mine");
        assert!(refused.is_err(), "the host is not who sends");
        drive.collectors().run(&collector).expect("power");
        let collected = drive.collectors().detach(collector).expect("it ends");
        assert_eq!(collected, if with_object { 300_000 } else { 0 });
        got.extend(
            drive
                .streams()
                .read(&mut stream, 100_000)
                .expect("the rest"),
        );
        assert!(got == bytes(0, 300_000), "{} bytes", got.len());
        let outcome = drive.streams().outcome(&mut stream).expect("it is over");
        assert_eq!(outcome.ended, Ended::Committed);
        drive.streams().close(stream).expect("open");
        if with_object {
            assert!(drive.volume().read("frames").expect("there") == bytes(0, 300_000));
        }
    }
}

#[test]
fn what_there_is_not_cannot_be_collected() {
    let mut drive = drive(&[("collector.ports", "4")]);
    let refused = |drive: &mut Drive, asked: &Attach| {
        let refused = drive.collectors().attach(asked);
        refused.map(drop).expect_err("it cannot be").to_string()
    };
    let text = refused(&mut drive, &Attach::to(4, "frames"));
    assert!(text.contains("collector.ports"), "{text}");
    let text = refused(&mut drive, &Attach::to(0, "nothing"));
    assert!(text.contains("nothing"), "{text}");
    allocate(&mut drive, "frames", 64 << 10);
    let text = refused(&mut drive, &Attach::to(0, "frames").going_on());
    assert!(text.contains("no collection has ended at port 0"), "{text}");
    let text = refused(&mut drive, &Attach::to(0, "frames").share(1 << 30));
    assert!(text.contains("Collector Limit Reached"), "{text}");
    assert!(
        drive.collectors().allocate("frames", 5).is_err(),
        "it is there"
    );
    let run = StreamRun::of(TaskRun::default()).from_collector(1);
    let program = load(&mut drive, &echo());
    let opened = drive.streams().open(&program, &run);
    assert_eq!(
        drive_status(opened.map(drop)).to_string(),
        "No Such Collector"
    );
    assert!(matches!(drive.collectors().settle(0), Err(Error::Task(_))));
    let rows = Content::Table {
        schema: Vec::new(),
        bytes: 0,
    };
    drive.volume().write("rows", rows, &[]).expect("room");
    let text = refused(&mut drive, &Attach::to(0, "rows"));
    assert!(text.contains("no file"), "{text}");
}
