//! Modules that are broken or mean ill, each with what is said of it. None of them harms the drive.

use super::*;

/// What becomes of a module, in words.
fn outcome(rig: &Rig, module: &[u8]) -> String {
    let program = match rig.tasks.load(module) {
        Ok(program) => program,
        Err(error) => return format!("refused: {error}"),
    };
    let run = rig.run(&program, Rc::new(InMemory::new(rig, 10)));
    match run.ended {
        Ended::Returned(bytes) => format!("returned {bytes:?}"),
        Ended::Failed { code } => format!("failed: {code}"),
        Ended::Trapped { reason } => format!("trapped: {reason}"),
        Ended::Rejected { reason } => format!("rejected: {reason}"),
        Ended::File(error) => format!("file: {error}"),
    }
}

/// Each module is run, and after it one that is well.
fn check<'a>(corpus: impl IntoIterator<Item = (Vec<u8>, &'a str)>) {
    let rig = Rig::new(&config(), 1);
    for (number, (module, expected)) in corpus.into_iter().enumerate() {
        let found = outcome(&rig, &module);
        assert!(
            found.starts_with(expected),
            "{number}: {found}\nexpected {expected}"
        );
        assert_eq!(rig.tasks.room.available(), 1 << 20, "{number}");
    }
    let well = wat::parse_str(task("", "(i32.const 0)")).expect("a module");
    assert_eq!(outcome(&rig, &well), "returned []");
}

