//! Random commands against bytes in the test: what is read is what was written, copied or computed.

use bitline::{Drive, MemoryRun, RunRanges};
use sim::Random;

use crate::{BYTES, bytes, drive, load, scale, scaled};

/// Blocks of 512 bytes of flash that take part.
const BLOCKS: u64 = 512;

struct Model {
    memory: Vec<u8>,
    flash: Vec<u8>,
}

/// A place for so many bytes that is a multiple of 4.
fn place(random: &mut Random, bytes: u64) -> u64 {
    random.below((BYTES - bytes) / 4 + 1) * 4
}

fn step(drive: &mut Drive, model: &mut Model, random: &mut Random, number: u64) {
    let length = (1 + random.below(4096)) * 4;
    let blocks = 1 + random.below(40);
    let lba = random.below(BLOCKS - blocks + 1);
    let on_flash = lba as usize * 512..(lba + blocks) as usize * 512;
    match random.below(5) {
        0 => {
            let (start, data) = (place(random, length), bytes(number, length as usize));
            drive.memory().write(start, &data).expect("it fits");
            model.memory[start as usize..][..data.len()].copy_from_slice(&data);
        }
        1 => {
            let start = place(random, length);
            let read = drive.memory().read(start, length).expect("it fits");
            assert_eq!(read, model.memory[start as usize..][..length as usize]);
        }
        2 => {
            let (from, to) = (place(random, length), place(random, length));
            let copied = drive.memory().copy(from, to, length);
            let meets = from < to + length && to < from + length;
            assert_eq!(copied.is_err(), meets, "{copied:?}");
            if !meets {
                let (from, to) = (from as usize, to as usize);
                model.memory.copy_within(from..from + length as usize, to);
            }
        }
        3 => {
            let to = place(random, blocks * 512);
            let copied = drive.memory().copy_from_blocks(lba, blocks, to);
            copied.expect("it fits");
            let into = &mut model.memory[to as usize..][..on_flash.len()];
            into.copy_from_slice(&model.flash[on_flash]);
        }
        _ => {
            let from = place(random, blocks * 512);
            let copied = drive.memory().copy_to_blocks(from, lba, blocks);
            copied.expect("it fits");
            let data = &model.memory[from as usize..][..on_flash.len()];
            model.flash[on_flash].copy_from_slice(data);
        }
    }
}

#[test]
fn commands_do_to_memory_and_flash_what_they_do_to_bytes() {
    for seed in [1, 2] {
        let mut drive = drive(&[]);
        let flash = bytes(seed, BLOCKS as usize * 512);
        drive.write(0, &flash).expect("it fits");
        let memory = vec![0; BYTES as usize];
        let mut model = Model { memory, flash };
        let mut random = Random::named(seed, "memory");
        for number in 0..300 {
            step(&mut drive, &mut model, &mut random, number);
        }
        let memory = drive.memory().read(0, BYTES).expect("it is there");
        assert!(memory == model.memory, "the memory is that of the model");
        let flash = drive.read(0, BLOCKS).expect("it is there");
        assert!(flash == model.flash, "so is the flash");
        assert_eq!(drive.memory().bytes().expect("it says so"), BYTES);
    }
}

/// Flash to memory, computed there, and back to flash.
#[test]
fn a_program_computes_what_the_test_computes() {
    let mut drive = drive(&[]);
    let data = bytes(7, 100 * 512);
    drive.write(0, &data).expect("it fits");
    let program = load(&mut drive, &scale());
    drive
        .memory()
        .copy_from_blocks(0, 100, 4096)
        .expect("it fits");
    let end = 4096 + data.len() as u64;
    let ranges = vec![4096..end, end..end + data.len() as u64];
    let set = drive.memory().create_ranges(&ranges).expect("a set");
    for (by, plus, ranges) in [
        (3, 9, RunRanges::Set(set)),
        (5, 1 << 30, RunRanges::These(ranges.clone())),
    ] {
        let run = MemoryRun {
            ranges,
            arguments: u32::to_le_bytes(plus).to_vec(),
            parameters: [by, 0],
        };
        let (expected, sum) = scaled(&data, by as u32, plus);
        let returned = drive.memory().run(&program, &run);
        assert_eq!(returned.expect("it ends well"), sum);
        drive
            .memory()
            .copy_to_blocks(end, 200, 100)
            .expect("it fits");
        assert!(drive.read(200, 100).expect("it is there") == expected);
    }
}

/// The same with an object of the volume on either side.
#[test]
fn objects_come_and_go() {
    let mut drive = drive(&[]);
    let data = bytes(8, 5000);
    let content = bitline::Content::File { bytes: 5000 };
    drive
        .volume()
        .write("in", content.clone(), &data)
        .expect("room");
    let zeroes = vec![0; 5000];
    drive.volume().write("out", content, &zeroes).expect("room");
    let copied = drive.memory().copy_from_object("in", 8192);
    assert_eq!(copied.expect("it fits"), 5000);
    let read = drive.memory().read(8192, 5000).expect("it is there");
    assert_eq!(read, data);
    let copied = drive.memory().copy_to_object(8192, "out");
    assert_eq!(copied.expect("it fits"), 5000);
    assert_eq!(drive.volume().read("out").expect("it is there"), data);
    let unknown = drive.memory().copy_from_object("other", 0);
    assert!(unknown.is_err());
}

/// Runs take the same time with data and without, command by command.
#[test]
fn time_is_the_same_without_data() {
    let live = |storage: &str| {
        let mut drive = drive(&[("data.storage", storage)]);
        let program = load(&mut drive, &scale());
        let mut instants = Vec::new();
        drive.memory().write(0, &[1; 8192]).expect("it fits");
        instants.push(drive.now());
        drive.memory().copy_to_blocks(0, 0, 16).expect("it fits");
        instants.push(drive.now());
        drive
            .memory()
            .copy_from_blocks(0, 16, 65536)
            .expect("it fits");
        drive.memory().copy(0, 16384, 8192).expect("it fits");
        instants.push(drive.now());
        let ranges = RunRanges::These(vec![0..8192, 65536..73728]);
        let run = drive.memory().run(&program, &MemoryRun::over(ranges));
        run.expect("it ends well");
        instants.push(drive.now());
        drive.memory().read(0, 65536).expect("it fits");
        instants.push(drive.now());
        instants
    };
    assert_eq!(live("\"memory\""), live("\"none\""));
}

/// What crosses the link and what the DRAM moves takes at least the time that its widths say.
#[test]
fn time_passes_on_link_and_dram() {
    let mut drive = drive(&[]);
    drive.memory().write(0, &[1; 4]).expect("it fits");
    let before = (drive.now(), drive.statistics().expect("power"));
    let data = vec![7; BYTES as usize];
    drive.memory().write(0, &data).expect("it fits");
    let passed = drive.now().since(before.0).as_seconds();
    let after = drive.statistics().expect("power");
    let crossed = after.link_down_bytes - before.1.link_down_bytes;
    assert!(crossed >= BYTES, "{crossed} bytes crossed the link");
    // 3200 million transfers of 4 bytes a second.
    let dram = BYTES as f64 / 12.8e9;
    assert!(passed > dram, "{passed} s");
    let inside = drive.now();
    drive
        .memory()
        .copy(0, BYTES / 2, BYTES / 2)
        .expect("it fits");
    let copied = drive.now().since(inside).as_seconds();
    assert!(copied > dram && copied < passed, "{copied} s, {passed} s");
    let link = drive.statistics().expect("power").link_down_bytes;
    assert!(link - after.link_down_bytes < 4096, "a copy stays inside");
}
