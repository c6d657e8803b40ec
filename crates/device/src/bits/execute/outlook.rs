//! What is to be expected of an evaluation, and how what was asked last is evaluated: who asks what to expect mostly asks for
//! the evaluation next, and a program asks the same again and again.

use nvme::Expression;

use super::{Bits, Estimated, ExecuteError, read};
use crate::bits::classes::Class;
use crate::bits::engine::Evaluator;
use crate::bits::job::Question;
use crate::bits::routes::{Outlook, Routes, outlook};
use crate::bits::rows::Leaf;

/// Strings of chunks up to which classes are remembered.
const STRINGS_MAX: usize = 1 << 16;

/// An evaluation that was planned.
pub(super) struct Known {
    expression: Expression<Leaf>,
    by: Evaluator,
    count_only: bool,
    planned: Vec<(Class, Routes)>,
}

impl Bits {
    /// What is to be expected of an evaluation on an idle drive; less exact than [`Bits::cost`], and sooner told.
    ///
    /// # Errors
    /// An operand that is nowhere.
    pub fn outlook<V: nvme::Operand>(
        &self,
        estimated: &Estimated<'_, V>,
    ) -> Result<Outlook, ExecuteError> {
        let asked = read::number(estimated.expression, |name| (estimated.page_of)(name))?;
        let classes = self.classes_from(estimated, &asked, 0, estimated.question.bits);
        let count_only = estimated.question.count_only;
        let planned = self.routes(&asked.expression, estimated.by, classes, count_only);
        let question = self.question_of(estimated, 0, estimated.question.bits);
        let choice = self.choice(count_only);
        Ok(outlook(&asked.expression, &planned, &question, &choice))
    }

    /// What is asked of `bits` bits from page `first` on.
    pub(super) fn question_of<V: nvme::Operand>(
        &self,
        estimated: &Estimated<'_, V>,
        first: u64,
        bits: u64,
    ) -> Question {
        Question {
            bits: first * self.page_bytes() * 8 + bits,
            ..estimated.question
        }
    }

    /// What `plan` says, or said of the same before.
    pub(super) fn known_or(
        &self,
        expression: &Expression<Leaf>,
        by: Evaluator,
        classes: Vec<Class>,
        count_only: bool,
        plan: impl FnOnce(Vec<Class>) -> Vec<(Class, Routes)>,
    ) -> Vec<(Class, Routes)> {
        let is_it = |known: &Known| {
            (known.by, known.count_only) == (by, count_only)
                && known.expression == *expression
                && classes
                    .iter()
                    .eq(known.planned.iter().map(|(class, _)| class))
        };
        if let Some(known) = self.known.borrow().as_ref().filter(|known| is_it(known)) {
            return known.planned.clone();
        }
        let planned = plan(classes);
        let strings: usize = planned.iter().map(|(class, _)| class.strings()).sum();
        if matches!(by, Evaluator::Best(_)) && strings <= STRINGS_MAX {
            *self.known.borrow_mut() = Some(Known {
                expression: expression.clone(),
                by,
                count_only,
                planned: planned.clone(),
            });
        }
        planned
    }
}
