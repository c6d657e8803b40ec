//! What the latches can leave in C, each of a few inputs sensed once.
//!
//! A table of a function of `n` inputs has 2^n bits; bit `i` is its value where input `j` has the
//! value of bit `j` of `i`.

use std::sync::OnceLock;

use arrayvec::ArrayVec;

use crate::bits::plan::tree::Join;

/// Inputs of a sequence at most: the tables have sixteen bits.
pub(super) const INPUTS_MAX: usize = 4;

/// The tables of the inputs themselves.
pub(super) const INPUTS: [u16; INPUTS_MAX] = [0xaaaa, 0xcccc, 0xf0f0, 0xff00];

/// The bits of a table of `inputs` inputs.
pub(super) fn all_cells(inputs: usize) -> u16 {
    ((1u32 << (1 << inputs)) - 1) as u16
}

/// What the sensing latch becomes by the sense of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// S = input.
    Plain,
    /// S = !input, which an inverse read gives.
    Inverse,
    /// S &= input.
    GoesOn,
}

/// The sense of one input, and what follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sensing {
    pub(super) mode: Mode,
    pub(super) join: Option<Join>,
}

/// Senses of all inputs in order.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    /// What it leaves in C.
    pub(super) table: u16,
    pub(super) sensings: ArrayVec<Sensing, INPUTS_MAX>,
    /// Of moves between the latches: an AND or OR of a page costs 1, an XOR 2 (Flash-Cosmos Table 1
    /// gives both by energy).
    pub(super) moves: u32,
}

/// For each function that senses of `inputs` inputs in order can leave in C the sequence of the
/// fewest moves, ascending by moves. That depends on nothing else, and is found once.
pub(super) fn sequences(inputs: usize) -> &'static [Sequence] {
    static KNOWN: [OnceLock<Vec<Sequence>>; INPUTS_MAX] = [const { OnceLock::new() }; INPUTS_MAX];
    KNOWN[inputs - 1].get_or_init(|| found(inputs))
}

fn found(inputs: usize) -> Vec<Sequence> {
    let mut walk = Walk {
        inputs,
        fewest: vec![u32::MAX; 1 << (1 << inputs)],
        found: Vec::new(),
    };
    walk.extend(0, &Sequence::empty());
    let Walk {
        fewest, mut found, ..
    } = walk;
    found.retain(|sequence| sequence.moves == fewest[usize::from(sequence.table)]);
    found.sort_unstable_by_key(|sequence| (sequence.moves, sequence.table));
    found
}

impl Sequence {
    fn empty() -> Sequence {
        Sequence {
            table: 0,
            sensings: ArrayVec::new(),
            moves: 0,
        }
    }

    /// C is clear until something joined it.
    fn is_clear(&self) -> bool {
        self.sensings.iter().all(|sensing| sensing.join.is_none())
    }
}

struct Walk {
    inputs: usize,
    /// By table, the moves of the cheapest sequence found for it.
    fewest: Vec<u32>,
    /// Each cheaper than those before it of the same table.
    found: Vec<Sequence>,
}

impl Walk {
    /// Continues `sequence` with input `at` and the rest.
    fn extend(&mut self, s: u16, sequence: &Sequence) {
        let at = sequence.sensings.len();
        if at == self.inputs {
            let fewest = &mut self.fewest[usize::from(sequence.table)];
            if sequence.moves < *fewest {
                *fewest = sequence.moves;
                self.found.push(sequence.clone());
            }
            return;
        }
        let all = all_cells(self.inputs);
        let input = INPUTS[at] & all;
        let last = sequence.sensings.last();
        // A sense that joined nothing was for S to go on.
        let pending = last.is_some_and(|last| last.join.is_none());
        for mode in [Mode::Plain, Mode::Inverse, Mode::GoesOn] {
            if (pending && mode != Mode::GoesOn) || (at == 0 && mode == Mode::GoesOn) {
                continue;
            }
            let (s, moves) = match mode {
                Mode::Plain => (input, 0),
                Mode::Inverse => (!input & all, 0),
                Mode::GoesOn => (s & input, 1),
            };
            for (join, table, join_moves) in joins(sequence, s, at + 1 == self.inputs) {
                let mut longer = sequence.clone();
                longer.table = table;
                longer.sensings.push(Sensing { mode, join });
                longer.moves += moves + join_moves;
                self.extend(s, &longer);
            }
        }
    }
}

/// Ways to go on with `s` in the sensing latch: the join, what C becomes, the moves that takes.
fn joins(sequence: &Sequence, s: u16, last: bool) -> ArrayVec<(Option<Join>, u16, u32), 4> {
    let c = sequence.table;
    let mut ways = ArrayVec::new();
    if !last {
        ways.push((None, c, 0));
    }
    if sequence.is_clear() {
        ways.push((Some(Join::Or), s, 0));
        return ways;
    }
    ways.push((Some(Join::Or), c | s, 1));
    ways.push((Some(Join::Xor), c ^ s, 2));
    ways.push((Some(Join::AndNot), c & !s, 3));
    ways
}
