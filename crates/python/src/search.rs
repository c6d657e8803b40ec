//! Name-value stores for Python.

use bitline::{
    Error, ExpectedMatches, Host, NameKind, NameTerm, NewStore, Part, Pattern, RegionRecord,
    Returns, SearchError, Wanted,
};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use serde::Serialize;

use crate::drive::{Drive, check_size};
use crate::error::{json, to_python};

/// A query: any of groups, all terms of one. Of a term: which of the names, its bits, name and mask.
type Groups = Vec<Vec<(usize, u32, PyBackedBytes, PyBackedBytes)>>;

/// Entries, bytes of a value, bits of each name and whether it may have don't cares, schema.
type StoreRow<'py> = (u32, u32, Vec<(u32, bool)>, Bound<'py, PyBytes>);

/// The name-value stores of a drive.
#[pyclass(frozen, module = "bitline._bitline")]
pub(crate) struct Search(Py<Drive>);

/// What the drive says of a search region.
#[derive(Serialize)]
struct Region {
    region: u16,
    name_bits: u16,
    ternary: bool,
    start: u64,
    capacity: u32,
    entries: u32,
    live: u32,
    buffered: u32,
    value_bytes: u32,
    blocks: u32,
    row_pages: u32,
    row_names: u32,
}

#[pymethods]
impl Search {
    /// Those of `drive`.
    #[new]
    fn new(drive: Py<Drive>) -> Search {
        Search(drive)
    }

    /// Makes a store for so many entries.
    fn create(
        &self,
        name: String,
        entries: u32,
        value_bytes: u32,
        names: Vec<(u32, bool)>,
        schema: Vec<u8>,
    ) -> PyResult<()> {
        let names = names.into_iter();
        let names = names.map(|(bits, ternary)| NameKind { bits, ternary });
        let what = NewStore {
            entries,
            value_bytes,
            names: names.collect(),
            schema,
        };
        self.run(async move |host| host.create_store(&name, &what).await)
    }

