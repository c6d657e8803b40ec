//! Drives elsewhere: everything that a host does by commands gives there what it gives beside, and the rest says where to do it.

mod loopback;

use bitline::{
    Config, Content, Drive, Ended, Error, ErrorKind, Expression, KeyValueOptions, Loading,
    NameKind, NameTerm, NewStore, Pattern, Platform, StreamRun, TaskFile, TaskRun, Wanted,
};
use loopback::Other;

fn config() -> Config {
    let preset = Config::preset("flash-cosmos").expect("a preset");
    let keys = [
        ("nand.geometry.channels", "2"),
        ("nand.geometry.blocks_per_plane", "64"),
        ("host.queue_pairs", "2"),
    ];
    preset.with(keys).expect("a drive")
}

/// Has a drive beside and one elsewhere do the same: what is asserted holds of both, and what comes of it is equal.
fn of_both<T: PartialEq + std::fmt::Debug>(work: impl Fn(&mut Drive) -> T) -> T {
    let mut beside = Drive::open(config()).expect("a drive");
    let other = Other::new(config());
    let mut far = other.connect();
    let (here, there) = (work(&mut beside), work(&mut far));
    assert_eq!(here, there);
    there
}

#[test]
fn blocks_are_read_and_written() {
    of_both(|drive| {
        let bytes = drive.block_bytes().expect("power") as usize;
        let data: Vec<u8> = (0..bytes * 40).map(|at| (at / 7) as u8).collect();
        drive.write(5, &data).expect("room");
        assert_eq!(drive.read(5, 40).expect("there"), data);
        drive.compare(5, &data).expect("the same");
        assert!(drive.compare(6, &data).is_err());
        drive.copy(&[(5, 4), (9, 4)], 100).expect("room");
        assert_eq!(drive.read(100, 8).expect("there"), data[..8 * bytes]);
        drive.deallocate(5, 8).expect("there");
        drive.write_zeroes(20, 1).expect("there");
        drive.verify(5, 40).expect("there");
        drive.flush().expect("power");
        let beyond = drive.blocks().expect("power");
        let refused = drive.read(beyond, 1).expect_err("beyond");
        let read = drive.read(0, 50).expect("there");
        let extents = (drive.blocks().ok(), drive.data_blocks().ok());
        (read, refused.to_string(), extents)
    });
}

#[test]
fn objects_have_names_and_expressions_are_evaluated_inside() {
    let counts = of_both(|drive| {
        let data: Vec<u8> = (0..100_000_u32).map(|at| (at % 251) as u8).collect();
        let file = Content::File {
            bytes: data.len() as u64,
        };
        drive.volume().write("file", file, &data).expect("room");
        assert_eq!(drive.volume().read("file").expect("there"), data);
        let rows = [[0b0011_u8, 1], [0b0101, 3], [0xF0, 7]];
        let columns = drive.group("columns").expect("a name");
        let columns = columns.write(16, rows).expect("room");
        let two = &columns[..2];
        let both = Expression::all(two).expect("two");
        let any = Expression::any(two).expect("two");
        let mut answers = Vec::new();
        for platform in Platform::ALL {
            let count = drive.query(&both).on(platform).count();
            let read = drive.query(&any).on(platform).read();
            answers.push((count.expect("a count"), read.expect("bits")));
        }
        let checked = drive.query(&both).count_checked().expect("a count");
        assert_eq!(checked.differing_bits, 0);
        let mut names: Vec<_> = drive.volume().objects().expect("there");
        names.sort_by(|one, other| one.name.cmp(&other.name));
        let names: Vec<String> = names.into_iter().map(|object| object.name).collect();
        (answers, names)
    });
    assert!(counts.0.iter().all(|(count, _)| *count == 2));
    assert_eq!(counts.1, ["columns", "file"]);
}

