//! What the controller makes of a few pages: formulas of few operands for functions of them, where
//! some combinations of bits never occur.

use super::sequences::{INPUTS, all_cells};
use super::smallest::{PAGES, Smallest};

/// A function of pages of which some values do not matter. Bit `i` of both is where page `j` has the
/// value of bit `j` of `i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Partial {
    /// Where the value matters.
    pub(super) care: u16,
    /// The values, zero where they do not matter.
    pub(super) value: u16,
}

impl Partial {
    /// Whether `table` has these values.
    pub(super) fn admits(self, table: u16) -> bool {
        (table ^ self.value) & self.care == 0
    }

    /// The values where input `at` of `inputs` has `value`, over the others.
    fn cofactor(self, at: usize, inputs: usize, value: bool) -> Partial {
        let mut cofactor = Partial { care: 0, value: 0 };
        for cell in 0..1usize << (inputs - 1) {
            let low = cell & ((1 << at) - 1);
            let whole = (cell - low) << 1 | usize::from(value) << at | low;
            cofactor.care |= (self.care >> whole & 1) << cell;
            cofactor.value |= (self.value >> whole & 1) << cell;
        }
        cofactor
    }

    fn inverted(self) -> Partial {
        let value = !self.value & self.care;
        Partial { value, ..self }
    }

    /// The values of both, if they agree where both matter.
    fn merged(self, other: Partial) -> Option<Partial> {
        let clash = (self.value ^ other.value) & self.care & other.care;
        (clash == 0).then_some(Partial {
            care: self.care | other.care,
            value: self.value | other.value,
        })
    }

    /// Over `operands`, tables of functions of the `inputs`; `None` if it is no function of them.
    pub(super) fn over(self, inputs: usize, operands: &[u16]) -> Option<Partial> {
        let mut whole = Partial { care: 0, value: 0 };
        for cell in 0..1usize << operands.len() {
            let mut here = all_cells(inputs);
            for (at, operand) in operands.iter().enumerate() {
                here &= if cell >> at & 1 == 1 {
                    *operand
                } else {
                    !operand
                };
            }
            let matters = here & self.care;
            let ones = matters & self.value;
            if ones != 0 && ones != matters {
                return None;
            }
            whole.care |= u16::from(matters != 0) << cell;
            whole.value |= u16::from(ones != 0) << cell;
        }
        Some(whole)
    }
}

/// A formula over pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Formula {
    Constant(bool),
    Page { at: usize, inverted: bool },
    And(Vec<Formula>),
    Or(Vec<Formula>),
    Xor(Vec<Formula>),
}

impl Formula {
    /// One of few operands that has the values of `partial`, a function of `pages` pages.
    pub(super) fn of(partial: Partial, pages: usize, smallest: &Smallest) -> Formula {
        let leaves: Vec<Formula> = (0..pages)
            .map(|at| Formula::Page {
                at,
                inverted: false,
            })
            .collect();
        Finder(smallest).find(partial, &leaves)
    }

    /// Operand pages the controller takes in if every page comes as it is named.
    pub(super) fn operands(&self) -> usize {
        match self {
            Formula::Constant(_) | Formula::Page { .. } => 0,
            Formula::And(operands) | Formula::Or(operands) | Formula::Xor(operands) => {
                operands.len() + operands.iter().map(Formula::operands).sum::<usize>()
            }
        }
    }

    /// How often page `page` is named inverted, and how often as it is.
    pub(super) fn uses(&self, page: usize) -> (usize, usize) {
        match self {
            Formula::Constant(_) => (0, 0),
            Formula::Page { at, inverted } if *at == page => {
                (usize::from(*inverted), usize::from(!*inverted))
            }
            Formula::Page { .. } => (0, 0),
            Formula::And(operands) | Formula::Or(operands) | Formula::Xor(operands) => {
                let uses = operands.iter().map(|operand| operand.uses(page));
                uses.fold((0, 0), |sum, operand| {
                    (sum.0 + operand.0, sum.1 + operand.1)
                })
            }
        }
    }

    pub(super) fn inverted(&self) -> Formula {
        let all = |operands: &[Formula]| operands.iter().map(Formula::inverted).collect();
        match self {
            Formula::Constant(value) => Formula::Constant(!value),
            Formula::Page { at, inverted } => Formula::Page {
                at: *at,
                inverted: !inverted,
            },
            Formula::And(operands) => Formula::Or(all(operands)),
            Formula::Or(operands) => Formula::And(all(operands)),
            Formula::Xor(operands) => {
                let mut operands = operands.clone();
                operands[0] = operands[0].inverted();
                Formula::Xor(operands)
            }
        }
    }
}

