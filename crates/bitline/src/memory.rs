//! Memory that programs and the host share with the drive: written, read, copied to and from the drive's blocks, and run over.
//!
//! ```
//! use bitline::{Config, Drive, Loading, MemoryRun, RunRanges};
//!
//! # let module = r#"(module
//! #   (import "isc" "file_read" (func $read (param i32 i32 i32 i64) (result i64)))
//! #   (import "isc" "put_ret" (func $return (param i32 i32) (result i32)))
//! #   (memory (export "memory") 1)
//! #   (func (export "isc_main") (result i32)
//! #     (drop (call $read (i32.const 0) (i32.const 0) (i32.const 4) (i64.const 4)))
//! #     (call $return (i32.const 0) (i32.const 4))))"#;
//! # let module = wat::parse_str(module).expect("a module");
//! let mut drive = Drive::open(Config::preset("flash-cosmos")?)?;
//! drive.memory().write(4096, &[1, 2, 3, 4, 5, 0, 0, 0])?;
//! // A module that returns the fifth to the eighth byte of its first file.
//! let program = drive.tasks().load(&module, Loading::default())?;
//! let run = MemoryRun::over(RunRanges::These(vec![4096..4104]));
//! assert_eq!(drive.memory().run(&program, &run)?, 5);
//! # Ok::<(), bitline::Error>(())
//! ```

use std::ops::Range;

use host::memory::{MemoryDevice, MemoryRun, RangeSets, compute_namespace};
use nvme::NamespaceId;

use crate::drive::Drive;
use crate::driver::Queue;
use crate::error::Error;
use crate::host_end::{Host, NAMESPACE, Plain, Program};
use crate::tasks::{TaskFile, TaskRun, Used};

/// The memory of a drive that programs and the host share.
pub struct Memory<'d>(&'d mut Drive);

impl Drive {
    /// The memory that programs and the host share with this drive (`local_memory`). It is volatile.
    pub fn memory(&mut self) -> Memory<'_> {
        Memory(self)
    }
}

impl Memory<'_> {
    /// How many bytes there are; 0 if the drive has no such memory.
    ///
    /// # Errors
    /// What the drive reports.
    pub fn bytes(&mut self) -> Result<u64, Error> {
        self.run_host(async |host| {
            let memory = host.memory_if_any().await?;
            Ok(memory.map_or(0, |memory| memory.bytes()))
        })
    }

    /// Reads bytes; place and length are multiples of 4.
    ///
    /// # Errors
    /// [`crate::HostError::Usage`] for bytes that there are not, or without such memory; what the drive reports.
    pub fn read(&mut self, start: u64, bytes: u64) -> Result<Vec<u8>, Error> {
        self.run_host(async move |host| Ok(host.memory().await?.read(start, bytes).await?))
    }

    /// Writes bytes; place and length are multiples of 4.
    ///
    /// # Errors
    /// As [`Memory::read`].
    pub fn write(&mut self, start: u64, data: &[u8]) -> Result<(), Error> {
        let data = data.to_vec();
        self.run_host(async move |host| Ok(host.memory().await?.write(start, &data).await?))
    }

    /// Copies bytes to another place, inside the drive. Neither may reach into the other.
    ///
    /// # Errors
    /// As [`Memory::read`].
    pub fn copy(&mut self, from: u64, to: u64, bytes: u64) -> Result<(), Error> {
        self.run_host(async move |host| Ok(host.memory().await?.copy(from, to, bytes).await?))
    }

    /// Copies logical blocks of the drive to the memory, inside the drive.
    ///
    /// # Errors
    /// As [`Memory::read`].
    pub fn copy_from_blocks(&mut self, lba: u64, blocks: u64, to: u64) -> Result<(), Error> {
        self.run_host(async move |host| host.copy_blocks_to_memory(lba, blocks, to).await)
    }

    /// Copies bytes of the memory to logical blocks of the drive, inside the drive.
    ///
    /// # Errors
    /// As [`Memory::read`]; [`Error::InVolume`] for blocks that a plain write must leave alone.
    pub fn copy_to_blocks(&mut self, from: u64, lba: u64, blocks: u64) -> Result<(), Error> {
        self.run_host(async move |host| host.copy_memory_to_blocks(from, lba, blocks).await)
    }

    /// Copies an object of the volume to the memory, inside the drive; gives its length. With it come the rest of its last logical
    /// block.
    ///
    /// # Errors
    /// As [`Memory::read`]; [`crate::VolumeError::NotFound`].
    pub fn copy_from_object(&mut self, name: &str, to: u64) -> Result<u64, Error> {
        let name = name.to_owned();
        self.run_host(async move |host| host.copy_object_to_memory(&name, to).await)
    }

    /// Copies the memory to an object of the volume, inside the drive; gives its length, which stays what it is. With it go the bytes
    /// behind it, up to the end of its last logical block.
    ///
    /// # Errors
    /// As [`Memory::copy_from_object`].
    pub fn copy_to_object(&mut self, from: u64, name: &str) -> Result<u64, Error> {
        let name = name.to_owned();
        self.run_host(async move |host| host.copy_memory_to_object(from, &name).await)
    }

    /// Makes a set of ranges, for several runs to see; gives its identifier.
    ///
    /// # Errors
    /// As [`Memory::read`]; what the drive reports: Invalid Memory Range Set, Overlapping Memory Ranges, Maximum Memory Range Sets Exceeded.
    pub fn create_ranges(&mut self, ranges: &[Range<u64>]) -> Result<u16, Error> {
        let ranges = ranges.to_vec();
        self.run_host(async move |host| Ok(host.memory().await?.create_ranges(&ranges).await?))
    }

    /// Removes a set of ranges.
    ///
    /// # Errors
    /// What the drive reports: Invalid Memory Range Set Identifier, Memory Range Set In Use.
    pub fn delete_ranges(&mut self, set: u16) -> Result<(), Error> {
        self.run_host(async move |host| Ok(host.memory().await?.delete_ranges(set).await?))
    }

    /// The sets of ranges that there are, by identifier.
    ///
    /// # Errors
    /// What the drive reports.
    pub fn range_sets(&mut self) -> Result<RangeSets, Error> {
        self.run_host(async |host| Ok(host.memory().await?.range_sets().await?))
    }

    /// Runs a program once; it sees the ranges as files, in order, and may write them. Gives the first 8 bytes of what it returned as a
    /// number. What it wrote stays, however it ends.
    ///
    /// # Errors
    /// [`crate::TaskError::Failed`] with how the run ended, and why; what the drive reports.
    pub fn run(&mut self, program: &Program, run: &MemoryRun) -> Result<u64, Error> {
        let (program, run) = (*program, run.clone());
        self.run_host(async move |host| Ok(host.memory().await?.run(program.index, &run).await?))
    }

    fn run_host<T: 'static>(
        &mut self,
        function: impl AsyncFnOnce(Host) -> Result<T, Error> + 'static,
    ) -> Result<T, Error> {
        self.0.run(|host| async move { function(host).await })?
    }
}

