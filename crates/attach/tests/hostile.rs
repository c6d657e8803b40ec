//! Targets that are none, or mean no good: each gives an error that says what was wrong, and nothing hangs.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use attach::initiator::{Address, Initiator, Options};
use nvme::fabrics::pdu::{
    C2hData, CapsuleResponse, CommonHeader, Digests, FatalError, InitializeResponse, PduType,
    ReadyToTransfer, Terminate,
};
use nvme::{CommandId, CompletionEntry, QueueId, Status};
use zerocopy::IntoBytes;

/// The identifier of a host's own commands, such as Connect.
const OWN: u16 = 0xFFFD;

/// What a host makes of a target that does so with its connection; in no longer than some seconds.
fn refused(script: impl FnOnce(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("it listens").port();
    let target = thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a host");
        script(stream);
    });
    let address = format!("nvme+tcp://127.0.0.1:{port}/nqn.test");
    let address: Address = address.parse().expect("an address");
    let mut options = Options::default();
    options.timeout = Duration::from_millis(500);
    let begun = Instant::now();
    let error = Initiator::connect(&address, options).err();
    assert!(begun.elapsed() < Duration::from_secs(10), "it hung");
    target.join().expect("it does as it is told");
    let error = error.expect("no drive").to_string();
    assert!(error.contains(&address.to_string()), "{error}");
    error
}

/// Answers ICReq, and takes in Connect.
fn initialized(stream: &mut TcpStream) {
    let mut request = [0; 128];
    stream.read_exact(&mut request).expect("ICReq");
    let response = InitializeResponse::new(Digests::default(), 4096);
    stream.write_all(response.as_bytes()).expect("a host");
    let mut connect = [0; 72 + 1024];
    stream.read_exact(&mut connect).expect("Connect");
}

/// Waits until the host has gone.
fn until_gone(mut stream: TcpStream) {
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
}

/// What a host makes of this as the answer to its first command.
fn heard(bytes: Vec<u8>) -> String {
    refused(move |mut stream| {
        initialized(&mut stream);
        let _ = stream.write_all(&bytes);
        until_gone(stream);
    })
}

fn answer(command: u16, status: Status) -> Vec<u8> {
    let id = CommandId::new(command);
    let response = CapsuleResponse {
        header: CommonHeader::without_data(PduType::Response),
        entry: CompletionEntry::new(id, QueueId::new(0), 0, status, false),
    };
    response.as_bytes().to_vec()
}

#[test]
fn who_does_not_answer_is_not_waited_for() {
    let closed = refused(drop);
    assert!(closed.contains("connection"), "{closed}");
    let silent = refused(until_gone);
    assert!(silent.contains("no answer"), "{silent}");
    let silent = heard(Vec::new());
    let is_told = silent.contains("no answer within") || silent.contains("nothing was heard");
    assert!(is_told, "{silent}");
    let ended = refused(|mut stream| initialized(&mut stream));
    assert!(ended.contains("the connection broke"), "{ended}");
}

#[test]
fn a_closed_port_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("it listens").port();
    drop(listener);
    let address = format!("nvme+tcp://127.0.0.1:{port}");
    let refused = Initiator::connect(&address.parse().expect("one"), Options::default());
    let refused = refused.err().expect("nobody listens").to_string();
    assert!(refused.contains("refused"), "{refused}");
}

#[test]
fn other_protocols_are_told() {
    let web = refused(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        until_gone(stream);
    });
    assert!(web.contains("no NVMe/TCP controller"), "{web}");
    // PFV, CPDA, DGST, MAXH2CDATA.
    for (byte, value) in [(8, 7), (10, 99), (11, 3), (13, 0)] {
        let wrong = refused(move |mut stream| {
            let response = InitializeResponse::new(Digests::default(), 4096);
            let mut bytes = response.as_bytes().to_vec();
            bytes[byte] = value;
            let _ = stream.write_all(&bytes);
            until_gone(stream);
        });
        assert!(wrong.contains("no NVMe/TCP controller"), "{wrong}");
    }
}

#[test]
fn pdus_that_cannot_be_end_the_connection() {
    for seed in 1..30_u64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let bytes = (0..200).map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        });
        assert!(!heard(bytes.collect()).is_empty());
    }
    let other = heard(answer(77, Status::SUCCESS));
    assert!(other.contains("broke the protocol"), "{other}");
    let refused = heard(answer(OWN, Status::INVALID_FIELD));
    assert!(refused.contains("Connect of queue 0"), "{refused}");
    let end = Terminate::by_controller(FatalError::LimitExceeded, 0, 0);
    let ended = heard(end.as_bytes().to_vec());
    assert!(ended.contains("LimitExceeded"), "{ended}");
}

#[test]
fn data_that_nobody_has_room_for_ends_the_connection() {
    let mut data = C2hData {
        header: CommonHeader::with_data(PduType::C2hData, Digests::default(), 64, 4),
        command_id: OWN.into(),
        length: 64.into(),
        ..C2hData::default()
    };
    let unasked = heard([data.as_bytes(), &[0; 64]].concat());
    assert!(unasked.contains("DataOutOfRange"), "{unasked}");
    data.length.set(63);
    let wrong = heard([data.as_bytes(), &[0; 64]].concat());
    assert!(wrong.contains("InvalidHeaderField"), "{wrong}");
    // All data of Connect was in its capsule.
    for (offset, length) in [(0, 1), (0, 0), (u32::MAX, u32::MAX)] {
        let ready = ReadyToTransfer {
            header: CommonHeader::without_data(PduType::ReadyToTransfer),
            command_id: OWN.into(),
            offset: offset.into(),
            length: length.into(),
            ..ReadyToTransfer::default()
        };
        let beyond = heard(ready.as_bytes().to_vec());
        assert!(beyond.contains("DataOutOfRange"), "{beyond}");
    }
}