fn and(a: Formula, b: Formula) -> Formula {
    let mut operands = Vec::new();
    for operand in [a, b] {
        match operand {
            Formula::Constant(true) => {}
            Formula::Constant(false) => return Formula::Constant(false),
            Formula::And(inner) => operands.extend(inner),
            other => operands.push(other),
        }
    }
    match operands.len() {
        0 => Formula::Constant(true),
        1 => operands.remove(0),
        _ => Formula::And(operands),
    }
}

fn or(a: Formula, b: Formula) -> Formula {
    and(a.inverted(), b.inverted()).inverted()
}

fn xor(a: Formula, b: Formula) -> Formula {
    let (mut operands, mut flip) = (Vec::new(), false);
    for operand in [a, b] {
        match operand {
            Formula::Constant(value) => flip ^= value,
            Formula::Xor(inner) => operands.extend(inner),
            other => operands.push(other),
        }
    }
    let whole = match operands.len() {
        0 => Formula::Constant(false),
        1 => operands.remove(0),
        _ => Formula::Xor(operands),
    };
    if flip { whole.inverted() } else { whole }
}

/// The tables, up to inversion, of functions that depend on both of two inputs.
const OF_TWO: [u16; 5] = [0b1000, 0b0100, 0b0010, 0b0001, 0b0110];

/// Finds formulas, knowing the smallest ones over few pages.
struct Finder<'a>(&'a Smallest);

impl Finder<'_> {
    /// A formula over `leaves`: one of them is taken out where that leaves a function of the others alone;
    /// else two are combined to one; else one decides between two functions of the others.
    fn find(&self, partial: Partial, leaves: &[Formula]) -> Formula {
        if partial.value == 0 || partial.value == partial.care {
            return Formula::Constant(partial.value != 0);
        }
        let is_page = |leaf: &Formula| matches!(leaf, Formula::Page { .. });
        if leaves.len() == PAGES && leaves.iter().all(is_page) {
            return self.0.formula(partial, leaves);
        }
        let places = || 0..leaves.len();
        if let Some(formula) = places().find_map(|at| self.taken_out(partial, leaves, at)) {
            return formula;
        }
        let pairs = places().flat_map(|second| (0..second).map(move |first| (first, second)));
        let joined = pairs.flat_map(|(first, second)| self.joined(partial, leaves, first, second));
        if let Some(formula) = joined.min_by_key(Formula::operands) {
            return formula;
        }
        places()
            .flat_map(|at| self.decided_by(partial, leaves, at))
            .min_by_key(Formula::operands)
            .expect("any leaf can decide")
    }

    /// The formula where the leaf at `at` joins a function of the others by AND, OR or XOR, or does not
    /// matter.
    fn taken_out(&self, partial: Partial, leaves: &[Formula], at: usize) -> Option<Formula> {
        let Sides {
            leaf,
            rest,
            low,
            high,
        } = Sides::of(partial, leaves, at);
        if let Some(either) = low.merged(high) {
            return Some(self.find(either, &rest));
        }
        let is = |side: Partial, value: bool| side.value == if value { side.care } else { 0 };
        if is(low, false) {
            return Some(and(leaf, self.find(high, &rest)));
        }
        if is(low, true) {
            return Some(or(leaf.inverted(), self.find(high, &rest)));
        }
        if is(high, false) {
            return Some(and(leaf.inverted(), self.find(low, &rest)));
        }
        if is(high, true) {
            return Some(or(leaf, self.find(low, &rest)));
        }
        let either = low.merged(high.inverted())?;
        Some(xor(leaf, self.find(either, &rest)))
    }

    /// Formulas where the leaf at `at` decides between two functions of the others.
    fn decided_by(&self, partial: Partial, leaves: &[Formula], at: usize) -> Vec<Formula> {
        let Sides {
            leaf,
            rest,
            low,
            high,
        } = Sides::of(partial, leaves, at);
        let [when, unless] = [self.find(high, &rest), self.find(low, &rest)];
        let mut found = vec![or(and(leaf.clone(), when), and(leaf.inverted(), unless))];
        found.extend(self.changed(low, high, &leaf, &rest));
        found.extend(self.changed(high, low, &leaf.inverted(), &rest));
        found
    }

    /// `base`, and where `leaf` is one, the difference to `other`.
    fn changed(
        &self,
        base: Partial,
        other: Partial,
        leaf: &Formula,
        rest: &[Formula],
    ) -> Option<Formula> {
        let kept = self.find(base, rest);
        let table = kept.table(rest)?;
        let difference = Partial {
            care: other.care,
            value: (other.value ^ table) & other.care,
        };
        Some(xor(kept, and(leaf.clone(), self.find(difference, rest))))
    }

    /// Formulas that combine two leaves first.
    fn joined(
        &self,
        partial: Partial,
        leaves: &[Formula],
        first: usize,
        second: usize,
    ) -> Vec<Formula> {
        let mut found = Vec::new();
        if leaves.len() == 2 {
            return found;
        }
        let others = || (0..leaves.len()).filter(move |at| ![first, second].contains(at));
        for of_two in OF_TWO {
            let cells = (0..4u16).filter(|cell| of_two >> cell & 1 == 1);
            let joint = cells.fold(0, |table, cell| {
                let side = |at: usize, bit: u16| if bit == 1 { INPUTS[at] } else { !INPUTS[at] };
                table | (side(first, cell & 1) & side(second, cell >> 1))
            });
            let operands: Vec<u16> = others().map(|at| INPUTS[at]).chain([joint]).collect();
            let Some(over) = partial.over(leaves.len(), &operands) else {
                continue;
            };
            let pair = [leaves[first].clone(), leaves[second].clone()];
            let pair = self.find(
                Partial {
                    care: 0b1111,
                    value: of_two,
                },
                &pair,
            );
            let operands: Vec<Formula> = others()
                .map(|at| leaves[at].clone())
                .chain([pair])
                .collect();
            found.push(self.find(over, &operands));
        }
        found
    }
}