impl Host {
    /// The memory that programs and the host share.
    ///
    /// # Errors
    /// [`host::Error::Usage`] if there is none; what the drive reports.
    pub async fn memory(&self) -> Result<MemoryDevice<Queue>, Error> {
        let none = || {
            let text = "the drive has no memory of its own to share (local_memory.bytes = 0)";
            Error::Host(host::Error::Usage(text.into()))
        };
        self.memory_if_any().await?.ok_or_else(none)
    }

    /// As [`Memory::bytes`].
    ///
    /// # Errors
    /// As there.
    pub async fn memory_bytes(&self) -> Result<u64, Error> {
        let memory = self.memory_if_any().await?;
        Ok(memory.map_or(0, |memory| memory.bytes()))
    }

    /// As [`Memory::copy_from_blocks`].
    ///
    /// # Errors
    /// As there.
    pub async fn copy_blocks_to_memory(&self, lba: u64, blocks: u64, to: u64) -> Result<(), Error> {
        let memory = self.memory().await?;
        Ok(memory
            .copy_from_blocks(&self.block, (lba, blocks), to)
            .await?)
    }

    /// As [`Memory::copy_to_blocks`].
    ///
    /// # Errors
    /// As there.
    pub async fn copy_memory_to_blocks(
        &self,
        from: u64,
        lba: u64,
        blocks: u64,
    ) -> Result<(), Error> {
        let memory = self.memory().await?;
        let copy = async || {
            memory
                .copy_to_blocks(from, &self.block, (lba, blocks))
                .await
        };
        let written = lba..lba.saturating_add(blocks);
        self.plainly(written, Plain::Write, copy).await
    }

    /// As [`Memory::copy_from_object`].
    ///
    /// # Errors
    /// As there.
    pub async fn copy_object_to_memory(&self, name: &str, to: u64) -> Result<u64, Error> {
        self.copy_object(TaskFile::read(name), to).await
    }

    /// As [`Memory::copy_to_object`].
    ///
    /// # Errors
    /// As there.
    pub async fn copy_memory_to_object(&self, from: u64, name: &str) -> Result<u64, Error> {
        self.copy_object(TaskFile::write(name), from).await
    }

    async fn memory_if_any(&self) -> Result<Option<MemoryDevice<Queue>>, Error> {
        let known = self.programs.memory.borrow().clone();
        if let Some(memory) = known {
            return Ok(memory);
        }
        let memory = MemoryDevice::open(self.block.transport().clone()).await?;
        let memory = memory.map(|memory| memory.keeping_data(self.stores_data));
        *self.programs.memory.borrow_mut() = Some(memory.clone());
        Ok(memory)
    }

    /// The namespace that has the programs that are loaded.
    pub(crate) async fn program_owner(&self) -> Result<NamespaceId, Error> {
        if let Some(owner) = self.programs.owner.get() {
            return Ok(owner);
        }
        let compute = compute_namespace(self.block.transport()).await?;
        let owner = compute.unwrap_or(NAMESPACE);
        self.programs.owner.set(Some(owner));
        Ok(owner)
    }

    /// Copies an object to the memory from `place` on, or from there to an object that may be written; gives its length.
    async fn copy_object(&self, file: TaskFile, place: u64) -> Result<u64, Error> {
        let memory = self.memory().await?;
        let writable = file.writable;
        let run = TaskRun::of(vec![file]);
        let (used, _using) = self.use_objects(&run).await?;
        let Used { files, .. } = used;
        let mut at = place;
        let block_bytes = u64::from(self.block.block_bytes());
        for extent in files.iter().flat_map(|object| &object.extents) {
            let blocks = (extent.first, extent.blocks);
            match writable {
                true => memory.copy_to_blocks(at, &self.block, blocks).await?,
                false => memory.copy_from_blocks(&self.block, blocks, at).await?,
            }
            at += extent.blocks * block_bytes;
        }
        Ok(files.iter().map(|object| object.content.bytes()).sum())
    }
}
