//! What is to be expected of an evaluation, and how what was asked of late is evaluated: who asks what to expect mostly asks for
//! the evaluation next, and a program asks the same again and again.

use std::collections::VecDeque;

use nvme::Expression;

use super::{Bits, Estimated, ExecuteError, operands};
use crate::bits::classes::Class;
use crate::bits::demand::Question;
use crate::bits::engine::Evaluator;
use crate::bits::routes::{Outlook, Routes, outlook};
use crate::bits::rows::Leaf;

/// Strings of chunks, and reads of flash they take, up to which classes are remembered.
const SIZE_MAX: usize = 1 << 16;
/// Evaluations that are remembered: what a program asks by turns.
const KNOWN_MAX: usize = 8;

/// An evaluation that was planned.
pub(super) struct Known {
    expression: Expression<Leaf>,
    by: Evaluator,
    count_only: bool,
    planned: Vec<(Class, Routes)>,
}

/// Evaluations that were planned, those asked for last first.
#[derive(Default)]
pub(super) struct KnownPlans {
    plans: VecDeque<Known>,
    /// How often something was planned.
    made: u64,
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
        let asked = operands::number(estimated.expression, |name| (estimated.page_of)(name))?;
        let classes = self.classes_from(estimated, &asked, 0, estimated.question.bits);
        let count_only = estimated.question.count_only;
        let planned = self.routes(&asked.expression, estimated.by, classes, count_only);
        let question = self.question_of(estimated, 0, estimated.question.bits);
        let choice = self.choice(count_only);
        Ok(outlook(&planned, &question, &choice))
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
        // A read of one vector is planned sooner than looked up, and would only push out what took long.
        if matches!(expression, Expression::Vector(_)) {
            return plan(classes);
        }
        let is_it = |known: &Known| {
            (known.by, known.count_only) == (by, count_only)
                && known.expression == *expression
                && classes
                    .iter()
                    .eq(known.planned.iter().map(|(class, _)| class))
        };
        let mut known = self.known.borrow_mut();
        let at = known.plans.iter().position(is_it);
        if let Some(found) = at.and_then(|at| known.plans.remove(at)) {
            let routes = found.planned.iter().map(|(_, routes)| routes.clone());
            let planned = classes.into_iter().zip(routes).collect();
            known.plans.push_front(found);
            return planned;
        }
        let planned = plan(classes);
        known.made += 1;
        let classes = planned.iter().map(|(class, _)| class);
        let size: usize = classes.map(Class::strings_and_reads).sum();
        if size <= SIZE_MAX {
            known.plans.truncate(KNOWN_MAX - 1);
            known.plans.push_front(Known {
                expression: expression.clone(),
                by,
                count_only,
                planned: planned.clone(),
            });
        }
        planned
    }

    /// How often an evaluation of more than one vector was planned since power-up, rather than remembered.
    pub fn plans_made(&self) -> u64 {
        self.known.borrow().made
    }
}
