//! Images that were damaged: right data, or an error.

use super::crash::{change, tiny};
use super::disk::SECTOR;
use super::*;
use sim::Random;

/// A page as a drive tells it: its state, spare bytes and data, `None` where it gives an error.
type Told = Vec<(PageState, Option<Vec<u8>>, Option<Vec<u8>>)>;

/// An image, what it held, and what its file had held before.
struct Sample {
    bytes: Vec<u8>,
    earlier: Vec<Vec<u8>>,
    /// What a drive on it may tell: what it held, and on another host what it had held when it was sealed.
    truth: Vec<(Vec<BlockState>, Told)>,
    on_another_host: bool,
}

impl Sample {
    /// `closed` in order, killed, or killed and taken to another host.
    fn new(seed: u64) -> Sample {
        let mut random = Random::named(seed, "sample");
        let (closed, on_another_host) = (seed.is_multiple_of(3), seed % 3 == 2);
        let config = tiny();
        let disk = Disk::default();
        let mut d = disk.create(&config);
        let mut earlier = vec![disk.bytes()];
        let mut sealed = None;
        for step in 0..90 {
            change(&mut d, &mut random);
            if step % 10 == 0 {
                earlier.push(disk.bytes());
            }
            if step == 70 {
                d.nand.sync().expect("the disk works");
            }
        }
        if closed {
            d.nand.sync().expect("the disk works");
        }
        if on_another_host {
            let disk = disk.after_power_loss(&mut || 0);
            let mut d = disk.open_on_another_host(&config).expect("it was sealed");
            sealed = Some(told(&mut d));
        }
        Sample {
            truth: [told(&mut d)].into_iter().chain(sealed).collect(),
            bytes: disk.bytes(),
            earlier,
            on_another_host,
        }
    }

    /// Damages a copy of the file.
    fn damaged(&self, random: &mut Random) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for _ in 0..=random.below(3) {
            let at = self.place(random);
            let sector = at / SECTOR * SECTOR..(at / SECTOR + 1) * SECTOR;
            match random.below(10) {
                0..=3 => bytes[at] ^= 1 << random.below(8),
                4 => bytes[at..]
                    .iter_mut()
                    .take(1 << random.below(10))
                    .for_each(|byte| *byte = 0),
                5 => {
                    let record = at / 64 * 64;
                    bytes[record..record + 64].fill(0);
                }
                6..=8 => {
                    let from = &self.earlier[random.below(self.earlier.len() as u64) as usize];
                    bytes[sector.clone()].copy_from_slice(&from[sector]);
                }
                _ if random.chance(0.1) => {
                    bytes.truncate(at.max(1));
                    return bytes;
                }
                _ => random.fill(&mut bytes[sector]),
            }
        }
        bytes
    }

    /// A byte, mostly one that holds something.
    fn place(&self, random: &mut Random) -> usize {
        let sectors = self.bytes.len() / SECTOR;
        loop {
            let sector = random.below(sectors as u64) as usize * SECTOR;
            let empty = self.bytes[sector..][..SECTOR].iter().all(|&byte| byte == 0);
            if !empty || random.chance(0.02) {
                return sector + random.below(SECTOR as u64) as usize;
            }
        }
    }
}

fn told(d: &mut Driver) -> (Vec<BlockState>, Told) {
    let geometry = d.nand.geometry().clone();
    let blocks: Vec<_> = (0..4)
        .map(|block| d.nand.block_state(BlockId(block)))
        .collect();
    let mut pages = Vec::new();
    for block in 0..4 {
        let mode = blocks[block as usize].mode.unwrap_or(SLC);
        for index in 0..geometry.pages_per_block(mode) {
            let at = page(block, index);
            let ppa = geometry.ppa(at);
            let (state, spare) = (
                d.nand.page_state(ppa),
                d.nand.spare(ppa).map(<[u8]>::to_vec),
            );
            pages.push((state, spare, d.read(at)));
        }
    }
    (blocks, pages)
}

/// What became of a damaged image.
#[derive(Debug, Default)]
struct Outcomes {
    refused: u32,
    some_pages_lost: u32,
    whole: u32,
}

fn damage_and_open(samples: &[Sample], seed: u64, outcomes: &mut Outcomes) {
    let mut random = Random::named(seed, "damage");
    let sample = &samples[seed as usize % samples.len()];
    let disk = Disk::holding(sample.damaged(&mut random));
    let opened = match sample.on_another_host {
        true => disk.open_on_another_host(&tiny()),
        false => disk.open(&tiny()),
    };
    let Ok(mut d) = opened else {
        outcomes.refused += 1;
        return;
    };
    let (blocks, pages) = told(&mut d);
    let lost = sample
        .truth
        .iter()
        .find_map(|truth| lost_pages(&blocks, &pages, truth));
    match lost.unwrap_or_else(|| panic!("seed {seed}: other data than the drive held")) {
        0 => outcomes.whole += 1,
        _ => outcomes.some_pages_lost += 1,
    }
    // What was mended stays so.
    drop(d);
    let again = disk.open(&tiny()).map(|mut d| told(&mut d));
    assert!(
        again.is_ok_and(|again| again == (blocks, pages)),
        "seed {seed}: changed when it was opened again"
    );
}

