//! A drive over NVMe/TCP, with a small host of the test's own.

mod initiator;

use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use attach::engine::{Engine, Pace, Served};
use attach::tcp::{Listen, SUBSYSTEM_NQN, Server, ServerOptions};
use bitline::inside::InsideHost;
use bitline::{Config, Content, Drive, Loading, StreamRun, TaskFile, TaskLimits, TaskRun};
use initiator::{Connection, HOST_NQN, Host, entry};
use nvme::command::{IoCommand, StreamCommand, StreamRead, opcode};
use nvme::fabrics::pdu::Digests;
use nvme::fabrics::{
    DISCOVERY_NQN, DYNAMIC_CONTROLLER, DiscoveryEntry, KEEP_ALIVE_OPCODE, Property, fabrics_status,
};
use nvme::identify::IdentifyController;
use nvme::{CommandId, DataPointer, Expression, Lba, NamespaceId, Status};
use zerocopy::FromBytes;

/// Blocks of a flash page: operands of expressions begin at its multiples.
const CHUNK_BLOCKS: u64 = 4;

/// A drive in memory, and its server at a port of its own.
fn served(options: ServerOptions) -> (Engine, Server) {
    let open = || Drive::open(Config::preset(bitline::DEFAULT_PRESET)?);
    let engine = Engine::start(open, Pace::None).expect("a drive");
    let server = Server::start(engine.handle(), &options).expect("a port");
    (engine, server)
}

fn options() -> ServerOptions {
    let mut options = ServerOptions::default();
    options.listen = vec![Listen::Tcp("127.0.0.1:0".parse().expect("an address"))];
    options
}

#[test]
fn a_host_discovers_connects_writes_and_reads() {
    let (engine, server) = served(options());
    let address = server.addresses()[0];
    let mut discovery = Connection::tcp(address).initialize(Digests::default());
    discovery
        .connect(DISCOVERY_NQN, HOST_NQN, DYNAMIC_CONTROLLER, 0, 32)
        .expect("discovery");
    discovery.set_property(Property::Configuration, initiator::ENABLED);
    let mut log = entry(opcode::GET_LOG_PAGE, 0);
    log.cdw10.set(0x70 | (3 * 1024 / 4 - 1) << 16);
    let page = discovery.command(log, &[], 3 * 1024).data;
    assert_eq!(page[8], 2, "records");
    let found = DiscoveryEntry::read_from_bytes(&page[2048..]).expect("an entry");
    assert_eq!(found.address(), "127.0.0.1");
    assert_eq!(found.service(), address.port().to_string());
    for digests in (0..4).map(Digests::of) {
        let mut host = Host::connect(address, SUBSYSTEM_NQN, digests);
        let mut identify = entry(opcode::IDENTIFY, 0);
        identify.cdw10.set(1);
        let page = host.admin.command(identify, &[], 4096).data;
        let (page, _) = IdentifyController::read_from_prefix(&page).expect("a page");
        assert_eq!(page.controller_id.get(), host.controller);
        assert_eq!(page.io_command_capsule.get(), (64 + 8192) / 16);
        assert_eq!(page.max_data_transfer, 10);
        // SGLs, by offset into the capsule, and of the transport.
        assert_eq!(page.sgl_support.get(), 1 | 1 << 20 | 1 << 21);
        let kept = host.admin.command(entry(KEEP_ALIVE_OPCODE, 0), &[], 0);
        assert!(kept.status().is_success());
        // In the capsule, by one R2T, by several PDUs.
        for blocks in [1, 2, 3, 64, 1024] {
            let data: Vec<u8> = (0..blocks * 4096).map(|at| (at % 251) as u8).collect();
            host.io.write(7, &data);
            assert!(host.io.read(7, blocks as u32) == data, "{blocks} blocks");
        }
        let flushed = host.io.command(entry(opcode::FLUSH, 1), &[], 0);
        assert!(flushed.status().is_success());
        let mut far = initiator::blocks(opcode::READ, 1 << 40, 1);
        far.cdw2[0].set(0);
        let refused = host.io.command(far, &[], 4096);
        assert!(refused.status().is(Status::LBA_OUT_OF_RANGE));
    }
    drop(server);
    engine.close().expect("no image");
}

