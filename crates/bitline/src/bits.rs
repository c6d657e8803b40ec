//! Bulk bitwise computing, on the platforms that Flash-Cosmos compares (its section 7): the same
//! vectors, the same drive, and the work done in the host, in the controller or in the array.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::rc::Rc;
use std::str::FromStr;

use device::bits::combine::{and_into, count_ones, invert, mask_tail, or_into, xor_into};
use host::bits::StoredVector;
use nvme::command::Engine;
use nvme::{Expression, VectorId};
use serde::{Deserialize, Serialize};
use sim::resource::{Priority, Server};
use sim::{AccountId, Energy, JoinHandle, Ledger, Sim, Span};

use crate::config::HostConfig;
use crate::drive::{Drive, Host};
use crate::error::Error;

/// Operands that the host reads at the same time: enough to keep the link busy while one ends and
/// the next begins.
const READS_AHEAD: usize = 4;

/// Who evaluates an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Platform {
    /// The host reads every operand and combines them meanwhile (outside-storage processing).
    Host,
    /// The controller's accelerator combines operands read over the channels (in-storage
    /// processing).
    InStorage,
    /// The array senses one operand after another into its latches.
    #[serde(rename = "parabit")]
    ParaBit,
    /// The array senses many operands at once.
    FlashCosmos,
}

impl Platform {
    /// All of them, from the host inwards.
    pub const ALL: [Platform; 4] = [
        Platform::Host,
        Platform::InStorage,
        Platform::ParaBit,
        Platform::FlashCosmos,
    ];

