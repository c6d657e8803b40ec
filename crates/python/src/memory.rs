//! The memory that programs and the host share, for Python.

use bitline::{Error, Host, Loading, MemoryRun, RunRanges};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::drive::{Drive, check_size};
use crate::tasks::What;

/// Where ranges begin and end.
type Ranges = Vec<(u64, u64)>;

/// The memory that programs and the host share with a drive.
#[pyclass(frozen, module = "bitline._bitline")]
pub(crate) struct Memory(Py<Drive>);

#[pymethods]
impl Memory {
    /// That of `drive`.
    #[new]
    fn new(drive: Py<Drive>) -> Memory {
        Memory(drive)
    }

    /// How many bytes there are.
    fn bytes(&self) -> PyResult<u64> {
        self.run_call(async |host| host.memory_bytes().await)
    }

    /// Reads bytes.
    fn read<'py>(&self, py: Python<'py>, start: u64, size: u64) -> PyResult<Bound<'py, PyBytes>> {
        check_size(size)?;
        let read = async move |host: Host| Ok(host.memory().await?.read(start, size).await?);
        Ok(PyBytes::new(py, &self.run_call(read)?))
    }

    /// Writes bytes.
    fn write(&self, start: u64, data: PyBackedBytes) -> PyResult<()> {
        self.run_call(async move |host| Ok(host.memory().await?.write(start, &data).await?))
    }

    /// Copies bytes to another place.
    fn copy(&self, source: u64, to: u64, size: u64) -> PyResult<()> {
        self.run_call(async move |host| Ok(host.memory().await?.copy(source, to, size).await?))
    }

    /// Copies logical blocks to the memory.
    fn copy_from_blocks(&self, lba: u64, blocks: u64, to: u64) -> PyResult<()> {
        self.run_call(async move |host| host.copy_blocks_to_memory(lba, blocks, to).await)
    }

    /// Copies bytes of the memory to logical blocks.
    fn copy_to_blocks(&self, source: u64, lba: u64, blocks: u64) -> PyResult<()> {
        self.run_call(async move |host| host.copy_memory_to_blocks(source, lba, blocks).await)
    }

    /// Copies an object of the volume to the memory; gives its length.
    fn copy_from_object(&self, name: String, to: u64) -> PyResult<u64> {
        self.run_call(async move |host| host.copy_object_to_memory(&name, to).await)
    }

    /// Copies the memory to an object of the volume; gives its length.
    fn copy_to_object(&self, source: u64, name: String) -> PyResult<u64> {
        self.run_call(async move |host| host.copy_memory_to_object(source, &name).await)
    }

    /// Makes a set of ranges; gives its identifier.
    fn create_ranges(&self, ranges: Ranges) -> PyResult<u16> {
        self.run_call(async move |host| {
            let ranges: Vec<_> = ranges.iter().map(|(start, end)| *start..*end).collect();
            Ok(host.memory().await?.create_ranges(&ranges).await?)
        })
    }

    /// Removes a set of ranges.
    fn delete_ranges(&self, ranges: u16) -> PyResult<()> {
        self.run_call(async move |host| Ok(host.memory().await?.delete_ranges(ranges).await?))
    }

    /// The sets of ranges that there are.
    fn range_sets(&self) -> PyResult<Vec<(u16, Ranges)>> {
        let sets = self.run_call(async |host| Ok(host.memory().await?.range_sets().await?))?;
        let pairs = |ranges: Vec<std::ops::Range<u64>>| {
            let ranges = ranges.into_iter().map(|range| (range.start, range.end));
            ranges.collect()
        };
        Ok(sets
            .into_iter()
            .map(|(set, ranges)| (set, pairs(ranges)))
            .collect())
    }

    /// Runs a program, or a module, over a set of ranges, or over these.
    fn run(
        &self,
        what: What,
        of_set: Option<u16>,
        ranges: Ranges,
        arguments: PyBackedBytes,
        parameters: (u64, u64),
    ) -> PyResult<u64> {
        let these = || ranges.iter().map(|(start, end)| *start..*end).collect();
        let run = MemoryRun {
            ranges: of_set.map_or_else(|| RunRanges::These(these()), RunRanges::Set),
            arguments: arguments.to_vec(),
            parameters: [parameters.0, parameters.1],
        };
        self.run_call(async move |host| {
            let index = match what {
                What::Program((index, _)) => index,
                What::Module(module) => host.load_program(&module, Loading::default()).await?.index,
            };
            Ok(host.memory().await?.run(index, &run).await?)
        })
    }
}

impl Memory {
    /// Lets time pass until a call is done.
    fn run_call<T: 'static>(
        &self,
        call: impl AsyncFnOnce(Host) -> Result<T, Error> + 'static,
    ) -> PyResult<T> {
        self.0.get().run(|host| async move { call(host).await })
    }
}
