//! Expressions that tasks have the drive evaluate: held against what a few lines make of the same bits.

use bitline::{Drive, Ended, Isolation, Loading, Outcome, TaskFile, TaskRun};
use nvme::{Expression, Lba};
use sim::Random;

use crate::aborted::abort_all;
use crate::modules::{count, evaluate, wait};
use crate::{beside, cut, drive, write_file};

/// Bits of the vectors: two pages and a part of a third.
const BITS: u64 = 2 * 32_768 + 1234;
/// A file that the result goes to is none.
const COUNT: u32 = u32::MAX;

/// The operand that is file `number`.
fn file(number: u64) -> Expression<Lba> {
    Expression::Vector(Lba::new(number))
}

fn not(inner: Expression<Lba>) -> Expression<Lba> {
    Expression::Not(Box::new(inner))
}

/// Expressions over three files.
fn expressions() -> [Expression<Lba>; 6] {
    let [a, b, c] = [0, 1, 2].map(file);
    [
        a.clone(),
        not(b.clone()),
        Expression::And(vec![a.clone(), b.clone(), c.clone()]),
        Expression::Or(vec![a.clone(), not(b.clone()), c.clone()]),
        Expression::Xor(vec![a.clone(), b.clone()]),
        Expression::Or(vec![Expression::And(vec![a, b]), not(c)]),
    ]
}

/// The arguments of [`evaluate`].
fn arguments(expression: &Expression<Lba>, bits: u64, to: u32) -> Vec<u8> {
    let mut arguments = bits.to_le_bytes().to_vec();
    arguments.extend(to.to_le_bytes());
    arguments.extend(expression.encode().expect("a short one"));
    arguments
}

/// The value of an expression, bit by bit.
fn value(expression: &Expression<Lba>, files: &[Vec<u8>], bits: u64) -> Vec<u8> {
    fn bit(expression: &Expression<Lba>, files: &[Vec<u8>], at: usize) -> bool {
        let mut operands = expression.operands().iter();
        match expression {
            Expression::Vector(lba) => files[lba.get() as usize][at / 8] >> (at % 8) & 1 != 0,
            Expression::Not(inner) => !bit(inner, files, at),
            Expression::And(_) => operands.all(|operand| bit(operand, files, at)),
            Expression::Or(_) => operands.any(|operand| bit(operand, files, at)),
            Expression::Xor(_) => {
                operands.filter(|operand| bit(operand, files, at)).count() % 2 != 0
            }
        }
    }
    let mut value = vec![0; bits.div_ceil(8) as usize];
    for at in 0..bits as usize {
        value[at / 8] |= u8::from(bit(expression, files, at)) << (at % 8);
    }
    value
}

fn ones(value: &[u8]) -> u64 {
    value.iter().map(|byte| u64::from(byte.count_ones())).sum()
}

pub(crate) fn random(seed: u64, bytes: u64) -> Vec<u8> {
    let mut random = Random::named(seed, "vectors");
    (0..bytes).map(|_| random.below(256) as u8).collect()
}

/// The bits of three vectors, past whose end there are zeros.
fn operands() -> Vec<Vec<u8>> {
    let of = |seed| {
        let mut bits = random(seed, BITS.div_ceil(8));
        *bits.last_mut().expect("some") &= (1 << (BITS % 8)) - 1;
        bits
    };
    (1..=3).map(of).collect()
}

/// Three vectors of a group, and a file.
fn with_vectors(changes: &[(&str, &str)]) -> (Drive, TaskRun, Vec<Vec<u8>>) {
    let mut drive = drive(changes);
    let operands = operands();
    let group = drive.group("g").expect("a name");
    group.write(BITS, operands.clone()).expect("room");
    write_file(&mut drive, "out", &[0xAA; 20_000]);
    let vectors = (0..3).map(|number| TaskFile::read(format!("g/{number}")));
    let files = vectors.chain([TaskFile::write("out")]);
    let run = TaskRun::of(files.collect());
    (drive, run, operands)
}

fn run(drive: &mut Drive, module: &[u8], run: &TaskRun) -> Outcome {
    drive.tasks().run_module(module, run).expect("it is begun")
}

/// What the task was told.
fn told(outcome: &Outcome) -> i64 {
    assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
    i64::from_le_bytes(outcome.value[..8].try_into().expect("8 bytes"))
}

fn senses(drive: &mut Drive) -> u64 {
    drive.statistics().expect("power").bits.flash_cosmos_senses
}

