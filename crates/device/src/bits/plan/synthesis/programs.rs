//! What the latches can leave in C, each of a few inputs sensed once.
//!
//! A table of a function of `n` inputs has 2^n bits; bit `i` is its value where input `j` has the
//! value of bit `j` of `i`.

use arrayvec::ArrayVec;

use crate::bits::plan::tree::Join;

/// Inputs of a program at most: the tables have sixteen bits.
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
pub(super) struct Program {
    /// What it leaves in C.
    pub(super) table: u16,
    pub(super) sensings: ArrayVec<Sensing, INPUTS_MAX>,
    /// Of moves between the latches: an AND or OR of a page costs 1, an XOR 2 (Flash-Cosmos Table 1
    /// gives both by energy).
    pub(super) moves: u32,
}

/// For each function that senses of `inputs` inputs in order can leave in C the program of the
/// fewest moves, ascending by moves.
pub(super) fn programs(inputs: usize) -> Vec<Program> {
    let mut walk = Walk {
        inputs,
        fewest: vec![u32::MAX; 1 << (1 << inputs)],
        found: Vec::new(),
    };
    walk.extend(0, &Program::empty());
    let Walk {
        fewest, mut found, ..
    } = walk;
    found.retain(|program| program.moves == fewest[usize::from(program.table)]);
    found.sort_unstable_by_key(|program| (program.moves, program.table));
    found
}

impl Program {
    fn empty() -> Program {
        Program {
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
    /// By table, the moves of the cheapest program found for it.
    fewest: Vec<u32>,
    /// Each cheaper than those before it of the same table.
    found: Vec<Program>,
}

impl Walk {
    /// Continues `program` with input `at` and the rest.
    fn extend(&mut self, s: u16, program: &Program) {
        let at = program.sensings.len();
        if at == self.inputs {
            let fewest = &mut self.fewest[usize::from(program.table)];
            if program.moves < *fewest {
                *fewest = program.moves;
                self.found.push(program.clone());
            }
            return;
        }
        let all = all_cells(self.inputs);
        let input = INPUTS[at] & all;
        let last = program.sensings.last();
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
            for (join, table, join_moves) in joins(program, s, at + 1 == self.inputs) {
                let mut longer = program.clone();
                longer.table = table;
                longer.sensings.push(Sensing { mode, join });
                longer.moves += moves + join_moves;
                self.extend(s, &longer);
            }
        }
    }
}

/// Ways to go on with `s` in the sensing latch: the join, what C becomes, the moves that takes.
fn joins(program: &Program, s: u16, last: bool) -> ArrayVec<(Option<Join>, u16, u32), 4> {
    let c = program.table;
    let mut ways = ArrayVec::new();
    if !last {
        ways.push((None, c, 0));
    }
    if program.is_clear() {
        ways.push((Some(Join::Or), s, 0));
        return ways;
    }
    ways.push((Some(Join::Or), c | s, 1));
    ways.push((Some(Join::Xor), c ^ s, 2));
    ways.push((Some(Join::AndNot), c & !s, 3));
    ways
}