fn texts<'a>(corpus: &'a [(&str, &'a str)]) -> impl Iterator<Item = (Vec<u8>, &'a str)> {
    let parse = |text: &str| wat::parse_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    corpus
        .iter()
        .map(move |(text, expected)| (parse(text), *expected))
}

#[test]
fn what_is_no_module_is_said_to_be_none() {
    let magic = b"\0asm\x01\0\0\0".as_slice();
    let with = |rest: &[u8]| [magic, rest].concat();
    let no = "refused: this is no WebAssembly module: ";
    let no = |what: &str| format!("{no}{what}");
    let padded = with(&[&[0, 0x80, 0x80, 0x04, 1, b'x'][..], &vec![0; 65535][..]].concat());
    for (module, expected) in [
        (vec![], no("it is empty")),
        (b"\0as".to_vec(), no("it ends before its version")),
        (b"\0asm\x01".to_vec(), no("it ends before its version")),
        (
            b"\x7FELF\x02\x01\x01".to_vec(),
            no("it is a program of the host (ELF)"),
        ),
        (b"  (module)".to_vec(), no("it is the text of one")),
        (b"\0asm\x0D\0\x01\0".to_vec(), no("it is a component")),
        (
            b"\0asm\x02\0\0\0".to_vec(),
            no("it is of another version than 1"),
        ),
        (vec![0xA5; 1000], no("it does not begin with 00 61 73 6D")),
        (
            magic.to_vec(),
            "refused: the module exports no \"memory\"; a task must export its memory".to_owned(),
        ),
        (
            with(&[1]),
            "refused: the module is not valid: unexpected end-of-file, at byte 9".to_owned(),
        ),
        (
            with(&[1, 200, 1]),
            "refused: the module is not valid: unexpected end".to_owned(),
        ),
        (
            with(&[99, 1, 0]),
            "refused: the module is not valid: malformed section id: 99".to_owned(),
        ),
        (
            with(&[1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
            "refused: the module is not valid: ".to_owned(),
        ),
        // A function without a body, and a name that is no text.
        (
            with(&[1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0]),
            "refused: the module is not valid: function section has non-zero count but code section is absent".to_owned(),
        ),
        (
            with(&[7, 5, 1, 2, 0xFF, 0xFE, 0]),
            "refused: the module is not valid: ".to_owned(),
        ),
        // Four thousand million imports in a section of a few bytes.
        (
            with(&[2, 5, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F]),
            "refused: the module is not valid: ".to_owned(),
        ),
        (
            padded,
            "refused: the module has 65549 bytes, more than task.module_bytes = 65536".to_owned(),
        ),
    ] {
        check([(module, expected.as_str())]);
    }
}

#[test]
fn modules_that_cannot_be_tasks_are_refused() {
    check(texts(&[
        (
            r#"(module (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32))))"#,
            "refused: the module imports \"wasi_snapshot_preview1\" \"fd_write\", which tasks are not offered; they have \
             args_size, get_args, put_ret,",
        ),
        (
            r#"(module (import "isc" "format" (func)))"#,
            "refused: the module imports \"isc\" \"format\", which",
        ),
        (
            r#"(module (import "isc" "memory" (memory 1)))"#,
            "refused: the module imports \"isc\" \"memory\", which",
        ),
        (
            r#"(module (import "isc" "wait" (func (param i64) (result i64))))"#,
            "refused: the module imports \"isc\" \"wait\" as (i64) -> i64; it is (i32) -> i64",
        ),
        (
            r#"(module (import "isc" "log" (global i32)))"#,
            "refused: the module imports \"isc\" \"log\" as a global variable; it is (i32, i32) -> i32",
        ),
        (
            r#"(module (memory (export "memory") 1))"#,
            "refused: the module exports no \"isc_main\"; a task must export a function () -> i32",
        ),
        (
            r#"(module (memory (export "memory") 1) (func (export "isc_main")))"#,
            "refused: the module exports \"isc_main\" as () -> (); it must be a function () -> i32",
        ),
        (
            r#"(module (memory (export "memory") 1) (global (export "isc_main") i32 (i32.const 0)))"#,
            "refused: the module exports \"isc_main\" as a global variable",
        ),
        (
            r#"(module (func (export "memory")) (func (export "isc_main") (result i32) (i32.const 0)))"#,
            "refused: the module exports \"memory\" as () -> (); it must be its memory",
        ),
        (
            r#"(module (memory (export "memory") 1) (func (export "isc_main") (result i32) (i32.const 0))
               (func (export "_initialize") (param i32)))"#,
            "refused: the module exports \"_initialize\" as (i32) -> (); it must be a function () -> ()",
        ),
        (
            r#"(module (memory (export "memory") 65536))"#,
            "refused: the module has 4294967296 bytes of memory to begin with, more than task.memory_bytes = 262144",
        ),
        (
            "(module (table 10000000 funcref))",
            "refused: the module has 10000000 elements of a table, more than task.table_elements = 100",
        ),
        (
            "(module (memory 1 1 shared))",
            "refused: the module is not valid: threads must be enabled for shared memories",
        ),
        (
            "(module (memory i64 1))",
            "refused: the module is not valid: memory64 must be enabled for 64-bit memories",
        ),
        (
            "(module (memory 1) (memory 1))",
            "refused: the module is not valid: multiple memories",
        ),
        (
            "(module (tag))",
            "refused: the module is not valid: exceptions proposal not enabled",
        ),
        (
            "(module (type (struct)))",
            "refused: the module is not valid: ",
        ),
        (
            "(module (func (result i32) (i64.const 0)))",
            "refused: the module is not valid: type mismatch: expected i32, found i64",
        ),
        (
            "(module (func i32.add drop))",
            "refused: the module is not valid: type mismatch",
        ),
        (
            "(module (func (local.get 7) drop))",
            "refused: the module is not valid: unknown local 7",
        ),
        (
            "(module (func (drop (i32.load (i32.const 0)))))",
            "refused: the module is not valid: unknown memory 0",
        ),
        (
            "(module (func) (export \"x\" (func 0)) (export \"x\" (func 0)))",
            "refused: the module is not valid: duplicate export name",
        ),
        (
            "(module (func $begin (param i32)) (start $begin))",
            "refused: the module is not valid: invalid start function type",
        ),
        (
            "(module (func (call 9)))",
            "refused: the module is not valid: unknown function 9",
        ),
        (
            "(module (memory 1) (func (drop (i32.atomic.load (i32.const 0)))))",
            "refused: the module is not valid: threads support is not enabled",
        ),
    ]));
}

#[test]
fn modules_with_too_much_are_refused() {
    let many = |what: &str, count: usize| format!("(module {})", what.repeat(count));
    let long = format!("(module (func {}))", "nop ".repeat(5000));
    let blocks = ["block ".repeat(900), "end ".repeat(900)].concat();
    let deep = task("", &format!("{blocks} (i32.const 0)"));
    let locals = task(
        "",
        &format!(
            "{} (i32.const 0)",
            "(local.set $i (i32.const 1))".repeat(10)
        ),
    );
    let locals = locals.replace(
        "(local $i i32)",
        &format!("(local $i i32) (local {})", "i64 ".repeat(49_000)),
    );
    check(texts(&[
        (
            &many("(func)", 51),
            "refused: the module has 51 functions, more than task.functions = 50",
        ),
        (
            &many("(global i32 (i32.const 0))", 21),
            "refused: the module has 21 global variables, more than task.globals = 20",
        ),
        (
            &many("(table 1 funcref)", 21),
            "refused: the module has 21 tables, more than task.globals = 20",
        ),
        (
            &many("(type (func))", 51),
            "refused: the module has 51 types, more than task.functions = 50",
        ),
        (
            &long,
            "refused: the module has 5002 bytes in one function, more than task.function_bytes = 4096",
        ),
        (&deep, "returned []"),
        (&locals, "returned []"),
    ]));
}

#[test]
fn tasks_that_go_wrong_are_stopped() {
    let forever = "trapped: it took more than the 1000000 cycles that it may take, in function ";
    let deep = "trapped: stack overflow: calls are nested deeper than task.stack_bytes = 65536 lets them be, in function ";
    let functions = |all: &str, main: &str| {
        task("", main).replace("(func $main", &format!("{all} (func $main"))
    };
    let start = functions(
        "(func $begin (loop (br 0))) (start $begin)",
        "(i32.const 0)",
    );
    let first = functions(
        "(func (export \"_initialize\") unreachable)",
        "(i32.const 0)",
    );
    let recursion = functions("(func $f (call $f))", "(call $f) (i32.const 0)");
    let tail = functions("(func $f (return_call $f))", "(call $f) (i32.const 0)");
    let mutual = functions(
        "(func $f (call $g)) (func $g (call $f))",
        "(call $f) (i32.const 0)",
    );
    let pointer = |main: &str| {
        functions(
            "(table 2 funcref) (elem (i32.const 1) $f) (func $f (param i64))",
            &format!("{main} (i32.const 0)"),
        )
    };
    let null = pointer("(call_indirect (i32.const 0))");
    let other = pointer("(call_indirect (i32.const 1))");
    let beyond = pointer("(call_indirect (i32.const 9))");
    let element = task("", "(i32.const 0)").replace(
        "(func $main",
        "(table 1 funcref) (elem (i32.const 1) $main) (func $main",
    );
    let data = task("", "(i32.const 0)").replace("(i32.const 0) \"\"", "(i32.const 65535) \"xy\"");
    let main = |text: &str| task("hello", text);
    let unreachable = "trapped: unreachable code was reached, in function \"main\"";
    check(texts(&[
        (
            &main("(loop (br 0)) (i32.const 0)"),
            &format!("{forever}\"main\""),
        ),
        (&start, forever),
        (
            &first,
            "trapped: unreachable code was reached, in function ",
        ),
        (
            &main("(loop (drop (call $args_size)) (br 0)) (i32.const 0)"),
            forever,
        ),
        (
            &main("(loop (drop (call $log (i32.const 0) (i32.const 5))) (br 0)) (i32.const 0)"),
            forever,
        ),
        (
            &main(
                "(loop (memory.fill (i32.const 0) (i32.const 7) (i32.const 65536)) (br 0)) (i32.const 0)",
            ),
            forever,
        ),
        (&tail, forever),
        (&recursion, deep),
        (&mutual, deep),
        (&main("unreachable"), unreachable),
        (
            &main("(i32.load (i32.const 65533))"),
            "trapped: out of bounds access to memory, in function \"main\"",
        ),
        (
            &main("(i32.load offset=4294967295 (i32.const -1))"),
            "trapped: out of bounds access to memory",
        ),
        (
            &main("(i32.store (i32.const -4) (i32.const 1)) (i32.const 0)"),
            "trapped: out of bounds access to memory",
        ),
        (
            &main("(memory.copy (i32.const 1) (i32.const 0) (i32.const 65536)) (i32.const 0)"),
            "trapped: out of bounds access to memory",
        ),
        (
            &main("(i32.div_s (i32.const 1) (i32.const 0))"),
            "trapped: integer division by zero",
        ),
        (
            &main("(i32.div_s (i32.const 0x80000000) (i32.const -1))"),
            "trapped: integer overflow",
        ),
        (
            &main("(i32.trunc_f64_s (f64.const nan))"),
            "trapped: a number that is no integer was converted to one",
        ),
        (&null, "trapped: a function pointer that is null was called"),
        (
            &other,
            "trapped: a function pointer was called as another type of function",
        ),
        (&beyond, "trapped: out of bounds access to a table"),
        (&element, "trapped: out of bounds access to a table"),
        (&data, "trapped: out of bounds access to memory"),
        (&main("(i32.const -7)"), "failed: -7"),
    ]));
}

#[test]
fn calls_with_wrong_arguments_are_refused_or_stop_the_task() {
    let main = |text: &str| task("hello", text);
    let stops = |call: &str| main(&format!("(drop {call}) (i32.const 0)"));
    check(texts(&[
        (
            &stops("(call $file_read (i32.const 0) (i32.const 65000) (i32.const 1000) (i64.const 0))"),
            "trapped: out of bounds: file_read of 1000 bytes at 65000, in a memory of 65536 bytes, in function \"main\"",
        ),
        (
            &stops("(call $file_read (i32.const 99) (i32.const -1) (i32.const -1) (i64.const 0))"),
            "trapped: out of bounds: file_read of 4294967295 bytes at 4294967295",
        ),
        (
            &stops("(call $file_write (i32.const 0) (i32.const 65536) (i32.const 1) (i64.const 0))"),
            "trapped: out of bounds: file_write of 1 bytes at 65536",
        ),
        (
            &stops("(call $submit_read (i32.const 0) (i32.const 65536) (i32.const 1) (i64.const 0))"),
            "trapped: out of bounds: submit_read",
        ),
        (
            &stops("(call $submit_write (i32.const 0) (i32.const 65536) (i32.const 1) (i64.const 0))"),
            "trapped: out of bounds: submit_write",
        ),
        (
            &stops("(call $get_args (i32.const 65536) (i32.const 1) (i32.const 0))"),
            "trapped: out of bounds: get_args",
        ),
        (&stops("(call $put_ret (i32.const -8) (i32.const 64))"), "trapped: out of bounds: put_ret of 64 bytes"),
        (&stops("(call $log (i32.const 0) (i32.const 65537))"), "trapped: out of bounds: log of 65537 bytes"),
        (
            &stops("(call $evaluate (i32.const 65530) (i32.const 10) (i64.const 0) (i32.const -1))"),
            "trapped: out of bounds: evaluate",
        ),
        (
            &stops("(call $look_up (i32.const 0) (i32.const 0) (i32.const 4) (i32.const 65530) (i32.const 10))"),
            "trapped: out of bounds: look_up",
        ),
        // A byte more than may be returned, and logged; more memory than there may be, a larger table.
        (&main("(call $put_ret (i32.const 0) (i32.const 65))"), "failed: -28"),
        (&main("(call $log (i32.const 0) (i32.const 65))"), "failed: -28"),
        (&main("(memory.grow (i32.const 4))"), "failed: -1"),
        (&main("(memory.grow (i32.const 65535))"), "failed: -1"),
        (&main("(i32.sub (memory.grow (i32.const 3)) (i32.const 1))"), "returned []"),
        (
            &main("(table.grow (ref.null func) (i32.const 200))").replace("(func $main", "(table 1 funcref) (func $main"),
            "failed: -1",
        ),
        (&main("(i32.wrap_i64 (call $wait (i32.const 5)))"), "failed: -22"),
        // All of memory is written at once, four times.
        (
            &main(
                "(loop $again (br_if $again (i32.ge_s (call $submit_write
                 (i32.const 0) (i32.const 0) (i32.const 65536) (i64.const 0)) (i32.const 0)))) (i32.const 0)",
            ),
            "returned []",
        ),
    ]));
}
