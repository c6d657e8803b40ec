//! How an expression would be evaluated, and what that would take: for people, and for choosing
//! between platforms and plans before anything is carried out.

use std::collections::BTreeMap;
use std::rc::Rc;

use device::bits::demand::{Question, step_cost};
use device::bits::plan::{
    Computation, Contents, Held, OPERANDS_SHOWN, Plan, Slot as Selected, Source, Step, contents,
};
use device::bits::rows::{Operand, RowSetId};
use device::bits::{Engine, Evaluator};
use media::nand::NandConfig;
use nvme::{Expression, VectorId};
use serde::Serialize;

use crate::bits::Query;
use crate::drive::Drive;
use crate::error::Error;
use crate::host_end::Index;
use crate::platforms::{Batch, EstimateReport, Outside, Pace, Platform, read_of};
use crate::sentences::counted;

/// What people call vectors.
pub type Labels = BTreeMap<VectorId, String>;

/// The longest vector, in bits.
const BITS_MAX: u64 = (1 << 48) - 1;

/// A plan and its estimate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The platform it is for.
    pub platform: Platform,
    /// Who evaluates it: the platform, or what was chosen for one that leaves the choice.
    pub chosen: Platform,
    /// The expression, vectors as `group:vector`.
    pub expression: String,
    /// Length of the vectors, in bits.
    pub bits: u64,
    /// Pages a vector takes; all are evaluated alike.
    pub chunks: u64,
    /// Senses for each chunk.
    pub senses: usize,
    /// Pages that leave the array for each chunk.
    pub page_transfers: usize,
    /// Operand pages that the controller's accelerator takes in for each chunk.
    pub controller_pages: u64,
    /// How the result comes about.
    pub root: PlanPart,
    /// What it takes.
    pub estimate: EstimateReport,
}

/// A part of a plan: a page from the array, or what is made of others.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlanPart {
    /// All zeros or all ones.
    Constant {
        /// Which.
        value: bool,
    },
    /// A page that the array computes.
    Page {
        /// Number of the computation; a page in several places is computed once.
        computation: usize,
        /// The commands; none where the page is named again.
        steps: Vec<StepReport>,
    },
    /// A vector that the host reads.
    Vector {
        /// Its name.
        vector: String,
    },
    /// The inverse of the one part, or the AND, OR or XOR of several.
    Combined {
        /// `not`, `and`, `or` or `xor`.
        operator: &'static str,
        /// The operands.
        parts: Vec<PlanPart>,
    },
}

/// One command to a plane, and what the latches hold after it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StepReport {
    /// `sense` or `xor`.
    pub command: &'static str,
    /// What happens in the latches.
    pub action: String,
    /// Blocks that the sense selects.
    pub blocks: usize,
    /// Wordlines that the sense selects, in all blocks.
    pub wordlines: u32,
    /// What the sensing latch holds afterwards.
    pub s: String,
    /// What the cache latch holds afterwards.
    pub c: String,
    /// What it takes in the die, in nanoseconds.
    pub time_ns: f64,
    /// What it spends in a plane, in picojoules.
    pub energy_pj: u64,
}

impl Query<'_> {
    /// How it would be answered, in words: the senses of the array and the combinations of the controller, for every
    /// page alike. Nothing is carried out.
    ///
    /// # Errors
    /// [`Error::NoVector`], [`Error::Lengths`].
    pub fn explain(self) -> Result<String, Error> {
        self.drive.explain(&self.expression, self.platform)
    }

    /// How it would be answered, and estimates of what that would take; nothing is carried out. Vectors are taken to be
    /// `bits` bits long, or as long as they are; the answer is only counted, or it is read.
    ///
    /// # Errors
    /// As [`Query::explain`]; a length of no bits.
    pub fn explanation(self, bits: Option<u64>, count_only: bool) -> Result<Explanation, Error> {
        self.explanation_called(bits, count_only, &Labels::new())
    }

    /// As [`Query::explanation`], with these names of vectors instead of `group:vector`.
    ///
    /// # Errors
    /// As [`Query::explanation`].
    pub fn explanation_called(
        self,
        bits: Option<u64>,
        count_only: bool,
        labels: &Labels,
    ) -> Result<Explanation, Error> {
        let what = (bits, count_only);
        self.drive
            .explanation(&self.expression, self.platform, what, labels)
    }
}

