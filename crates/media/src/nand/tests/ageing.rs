//! Pages of drives that grow older: which bits go wrong, and which pages are given up.

use super::*;
use crate::nand::cells::{Ageing, CellErrors};

/// Blocks of one string, pages of many cells.
fn config() -> NandConfig {
    let mut config = small();
    config.geometry.strings_per_block = 1;
    config.geometry.cells_per_string = 8;
    config.geometry.page_bytes = 16_384;
    config.latency.program_esp_ns = config.latency.program_slc_ns;
    config
}

/// Ten thousand cycles and a year at 30 degrees: Flash-Cosmos's worst case.
const WORST: Ageing = Ageing {
    hours: 8760.0,
    celsius: 30.0,
    cycles: 10_000,
};

fn data() -> Vec<u8> {
    (0..16_384u32).map(|at| ((at * 37) >> 3) as u8).collect()
}

/// Bits that differ.
fn distance(a: &[u8], b: &[u8]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
}

/// A drive with `data` in page 0 of block 0.
fn programmed(config: &NandConfig, mode: ProgramMode) -> Driver {
    let mut d = Driver::new(config, Storage::Memory);
    d.program(page(0, 0), mode, &data(), b"spare");
    d
}

#[test]
fn weakly_programmed_operands_lose_bits_and_always_the_same_ones() {
    let mut d = programmed(&config(), ProgramMode::Esp);
    let read = |d: &mut Driver| d.read(page(0, 0)).expect("what is raw is never given up");
    let fresh = distance(&read(&mut d), &data());
    d.nand.grow_older(&WORST).expect("memory does not fail");
    let aged = read(&mut d);
    let wrong = distance(&aged, &data());
    // A median block: about 2.7e-3 of 131,072; a block may be three times better or worse.
    assert!((100..1200).contains(&wrong), "{wrong}");
    assert!(fresh < wrong);
    assert_eq!(read(&mut d), aged, "reading twice gives the same bits");
    d.must(0, &mws(Iscm::READ, &[(0, 0, &[0])]));
    assert_eq!(d.register(0), aged, "so does sensing");
    let rate = d.nand.raw_bit_error_rate(Ppa(0)).expect("programmed");
    assert!(
        (f64::from(wrong) / 131_072.0 / rate - 1.0).abs() < 0.3,
        "{rate}"
    );

    // Of what was wrong nothing comes right with age.
    d.nand.grow_older(&WORST).expect("memory does not fail");
    let older = read(&mut d);
    assert!(distance(&older, &data()) > wrong);
    let stays = |((data, aged), older): ((&u8, &u8), &u8)| (data ^ aged) & !(data ^ older) == 0;
    assert!(data().iter().zip(&aged).zip(&older).all(stays));

    // What is programmed anew begins anew, but for the cycles.
    d.must(0, &Command::erase(BlockId(0)));
    d.program(page(0, 0), ProgramMode::Esp, &data(), b"");
    assert!(distance(&read(&mut d), &data()) < wrong);
}

#[test]
fn errors_of_operands_reach_the_result() {
    let mut d = Driver::new(&config(), Storage::Memory);
    let ones = vec![0xFF; 16_384];
    for layer in 0..4 {
        d.program(page(0, layer), ProgramMode::Esp, &ones, b"");
    }
    d.nand.grow_older(&WORST).expect("memory does not fail");
    let mut expected = ones.clone();
    for layer in 0..4 {
        let read = d.read(page(0, layer)).expect("raw");
        assert!(distance(&read, &ones) > 0);
        expected
            .iter_mut()
            .zip(&read)
            .for_each(|(all, byte)| *all &= byte);
    }
    d.must(0, &mws(Iscm::READ, &[(0, 0, &[0, 1, 2, 3])]));
    assert!(
        d.register(0) == expected,
        "an AND of four senses what four reads do"
    );
}

#[test]
fn enough_effort_leaves_no_errors() {
    let mut d = Driver::new(&config(), Storage::Memory);
    let mut wrong = Vec::new();
    for (block, effort) in [(0, 0), (1, 100), (2, 150), (3, 190), (4, 200)] {
        let feature = Feature::EspEffort;
        d.must(
            0,
            &Command::SetFeature {
                feature,
                value: effort,
            },
        );
        d.program(page(block, 0), ProgramMode::Esp, &data(), b"");
    }
    d.nand.grow_older(&WORST).expect("memory does not fail");
    for block in 0..5 {
        let read = d.read(page(block, 0)).expect("raw");
        wrong.push(distance(&read, &data()));
    }
    assert!(wrong[0] > 50 && wrong[1] > 50, "{wrong:?}");
    assert!(wrong[2] > 0);
    assert_eq!(wrong[3..], [0, 0], "at +90 % and above");
}