#[test]
fn the_array_computes_what_a_task_asks_for() {
    for isolation in [
        Isolation::Snapshot,
        Isolation::Serializable,
        Isolation::File,
    ] {
        let (mut drive, asked, operands) = with_vectors(&[]);
        for expression in expressions() {
            let expected = value(&expression, &operands, BITS);
            let before = senses(&mut drive);
            let counts = asked.clone().isolation(isolation);
            let counts = counts.arguments(arguments(&expression, BITS, COUNT));
            let outcome = run(&mut drive, &evaluate(""), &counts);
            assert_eq!(told(&outcome) as u64, ones(&expected), "{expression:?}");
            assert!(senses(&mut drive) > before, "not in the array");
            let writes = asked.clone().isolation(isolation);
            let writes = writes.arguments(arguments(&expression, BITS, 3));
            let outcome = run(&mut drive, &evaluate(""), &writes);
            assert_eq!(told(&outcome), expected.len() as i64);
            let out = drive.volume().read("out").expect("it is there");
            assert!(out.starts_with(&expected), "{isolation:?}: {expression:?}");
            assert_eq!(out[expected.len()..], [0xAA; 20_000][expected.len()..]);
        }
        cut(&mut drive);
        let last = value(&expressions()[5], &operands, BITS);
        let out = drive.volume().read("out").expect("it is there");
        assert!(out.starts_with(&last), "{isolation:?}");
    }
}

/// What the task wrote to an operand counts, whole pages and parts of them.
#[test]
fn a_task_evaluates_over_what_it_wrote() {
    let (mut drive, _, mut operands) = with_vectors(&[]);
    write_file(&mut drive, "third", &operands[2]);
    let asked = TaskRun::of(["g/0", "g/1", "third"].map(TaskFile::write).to_vec());
    // A whole page of zeros, and 100 bytes elsewhere.
    let first =
        "(drop (call $file_write (i32.const 0) (i32.const 8192) (i32.const 4096) (i64.const 4096)))
         (drop (call $file_write (i32.const 1) (i32.const 8192) (i32.const 100) (i64.const 50)))";
    operands[0][4096..8192].fill(0);
    operands[1][50..150].fill(0);
    for expression in expressions() {
        let expected = value(&expression, &operands, BITS);
        let counts = arguments(&expression, BITS, COUNT);
        let outcome = run(
            &mut drive,
            &evaluate(first),
            &asked.clone().arguments(counts),
        );
        assert_eq!(told(&outcome) as u64, ones(&expected), "{expression:?}");
        // The result may take the place of an operand.
        let writes = arguments(&expression, BITS, 2);
        let outcome = run(
            &mut drive,
            &evaluate(first),
            &asked.clone().arguments(writes),
        );
        assert_eq!(told(&outcome), expected.len() as i64);
        operands[2] = drive.volume().read("third").expect("it is there");
        assert_eq!(operands[2], expected, "{expression:?}");
    }
}

/// What somebody else changes after the transaction began is not seen, before the evaluation and while it is under way.
#[test]
fn operands_are_as_they_were_when_the_run_began() {
    let mut seen = [0, 0];
    let module = evaluate(&wait(200_000));
    for events in (0..600).step_by(20) {
        for writes_first in [false, true] {
            let mut drive = drive(&[]);
            let operands: Vec<Vec<u8>> = (1..=3).map(|seed| random(seed, 20_000)).collect();
            for (number, operand) in operands.iter().enumerate() {
                write_file(&mut drive, &number.to_string(), operand);
            }
            let expression = expressions()[3].clone();
            let before = ones(&value(&expression, &operands, 160_000));
            let mut changed = operands.clone();
            changed[1][4096..12_288].fill(0);
            let after = ones(&value(&expression, &changed, 160_000));
            let files = (0..3).map(|number| TaskFile::read(number.to_string()));
            let asked = TaskRun::of(files.collect());
            let asked = asked.arguments(arguments(&expression, 0, COUNT));
            let when = (events, writes_first);
            let outcome = beside(&mut drive, (&module, asked), when, async |host| {
                let written = host.write_object_at("1", 4096, &[0; 8192]).await;
                written.expect("room");
            });
            let found = told(&outcome) as u64;
            assert!([before, after].contains(&found), "{events} events: neither");
            seen[usize::from(found == after)] += 1;
        }
    }
    assert!(
        seen.iter().all(|times| *times > 3),
        "before and after: {seen:?}"
    );
}

/// Likewise where the result takes the place of an operand: what was put there is no operand of a second attempt.
#[test]
fn results_in_place_are_of_what_the_run_began_with() {
    let expression = Expression::Xor(vec![file(0), file(1)]);
    let bits = 160_000;
    let module = evaluate("");
    let mut seen = [0; 3];
    for events in (0..400).step_by(4) {
        let mut drive = drive(&[]);
        let mut operands: Vec<Vec<u8>> = (1..=2).map(|seed| random(seed, 20_000)).collect();
        for (number, operand) in operands.iter().enumerate() {
            write_file(&mut drive, &number.to_string(), operand);
        }
        let before = value(&expression, &operands, bits);
        let first = operands[0].clone();
        operands[1][..4096].fill(0);
        let after = value(&expression, &operands, bits);
        let asked = TaskRun::of(vec![TaskFile::write("0"), TaskFile::read("1")]);
        let asked = asked.arguments(arguments(&expression, bits, 0));
        let when = (events, false);
        let outcome = beside(&mut drive, (&module, asked), when, async |host| {
            let written = host.write_object_at("1", 0, &[0; 4096]).await;
            written.expect("room");
        });
        let found = drive.volume().read("0").expect("it is there");
        match outcome.ended {
            Ended::Committed if found == before => seen[0] += 1,
            Ended::Committed if found == after => seen[1] += 1,
            Ended::Conflict if found == first => seen[2] += 1,
            ended => panic!("after {events} events: {ended:?}, and other bits"),
        }
    }
    assert!(
        seen[0] > 0 && seen[2] > 0,
        "before, after, refused: {seen:?}"
    );
}

