//! The names of a row in the drive's memory, transposed as they will be in flash: a bit plane for each bit of a name.

use nvme::query::Pattern;
use smallvec::SmallVec;

use super::bits::{WORD, fill, transpose, word_of};

/// Words of a plane that lie together, for which there is memory once an entry is put there, and which are compared at a time.
pub(super) const CHUNK: usize = 8;

/// Patterns, each with the place of its search region among those of the table.
pub(super) type Terms<'a> = SmallVec<[(usize, &'a Pattern); 1]>;

/// One bit of each entry of a row.
pub(super) type Plane = Box<[u64]>;

/// The names of one search region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ColumnNames {
    pub(super) bits: u32,
    /// There can be don't cares.
    ternary: bool,
    /// By the entries that it is of; none where no name was put so far, which are zeroes.
    chunks: Vec<Option<Chunk>>,
}

/// Of some entries, by bit, what it is, zero where it does not count; then, if there can be don't cares, by bit, where it is
/// one.
type Chunk = Box<[[u64; CHUNK]]>;

/// What a chunk without names has of a bit.
const NOTHING: [u64; CHUNK] = [0; CHUNK];

/// The names of a row in all search regions, and which entries are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names {
    columns: Vec<ColumnNames>,
    valid: Plane,
}

/// Where entries lie in a word of each plane of their chunk.
struct Place {
    word: usize,
    shift: usize,
    count: usize,
}

impl Place {
    /// Puts bits of the entries, a word each, into planes, a bit each.
    fn put(&self, planes: &mut [[u64; CHUNK]], bits: &mut [u64; WORD]) {
        transpose(bits);
        let mask = (u64::MAX >> (WORD - self.count)) << self.shift;
        for (plane, bits) in planes.iter_mut().zip(bits) {
            let word = &mut plane[self.word];
            *word = (*word & !mask) | (*bits << self.shift & mask);
        }
    }
}

/// A plane of zeroes.
pub(super) fn plane(entries: u32) -> Plane {
    vec![0; (entries as usize).div_ceil(WORD)].into()
}

impl ColumnNames {
    pub(super) fn new(entries: u32, bits: u32, ternary: bool) -> ColumnNames {
        let chunks = (entries as usize).div_ceil(WORD * CHUNK);
        ColumnNames {
            bits,
            ternary,
            chunks: vec![None; chunks],
        }
    }

    /// The planes of a chunk, for which there is memory from now on.
    fn chunk_mut(&mut self, number: usize) -> &mut Chunk {
        let planes = self.bits as usize * (1 + usize::from(self.ternary));
        self.chunks[number].get_or_insert_with(|| vec![NOTHING; planes].into())
    }

    /// What a bit is in a chunk, and where it is a don't care.
    pub(super) fn planes(&self, chunk: usize, bit: u32) -> (&[u64; CHUNK], &[u64; CHUNK]) {
        let Some(planes) = &self.chunks[chunk] else {
            return (&NOTHING, &NOTHING);
        };
        let wild = planes.get((self.bits + bit) as usize);
        (&planes[bit as usize], wild.unwrap_or(&NOTHING))
    }

