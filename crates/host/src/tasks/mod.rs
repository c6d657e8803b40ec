//! Tasks: programs that a drive loads, and runs over files by itself, each run a transaction.
//!
//! A program belongs to a namespace and has an index there: to the compute namespace of a drive that has one
//! ([`crate::memory`]), or to that of its files. A file is logical blocks one after another, whoever says which:
//! the volume does, and so could a file system.

mod context;
mod error;
#[cfg(test)]
mod tests;

pub use context::Context;
pub use error::TaskError;

use nvme::command::{
    ExecuteProgram, GetLogPage, LoadProgram, LogPageId, ProgramActivation, WEB_ASSEMBLY,
};
use nvme::task::{Extent, File, MAX_RESULT_BYTES, Outcome, ProgramList, ProgramRecord, Request};
use nvme::{AdminCommand, CommandId, DataPointer, IoCommand, Lba, NamespaceId, Status};

use crate::block::BlockDevice;
use crate::buffer::Buffer;
use crate::error::Error;
use crate::transport::Transport;
use crate::volume::Object;

/// Bytes of a chunk of a program, at most.
const CHUNK_BYTES: u64 = 1 << 20;
/// Bytes of the list of programs that are first asked for.
const LIST_BYTES: u64 = 4096;
/// Bytes of the words that say why a module was refused, at most; a multiple of four.
const REFUSAL_BYTES: u64 = 1024;

/// How a program is loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loading {
    /// Its index; the first that is free if none is given.
    pub index: Option<u16>,
    /// The drive keeps it through power cycles.
    pub persistent: bool,
    /// What its owner calls it; the list of programs tells it.
    pub identifier: u64,
}

/// The programs of a namespace, and their runs over files of one.
#[derive(Clone)]
pub struct TaskDevice<T> {
    block: BlockDevice<T>,
    /// The namespace that has the programs.
    owner: NamespaceId,
}

impl<T: Transport> TaskDevice<T> {
    /// The programs of the namespace of `block`.
    pub fn new(block: BlockDevice<T>) -> TaskDevice<T> {
        let owner = block.namespace();
        TaskDevice { block, owner }
    }

    /// The programs of another namespace, which run over files of this one.
    #[must_use]
    pub fn with_programs_of(self, owner: NamespaceId) -> TaskDevice<T> {
        TaskDevice { owner, ..self }
    }

    /// The same namespace as a block device.
    pub fn block(&self) -> &BlockDevice<T> {
        &self.block
    }

