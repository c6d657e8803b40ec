//! The library as host programs in C have it: its header, the example, misuse, and what has no call in C to make it.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bitline::{Config, Drive, NameKind, NewStore};

/// The root of the workspace.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Where the library is that these tests were built with: beside them.
fn library() -> PathBuf {
    let tests = std::env::current_exe().expect("it runs");
    let folder = tests.parent().expect("a folder").to_owned();
    assert!(folder.join("libbitline_c.so").exists(), "{folder:?}");
    folder
}

/// A folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("room");
    folder
}

/// Compiles a host program, of which nothing is to be said.
fn compile(compiler: &str, source: &str, to: &Path) {
    let library = library();
    let mut command = Command::new(compiler);
    command.args([
        "-std=c11",
        "-pedantic",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pthread",
        "-O1",
        "-g",
    ]);
    command.arg(root().join(source));
    command.arg("-I").arg(root().join("crates/c/include"));
    command
        .arg("-L")
        .arg(&library)
        .args(["-lbitline_c", "-o"])
        .arg(to);
    command.arg(format!("-Wl,-rpath,{}", library.display()));
    ran(&mut command);
}

/// What a program writes, which has to end well.
fn ran(command: &mut Command) -> String {
    // Cargo's has the library of some other build.
    command.env_remove("LD_LIBRARY_PATH");
    let done = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.success(),
        "{command:?}: {:?}\n{errors}",
        done.status
    );
    String::from_utf8(done.stdout).expect("it is text")
}

fn module(body: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
          (import "isc" "args_size" (func $args_size (result i32)))
          (import "isc" "get_args" (func $get_args (param i32 i32 i32) (result i32)))
          (import "isc" "put_ret" (func $put_ret (param i32 i32) (result i32)))
          (import "isc" "file_read" (func $file_read (param i32 i32 i32 i64) (result i64)))
          (import "isc" "file_write" (func $file_write (param i32 i32 i32 i64) (result i64)))
          (import "isc" "log" (func $log (param i32 i32) (result i32)))
          (import "isc" "look_up" (func $look_up (param i32 i32 i32 i32 i32) (result i64)))
          (memory (export "memory") 1)
          (func (export "isc_main") (result i32) {body}))"#
    );
    wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}"))
}

const COUNT: &str =
    "(drop (call $file_read (i32.const 0) (i32.const 0) (i32.const 8) (i64.const 0)))
    (i64.store (i32.const 0) (i64.add (i64.load (i32.const 0)) (i64.const 1)))
    (drop (call $file_write (i32.const 0) (i32.const 0) (i32.const 8) (i64.const 0)))
    (i32.const 0)";
const ECHO: &str = "(drop (call $get_args (i32.const 0) (i32.const 4096) (i32.const 0)))
    (drop (call $log (i32.const 0) (call $args_size)))
    (drop (call $put_ret (i32.const 0) (call $args_size)))
    (i32.const 0)";
/// Returns the value of the name that its arguments are.
const LOOK_UP: &str = "(drop (call $get_args (i32.const 0) (i32.const 64) (i32.const 0)))
    (drop (call $look_up (i32.const 0) (i32.const 0) (call $args_size) (i32.const 64) (i32.const 8)))
    (call $put_ret (i32.const 64) (i32.const 8))";

/// The words after each `before` in a text, up to a parenthesis.
fn called(text: &str, before: &str) -> BTreeSet<String> {
    let found = text.match_indices(before);
    let found = found.filter_map(|(at, _)| {
        let rest = &text[at + before.len()..];
        let word: String = rest
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        rest[word.len()..]
            .starts_with('(')
            .then(|| format!("isc_{word}"))
    });
    found.collect()
}

#[test]
fn the_header_declares_what_the_library_has() {
    let header =
        fs::read_to_string(root().join("crates/c/include/bitline/host.h")).expect("a header");
    let code = header
        .lines()
        .filter(|line| line.contains(");") && !line.starts_with(" *"));
    let declared = called(&code.collect::<Vec<_>>().join("\n"), "isc_");
    let mut defined = BTreeSet::new();
    for file in fs::read_dir(root().join("crates/c/src")).expect("a folder") {
        let text = fs::read_to_string(file.expect("a file").path()).expect("a source");
        defined.extend(called(&text, "extern \"C\" fn isc_"));
    }
    assert!(defined.len() > 20, "{defined:?}");
    assert_eq!(declared, defined);
}

#[test]
fn misuse_is_told() {
    let folder = folder("misuse");
    let program = folder.join("misuse");
    // Rust has linked this test with it.
    compile("cc", "crates/c/tests/misuse.c", &program);
    let mut command = Command::new(&program);
    let bodies = [COUNT, ECHO, "(unreachable)", "(i32.const -7)"];
    for (number, body) in bodies.into_iter().enumerate() {
        let path = folder.join(format!("{number}.wasm"));
        fs::write(&path, module(body)).expect("room");
        command.arg(path);
    }
    ran(command.current_dir(&folder));
}