#[test]
fn names_are_looked_up() {
    let found = of_both(|drive| {
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
        for number in 0..50_u32 {
            records.extend([number as u8 % 5; 25]);
            records.extend(number.to_be_bytes());
        }
        drive.search().append("people", &records, 50).expect("room");
        let pattern = Pattern::exact(200, &[3; 25]).expect("its bits");
        let asked = [vec![NameTerm { name: 0, pattern }]];
        let wanted = Wanted {
            numbers: true,
            ..Wanted::default()
        };
        let found = drive.search().look_up("people", &asked, &[], wanted);
        let found = found.expect("it can be asked");
        assert_eq!(
            drive.search().count("people", &asked).expect("likewise"),
            10
        );
        let deleted = drive.search().delete("people", &asked).expect("likewise");
        (found.numbers, deleted)
    });
    assert_eq!((found.0.len(), found.1), (10, 10));
    of_both(|drive| {
        let options = KeyValueOptions {
            entries: 100,
            value_bytes: 32,
            name_bytes: 100,
        };
        let mut map = drive.key_value("stars", &options).expect("room");
        map.put(b"vega", b"25").expect("room");
        map.put(b"vega", b"25.04").expect("room");
        map.get(b"vega").expect("there")
    });
}

const TASK: &str = r#"(module
  (import "isc" "get_args" (func $get_args (param i32 i32 i32) (result i32)))
  (import "isc" "put_ret" (func $put_ret (param i32 i32) (result i32)))
  (import "isc" "file_read" (func $file_read (param i32 i32 i32 i64) (result i64)))
  (memory (export "memory") 1)
  (func (export "isc_main") (result i32)
    (drop (call $file_read (i32.const 0) (i32.const 1024) (i32.const 8) (i64.const 3)))
    (call $put_ret (i32.const 1024) (i32.const 8))))"#;

const DOUBLE: &str = r#"(module
  (import "isc" "stream_next" (func $next (param i32 i32 i32) (result i64)))
  (import "isc" "stream_emit" (func $emit (param i32 i32) (result i64)))
  (memory (export "memory") 3)
  (func (export "isc_main") (result i32)
    (local $bytes i32)
    (loop $pieces
      (local.set $bytes (i32.wrap_i64
        (call $next (i32.const 65536) (i32.const 131072) (i32.const 0))))
      (if (i32.le_s (local.get $bytes) (i32.const 0)) (then (return (i32.const 0))))
      (drop (call $emit (i32.const 65536) (local.get $bytes)))
      (drop (call $emit (i32.const 65536) (local.get $bytes)))
      (br $pieces))
    (i32.const 0)))"#;

#[test]
fn tasks_and_streams_run_inside() {
    of_both(|drive| {
        let data: Vec<u8> = (0..30_000_u32).map(|at| (at % 253) as u8).collect();
        let file = Content::File {
            bytes: data.len() as u64,
        };
        drive.volume().write("in", file, &data).expect("room");
        let module = wat::parse_str(TASK).expect("a module");
        let program = drive.tasks().load(&module, Loading::default());
        let program = program.expect("a program");
        let run = TaskRun::of(vec![TaskFile::read("in")]);
        let outcome = drive.tasks().run(&program, &run).expect("it runs");
        assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
        assert_eq!(outcome.value, data[3..11]);
        assert_eq!(drive.tasks().list().expect("there").programs.len(), 1);

        let module = wat::parse_str(DOUBLE).expect("a module");
        let program = drive.tasks().load(&module, Loading::default());
        let program = program.expect("a program");
        let run = TaskRun::of(vec![TaskFile::read("in")]);
        let shape = StreamRun::of(run).from_file(0);
        let mut stream = drive.streams().open(&program, &shape).expect("it opens");
        let mut came = Vec::new();
        loop {
            let part = drive.streams().read(&mut stream, 65_536).expect("output");
            if part.is_empty() {
                break;
            }
            came.extend(part);
        }
        drive.streams().close(stream).expect("it is open");
        came
    });
}

