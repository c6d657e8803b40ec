//! Searches: names in pairs of cells, keys as senses (ANVIL 2.2 and 4.1), and the raise that tunes them (5.1).

use super::*;
use crate::nand::cells::Ageing;
use proptest::prelude::*;

/// A bit of a name or of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bit {
    Zero,
    One,
    /// Matches either.
    X,
}

/// What a ternary content-addressable memory says.
fn matches(name: &[Bit], key: &[Bit]) -> bool {
    let agree = |(name, key): (&Bit, &Bit)| *name == Bit::X || *key == Bit::X || name == key;
    name.iter().zip(key).all(agree)
}

/// Blocks of one string: planes of eight blocks, four dies, pages of 32 bytes, which are 256 names.
fn searched(wordlines: u32) -> NandConfig {
    let mut config = small();
    config.geometry.strings_per_block = 1;
    config.geometry.cells_per_string = wordlines;
    config.geometry.blocks_per_plane = 8;
    config
}

const NAMES: usize = 256;

/// Programs names into blocks one after the other, each with as many bits as it has pairs of wordlines: a stored 1 is
/// (low, high), 0 is (high, low), X is (low, low). A low cell is a one.
fn store(d: &mut Driver, first_block: u32, bits_per_block: usize, names: &[Vec<Bit>]) {
    let bits = names[0].len();
    for bit in 0..bits {
        let block = first_block + (bit / bits_per_block) as u32;
        for (half, high) in [(0, Bit::Zero), (1, Bit::One)] {
            let mut bytes = [0xFF; NAMES / 8];
            for (at, name) in names.iter().enumerate() {
                if name[bit] == high {
                    bytes[at / 8] &= !(1 << (at % 8));
                }
            }
            let number = (bit % bits_per_block * 2 + half) as u32;
            d.program(page(block, number), ProgramMode::Esp, &bytes, b"");
        }
    }
}

/// The senses of a key, one a block that it looks at, ANDed in the S-latch; the last goes to C, which it begins
/// anew if `anew`.
fn searches(first_block: u32, bits_per_block: usize, key: &[Bit], anew: bool) -> Vec<Command> {
    let mut slots = Vec::new();
    for (block, bits) in (first_block..).zip(key.chunks(bits_per_block)) {
        let sensed = (0..).zip(bits).filter_map(|(at, bit)| match bit {
            Bit::One => Some(2 * at),
            Bit::Zero => Some(2 * at + 1),
            Bit::X => None,
        });
        let sensed: Vec<u32> = sensed.collect();
        if !sensed.is_empty() {
            slots.push((block, sensed));
        }
    }
    let last = slots.len().saturating_sub(1);
    let sense = |(at, (block, layers)): (usize, &(u32, Vec<u32>))| {
        let iscm = Iscm {
            inverse: false,
            init_s: at == 0,
            init_c: at == last && anew,
            transfer: at == last,
        };
        mws(iscm, &[(*block, 0, layers)])
    };
    slots.iter().enumerate().map(sense).collect()
}

fn a_bit() -> impl Strategy<Value = Bit> {
    prop_oneof![3 => Just(Bit::Zero), 3 => Just(Bit::One), 1 => Just(Bit::X)]
}

