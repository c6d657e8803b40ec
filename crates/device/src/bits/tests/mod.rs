//! Placement, plans and commands together on the flash itself.

mod worked_example;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use media::nand::{
    BlockId, BusTiming, Command, CommandPhases, Geometry, Nand, NandConfig, PageAddress, PageSet,
    ProgramMode, Storage,
};
use nvme::{Expression, VectorId};
use sim::Time;

use super::combine::Combiner;
use super::command::commands;
use super::engine::Engine;
use super::plan::{Limits, Weights, plan};
use super::rows::{Operand, Row, RowSetId};
use crate::region::tests::small;
use crate::region::{DieBatch, Home, Layout, Region, Shape, StringAddress};
use crate::schedule::tests::nand;

/// Chunks of every test vector: three stripes, the last one not full.
const CHUNKS: u64 = 19;

/// Rows of vectors, written under a handle a group.
struct Rows {
    region: Region,
    layout: Layout,
    free: BTreeSet<u32>,
    /// The strings that vectors are in: group and block of the first chunk.
    sets: Vec<(u32, BlockId)>,
    vectors: BTreeMap<VectorId, (Row, Vec<PageAddress>)>,
}

impl Rows {
    fn new(geometry: Geometry) -> Rows {
        Rows {
            region: Region::new(&geometry, 1),
            free: (0..geometry.blocks()).collect(),
            layout: Layout::new(geometry),
            sets: Vec::new(),
            vectors: BTreeMap::new(),
        }
    }

    /// Takes a page for each chunk of a vector.
    fn place(&mut self, id: VectorId, inverse: bool) -> Vec<PageAddress> {
        let number = id.group as u16;
        let shape = Shape {
            anchor: 0,
            pitch: CHUNKS as u32,
            home: Home::ALL,
            scope: 0..1 << 20,
        };
        self.region.open(number, shape).expect("a legal shape");
        let handle = self.region.handle(number).expect("open").clone();
        let geometry = self.layout.geometry().clone();
        let mut page = |chunk| {
            let free = &mut self.free;
            let allocated = self.region.allocate(&handle.spot(chunk), |plane| {
                let mut blocks = geometry.blocks_of_plane(plane);
                let block = blocks.find(|block| free.contains(block))?;
                free.remove(&block);
                Some(BlockId(block))
            });
            allocated.expect("there is room").page
        };
        let pages: Vec<PageAddress> = (0..CHUNKS).map(&mut page).collect();
        let set = (id.group, pages[0].block);
        let known = self.sets.iter().position(|known| *known == set);
        let number = known.unwrap_or_else(|| {
            self.sets.push(set);
            self.sets.len() - 1
        });
        let row = Row {
            row_set: RowSetId(number as u32),
            layer: pages[0].page / geometry.strings_per_block,
            inverse,
        };
        self.vectors.insert(id, (row, pages.clone()));
        pages
    }

    fn find(&self, id: VectorId) -> Operand {
        Operand::Row(self.vectors[&id].0)
    }

    fn string(&self, row_set: RowSetId, chunk: u64) -> StringAddress {
        let mut vectors = self.vectors.values();
        let (_, pages) = vectors
            .find(|(row, _)| row.row_set == row_set)
            .expect("a vector made it");
        let page = pages[chunk as usize];
        StringAddress {
            block: page.block,
            string: page.page % self.layout.geometry().strings_per_block,
        }
    }

    fn commands(&self, computation: &super::plan::Computation, batch: &DieBatch) -> Rc<[Command]> {
        let string = |row_set, chunk| self.string(row_set, chunk);
        commands(computation, self.layout.geometry(), &string, batch)
    }
}

/// The flash on a clock that waits for every command.
struct Flash {
    nand: Nand,
    now: Time,
}

impl Flash {
    fn new(geometry: Geometry) -> Flash {
        let usual = nand();
        let config = NandConfig {
            geometry,
            bus: BusTiming {
                phases: CommandPhases::Cycles,
                ..usual.bus
            },
            ..usual
        };
        let nand = Nand::open(&config, Storage::Memory).expect("the configuration is legal");
        Flash {
            nand,
            now: Time::ZERO,
        }
    }

    fn run(&mut self, command: &Command, batch: &DieBatch, rows: &Rows) {
        let die = self
            .nand
            .geometry()
            .die_of_plane(rows.layout.plane(batch[0]));
        let begun = self.nand.begin(die, command, self.now);
        self.now += begun
            .unwrap_or_else(|error| panic!("{command:?}: {error}"))
            .span;
        self.nand
            .finish(die, self.now)
            .expect("the die is ready now");
    }