#[test]
fn a_drive_tells_the_same_of_itself_everywhere() {
    let other = Other::new(config());
    let mut far = other.connect();
    let array = Content::File { bytes: 9000 };
    far.volume().write("file", array, &[7; 9000]).expect("room");
    assert_eq!(far.config(), other.drive.borrow().config());
    let statistics = far.statistics().expect("there");
    assert!(statistics.flash.page_programs > 0 && statistics.energy_pj > 0);
    assert_eq!(far.health().expect("there").power_cycles, 1);
    let mut drive = other.drive.borrow_mut();
    let (ours, identity) = (drive.inventory(), drive.identify());
    drop(drive);
    let theirs = far.inventory().expect("there");
    let ours = ours.expect("there");
    assert_eq!(
        (theirs.flash_blocks, theirs.vectors),
        (ours.flash_blocks, 0)
    );
    assert_eq!(theirs.data_pages, ours.data_pages);
    assert_eq!(far.identify().expect("there"), identity.expect("there"));
    assert!(!far.mapped_runs().expect("there").is_empty());
    // Another host of the same drive finds what this one wrote.
    far.close().expect("nothing is under way");
    let mut again = other.connect();
    assert_eq!(again.volume().read("file").expect("there"), [7; 9000]);
}

#[test]
fn the_clock_is_the_drives() {
    let other = Other::new(config());
    let mut far = other.connect();
    let before = far.now();
    far.write(0, &[1; 4096]).expect("room");
    let took = far.now().since(before);
    assert!(took.as_ps() > 0);
    let at = other.drive.borrow().now();
    // Asking for it takes time, too.
    assert!(far.now() <= at && at.since(far.now()).as_ns() < 20_000.0);
    let mut beside = Drive::open(config()).expect("a drive");
    let before = beside.now();
    beside.write(0, &[1; 4096]).expect("room");
    assert!(took >= beside.now().since(before));
}

#[test]
fn what_only_its_own_process_can_do_says_so() {
    let other = Other::new(config());
    let mut far = other.connect();
    let vectors = far.group("g").expect("a name").write(16, [[1_u8, 2]]);
    let expression = Expression::all(&vectors.expect("room")).expect("one");
    let refusals = [
        far.power_cut().expect_err("not ours"),
        far.query(&expression).explain().expect_err("not told"),
        far.start_trace(bitline::Keep::All).expect_err("not seen"),
        far.age().expect_err("not told"),
    ];
    for refused in refusals {
        assert!(matches!(refused, Error::Remote { .. }), "{refused}");
        assert_eq!(refused.kind(), ErrorKind::Usage);
        assert!(refused.to_string().contains("loopback"), "{refused}");
    }
}

#[test]
fn a_lost_connection_is_told_and_made_again() {
    let other = Other::new(config());
    let mut far = other.connect();
    far.write(0, &[1; 4096]).expect("room");
    other.is_cut.set(true);
    for _ in 0..2 {
        let lost = far.read(0, 1).expect_err("no cable");
        assert_eq!(lost.kind(), ErrorKind::Connection);
        assert!(lost.to_string().contains("the cable was pulled"), "{lost}");
    }
    other.is_cut.set(false);
    assert_eq!(far.read(0, 1).expect("it is back"), [1; 4096]);
}

#[test]
fn answers_that_cannot_be_are_errors() {
    let spoils: [fn(&mut bitline::inside::Response); 3] = [
        |response| response.data.resize(1 << 20, 0),
        |response| response.completion.command_id.set(60_000),
        |response| response.queue = nvme::QueueId::new(9),
    ];
    for spoil in spoils {
        let other = Other::new(config());
        let mut far = other.connect();
        other.spoil.set(Some(spoil));
        let wrong = far.read(0, 1).expect_err("it makes no sense");
        assert!(wrong.to_string().contains("loopback"), "{wrong}");
        other.spoil.set(None);
        far.read(0, 1).expect("it does again");
    }
}
