//! What sequences of senses and latch moves are for: the ones that papers describe, and their limits.

use super::*;

/// Bytes of a page.
const BYTES: usize = 32;

fn byte(d: &Driver) -> u8 {
    d.register(0)[0]
}

/// Whatever of the page register is asked for, whether its bits were made or not, is that of `expected`.
fn looked_at_alike(d: &mut Driver, expected: &[u8]) {
    for _ in 0..2 {
        for range in [
            0..expected.len(),
            3..5,
            2041..2063,
            4096..8192,
            16_383..expected.len(),
        ] {
            let mut bytes = vec![0; range.len()];
            let column = range.start;
            d.nand
                .data_out(PlaneId(0), column, &mut bytes)
                .expect("the die is idle");
            assert!(bytes == expected[range], "from byte {column} on");
        }
        for bits in [0, 5, 4096, 16_389, u64::MAX] {
            let of = |at: usize| (0..8).filter(move |bit| 8 * at as u64 + bit < bits);
            let ones = |at: usize| of(at).filter(|bit| expected[at] >> bit & 1 == 1).count() as u64;
            let expected = (0..expected.len()).map(ones).sum::<u64>();
            assert_eq!(
                d.nand.count_ones(PlaneId(0), bits).expect("idle"),
                expected,
                "{bits} bits"
            );
        }
        let words = d.nand.page_register(PlaneId(0)).expect("the die is idle");
        assert!(
            words
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .eq(expected.iter().copied())
        );
    }
}

/// Programs byte values into (block, page) of plane 0.
fn store(d: &mut Driver, pages: &[(u32, u32, u8)]) {
    for &(block, index, value) in pages {
        d.program(page(block, index), ProgramMode::Esp, &[value; BYTES], b"");
    }
}

/// {A1 + (B1 B2 B3 B4)} (C1 + C3) (D2 + D4) in two commands (Flash-Cosmos Equation 4, Figure 16).
#[test]
fn the_worked_example_of_the_paper_takes_two_senses() {
    let mut d = Driver::new(&small(), Storage::Memory);
    let a = [0x0F, 1, 2, 3];
    let b = [0xF3, 0xFB, 0x7B, 0xF7];
    let c = [0x55, 4, 0x33, 5];
    let dd = [6, 0x3C, 7, 0xC0];
    for layer in 0..4 {
        let at = layer as u32 * 2;
        let stored = [a[layer], b[layer], !c[layer], !dd[layer]];
        for (block, value) in (0..).zip(stored) {
            store(&mut d, &[(block, at, value)]);
        }
    }
    d.must(0, &mws(flags("isc"), &[(2, 0, &[0, 2]), (3, 0, &[1, 3])]));
    let after_first = d.register(0);
    assert_eq!(
        after_first, [0; BYTES],
        "the first command moves nothing to the C-latch"
    );
    d.must(0, &mws(flags("t"), &[(0, 0, &[0]), (1, 0, &[0, 1, 2, 3])]));
    let expected = (a[0] | (b[0] & b[1] & b[2] & b[3])) & (c[0] | c[2]) & (dd[1] | dd[3]);
    assert_eq!(byte(&d), expected);
    assert_ne!(expected, 0);
}

#[test]
fn parabit_accumulates_serially() {
    let mut d = Driver::new(&small(), Storage::Memory);
    let values = [0b1110_1101, 0b0111_1100, 0b0101_0110];
    store(
        &mut d,
        &[(0, 0, values[0]), (0, 1, values[1]), (1, 0, values[2])],
    );
    let places = [(0, 0, 0), (0, 1, 0), (1, 0, 0)];
    for (index, (block, string, layer)) in places.into_iter().enumerate() {
        let operand = Mws::single_wordlines([(BlockId(block), string, layer)]);
        d.must(
            0,
            &Command::parabit_and_step(operand, index == 0, index == 2),
        );
    }
    assert_eq!(byte(&d), values[0] & values[1] & values[2]);
    for (index, (block, string, layer)) in places.into_iter().enumerate() {
        let operand = Mws::single_wordlines([(BlockId(block), string, layer)]);
        d.must(0, &Command::parabit_or_step(operand, index == 0));
    }
    assert_eq!(byte(&d), values[0] | values[1] | values[2]);
}