    /// Programs a vector, its chunks' words repeating `data`, all planes of a die at once.
    fn write(&mut self, rows: &mut Rows, vector: VectorId, inverse: bool, data: &[u64]) {
        let places = rows.place(vector, inverse);
        for batch in rows.layout.die_batches(CHUNKS) {
            let mut pages = PageSet::new();
            for &chunk in &batch {
                let word = data[chunk as usize];
                let stored = if inverse { !word } else { word };
                let plane = rows.layout.plane(chunk);
                self.nand
                    .data_in(plane, 0, &stored.to_le_bytes())
                    .expect("fits a page");
                pages.push(places[chunk as usize]);
            }
            let mode = ProgramMode::Esp;
            self.run(&Command::Program { pages, mode }, &batch, rows);
        }
    }

    /// Evaluates an expression chunk by chunk.
    fn evaluate(&mut self, rows: &Rows, expression: &Expression, engine: Engine) -> Vec<u64> {
        let limits = Limits {
            blocks_max: 4,
            weights: Weights::SENSES_FIRST,
        };
        let plan = plan(expression, engine, &limits, |id| rows.find(id));
        let mut result = vec![0; CHUNKS as usize];
        let mut combiner = Combiner::new();
        for batch in rows.layout.die_batches(CHUNKS) {
            let mut pages: BTreeMap<u64, Vec<Vec<u64>>> = BTreeMap::new();
            for computation in &plan.computations {
                let commands = rows.commands(computation, &batch);
                for command in commands.iter() {
                    self.run(command, &batch, rows);
                }
                for &chunk in &batch {
                    let register = self.nand.page_register(rows.layout.plane(chunk));
                    pages
                        .entry(chunk)
                        .or_default()
                        .push(register.expect("the die is idle").to_vec());
                }
            }
            for &chunk in &batch {
                let pages = pages.remove(&chunk).unwrap_or_default();
                let word = &mut result[chunk as usize..][..1];
                combiner.combine(&plan.root, &pages, word);
            }
        }
        result
    }
}

fn words(seed: u64) -> Vec<u64> {
    (1..=CHUNKS)
        .map(|i| {
            (seed * 31 + i)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(seed as u32)
        })
        .collect()
}

fn meaning(expression: &Expression, contents: &BTreeMap<VectorId, Vec<u64>>, chunk: usize) -> u64 {
    let operands = expression
        .operands()
        .iter()
        .map(|operand| meaning(operand, contents, chunk));
    match expression {
        Expression::Vector(id) => contents[id][chunk],
        Expression::Not(inner) => !meaning(inner, contents, chunk),
        Expression::And(_) => operands.fold(u64::MAX, |a, b| a & b),
        Expression::Or(_) => operands.fold(0, |a, b| a | b),
        Expression::Xor(_) => operands.fold(0, |a, b| a ^ b),
    }
}

#[test]
fn the_flash_computes_what_the_expression_means() {
    let (mut flash, mut rows) = (Flash::new(small()), Rows::new(small()));
    let mut contents = BTreeMap::new();
    for (seed, (group, inverse)) in [(0, false), (1, true), (2, false)].into_iter().enumerate() {
        for number in 0..4 {
            let (vector, data) = (
                VectorId::new(group, number),
                words(seed as u64 * 4 + u64::from(number)),
            );
            flash.write(&mut rows, vector, inverse, &data);
            contents.insert(vector, data);
        }
    }
    let leaf = |group, number| Expression::Vector(VectorId::new(group, number));
    let all = |group| (0..4).map(|number| leaf(group, number)).collect::<Vec<_>>();
    let xor = Expression::Xor(vec![leaf(0, 0), Expression::And(all(1)), leaf(2, 3)]);
    let mixed = Expression::Or(vec![
        Expression::And(all(0)),
        Expression::And(all(2)),
        leaf(1, 2),
    ]);
    let expressions = [
        Expression::And(all(0)),
        Expression::Or(all(1)),
        Expression::Not(Box::new(Expression::Or(all(2)))),
        Expression::And(vec![Expression::Or(all(1)), mixed, xor]),
    ];
    for expression in expressions {
        let expected: Vec<u64> = (0..CHUNKS as usize)
            .map(|chunk| meaning(&expression, &contents, chunk))
            .collect();
        for engine in [Engine::FlashCosmos, Engine::ParaBit, Engine::InStorage] {
            let result = flash.evaluate(&rows, &expression, engine);
            assert_eq!(result, expected, "{engine:?}");
        }
    }
}
