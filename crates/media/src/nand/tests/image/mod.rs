//! The image file: what comes back, what is refused, and being killed while writing.

mod crash;
mod damage;
mod disk;
mod host;

use super::*;
use disk::Disk;
use sim::memory::Frames;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

const SLC: ProgramMode = ProgramMode::Slc;
/// The layout of pages, as a firmware may number it.
const CONTENT: u32 = 7;
const TEXT: &str = "text = 1\n";

/// A path in the target's scratch folder, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let name = format!("bitline-nand-{}-{name}.img", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&path);
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn create(path: &Path) -> Driver {
    let image = Image::create(path, &small().geometry, CONTENT, TEXT).expect("it is new");
    Driver::new(&small(), Storage::Image(image))
}

fn reopen(path: &Path) -> Driver {
    let image = Image::open(path, CONTENT).expect("it is intact");
    assert_eq!(image.text(), TEXT);
    assert_eq!(*image.geometry(), small().geometry);
    Driver::new(&small(), Storage::Image(image))
}

/// Everything durable, in a form that compares.
type Pages = Vec<(PageState, Option<Vec<u8>>, Option<Vec<u8>>)>;
fn snapshot(d: &mut Driver) -> (Vec<BlockState>, Pages) {
    let geometry = d.nand.geometry().clone();
    let blocks = (0..geometry.blocks()).map(|block| d.nand.block_state(BlockId(block)));
    let blocks: Vec<_> = blocks.collect();
    let mut pages = Vec::new();
    for block in 0..geometry.blocks() {
        let mode = blocks[block as usize].mode.unwrap_or(SLC);
        for index in 0..geometry.pages_per_block(mode) {
            let ppa = geometry.ppa(page(block, index));
            let spare = d.nand.spare(ppa).map(<[u8]>::to_vec);
            pages.push((d.nand.page_state(ppa), spare, d.read(page(block, index))));
        }
    }
    (blocks, pages)
}

#[test]
fn everything_comes_back() {
    let scratch = Scratch::new("back");
    let mut d = create(&scratch.0);
    d.program(page(0, 0), SLC, &[1; 32], b"spare");
    d.program(page(0, 3), SLC, &[2; 32], &[9; 40]);
    d.program(page(13, 20), ProgramMode::Tlc, &[3; 32], b"");
    d.program(page(1, 0), SLC, &[4; 32], b"old life");
    d.must(0, &Command::erase(BlockId(1)));
    d.program(page(2, 0), SLC, &[5; 32], b"old life");
    d.must(0, &Command::erase(BlockId(2)));
    d.program(page(2, 1), ProgramMode::Esp, &[6; 32], b"new life");
    d.nand.mark_bad(BlockId(40)).expect("writable");
    d.nand
        .begin(DieId(0), &Command::program(page(3, 0), SLC), d.now)
        .expect("legal");
    d.nand
        .begin(DieId(3), &Command::erase(BlockId(41)), d.now)
        .expect("legal");
    d.nand.power_cut(d.now).expect("writable");
    d.nand.sync().expect("writable");
    let before = snapshot(&mut d);
    drop(d);
    let mut d = reopen(&scratch.0);
    assert_eq!(snapshot(&mut d), before);
    // and goes on where it was
    d.program(page(0, 4), SLC, &[7; 32], b"");
    refused(d.run(0, &Command::program(page(2, 1), SLC)), &["ESP mode"]);
}

#[test]
fn one_drive_at_a_time() {
    let scratch = Scratch::new("lock");
    let d = create(&scratch.0);
    let error = Image::open(&scratch.0, CONTENT).expect_err("it is in use");
    let told = error.to_string();
    assert!(told.contains("in use by another drive"), "{told}");
    let process = format!(" of process {};", std::process::id());
    // Not every file system and kernel tells who it is.
    assert!(
        told.contains(&process) || !told.contains(" of process "),
        "{told}"
    );
    drop(d);
    Image::open(&scratch.0, CONTENT).expect("it is free");
}