impl Drive {
    /// As [`crate::Query::explain`].
    pub(crate) fn explain(
        &mut self,
        expression: &Expression,
        platform: Platform,
    ) -> Result<String, Error> {
        self.know_vectors()?;
        let bits = self.length_of(expression)?;
        let Some(engine) = self.engine_for(platform, expression, (bits, false))? else {
            let vectors = counted(expression.vectors().len() as u64, "vector");
            let host = self.host()?;
            let index = host.mount.index();
            return Ok(format!(
                "Host: reads {vectors} and combines them: {}\n",
                expression.named(|id| index.label(id))
            ));
        };
        let explained = self.explained(expression, engine.into(), None, false)?;
        Ok(explained.routes.to_string())
    }

    /// As [`crate::Query::explanation`].
    pub(crate) fn explanation(
        &mut self,
        expression: &Expression,
        platform: Platform,
        (bits, count_only): (Option<u64>, bool),
        labels: &Labels,
    ) -> Result<Explanation, Error> {
        let usage = |message: String| Error::Host(host::Error::Usage(message));
        if let Some(bits) = bits.filter(|bits| !(1..=BITS_MAX).contains(bits)) {
            let wrong = format!("a vector has from 1 to {BITS_MAX} bits, not {bits}");
            return Err(usage(wrong));
        }
        self.know_vectors()?;
        let encoded = expression
            .encode()
            .map_err(|error| usage(error.to_string()))?;
        let stored = self.length_of(expression)?;
        let what = (bits.unwrap_or(stored), count_only);
        let engine = self.engine_for(platform, expression, what)?;
        let by = engine.map_or(Engine::InStorage.into(), Evaluator::from);
        let explained = self.explained(expression, by, bits, count_only)?;
        let operands = explained.operands.clone();
        let plan = explained.plan();
        let question = Question {
            bits: bits.unwrap_or(stored),
            expression_bytes: encoded.len() as u64,
            count_only,
        };
        let page_bits = u64::from(self.config().device.nand.geometry.page_bytes) * 8;
        let host = self.host()?;
        let index = host.mount.index();
        let names = VectorNames {
            labels,
            known: &index,
        };
        let mut explanation = Explanation {
            platform,
            chosen: match engine {
                Some(_) => platform_of(plan.engine),
                None => Platform::Host,
            },
            expression: expression.named(|id| names.of(id)).to_string(),
            bits: question.bits,
            chunks: question.bits.div_ceil(page_bits),
            senses: plan.senses(),
            page_transfers: plan.page_transfers(),
            controller_pages: plan.root.operand_pages() + u64::from(count_only),
            root: PlanPart::Constant { value: false },
            estimate: EstimateReport::default(),
        };
        if engine.is_none() {
            // It reads every vector, whatever comes of it.
            let vectors = expression.vectors().len();
            (explanation.senses, explanation.page_transfers) = (vectors, vectors);
            explanation.controller_pages = 0;
            explanation.root = host_part(expression, &names);
            let demand_of = |id: VectorId, batch: Batch| {
                let (vector, by) = (Expression::Vector(id), Engine::FlashCosmos.into());
                self.demand_of(&vector, by, read_of(batch), batch.page)
            };
            let outside = Outside::of(self.config());
            explanation.estimate = outside.estimate(expression, question, &demand_of, false)?;
        } else {
            let cost = self.cost_of(expression, by, question)?;
            explanation.estimate = EstimateReport::of(&cost);
            if !count_only {
                let received = Pace::of(&self.config().host).memory(question.bits.div_ceil(8));
                explanation.estimate.add("host", "memory", received.as_pj());
            }
            let mut writer = Writer::new(&plan, &self.config().device.nand, operands, &names);
            explanation.root = writer.part(&plan.root);
        }
        Ok(explanation)
    }
}

/// The platform that an engine is.
fn platform_of(engine: Engine) -> Platform {
    match engine {
        Engine::InStorage => Platform::InStorage,
        Engine::ParaBit => Platform::ParaBit,
        Engine::FlashCosmos => Platform::FlashCosmos,
    }
}