/// A leaf, the others, and the functions of those where it is zero and one.
struct Sides {
    leaf: Formula,
    rest: Vec<Formula>,
    low: Partial,
    high: Partial,
}

impl Sides {
    fn of(partial: Partial, leaves: &[Formula], at: usize) -> Sides {
        let mut rest = leaves.to_vec();
        Sides {
            leaf: rest.remove(at),
            rest,
            low: partial.cofactor(at, leaves.len(), false),
            high: partial.cofactor(at, leaves.len(), true),
        }
    }
}

impl Formula {
    /// Its table over `leaves`; `None` where a leaf is not a page.
    fn table(&self, leaves: &[Formula]) -> Option<u16> {
        let fold = |operands: &[Formula], start: u16, apply: fn(u16, u16) -> u16| {
            operands.iter().try_fold(start, |sum, operand| {
                Some(apply(sum, operand.table(leaves)?))
            })
        };
        let table = match self {
            Formula::Constant(value) => Some(if *value { u16::MAX } else { 0 }),
            Formula::Page { at, inverted } => {
                leaves.iter().enumerate().find_map(|(place, leaf)| {
                    let Formula::Page {
                        at: page,
                        inverted: other,
                    } = leaf
                    else {
                        return None;
                    };
                    let flip = if inverted == other { 0 } else { u16::MAX };
                    (page == at).then_some(INPUTS[place] ^ flip)
                })
            }
            Formula::And(operands) => fold(operands, u16::MAX, |a, b| a & b),
            Formula::Or(operands) => fold(operands, 0, |a, b| a | b),
            Formula::Xor(operands) => fold(operands, 0, |a, b| a ^ b),
        };
        table.map(|table| table & all_cells(leaves.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_of_three_pages_has_a_formula() {
        let smallest = Smallest::get();
        let pages: Vec<Formula> = (0..3)
            .map(|at| Formula::Page {
                at,
                inverted: false,
            })
            .collect();
        for value in 0..=0xffu16 {
            for care in [0xff, 0x5d, 0xe7, value] {
                let partial = Partial {
                    care,
                    value: value & care,
                };
                let formula = Formula::of(partial, 3, smallest);
                let table = formula.table(&pages).expect("of pages only");
                assert!(partial.admits(table), "{value:#x} {care:#x} {formula:?}");
            }
        }
    }

    #[test]
    fn formulas_are_short() {
        let smallest = Smallest::get();
        let [a, b, c, d] = INPUTS;
        for (value, operands) in [
            (a & b & c & d, 4),
            (!(a & b & c & d), 4),
            (a ^ b ^ c ^ d, 4),
            ((a | !b) & (c ^ d), 4 + 2),
            ((a & b) | (!a & c), 2 + 2 + 2),
            ((a & b) | (b & c) | (a & c), 2 + 2 + 2 + 2),
            ((a ^ b) & (a ^ c), 2 + 2 + 2),
            ((a ^ b) & (a ^ c) & !d, 3 + 2 + 2),
        ] {
            let care = u16::MAX;
            let formula = Formula::of(Partial { care, value }, 4, smallest);
            assert!(formula.operands() <= operands, "{formula:?}");
        }
    }
}
