//! What the controller does with the pages of a plan, as steps over a stack of pages: so that each
//! page is combined when it comes, and the next is on its way meanwhile.

use crate::bits::combine::{Unit, and_into, or_into, xor_into};
use crate::bits::plan::{Plan, Source};
use crate::memory::SAVED_PAGES;

/// A combination of two pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bits) enum Gate {
    And,
    Or,
    Xor,
}

impl Gate {
    /// `into = into (gate) operand`.
    pub(in crate::bits) fn apply<U: Unit>(self, operand: &[U], into: &mut [U]) {
        match self {
            Gate::And => and_into(into, operand),
            Gate::Or => or_into(into, operand),
            Gate::Xor => xor_into(into, operand),
        }
    }
}

/// One step. `due` are pages that the accelerator takes in for it, besides those it took in when
/// they were fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bits) enum Instruction {
    /// Pushes the page of the computation fetched next.
    Fetch {
        computation: usize,
        /// It is needed again.
        keep: bool,
        /// The accelerator takes it in as it comes.
        operand: bool,
    },
    /// Pushes a page that was kept.
    Again { computation: usize },
    /// Pushes zeros or ones.
    Constant(bool),
    /// Inverts the top.
    Not { due: u64 },
    /// Replaces the two on top by their combination.
    Combine { gate: Gate, due: u64 },
    /// Takes the top, a second result, away and counts the bits in which the one below differs.
    Compare { due: u64 },
    /// The number of ones of the top is counted.
    Count { due: u64 },
}

/// Pages of each plane that are on their way from the array at the same time.
const FETCHES_AHEAD: u32 = 2;
/// The same where they come from different dies.
const FETCHES_AHEAD_ACROSS: u32 = 4;

/// What the task of a die has on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bits) struct Ahead {
    /// Fetches.
    pub(in crate::bits) fetches: u32,
    /// Page buffers that it has at a time.
    pub(in crate::bits) buffers: u32,
}

/// The steps for each chunk, and the computations they fetch, in order.
#[derive(Debug, Default)]
pub(in crate::bits) struct Recipe {
    pub(in crate::bits) instructions: Vec<Instruction>,
    pub(in crate::bits) order: Vec<usize>,
    /// Uses of each computation.
    uses: Vec<u32>,
    /// Pages come to the controller's memory first, and from there to the accelerator.
    buffered: bool,
}

impl Recipe {
    /// The recipe of a plan whose result is sent, or only counted; before that it is compared with
    /// what `check` makes of the plan's pages. Pages go to the accelerator as they come, or, if they
    /// are `buffered`, when they are combined.
    pub(in crate::bits) fn new(
        plan: &Plan,
        count_only: bool,
        check: Option<&Source>,
        buffered: bool,
    ) -> Recipe {
        let mut recipe = Recipe {
            uses: vec![0; plan.computations.len()],
            buffered,
            ..Recipe::default()
        };
        recipe.note_uses(&plan.root);
        check.into_iter().for_each(|check| recipe.note_uses(check));
        let mut due = recipe.emit(&plan.root, count_only || check.is_some());
        if let Some(check) = check {
            due += recipe.emit(check, true);
            recipe.instructions.push(Instruction::Compare { due });
            due = 1;
        }
        if count_only {
            recipe.instructions.push(Instruction::Count { due });
        }
        recipe
    }

    /// Whether pages are counted as they come and nothing else is done with them.
    pub(in crate::bits) fn only_counts(&self) -> bool {
        use Instruction::{Count, Fetch};
        matches!(self.instructions[..], [Fetch { .. }, Count { .. }])
    }

    /// Whether fetched pages go to the accelerator.
    pub(in crate::bits) fn uses_accelerator(&self) -> bool {
        let operand = |instruction: &Instruction| {
            matches!(instruction, Instruction::Fetch { operand: true, .. })
        };
        self.instructions.iter().any(operand)
    }

    /// The most pages of a chunk that wait on the stack, or to be used again, at a time.
    pub(in crate::bits) fn pages_held(&self) -> u32 {
        let (mut kept, mut own, mut most) = (0, 0, 0);
        // Whether each page on the stack is nobody else's.
        let mut stack: Vec<bool> = Vec::new();
        for instruction in &self.instructions {
            let operand = match instruction {
                Instruction::Combine { .. } | Instruction::Compare { .. } => stack.pop(),
                _ => None,
            };
            let was_own = match instruction {
                Instruction::Fetch { keep: true, .. } => {
                    kept += 1;
                    stack.push(false);
                    continue;
                }
                Instruction::Again { .. } => {
                    stack.push(false);
                    continue;
                }
                Instruction::Fetch { .. } | Instruction::Constant(_) => false,
                // What is changed is copied first if it is needed again.
                _ => stack.pop().unwrap_or(false),
            };
            own += u32::from(!was_own);
            most = most.max(own + kept);
            own -= u32::from(operand.unwrap_or(false));
            stack.push(true);
        }
        // The result is nobody else's.
        let copied = u32::from(stack.pop() == Some(false));
        most.max(own + kept + copied)
    }