/// A run is aborted in the middle of an evaluation, and another begins at once that may get its place among those open.
#[test]
fn an_evaluation_that_is_aborted_does_nothing_to_the_next_run() {
    let expression = Expression::Xor(vec![file(0), file(1)]);
    let bits = 160_000;
    let mut seen = [0; 2];
    for events in (0..400).step_by(4) {
        let mut drive = drive(&[]);
        let operands: Vec<Vec<u8>> = (1..=2).map(|seed| random(seed, 20_000)).collect();
        for (number, operand) in operands.iter().enumerate() {
            write_file(&mut drive, &number.to_string(), operand);
        }
        write_file(&mut drive, "number", &[0; 8]);
        let combined = value(&expression, &operands, bits);
        let [evaluate, count] = [evaluate(""), count()].map(|module| {
            let loaded = drive.tasks().load(&module, Loading::default());
            loaded.expect("room")
        });
        let asked = TaskRun::of(vec![TaskFile::write("0"), TaskFile::read("1")]);
        let asked = asked.arguments(arguments(&expression, bits, 0));
        let running = drive.submit(async move |host| host.run_program(&evaluate, &asked).await);
        let running = running.expect("power");
        for _ in 0..events {
            drive.simulation().expect("power").step();
        }
        let abort = drive.submit(async move |host| {
            let aborted = abort_all(&host).await;
            let run = TaskRun::of(vec![TaskFile::write("number")]);
            let counted = host.run_program(&count, &run).await;
            assert_eq!(counted.expect("begun").ended, Ended::Committed);
            aborted
        });
        let aborted = drive.wait(&abort.expect("power")).expect("power").answer;
        let outcome = drive.wait(&running).expect("power").answer;
        let committed = outcome.is_ok_and(|outcome| outcome.ended == Ended::Committed);
        assert_eq!(committed, aborted == 0, "after {events} events");
        let expected = if committed { &combined } else { &operands[0] };
        for _ in 0..2 {
            let found = drive.volume().read("0").expect("it is there");
            assert_eq!(found, *expected, "after {events} events");
            assert_eq!(drive.volume().read("number").expect("it is there")[0], 1);
            cut(&mut drive);
        }
        seen[usize::from(committed)] += 1;
    }
    assert!(seen.iter().all(|times| *times > 3), "{seen:?}");
}

#[test]
fn what_cannot_be_is_told() {
    let (mut drive, asked, _) = with_vectors(&[]);
    let and = expressions()[2].clone();
    let short = TaskRun::of(vec![TaskFile::read("out"), TaskFile::read("g/0")]);
    let cases = [
        (asked.clone(), arguments(&file(7), 0, COUNT), -9),
        (asked.clone(), arguments(&file(u64::MAX), 0, COUNT), -9),
        (asked.clone(), arguments(&and, BITS + 8, COUNT), -22),
        (asked.clone(), arguments(&and, u64::MAX, COUNT), -22),
        (asked.clone(), arguments(&and, 0, 0), -13),
        (asked.clone(), arguments(&and, 0, 9), -9),
        (asked.clone(), [vec![0; 8], vec![255; 4]].concat(), -22),
        (
            asked.clone(),
            [vec![0; 8], vec![255; 4], vec![3, 1, 0]].concat(),
            -22,
        ),
        (short, arguments(&file(1), 0, 0), -13),
    ];
    for (number, (run, arguments, expected)) in cases.into_iter().enumerate() {
        let outcome = self::run(&mut drive, &evaluate(""), &run.arguments(arguments));
        assert_eq!(told(&outcome), expected, "case {number}");
    }
    // A result that is longer than its file.
    write_file(&mut drive, "small", &[0; 100]);
    let files = vec![TaskFile::read("g/0"), TaskFile::write("small")];
    let run = TaskRun::of(files).arguments(arguments(&file(0), 0, 1));
    assert_eq!(told(&self::run(&mut drive, &evaluate(""), &run)), -27);
}

/// Time is the same without data.
#[test]
fn evaluations_take_the_same_time_without_data() {
    let times = ["memory", "none"].map(|storage| {
        let (mut drive, asked, _) = with_vectors(&[("data.storage", storage)]);
        let mut times = Vec::new();
        for to in [COUNT, 3] {
            let asked = asked
                .clone()
                .arguments(arguments(&expressions()[2], BITS, to));
            times.push(run(&mut drive, &evaluate(""), &asked).nanoseconds);
        }
        times
    });
    assert_eq!(times[0], times[1]);
}