fn a_case() -> impl Strategy<Value = (u32, Vec<Vec<Bit>>, Vec<Vec<Bit>>)> {
    // Even numbers of wordlines up to the longest strings; up to eight blocks of names.
    (1..=128usize, 1..=4usize).prop_flat_map(|(pairs, blocks)| {
        let bits = (pairs * (blocks - 1) + 1)..=(pairs * blocks);
        bits.prop_flat_map(move |bits| {
            let name = prop::collection::vec(a_bit(), bits);
            let few = prop::collection::vec(name, 1..6);
            // Names and keys that are alike up to a few bits: otherwise nothing ever matches.
            let picks = prop::collection::vec((any::<u16>(), any::<u16>(), a_bit()), NAMES + 4);
            (few, picks).prop_map(move |(few, picks)| {
                let like = picks.iter().map(|&(of, at, bit)| {
                    let mut name = few[usize::from(of) % few.len()].clone();
                    name[usize::from(at) % bits] = bit;
                    name
                });
                let mut names: Vec<Vec<Bit>> = like.collect();
                let keys = names.split_off(NAMES);
                (2 * pairs as u32, names, keys)
            })
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Names of up to four blocks, ANDed block by block; then each further key ORed to what was found before.
    #[test]
    fn a_search_finds_what_a_ternary_memory_finds((wordlines, names, keys) in a_case()) {
        let mut d = Driver::new(&searched(wordlines), Storage::Memory);
        let bits_per_block = wordlines as usize / 2;
        store(&mut d, 1, bits_per_block, &names);
        let mut found = vec![false; NAMES];
        let mut anew = true;
        for key in &keys {
            let senses = searches(1, bits_per_block, key, anew);
            if senses.is_empty() {
                continue;
            }
            anew = false;
            for sense in &senses {
                d.must(0, sense);
            }
            for (found, name) in found.iter_mut().zip(&names) {
                *found |= matches(name, key);
            }
            let register = d.register(0);
            let bit = |at: usize| register[at / 8] >> (at % 8) & 1 != 0;
            prop_assert_eq!((0..NAMES).map(bit).collect::<Vec<_>>(), found.clone());
        }
    }
}

/// A drive on which cells go wrong both ways: SLC pages, old and much read.
fn worn() -> (Driver, Vec<u8>) {
    let mut config = searched(8);
    config.geometry.page_bytes = 16_384;
    config.latency.program_esp_ns = config.latency.program_slc_ns;
    let data: Vec<u8> = (0..16_384u32).map(|at| ((at * 37) >> 3) as u8).collect();
    let mut d = Driver::new(&config, Storage::Memory);
    for number in 0..2 {
        d.program(page(0, number), ProgramMode::Slc, &data, b"");
    }
    let worst = Ageing {
        hours: 8760.0,
        celsius: 30.0,
        cycles: 10_000,
    };
    d.nand.grow_older(&worst).expect("memory does not fail");
    (d, data)
}

/// Low cells that read as zeros, and high ones that read as ones.
fn wrong(data: &[u8], read: &[u8]) -> [Vec<u8>; 2] {
    let lost = |(data, read): (&u8, &u8)| data & !read;
    let gained = |(data, read): (&u8, &u8)| !data & read;
    [
        data.iter().zip(read).map(lost).collect(),
        data.iter().zip(read).map(gained).collect(),
    ]
}

fn count(bytes: &[u8]) -> u32 {
    bytes.iter().map(|byte| byte.count_ones()).sum()
}

#[test]
fn a_raised_reference_turns_misses_into_false_matches_of_the_same_cells() {
    let (mut d, data) = worn();
    let sense = |d: &mut Driver, raise| {
        let one = mws(Iscm::READ, &[(0, 0, &[0])]).raised(raise);
        d.must(0, &one);
        wrong(&data, &d.register(0))
    };
    let by_raise: Vec<[Vec<u8>; 2]> = (0..=RAISE_MAX).map(|raise| sense(&mut d, raise)).collect();
    let subset = |few: &[u8], many: &[u8]| few.iter().zip(many).all(|(few, many)| few & !many == 0);
    for pair in by_raise.windows(2) {
        let [[lost, gained], [lost_higher, gained_higher]] = pair else {
            unreachable!("windows of two");
        };
        assert!(subset(lost_higher, lost), "who reads low stays low");
        assert!(subset(gained, gained_higher), "who reads high stays so");
    }
    let lost: Vec<u32> = by_raise.iter().map(|[lost, _]| count(lost)).collect();
    let gained: Vec<u32> = by_raise.iter().map(|[_, gained]| count(gained)).collect();
    assert!(lost[0] > 50 && lost[15] == 0, "{lost:?}");
    assert!(gained[15] > 100 * gained[0].max(1), "{gained:?}");
    // Whatever was sensed meanwhile, a sense that is not raised is what it was.
    assert_eq!(sense(&mut d, 0), by_raise[0]);
    assert_eq!(sense(&mut d, 7), by_raise[7]);
}

#[test]
fn a_raise_is_not_lost_where_bits_are_made_later() {
    // Fresh and strongly programmed: nothing reads wrong, so what is sensed is only noted, until the raise is so high that
    // programmed cells conduct.
    let mut config = searched(8);
    config.mws.raise_step_mv = 160;
    let mut d = Driver::new(&config, Storage::Memory);
    let zeros = [0; 32];
    let alternating = [0x55; 32];
    d.program(page(0, 0), ProgramMode::Esp, &zeros, b"");
    d.program(page(0, 1), ProgramMode::Esp, &alternating, b"");
    let mut ones_at = |raise| {
        d.must(0, &mws(flags("sct"), &[(0, 0, &[0])]).raised(raise));
        let alone = count(&d.register(0));
        // The same with a sense of a page of which it matters which cells are high, ORed to it.
        d.must(0, &mws(flags("st"), &[(0, 0, &[1])]).raised(0));
        let both = count(&d.register(0));
        assert!(both >= 128 && both >= alone, "{alone}, {both}");
        alone
    };
    assert_eq!(ones_at(0), 0);
    assert_eq!(ones_at(2), 0);
    // 2.4 V above a reference that is 1.9 V below the programmed state.
    assert!(ones_at(15) > 250, "programmed cells conduct");
    assert_eq!(ones_at(1), 0);
}

#[test]
fn a_raise_out_of_range_is_refused() {
    let mut d = Driver::new(&searched(8), Storage::Memory);
    let sense = mws(Iscm::READ, &[(0, 0, &[0])]);
    refused(
        d.run(0, &sense.clone().raised(16)),
        &["raised by 16 steps", "0 to 15"],
    );
    d.must(0, &sense.raised(15));
    let mut config = searched(8);
    config.mws.raise_step_mv = 1_001;
    let error = Nand::open(&config, Storage::None).err();
    let message = error.expect("out of range").to_string();
    assert!(message.contains("mws.raise_step_mv"), "{message}");
}

/// Names by the thousand, of which few are left after some wordlines: those are looked at alone.
#[test]
fn few_are_found_among_many() {
    const COUNT: usize = 32_768;
    let mut config = searched(96);
    config.geometry.page_bytes = (COUNT / 8) as u32;
    let [mut d, mut sums] = [(); 2].map(|()| Driver::new(&config, Storage::Memory));
    let mut random = sim::Random::named(5, "names");
    // Two blocks of 48 bits each; some names are there more than once.
    let mut names: Vec<u128> = (0..COUNT)
        .map(|_| u128::from(random.bits()) << 32 | u128::from(random.bits()) >> 32)
        .collect();
    for at in 0..40 {
        names[at * 811] = names[7];
    }
    for bit in 0..96u32 {
        for high in [0, 1] {
            let mut bytes = vec![0xFF; COUNT / 8];
            for (at, name) in names.iter().enumerate() {
                bytes[at / 8] &= !(u8::from(name >> bit & 1 == high) << (at % 8));
            }
            let number = bit % 48 * 2 + high as u32;
            for d in [&mut d, &mut sums] {
                d.program(page(1 + bit / 48, number), ProgramMode::Esp, &bytes, b"");
            }
        }
    }
    // With fewer bits that matter, more names match: from a whole line of them to none. Each key alone, and added up.
    let mut found = vec![false; COUNT];
    let mut most = 0;
    for (round, bits) in [96, 70, 49, 48, 20, 13, 9].into_iter().enumerate() {
        let (name, mask) = (names[round * 4001 + 7], (1u128 << bits) - 1);
        let bit_of = |bit: u32| match (mask >> bit & 1, name >> bit & 1) {
            (0, _) => Bit::X,
            (_, 0) => Bit::Zero,
            _ => Bit::One,
        };
        let key: Vec<Bit> = (0..96).map(bit_of).collect();
        for adds in [true, false] {
            let d = if adds { &mut sums } else { &mut d };
            for sense in searches(1, 48, &key, round == 0 || !adds) {
                d.must(0, &sense);
            }
            let matches = |at: usize| (name ^ names[at]) & mask == 0;
            let expected = |at: usize| matches(at) || adds && found[at];
            let register = d.register(0);
            let bit = |at: usize| register[at / 8] >> (at % 8) & 1 != 0;
            assert!((0..COUNT).all(|at| bit(at) == expected(at)), "{bits} bits");
            let ones = d.nand.count_ones(PlaneId(0), COUNT as u64).expect("idle");
            most = (0..COUNT).filter(|&at| expected(at)).count();
            assert_eq!(ones, most as u64);
        }
        for (found, other) in found.iter_mut().zip(&names) {
            *found |= (name ^ other) & mask == 0;
        }
    }
    assert!(most > 60, "{most}");
}
