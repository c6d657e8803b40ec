//! A drive over NVMe/TCP, with a small host of the test's own.

mod initiator;

use std::os::unix::net::UnixStream;

use attach::engine::{Engine, Pace};
use attach::tcp::{Listen, SUBSYSTEM_NQN, Server, ServerOptions};
use bitline::{Config, Drive};
use initiator::{Connection, HOST_NQN, Host, entry};
use nvme::command::opcode;
use nvme::fabrics::pdu::Digests;
use nvme::fabrics::{
    DISCOVERY_NQN, DYNAMIC_CONTROLLER, DiscoveryEntry, KEEP_ALIVE_OPCODE, Property, fabrics_status,
};
use nvme::identify::IdentifyController;
use nvme::{DataTransfer, Status};
use zerocopy::FromBytes;

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
    let mut connect = |subsystem: &str, host: &str| {
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
    let report = host.io.command(entry(opcode::REGION_REPORT, 1), &[], 4096);
    assert!(report.status().is_success(), "{}", report.status());
    assert_eq!(
        DataTransfer::of_opcode(opcode::REGION_REPORT),
        DataTransfer::ControllerToHost
    );
    // An expression that is none: the drive has read it and says so.
    let mut sense = entry(opcode::FC_READ, 1);
    sense.cdw10.set(16);
    sense.cdw12.set(4096 * 8);
    let refused = host.io.command(sense, &[0xFF; 16], 4096);
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
