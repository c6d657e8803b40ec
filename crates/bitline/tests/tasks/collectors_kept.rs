//! What collectors leave after a power cut, and how many of them share a drive.

use bitline::inside::InsideDrive;
use bitline::inside::nvme::collector::{CollectorState, Policy};
use bitline::{Attach, Collector, Drive, Pace};
use sim::Span;

use crate::collectors::{Counting, FAST, allocate, attach, bytes, drive, status, wait};
use crate::cut;

/// At each of many instants the power goes: what is told then is there, and it is what was sent first.
#[test]
fn a_power_cut_leaves_the_beginning_of_what_was_sent() {
    let (mut told_before, mut kept_most) = (0, 0);
    for instant in 1..=60 {
        let mut drive = drive(&[("collector.position_bytes", "16384")]);
        allocate(&mut drive, "frames", 1 << 20);
        let collector = attach(&mut drive, &Attach::to(0, "frames").wired(FAST));
        let source = Counting::new(&[1500, 900], 400_000, Span::from_us(60));
        drive.collectors().send(&collector, source).expect("power");
        let span = Span::from_us(277 * instant);
        wait(&mut drive, span);
        let acknowledged = drive.inside_position(0);
        cut(&mut drive);
        let records = drive.collectors().list().expect("power");
        assert_eq!(records.len(), 1, "it is known");
        let record = records[0];
        assert_eq!(record.state, CollectorState::Over.code());
        let kept = record.bytes.get();
        assert!(kept >= acknowledged, "{kept} of {acknowledged}");
        let stored = drive
            .volume()
            .read_at("frames", 0, kept)
            .expect("it is there");
        assert!(
            stored == bytes(0, kept),
            "instant {instant}: {kept} bytes are not what was sent first"
        );
        told_before += u32::from(acknowledged > 0);
        kept_most = kept_most.max(kept);
        // It goes on where it was, or it is over.
        if instant % 2 == 0 {
            let again = Attach::to(0, "frames").wired(FAST).going_on();
            let collector = attach(&mut drive, &again);
            let mut rest = Counting::new(&[4000], kept + 50_000, Span::from_us(60));
            rest.at = kept;
            drive.collectors().send(&collector, rest).expect("power");
            drive.collectors().run(&collector).expect("power");
            assert_eq!(
                drive.collectors().detach(collector).expect("it ends"),
                kept + 50_000
            );
            let stored = drive.volume().read("frames").expect("it is there");
            assert!(stored == bytes(0, kept + 50_000), "instant {instant}");
        } else {
            assert_eq!(drive.collectors().settle(0).expect("it has ended"), kept);
            let object = drive.volume().get("frames").expect("power").expect("there");
            assert_eq!(object.content.bytes(), kept);
        }
        assert!(drive.collectors().list().expect("power").is_empty());
    }
    assert!(
        told_before > 20 && kept_most > 100_000,
        "{told_before} {kept_most}"
    );
}

trait Position {
    /// Bytes of which the drive would tell now that they are there for good.
    fn inside_position(&self, port: u32) -> u64;
}

impl Position for Drive {
    fn inside_position(&self, port: u32) -> u64 {
        let device = self.device().expect("power");
        let records = device
            .collectors
            .list(bitline::inside::nvme::NamespaceId::new(1));
        let mut records = records.iter();
        let record = records.find(|record| record.port.get() == port);
        record.map_or(0, |record| record.bytes.get())
    }
}

/// A source that is faster than flash, by each policy; what is kept, held against a few lines.
/// Bytes of a packet of the next test, which tells its number at its beginning and its end.
const PACKET: usize = 600;

fn packet(port: u16, number: u64) -> Vec<u8> {
    let mut packet = vec![port as u8; PACKET];
    packet[..8].copy_from_slice(&number.to_le_bytes());
    packet[PACKET - 8..].copy_from_slice(&number.to_le_bytes());
    packet
}

/// Packets of a port, one after the other.
struct Numbered {
    port: u16,
    number: u64,
    count: u64,
    interval: Span,
}

impl bitline::Source for Numbered {
    fn next(&mut self) -> Option<bitline::Packet> {
        let number = self.number;
        self.number += 1;
        (number < self.count).then(|| bitline::Packet {
            after: self.interval,
            data: packet(self.port, number),
        })
    }
}

/// That these bytes are packets of a port in order, each whole but for the last; gives the number of each.
fn whole_packets(port: u16, kept: &[u8]) -> Vec<u64> {
    let number_of = |part: &[u8]| u64::from_le_bytes(*part.first_chunk().expect("eight bytes"));
    let mut numbers = Vec::new();
    for part in kept.chunks(PACKET) {
        if part.len() < 8 {
            break;
        }
        let number = number_of(part);
        assert!(
            part == &packet(port, number)[..part.len()],
            "a packet that was not sent"
        );
        numbers.push(number);
    }
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    numbers
}

