//! What stands beside the drive to compare with: a card that computes, and collectors at the host. What they do to bytes is what the drive
//! does, and every byte takes its time on every link that it crosses.

use bitline::inside::nvme::collector::Policy;
use bitline::{
    Attach, Drive, Ended, Error, Pace, Statistics, Stream, StreamRun, TaskFile, TaskRun, Wiring,
};

use crate::streams::{echo, ended, from_file, into_file, invert, open, read_all, stage};
use crate::vectors::random;
use crate::{cut, drive, write_file};

/// Bytes of a packet of a link, and what it adds.
const PACKET: (f64, f64) = (128.0, 28.0);

fn open_on_card(drive: &mut Drive, module: &[u8], asked: &StreamRun) -> Stream {
    let opened = drive.streams().open_on_card(module, asked);
    opened.expect("it opens")
}

fn statistics(drive: &Drive) -> Statistics {
    drive.statistics().expect("power")
}

/// Seconds that something takes.
fn seconds(drive: &mut Drive, work: impl FnOnce(&mut Drive)) -> f64 {
    let begin = drive.now();
    work(drive);
    drive.now().since(begin).as_ns() / 1e9
}

fn fed() -> StreamRun {
    StreamRun::of(TaskRun::of(Vec::new()))
}

#[test]
fn a_card_makes_of_a_file_what_the_drive_makes_of_it() {
    for (number, bytes) in [0, 1, 4096, 100_000, 700_001].into_iter().enumerate() {
        let data = random(number as u64, bytes);
        let inverted: Vec<u8> = data.iter().map(|byte| !byte).collect();
        for (elements, piece, each) in [(1, 0, 1 << 20), (1, 512, 777), (3, 10_000, 65_536)] {
            let mut drive = drive(&[("nand.geometry.blocks_per_plane", "400")]);
            write_file(&mut drive, "file", &data);
            let asked = from_file("file").elements(elements).piece_bytes(piece);
            let mut stream = open_on_card(&mut drive, &invert(), &asked);
            let read = read_all(&mut drive, &mut stream, each).expect("it ends well");
            assert!(read == inverted, "{bytes} bytes, pieces of {piece}");
            let outcome = drive.streams().outcome(&mut stream).expect("well");
            assert_eq!(outcome.ended, Ended::Committed);
            drive.streams().close(stream).expect("it is open");
            write_file(&mut drive, "made", &vec![0; data.len()]);
            let mut stream = open_on_card(&mut drive, &invert(), &into_file("file", "made"));
            drive.streams().outcome(&mut stream).expect("well");
            drive.streams().close(stream).expect("it is open");
            let made = drive.volume().read("made").expect("it is there");
            assert!(made == inverted, "{bytes} bytes into a file");
        }
    }
}

#[test]
fn what_is_written_to_a_card_comes_back() {
    let mut drive = drive(&[]);
    let data = random(5, 900_000);
    let mut stream = open_on_card(&mut drive, &invert(), &fed().piece_bytes(4096));
    for part in data.chunks(70_000) {
        drive
            .streams()
            .write(&mut stream, part)
            .expect("it goes on");
    }
    drive.streams().finish(&mut stream).expect("well");
    let read = read_all(&mut drive, &mut stream, 100_000).expect("well");
    assert!(read.iter().zip(&data).all(|(read, byte)| *read == !byte));
    assert_eq!(read.len(), data.len());
    drive.streams().close(stream).expect("it is open");
}

/// Time on a link that is far slower than all else is the bytes that cross it over its rate.
#[test]
fn bytes_to_and_from_a_card_cross_both_links() {
    let slow = "10";
    let span = |bytes: f64| bytes * (PACKET.0 + PACKET.1) / PACKET.0 / (10.0 * 1e6);
    let data = random(1, 1 << 20);
    let all = data.len() as f64;
    let took = |key: &str, is_on_card: bool, module: &[u8]| {
        let mut drive = drive(&[
            ("nand.geometry.blocks_per_plane", "400"),
            ("link.lanes", "1"),
            ("host.card.link.lanes", "1"),
        ]);
        write_file(&mut drive, "file", &data);
        let config = drive.config().with([(key, slow)]).expect("a link");
        let mut drive = Drive::open(config).expect("it opens");
        // The link to the drive is as slow for this; nothing of it is measured.
        write_file(&mut drive, "file", &data);
        // The card is powered up, and has its program.
        let warm = fed();
        let mut stream = open_on_card(&mut drive, module, &warm);
        drive.streams().finish(&mut stream).expect("well");
        drive.streams().close(stream).expect("it is open");
        seconds(&mut drive, |drive| {
            let mut stream = match is_on_card {
                true => open_on_card(drive, module, &from_file("file")),
                false => open(drive, module, &from_file("file")),
            };
            read_all(drive, &mut stream, 1 << 20).expect("well");
            drive.streams().close(stream).expect("it is open");
        })
    };
    let nothing = stage("", "");
    let [drives, cards] = [
        "link.megabytes_per_second_per_lane",
        "host.card.link.megabytes_per_second_per_lane",
    ];
    // All of the file goes to the card, over both; what it makes comes back over one.
    for (key, module) in [
        (drives, &nothing),
        (cards, &nothing),
        (drives, &echo()),
        (cards, &echo()),
    ] {
        let ratio = took(key, true, module) / span(all);
        // What the card asks for waits behind what it sends, on the same way.
        let most = if key == cards && module != &nothing {
            1.7
        } else {
            1.05
        };
        assert!((1.0..most).contains(&ratio), "{key}: {ratio}");
    }
    // In the drive nothing but the output crosses a link, and nothing crosses the card's.
    let ratio = took(drives, false, &echo()) / span(all);
    assert!((1.0..1.05).contains(&ratio), "{ratio}");
    assert!(took(drives, false, &nothing) < span(all) / 20.0);
    assert!(took(cards, false, &echo()) < span(all) / 20.0);
}