#[test]
fn another_seed_has_other_weak_cells_and_none_if_errors_are_off() {
    let read = |seed, errors| {
        let mut config = config();
        config.cells.errors = errors;
        let mut d = programmed(&config, ProgramMode::Esp);
        d.nand.set_seed(seed);
        d.nand.grow_older(&WORST).expect("memory does not fail");
        d.read(page(0, 0)).expect("raw")
    };
    let modelled = CellErrors::Modelled;
    assert_eq!(read(1, modelled), read(1, modelled));
    assert_ne!(read(1, modelled), read(2, modelled));
    assert_eq!(read(1, CellErrors::None), data());
}

#[test]
fn pages_with_a_code_are_given_up_until_references_follow() {
    let mut d = programmed(&config(), ProgramMode::Tlc);
    // Pages 8, 10 and 12 are a lower, a middle and an upper one.
    for number in 1..14 {
        d.program(page(0, number), ProgramMode::Tlc, &data(), b"");
    }
    let status = |d: &mut Driver, number: u32, level: u32| {
        let feature = Feature::ReadReference;
        d.must(
            0,
            &Command::SetFeature {
                feature,
                value: level,
            },
        );
        d.must(0, &Command::read(page(0, number)));
        d.nand.page_status(PlaneId(0)).expect("idle")
    };
    assert_eq!(d.read(page(0, 12)), Some(data()), "fresh");
    d.nand.grow_older(&WORST).expect("memory does not fail");
    let upper: Vec<PageStatus> = (0..=8).map(|level| status(&mut d, 12, level)).collect();
    assert_eq!(upper[0], PageStatus::TooManyErrors, "{upper:?}");
    let good = upper.iter().position(|status| *status == PageStatus::Ok);
    assert!(
        good.is_some_and(|level| (2..=7).contains(&level)),
        "{upper:?}"
    );
    // Another read with the same references gives the same.
    let again: Vec<PageStatus> = (0..=8).map(|level| status(&mut d, 12, level)).collect();
    assert_eq!(again, upper);
    let level = good.expect("just found") as u32;
    assert_eq!(status(&mut d, 12, level), PageStatus::Ok);
    assert_eq!(
        d.register(0),
        data(),
        "what is corrected is what was programmed"
    );
    // A reset brings the default references back.
    d.must(0, &Command::Reset);
    d.must(0, &Command::read(page(0, 12)));
    let status = d.nand.page_status(PlaneId(0)).expect("idle");
    assert_eq!(status, PageStatus::TooManyErrors);
    let feature = Feature::ReadReference;
    let refused = d.run(0, &Command::SetFeature { feature, value: 65 });
    assert!(matches!(refused, Err(NandError::BadFeature { .. })));
}

#[test]
fn an_image_remembers_how_old_its_pages_are() {
    let config = config();
    let path = std::env::temp_dir().join(format!("bitline-nand-{}-age.img", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let image = Image::create(&path, &config.geometry, 1, "").expect("it is new");
    let mut d = Driver::new(&config, Storage::Image(image));
    d.program(page(0, 0), ProgramMode::Esp, &data(), b"old");
    d.nand.grow_older(&WORST).expect("the file is there");
    // In the same block, but younger; and in another one, with another effort.
    d.program(page(0, 1), ProgramMode::Esp, &data(), b"young");
    let feature = Feature::EspEffort;
    d.must(
        0,
        &Command::SetFeature {
            feature,
            value: 200,
        },
    );
    d.program(page(1, 0), ProgramMode::Esp, &data(), b"strong");
    let later = Ageing {
        hours: 100.0,
        celsius: 40.0,
        cycles: 5,
    };
    d.nand.grow_older(&later).expect("the file is there");
    let pages = [page(0, 0), page(0, 1), page(1, 0)];
    let before = pages.map(|page| d.read(page).expect("raw"));
    let (age, rates) = (
        *d.nand.age(),
        [0, 1, 24].map(|ppa| d.nand.raw_bit_error_rate(Ppa(ppa))),
    );
    assert!(distance(&before[0], &data()) > distance(&before[1], &data()));
    assert_eq!(before[2], data());
    assert_eq!(
        (age.hours, age.cycles, age.celsius),
        (8860.0, 10_005, Some(40.0))
    );
    drop(d);

    let image = Image::open(&path, 1).expect("it is intact");
    let mut d = Driver::new(&config, Storage::Image(image));
    assert_eq!(*d.nand.age(), age);
    assert_eq!(pages.map(|page| d.read(page).expect("raw")), before);
    assert_eq!(
        [0, 1, 24].map(|ppa| d.nand.raw_bit_error_rate(Ppa(ppa))),
        rates
    );
    assert_eq!(d.nand.spare(Ppa(0)), Some(&b"old"[..]));
    drop(d);

    // A damaged copy of the age counts for nothing: the other does.
    use std::os::unix::fs::FileExt;
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .expect("there");
    let first_copy = 69632 + 3 * 4096;
    file.write_all_at(&[0xAA; 8], first_copy).expect("writable");
    let image = Image::open(&path, 1).expect("the header is intact");
    let d = Driver::new(&config, Storage::Image(image));
    assert_eq!(*d.nand.age(), age);
    let _ = std::fs::remove_file(&path);
}
