//! The formulas of the fewest operands for all functions of up to three pages.

use std::sync::OnceLock;

use super::formula::{Formula, Partial};
use super::sequences::INPUTS;

/// Pages.
pub(super) const PAGES: usize = 3;
const FUNCTIONS: usize = 1 << (1 << PAGES);
/// More operands than any function of so few pages needs.
const FAR: u32 = 1 << 16;

/// How a formula begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    And,
    Or,
    Xor,
}

const ROOTS: [Root; 3] = [Root::And, Root::Or, Root::Xor];

impl Root {
    fn apply(self, f: usize, g: usize) -> usize {
        match self {
            Root::And => f & g,
            Root::Or => f | g,
            Root::Xor => f ^ g,
        }
    }
}

/// By root and function, the operands of the smallest formula and the functions of two operands of it.
/// Pages come plain or inverted, whichever is wanted.
pub(super) struct Smallest {
    known: [[(u32, usize, usize); FUNCTIONS]; ROOTS.len()],
    is_page: [bool; FUNCTIONS],
}

impl Smallest {
    /// The formulas of all functions. They depend on nothing, and are found once.
    pub(super) fn get() -> &'static Smallest {
        static KNOWN: OnceLock<Smallest> = OnceLock::new();
        KNOWN.get_or_init(Smallest::new)
    }

    fn new() -> Smallest {
        let mut smallest = Smallest {
            known: [[(FAR, 0, 0); FUNCTIONS]; ROOTS.len()],
            is_page: [false; FUNCTIONS],
        };
        for page in &INPUTS[..PAGES] {
            let table = usize::from(*page) % FUNCTIONS;
            smallest.is_page[table] = true;
            smallest.is_page[FUNCTIONS - 1 - table] = true;
        }
        while smallest.improve() {}
        smallest
    }

    /// Operands of the smallest formula of a function that may begin with any root.
    fn operands(&self, table: usize) -> u32 {
        if self.is_page[table] {
            return 0;
        }
        let known = self.known.iter().map(|root| root[table].0);
        known.fold(FAR, u32::min)
    }

    /// The same as an operand below `root`: one operand more, or none if its own operands join those.
    fn below(&self, root: Root, table: usize) -> u32 {
        (self.operands(table) + 1).min(self.known[root as usize][table].0)
    }

    /// Combines all that is known; false if that brings nothing new.
    fn improve(&mut self) -> bool {
        let mut better = false;
        for root in ROOTS {
            let below: Vec<(usize, u32)> = (1..FUNCTIONS - 1)
                .map(|table| (table, self.below(root, table)))
                .filter(|(_, operands)| *operands < FAR)
                .collect();
            for (at, &(f, of_f)) in below.iter().enumerate() {
                for &(g, of_g) in &below[..at] {
                    let entry = &mut self.known[root as usize][root.apply(f, g)];
                    if of_f + of_g < entry.0 {
                        *entry = (of_f + of_g, f, g);
                        better = true;
                    }
                }
            }
        }
        better
    }

    /// The smallest formula that has the values of `partial`, which is not constant, over `leaves`.
    pub(super) fn formula(&self, partial: Partial, leaves: &[Formula]) -> Formula {
        let tables = (1..FUNCTIONS - 1).filter(|table| partial.admits(*table as u16));
        let table = tables.min_by_key(|table| self.operands(*table));
        self.of(table.expect("it is not constant"), leaves)
    }

    fn of(&self, table: usize, leaves: &[Formula]) -> Formula {
        if self.is_page[table] {
            let is_page = |page: &u16| usize::from(*page) % FUNCTIONS == table;
            if let Some(at) = INPUTS[..PAGES].iter().position(is_page) {
                return leaves[at].clone();
            }
            let inverse = FUNCTIONS - 1 - table;
            return self.of(inverse, leaves).inverted();
        }
        let root = ROOTS
            .into_iter()
            .min_by_key(|root| self.known[*root as usize][table].0);
        self.rooted(root.expect("there are roots"), table, leaves)
    }

    /// The formula of `table` that begins with `root`.
    fn rooted(&self, root: Root, table: usize, leaves: &[Formula]) -> Formula {
        let (_, f, g) = self.known[root as usize][table];
        let mut operands = Vec::new();
        for operand in [f, g] {
            if self.known[root as usize][operand].0 <= self.operands(operand) {
                match self.rooted(root, operand, leaves) {
                    Formula::And(inner) | Formula::Or(inner) | Formula::Xor(inner) => {
                        operands.extend(inner);
                    }
                    other => operands.push(other),
                }
            } else {
                operands.push(self.of(operand, leaves));
            }
        }
        match root {
            Root::And => Formula::And(operands),
            Root::Or => Formula::Or(operands),
            Root::Xor => Formula::Xor(operands),
        }
    }
}