#[test]
fn xor_and_xnor_go_through_both_latches() {
    let mut d = Driver::new(&small(), Storage::Memory);
    let (a, b) = (0b1100_0101, 0b1010_0110);
    store(&mut d, &[(0, 0, a), (1, 0, b)]);
    d.must(0, &Command::read(page(0, 0)));
    d.must(0, &mws(flags("s"), &[(1, 0, &[0])]));
    d.must(
        0,
        &Command::Xor {
            planes: PlaneMask(1),
        },
    );
    assert_eq!(byte(&d), a ^ b);
    d.must(0, &Command::read(page(0, 0)));
    d.must(0, &mws(flags("is"), &[(1, 0, &[0])]));
    d.must(
        0,
        &Command::Xor {
            planes: PlaneMask(1),
        },
    );
    assert_eq!(byte(&d), !(a ^ b), "Flash-Cosmos Equation 2");
}

#[test]
fn cache_reads_show_one_page_while_sensing_the_next() {
    let mut d = Driver::new(&small(), Storage::Memory);
    store(&mut d, &[(0, 0, 10), (0, 1, 11), (0, 2, 12)]);
    let die = DieId(0);
    d.must(0, &Command::read(page(0, 0)));
    for next in [1, 2] {
        let pages = PageSet::from_iter([page(0, next)]);
        let busy = d
            .nand
            .begin(die, &Command::CacheRead { pages }, d.now)
            .expect("legal");
        assert_eq!(byte(&d), 9 + next as u8, "while the die is sensing");
        d.now += busy.span;
        d.nand.finish(die, d.now).expect("at its time");
        assert_eq!(byte(&d), 9 + next as u8);
    }
    d.must(
        0,
        &Command::CacheReadEnd {
            planes: PlaneMask(1),
        },
    );
    assert_eq!(byte(&d), 12);
}

#[test]
fn copyback_moves_data_and_spare_bytes() {
    let mut d = Driver::new(&small(), Storage::Memory);
    let mode = ProgramMode::Slc;
    let data: [u8; BYTES] = std::array::from_fn(|index| index as u8);
    d.program(page(0, 0), mode, &data, b"first");
    let from = PageSet::from_iter([page(0, 0)]);
    let to = PageSet::from_iter([page(1, 3)]);
    d.must(
        0,
        &Command::CopybackRead {
            pages: from.clone(),
        },
    );
    assert_eq!(d.nand.spare_out(PlaneId(0)).expect("idle"), b"first");
    d.must(0, &Command::CopybackProgram { pages: to, mode });
    assert_eq!(d.read(page(1, 3)).as_deref(), Some(&data[..]));
    assert_eq!(d.nand.spare_out(PlaneId(0)).expect("idle"), b"first");

    // with new spare bytes and some bytes replaced on the way
    d.must(0, &Command::CopybackRead { pages: from });
    d.nand.data_in(PlaneId(0), 3, &[0xAA]).expect("idle");
    d.nand.set_spare(PlaneId(0), b"second").expect("idle");
    let to = PageSet::from_iter([page(1, 4)]);
    d.must(0, &Command::CopybackProgram { pages: to, mode });
    let mut changed = data;
    changed[3] = 0xAA;
    assert_eq!(d.read(page(1, 4)).as_deref(), Some(&changed[..]));
    let ppa = d.nand.geometry().ppa(page(1, 4));
    assert_eq!(d.nand.spare(ppa), Some(&b"second"[..]));
}

#[test]
fn the_page_register_begins_with_ones_and_spare_bytes_outlive_their_block() {
    let mut d = Driver::new(&small(), Storage::Memory);
    assert_eq!(d.read(page(0, 0)), Some(vec![0xFF; BYTES]), "erased");
    d.program(page(0, 0), ProgramMode::Slc, &[1, 2], b"kept");
    let mut expected = vec![0xFF; BYTES];
    expected[..2].copy_from_slice(&[1, 2]);
    assert_eq!(d.read(page(0, 0)), Some(expected));
    d.must(0, &Command::erase(BlockId(0)));
    assert_eq!(d.nand.spare_out(PlaneId(0)).expect("idle"), b"kept");
    d.must(0, &Command::read(page(0, 0)));
    assert_eq!(d.nand.spare_out(PlaneId(0)).expect("idle"), b"");
}