    /// What a store is.
    fn open<'py>(&self, py: Python<'py>, name: String) -> PyResult<StoreRow<'py>> {
        let store = self.run(async move |host| host.store(&name).await)?;
        let names = store.names.iter().map(|name| (name.bits, name.ternary));
        let schema = PyBytes::new(py, &store.schema);
        Ok((store.entries, store.value_bytes, names.collect(), schema))
    }

    /// The names of the stores.
    fn names(&self) -> PyResult<Vec<String>> {
        self.run(async |host| host.stores().await)
    }

    /// Removes a store.
    fn remove(&self, name: String) -> PyResult<()> {
        self.run(async move |host| host.remove_store(&name).await)
    }

    /// Appends records; gives the number of the first entry.
    fn append(
        &self,
        py: Python<'_>,
        name: String,
        records: PyBuffer<u8>,
        count: u32,
    ) -> PyResult<u64> {
        let records = bytes_of(py, &records)?;
        let append = async move |host: Host| host.append_entries(&name, &records, count).await;
        Ok(self.run(append)?.first().into())
    }

    /// What a query finds: records one after another, and the numbers of their entries, little-endian, 8 bytes each.
    #[pyo3(signature = (name, groups, parts, numbers = false, pages = false))]
    fn lookup<'py>(
        &self,
        py: Python<'py>,
        name: String,
        groups: Groups,
        parts: Vec<(u32, u32)>,
        numbers: bool,
        pages: bool,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let groups = terms(groups)?;
        let parts = parts.into_iter();
        let parts = parts.map(|(first, bytes)| Part { first, bytes });
        let parts: Vec<Part> = parts.collect();
        let wanted = Wanted { numbers, pages };
        let look_up = async move |host: Host| host.look_up(&name, &groups, &parts, wanted).await;
        let found = self.run(look_up)?;
        let numbers = found.numbers.iter().flat_map(|number| number.to_le_bytes());
        let numbers: Vec<u8> = numbers.collect();
        Ok((PyBytes::new(py, &found.records), PyBytes::new(py, &numbers)))
    }

    /// How many entries a query finds.
    fn count(&self, name: String, groups: Groups) -> PyResult<u32> {
        let groups = terms(groups)?;
        self.run(async move |host| host.count_entries(&name, &groups).await)
    }

    /// What a query that finds so many entries would take, as JSON: to count them, or without `count` to give records of them.
    #[pyo3(signature = (name, groups, parts, matches, pages = None, count = false))]
    fn estimate(
        &self,
        name: &str,
        groups: Groups,
        parts: Vec<(u32, u32)>,
        matches: u64,
        pages: Option<u64>,
        count: bool,
    ) -> PyResult<String> {
        let groups = terms(groups)?;
        let parts = parts.into_iter();
        let parts = parts.map(|(first, bytes)| Part { first, bytes });
        let parts: Vec<Part> = parts.collect();
        let wanted = Wanted::default();
        let returns = match count {
            true => Returns::Count,
            false => Returns::Records {
                parts: &parts,
                wanted,
            },
        };
        let expected = ExpectedMatches { matches, pages };
        let estimate = |drive: &mut bitline::Drive| {
            let mut search = drive.search();
            search.estimate(name, &groups, returns, expected)
        };
        json(&self.0.get().with(estimate)?)
    }

    /// Deletes what a query finds; gives how many entries.
    fn delete(&self, name: String, groups: Groups) -> PyResult<u32> {
        let groups = terms(groups)?;
        self.run(async move |host| host.delete_entries(&name, &groups).await)
    }

    /// Deletes what a query finds, or what has the first names of the records, and appends these; gives the number of the
    /// first entry, and how many were deleted.
    fn update(
        &self,
        py: Python<'_>,
        name: String,
        groups: Option<Groups>,
        records: PyBuffer<u8>,
        count: u32,
    ) -> PyResult<(u64, u32)> {
        let records = bytes_of(py, &records)?;
        let groups = groups.map(terms).transpose()?;
        let updated = self.run(async move |host| {
            host.update_entries(&name, groups.as_deref(), &records, count)
                .await
        })?;
        Ok((updated.first.into(), updated.deleted))
    }

    /// What the drive says of a store's search regions, as JSON.
    fn report(&self, name: String) -> PyResult<String> {
        let regions = self.run(async move |host| host.report_store(&name).await)?;
        json(&regions.iter().map(region).collect::<Vec<_>>())
    }
}

impl Search {
    /// Lets time pass until a call is done.
    fn run<T: 'static>(
        &self,
        call: impl AsyncFnOnce(Host) -> Result<T, Error> + 'static,
    ) -> PyResult<T> {
        self.0.get().run(|host| async move { call(host).await })
    }
}

fn bytes_of(py: Python<'_>, records: &PyBuffer<u8>) -> PyResult<Vec<u8>> {
    check_size(records.len_bytes() as u64)?;
    records.to_vec(py)
}

fn terms(groups: Groups) -> PyResult<Vec<Vec<NameTerm>>> {
    let term = |(name, bits, pattern, mask): (usize, u32, PyBackedBytes, PyBackedBytes)| {
        let pattern = Pattern::new(bits, &pattern, &mask);
        let pattern = pattern.map_err(|error| to_python(SearchError::from(error)))?;
        Ok(NameTerm { name, pattern })
    };
    let groups = groups.into_iter();
    let groups = groups.map(|group| group.into_iter().map(term).collect());
    groups.collect()
}

fn region(record: &RegionRecord) -> Region {
    Region {
        region: record.region.get(),
        name_bits: record.name_bits.get(),
        ternary: record.ternary.get() != 0,
        start: record.start.get(),
        capacity: record.capacity.get(),
        entries: record.entries.get(),
        live: record.live.get(),
        buffered: record.buffered.get(),
        value_bytes: record.value_bytes.get(),
        blocks: record.blocks.get(),
        row_pages: record.row_pages.get(),
        row_names: record.row_names.get(),
    }
}
