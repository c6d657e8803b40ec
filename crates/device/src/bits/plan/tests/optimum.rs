//! The planner against exhaustive search: a breadth-first search over what the latches can hold, by
//! what the commands say they do, and all ways for the controller to combine pages.
//!
//! Functions of four rows are tables of sixteen bits. The search knows nothing of expressions: it
//! finds for every function the fewest senses, and among those the fewest pages.

use std::collections::BTreeSet;

use arrayvec::ArrayVec;

use super::*;

/// The tables of the rows.
const ROWS: [u16; 4] = [0xaaaa, 0xcccc, 0xf0f0, 0xff00];
/// Rows that are all read out take as many senses and pages.
const MOST: usize = ROWS.len();
const FUNCTIONS: usize = 1 << 16;

/// Where four vectors are: for each the group, and whether its inverse is stored. A group is a
/// string.
type Placement = [(u32, bool); 4];

/// Placements, the blocks one sense may select there, and which share of the functions to try: all,
/// or one of so many.
const CASES: [(Placement, &[usize], usize); 10] = {
    const P: bool = false;
    const I: bool = true;
    [
        ([(0, P), (0, P), (0, P), (0, P)], &[4], 1),
        ([(0, I), (0, I), (0, I), (0, I)], &[1], 1),
        ([(0, P), (0, I), (0, P), (0, I)], &[2], 4),
        ([(0, P), (0, P), (0, P), (1, P)], &[1, 2], 1),
        ([(0, I), (0, I), (0, P), (1, P)], &[4], 8),
        ([(0, P), (0, P), (1, P), (1, P)], &[1, 2], 1),
        ([(0, P), (0, P), (1, I), (1, I)], &[1, 4], 4),
        ([(0, P), (0, I), (1, P), (2, I)], &[1, 2, 4], 16),
        ([(0, P), (1, P), (2, P), (3, P)], &[1, 2, 4], 1),
        ([(0, I), (1, P), (2, P), (3, I)], &[2, 4], 4),
    ]
};

/// As many of them have vectors in one or two strings.
const FEW_STRINGS: usize = 7;

/// What one sense can conduct: for any rows, the OR over their strings of the AND of the rows.
fn conducted(placement: &Placement, blocks_max: usize) -> Vec<u16> {
    let mut found = Vec::new();
    for rows in 1u32..16 {
        let chosen = |row: &usize| rows >> row & 1 == 1;
        let strings: BTreeSet<u32> = (0..4).filter(chosen).map(|row| placement[row].0).collect();
        let of_string = |string: &u32| {
            let rows = (0..4).filter(chosen);
            let rows = rows.filter(|&row| placement[row].0 == *string);
            rows.fold(u16::MAX, |all, row| all & ROWS[row])
        };
        if strings.len() <= blocks_max {
            found.push(strings.iter().map(of_string).fold(0, |any, all| any | all));
        }
    }
    found
}

/// What computations of one to four senses can leave in C, by the number of senses less one.
fn pages(conducted: &[u16]) -> [Vec<u16>; MOST] {
    // What S and C hold; before the first sense nothing, which none may build on.
    let mut states = BTreeSet::new();
    for v in conducted {
        for s in [*v, !v] {
            states.extend([(s, 0), (s, s)]);
        }
    }
    let mut seen = vec![false; FUNCTIONS];
    std::array::from_fn(|senses| {
        let mut found = BTreeSet::new();
        if senses > 0 {
            let before = std::mem::take(&mut states);
            for &(s, c) in &before {
                for v in conducted {
                    // Inverse reads begin S anew; others may go on with it.
                    for s in [*v, !v, s & v] {
                        // C may be cleared, C |= S may follow, and commands C ^= S, C |= S.
                        for c in [0, c, s, c | s, c ^ s, c & !s] {
                            if senses + 1 < MOST {
                                states.insert((s, c));
                            } else {
                                found.insert(c);
                            }
                        }
                    }
                }
            }
        }
        found.extend(states.iter().map(|(_, c)| *c));
        found.retain(|&page| !std::mem::replace(&mut seen[page as usize], true));
        found.into_iter().collect()
    })
}

/// Points of four rows that the same pages leave together: sixteen sets of them at most.
type Cells = ArrayVec<u16, 16>;

/// For every function the fewest senses and then the fewest pages, by exhaustion.
struct Optimum(Vec<(usize, usize)>);

impl Optimum {
    fn new(placement: &Placement, blocks_max: usize) -> Optimum {
        let pages = pages(&conducted(placement, blocks_max));
        let mut optimum = Optimum(vec![(MOST, MOST); FUNCTIONS]);
        // Pages of so many senses each; the controller can compute whatever is a function of them.
        let shares: [&[usize]; 11] = [
            &[],
            &[1],
            &[2],
            &[1, 1],
            &[3],
            &[2, 1],
            &[1, 1, 1],
            &[4],
            &[3, 1],
            &[2, 2],
            &[2, 1, 1],
        ];
        for share in shares {
            optimum.combine(&pages, share, share, 0, &[u16::MAX]);
        }
        optimum
    }

