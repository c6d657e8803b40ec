//! What a running task has on its side of the hatch: its memory, its limits, what it was given and gives back.

use std::collections::BTreeMap;
use std::ops::Range;

use wasmtime::{Caller, Error, Extern, Memory, Result};

use super::Limits;
use super::config::TaskConfig;
use super::costs::TENTHS;
use super::files::{Data, Files};
use super::hatch::{Answer, Hatch, Request};

/// A registered file as it was when the run began.
#[derive(Clone, Copy)]
pub(super) struct Facts {
    pub(super) bytes: u64,
    pub(super) writable: bool,
}

/// A task's side of the hatch.
pub(super) struct Inside {
    pub(super) hatch: Hatch,
    pub(super) arguments: Vec<u8>,
    pub(super) returned: Vec<u8>,
    pub(super) log: Vec<u8>,
    pub(super) limits: Limits,
    /// Where what submitted reads bring goes, by ticket.
    pub(super) reads: BTreeMap<u32, (u32, u32)>,
    /// Bytes of memory that the task has.
    pub(super) memory_bytes: u64,
    /// Whether the drive has accelerators.
    pub(super) has_accelerators: bool,
    /// Two numbers that a run over memory is given.
    pub(super) parameters: [u64; 2],
    files: Vec<Facts>,
    has_data: bool,
    memory: Option<Memory>,
    table_elements: usize,
    request_tenths: u64,
    bulk_byte_tenths: u64,
    quantum_tenths: u64,
    /// Tenths of cycles that were charged, or at least so many.
    settled: u64,
    /// Tenths of cycles that earlier pieces of a stream took, of which each may take the limit.
    refuelled: u64,
    /// Tenths of cycles of the limit that accelerators took, which no core did.
    spared: u64,
}

impl Inside {
    pub(super) fn new(
        hatch: Hatch,
        files: &dyn Files,
        arguments: &[u8],
        limits: Limits,
        (config, quantum_tenths): (&TaskConfig, u64),
        has_accelerators: bool,
    ) -> Inside {
        let facts = |file| Facts {
            bytes: files.bytes(file).unwrap_or(0),
            writable: files.writable(file),
        };
        Inside {
            hatch,
            arguments: arguments.to_vec(),
            returned: Vec::new(),
            log: Vec::new(),
            limits,
            reads: BTreeMap::new(),
            memory_bytes: 0,
            files: (0..files.count()).map(facts).collect(),
            has_accelerators,
            parameters: files.parameters(),
            has_data: files.has_data(),
            memory: None,
            table_elements: config.table_elements as usize,
            request_tenths: config.cycles.request_cycles * TENTHS,
            bulk_byte_tenths: config.cycles.bulk_byte_tenths.into(),
            quantum_tenths,
            settled: 0,
            refuelled: 0,
            spared: 0,
        }
    }

    /// Whether the drive keeps data.
    pub(super) fn has_data(&self) -> bool {
        self.has_data
    }

    /// Tenths of cycles that a core had to take when so many of the limit are left.
    pub(super) fn taken(&self, left: u64) -> u64 {
        self.fuel() - self.spared - left
    }

    /// Tenths of cycles that the run may take, as far as it is known.
    pub(super) fn fuel(&self) -> u64 {
        self.fuel_at_once().saturating_add(self.refuelled)
    }

    /// Tenths of cycles that it may take; of a stage of a stream, for each piece.
    fn fuel_at_once(&self) -> u64 {
        self.limits.cycles.saturating_mul(TENTHS)
    }

    /// How many files there are.
    pub(super) fn file_count(&self) -> u32 {
        self.files.len() as u32
    }

    /// What is known of a file, if there is one of that number.
    pub(super) fn file(&self, file: i32) -> Option<Facts> {
        self.files.get(usize::try_from(file).ok()?).copied()
    }
}

impl wasmtime::ResourceLimiter for Inside {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> Result<bool> {
        let fits = desired as u64 <= self.limits.memory_bytes;
        if fits {
            self.memory_bytes = desired as u64;
        }
        Ok(fits)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> Result<bool> {
        Ok(desired <= self.table_elements)
    }
}

/// Bytes of a task's memory, as it names them.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) at: u32,
    pub(super) bytes: u32,
}

impl Span {
    /// The arguments of calls are unsigned.
    pub(super) fn new(at: i32, bytes: i32) -> Span {
        Span {
            at: at as u32,
            bytes: bytes as u32,
        }
    }

    /// Its bytes, of a span that was checked.
    pub(super) fn range(self) -> Range<usize> {
        self.at as usize..self.at as usize + self.bytes as usize
    }

    /// Whether two have bytes in common.
    pub(super) fn overlaps(self, other: Span) -> bool {
        let (mine, theirs) = (self.range(), other.range());
        mine.start.max(theirs.start) < mine.end.min(theirs.end)
    }

    fn within(self, memory: &[u8], call: &str) -> Result<Range<usize>> {
        let (begin, bytes) = (self.at as usize, self.bytes as usize);
        if begin + bytes <= memory.len() {
            return Ok(begin..begin + bytes);
        }
        Err(Error::msg(format!(
            "out of bounds: {call} of {bytes} bytes at {begin}, in a memory of {} bytes",
            memory.len()
        )))
    }
}

