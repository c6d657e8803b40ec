//! Operators that tasks have accelerators compute: what they take, and what is refused.

use bitline::{Drive, Ended, Outcome, TaskLimits, TaskRun};
use operators::{Descriptor, Operator, Plane, Shape, Type};

use crate::{config, drive};

/// Accelerators of a drive whose DRAM never keeps them waiting.
const ACCELERATORS: [(&str, &str); 7] = [
    ("accelerator.count", "2"),
    ("accelerator.macs_per_second.float32", "1000000000"),
    ("accelerator.operations_per_second", "250000000"),
    ("accelerator.bytes_per_second", "1000000000"),
    ("accelerator.sram_bytes", "1048576"),
    ("accelerator.setup_ns", "500"),
    ("accelerator.standing_milliwatts", "20"),
];

/// A task that has a descriptor, its argument, computed `times` times, logs nothing, and returns the answer and `bytes` bytes of its
/// memory at byte 4096, where float32 numbers are to begin with.
fn operate(times: u32, bytes: u32) -> Vec<u8> {
    let text = format!(
        r#"(module
          (import "isc" "operate" (func $operate (param i32 i32) (result i32)))
          (import "isc" "get_args" (func $get_args (param i32 i32 i32) (result i32)))
          (import "isc" "put_ret" (func $put_ret (param i32 i32) (result i32)))
          (memory (export "memory") 4 4)
          (func (export "isc_main") (result i32)
            (local $i i32)
            (loop $fill
              (f32.store (i32.add (i32.const 4096) (i32.shl (local.get $i) (i32.const 2)))
                (f32.convert_i32_s (i32.sub (i32.rem_u (local.get $i) (i32.const 17)) (i32.const 8))))
              (br_if $fill (i32.lt_u
                (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 16384))))
            (drop (call $get_args (i32.const 64) (i32.const 1024) (i32.const 0)))
            (local.set $i (i32.const {times}))
            (loop $again
              (i32.store (i32.const 32) (call $operate (i32.const 64) (i32.const 56)))
              (br_if $again (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))
            (drop (call $put_ret (i32.const 32) (i32.const 4)))
            (drop (call $put_ret (i32.const 4096) (i32.const {bytes})))
            (i32.const 0)))"#
    );
    wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}"))
}

/// What that memory holds to begin with.
fn numbers() -> Vec<u8> {
    let number = |index: i32| ((index % 17 - 8) as f32).to_le_bytes();
    (0..16384).flat_map(number).collect()
}