    /// The programs that there are, by index, and what they and their runs may have.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn list(&self) -> Result<ProgramList, TaskError> {
        let mut bytes = LIST_BYTES;
        loop {
            let page = self.log(0, bytes).await?;
            let limits = ProgramList::limits(&page).ok_or_else(damaged)?;
            let wanted = ProgramList::bytes(&limits);
            if wanted <= bytes {
                return ProgramList::decode(&page).ok_or_else(damaged);
            }
            bytes = wanted.next_multiple_of(4);
        }
    }

    /// Loads a program; gives its index. It is to be activated before it runs.
    ///
    /// # Errors
    /// [`TaskError::Usage`] for an empty one, or if no index is free; what the drive reports, such as Program Too Big,
    /// Program In Use or Maximum Program Bytes Exceeded.
    pub async fn load(&self, module: &[u8], loading: Loading) -> Result<u16, TaskError> {
        let program_bytes = u32::try_from(module.len()).ok().filter(|bytes| *bytes > 0);
        let program_bytes = program_bytes.ok_or_else(|| {
            let found = module.len();
            TaskError::Usage(format!("a program of {found} bytes: it has 1 to 2^32 - 1"))
        })?;
        let index = match loading.index {
            Some(index) => index,
            None => free_index(&self.list().await?)?,
        };
        let most = CHUNK_BYTES.min(self.block.bytes_per_command()) as usize;
        let mut offset = 0;
        for chunk in module.chunks(most.max(1)) {
            let buffer = Buffer::holding(self.block.transport().memory(), chunk)?;
            let load = LoadProgram {
                namespace: self.owner,
                program: index,
                program_type: WEB_ASSEMBLY,
                unload: false,
                persistent: loading.persistent,
                program_bytes,
                identifier: loading.identifier,
                chunk_bytes: chunk.len() as u32,
                offset,
                data: buffer.pointer(chunk.len() as u32),
            };
            self.admin("load program", AdminCommand::LoadProgram(load))
                .await?;
            offset += chunk.len() as u32;
        }
        Ok(index)
    }

    /// Unloads a program, active or not.
    ///
    /// # Errors
    /// What the drive reports: No Program; Program In Use while it runs.
    pub async fn unload(&self, index: u16) -> Result<(), TaskError> {
        let load = LoadProgram {
            namespace: self.owner,
            program: index,
            program_type: 0,
            unload: true,
            persistent: false,
            program_bytes: 0,
            identifier: 0,
            chunk_bytes: 0,
            offset: 0,
            data: DataPointer::NONE,
        };
        self.admin("unload program", AdminCommand::LoadProgram(load))
            .await
    }

    /// Makes a program ready to run.
    ///
    /// # Errors
    /// [`TaskError::Module`] with what is wrong with it; No Program.
    pub async fn activate(&self, index: u16) -> Result<(), TaskError> {
        let activated = self.select(index, true).await;
        match activated {
            Err(error) if error.is_status(Status::INVALID_PROGRAM_DATA) => {
                let words = self.log(index + 1, REFUSAL_BYTES).await?;
                let end = words
                    .iter()
                    .position(|byte| *byte == 0)
                    .unwrap_or(words.len());
                let words = String::from_utf8_lossy(&words[..end]).into_owned();
                Err(TaskError::Module(words))
            }
            other => other,
        }
    }

    /// Makes a program no longer ready to run.
    ///
    /// # Errors
    /// No Program; Program Not Activated; Program In Use while it runs.
    pub async fn deactivate(&self, index: u16) -> Result<(), TaskError> {
        self.select(index, false).await
    }

    /// Runs an active program once. Whatever becomes of the run is in the outcome; an error means that none was begun.
    ///
    /// # Errors
    /// [`TaskError::Request`] for files that overlap or do not lie in the namespace; [`TaskError::Usage`] if request or outcome
    /// are too long for one command; what the drive reports: No Program, Program Not Activated.
    pub async fn run(&self, index: u16, request: &Request) -> Result<Outcome, TaskError> {
        request.check(self.block.blocks(), self.block.block_bytes())?;
        let bytes = request.encode()?;
        let limits = &request.limits;
        let room = Outcome::room(limits.return_bytes, limits.log_bytes);
        let most = self.block.bytes_per_command().min(MAX_RESULT_BYTES.into());
        if room > most {
            return Err(TaskError::Usage(format!(
                "a value of {} bytes and a log of {}: both are to come back with one command, which transfers {most}",
                limits.return_bytes, limits.log_bytes
            )));
        }
        if bytes.len() as u64 > most {
            return Err(TaskError::Usage(format!(
                "a request of {} bytes, with its {} bytes of arguments: one command transfers {most}",
                bytes.len(),
                request.arguments.len()
            )));
        }
        let request_bytes = bytes.len() as u32;
        let buffer_bytes = room.max(request_bytes.into());
        let buffer = Buffer::beginning(self.block.transport().memory(), &bytes, buffer_bytes)?;
        let entry = IoCommand::Execute(ExecuteProgram {
            namespace: self.block.namespace(),
            program: index,
            program_namespace: named(self.owner, &self.block),
            request_bytes,
            result_bytes: room as u32,
            data: buffer.pointer(buffer_bytes as u32),
        });
        let entry = entry.encode(CommandId::new(0));
        let completion = self.block.transport().io(&entry).await?;
        Error::check("execute program", completion.status())?;
        let bytes = u64::from(completion.dw1.get());
        if bytes > room {
            return Err(damaged());
        }
        let outcome = buffer.look(bytes, Outcome::decode)?;
        outcome.ok_or_else(damaged)
    }

    async fn select(&self, index: u16, activate: bool) -> Result<(), TaskError> {
        let activation = ProgramActivation {
            namespace: self.owner,
            program: index,
            activate,
        };
        let name = match activate {
            true => "activate program",
            false => "deactivate program",
        };
        self.admin(name, AdminCommand::ProgramActivation(activation))
            .await
    }

    /// Bytes of the log of programs; behind its end they are 0.
    async fn log(&self, specific_id: u16, bytes: u64) -> Result<Vec<u8>, TaskError> {
        let zeroes = vec![0; bytes as usize];
        let buffer = Buffer::holding(self.block.transport().memory(), &zeroes)?;
        let get = GetLogPage {
            page: LogPageId::PROGRAM_DETAILS,
            namespace: self.owner,
            specific: 0,
            specific_id,
            command_set: 0,
            retain_event: true,
            dwords: bytes / 4,
            offset: 0,
            data: buffer.pointer(bytes as u32),
        };
        self.admin("get log page", AdminCommand::GetLogPage(get))
            .await?;
        Ok(buffer.to_vec()?)
    }

    async fn admin(&self, name: &'static str, command: AdminCommand) -> Result<(), TaskError> {
        let entry = command.encode(CommandId::new(0));
        let completion = self.block.transport().admin(&entry).await?;
        Ok(Error::check(name, completion.status())?)
    }
}

/// How a command to the namespace of `block` names the one that has the program: 0 is itself.
pub(crate) fn named<T: Transport>(owner: NamespaceId, block: &BlockDevice<T>) -> u16 {
    match owner == block.namespace() {
        true => 0,
        // There are fewer namespaces than that.
        false => owner.get() as u16,
    }
}

/// An object of the volume as a file of a run.
pub fn file_of(object: &Object, writable: bool) -> File {
    let extents = object.extents.iter().map(|extent| Extent {
        first: Lba::new(extent.first),
        blocks: extent.blocks,
    });
    File {
        bytes: object.content.bytes(),
        writable,
        extents: extents.collect(),
    }
}

/// The first index that no program has.
fn free_index(list: &ProgramList) -> Result<u16, TaskError> {
    let most = list.limits.programs_max.get();
    let taken = |index: u32| {
        let mut programs = list.programs.iter();
        programs.any(|program: &ProgramRecord| u32::from(program.index.get()) == index)
    };
    let free = (0..most).find(|index| !taken(*index));
    let free = free.and_then(|index| u16::try_from(index).ok());
    free.ok_or_else(|| {
        TaskError::Usage(format!(
            "the namespace has {most} programs, as many as it may (task.quota.programs): unload one first"
        ))
    })
}

fn damaged() -> TaskError {
    TaskError::Device(Error::Protocol(
        "what it tells of programs is damaged".into(),
    ))
}