/// How many pages give an error that held something; `None` if something is other than it was.
fn lost_pages(blocks: &[BlockState], pages: &Told, truth: &(Vec<BlockState>, Told)) -> Option<u32> {
    let key = |block: &BlockState| (block.erase_count, block.mode, block.condition);
    if !blocks.iter().map(key).eq(truth.0.iter().map(key)) || pages.len() != truth.1.len() {
        return None;
    }
    let mut lost = 0;
    for (page, truth) in pages.iter().zip(&truth.1) {
        match (page.0, &page.2) {
            _ if page == truth => {}
            // Programmed after the host's last sync.
            (PageState::Torn, None) if truth.0 == PageState::Erased => {}
            (state, None) if (state, &page.1) == (truth.0, &truth.1) => lost += 1,
            _ => return None,
        }
    }
    Some(lost)
}

/// Bits turned, ranges zeroed, sectors as they once were or full of noise, files truncated: ten thousand
/// images, or those of `BITLINE_DAMAGED`.
#[test]
fn damaged_images_give_right_data_or_an_error() {
    let seeds = match std::env::var("BITLINE_DAMAGED") {
        Ok(count) => count
            .parse()
            .expect("BITLINE_DAMAGED is a number of images"),
        Err(_) => 10_000,
    };
    let samples: Vec<Sample> = (0..60).map(Sample::new).collect();
    let mut outcomes = Outcomes::default();
    for seed in 0..seeds {
        damage_and_open(&samples, seed, &mut outcomes);
    }
    println!("{seeds} damaged images: {outcomes:?}");
    let Outcomes {
        refused,
        some_pages_lost,
        whole,
    } = outcomes;
    assert!(refused > 0 && some_pages_lost > 0 && whole > 0);
}

/// One damaged copy of any record is no loss at all; it is told by a check, and mended.
#[test]
fn one_damaged_copy_of_a_record_loses_nothing() {
    let disk = Disk::default();
    let mut d = disk.create(&tiny());
    for index in 0..4 {
        d.program(page(0, index), SLC, &[index as u8 + 1; 32], &[9; 100]);
    }
    d.must(0, &Command::erase(BlockId(1)));
    d.program(page(1, 0), SLC, &[7; 32], b"old");
    d.nand.sync().expect("the disk works");
    let before = told(&mut d);
    drop(d);
    let intact = disk.bytes();
    let blank = Disk::default();
    drop(blank.create(&tiny()));
    let fresh = blank.bytes();
    let data = [1u8, 2, 3, 4, 7].map(|value| {
        let found = intact.windows(32).position(|window| window == [value; 32]);
        found.expect("it is in the file")
    });
    let mut mended = 0;
    for record in (0..intact.len()).step_by(64) {
        let range = record..record + 64;
        if data.iter().any(|&at| range.contains(&at))
            || intact[range.clone()] == fresh[range.clone()]
        {
            continue;
        }
        for damage in 0..3 {
            let mut bytes = intact.clone();
            match damage {
                0 => bytes[range.start + 9] ^= 4,
                1 => bytes[range.clone()].fill(0),
                _ => bytes[range.clone()].copy_from_slice(&fresh[range.clone()]),
            }
            if bytes == intact {
                continue;
            }
            let disk = Disk::holding(bytes);
            let mut image = disk.image_read_only().expect("the header is there twice");
            image
                .load_into(&mut array::Array::new(&tiny().geometry))
                .expect("nothing is lost");
            let checked = image.look_through(true);
            assert!(checked.damaged_pages.is_empty());
            let mut d = disk.open(&tiny()).expect("nothing is lost");
            assert_eq!(told(&mut d), before, "byte {record}, {damage}");
            d.nand.sync().expect("the disk works");
            drop(d);
            let mut image = disk.image_read_only().expect("it is whole");
            image
                .load_into(&mut array::Array::new(&tiny().geometry))
                .expect("it is whole");
            assert_eq!(image.look_through(true).damaged_copies, 0, "byte {record}");
            mended += u32::from(checked.damaged_copies > 0);
        }
    }
    assert!(mended > 20, "{mended}");
}

/// Data that does not match is an error of that page alone.
#[test]
fn damaged_data_is_an_error_of_its_page() {
    let scratch = Scratch::new("data");
    let mut d = create(&scratch.0);
    d.program(page(0, 0), SLC, &[1; 32], b"spare");
    d.program(page(0, 1), SLC, &[0xEE; 32], b"spare");
    drop(d);
    let bytes = std::fs::read(&scratch.0).expect("readable");
    let at = bytes
        .windows(32)
        .position(|window| window == [0xEE; 32])
        .expect("it is there");
    let file = OpenOptions::new()
        .write(true)
        .open(&scratch.0)
        .expect("writable");
    file.write_all_at(&[0xEF], at as u64 + 5).expect("writable");
    drop(file);
    let checked = Image::check(&scratch.0, CONTENT, false).expect("its records are whole");
    assert_eq!((checked.pages, checked.damaged_pages.len()), (2, 0));
    let checked = Image::check(&scratch.0, CONTENT, true).expect("its records are whole");
    assert_eq!(
        (checked.pages, checked.damaged_pages),
        (2, vec![page(0, 1)])
    );
    let mut d = reopen(&scratch.0);
    assert_eq!(d.read(page(0, 0)), Some(vec![1; 32]));
    assert_eq!(d.read(page(0, 1)), None);
    assert_eq!(
        d.nand.page_status(PlaneId(0)).expect("idle"),
        PageStatus::TooManyErrors
    );
    assert_eq!(
        d.nand.spare_out(PlaneId(0)).expect("idle"),
        b"spare",
        "recovery needs it"
    );
}
