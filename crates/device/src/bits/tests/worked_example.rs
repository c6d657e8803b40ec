//! Flash-Cosmos 6.2's example from the expression to the latches: Equation 4 and Figure 16.

use media::nand::command::BusCycle;
use media::nand::{DieId, PlaneId, PlaneMask};

use super::*;
use crate::bits::plan::Plan;

/// One plane, whose strings are as deep as the example's four pages.
fn one_plane() -> Geometry {
    Geometry {
        channels: 1,
        chips_per_channel: 1,
        planes_per_die: 1,
        blocks_per_plane: 48,
        cells_per_string: 4,
        ..small()
    }
}

/// A, B, C and D, four vectors each, C and D stored inverse; group 1 to 4.
struct Example {
    flash: Flash,
    rows: Rows,
    contents: BTreeMap<VectorId, Vec<u64>>,
}

impl Example {
    fn new() -> Example {
        let (mut flash, mut rows) = (Flash::new(one_plane()), Rows::new(one_plane()));
        let mut contents = BTreeMap::new();
        for group in 1..=4 {
            for number in 0..4 {
                let vector = VectorId::new(group, number);
                // Mostly ones in B, so that an AND of four is not all zeros.
                let sparse = words(u64::from(group * 4 + number));
                let other = words(u64::from(group * 4 + number + 20));
                let data: Vec<u64> = match group {
                    2 => sparse.iter().zip(other).map(|(a, b)| a | b).collect(),
                    _ => sparse,
                };
                flash.write(&mut rows, vector, group > 2, &data);
                contents.insert(vector, data);
            }
        }
        Example {
            flash,
            rows,
            contents,
        }
    }

    /// Vector `number` of a group, counted from 1 as in the paper, in the first chunk.
    fn word(&self, group: u32, number: u32) -> u64 {
        self.contents[&VectorId::new(group, number - 1)][0]
    }

    /// Runs the first `count` steps of the plan on the first chunk.
    fn run(&mut self, plan: &Plan, count: usize) {
        let batch = DieBatch::from_iter([0]);
        let commands = self.rows.commands(&plan.computations[0], &batch);
        for command in &commands[..count] {
            self.flash.run(command, &batch, &self.rows);
        }
    }

    /// What the cache latch holds.
    fn c(&mut self) -> u64 {
        let register = self.flash.nand.page_register(PlaneId(0));
        register.expect("the die is idle")[0]
    }

    /// What the sensing latch holds; the cache latch, which must be clear, holds it too afterwards.
    fn s(&mut self) -> u64 {
        assert_eq!(self.c(), 0);
        let planes = PlaneMask::single(0);
        let batch = DieBatch::from_iter([0]);
        let transfer = Command::LatchTransfer { planes };
        self.flash.run(&transfer, &batch, &self.rows);
        self.c()
    }

    /// The cycles of a step's command on the bus.
    fn cycles(&self, plan: &Plan, step: usize) -> Vec<BusCycle> {
        let batch = DieBatch::from_iter([0]);
        let commands = self.rows.commands(&plan.computations[0], &batch);
        let mut cycles = Vec::new();
        commands[step].encode(&one_plane(), DieId(0), &mut cycles);
        cycles
    }

    /// Figure 15 (a): the address slot of a group's block, a wordline a bit.
    fn slot(&self, group: u32, wordlines: u8) -> [BusCycle; 3] {
        let Operand::Row(row) = self.rows.find(VectorId::new(group, 0)) else {
            panic!("it is stored");
        };
        let string = self.rows.string(row.row_set, 0);
        [string.block.0 as u8, string.string as u8, wordlines].map(BusCycle::Address)
    }
}

/// {A1 + (B1 B2 B3 B4)} (C1 + C3) (D2 + D4).
fn equation_4() -> Expression {
    let vector = |group, number: u32| Expression::Vector(VectorId::new(group, number - 1));
    let all_of_b = Expression::all((1..=4).map(|number| vector(2, number)));
    (vector(1, 1) | all_of_b.expect("operands"))
        & (vector(3, 1) | vector(3, 3))
        & (vector(4, 2) | vector(4, 4))
}

#[test]
fn equation_4_is_two_commands_that_leave_it_in_both_latches() {
    // Figure 15: opcodes of ours, the ISCM flags inverse, S, C and transfer from bit 0 up.
    const MWS: BusCycle = BusCycle::Command(0xc0);
    const CONT: BusCycle = BusCycle::Command(0xc1);
    const CONF: BusCycle = BusCycle::Command(0xc3);
    let mut example = Example::new();
    let limits = Limits {
        blocks_max: 4,
        weights: Weights::SENSES_FIRST,
    };
    let rows = &example.rows;
    let plan = plan(&equation_4(), Engine::FlashCosmos, &limits, |id| {
        rows.find(id)
    });
    assert_eq!((plan.senses(), plan.page_transfers()), (2, 1), "{plan}");

    // 1: (C1 + C3)(D2 + D4), inverse, both latches initialized, nothing transferred.
    let iscm = BusCycle::Address(0b0111);
    let slots = [example.slot(3, 0b0101), example.slot(4, 0b1010)];
    let [c_block, d_block] = &slots;
    let expected = [&[MWS, iscm], &c_block[..], &[CONT], &d_block[..], &[CONF]].concat();
    assert_eq!(example.cycles(&plan, 0), expected);
    // 2: A1 + (B1 B2 B3 B4), neither latch initialized, transferred.
    let iscm = BusCycle::Address(0b1000);
    let slots = [example.slot(1, 0b0001), example.slot(2, 0b1111)];
    let [a_block, b_block] = &slots;
    let expected = [&[MWS, iscm], &a_block[..], &[CONT], &b_block[..], &[CONF]].concat();
    assert_eq!(example.cycles(&plan, 1), expected);

    let first =
        (example.word(3, 1) | example.word(3, 3)) & (example.word(4, 2) | example.word(4, 4));
    let all_of_b = (1..=4).fold(u64::MAX, |all, number| all & example.word(2, number));
    let second = example.word(1, 1) | all_of_b;
    assert!(
        first & second != 0 && first & !second != 0,
        "the example tells"
    );
    example.run(&plan, 1);
    assert_eq!(
        (example.c(), example.s()),
        (0, first),
        "after the first command"
    );
    // Both anew, since looking at S filled C.
    example.run(&plan, 2);
    assert_eq!(example.c(), first & second, "C after the second command");
    let planes = PlaneMask::single(0);
    let batch = DieBatch::from_iter([0]);
    let xor = Command::Xor { planes };
    example.flash.run(&xor, &batch, &example.rows);
    assert_eq!(example.c(), 0, "S holds the same");
}