#[test]
fn other_files_are_refused_and_left_alone() {
    let scratch = Scratch::new("refused");
    drop(create(&scratch.0));
    let intact = std::fs::read(&scratch.0).expect("readable");
    let refuse = |bytes: &[u8], part: &str| {
        std::fs::write(&scratch.0, bytes).expect("writable");
        let error = Image::open(&scratch.0, CONTENT)
            .and_then(|image| Storage::Image(image).open(&small().geometry, &Frames::of_pages(1)))
            .and_then(|mut store| store.load(&mut array::Array::new(&small().geometry)))
            .expect_err("it is no image")
            .to_string();
        assert!(error.contains(part), "{error}");
        assert!(error.contains("refused.img"), "{error}");
        assert_eq!(std::fs::read(&scratch.0).expect("readable"), bytes);
    };
    let changed = |at: usize| {
        let mut bytes = intact.clone();
        bytes[at] ^= 0x40;
        bytes
    };
    // Both copies of a header or a record.
    let both = |at: usize, other: usize| {
        let mut bytes = changed(at);
        bytes[other] ^= 0x40;
        bytes
    };
    let tail = intact.len() - 69632;
    refuse(b"", "not a Bitline image");
    refuse(b"SQLite format 3", "not a Bitline image");
    refuse(&intact[..20], "truncated: it has 20 bytes");
    refuse(&intact[..intact.len() - 1], "truncated");
    refuse(&[&intact[..], b"more"].concat(), "too long: it has");
    refuse(&both(50, tail + 50), "damaged: the header at byte 0");
    refuse(&both(4096, tail + 4096), "damaged: the text at byte 4096");
    let mut unsealed = intact.clone();
    for at in [69632, 73728, tail - 8192, tail - 4096] {
        unsealed[at] ^= 0x40;
    }
    refuse(&unsealed, "damaged: all copies of the seals");

    std::fs::write(&scratch.0, &intact).expect("writable");
    let mut config = small();
    config.geometry.blocks_per_plane = 7;
    let image = Image::open(&scratch.0, CONTENT).expect("intact");
    let error = Nand::open(&config, Storage::Image(image))
        .err()
        .expect("another geometry");
    assert!(
        error
            .to_string()
            .contains("blocks_per_plane is 6 in the image, 7 in the configuration")
    );
    assert!(
        Image::create(&scratch.0, &small().geometry, CONTENT, "").is_err(),
        "an image is never overwritten"
    );
    assert!(Image::create(Path::new("/nowhere/x"), &small().geometry, CONTENT, "").is_err());
    let long = "x".repeat(TEXT_BYTES_MAX + 1);
    let fresh = Scratch::new("long");
    assert!(Image::create(&fresh.0, &small().geometry, CONTENT, &long).is_err());
    assert!(!fresh.0.exists());
}

/// What a drive of another version wrote is told from damage, and who wrote it.
#[test]
fn other_versions_are_refused_with_what_wrote_them() {
    let scratch = Scratch::new("version");
    drop(create(&scratch.0));
    let intact = std::fs::read(&scratch.0).expect("readable");
    let refused = |change: &dyn Fn(&mut Vec<u8>), content: u32| {
        let mut bytes = intact.clone();
        change(&mut bytes);
        std::fs::write(&scratch.0, bytes).expect("writable");
        let opened = Image::open(&scratch.0, content);
        opened.expect_err("it is of another version").to_string()
    };
    let both = |bytes: &mut Vec<u8>, at: usize, field: &[u8]| {
        let tail = bytes.len() - 69632;
        for start in [0, tail] {
            bytes[start + at..][..field.len()].copy_from_slice(field);
        }
    };
    // Format 1 had one header, and the geometry where the writer is now.
    let first = |bytes: &mut Vec<u8>| {
        bytes.truncate(300_000);
        bytes[8..12].copy_from_slice(&1u32.to_le_bytes());
        bytes[16..48].copy_from_slice(&[2; 32]);
    };
    let message = refused(&first, CONTENT);
    assert!(message.contains("image format version 1, written by Bitline 0.1.0; "));
    assert!(message.contains("which reads version 2: copy what the drive holds"));
    let later = |bytes: &mut Vec<u8>| {
        both(bytes, 8, &9u32.to_le_bytes());
        both(bytes, 16, b"3.4.5\0\0");
    };
    let message = refused(&later, CONTENT);
    assert!(
        message.contains("image format version 9, written by Bitline 3.4.5; "),
        "{message}"
    );
    let message = refused(&|_| {}, CONTENT + 1);
    assert!(
        message.contains("its pages have layout 7, written by Bitline "),
        "{message}"
    );
    assert!(message.contains("which reads layout 8: "), "{message}");
}

