//! Random PDUs. `BITLINE_FUZZ_PDUS` says how many; `make fuzz` sends a million.

use std::time::{Duration, Instant};

use nvme::fabrics::pdu::{Digests, PduType};
use nvme::fabrics::{FABRICS_OPCODE, KEEP_ALIVE_OPCODE, Sgl};
use nvme::{AsyncEvent, Status, SubmissionEntry};

use super::made::{
    AnyDrive, Numbers, asked_data, capsule, connect, enable, initialize, pdus, sent,
};
use crate::tcp::facts::DriveFacts;
use crate::tcp::message::Told;
use crate::tcp::options::{SUBSYSTEM_NQN, ServerOptions};
use crate::tcp::target::Target;

const PDUS: u64 = 100_000;
const CONNECTIONS: usize = 8;

/// What a host knows of a connection of its.
struct Peer {
    key: usize,
    digests: Digests,
    is_initialized: bool,
    /// None before it is connected.
    queue: Option<u16>,
    /// What was asked for and is not sent: command, tag, where, and how much.
    asked: Vec<(u16, u16, u32, u32)>,
    next_id: u16,
    is_mangled: bool,
}

#[test]
fn random_pdus_end_in_specified_answers() {
    let wanted = std::env::var("BITLINE_FUZZ_PDUS").ok();
    let wanted = wanted.map_or(PDUS, |text| text.parse().expect("a number"));
    let began = Instant::now();
    let options = ServerOptions {
        buffered_bytes_max: 2 << 20,
        connection_bytes_max: 1 << 20,
        ..ServerOptions::default()
    };
    let mut target = Target::new(&options, Vec::new(), DriveFacts::default());
    let (mut numbers, mut drive) = (Numbers::new(31), AnyDrive::default());
    let (mut peers, mut pdus_sent, mut answers, mut ended) = (Vec::new(), 0, 0, 0);
    let mut controllers = vec![1];
    while pdus_sent < wanted {
        while peers.len() < CONNECTIONS {
            let key = target.open(None).expect("room for another");
            peers.push(Peer {
                key,
                digests: Digests::of(numbers.below(4) as u8),
                is_initialized: false,
                queue: None,
                asked: Vec::new(),
                next_id: 0,
                is_mangled: false,
            });
        }
        let place = numbers.below(peers.len() as u64) as usize;
        let mut bytes = peers[place].next(&mut numbers, &controllers);
        if numbers.one_in(24) {
            mangle(&mut bytes, &mut numbers);
            peers[place].is_mangled = true;
        }
        pdus_sent += 1;
        let key = peers[place].key;
        deliver(&mut target, key, &bytes, &mut numbers);
        drive.take(&mut target);
        while !drive.commands.is_empty() && (drive.commands.len() > 100 || numbers.one_in(2)) {
            let one = numbers.below(drive.commands.len() as u64) as usize;
            let status =
                numbers.choose(&[Status::SUCCESS, Status::SUCCESS, Status::LBA_OUT_OF_RANGE]);
            let loses = numbers.one_in(50);
            let status = if loses {
                Status::ABORT_REQUESTED
            } else {
                status
            };
            drive.answer(one, status, &mut target, loses);
        }
        if numbers.one_in(200) {
            target.told(Told::Event(AsyncEvent::TEMPERATURE, Vec::new()));
        }
        target.feed();
        drive.take(&mut target);
        for peer in &mut peers {
            // Some are slow to read.
            if numbers.one_in(3) {
                answers += peer.hear(&mut target, &mut controllers);
            }
        }
        let (_, _, buffered) = target.present();
        assert!(
            buffered <= (2 << 20) + CONNECTIONS as u64 * (1 << 20),
            "{buffered} bytes"
        );
        if numbers.one_in(5000) {
            let late = Duration::from_secs(pdus_sent / 100);
            target.set_time(late);
            target.look_around();
        }
        if numbers.one_in(2000) {
            target.close(peers[place].key);
        }
        let gone = target.take_closed();
        let mut touched = Vec::new();
        target.take_touched(&mut touched);
        peers.retain(|peer| !gone.contains(&peer.key));
        let over: Vec<usize> = peers.iter().map(|peer| peer.key).collect();
        for key in over {
            if target.connection(key).is_some_and(|one| one.is_over()) {
                ended += 1;
                target.close(key);
            }
        }
        let gone = target.take_closed();
        peers.retain(|peer| !gone.contains(&peer.key));
    }
    for peer in peers {
        target.close(peer.key);
    }
    while !drive.commands.is_empty() {
        drive.answer(0, Status::SUCCESS, &mut target, false);
    }
    let (connections, controllers, buffered) = target.present();
    assert_eq!(
        (connections, controllers, buffered),
        (0, 0, 0),
        "all is given back"
    );
    assert!(answers > pdus_sent / 4, "only {answers} PDUs came back");
    assert!(ended > 0, "no connection was ended for what was wrong");
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{pdus_sent} PDUs in {seconds:.1} s ({:.0} a second): {answers} answers, {ended} connections ended",
        pdus_sent as f64 / seconds
    );
}

