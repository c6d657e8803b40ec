//! A drive over NVMe/TCP gives what the same drive gives in one process, however its bytes cross.

use std::ops::ControlFlow;
use std::rc::Rc;

use attach::engine::{Engine, Kind, Pace};
use attach::initiator::{self, Address, Options};
use attach::tcp::{Listen, SUBSYSTEM_NQN, Server, ServerOptions};
use bitline::{
    Config, Content, Drive, Ended, ErrorKind, Expression, Loading, MemoryRun, NameKind, NameTerm,
    NewStore, Pattern, Platform, RunRanges, TaskFile, TaskRun, Wanted,
};

fn config() -> Config {
    let preset = Config::preset("flash-cosmos").expect("a preset");
    let keys = [
        ("nand.geometry.channels", "2"),
        ("nand.geometry.blocks_per_plane", "64"),
        ("host.queue_pairs", "2"),
    ];
    preset.with(keys).expect("a drive")
}

/// A drive in memory, its server, and its address.
fn served() -> (Engine, Server, String) {
    let engine = Engine::start(|| Drive::open(config()), Pace::None).expect("a drive");
    let mut options = ServerOptions::default();
    options.listen = vec![Listen::Tcp("127.0.0.1:0".parse().expect("an address"))];
    let server = Server::start(engine.handle(), &options).expect("a port");
    let address = format!("nvme+tcp://{}", server.addresses()[0]);
    (engine, server, address)
}

fn connect(address: &str, options: Options) -> Result<Drive, bitline::Error> {
    let address: Address = address.parse().expect("an address");
    initiator::connect(&address, options, Rc::new(|| ControlFlow::Continue(())))
}

const TASK: &str = r#"(module
  (import "isc" "put_ret" (func $put_ret (param i32 i32) (result i32)))
  (import "isc" "file_read" (func $file_read (param i32 i32 i32 i64) (result i64)))
  (memory (export "memory") 1)
  (func (export "isc_main") (result i32)
    (drop (call $file_read (i32.const 0) (i32.const 1024) (i32.const 8) (i64.const 3)))
    (call $put_ret (i32.const 1024) (i32.const 8))))"#;

/// What a host may do, and what comes of it.
fn use_it(drive: &mut Drive) -> (Vec<u8>, Vec<u64>, Vec<u64>, Vec<u8>) {
    let bytes = drive.block_bytes().expect("power") as usize;
    // More than a capsule holds, and more than one PDU.
    let data: Vec<u8> = (0..bytes * 300).map(|at| (at / 7) as u8).collect();
    drive.write(5, &data).expect("room");
    assert_eq!(drive.read(5, 300).expect("there"), data);
    drive.flush().expect("power");
    let bytes = data.len() as u64;
    let file = Content::File { bytes };
    drive.volume().write("file", file, &data).expect("room");
    let read = drive.volume().read("file").expect("there");
    let columns = drive.group("columns").expect("a name");
    let columns = columns.write(16, [[0b0011_u8, 1], [0b0101, 3]]);
    let both = Expression::all(&columns.expect("room")).expect("two");
    let mut counts = Vec::new();
    for platform in Platform::ALL {
        counts.push(drive.query(&both).on(platform).count().expect("a count"));
    }
    let people = NewStore {
        entries: 1000,
        value_bytes: 4,
        names: vec![NameKind {
            bits: 200,
            ternary: false,
        }],
        schema: Vec::new(),
    };
    drive.search().create("people", &people).expect("room");
    let mut records = Vec::new();
    for number in 0..500_u32 {
        records.extend([number as u8 % 5; 25]);
        records.extend(number.to_be_bytes());
    }
    let appended = drive.search().append("people", &records, 500);
    appended.expect("room");
    let pattern = Pattern::exact(200, &[3; 25]).expect("its bits");
    let asked = [vec![NameTerm { name: 0, pattern }]];
    let wanted = Wanted {
        numbers: true,
        ..Wanted::default()
    };
    let found = drive.search().look_up("people", &asked, &[], wanted);
    // Only counted: a query goes out, and no data comes back. More terms make it longer.
    let term = |byte: u8| NameTerm {
        name: 0,
        pattern: Pattern::exact(200, &[byte; 25]).expect("its bits"),
    };
    let many: Vec<Vec<NameTerm>> = (0..200).map(|at| vec![term(at % 4)]).collect();
    let having = |bytes: &[u8]| {
        let numbers = (0..500_u32).filter(|number| bytes.contains(&(*number as u8 % 5)));
        numbers.count() as u32
    };
    for (query, expected) in [
        (&asked[..], having(&[3])),
        (&[vec![term(3)], vec![term(4)]], having(&[3, 4])),
        (&many, having(&[0, 1, 2, 3])),
    ] {
        let counted = drive.search().count("people", query).expect("counted");
        assert_eq!(counted, expected);
    }
    let module = wat::parse_str(TASK).expect("a module");
    let program = drive.tasks().load(&module, Loading::default());
    let run = TaskRun::of(vec![TaskFile::read("file")]);
    let outcome = drive.tasks().run(&program.expect("a program"), &run);
    let outcome = outcome.expect("it runs");
    assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
    (read, counts, found.expect("found").numbers, outcome.value)
}