/// The checksum of a file as zlib calculates it, by the task in C.
/// Whether what compiles tasks and host programs is here; says so if it is not.
fn can_compile() -> bool {
    let missing = |what: &str| {
        eprintln!("SKIPPED: {what} is not here, so the examples in C were not run");
        false
    };
    if Command::new("clang-19").arg("--version").output().is_err() {
        return missing("clang-19");
    }
    Path::new("/usr/lib/wasm32-wasi/libc.a").exists() || missing("wasi-libc")
}

/// Compiles a task.
fn compile_task(source: &str, to: &Path) {
    let mut command = Command::new("clang-19");
    command.args([
        "--target=wasm32-wasi",
        "-O2",
        "-nostartfiles",
        "-Wl,--no-entry",
        "-isystem",
    ]);
    command.arg(root().join("python/bitline/include"));
    command.arg(root().join(source)).arg("-o").arg(to);
    ran(&mut command);
}

#[test]
fn the_example_of_streams_runs() {
    if !can_compile() {
        return;
    }
    let folder = folder("streams");
    let (task, program) = (folder.join("bright.wasm"), folder.join("stream_host"));
    compile_task("examples/streams/bright.c", &task);
    compile("clang-19", "examples/stream_host.c", &program);
    let told = ran(Command::new(&program).arg(&task));
    assert_eq!(told, "15000 of 640000 bytes are bright; 15000 were read\n");
}

#[test]
fn the_example_runs() {
    if !can_compile() {
        return;
    }
    let folder = folder("example");
    let (task, program) = (folder.join("checksum.wasm"), folder.join("task_host"));
    compile_task("examples/tasks/checksum.c", &task);
    compile("clang-19", "examples/task_host.c", &program);
    let input = folder.join("input");
    fs::write(&input, "123456789".repeat(10_000)).expect("room");
    let told = ran(Command::new(&program).args([&task, &input]));
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 5, "{told}");
    assert_eq!(lines[0], "3af5bae0, attempts: 1");
    assert!(
        lines.iter().all(|line| line.starts_with("3af5bae0, ")),
        "{told}"
    );
    assert!(
        lines[1..].iter().any(|line| !line.ends_with(": 1")),
        "no conflict: {told}"
    );
    let wrong = Command::new(&program)
        .args([&input, &input])
        .env_remove("LD_LIBRARY_PATH")
        .output()
        .expect("it runs");
    let errors = String::from_utf8_lossy(&wrong.stderr);
    assert!(
        !wrong.status.success() && errors.starts_with("task: "),
        "{errors}"
    );
}

/// A store, which others make, in an image.
#[test]
fn a_store_is_looked_up_in() {
    let path = folder("stores").join("drive.img");
    if path.exists() {
        fs::remove_file(&path).expect("it is this test's");
    }
    let config = Config::from_toml("data.storage = \"image\"").expect("a drive");
    let mut drive = Drive::open_image(config, &path).expect("room");
    let store = NewStore {
        entries: 100,
        value_bytes: 8,
        names: vec![NameKind {
            bits: 32,
            ternary: false,
        }],
        schema: Vec::new(),
    };
    drive.search().create("people", &store).expect("room");
    drive
        .search()
        .append("people", b"nameof whom", 1)
        .expect_err("12 bytes");
    drive
        .search()
        .append("people", b"nameof whom.", 1)
        .expect("room");
    drive.close().expect("it closes");

    let c = |text: &[u8]| CString::new(text).expect("no zero");
    let path = c(path.as_os_str().as_encoded_bytes());
    let module = module(LOOK_UP);
    let (mut drive, mut context) = (std::ptr::null_mut(), std::ptr::null_mut());
    let mut task = bitline_c::Task {
        identifier: 0,
        index: 0,
        reserved: [0; 3],
    };
    let mut value = [0u8; 9];
    // SAFETY: each pointer is to what the header says it is to.
    unsafe {
        assert_eq!(
            bitline_c::isc_open_drive(std::ptr::null(), path.as_ptr(), &mut drive),
            0
        );
        assert_eq!(
            bitline_c::isc_load_task(drive, module.as_ptr().cast(), module.len(), 0, &mut task),
            0
        );
        assert_eq!(bitline_c::isc_new_context(drive, &mut context), 0);
        assert_eq!(
            bitline_c::isc_register_store(context, c(b"people/0").as_ptr()),
            0
        );
        assert_eq!(
            bitline_c::isc_register_store(context, c(b"people").as_ptr()),
            1
        );
        assert_eq!(
            bitline_c::isc_put_args(context, b"name".as_ptr().cast(), 4),
            0
        );
        assert_eq!(bitline_c::isc_run_task(context, task), 0);
        assert_eq!(
            bitline_c::isc_get_ret(context, value.as_mut_ptr().cast(), 9),
            8
        );
    }
    assert_eq!(&value, b"of whom.\0");
    assert_eq!(bitline_c::isc_set_priority(drive, 7), 0);
    assert_eq!(bitline_c::isc_close_drive(drive), 0);
    assert!(bitline_c::isc_set_priority(drive, 7) < 0, "it is closed");
    assert_eq!(bitline_c::isc_free_context(context), 0);
}