impl Peer {
    /// The next PDU of a host that means well, most of the time.
    fn next(&mut self, numbers: &mut Numbers, controllers: &[u16]) -> Vec<u8> {
        self.next_id = (self.next_id + 1) % 256;
        let (id, digests) = (self.next_id, self.digests);
        if !self.is_initialized {
            self.is_initialized = true;
            return initialize(digests);
        }
        let Some(queue) = self.queue else {
            let queue = numbers.choose(&[0, 0, 1, 2]);
            let controller = if queue == 0 {
                0xFFFF
            } else {
                numbers.choose(controllers)
            };
            let name = numbers.choose(&[SUBSYSTEM_NQN, nvme::fabrics::DISCOVERY_NQN]);
            self.queue = Some(queue);
            return connect(id, name, controller, queue, digests);
        };
        if !self.asked.is_empty() && !numbers.one_in(3) {
            let (command, tag, at, length) = self.asked.swap_remove(0);
            return asked_data(command, tag, at, &vec![7; length as usize], digests);
        }
        if queue == 0 && numbers.one_in(6) {
            return enable(id, digests);
        }
        let admin = [
            0x06,
            0x02,
            0x0C,
            0x08,
            0x09,
            0x0A,
            KEEP_ALIVE_OPCODE,
            FABRICS_OPCODE,
            0x80,
            0x05,
        ];
        let io = [
            0x00,
            0x01,
            0x02,
            0x01,
            0x02,
            0x09,
            0x82,
            0x92,
            0x96,
            0x99,
            0xA3,
            FABRICS_OPCODE,
        ];
        let opcode = match queue {
            0 => numbers.choose(&admin),
            _ => numbers.choose(&io),
        };
        let mut entry =
            SubmissionEntry::new(opcode, nvme::CommandId::new(id), nvme::NamespaceId::new(1));
        entry
            .cdw10
            .set(numbers.choose(&[1, 2, 7, 0x0B, 0x0F, 0x70, 64, 0x10_0001]));
        entry.cdw11.set(numbers.below(300) as u32);
        entry.cdw12.set(numbers.below(300) as u32);
        if opcode == FABRICS_OPCODE {
            entry.namespace_id.set(numbers.below(9) as u32);
        }
        let length = numbers.choose(&[0, 64, 512, 4096, 4096, 8192, 65536, 1 << 20]);
        let may_be_inside = length <= 8192 && opcode & 3 == 1;
        if may_be_inside && numbers.one_in(2) {
            Sgl::InCapsule { offset: 0, length }.encode_into(&mut entry);
            return capsule(entry, id, &vec![3; length as usize], digests);
        }
        Sgl::Transport { length }.encode_into(&mut entry);
        capsule(entry, id, &[], digests)
    }

    /// Takes what was sent; says how many PDUs.
    fn hear(&mut self, target: &mut Target, controllers: &mut [u16]) -> u64 {
        let bytes = sent(target, self.key);
        if self.is_mangled && bytes.is_empty() {
            return 0;
        }
        // A mangled ICReq may have agreed on other digests.
        let mut rest = &bytes[..];
        if bytes.first() == Some(&(PduType::InitializeResponse as u8)) {
            self.digests = Digests::of(bytes[11]);
            rest = &bytes[128..];
        }
        let all = pdus(rest, self.digests);
        let count = all.len() as u64;
        for (kind, header, _) in all {
            let word = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
            let long = |at: usize| u32::from(word(at)) | u32::from(word(at + 2)) << 16;
            match kind {
                PduType::ReadyToTransfer => {
                    self.asked.push((word(8), word(10), long(12), long(16)));
                }
                // A Connect of an admin queue says which controller it has.
                PduType::Response if self.queue == Some(0) && word(8) != 0 => {
                    controllers[0] = word(8);
                }
                _ => {}
            }
        }
        count
    }
}

/// Changes some bits, most of them of the header, or cuts it off.
fn mangle(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    for _ in 0..=numbers.below(3) {
        let within = match numbers.one_in(4) {
            true => bytes.len(),
            false => bytes.len().min(80),
        };
        let place = numbers.below(within as u64) as usize;
        bytes[place] ^= 1 << numbers.below(8);
    }
    if numbers.one_in(8) {
        bytes.truncate(numbers.below(bytes.len() as u64) as usize + 1);
    }
}

/// Hands bytes over in portions, some of them read to where they belong.
fn deliver(target: &mut Target, key: usize, mut bytes: &[u8], numbers: &mut Numbers) {
    while !bytes.is_empty() {
        let Some(connection) = target.connection(key) else {
            return;
        };
        if let Some(place) = connection.direct() {
            let length = place.len().min(bytes.len());
            place[..length].copy_from_slice(&bytes[..length]);
            target.received_directly(key, length);
            bytes = &bytes[length..];
            continue;
        }
        let most = numbers.choose(&[1, 7, 30, 200, 5000, usize::MAX]);
        let (portion, rest) = bytes.split_at(bytes.len().min(most));
        target.receive(key, portion);
        bytes = rest;
    }
}
