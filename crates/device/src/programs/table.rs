//! The programs that there are, what each is at, and what may be done with it then.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::rc::Rc;

use nvme::task::ProgramRecord;
use nvme::{NamespaceId, Status};

use super::ProgramId;
use super::record::Chunk;
use crate::task::Program;

/// What a program is at.
enum State {
    /// Chunks are still to come.
    Loading,
    /// It is put onto flash, or taken from there.
    Keeping,
    /// All of it is there.
    Loaded,
    /// It can run.
    Active(Rc<Program>),
}

/// A program that is about to go.
pub(super) struct Leaving {
    was: State,
    /// Flash has it.
    pub(super) is_kept: bool,
}

struct Entry {
    /// Its first chunk.
    program: Chunk,
    /// What was loaded so far.
    module: Vec<u8>,
    /// What tells its module from others, once it is whole.
    digest: [u8; 16],
    state: State,
    activations: u32,
    runs: u64,
    running: u32,
}

/// All programs.
#[derive(Default)]
pub(super) struct Table(BTreeMap<ProgramId, Entry>);

impl Table {
    /// The programs that flash has.
    pub(super) fn of(kept: impl Iterator<Item = (ProgramId, Chunk, Vec<u8>)>) -> Table {
        let entry = |(id, program, module)| {
            let mut entry = Entry::new(program);
            entry.module = module;
            entry.loaded();
            (id, entry)
        };
        Table(kept.map(entry).collect())
    }

    /// Takes a chunk; gives whether the program is whole with it. It is nobody's else then until [`Table::loaded`] or
    /// [`Table::remove`] is called.
    pub(super) fn take_chunk(
        &mut self,
        id: ProgramId,
        chunk: &Chunk,
        bytes: &[u8],
    ) -> Result<bool, Status> {
        let end = u64::from(chunk.offset) + bytes.len() as u64;
        if bytes.is_empty() || end > chunk.program_bytes.into() {
            return Err(Status::INVALID_FIELD);
        }
        let old = self.0.get(&id);
        if old.is_some_and(|old| !matches!(old.state, State::Loading)) {
            return Err(Status::PROGRAM_IN_USE);
        }
        if chunk.offset == 0 {
            // Whoever begins anew has given up what was loaded of it.
            self.0.insert(id, Entry::new(*chunk));
        }
        let entry = self.0.get_mut(&id).ok_or(Status::INVALID_FIELD)?;
        let goes_on = entry.module.len() == chunk.offset as usize && chunk.is_of(&entry.program);
        if !goes_on {
            return Err(Status::INVALID_FIELD);
        }
        entry.module.extend(bytes);
        let whole = end == u64::from(chunk.program_bytes);
        if whole {
            entry.state = State::Keeping;
        }
        Ok(whole)
    }

    /// All of a program is there.
    pub(super) fn loaded(&mut self, id: ProgramId) {
        if let Some(entry) = self.0.get_mut(&id) {
            entry.loaded();
        }
    }

    /// What was loaded of a program.
    pub(super) fn module(&self, id: ProgramId) -> Result<&[u8], Status> {
        Ok(&self.get(id)?.module)
    }

    /// All of a program.
    pub(super) fn loaded_module(&self, id: ProgramId) -> Result<&[u8], Status> {
        let entry = self.get(id)?;
        match entry.state {
            State::Loaded | State::Active(_) => Ok(&entry.module),
            State::Loading => Err(Status::NO_PROGRAM),
            State::Keeping => Err(Status::PROGRAM_IN_USE),
        }
    }

    /// Gives back the last chunk of a program, which could not be kept: it may come again.
    pub(super) fn give_back(&mut self, id: ProgramId, chunk: &Chunk) {
        if chunk.offset == 0 {
            self.remove(id);
        } else if let Some(entry) = self.0.get_mut(&id) {
            entry.module.truncate(chunk.offset as usize);
            entry.state = State::Loading;
        }
    }

    /// A program is about to go: it is nobody's else until [`Table::remove`] or [`Table::stay`] is called.
    pub(super) fn begin_unload(&mut self, id: ProgramId) -> Result<Leaving, Status> {
        let entry = self.0.get_mut(&id).ok_or(Status::NO_PROGRAM)?;
        if entry.running > 0 || matches!(entry.state, State::Keeping) {
            return Err(Status::PROGRAM_IN_USE);
        }
        let was = std::mem::replace(&mut entry.state, State::Keeping);
        let is_kept = entry.program.persistent && !matches!(was, State::Loading);
        Ok(Leaving { was, is_kept })
    }

    /// A program that was to go is what it was.
    pub(super) fn stay(&mut self, id: ProgramId, leaving: Leaving) {
        if let Some(entry) = self.0.get_mut(&id) {
            entry.state = leaving.was;
        }
    }