/// What vectors are called.
struct VectorNames<'a> {
    labels: &'a Labels,
    known: &'a Index,
}

impl VectorNames<'_> {
    fn of(&self, id: VectorId) -> Rc<str> {
        let given = self.labels.get(&id).map(|label| label.as_str().into());
        given.unwrap_or_else(|| self.known.label(id))
    }
}

/// The expression itself, as the host carries it out.
fn host_part(expression: &Expression, names: &VectorNames<'_>) -> PlanPart {
    let operator = match expression {
        Expression::Vector(id) => {
            return PlanPart::Vector {
                vector: names.of(*id).to_string(),
            };
        }
        Expression::Not(_) => "not",
        Expression::And(_) => "and",
        Expression::Or(_) => "or",
        Expression::Xor(_) => "xor",
    };
    PlanPart::Combined {
        operator,
        parts: expression
            .operands()
            .iter()
            .map(|operand| host_part(operand, names))
            .collect(),
    }
}

/// Puts a plan into words.
struct Writer<'a> {
    plan: &'a Plan,
    nand: &'a NandConfig,
    names: &'a VectorNames<'a>,
    /// The vectors, by the row that holds them, and whether it holds the inverse.
    rows: BTreeMap<(RowSetId, u32), (VectorId, bool)>,
    written: Vec<bool>,
}

impl<'a> Writer<'a> {
    fn new(
        plan: &'a Plan,
        nand: &'a NandConfig,
        operands: Vec<(VectorId, Operand)>,
        names: &'a VectorNames<'a>,
    ) -> Writer<'a> {
        let row = |(id, at): (VectorId, Operand)| match at {
            Operand::Row(row) => Some(((row.row_set, row.layer), (id, row.inverse))),
            Operand::Zeroes => None,
        };
        Writer {
            plan,
            nand,
            names,
            rows: operands.into_iter().filter_map(row).collect(),
            written: vec![false; plan.computations.len()],
        }
    }

    fn part(&mut self, source: &Source) -> PlanPart {
        let (operator, parts) = match source {
            Source::Constant(value) => return PlanPart::Constant { value: *value },
            Source::Array(computation) => {
                let again = std::mem::replace(&mut self.written[*computation], true);
                let steps = if again {
                    Vec::new()
                } else {
                    self.steps(&self.plan.computations[*computation])
                };
                return PlanPart::Page {
                    computation: *computation,
                    steps,
                };
            }
            Source::Not(inner) => ("not", std::slice::from_ref(&**inner)),
            Source::And(parts) => ("and", &parts[..]),
            Source::Or(parts) => ("or", &parts[..]),
            Source::Xor(parts) => ("xor", &parts[..]),
        };
        PlanPart::Combined {
            operator,
            parts: parts.iter().map(|part| self.part(part)).collect(),
        }
    }

    fn steps(&self, computation: &Computation) -> Vec<StepReport> {
        let stored = |row_set, layer| {
            let (id, inverse) = self.rows[&(row_set, layer)];
            if inverse { !id } else { id.into() }
        };
        let held = contents(computation, &stored);
        let step = |(step, held): (&Step, Contents)| {
            let (time, energy) = step_cost(self.nand, step);
            let slots: &[Selected] = match step {
                Step::Sense(sense) => &sense.slots,
                Step::Xor => &[],
            };
            StepReport {
                command: match step {
                    Step::Sense(_) => "sense",
                    Step::Xor => "xor",
                },
                action: step.to_string(),
                blocks: slots.len(),
                wordlines: slots.iter().map(|slot| slot.wordlines.count()).sum(),
                s: self.words(&held.s),
                c: self.words(&held.c),
                time_ns: time.as_ns(),
                energy_pj: energy.as_pj(),
            }
        };
        computation.steps.iter().zip(held).map(step).collect()
    }

    fn words(&self, held: &Held) -> String {
        match held {
            Held::Nothing => "-".to_owned(),
            Held::Zeros => "0".to_owned(),
            Held::Value(expression) => expression.named(|id| self.names.of(id)).to_string(),
            Held::Long => format!("(of more than {OPERANDS_SHOWN} operands)"),
        }
    }
}
