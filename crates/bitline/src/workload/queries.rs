//! Queries: an expression over stored vectors, asked again and again.

use serde::{Deserialize, Serialize};
use sim::{Sim, Time};

use super::draw;
use super::flow::{Arrival, Arrivals};
use super::formula::{Formula, Groups};
use super::request::{Request, Source};
pub use crate::bits::Answer;
use crate::platforms::Platform;
use crate::request_kind::RequestKind;
use crate::{Drive, Error, Expression};

/// A stream of queries, each of which evaluates the same expression.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use bitline::workload::{Flow, Formula, Queries, RunOptions, Workload};
/// use bitline::{Config, Drive};
///
/// let mut drive = Drive::open(Config::preset("flash-cosmos")?)?;
/// drive.group("months")?.place(1 << 20, 12, |_| ControlFlow::Continue(()))?;
/// let queries = Queries { requests: 5, ..Queries::of(Formula::All("months".into())) };
/// let reads = Flow { requests: 100, range_blocks: 1024, ..Flow::default() };
/// let workloads = [Workload::Flow(reads), Workload::Queries(queries)];
/// let report = drive.run_workloads(&workloads, RunOptions::default(), |_completed| {})?;
/// assert_eq!((report.flows[0].requests, report.queries[0].queries), (100, 5));
/// # Ok::<(), bitline::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Queries {
    /// Names them, and their random numbers.
    pub name: String,
    /// What is asked.
    pub expression: Formula,
    /// Who answers.
    pub platform: Platform,
    /// What the host is told.
    pub answer: Answer,
    /// How many queries.
    pub requests: u64,
    /// None arrives later than so many nanoseconds after the workload began; 0 means no end but
    /// `requests`.
    pub stop_ns: u64,
    /// When they arrive. A query may be many commands; it is one outstanding.
    pub arrival: Arrival,
    /// Which queue pair carries them, counted from zero.
    pub queue: usize,
}

impl Default for Queries {
    fn default() -> Queries {
        Queries {
            name: "queries".into(),
            expression: Formula::default(),
            platform: Platform::default(),
            answer: Answer::Count,
            requests: 1000,
            stop_ns: 0,
            arrival: Arrival::Closed { depth: 1 },
            queue: 0,
        }
    }
}

/// Queries about vectors that were found.
pub(super) struct Question {
    pub(super) queries: Queries,
    pub(super) expression: Expression,
    /// Distinct vectors that it names.
    pub(super) operands: u64,
    /// Length of each, in bits.
    pub(super) bits: u64,
}

impl Queries {
    /// Queries of an expression, everything else by default.
    pub fn of(expression: Formula) -> Queries {
        Queries {
            expression,
            ..Queries::default()
        }
    }

    /// Checks the queries against the drive, and finds the vectors that they name.
    pub(super) fn question(&self, drive: &mut Drive) -> Result<Question, Error> {
        let wrong = |what: String| Error::Workload(format!("queries {:?}: {what}", self.name));
        let queue_pairs = drive.host()?.queue_pairs();
        self.check(queue_pairs).map_err(wrong)?;
        let mut groups = Groups::new();
        for name in self.expression.groups() {
            let (asked, name) = (name.to_owned(), name.to_owned());
            let vectors = drive.run(|host| async move { host.group_vectors(&asked).await })??;
            let vectors = vectors.into_iter().map(|vector| (vector.name, vector.id));
            groups.insert(name, vectors.collect());
        }
        let resolved = self.expression.resolved(&groups);
        let expression = resolved.map_err(|what| wrong(format!("expression: {what}")))?;
        let bits = drive.length_of(&expression);
        let bits = bits.map_err(|error| wrong(format!("expression: {error}")))?;
        Ok(Question {
            operands: expression.vectors().len() as u64,
            queries: self.clone(),
            expression,
            bits,
        })
    }

    fn check(&self, queue_pairs: usize) -> Result<(), String> {
        if self.queue >= queue_pairs {
            return Err(format!(
                "queue = {} must be below the {queue_pairs} queue pairs",
                self.queue
            ));
        }
        self.arrival.check(self.requests, self.stop_ns)
    }
}

impl Question {
    /// Bytes of all distinct vectors of a query, the last of each filled up.
    pub(super) fn operand_bytes(&self) -> u64 {
        self.operands * self.bits.div_ceil(8)
    }
}

/// Queries under way.
pub(super) struct Asker {
    arrivals: Arrivals,
}

impl Asker {
    pub(super) fn new(queries: &Queries, sim: &Sim, draw: u64) -> Asker {
        let random = draw::stream(sim, &format!("arrivals of queries {}", queries.name), draw);
        let (requests, stop_ns) = (queries.requests, queries.stop_ns);
        Asker {
            arrivals: Arrivals::new(&queries.arrival, requests, stop_ns, random),
        }
    }
}

impl Source for Asker {
    fn begin(&mut self, now: Time) {
        self.arrivals.begin(now);
    }

    fn next(&mut self, now: Time) -> Result<Option<Request>, Error> {
        Ok(self.arrivals.next(now).map(|arrives| Request {
            kind: RequestKind::Query,
            device: 0,
            lba: 0,
            blocks: 0,
            arrives,
        }))
    }
}