    /// Puts names in place of entries from the first on: `name` gives the bytes of each by its number among them, and, where
    /// don't cares can be, those of its mask after them.
    pub(super) fn put<'n>(&mut self, first: u32, count: u32, name: impl Fn(u32) -> &'n [u8]) {
        let (bits, ternary) = (self.bits as usize, self.ternary);
        let bytes = bits.div_ceil(8);
        let mut done = 0;
        while done < count {
            let at = first + done;
            // As many as share a word.
            let some = (WORD as u32 - at % WORD as u32).min(count - done);
            let place = Place {
                word: at as usize / WORD % CHUNK,
                shift: at as usize % WORD,
                count: some as usize,
            };
            let (ones_of, wild_of) = self
                .chunk_mut(at as usize / WORD / CHUNK)
                .split_at_mut(bits);
            for group in 0..bytes.div_ceil(8) {
                let eight = group * 8..bytes.min(group * 8 + 8);
                let (mut ones, mut wild) = ([0; WORD], [0; WORD]);
                for number in 0..some {
                    let name = name(done + number);
                    let mut bits = word_of(&name[eight.clone()]);
                    if ternary {
                        let mask = word_of(&name[bytes..][eight.clone()]);
                        bits &= mask;
                        wild[number as usize] = !mask;
                    }
                    ones[number as usize] = bits;
                }
                place.put(&mut ones_of[group * WORD..], &mut ones);
                if ternary {
                    place.put(&mut wild_of[group * WORD..], &mut wild);
                }
            }
            done += some;
        }
    }

    /// A name's bytes, and its mask where there are don't cares.
    pub(super) fn get(&self, entry: u32, into: &mut Vec<u8>) {
        let (word, bit) = (entry as usize / WORD, entry as usize % WORD);
        let (chunk, word) = (word / CHUNK, word % CHUNK);
        let mut gather = |of: &dyn Fn(u32) -> u64, inverse: bool| {
            for byte in 0..self.bits.div_ceil(8) {
                let bits = byte * 8..self.bits.min(byte * 8 + 8);
                let byte = bits.enumerate().fold(0u8, |byte, (at, number)| {
                    byte | ((of(number) >> bit & 1) as u8 ^ u8::from(inverse)) << at
                });
                into.push(byte);
            }
        };
        gather(&|number| self.planes(chunk, number).0[word], false);
        if self.ternary {
            gather(&|number| self.planes(chunk, number).1[word], true);
        }
    }

    /// What the cells of a pair hold: the first ones, or the second.
    pub(super) fn cells(&self, bit: u32, second: bool, into: &mut [u8]) {
        let words = (0..self.chunks.len()).flat_map(|chunk| {
            let (ones, wild) = self.planes(chunk, bit);
            let both = ones.iter().zip(wild);
            both.map(|(ones, wild)| wild | if second { !ones } else { *ones })
        });
        fill(words, into);
    }

    /// Takes what the cells of a pair held: the first ones and, where don't cares can be, the second.
    pub(super) fn take_cells(&mut self, bit: u32, first: &[u8], second: Option<&[u8]>) {
        const BYTES: usize = CHUNK * WORD / 8;
        let (at, wild_at) = (bit as usize, (self.bits + bit) as usize);
        for number in 0..self.chunks.len() {
            let of_chunk = |bytes: &[u8]| {
                let bytes = bytes.chunks(BYTES).nth(number).unwrap_or_default();
                let mut taken = NOTHING;
                for (word, eight) in taken.iter_mut().zip(bytes.chunks(8)) {
                    *word = word_of(eight);
                }
                taken
            };
            let mut ones = of_chunk(first);
            let second = second.filter(|_| self.ternary);
            let mut wild = second.map_or(NOTHING, of_chunk);
            // Both low: a don't care, which is kept as zero.
            for (ones, wild) in ones.iter_mut().zip(&mut wild) {
                *wild &= *ones;
                *ones &= !*wild;
            }
            if self.chunks[number].is_none() && ones == NOTHING && wild == NOTHING {
                continue;
            }
            let planes = self.chunk_mut(number);
            planes[at] = ones;
            if let Some(plane) = planes.get_mut(wild_at) {
                *plane = wild;
            }
        }
    }

    /// The bits that a pattern compares, each with the inverse of what it wants there.
    fn compared(&self, pattern: &Pattern) -> impl Iterator<Item = (&ColumnNames, u32, u64)> {
        let bits = self.bits;
        let cares = pattern.cares().take_while(move |(bit, _)| *bit < bits);
        // The first bits of bytes before the others: neighbours, such as those of a character, are often the same in all
        // names, and the sooner nothing matches any more the better.
        let mut cares: Vec<_> = cares.collect();
        cares.sort_unstable_by_key(|(bit, _)| (bit % 8, *bit));
        cares
            .into_iter()
            .map(move |(bit, value)| (self, bit, if value { 0 } else { u64::MAX }))
    }

    /// Whether the name of an entry is this, don't cares included.
    pub(super) fn is(&self, entry: u32, pattern: &Pattern) -> bool {
        let (word, bit) = (entry as usize / WORD, entry as usize % WORD);
        let at = |plane: &[u64; CHUNK]| plane[word % CHUNK] >> bit & 1 != 0;
        let mut cares = pattern.cares().peekable();
        (0..self.bits).all(|of| {
            let (ones, wild) = self.planes(word / CHUNK, of);
            match cares.next_if(|(bit, _)| *bit == of) {
                Some((_, value)) => !at(wild) && at(ones) == value,
                None => at(wild),
            }
        })
    }
}

impl Names {
    /// None, in search regions of so many bits each, with don't cares or without.
    pub(super) fn new(entries: u32, columns: impl Iterator<Item = (u32, bool)>) -> Names {
        let columns = columns.map(|(bits, ternary)| ColumnNames::new(entries, bits, ternary));
        Names {
            columns: columns.collect(),
            valid: plane(entries),
        }
    }