    pub(super) fn remove(&mut self, id: ProgramId) {
        self.0.remove(&id);
    }

    pub(super) fn is_active(&self, id: ProgramId) -> bool {
        let entry = self.0.get(&id);
        entry.is_some_and(|entry| matches!(entry.state, State::Active(_)))
    }

    pub(super) fn activate(&mut self, id: ProgramId, program: Program) {
        if let Some(entry) = self.0.get_mut(&id) {
            entry.state = State::Active(Rc::new(program));
            entry.activations += 1;
        }
    }

    pub(super) fn deactivate(&mut self, id: ProgramId) -> Result<(), Status> {
        let entry = self.0.get_mut(&id).ok_or(Status::NO_PROGRAM)?;
        match entry.state {
            State::Active(_) if entry.running > 0 => Err(Status::PROGRAM_IN_USE),
            State::Active(_) => {
                entry.state = State::Loaded;
                Ok(())
            }
            _ => Err(Status::PROGRAM_NOT_ACTIVATED),
        }
    }

    /// Begins a run of a program, if it is the one that its owner calls so, or any; [`Table::end_run`] ends it.
    pub(super) fn begin_run(
        &mut self,
        id: ProgramId,
        identifier: u64,
    ) -> Result<Rc<Program>, Status> {
        let entry = self.0.get_mut(&id).ok_or(Status::NO_PROGRAM)?;
        if identifier != 0 && identifier != entry.program.identifier {
            return Err(Status::NO_PROGRAM);
        }
        let State::Active(program) = &entry.state else {
            return Err(Status::PROGRAM_NOT_ACTIVATED);
        };
        let program = program.clone();
        entry.running += 1;
        entry.runs += 1;
        Ok(program)
    }

    pub(super) fn end_run(&mut self, id: ProgramId) {
        if let Some(entry) = self.0.get_mut(&id) {
            entry.running -= 1;
        }
    }

    /// Bytes of a program; none if there is no such one.
    pub(super) fn bytes(&self, id: ProgramId) -> u64 {
        let entry = self.0.get(&id);
        entry.map_or(0, |entry| entry.program.program_bytes.into())
    }

    /// Bytes of all programs of a namespace.
    pub(super) fn bytes_of(&self, namespace: NamespaceId) -> u64 {
        let entries = self.0.range(indices(namespace));
        entries
            .map(|(_, entry)| u64::from(entry.program.program_bytes))
            .sum()
    }

    /// Whether a program of a namespace runs.
    pub(super) fn is_in_use(&self, namespace: NamespaceId) -> bool {
        let mut entries = self.0.range(indices(namespace));
        entries.any(|(_, entry)| entry.running > 0)
    }

    /// The programs of a namespace.
    pub(super) fn ids(&self, namespace: NamespaceId) -> Vec<ProgramId> {
        self.0
            .range(indices(namespace))
            .map(|(id, _)| *id)
            .collect()
    }

    /// What the list of programs says.
    pub(super) fn records(&self, namespace: NamespaceId) -> Vec<ProgramRecord> {
        let entries = self.0.range(indices(namespace));
        entries.map(|(id, entry)| entry.record(id.index)).collect()
    }

    fn get(&self, id: ProgramId) -> Result<&Entry, Status> {
        self.0.get(&id).ok_or(Status::NO_PROGRAM)
    }
}

impl Entry {
    fn new(program: Chunk) -> Entry {
        Entry {
            program,
            module: Vec::new(),
            digest: [0; 16],
            state: State::Loading,
            activations: 0,
            runs: 0,
            running: 0,
        }
    }

    /// All of it is there.
    fn loaded(&mut self) {
        self.digest = ProgramRecord::digest_of(&self.module);
        self.state = State::Loaded;
    }

    fn record(&self, index: u16) -> ProgramRecord {
        let mut record = ProgramRecord::default();
        record.index.set(index);
        record.state = match self.state {
            State::Loading => 1,
            State::Keeping | State::Loaded => 2,
            State::Active(_) => 3,
        };
        record.persistent = self.program.persistent.into();
        record.program_type = self.program.program_type;
        record.bytes.set(self.program.program_bytes);
        record.loaded_bytes.set(self.module.len() as u32);
        record.identifier.set(self.program.identifier);
        record.activations.set(self.activations);
        record.running.set(self.running);
        record.runs.set(self.runs);
        record.digest = self.digest;
        record
    }
}

/// All indices of a namespace.
fn indices(namespace: NamespaceId) -> RangeInclusive<ProgramId> {
    let id = |index| ProgramId { namespace, index };
    id(0)..=id(u16::MAX)
}