/// At any of 150 instants, with four ports and each policy: what is kept is in order and without holes, and what the drive told
/// of is there.
#[test]
fn a_power_cut_leaves_whole_packets_in_order_whatever_is_dropped() {
    let (mut told_of, mut dropped) = (0, [0; 3]);
    for instant in 0..150_u64 {
        let policy = Policy::ALL[(instant % 3) as usize];
        let mut drive = drive(&[("collector.position_bytes", "4096")]);
        let all: Vec<Collector> = (0..4_u16)
            .map(|port| {
                let name = format!("frames {port}");
                allocate(&mut drive, &name, 1 << 20);
                let to = Attach::to(port, name).wired(FAST).policy(policy);
                attach(&mut drive, &to.share(64 << 10))
            })
            .collect();
        for collector in &all {
            let port = collector.port();
            let source = Numbered {
                port,
                number: 0,
                count: 5_000,
                // Each port sends faster than a quarter of flash takes it.
                interval: Span::from_us(20 + 7 * u64::from(port)),
            };
            drive.collectors().send(collector, source).expect("power");
        }
        wait(&mut drive, Span::from_us(97 + 151 * instant));
        let before: Vec<u64> = (0..4).map(|port| drive.inside_position(port)).collect();
        let lost = drive.statistics().expect("power").collectors;
        dropped[(instant % 3) as usize] += lost.dropped_newest + lost.dropped_oldest;
        cut(&mut drive);
        for (port, told) in (0..4_u16).zip(before) {
            let kept = drive.inside_position(port.into());
            assert!(kept >= told, "port {port}: {kept} of {told}");
            let stored = drive.volume().read_at(&format!("frames {port}"), 0, kept);
            let numbers = whole_packets(port, &stored.expect("it is there"));
            let holes = numbers
                .iter()
                .zip(0..)
                .any(|(number, wanted)| *number != wanted);
            assert!(!holes || policy != Policy::Stall, "a hole: {numbers:?}");
            told_of += u32::from(told > 0);
            assert_eq!(drive.collectors().settle(port).expect("it has ended"), kept);
        }
    }
    assert!(told_of > 300, "{told_of}");
    assert_eq!(dropped[0], 0, "who is held back loses nothing");
    assert!(dropped[1] > 0 && dropped[2] > 0, "{dropped:?}");
}

/// Two hundred cameras: each has what it sends where flash takes that of all, and an equal share where it does not.
#[test]
fn two_hundred_collectors_share_a_drive_fairly() {
    const COUNT: u16 = 200;
    const EACH: u64 = 512 << 10;
    // Four dies of two planes; 4096 bytes a page, programmed in 700 us.
    let flash = 4.0 * 4096.0 / 700e-6;
    for (sent, is_too_much) in [(0.5 * flash, false), (2.0 * flash, true)] {
        let mut drive = crate::drive(&[
            ("data.storage", "none"),
            ("nand.geometry.blocks_per_plane", "8000"),
            ("collector.position_bytes", "1073741824"),
            ("collector.position_us", "50000"),
        ]);
        let all: Vec<Collector> = (0..COUNT)
            .map(|port| {
                let name = format!("frames {port}");
                allocate(&mut drive, &name, EACH);
                attach(&mut drive, &Attach::to(port, name).wired(FAST))
            })
            .collect();
        for collector in &all {
            let pace = Pace::even(sent / f64::from(COUNT));
            let begun = drive.collectors().generate(collector, pace, 4096, EACH);
            begun.expect("power");
        }
        // Buffers are full, and everybody has had his turn often.
        let taken = |drive: &mut Drive| -> Vec<u64> {
            let told = all.iter().map(|collector| status(drive, collector));
            told.map(|record| record.bytes.get()).collect()
        };
        let wait_for = |drive: &mut Drive, seconds: f64| {
            wait(drive, Span::from_us((seconds * 1e6) as u64));
        };
        wait_for(&mut drive, 1.0);
        let (before, begun) = (taken(&mut drive), drive.now());
        wait_for(&mut drive, 2.0);
        let seconds = drive.now().since(begun).as_seconds();
        let came: Vec<u64> = taken(&mut drive)
            .iter()
            .zip(before)
            .map(|(now, then)| now - then)
            .collect();
        let rate = came.iter().sum::<u64>() as f64 / seconds;
        let (least, most) = (
            *came.iter().min().expect("some"),
            *came.iter().max().expect("some"),
        );
        // What is in a turn, a page in each of four planes, and what came since the journal was last told.
        let mean = rate * seconds / f64::from(COUNT);
        assert!(
            (most - least) as f64 <= 0.01 * mean + 6.0 * 4096.0,
            "{least} to {most}"
        );
        let wanted = sent.min(flash);
        assert!(
            (0.95 * wanted..1.01 * wanted).contains(&rate),
            "{rate} of {wanted}"
        );
        let stalled = drive.statistics().expect("power").collectors.stalled_ns;
        assert_eq!(stalled > 0, is_too_much);
    }
}