#[test]
fn a_card_that_fails_says_why_and_another_stream_goes_on() {
    let mut drive = drive(&[]);
    write_file(&mut drive, "file", &random(2, 100_000));
    let trap = stage("(unreachable)", "");
    let mut stream = open_on_card(&mut drive, &trap, &from_file("file"));
    let outcome = ended(drive.streams().read(&mut stream, 10));
    assert_eq!(outcome, Ended::Trapped);
    drive.streams().close(stream).expect("it is open");
    // One that is closed before its end, one that is dropped, and one after both.
    let stream = open_on_card(&mut drive, &echo(), &from_file("file"));
    drive.streams().close(stream).expect("it is open");
    drop(open_on_card(&mut drive, &echo(), &from_file("file")));
    let mut stream = open_on_card(&mut drive, &echo(), &from_file("file"));
    let read = read_all(&mut drive, &mut stream, 4096).expect("well");
    assert_eq!(read.len(), 100_000);
    // Its object may go when it is closed.
    drive.streams().close(stream).expect("it is open");
    drive.volume().remove("file").expect("nobody uses it");
}

#[test]
fn a_card_has_neither_files_nor_ports_nor_stores() {
    let mut drive = drive(&[]);
    write_file(&mut drive, "file", b"12345678");
    let files = vec![TaskFile::read("file"), TaskFile::read("file")];
    let further = StreamRun::of(TaskRun::of(files)).from_file(0);
    let stores = StreamRun::of(TaskRun::of(Vec::new()).stores(["names"]));
    let port = fed().from_collector(1);
    let beyond = fed().from_file(3);
    let read_only = StreamRun::of(TaskRun::of(vec![TaskFile::read("file")])).into_file(0);
    for (asked, says) in [
        (further, "no files"),
        (stores, "no stores"),
        (port, "no ports"),
        (beyond, "does not have"),
        (read_only, "read only"),
    ] {
        let refused = drive.streams().open_on_card(&echo(), &asked);
        let text = refused.err().expect("refused").to_string();
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn a_card_goes_with_the_power() {
    let mut drive = drive(&[]);
    write_file(&mut drive, "file", &random(3, 500_000));
    let mut stream = open_on_card(&mut drive, &echo(), &from_file("file"));
    cut(&mut drive);
    let read = drive.streams().read(&mut stream, 10);
    assert!(matches!(read, Err(Error::PowerLost)), "{read:?}");
    drive.streams().close(stream).expect("it is gone");
    let mut stream = open_on_card(&mut drive, &echo(), &from_file("file"));
    let read = read_all(&mut drive, &mut stream, 1 << 20).expect("well");
    assert_eq!(read.len(), 500_000);
}

#[test]
fn a_card_takes_as_long_without_data_and_spends_on_an_account() {
    let lives = ["memory", "none"].map(|storage| {
        let mut drive = drive(&[("data.storage", storage)]);
        write_file(&mut drive, "file", &random(4, 300_000));
        let mut stream = open_on_card(&mut drive, &echo(), &from_file("file"));
        read_all(&mut drive, &mut stream, 50_000).expect("well");
        drive.streams().close(stream).expect("it is open");
        let energy = statistics(&drive).energy;
        let card = energy
            .iter()
            .find(|account| (&*account.component, &*account.cause) == ("host", "card"));
        (drive.now(), card.expect("it is metered").energy_pj)
    });
    assert_eq!(lives[0], lives[1]);
    assert!(lives[0].1 > 0);
}

fn attach_to_host(drive: &mut Drive, wiring: Wiring) -> bitline::Collector {
    drive
        .collectors()
        .allocate("frames", 1 << 20)
        .expect("room");
    let asked = Attach::to(0, "frames").wired(wiring).through_host();
    drive.collectors().attach(&asked).expect("it is attached")
}

/// Far more than what is measured carries.
const FAST: Wiring = Wiring {
    bytes_per_second: 10_000_000_000,
    packet_bytes: 1500,
    overhead_bytes: 0,
};

#[test]
fn what_the_host_collects_is_what_the_drive_would() {
    let kept = [false, true].map(|through_host| {
        let mut drive = drive(&[("nand.geometry.blocks_per_plane", "400")]);
        drive
            .collectors()
            .allocate("frames", 1 << 20)
            .expect("room");
        let mut asked = Attach::to(0, "frames");
        asked.through_host = through_host;
        let collector = drive.collectors().attach(&asked).expect("it is attached");
        let pace = Pace::even(200e6);
        let begun = drive.collectors().generate(&collector, pace, 5000, 700_003);
        begun.expect("power");
        drive.collectors().run(&collector).expect("power");
        let told = drive.collectors().status(&collector).expect("known");
        assert_eq!(told.packet_bytes.get(), 700_003);
        assert_eq!(told.packets.get(), 141);
        let bytes = drive.collectors().detach(collector).expect("it ends");
        assert_eq!(bytes, 700_003);
        drive.volume().read("frames").expect("it is there")
    });
    assert_eq!(kept[0].len(), 700_003);
    assert!(kept[0] == kept[1], "other bytes");
}

/// As of cards: each link takes its time.
#[test]
fn what_the_host_collects_crosses_both_links() {
    let span = |bytes: f64| bytes * (PACKET.0 + PACKET.1) / PACKET.0 / (10.0 * 1e6);
    for key in [
        "link.megabytes_per_second_per_lane",
        "host.receiver.link.megabytes_per_second_per_lane",
    ] {
        let mut drive = drive(&[
            ("nand.geometry.blocks_per_plane", "400"),
            ("link.lanes", "1"),
            ("host.receiver.link.lanes", "1"),
            ("host.receiver.write_bytes", "65536"),
            (key, "10"),
        ]);
        let collector = attach_to_host(&mut drive, FAST);
        let took = seconds(&mut drive, |drive| {
            let pace = Pace::even(5e9);
            let begun = drive.collectors().generate(&collector, pace, 4096, 1 << 20);
            begun.expect("power");
            drive.collectors().run(&collector).expect("power");
            let bytes = drive.collectors().detach(collector).expect("it ends");
            assert_eq!(bytes, 1 << 20);
        });
        let ratio = took / span((1 << 20) as f64);
        assert!((1.0..1.08).contains(&ratio), "{key}: {ratio}");
    }
}

#[test]
fn the_host_holds_packets_back_where_it_has_no_room() {
    let mut drive = drive(&[
        ("nand.geometry.blocks_per_plane", "400"),
        ("host.receiver.buffer_bytes", "65536"),
        ("host.receiver.write_bytes", "16384"),
    ]);
    let collector = attach_to_host(&mut drive, FAST);
    let pace = Pace::even(9e9);
    let begun = drive.collectors().generate(&collector, pace, 8192, 900_000);
    begun.expect("power");
    drive.collectors().run(&collector).expect("power");
    let told = drive.collectors().status(&collector).expect("known");
    assert!(told.stalled_ns.get() > 0);
    assert_eq!((told.newest.get(), told.oldest.get()), (0, 0));
    assert_eq!(drive.collectors().detach(collector).expect("well"), 900_000);
}

#[test]
fn what_only_ports_of_the_drive_do_is_refused() {
    let mut drive = drive(&[]);
    drive
        .collectors()
        .allocate("frames", 1 << 16)
        .expect("room");
    let to = |port| Attach::to(port, "frames").through_host();
    for (asked, says) in [
        (to(0).policy(Policy::DropNewest), "held back"),
        (to(0).growing(1, 100), "do not grow"),
        (to(0).going_on(), "nothing is resumed"),
        (to(0).share(1 << 20), "no shares"),
        (Attach::for_streams(0).through_host(), "needs an object"),
        (to(u16::MAX), "collector.ports"),
    ] {
        let refused = drive.collectors().attach(&asked);
        let text = refused.err().expect("refused").to_string();
        assert!(text.contains(says), "{text}");
    }
    let first = drive.collectors().attach(&to(0)).expect("it is attached");
    drive.collectors().allocate("more", 1 << 16).expect("room");
    let again = Attach::to(0, "more").through_host();
    let second = drive.collectors().attach(&again).err().expect("refused");
    assert!(second.to_string().contains("in use"), "{second}");
    drive.collectors().detach(first).expect("it ends");
    drive.collectors().attach(&again).expect("it is free again");
}