#[test]
fn an_image_takes_room_only_for_what_is_programmed() {
    use std::os::unix::fs::MetadataExt;
    let scratch = Scratch::new("sparse");
    let geometry = flash_cosmos().geometry;
    let image = Image::create(&scratch.0, &geometry, CONTENT, "").expect("sparse files");
    let mut d = Driver::new(&flash_cosmos(), Storage::Image(image));
    let used = |path: &Path| path.metadata().expect("it exists").blocks() * 512;
    let empty = used(&scratch.0);
    assert!(empty < 256 << 10, "{empty}");
    let data = vec![7; 16384];
    for index in 0..100 {
        d.program(page(77, index), SLC, &data, b"0123456789ab");
    }
    let full = used(&scratch.0);
    assert!(full < empty + 100 * (16384 + 4096) + 65536, "{full}");
    d.must(0, &Command::erase(BlockId(77)));
    // Until then the host may need what was there.
    d.nand.sync().expect("writable");
    let erased = used(&scratch.0);
    // A file with a hole takes a block more to say where.
    assert!(erased + 100 * 16384 <= full + 4096, "{erased} of {full}");
}

const CHILD: &str = "BITLINE_NAND_KILL_CHILD";

/// Not a test of its own: writes to an image until it is killed, telling what is done.
#[test]
fn child_that_writes_until_killed() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let image = Image::open(Path::new(&path), CONTENT).expect("the parent made it");
    let mut d = Driver::new(&small(), Storage::Image(image));
    let mut out = std::io::stdout();
    for round in 0u32.. {
        let block = round % 6;
        if d.nand.block_state(BlockId(block)).next_page > 0 {
            d.must(0, &Command::erase(BlockId(block)));
            writeln!(out, "\nacknowledged erase {block}").expect("the parent listens");
        }
        for index in 0..8 {
            let data = [((round * 8 + index) % 251) as u8; 32];
            d.program(page(block, index), SLC, &data, &round.to_le_bytes());
            writeln!(out, "\nacknowledged program {block} {index} {}", data[0])
                .expect("the parent listens");
        }
    }
}

/// What the pages of blocks 0 to 5 hold; `None` if erased.
type Held = [[Option<u8>; 8]; 6];

/// What was acknowledged before a SIGKILL is there; what was in progress is all there or not at all.
#[test]
fn killed_while_writing() {
    let scratch = Scratch::new("kill");
    drop(create(&scratch.0));
    let mut held = Held::default();
    for kill_after in [1, 10, 57, 200, 333, 400, 411] {
        let mut child = Process::new(std::env::current_exe().expect("this test"))
            .args([
                "--exact",
                "nand::tests::image::child_that_writes_until_killed",
            ])
            .args(["--nocapture", "--test-threads=1"])
            .env(CHILD, &scratch.0)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut seen = 0;
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        for line in lines.map_while(Result::ok) {
            seen += u32::from(acknowledge(&line, &mut held));
            if seen == kill_after {
                child.kill().expect("it runs");
            }
        }
        child.wait().expect("it was killed");
        assert!(seen >= kill_after, "only {seen} commands");
        let found = held_by(&mut reopen(&scratch.0));
        assert!(
            found == held || is_one_command_later(&held, &found),
            "after {seen}: {held:?}, {found:?}"
        );
        held = found;
    }
}