    /// Goes through all pages of the senses in `left`, which tell the points apart that those before
    /// left together in `cells`.
    fn combine(
        &mut self,
        pages: &[Vec<u16>; MOST],
        share: &[usize],
        left: &[usize],
        first: usize,
        cells: &[u16],
    ) {
        let Some((&senses, rest)) = left.split_first() else {
            return self.enter(cells, (share.iter().sum(), share.len()));
        };
        let list = &pages[senses - 1];
        for at in first..list.len() {
            // A page and its inverse tell the same apart.
            if list[at] & 1 == 1 && list.binary_search(&!list[at]).is_ok() {
                continue;
            }
            let finer = cells
                .iter()
                .flat_map(|cell| [cell & list[at], cell & !list[at]]);
            let finer: Cells = finer.filter(|&cell| cell != 0).collect();
            let first = if rest.first() == Some(&senses) {
                at + 1
            } else {
                0
            };
            self.combine(pages, share, rest, first, &finer);
        }
    }

    /// Every union of cells is a function of the pages.
    fn enter(&mut self, cells: &[u16], cost: (usize, usize)) {
        let mut union = 0;
        // In an order in which each union has one cell more or less than the one before (Gray's).
        for number in 0..1u32 << cells.len() {
            let known = &mut self.0[usize::from(union)];
            *known = cost.min(*known);
            let next = (number + 1).trailing_zeros() as usize;
            union ^= cells.get(next).copied().unwrap_or(0);
        }
    }
}

/// For every function of four vectors that at most `operators` operators give, an expression of the
/// fewest: AND, OR, XOR, NAND, NOR and XNOR of two operands, and NOT.
fn expressions(operators: usize) -> BTreeMap<u16, Expression> {
    let vectors = (0..4).map(|at| (ROWS[at], leaf(VectorId::new(9, at as u32))));
    let mut levels: Vec<Vec<(u16, Expression)>> = vec![vectors.collect()];
    let mut known: BTreeMap<u16, Expression> = levels[0].iter().cloned().collect();
    for level in 1..=operators {
        let mut found = Vec::new();
        let mut enter = |table: u16, expression: &dyn Fn() -> Expression| {
            known.entry(table).or_insert_with(|| {
                let expression = expression();
                found.push((table, expression.clone()));
                expression
            });
        };
        for (f, a) in &levels[level - 1] {
            enter(!f, &|| not(a.clone()));
        }
        for left in 0..level {
            for (f, a) in &levels[left] {
                for (g, b) in &levels[level - 1 - left] {
                    let both = || vec![a.clone(), b.clone()];
                    enter(f & g, &|| Expression::And(both()));
                    enter(f | g, &|| Expression::Or(both()));
                    enter(f ^ g, &|| Expression::Xor(both()));
                    enter(!(f & g), &|| not(Expression::And(both())));
                    enter(!(f | g), &|| not(Expression::Or(both())));
                    enter(!(f ^ g), &|| not(Expression::Xor(both())));
                }
            }
        }
        levels.push(found);
    }
    known
}

/// The function of the vectors with vector `order[i]` in place of vector `i`.
fn exchanged(table: u16, order: &[usize; 4]) -> u16 {
    (0..16).fold(0, |exchanged, point: usize| {
        let from = (0..4).map(|at| (point >> at & 1) << order[at]);
        exchanged | (table >> from.sum::<usize>() & 1) << point
    })
}

/// Orders that leave the placement as it is, but for the names of strings.
fn symmetries(placement: &Placement) -> Vec<[usize; 4]> {
    let mut orders = Vec::new();
    for code in 0..256usize {
        let order: [usize; 4] = std::array::from_fn(|at| code >> (2 * at) & 3);
        let is_order = (0..4).all(|at| order.contains(&at));
        let same_string = |a: usize, b: usize| placement[a].0 == placement[b].0;
        let kept = (0..4).all(|a| {
            placement[a].1 == placement[order[a]].1
                && (0..4).all(|b| same_string(a, b) == same_string(order[a], order[b]))
        });
        if is_order && kept {
            orders.push(order);
        }
    }
    orders
}

/// The rows that hold the vectors: what the function of the vectors is of them.
fn of_rows(table: u16, placement: &Placement) -> u16 {
    (0..16).fold(0, |rows, point: usize| {
        let flip: usize = (0..4).map(|at| usize::from(placement[at].1) << at).sum();
        rows | (table >> (point ^ flip) & 1) << point
    })
}