/// Takes pieces of 16 bytes at most, and emits each with its first byte turned; fails where that is 0.
const TURN: &str = r#"(local $bytes i32)
  (loop $pieces
    (local.set $bytes (i32.wrap_i64 (call $next (i32.const 64) (i32.const 16) (i32.const 0))))
    (if (i32.eqz (local.get $bytes)) (then (return (i32.const 0))))
    (if (i32.eqz (i32.load8_u (i32.const 64))) (then (return (i32.const 7))))
    (i32.store8 (i32.const 64) (i32.xor (i32.const 255) (i32.load8_u (i32.const 64))))
    (drop (call $emit (i32.const 64) (local.get $bytes)))
    (br $pieces))
  (i32.const 0)"#;

#[test]
fn streams_are_opened_read_written_and_closed() {
    let c = |text: &[u8]| CString::new(text).expect("no zero");
    let module = wat::parse_str(format!(
        r#"(module
          (import "isc" "stream_next" (func $next (param i32 i32 i32) (result i64)))
          (import "isc" "stream_emit" (func $emit (param i32 i32) (result i64)))
          (memory (export "memory") 1 1)
          (func (export "isc_main") (result i32) {TURN}))"#
    ));
    let module = module.expect("a module");
    let (mut drive, mut context) = (std::ptr::null_mut(), std::ptr::null_mut());
    let (mut stream, mut task) = (
        std::ptr::null_mut(),
        bitline_c::Task {
            identifier: 0,
            index: 0,
            reserved: [0; 3],
        },
    );
    let (letters, file, to) = ([1u8; 40], c(b"letters"), c(b"to"));
    let mut read = [0u8; 100];
    // SAFETY: each pointer is to what the header says it is to.
    unsafe {
        use bitline_c::*;
        let none = std::ptr::null();
        assert_eq!(isc_open_drive(none, none, &mut drive), 0);
        for name in [&file, &to] {
            let data = letters.as_ptr().cast();
            assert_eq!(isc_volume_write(drive, name.as_ptr(), data, 40), 0);
        }
        let bytes = module.as_ptr().cast();
        assert_eq!(isc_load_task(drive, bytes, module.len(), 0, &mut task), 0);
        assert_eq!(isc_new_context(drive, &mut context), 0);
        let (r, w) = (c(b"r"), c(b"w"));
        assert_eq!(isc_register_file(context, file.as_ptr(), r.as_ptr()), 0);
        assert_eq!(isc_register_file(context, to.as_ptr(), w.as_ptr()), 1);
        // A file to the host.
        assert_eq!(isc_fsopen(context, task, 0, -1, &mut stream), 0);
        assert_eq!(isc_fsread(stream, read.as_mut_ptr().cast(), 30), 30);
        assert_eq!(isc_fsread(stream, read[30..].as_mut_ptr().cast(), 70), 10);
        assert_eq!(isc_fsread(stream, read.as_mut_ptr().cast(), 70), 0);
        let turned = |at: usize| if at.is_multiple_of(16) { 254 } else { 1 };
        assert!((0..40).all(|at| read[at] == turned(at)), "{read:?}");
        assert_eq!(isc_fswrite(stream, letters.as_ptr().cast(), 1), -6);
        assert_eq!(isc_fsclose(stream), 0);
        assert_eq!(isc_fsclose(stream), -2, "it was given up");
        // The host's bytes into a file.
        assert_eq!(isc_fsopen(context, task, -1, 1, &mut stream), 0);
        assert_eq!(isc_fswrite(stream, letters.as_ptr().cast(), 40), 40);
        assert_eq!(isc_fsfinish(stream), 0);
        assert_eq!(isc_fsclose(stream), 0);
        let place = read.as_mut_ptr().cast();
        assert_eq!(isc_volume_read(drive, to.as_ptr(), place, 100, 0), 40);
        assert!((0..40).all(|at| read[at] == turned(at)), "{read:?}");
        // One that fails.
        assert_eq!(isc_fsopen(context, task, -1, 1, &mut stream), 0);
        assert_eq!(isc_fswrite(stream, [0u8; 4].as_ptr().cast(), 4), 4);
        assert_eq!(isc_fsfinish(stream), -11);
        let text = CStr::from_ptr(isc_error_text()).to_str().expect("UTF-8");
        assert!(text.contains("returned 7"), "{text}");
        assert_eq!(isc_fsclose(stream), 0);
        assert_eq!(isc_volume_read(drive, to.as_ptr(), place, 100, 0), 40);
        assert!((0..40).all(|at| read[at] == turned(at)), "nothing is left");
        assert_eq!(isc_fsopen(context, task, -2, 1, &mut stream), -1);
        assert_eq!(isc_fsopen(context, task, 0, 1, std::ptr::null_mut()), -1);
        assert_eq!(isc_fsread(std::ptr::null_mut(), place, 1), -2);
        assert_eq!(isc_fsopen(context, task, 0, -1, &mut stream), 0);
        // A drive may be closed before its streams.
        assert_eq!(isc_close_drive(drive), 0);
        assert_eq!(isc_fsread(stream, place, 1), -2);
        assert_eq!(isc_fsclose(stream), -2);
        assert_eq!(isc_free_context(context), 0);
    }
}