    /// How many search regions.
    pub(super) fn columns(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn column(&self, column: usize) -> &ColumnNames {
        &self.columns[column]
    }

    pub(super) fn column_mut(&mut self, column: usize) -> &mut ColumnNames {
        &mut self.columns[column]
    }

    pub(super) fn insert_column(&mut self, at: usize, names: ColumnNames) {
        self.columns.insert(at, names);
    }

    pub(super) fn remove_column(&mut self, column: usize) {
        self.columns.remove(column);
    }

    /// Whether an entry is there.
    pub(super) fn is_valid(&self, entry: u32) -> bool {
        self.valid[entry as usize / WORD] >> (entry as usize % WORD) & 1 != 0
    }

    pub(super) fn set_valid(&mut self, entry: u32, valid: bool) {
        let (word, bit) = (entry as usize / WORD, 1u64 << (entry as usize % WORD));
        match valid {
            true => self.valid[word] |= bit,
            false => self.valid[word] &= !bit,
        }
    }

    /// Which entries are there.
    pub(super) fn there(&self) -> &[u64] {
        &self.valid
    }

    /// Says which are.
    pub(super) fn set_there(&mut self, there: &[u64]) {
        self.valid.copy_from_slice(there);
    }

    /// None is there any more.
    pub(super) fn clear(&mut self) {
        self.valid.fill(0);
    }

    /// How many entries are there.
    pub(super) fn live(&self) -> u32 {
        self.valid.iter().map(|word| word.count_ones()).sum()
    }

    pub(super) fn valid_cells(&self, second: bool, into: &mut [u8]) {
        let words = self.valid.iter();
        fill(words.map(|word| if second { !word } else { *word }), into);
    }

    /// The entries that match all patterns of any group, each of a search region: a bit each.
    pub(super) fn matching(&self, groups: &[Terms<'_>]) -> Plane {
        let mut all = plane(self.valid.len() as u32 * WORD as u32);
        for group in groups {
            let compared = group
                .iter()
                .flat_map(|(column, pattern)| self.columns[*column].compared(pattern));
            let compared: Vec<_> = compared.collect();
            // A few entries at a time: mostly none is left after as many bits as it takes to tell them apart.
            let chunks = all.chunks_mut(CHUNK).zip(self.valid.chunks(CHUNK));
            for (number, (all, valid)) in chunks.enumerate() {
                if valid.iter().all(|word| *word == 0) {
                    continue;
                }
                let mut found = [0; CHUNK];
                found[..valid.len()].copy_from_slice(valid);
                for (names, bit, inverse) in &compared {
                    let (ones, wild) = names.planes(number, *bit);
                    let mut left = 0;
                    for ((found, ones), wild) in found.iter_mut().zip(ones).zip(wild) {
                        *found &= (ones ^ inverse) | wild;
                        left |= *found;
                    }
                    if left == 0 {
                        break;
                    }
                }
                for (all, found) in all.iter_mut().zip(found) {
                    *all |= found;
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::super::bits::ones;
    use smallvec::smallvec;

    use super::*;

    #[test]
    fn names_are_found_by_what_counts_of_them() {
        let mut names = Names::new(128, [(9, false), (4, true)].into_iter());
        let entries: [(&[u8], u8, u8); 3] = [
            (&[0x5A, 1], 0b1010, 0b1111),
            (&[0x5A, 0], 0b0010, 0b0011),
            (&[0xA5, 1], 0, 0),
        ];
        for (at, (name, tag, mask)) in (70..).zip(entries) {
            names.column_mut(0).put(at, 1, |_| name);
            let both = [tag, mask];
            names.column_mut(1).put(at, 1, |_| &both);
            names.set_valid(at, true);
        }
        let found =
            |groups: &[Terms<'_>]| ones(names.matching(groups).iter().copied()).collect::<Vec<_>>();
        let any = Pattern::new(9, &[0, 0], &[0, 0]).expect("a pattern");
        let first = Pattern::new(8, &[0x5A], &[0xFF]).expect("a pattern");
        let ninth = Pattern::new(9, &[0, 1], &[0, 1]).expect("a pattern");
        let tag = Pattern::exact(4, &[0b1010]).expect("a pattern");
        assert_eq!(found(&[smallvec![(0, &any)]]), [70, 71, 72]);
        assert_eq!(found(&[smallvec![(0, &first)]]), [70, 71]);
        assert_eq!(found(&[smallvec![(0, &first), (0, &ninth)]]), [70]);
        assert_eq!(found(&[smallvec![(1, &tag)]]), [70, 71, 72]);
        assert_eq!(
            found(&[smallvec![(0, &ninth), (1, &tag)], smallvec![(0, &first)]]),
            [70, 71, 72]
        );
        assert!(names.column(1).is(70, &tag) && !names.column(1).is(71, &tag));
        let mut bytes = Vec::new();
        names.column(0).get(70, &mut bytes);
        names.column(1).get(71, &mut bytes);
        assert_eq!(bytes, [0x5A, 1, 0b0010, 0b0011]);
    }

    #[test]
    fn runs_of_names_are_those_names() {
        // Longer than a word, and over the ends of words of entries.
        let name = |number: u32| -> Vec<u8> {
            (0..10)
                .map(|byte| (number * 37 + byte * 11) as u8)
                .collect()
        };
        let names: Vec<Vec<u8>> = (0..150).map(name).collect();
        for ternary in [false, true] {
            let mut run = ColumnNames::new(256, if ternary { 37 } else { 77 }, ternary);
            let mut single = run.clone();
            run.put(61, 150, |number| &names[number as usize]);
            for number in 0..150 {
                single.put(61 + number, 1, |_| &names[number as usize]);
            }
            assert_eq!(run, single);
            let mut bytes = Vec::new();
            run.get(61 + 70, &mut bytes);
            let mut expected = names[70].clone();
            match ternary {
                // Zero where it does not count, and nothing past the name's bits.
                true => {
                    (0..5).for_each(|at| expected[at] &= expected[at + 5]);
                    expected[4] &= 0x1F;
                    expected[9] &= 0x1F;
                }
                false => expected[9] &= 0x1F,
            }
            assert_eq!(bytes, expected);
        }
    }

    #[test]
    fn what_is_looked_through_in_pieces_is_found_in_each() {
        // Two pieces and a part of a third; every 97th entry is the same but for its last bit.
        let mut names = Names::new(1100, [(12, false), (3, true)].into_iter());
        let number = |entry: u32| {
            if entry.is_multiple_of(97) {
                entry & 1
            } else {
                entry
            }
        };
        for entry in (0..1100).filter(|entry: &u32| !entry.is_multiple_of(5)) {
            let name = (number(entry) as u16).to_le_bytes();
            names.column_mut(0).put(entry, 1, |_| &name);
            let tag = [entry as u8 & 7, 5];
            names.column_mut(1).put(entry, 1, |_| &tag);
            names.set_valid(entry, true);
        }
        for wanted in [0u16, 1, 2, 511, 512, 1023, 1024, 1099, 4000] {
            let name = Pattern::exact(12, &wanted.to_le_bytes()).expect("a pattern");
            let tag = Pattern::exact(3, &[wanted as u8 & 5]).expect("a pattern");
            let most = Pattern::new(12, &wanted.to_le_bytes(), &[0, 12]).expect("a pattern");
            let groups = [[(0, &name), (1, &tag)], [(1, &tag), (0, &most)]].map(Terms::from_iter);
            let found: Vec<u32> = ones(names.matching(&groups).iter().copied()).collect();
            let same = |entry: &u32| {
                let tagged = (*entry as u16 ^ wanted) & 5 == 0;
                let of = number(*entry) as u16;
                !entry.is_multiple_of(5) && tagged && (of == wanted || (of ^ wanted) & 0xC00 == 0)
            };
            let expected: Vec<u32> = (0..1100).filter(same).collect();
            assert_eq!(found, expected, "{wanted}");
        }
    }

    #[test]
    fn names_take_the_memory_of_their_neighbourhood() {
        let held = |names: &ColumnNames| {
            let chunks = names.chunks.iter().flatten();
            chunks.map(|chunk| size_of_val(&chunk[..])).sum::<usize>()
        };
        let mut names = ColumnNames::new(131_072, 8192, true);
        assert_eq!(held(&names), 0);
        let name = vec![0xA5; 2048];
        names.put(70_000, 1, |_| &name);
        // Two bits for each bit of 512 names, not of all.
        assert_eq!(held(&names), 2 * 8192 * 512 / 8);
        let (mut read, mut other) = (Vec::new(), Vec::new());
        names.get(70_000, &mut read);
        names.get(3, &mut other);
        // Of bits that do not count nothing is kept.
        let kept = [[0xA5; 1024], [0xA5; 1024]].concat();
        assert_eq!(read, kept);
        assert_eq!(other, [[0; 1024], [0xFF; 1024]].concat());
    }

    #[test]
    fn cells_give_back_what_they_were_made_of() {
        let mut names = ColumnNames::new(64, 3, true);
        names.put(5, 2, |number| {
            &[[0b101, 0b011], [0b010, 0b111]][number as usize]
        });
        let mut copy = ColumnNames::new(64, 3, true);
        for bit in 0..3 {
            let mut cells = [[0; 8]; 2];
            names.cells(bit, false, &mut cells[0]);
            names.cells(bit, true, &mut cells[1]);
            copy.take_cells(bit, &cells[0], Some(&cells[1]));
        }
        assert_eq!(names, copy);
    }
}