#[test]
fn a_suspended_program_keeps_its_data() {
    let mut d = Driver::new(&small(), Storage::Memory);
    store(&mut d, &[(1, 0, 77)]);
    d.nand.data_in(PlaneId(0), 0, &[42; BYTES]).expect("idle");
    d.nand.set_spare(PlaneId(0), b"mine").expect("idle");
    let program = Command::program(page(0, 0), ProgramMode::Slc);
    d.nand.begin(DieId(0), &program, d.now).expect("legal");
    d.must(0, &Command::Suspend);
    assert_eq!(d.read(page(1, 0)), Some(vec![77; BYTES]));
    d.must(0, &Command::Resume);
    assert_eq!(d.read(page(0, 0)), Some(vec![42; BYTES]));
    assert_eq!(d.nand.spare_out(PlaneId(0)).expect("idle"), b"mine");
}

/// Pages longer than an accumulator, more operands than are taken at once, from every store.
#[test]
fn wide_senses_are_the_and_and_or_of_all_their_pages() {
    let mut config = small();
    config.geometry.cells_per_string = 48;
    config.geometry.strings_per_block = 1;
    config.geometry.page_bytes = 40_008;
    let path = std::env::temp_dir().join(format!("bitline-nand-{}-wide.img", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let image = Image::create(&path, &config.geometry, 1, "").expect("it is new");
    for storage in [Storage::Memory, Storage::Image(image)] {
        let mut d = Driver::new(&config, storage);
        // Mostly ones, so that an AND of many is not all zeros; block 1 has erased pages in between.
        let bytes = |block: u32, layer: u32| -> Vec<u8> {
            (0u32..40_008)
                .map(|at| {
                    !(u32::from((at * 31 + layer * 7 + block).is_multiple_of(53)) << (at % 8)) as u8
                })
                .collect()
        };
        for layer in 0..48 {
            d.program(page(0, layer), ProgramMode::Esp, &bytes(0, layer), b"");
            if layer % 5 != 0 {
                d.program(page(1, layer), ProgramMode::Esp, &bytes(1, layer), b"");
            }
        }
        let and = |block: u32, layers: &[u32]| {
            let mut all = vec![0xFF; 40_008];
            for &layer in layers.iter().filter(|&layer| block == 0 || layer % 5 != 0) {
                for (all, byte) in all.iter_mut().zip(bytes(block, layer)) {
                    *all &= byte;
                }
            }
            all
        };
        for count in [1, 2, 4, 5, 11, 12, 13, 17, 24, 30, 47, 48] {
            let layers: Vec<u32> = (48 - count..48).collect();
            d.must(0, &mws(Iscm::READ, &[(0, 0, &layers), (1, 0, &layers)]));
            let either = and(0, &layers).into_iter().zip(and(1, &layers));
            let either: Vec<u8> = either.map(|(a, b)| a | b).collect();
            assert!(d.register(0) == either, "OR of two ANDs of {count} pages");
            d.must(0, &mws(flags("isct"), &[(1, 0, &layers)]));
            let inverse: Vec<u8> = and(1, &layers).iter().map(|byte| !byte).collect();
            assert!(d.register(0) == inverse, "NAND of {count} pages");
            // (both and not the second) or (the first): several senses, some bytes of what they leave, and its ones.
            d.must(0, &mws(flags("isct"), &[(1, 0, &layers)]));
            d.must(0, &mws(flags("s"), &[(0, 0, &layers)]));
            d.must(
                0,
                &Command::Xor {
                    planes: PlaneMask(1),
                },
            );
            let expected = and(0, &layers).into_iter().zip(&inverse);
            let expected: Vec<u8> = expected.map(|(a, b)| a ^ b).collect();
            looked_at_alike(&mut d, &expected);
        }
    }
    let _ = std::fs::remove_file(&path);
}