    /// Its name, as in configurations and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Platform::Host => "host",
            Platform::InStorage => "in-storage",
            Platform::ParaBit => "parabit",
            Platform::FlashCosmos => "flash-cosmos",
        }
    }

    /// The drive's engine; none if the host does the work.
    pub const fn engine(self) -> Option<Engine> {
        match self {
            Platform::Host => None,
            Platform::InStorage => Some(Engine::InStorage),
            Platform::ParaBit => Some(Engine::ParaBit),
            Platform::FlashCosmos => Some(Engine::FlashCosmos),
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Platform {
    type Err = Error;

    fn from_str(name: &str) -> Result<Platform, Error> {
        let found = Platform::ALL
            .into_iter()
            .find(|platform| platform.name() == name);
        found.ok_or_else(|| Error::UnknownPlatform(name.to_owned()))
    }
}

/// The host's processor, as far as bulk bitwise work keeps it busy.
pub(crate) struct Computer {
    server: Server,
    bytes_per_second: u64,
    picojoules_per_byte: u64,
    ledger: Rc<Ledger>,
    account: AccountId,
}

impl Computer {
    pub(crate) fn new(sim: &Sim, config: &HostConfig, ledger: &Rc<Ledger>) -> Computer {
        Computer {
            server: Server::new(sim),
            bytes_per_second: config.compute_megabytes_per_second * 1_000_000,
            picojoules_per_byte: config.compute_pj_per_byte,
            account: ledger.open("host", "compute"),
            ledger: ledger.clone(),
        }
    }

    /// Waits for the processor and lets it go through `bytes` of operands.
    async fn go_through(&self, bytes: u64) {
        let span = Span::of_transfer(bytes, self.bytes_per_second);
        self.server.serve(Priority(0), span).await;
        let energy = Energy::from_pj(bytes * self.picojoules_per_byte);
        self.ledger.spend(self.account, energy);
    }
}

/// How an operator takes in one more operand.
type Apply = fn(&mut [u8], &[u8]);

/// A step of the host's evaluation, over a stack of vectors. `operands` are gone through.
enum Step {
    Read(VectorId),
    Not,
    Combine { apply: Apply, operands: u64 },
}

/// The steps for an expression: operands are combined as they come.
fn steps_of(expression: &Expression, steps: &mut Vec<Step>) {
    let (operands, apply): (_, Apply) = match expression {
        Expression::Vector(id) => return steps.push(Step::Read(*id)),
        Expression::Not(inner) => {
            steps_of(inner, steps);
            return steps.push(Step::Not);
        }
        Expression::And(operands) => (operands, and_into),
        Expression::Or(operands) => (operands, or_into),
        Expression::Xor(operands) => (operands, xor_into),
    };
    for (index, operand) in operands.iter().enumerate() {
        steps_of(operand, steps);
        if index > 0 {
            let operands = if index == 1 { 2 } else { 1 };
            steps.push(Step::Combine { apply, operands });
        }
    }
}

type ReadHandle = JoinHandle<Result<Vec<u8>, host::Error>>;

/// The operands of the host, read ahead in the order of their first use.
struct Operands {
    host: Host,
    bits: u64,
    waiting: VecDeque<VectorId>,
    reading: VecDeque<(VectorId, ReadHandle)>,
    /// Reads still to come of each vector.
    uses: BTreeMap<VectorId, usize>,
    held: BTreeMap<VectorId, Rc<Vec<u8>>>,
}

impl Operands {
    fn new(host: &Host, bits: u64, steps: &[Step]) -> Operands {
        let mut operands = Operands {
            host: host.clone(),
            bits,
            waiting: VecDeque::new(),
            reading: VecDeque::new(),
            uses: BTreeMap::new(),
            held: BTreeMap::new(),
        };
        for step in steps {
            if let Step::Read(id) = *step {
                let uses = operands.uses.entry(id).or_default();
                *uses += 1;
                if *uses == 1 {
                    operands.waiting.push_back(id);
                }
            }
        }
        operands
    }

    /// Waits for a vector.
    async fn next(&mut self, id: VectorId) -> Result<Rc<Vec<u8>>, host::Error> {
        while !self.held.contains_key(&id) {
            self.read_ahead();
            let Some((id, handle)) = self.reading.pop_front() else {
                unreachable!("every vector of a step was entered for reading")
            };
            let data = handle.await;
            self.read_ahead();
            self.held.insert(id, Rc::new(data?));
        }
        let uses = self.uses.entry(id).or_default();
        *uses -= 1;
        let held = match *uses {
            0 => self.held.remove(&id),
            _ => self.held.get(&id).cloned(),
        };
        Ok(held.expect("the loop ends when it is held"))
    }

    fn read_ahead(&mut self) {
        while self.reading.len() < READS_AHEAD
            && let Some(id) = self.waiting.pop_front()
        {
            let (host, bits) = (self.host.clone(), self.bits);
            let read = async move { host.read_vector(id, bits).await };
            self.reading.push_back((id, self.host.sim().spawn(read)));
        }
    }
}

impl Host {
    /// Evaluates an expression over vectors of `bits` bits; gives the result's bytes, which are
    /// zeros if the drive keeps no data.
    ///
    /// # Errors
    /// What the drive reports, such as Vector Not Found.
    pub async fn evaluate(
        &self,
        expression: &Expression,
        platform: Platform,
        bits: u64,
    ) -> Result<Vec<u8>, host::Error> {
        match platform.engine() {
            Some(engine) => self.evaluate_in_drive(expression, engine, bits).await,
            None => self.evaluate_here(expression, bits).await,
        }
    }

    /// Counts the ones of an expression's result. The engines of the drive count in the controller,
    /// so that only the number crosses the link; [`Platform::Host`] counts in the host.
    ///
    /// # Errors
    /// As [`Host::evaluate`].
    pub async fn count_ones(
        &self,
        expression: &Expression,
        platform: Platform,
        bits: u64,
    ) -> Result<u64, host::Error> {
        if let Some(engine) = platform.engine() {
            return self.bits().count(expression, engine, bits).await;
        }
        let result = self.evaluate_here(expression, bits).await?;
        self.computer.go_through(bits.div_ceil(8)).await;
        Ok(count_ones(&result))
    }

    async fn evaluate_in_drive(
        &self,
        expression: &Expression,
        engine: Engine,
        bits: u64,
    ) -> Result<Vec<u8>, host::Error> {
        if self.stores_data {
            return self.bits().evaluate(expression, engine, bits).await;
        }
        let bytes = bits.div_ceil(8);
        let result = host::Buffer::new(host::Transport::memory(&self.queue(0)?), bytes)?;
        self.bits()
            .evaluate_into(expression, engine, bits, &result)
            .await?;
        Ok(vec![0; bytes as usize])
    }

    /// One vector as it was written.
    async fn read_vector(&self, id: VectorId, bits: u64) -> Result<Vec<u8>, host::Error> {
        self.evaluate_in_drive(&id.into(), Engine::FlashCosmos, bits)
            .await
    }

    /// Reads the operands and combines them meanwhile (Flash-Cosmos 7, OSP).
    async fn evaluate_here(
        &self,
        expression: &Expression,
        bits: u64,
    ) -> Result<Vec<u8>, host::Error> {
        // What the drive would refuse is refused here as well; it bounds the depth, too.
        expression
            .encode()
            .map_err(|error| host::Error::Usage(error.to_string()))?;
        let bytes = bits.div_ceil(8);
        let mut steps = Vec::new();
        steps_of(expression, &mut steps);
        let mut operands = Operands::new(self, bits, &steps);
        let mut stack: Vec<Rc<Vec<u8>>> = Vec::new();
        const BALANCED: &str = "every step finds the operands that steps before it left";
        for step in &steps {
            match step {
                Step::Read(id) => stack.push(operands.next(*id).await?),
                Step::Not => {
                    self.computer.go_through(bytes).await;
                    let top = stack.last_mut().expect(BALANCED);
                    if self.stores_data {
                        invert(Rc::make_mut(top).as_mut_slice());
                    }
                }
                Step::Combine {
                    apply,
                    operands: count,
                } => {
                    self.computer.go_through(count * bytes).await;
                    let operand = stack.pop().expect(BALANCED);
                    let top = stack.last_mut().expect(BALANCED);
                    if self.stores_data {
                        apply(Rc::make_mut(top).as_mut_slice(), &operand);
                    }
                }
            }
        }
        let result = stack.pop().expect(BALANCED);
        let mut result = Rc::unwrap_or_clone(result);
        mask_tail(&mut result, bits);
        Ok(result)
    }
}

impl Drive {
    /// Writes a vector of `bits` bits, bit i in bit i mod 8 of byte i / 8 of `data`, or its inverse
    /// if that serves the operations to come better. Vectors of a group have the same length.
    ///
    /// # Errors
    /// If `data` is not as long as `bits` says; what the drive reports, such as Vector Group Full.
    pub fn write_vector(
        &mut self,
        vector: VectorId,
        bits: u64,
        inverse: bool,
        data: &[u8],
    ) -> Result<(), Error> {
        let data = data.to_vec();
        let write =
            move |host: Host| async move { host.bits().write(vector, bits, inverse, &data).await };
        Ok(self.run(write)??)
    }

    /// Evaluates an expression over vectors of `bits` bits, as [`Host::evaluate`].
    ///
    /// # Errors
    /// What the drive reports, such as Vector Not Found.
    pub fn evaluate(
        &mut self,
        expression: &Expression,
        platform: Platform,
        bits: u64,
    ) -> Result<Vec<u8>, Error> {
        let expression = expression.clone();
        let evaluate =
            move |host: Host| async move { host.evaluate(&expression, platform, bits).await };
        Ok(self.run(evaluate)??)
    }

    /// Counts the ones of an expression's result, as [`Host::count_ones`].
    ///
    /// # Errors
    /// What the drive reports, such as Vector Not Found.
    pub fn count_ones(
        &mut self,
        expression: &Expression,
        platform: Platform,
        bits: u64,
    ) -> Result<u64, Error> {
        let expression = expression.clone();
        let count =
            move |host: Host| async move { host.count_ones(&expression, platform, bits).await };
        Ok(self.run(count)??)
    }

    /// Deletes one vector of a group, or the whole group.
    ///
    /// # Errors
    /// What the drive reports, such as Vector Not Found.
    pub fn delete_vectors(&mut self, group: u32, vector: Option<u32>) -> Result<(), Error> {
        Ok(self.run(move |host| async move { host.bits().delete(group, vector).await })??)
    }

    /// The vectors of a group, or of all groups, by group and number.
    ///
    /// # Errors
    /// What the drive reports.
    pub fn vectors(&mut self, group: Option<u32>) -> Result<Vec<StoredVector>, Error> {
        Ok(self.run(move |host| async move { host.bits().list(group).await })??)
    }

    /// How an expression would be evaluated, in words: the senses of the array and the combinations
    /// of the controller, for every page alike. Nothing is carried out.
    ///
    /// # Errors
    /// An unknown vector, or vectors of different lengths.
    pub fn explain(&self, expression: &Expression, platform: Platform) -> Result<String, Error> {
        use device::bits::Engine;
        let engine = match platform {
            Platform::Host => {
                let vectors = expression.vectors().len();
                return Ok(format!(
                    "Host: reads {vectors} vectors and combines them: {expression}\n"
                ));
            }
            Platform::InStorage => Engine::InStorage,
            Platform::ParaBit => Engine::ParaBit,
            Platform::FlashCosmos => Engine::FlashCosmos,
        };
        let plan = self.device()?.bits.plan(expression, engine)?;
        Ok(plan.to_string())
    }
}
