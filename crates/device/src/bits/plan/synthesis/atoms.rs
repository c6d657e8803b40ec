//! What an expression is a function of: cubes of rows that always come together.
//!
//! Rows of one string that appear only side by side in the same ANDs can as well be sensed as one:
//! where the expression needs their AND only, any plan that senses some of them alone gives one for
//! a single row in their place, by taking the others to be all ones. So taking them as one atom
//! costs no sense.

use std::collections::BTreeMap;

use media::nand::WordlineBitmap;

use crate::bits::plan::graph::{Graph, Lit, Node};
use crate::bits::rows::RowSetId;

/// Atoms that a table can tell apart.
pub(in crate::bits::plan) const ATOMS_MAX: usize = 6;

/// The tables of the atoms themselves.
pub(super) const ATOMS: [u64; ATOMS_MAX] = [
    0xaaaa_aaaa_aaaa_aaaa,
    0xcccc_cccc_cccc_cccc,
    0xf0f0_f0f0_f0f0_f0f0,
    0xff00_ff00_ff00_ff00,
    0xffff_0000_ffff_0000,
    0xffff_ffff_0000_0000,
];

/// The AND of wordlines of one string, as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Atom {
    pub(super) row_set: RowSetId,
    pub(super) wordlines: WordlineBitmap,
}

/// A function of atoms: bit `i` is its value where atom `j` has the value of bit `j` of `i`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    /// Each decides somewhere; by row set and first wordline.
    pub(super) atoms: Vec<Atom>,
    pub(super) table: u64,
}

/// The bits of a table over `atoms` atoms.
pub(super) fn all_points(atoms: usize) -> u64 {
    if atoms == ATOMS_MAX {
        u64::MAX
    } else {
        (1 << (1 << atoms)) - 1
    }
}

impl Function {
    /// What `root` is a function of; `None` if that is more than [`ATOMS_MAX`] atoms or more than
    /// `nodes` nodes of the graph, from which what was looked at is subtracted.
    pub(super) fn of(graph: &Graph, root: Lit, nodes: &mut usize) -> Option<Function> {
        let parents = Parents::of(graph, root, nodes)?;
        let mut atoms: Vec<(Atom, Vec<Lit>)> = Vec::new();
        for rows in parents.alike(graph).into_values() {
            if atoms.len() == ATOMS_MAX {
                return None;
            }
            let row = graph.row(rows[0])?;
            let wordlines = rows.iter().filter_map(|&lit| graph.row(lit));
            let wordlines = wordlines.map(|row| row.layer).collect();
            let row_set = row.row_set;
            atoms.push((Atom { row_set, wordlines }, rows));
        }
        atoms.sort_by_key(|(atom, _)| (atom.row_set, atom.wordlines.iter().next()));
        let mut tables = BTreeMap::new();
        for (at, (_, rows)) in atoms.iter().enumerate() {
            tables.extend(rows.iter().map(|&lit| (lit.index(), ATOMS[at])));
        }
        let table = table(graph, root, &mut tables) & all_points(atoms.len());
        let atoms = atoms.into_iter().map(|(atom, _)| atom).collect();
        Some(Function { atoms, table }.reduced())
    }

    /// Without the atoms that decide nowhere.
    fn reduced(mut self) -> Function {
        for at in (0..self.atoms.len()).rev() {
            let (low, high) = (self.cofactor(at, false), self.cofactor(at, true));
            if low == high {
                self.atoms.remove(at);
                self.table = low;
            }
        }
        self
    }

    /// The table over the other atoms where atom `at` is `value`.
    fn cofactor(&self, at: usize, value: bool) -> u64 {
        let points = 1usize << (self.atoms.len() - 1);
        let mut table = 0;
        for point in 0..points {
            let low = point & ((1 << at) - 1);
            let whole = (point - low) << 1 | usize::from(value) << at | low;
            table |= (self.table >> whole & 1) << point;
        }
        table
    }
}

/// The table of `lit`, those of rows being known; remembers what it finds for positive literals.
fn table(graph: &Graph, lit: Lit, tables: &mut BTreeMap<usize, u64>) -> u64 {
    let positive = lit.positive();
    let flip = if lit.is_negated() { u64::MAX } else { 0 };
    if let Some(known) = tables.get(&positive.index()) {
        return known ^ flip;
    }
    let found = match graph.node(positive) {
        Node::False | Node::Row(_) | Node::Sealed(_) => 0,
        Node::And(factors) => {
            let factors = factors.iter().map(|&factor| table(graph, factor, tables));
            factors.fold(u64::MAX, |all, factor| all & factor)
        }
        Node::Xor(children) => {
            let children = children.iter().map(|&child| table(graph, child, tables));
            children.fold(0, |sum, child| sum ^ child)
        }
    };
    tables.insert(positive.index(), found);
    found ^ flip
}

/// For each row below a root, positive, the ANDs it is a plain factor of.
struct Parents {
    /// `None` where the row appears in another way as well.
    // order: by literal.
    of_row: BTreeMap<Lit, Option<Vec<Lit>>>,
}

impl Parents {
    fn of(graph: &Graph, root: Lit, nodes: &mut usize) -> Option<Parents> {
        let mut of_row = BTreeMap::new();
        let mut seen = std::collections::BTreeSet::new();
        let mut open = vec![root.positive()];
        if graph.row(root).is_some() {
            of_row.insert(root.positive(), None);
        }
        while let Some(lit) = open.pop() {
            if !seen.insert(lit) {
                continue;
            }
            *nodes = nodes.checked_sub(1)?;
            let (children, is_and) = match graph.node(lit) {
                Node::False | Node::Row(_) => continue,
                Node::Sealed(_) => return None,
                Node::And(factors) => (factors, true),
                Node::Xor(children) => (children, false),
            };
            for &child in children.iter() {
                if graph.row(child).is_none() {
                    open.push(child.positive());
                    continue;
                }
                *nodes = nodes.checked_sub(1)?;
                let parents = of_row.entry(child.positive());
                let parents = parents.or_insert_with(|| Some(Vec::new()));
                match parents {
                    Some(known) if is_and && !child.is_negated() => known.push(lit),
                    _ => *parents = None,
                }
            }
        }
        Some(Parents { of_row })
    }

    /// Rows that are one atom, by what they have in common.
    fn alike(self, graph: &Graph) -> BTreeMap<(RowSetId, Vec<Lit>, Option<Lit>), Vec<Lit>> {
        let mut alike: BTreeMap<_, Vec<Lit>> = BTreeMap::new();
        for (lit, parents) in self.of_row {
            let row = graph.row(lit).expect("only rows are entered");
            let alone = parents.is_none().then_some(lit);
            let key = (row.row_set, parents.unwrap_or_default(), alone);
            alike.entry(key).or_default().push(lit);
        }
        alike
    }
}