#[test]
fn everything_crosses_with_and_without_digests() {
    let mut beside = Drive::open(config()).expect("a drive");
    let expected = use_it(&mut beside);
    for digests in [(false, false), (true, true)] {
        let (engine, server, address) = served();
        let mut options = Options::default();
        (options.digests.header, options.digests.data) = digests;
        let mut far = connect(&address, options).expect("it is served");
        assert!(far.remote_name().expect("far").ends_with(SUBSYSTEM_NQN));
        assert_eq!(use_it(&mut far), expected);
        assert_eq!(far.config(), &config());
        assert!(far.now().as_ps() > 0);
        assert!(far.statistics().expect("told").flash.page_programs > 0);
        assert!(far.inventory().expect("told").vectors == 2);
        assert!(far.power_cut().is_err());
        far.close().expect("nothing is under way");
        // What one host has left, another finds.
        let again = connect(&format!("{address}/{SUBSYSTEM_NQN}"), Options::default());
        let mut again = again.expect("it is served");
        assert_eq!(again.volume().read("file").expect("there"), expected.0);
        drop(again);
        server.close();
        engine.close().expect("no image");
    }
}

/// Gives the number with which its arguments begin.
const ARGUMENT: &str = r#"(module
  (import "isc" "get_args" (func $arguments (param i32 i32 i32) (result i32)))
  (import "isc" "put_ret" (func $put_ret (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "isc_main") (result i32)
    (drop (call $arguments (i32.const 0) (i32.const 8) (i32.const 0)))
    (call $put_ret (i32.const 0) (i32.const 8))))"#;

/// Opcodes of memory and compute namespaces mean other things than those of blocks, and so do fields of their entries.
#[test]
fn memory_and_programs_over_it_cross() {
    let config = config().with([("local_memory.bytes", "1048576")]);
    let config = config.expect("a drive");
    let engine = Engine::start(|| Drive::open(config), Pace::None).expect("a drive");
    let mut options = ServerOptions::default();
    options.listen = vec![Listen::Tcp("127.0.0.1:0".parse().expect("an address"))];
    let server = Server::start(engine.handle(), &options).expect("a port");
    let address = format!("nvme+tcp://{}", server.addresses()[0]);
    let mut far = connect(&address, Options::default()).expect("it is served");
    let data: Vec<u8> = (0..40_000_u32).map(|at| (at % 251) as u8).collect();
    far.memory().write(8, &data).expect("it fits");
    assert_eq!(far.memory().read(8, 40_000).expect("it is there"), data);
    let module = wat::parse_str(ARGUMENT).expect("a module");
    let program = far.tasks().load(&module, Loading::default());
    let run = MemoryRun {
        arguments: 77_u64.to_le_bytes().to_vec(),
        ..MemoryRun::over(RunRanges::These(vec![0..4096, 4096..8192]))
    };
    let value = far.memory().run(&program.expect("a program"), &run);
    assert_eq!(value.expect("it ends well"), 77);
    // Opcode 01h is Write elsewhere.
    let kinds = engine.handle().snapshot().expect("served").kinds;
    let writes = kinds.iter().find(|figures| figures.kind == Kind::Write);
    assert_eq!(writes.map_or(0, |figures| figures.requests), 0);
    drop(far);
    server.close();
    engine.close().expect("no image");
}

#[test]
fn a_target_that_goes_is_told_of_and_found_again() {
    let (engine, server, address) = served();
    let mut far = connect(&address, Options::default()).expect("it is served");
    far.write(0, &[1; 4096]).expect("room");
    let place = server.addresses()[0];
    server.close();
    let lost = far.read(0, 1).expect_err("nobody serves it");
    assert_eq!(lost.kind(), ErrorKind::Connection, "{lost}");
    let mut options = ServerOptions::default();
    options.listen = vec![Listen::Tcp(place)];
    let server = Server::start(engine.handle(), &options).expect("the same port");
    assert_eq!(far.read(0, 1).expect("it is back"), [1; 4096]);
    drop(far);
    drop(server);
    engine.close().expect("no image");
}

#[test]
fn a_name_that_is_not_there_is_refused() {
    let (engine, server, address) = served();
    let refused = connect(&format!("{address}/nqn.other"), Options::default());
    let refused = refused.err().expect("no such drive").to_string();
    assert!(refused.contains("nqn.other"), "{refused}");
    drop(server);
    engine.close().expect("no image");
}