/// The same at every single write of a history of programs, raises and erases.
#[test]
fn killed_between_any_two_writes() {
    let mut writes = 0;
    while replay_and_kill(writes) {
        writes += 1;
    }
    assert!(writes > 150, "{writes}");
}

/// Replays the history up to so many writes and checks what is left; whether it stopped early.
fn replay_and_kill(writes: u64) -> bool {
    let disk = Disk::default();
    let mut d = disk.create(&small());
    disk.kill_after(writes + 1);
    let mut held = Held::default();
    let (mut stopped, mut value) = (false, 0);
    for step in 0..40 {
        let block = [0, 1, 0, 2, 1][step % 5];
        let next = d.nand.block_state(BlockId(block)).next_page;
        let raised = held[block as usize][step % 3].filter(|_| step % 4 == 3);
        let after = if let Some(before) = raised {
            // Every other time there is a cell to be raised; what was sealed may be one of two older versions.
            if step % 8 == 3 {
                d.nand.sync().expect("a killed process writes nothing more");
            }
            let mask = !(1 << (step % 2));
            d.nand.data_in(PlaneId(0), 0, &[mask; 32]).expect("idle");
            d.must(0, &Command::raise(page(block, step as u32 % 3)));
            let mut after = held;
            after[block as usize][step % 3] = Some(before & mask);
            after
        } else if step % 7 == 6 || next == 8 {
            d.must(0, &Command::erase(BlockId(block)));
            let mut after = held;
            after[block as usize] = [None; 8];
            after
        } else {
            value += 1;
            d.program(page(block, next), SLC, &[value; 32], &[value; 9]);
            let mut after = held;
            after[block as usize][next as usize] = Some(value);
            after
        };
        if disk.is_killed() {
            drop(d);
            disk.restart();
            let found = held_by(&mut disk.open(&small()).expect("it is intact"));
            assert!(
                found == held || found == after,
                "{writes} writes, step {step}"
            );
            stopped = true;
            break;
        }
        held = after;
    }
    stopped
}

/// Notes a line of the child; whether it was an acknowledgement.
fn acknowledge(line: &str, held: &mut Held) -> bool {
    let words: Vec<_> = line.split_whitespace().collect();
    let number = |index: usize| -> usize { words[index].parse().expect("a number") };
    match words[..] {
        ["acknowledged", "erase", _] => held[number(2)] = [None; 8],
        ["acknowledged", "program", _, _, _] => {
            held[number(2)][number(3)] = Some(number(4) as u8);
        }
        _ => return false,
    }
    true
}

fn held_by(d: &mut Driver) -> Held {
    let mut held = Held::default();
    for block in 0..6 {
        for index in 0..8 {
            let bytes = d.read(page(block, index)).expect("nothing is torn");
            assert!(bytes.iter().all(|&byte| byte == bytes[0]), "half a page");
            let spare = d.nand.spare_out(PlaneId(0)).expect("idle");
            assert_eq!(spare.is_empty(), bytes[0] == 0xFF);
            held[block as usize][index as usize] = (!spare.is_empty()).then_some(bytes[0]);
        }
    }
    held
}

/// Whether one erase or program that was not acknowledged yet makes the difference.
fn is_one_command_later(held: &Held, found: &Held) -> bool {
    let mut blocks = (0..6).filter(|&block| held[block] != found[block]);
    let (Some(block), None) = (blocks.next(), blocks.next()) else {
        return false;
    };
    let mut pages = (0..8).filter(|&page| held[block][page] != found[block][page]);
    let programmed = pages.next().is_some_and(|page| held[block][page].is_none());
    found[block] == [None; 8] || (programmed && pages.next().is_none())
}