    /// How many fetches are on their way at a time, and how many page buffers the task of a die then has, where `most`
    /// can be had at once. Pages that come `across` from several dies each wait for the other; a stage that `programs`
    /// its pages holds those on their way to flash, too. Where buffers are few, fewer pages are on their way.
    pub(in crate::bits) fn fetches_ahead(
        &self,
        across: bool,
        programs: bool,
        planes: u32,
        most: u32,
    ) -> Ahead {
        let wanted = if across {
            FETCHES_AHEAD_ACROSS
        } else {
            FETCHES_AHEAD
        };
        let held = self.pages_held() + u32::from(programs);
        // Each fetch may have to stand back.
        let each = 1 + SAVED_PAGES;
        let spare = (most / planes).saturating_sub(held);
        let fetches = (spare / each).clamp(1, wanted);
        Ahead {
            fetches,
            buffers: (held + fetches * each) * planes,
        }
    }

    fn note_uses(&mut self, source: &Source) {
        match source {
            Source::Constant(_) => {}
            Source::Array(computation) => self.uses[*computation] += 1,
            Source::Not(inner) => self.note_uses(inner),
            Source::And(inputs) | Source::Or(inputs) | Source::Xor(inputs) => {
                inputs.iter().for_each(|input| self.note_uses(input));
            }
        }
    }

    /// Steps that push `source`; gives the pages due when it is used as an operand.
    fn emit(&mut self, source: &Source, operand: bool) -> u64 {
        let (inputs, gate, neutral) = match source {
            Source::Constant(value) => {
                self.instructions.push(Instruction::Constant(*value));
                return 1;
            }
            Source::Array(computation) => return self.emit_page(*computation, operand),
            Source::Not(inner) => {
                let due = self.emit(inner, true);
                self.instructions.push(Instruction::Not { due });
                return 1;
            }
            Source::And(inputs) => (inputs, Gate::And, true),
            Source::Or(inputs) => (inputs, Gate::Or, false),
            Source::Xor(inputs) => (inputs, Gate::Xor, false),
        };
        let Some((first, rest)) = inputs.split_first() else {
            self.instructions.push(Instruction::Constant(neutral));
            return 1;
        };
        let mut due = self.emit(first, true);
        for input in rest {
            due += self.emit(input, true);
            self.instructions.push(Instruction::Combine { gate, due });
            due = 0;
        }
        1
    }

    fn emit_page(&mut self, computation: usize, operand: bool) -> u64 {
        let operand = operand && !self.buffered;
        if self.order.contains(&computation) {
            self.instructions.push(Instruction::Again { computation });
            return 1;
        }
        self.order.push(computation);
        self.instructions.push(Instruction::Fetch {
            computation,
            keep: self.uses[computation] > 1,
            operand,
        });
        u64::from(!operand)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::engine::Engine;
    use crate::bits::plan::Computation;

    /// Operand pages that the accelerator takes in for one chunk.
    fn pages(recipe: &Recipe) -> u64 {
        let of = |instruction: &Instruction| match *instruction {
            Instruction::Fetch { operand, .. } => u64::from(operand),
            Instruction::Not { due }
            | Instruction::Combine { due, .. }
            | Instruction::Compare { due }
            | Instruction::Count { due } => due,
            Instruction::Again { .. } | Instruction::Constant(_) => 0,
        };
        recipe.instructions.iter().map(of).sum()
    }

    #[test]
    fn the_accelerator_takes_in_what_the_plan_says() {
        use Source::{And, Array, Constant, Not, Or, Xor};
        let roots = [
            Array(0),
            Constant(true),
            Not(Box::new(Array(0))),
            And(vec![Array(0), Array(1), Array(2)]),
            Or(vec![And(vec![Array(0), Array(1)]), Not(Box::new(Array(0)))]),
            Xor(vec![Array(2), Or(vec![Array(2), Array(2)]), Constant(true)]),
        ];
        for root in roots {
            let plan = Plan {
                engine: Engine::FlashCosmos,
                computations: vec![Computation::default(); 3],
                root,
            };
            let (operands, root) = (plan.controller_bytes_per_page(1), &plan.root);
            let recipe = Recipe::new(&plan, false, None, false);
            assert_eq!(pages(&recipe), operands, "{root:?}");
            assert_eq!(recipe.uses_accelerator(), pages(&recipe) > 0);
            let counting = Recipe::new(&plan, true, None, false);
            assert_eq!(pages(&counting), operands + 1, "{root:?}");
            let buffered = Recipe::new(&plan, true, None, true);
            assert_eq!(pages(&buffered), operands + 1, "{root:?}");
            assert!(!buffered.uses_accelerator());
            let second = Source::Not(Box::new(Array(1)));
            let checked = Recipe::new(&plan, true, Some(&second), false);
            assert_eq!(pages(&checked), operands + 1 + 2 + 1, "{root:?}");
        }
    }
}