#[test]
fn a_unix_socket_speaks_the_same() {
    let folder = std::env::temp_dir().join(format!("bitline-tcp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("drive.sock");
    let mut options = options();
    options.listen = vec![Listen::Unix(path.clone())];
    let (_engine, server) = served(options);
    let connection = || {
        let socket = UnixStream::connect(&path).expect("somebody listens");
        Connection::over(Box::new(socket)).initialize(Digests::default())
    };
    let mut host = Host::over(connection, SUBSYSTEM_NQN);
    host.io.write(0, &[5; 8192]);
    assert!(host.io.read(0, 2).iter().all(|byte| *byte == 5));
    server.close();
    assert!(!path.exists(), "the socket goes with the server");
    std::fs::remove_dir_all(&folder).expect("it is there");
}

#[test]
fn who_is_not_on_the_list_is_refused() {
    let mut options = options();
    options.allowed_hosts = Some(vec!["nqn.2026-11.org.example:friend".into()]);
    let (_engine, server) = served(options);
    let connect = |subsystem: &str, host: &str| {
        let mut connection = Connection::tcp(server.addresses()[0]).initialize(Digests::default());
        connection.connect(subsystem, host, DYNAMIC_CONTROLLER, 0, 32)
    };
    let (status, _) = connect(SUBSYSTEM_NQN, HOST_NQN).expect_err("a stranger");
    assert!(status.is(fabrics_status::INVALID_HOST) && status.do_not_retry());
    let friend = "nqn.2026-11.org.example:friend";
    assert!(connect(SUBSYSTEM_NQN, friend).is_ok());
    let (status, place) = connect("nqn.2026-11.io.bitline:other", friend).expect_err("no such");
    assert!(status.is(fabrics_status::INVALID_PARAMETERS));
    assert_eq!(place, 0x1_0100, "SUBNQN, in the data");
}

/// Commands whose data flows both ways, or whose input lies at the metadata pointer, cross as the drive's own host sends them.
#[test]
fn vendor_commands_pass() {
    let (_engine, server) = served(options());
    let mut host = Host::connect(server.addresses()[0], SUBSYSTEM_NQN, Digests::of(3));
    let mut report = entry(opcode::REGION_REPORT, 1);
    report.cdw11.set(4);
    let report = host.io.command(report, &[], 4096);
    assert!(report.status().is_success(), "{}", report.status());
    // Two pages of bits, written as any data, and their AND: the expression crosses first, then the result.
    let page = |byte: u8| vec![byte; CHUNK_BLOCKS as usize * 4096];
    host.io.write(0, &page(0b1100));
    host.io.write(CHUNK_BLOCKS, &page(0b1010));
    let operand = |lba| Expression::Vector(Lba::new(lba));
    let expression = operand(0) & operand(CHUNK_BLOCKS);
    let expression = expression.encode().expect("it is short");
    let mut sense = entry(opcode::FC_READ, 1);
    sense.cdw10.set(expression.len() as u32);
    // The controller evaluates it, as the pages are not placed.
    sense.cdw11.set(2);
    sense.cdw12.set(CHUNK_BLOCKS as u32 * 4096 * 8);
    let length = CHUNK_BLOCKS as u32 * 4096;
    let sensed = host.io.command(sense, &expression, length);
    assert!(sensed.status().is_success(), "{}", sensed.status());
    assert!(sensed.data.iter().all(|byte| *byte == 0b1000));
    // An expression that is none: the drive has read it and says so.
    let refused = host
        .io
        .command(sense, &vec![0xFF; expression.len()], length);
    assert!(
        refused.status().is(Status::INVALID_EXPRESSION),
        "{}",
        refused.status()
    );
    let mut create = entry(opcode::CREATE_COMPLETION_QUEUE, 0);
    create.cdw10.set(0x0010_0001);
    let refused = host.admin.command(create, &[], 0);
    assert!(refused.status().is(Status::INVALID_OPCODE));
}

/// Waits until the server has noticed.
fn until(server: &Server, is_so: impl Fn(&attach::tcp::ServerSnapshot) -> bool) {
    let began = std::time::Instant::now();
    while !is_so(&server.snapshot()) {
        let waited = began.elapsed();
        assert!(waited.as_secs() < 30, "{:?}", server.snapshot());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_thousand_connections_are_served() {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let files = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let files = files.and_then(|line| line.split_whitespace().nth(3)?.parse().ok());
    // Both ends are in this process.
    if files.is_some_and(|files: u64| files < 2200) {
        eprintln!("SKIPPED: a process may open {files:?} files, and this test needs 2200");
        return;
    }
    let (_engine, server) = served(options());
    let address = server.addresses()[0];
    let mut admin = Connection::tcp(address).initialize(Digests::default());
    let controller = admin
        .connect(SUBSYSTEM_NQN, HOST_NQN, DYNAMIC_CONTROLLER, 0, 32)
        .expect("a controller");
    admin.set_property(Property::Configuration, initiator::ENABLED);
    let mut hosts: Vec<Host> = (0..3)
        .map(|_| Host::connect(address, SUBSYSTEM_NQN, Digests::default()))
        .collect();
    let mut idle: Vec<Connection> = (0..993)
        .map(|_| Connection::tcp(address).initialize(Digests::default()))
        .collect();
    until(&server, |snapshot| snapshot.connections == 1000);
    for (number, host) in hosts.iter_mut().enumerate() {
        host.io.write(number as u64, &[number as u8; 4096]);
        assert!(
            host.io
                .read(number as u64, 1)
                .iter()
                .all(|byte| *byte == number as u8)
        );
    }
    // One of them can still become a queue.
    let late = &mut idle[500];
    assert_eq!(
        late.connect(SUBSYSTEM_NQN, HOST_NQN, controller, 1, 64),
        Ok(controller)
    );
    late.write(9, &[1; 4096]);
    drop(idle);
    drop(hosts);
    until(&server, |snapshot| snapshot.connections == 1);
    assert_eq!(server.snapshot().buffered_bytes, 0);
}

/// The operating system says once that there is data and that nothing follows it.
#[test]
fn a_close_that_comes_with_the_last_bytes_is_heard() {
    let (_engine, server) = served(options());
    let address = server.addresses()[0];
    let open = |_| {
        let socket = std::net::TcpStream::connect(address).expect("somebody listens");
        let twin = socket.try_clone().expect("a descriptor");
        Connection::over(Box::new(twin)).initialize(Digests::default());
        socket
    };
    let sockets: Vec<std::net::TcpStream> = (0..200).map(open).collect();
    until(&server, |snapshot| snapshot.connections == 200);
    for mut socket in &sockets {
        // The beginning of a PDU that never goes on.
        std::io::Write::write_all(&mut socket, &[4]).expect("it is open");
        socket
            .shutdown(std::net::Shutdown::Write)
            .expect("it is open");
    }
    // Sooner than who is no queue is closed for that.
    let began = std::time::Instant::now();
    while server.snapshot().connections > 0 {
        let waited = began.elapsed();
        assert!(waited.as_secs() < 5, "{:?}", server.snapshot());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Commands that wait for memory go on as soon as some is given back, and not when the server next looks around.
#[test]
fn who_waits_for_memory_goes_on_at_once() {
    let mut options = options();
    options.connection_bytes_max = 1 << 20;
    let (_engine, server) = served(options);
    let mut host = Host::connect(server.addresses()[0], SUBSYSTEM_NQN, Digests::default());
    host.io.write(0, &vec![7; 1 << 20]);
    let (commands, length) = (40, 1 << 19);
    let began = std::time::Instant::now();
    for id in 0..commands {
        let mut read = initiator::blocks(opcode::READ, 0, 128);
        read.command_id.set(id);
        nvme::fabrics::Sgl::Transport { length }.encode_into(&mut read);
        host.io.send_command(&read, &[]);
    }
    let mut answered = 0;
    while answered < commands {
        match host.io.receive().expect("an answer") {
            initiator::Pdu::Response(_) => answered += 1,
            initiator::Pdu::Data(header, _)
                if header.header.flags & nvme::fabrics::pdu::flag::SUCCESS != 0 =>
            {
                answered += 1;
            }
            _ => {}
        }
    }
    let took = began.elapsed();
    assert!(took.as_secs() < 4, "{took:?}: a fifth of a second each");
}

/// A stream of a task that never emits anything.
const SILENT: &str = r#"(module
  (import "isc" "stream_next" (func $next (param i32 i32 i32) (result i64)))
  (memory (export "memory") 4 4)
  (func (export "isc_main") (result i32)
    (drop (call $next (i32.const 65536) (i32.const 131072) (i32.const 0)))
    (loop $more (br $more))
    (i32.const 0)))"#;

/// A host dies while its stream read waits: what others use of the drive's host memory is used again and again all the same.
#[test]
fn a_stream_read_whose_host_is_gone_holds_no_memory() {
    let (engine, server) = served(options());
    let address = format!("nvme+tcp://{}", server.addresses()[0]);
    let watch = Rc::new(|| ControlFlow::Continue(()));
    let far = attach::initiator::connect(
        &address.parse().expect("an address"),
        attach::initiator::Options::default(),
        watch,
    );
    let mut far = far.expect("it is served");
    let file = Content::File { bytes: 4096 };
    far.volume().write("in", file, &[1; 4096]).expect("room");
    let module = wat::parse_str(SILENT).expect("a module");
    let program = far.tasks().load(&module, Loading::default());
    let limits = TaskLimits {
        cycles: 2_000_000_000,
        ..TaskLimits::default()
    };
    let run = TaskRun::of(vec![TaskFile::read("in")]).limits(limits);
    let asked = StreamRun::of(run).from_file(0).elements(1);
    let opened = far.streams().open(&program.expect("a program"), &asked);
    let stream = opened.expect("room");
    let read = StreamRead {
        namespace: NamespaceId::new(1),
        stream: stream.number(),
        bytes: 4096,
        data: DataPointer::NONE,
    };
    let mut entry = IoCommand::Stream(StreamCommand::Read(read)).encode(CommandId::new(9));
    let length = 4096;
    nvme::fabrics::Sgl::Transport { length }.encode_into(&mut entry);
    let mut dying = Host::connect(server.addresses()[0], SUBSYSTEM_NQN, Digests::default());
    dying.io.send_command(&entry, &[]);
    // The drive is at it when another's commands have come and gone.
    far.read(0, 1).expect("there");
    let hosts = |snapshot: &attach::tcp::ServerSnapshot| snapshot.controllers;
    until(&server, |snapshot| hosts(snapshot) == 2);
    drop(dying);
    until(&server, |snapshot| hosts(snapshot) == 1);
    let write = async |served: &Served| {
        let block = vec![3; 64 * served.host().block_bytes() as usize];
        served.host().write(100, &block).await.expect("room");
        let queue = served.host().queue(0).expect("there");
        host::Transport::memory(&queue).borrow().reserved_bytes()
    };
    let writes = engine.handle().run(move |served| async move {
        // The read is aborted meanwhile.
        write(&served).await;
        let before = write(&served).await;
        let mut after = before;
        for _ in 0..300 {
            after = write(&served).await;
        }
        (before, after)
    });
    let (before, after) = writes.expect("served");
    assert!(after < before + (8 << 20), "{before} bytes, then {after}");
    server.close();
    drop(engine);
}

/// Connections that are cut off, closed one way, or not read from, while a host works.
#[test]
fn others_do_not_disturb() {
    let (_engine, server) = served(options());
    let address = server.addresses()[0];
    let mut host = Host::connect(address, SUBSYSTEM_NQN, Digests::default());
    let data: Vec<u8> = (0..1 << 20).map(|at| (at % 255) as u8).collect();
    host.io.write(0, &data);
    let mut slow = Host::connect(address, SUBSYSTEM_NQN, Digests::default());
    for id in 0..100 {
        let mut read = initiator::blocks(opcode::READ, 0, 256);
        read.command_id.set(id);
        let length = 1 << 20;
        nvme::fabrics::Sgl::Transport { length }.encode_into(&mut read);
        slow.io.send_command(&read, &[]);
    }
    for round in 0..20 {
        let mut cut = Host::connect(address, SUBSYSTEM_NQN, Digests::default());
        let mut write = initiator::blocks(opcode::WRITE, 512, 16);
        write.command_id.set(7);
        let length = 65536;
        nvme::fabrics::Sgl::Transport { length }.encode_into(&mut write);
        cut.io.send_command(&write, &[]);
        // Before, or in the middle of, the data that it is asked for.
        if round % 2 == 0 {
            let Some(initiator::Pdu::Ready(ready)) = cut.io.receive() else {
                panic!("no R2T");
            };
            cut.io.send_data(&ready, 0, &[9; 4096], false);
        }
        drop(cut);
        assert!(host.io.read(0, 256) == data);
    }
    let half = std::net::TcpStream::connect(address).expect("somebody listens");
    half.shutdown(std::net::Shutdown::Write)
        .expect("it is open");
    let ended = std::io::Read::read(&mut &half, &mut [0; 8]);
    assert_eq!(ended.expect("it is told"), 0, "closed one way is closed");
    until(&server, |snapshot| snapshot.connections == 4);
    assert!(host.io.read(0, 256) == data);
    let buffered = server.snapshot().buffered_bytes;
    assert!(
        buffered <= 33 << 20,
        "{buffered} bytes are kept for who does not read"
    );
    drop(slow);
    until(&server, |snapshot| snapshot.buffered_bytes == 0);
}