fn bytes_of(descriptor: &Descriptor) -> Vec<u8> {
    let words = descriptor.encode();
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn run(drive: &mut Drive, module: &[u8], arguments: Vec<u8>) -> Outcome {
    let run = TaskRun::default().arguments(arguments);
    drive.tasks().run_module(module, &run).expect("it is begun")
}

fn answer(outcome: &Outcome) -> i32 {
    assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
    let answer = outcome.value[..4].try_into().expect("four bytes");
    i32::from_le_bytes(answer)
}

/// 100 rows of 40 columns times three vectors, with a bias.
fn product() -> Descriptor {
    Descriptor {
        operator: Operator {
            shape: Shape::MatrixVector {
                rows: 100,
                columns: 40,
                vectors: 3,
            },
            of: Type::Float32,
        },
        input: 4096,
        other: 4096 + 480,
        bias: 4096 + 480 + 16_000,
        output: 4096 + 17_000,
    }
}

#[test]
fn an_accelerator_computes_what_the_task_would_and_takes_its_time() {
    let mut drive = drive(&ACCELERATORS);
    let (once, thrice) = (operate(1, 18_200), operate(3, 18_200));
    let descriptor = product();
    let one = run(&mut drive, &once, bytes_of(&descriptor));
    let many = run(&mut drive, &thrice, bytes_of(&descriptor));
    assert_eq!((answer(&one), answer(&many)), (0, 0));
    let mut memory = numbers();
    let (operands, output) = memory.split_at_mut(17_000);
    operators::apply(
        &descriptor.operator,
        &operands[..480],
        &operands[480..16_480],
        Some(&operands[16_480..16_880]),
        &mut output[..1200],
    );
    assert!(one.value[4..] == memory[..18_200], "the result is another");
    // 12,000 products at one a nanosecond against 18,080 bytes at one a nanosecond.
    let each = 500 + 18_080;
    let calls = 2 * (many.cycles - one.cycles) / 4;
    let between = many.nanoseconds - one.nanoseconds;
    assert!(
        (2 * each..=2 * each + calls + 2000).contains(&between),
        "{between} ns for two more, {calls} cycles of calls"
    );
    // Nothing of it is charged to the core, which runs at 1 GHz.
    assert!(
        many.cycles - one.cycles < 1500,
        "{} {}",
        many.cycles,
        one.cycles
    );
    let told = drive.statistics().expect("powered");
    assert_eq!(told.accelerators.operators, 4);
    assert_eq!(told.accelerators.macs, 4 * 12_000);
    assert_eq!(told.accelerators.bytes, 4 * 18_080);
    let spent = |cause: &str| {
        let mut entries = told.energy.iter();
        let found = entries.find(|entry| entry.component == "accelerator" && entry.cause == cause);
        found.map_or(0, |entry| entry.energy_pj)
    };
    let each = (12_000 * 4600 + 18_080 * 1250) / 1000;
    assert_eq!(spent("operators"), 4 * each, "{:?}", told.energy);
}

#[test]
fn a_drive_without_accelerators_says_so() {
    let mut drive = drive(&[]);
    let outcome = run(&mut drive, &operate(1, 0), bytes_of(&product()));
    assert_eq!(answer(&outcome), -19);
    assert_eq!(
        drive.statistics().expect("powered").accelerators.operators,
        0
    );
}

/// Without data, nothing is computed, and everything takes as long.
#[test]
fn without_data_it_takes_as_long() {
    let both = ["memory", "none"].map(|storage| {
        let changes = [&ACCELERATORS[..], &[("data.storage", storage)]].concat();
        let mut drive = Drive::open(config(&changes)).expect("it opens");
        let outcome = run(&mut drive, &operate(5, 0), bytes_of(&product()));
        assert_eq!(answer(&outcome), 0);
        (
            outcome.nanoseconds,
            outcome.cycles,
            drive.statistics().expect("powered").energy_pj,
        )
    });
    assert_eq!(both[0], both[1]);
}

#[test]
fn what_cannot_be_is_refused_or_ends_the_run() {
    let mut drive = drive(&ACCELERATORS);
    let module = operate(1, 0);
    let good = product();
    let of = |shape| Descriptor {
        operator: Operator {
            shape,
            of: Type::Float32,
        },
        ..good
    };
    let input = Plane {
        channels: 2,
        height: 5,
        width: 6,
    };
    let vector = |rows, columns, vectors| Shape::MatrixVector {
        rows,
        columns,
        vectors,
    };
    let kernels = |kernel, stride, padding| Shape::Convolution {
        input,
        outputs: 2,
        kernel,
        stride,
        padding,
    };
    let refused = [
        of(vector(0, 4, 1)),
        of(vector(u32::MAX, u32::MAX, u32::MAX)),
        of(vector(1 << 20, 1 << 20, 1)),
        of(kernels(0, 1, 0)),
        of(kernels(3, 0, 0)),
        of(kernels(3, 1, 3)),
        of(kernels(7, 1, 0)),
        of(Shape::Tanh {
            count: 4,
            shift: 32,
        }),
        of(Shape::Narrow { count: 4, shift: 1 }),
        Descriptor {
            output: good.input,
            ..good
        },
        Descriptor {
            output: good.other + 15_996,
            ..good
        },
        Descriptor {
            output: good.bias - 4,
            ..good
        },
        Descriptor {
            output: good.input + 4,
            ..of(Shape::Relu { count: 8 })
        },
    ];
    for descriptor in refused {
        let outcome = run(&mut drive, &module, bytes_of(&descriptor));
        assert_eq!(answer(&outcome), -22, "{descriptor:?}");
    }
    for (word, value) in [(0, 10), (0, u32::MAX), (1, 3)] {
        let mut words = good.encode();
        words[word] = value;
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let outcome = run(&mut drive, &module, bytes);
        assert_eq!(answer(&outcome), -22, "word {word}");
    }
    let outside = [
        Descriptor {
            input: (4 << 16) - 479,
            ..good
        },
        Descriptor {
            other: u32::MAX,
            ..good
        },
        Descriptor {
            bias: (4 << 16) - 399,
            ..good
        },
        Descriptor {
            output: (4 << 16) - 1199,
            ..good
        },
    ];
    for descriptor in outside {
        let outcome = run(&mut drive, &module, bytes_of(&descriptor));
        assert_eq!(outcome.ended, Ended::Trapped, "{descriptor:?}");
        assert!(
            outcome.reason.contains("out of bounds: operate"),
            "{}",
            outcome.reason
        );
    }
    assert_eq!(
        drive.statistics().expect("powered").accelerators.operators,
        0,
        "none of them is computed"
    );
}

/// Point-wise operators may replace an operand.
#[test]
fn what_is_computed_point_by_point_may_stay_in_place() {
    let mut drive = drive(&ACCELERATORS);
    let descriptor = Descriptor {
        operator: Operator {
            shape: Shape::Relu { count: 100 },
            of: Type::Float32,
        },
        output: 4096,
        ..product()
    };
    let outcome = run(&mut drive, &operate(1, 400), bytes_of(&descriptor));
    assert_eq!(answer(&outcome), 0);
    let expected = (0..100).flat_map(|index| ((index % 17 - 8).max(0) as f32).to_le_bytes());
    assert_eq!(outcome.value[4..], expected.collect::<Vec<u8>>());
}

/// The limit of a run bounds what accelerators do for it, too.
#[test]
fn accelerators_are_bounded_by_the_cycles_of_a_run() {
    let mut drive = drive(&ACCELERATORS);
    let limits = TaskLimits {
        cycles: 1_000_000,
        ..TaskLimits::default()
    };
    let run = TaskRun::default()
        .arguments(bytes_of(&product()))
        .limits(limits);
    let outcome = drive
        .tasks()
        .run_module(&operate(1000, 0), &run)
        .expect("begun");
    assert_eq!(outcome.ended, Ended::Trapped);
    assert!(
        outcome.reason.contains("1000000 cycles"),
        "{}",
        outcome.reason
    );
    let computed = drive.statistics().expect("powered").accelerators.operators;
    assert!((20..60).contains(&computed), "{computed}");
}