/// A call of a task, from its beginning to its end.
pub(super) struct Call<'a> {
    caller: Caller<'a, Inside>,
    name: &'static str,
}

impl<'a> Call<'a> {
    /// Takes the cycles of a call that moves so many bytes by itself. One that comes after much computing has that charged
    /// first.
    pub(super) async fn begin(
        name: &'static str,
        caller: Caller<'a, Inside>,
        copied: u32,
    ) -> Result<Call<'a>> {
        let mut call = Call { caller, name };
        let inside = call.inside();
        let tenths = inside.request_tenths + u64::from(copied) * inside.bulk_byte_tenths;
        let left = call.caller.get_fuel()?.saturating_sub(tenths);
        call.caller.set_fuel(left)?;
        let taken = call.taken()?;
        let inside = call.inside();
        if taken - inside.settled >= inside.quantum_tenths {
            call.ask(Request::Charge).await?;
        }
        Ok(call)
    }

    /// Tenths of cycles that the task has taken.
    fn taken(&self) -> Result<u64> {
        let left = self.caller.get_fuel()?;
        Ok(self.caller.data().taken(left))
    }

    /// A piece of a stream begins, which may take as much as the one before.
    pub(super) fn refuel(&mut self) -> Result<()> {
        let whole = self.inside().fuel_at_once();
        let used = whole.saturating_sub(self.caller.get_fuel()?);
        self.caller.set_fuel(whole)?;
        self.inside().refuelled += used;
        Ok(())
    }

    /// Takes tenths of cycles of what the task may, without a core having worked for them.
    pub(super) fn spare(&mut self, tenths: u64) -> Result<()> {
        let left = self.caller.get_fuel()?;
        let taken = tenths.min(left);
        self.caller.set_fuel(left - taken)?;
        self.inside().spared += taken;
        Ok(())
    }

    /// Asks, and stands aside until there is an answer.
    pub(super) async fn ask(&mut self, request: Request) -> Result<Answer> {
        let taken = self.taken()?;
        let inside = self.inside();
        inside.settled = taken;
        let hatch = inside.hatch.clone();
        Ok(hatch.ask(taken, request).await)
    }

    pub(super) fn inside(&mut self) -> &mut Inside {
        self.caller.data_mut()
    }

    /// Memory and all else.
    fn parts(&mut self) -> Result<(&mut [u8], &mut Inside)> {
        let memory = match self.caller.data().memory {
            Some(memory) => memory,
            None => {
                let Some(Extern::Memory(memory)) = self.caller.get_export("memory") else {
                    return Err(Error::msg("the module has no memory yet"));
                };
                self.caller.data_mut().memory = Some(memory);
                memory
            }
        };
        Ok(memory.data_and_store_mut(&mut self.caller))
    }

    /// # Errors
    /// If the task does not have these bytes.
    pub(super) fn check(&mut self, span: Span) -> Result<()> {
        let name = self.name;
        span.within(self.parts()?.0, name).map(drop)
    }

    /// What is in a task's memory.
    ///
    /// # Errors
    /// If it does not have these bytes.
    pub(super) fn copy_out(&mut self, span: Span) -> Result<Vec<u8>> {
        let name = self.name;
        let memory = self.parts()?.0;
        Ok(memory[span.within(memory, name)?].to_vec())
    }

    /// As [`Call::copy_out`], where the drive keeps data.
    pub(super) fn data(&mut self, span: Span) -> Result<Data> {
        if self.inside().has_data {
            return Ok(Data::Bytes(self.copy_out(span)?));
        }
        self.check(span)?;
        Ok(Data::Untold(span.bytes))
    }

    /// Calls `with` with bytes of a task's memory, and all else.
    ///
    /// # Errors
    /// If it does not have these bytes.
    pub(super) fn with<T>(
        &mut self,
        span: Span,
        with: impl FnOnce(&mut [u8], &mut Inside) -> T,
    ) -> Result<T> {
        let name = self.name;
        let (memory, inside) = self.parts()?;
        let range = span.within(memory, name)?;
        Ok(with(&mut memory[range], inside))
    }

    /// Calls `with` with all of a task's memory.
    ///
    /// # Errors
    /// If it has none yet.
    pub(super) fn with_all<T>(&mut self, with: impl FnOnce(&mut [u8]) -> T) -> Result<T> {
        Ok(with(self.parts()?.0))
    }

    /// Puts what was read into a task's memory; zeros where the drive keeps no data. Gives how many bytes.
    ///
    /// # Errors
    /// If it does not have these bytes.
    pub(super) fn put(&mut self, span: Span, data: &Data) -> Result<u32> {
        self.with(span, |memory, _| {
            let bytes = data.bytes().min(span.bytes) as usize;
            match data {
                Data::Bytes(data) => memory[..bytes].copy_from_slice(&data[..bytes]),
                Data::Untold(_) => memory[..bytes].fill(0),
            }
            bytes as u32
        })
    }
}
