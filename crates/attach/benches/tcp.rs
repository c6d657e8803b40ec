//! How fast reads over NVMe/TCP are beside a bare copy over loopback TCP, which take turns, as machines differ from one second to
//! the next: 1-MiB reads, and 4-KiB reads a second.

#[path = "common/mod.rs"]
mod common;
#[path = "../tests/initiator/mod.rs"]
mod initiator;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use attach::engine::{Engine, Pace};
use attach::tcp::{Listen, SUBSYSTEM_NQN, Server, ServerOptions};
use bitline::{Config, Drive};
use common::median;
use initiator::{Connection, Host, blocks};
use nvme::command::opcode;
use nvme::fabrics::Sgl;
use nvme::fabrics::pdu::{CapsuleCommand, CommonHeader, Digests, PduType};
use zerocopy::IntoBytes;

const MIB: usize = 1 << 20;
/// Bytes that hold data and are read.
const WRITTEN: usize = 64 * MIB;
const LASTS: Duration = Duration::from_secs(1);
const ROUNDS: usize = 5;

fn main() {
    // `cargo test` runs benches to see that they work.
    let (lasts, count) = match std::env::args().any(|argument| argument == "--bench") {
        true => (LASTS, ROUNDS),
        false => (Duration::from_millis(50), 1),
    };
    let open = || Drive::open(Config::preset(bitline::DEFAULT_PRESET)?);
    let engine = Engine::start(open, Pace::None).expect("a drive");
    let mut options = ServerOptions::default();
    options.listen = vec![Listen::Tcp("127.0.0.1:0".parse().expect("an address"))];
    let server = Server::start(engine.handle(), &options).expect("a port");
    let mut host = Host::connect(server.addresses()[0], SUBSYSTEM_NQN, Digests::default());
    let data: Vec<u8> = (0..MIB).map(|at| (at % 253) as u8).collect();
    for at in 0..WRITTEN / MIB {
        host.io.write((at * MIB / 4096) as u64, &data);
    }
    let depths = [1, 4, 8, 16];
    let mut rounds: Vec<[(f64, f64); 4]> = Vec::new();
    for _ in 0..count {
        rounds.push(depths.map(|depth| {
            let bare = bare_copy(lasts);
            let (reads, seconds) = pipelined(&mut host.io, MIB, depth, lasts);
            (reads as f64 * MIB as f64 / seconds, bare)
        }));
    }
    let bare = median(rounds.iter().flatten().map(|(_, bare)| *bare));
    println!(
        "bare loopback TCP copy, 1-MiB writes and reads: {:.2} GB/s",
        bare / 1e9
    );
    for (at, depth) in depths.iter().enumerate() {
        println!(
            "1-MiB reads, queue depth {depth}: {:.2} GB/s, {:.2} of the bare copy before them",
            median(rounds.iter().map(|round| round[at].0)) / 1e9,
            median(rounds.iter().map(|round| round[at].0 / round[at].1)),
        );
    }
    println!("medians of {count} rounds");
    for depth in [1, 32, 64] {
        let before = processor_seconds();
        let (reads, seconds) = pipelined(&mut host.io, 4096, depth, lasts);
        let spent = processor_seconds() - before;
        println!(
            "4-KiB reads, queue depth {depth}: {:.0} a second, {:.1} us of a processor for each, the host's and the drive's work included",
            reads as f64 / seconds,
            spent * 1e6 / reads as f64
        );
    }
    server.close();
    engine.close().expect("no image");
}

/// Time that this process has had a processor: on a machine that does other things, too, it tells more than what went by.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    let ticks: f64 = ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    // USER_HZ is 100 on every Linux.
    ticks / 100.0
}

/// Bytes a second that one thread sends and another receives.
fn bare_copy(lasts: Duration) -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address: SocketAddr = listener.local_addr().expect("an address");
    let sender = thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("the receiver");
        let data = vec![7; MIB];
        while socket.write_all(&data).is_ok() {}
    });
    let mut socket = TcpStream::connect(address).expect("the sender");
    let (mut data, mut bytes, began) = (vec![0; MIB], 0, Instant::now());
    while began.elapsed() < lasts {
        socket.read_exact(&mut data).expect("more of it");
        bytes += MIB;
    }
    let seconds = began.elapsed().as_secs_f64();
    drop(socket);
    sender.join().expect("it ends with the socket");
    bytes as f64 / seconds
}

/// Reads of so many bytes, so many at a time; gives how many were done, and in how many seconds.
fn pipelined(io: &mut Connection, bytes: usize, depth: u16, lasts: Duration) -> (u64, f64) {
    let count = (bytes / 4096) as u32;
    let places = (WRITTEN / bytes) as u64;
    let command = |id: u16, number: u64| {
        let mut entry = blocks(opcode::READ, number * 7 % places * u64::from(count), count);
        entry.command_id.set(id);
        let length = bytes as u32;
        Sgl::Transport { length }.encode_into(&mut entry);
        CapsuleCommand {
            header: CommonHeader::without_data(PduType::Command),
            entry,
        }
    };
    let (mut sent, mut done) = (0, 0);
    for id in 0..depth {
        io.send(command(id, sent).as_bytes());
        sent += 1;
    }
    // The data of what comes, in portions as they are: a header says how long it is.
    let mut buffer = vec![0; bytes.max(64 << 10) + 64];
    let (mut have, mut next) = (0, Vec::new());
    let began = Instant::now();
    while done < sent {
        have += io.socket.read(&mut buffer[have..]).expect("an answer");
        let mut at = 0;
        while have - at >= 24 {
            let length =
                u32::from_le_bytes(buffer[at + 4..at + 8].try_into().expect("four")) as usize;
            if have - at < length {
                break;
            }
            // Without flow control a C2HData that succeeds is the last of a command.
            if buffer[at] == PduType::C2hData as u8 {
                assert_eq!(length, 24 + bytes);
                let id = u16::from_le_bytes([buffer[at + 8], buffer[at + 9]]);
                done += 1;
                if began.elapsed() < lasts {
                    next.extend_from_slice(command(id, sent).as_bytes());
                    sent += 1;
                }
            }
            at += length;
        }
        buffer.copy_within(at..have, 0);
        have -= at;
        if !next.is_empty() {
            io.send(&next);
            next.clear();
        }
    }
    (done, began.elapsed().as_secs_f64())
}