/// Four vectors, of which each point of a table is a bit, and the names that [`expressions`] uses
/// for them.
fn four_vectors(placement: &Placement) -> (Store, BTreeMap<VectorId, VectorId>) {
    let mut store = Store::new(4);
    let mut names = BTreeMap::new();
    for (at, &(group, inverse)) in placement.iter().enumerate() {
        let content = [u64::from(ROWS[at]); WORDS];
        let stored = store.add(group, inverse, content);
        names.insert(VectorId::new(9, at as u32), stored);
    }
    (store, names)
}

fn renamed(expression: &Expression, names: &BTreeMap<VectorId, VectorId>) -> Expression {
    let all = |operands: &[Expression]| {
        operands
            .iter()
            .map(|operand| renamed(operand, names))
            .collect()
    };
    match expression {
        Expression::Vector(id) => leaf(names[id]),
        Expression::Not(inner) => not(renamed(inner, names)),
        Expression::And(operands) => Expression::And(all(operands)),
        Expression::Or(operands) => Expression::Or(all(operands)),
        Expression::Xor(operands) => Expression::Xor(all(operands)),
    }
}

/// Checks senses, pages and result of a plan; gives the controller's operands.
fn check(
    store: &Store,
    expression: &Expression,
    table: u16,
    blocks_max: usize,
    (senses, pages): (usize, usize),
) -> u64 {
    let limits = Limits {
        blocks_max,
        ..LIMITS
    };
    let plan = store.plan(expression, Engine::FlashCosmos, &limits);
    let result = store.run(&plan, &limits)[0] as u16;
    let case = || {
        format!(
            "{expression:?} of {:?}, {blocks_max} blocks\n{plan}",
            store.vectors
        )
    };
    assert_eq!(result, table, "{}", case());
    assert_eq!(plan.senses(), senses, "senses of {}", case());
    assert_eq!(plan.page_transfers(), pages, "pages of {}", case());
    plan.controller_bytes_per_page(1)
}

/// Every function that up to five operators over four vectors give, one for all that exchanging
/// vectors of like placement makes of it; in a few placements, a share of them.
fn search_in(cases: &[(Placement, &[usize], usize)]) {
    let all = expressions(5);
    assert_eq!(all.len(), 30_580, "functions");
    for (placement, blocks, share) in cases {
        let (store, names) = four_vectors(placement);
        let symmetries = symmetries(placement);
        let is_first = |table: &u16| {
            symmetries
                .iter()
                .all(|order| exchanged(*table, order) >= *table)
        };
        for &blocks_max in *blocks {
            let optimum = Optimum::new(placement, blocks_max);
            let tried = all.iter().filter(|(table, _)| is_first(table));
            for (&table, expression) in tried.step_by(*share) {
                let best = optimum.0[of_rows(table, placement) as usize];
                let expression = renamed(expression, &names);
                check(&store, &expression, table, blocks_max, best);
            }
        }
    }
}

#[test]
fn no_search_finds_fewer_senses_or_pages_in_one_or_two_strings() {
    search_in(&CASES[..FEW_STRINGS]);
}

#[test]
fn no_search_finds_fewer_senses_or_pages_in_more_strings() {
    search_in(&CASES[FEW_STRINGS..]);
}

/// Random expressions of five operators in whatever form: those of one meaning take the same.
#[test]
fn the_form_of_an_expression_does_not_matter() {
    let mut random = Random(13);
    for (placement, blocks, _) in &CASES {
        let (store, _) = four_vectors(placement);
        let blocks_max = blocks[0];
        let optimum = Optimum::new(placement, blocks_max);
        let mut operands: BTreeMap<u16, u64> = BTreeMap::new();
        for _ in 0..1000 {
            let expression = random_form(&mut random, &store, 5);
            let table = store.meaning(&expression)[0] as u16;
            let best = optimum.0[of_rows(table, placement) as usize];
            let combined = check(&store, &expression, table, blocks_max, best);
            let known = operands.entry(table).or_insert(combined);
            assert_eq!(*known, combined, "{expression:?}");
        }
    }
}

/// An expression of exactly so many operators.
fn random_form(random: &mut Random, store: &Store, operators: u64) -> Expression {
    if operators == 0 {
        return leaf(store.vectors[random.below(4) as usize].0);
    }
    let kind = random.below(7);
    if kind == 6 {
        return not(random_form(random, store, operators - 1));
    }
    let left = random.below(operators);
    let operands = vec![
        random_form(random, store, left),
        random_form(random, store, operators - 1 - left),
    ];
    let combined = match kind % 3 {
        0 => Expression::And(operands),
        1 => Expression::Or(operands),
        _ => Expression::Xor(operands),
    };
    if kind > 2 { not(combined) } else { combined }
}
