//! Named objects for Python: groups with their vectors, arrays, files and tables of a drive's volume. What writes is
//! waited for, or submitted.

use bitline::{Array, Content, Error, Home, Host, Rows, VectorId};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::drive::{Drive, check_size};
use crate::error::usage;
use crate::pending::{Answer, Pending};
use crate::progress::Progress;
use crate::rows::{GroupRow, ObjectRow, VectorRow, group_row, object_row, vector_row};

/// The named objects of a drive.
#[pyclass(frozen, module = "bitline._bitline")]
pub(crate) struct Volume(Py<Drive>);

#[pymethods]
impl Volume {
    /// Those of `drive`.
    #[new]
    fn new(drive: Py<Drive>) -> Volume {
        Volume(drive)
    }

    /// A home as the drive has it; fails if there can be no group of this name, or the drive has no such dies.
    #[pyo3(signature = (group, home = None))]
    fn check_group(&self, group: &str, home: Option<(u16, u16)>) -> PyResult<Option<(u16, u16)>> {
        let home = home.map(|(first, dies)| Home { first, dies });
        self.0.get().with(|drive| {
            let group = drive.group(group)?;
            let home = home.map(|home| group.home(home)).transpose()?;
            Ok(home.map(|home| (home.first, home.dies)))
        })
    }

    /// Writes vectors of `bits` bits to a group, all or none; under names of their own, if there are any.
    #[pyo3(signature = (group, rows, bits, inverse, names = None, home = None))]
    fn write_vectors(
        &self,
        group: String,
        rows: Vec<PyBackedBytes>,
        bits: u64,
        inverse: bool,
        names: Option<Vec<String>>,
        home: Option<(u16, u16)>,
    ) -> PyResult<Vec<VectorRow>> {
        check_size(rows.iter().map(|row| row.len() as u64).sum())?;
        let what = rows_of(bits, inverse, names, home);
        self.run(async move |host| write_vectors(&host, &group, &what, &rows).await)
    }

    /// As `write_vectors`, which goes on; the answer is what that gives.
    #[pyo3(signature = (group, rows, bits, inverse, names = None, home = None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "a keyword argument each in Python"
    )]
    fn submit_vectors(
        &self,
        py: Python<'_>,
        group: String,
        rows: Vec<PyBackedBytes>,
        bits: u64,
        inverse: bool,
        names: Option<Vec<String>>,
        home: Option<(u16, u16)>,
    ) -> PyResult<Pending> {
        check_size(rows.iter().map(|row| row.len() as u64).sum())?;
        let what = rows_of(bits, inverse, names, home);
        self.submit(py, async move |host| {
            let written = write_vectors(&host, &group, &what, &rows).await;
            written.map(Answer::Vectors)
        })
    }

    /// Sets up vectors of zeroes at once. `progress(vectors)` is called now and then; an exception in it ends
    /// the call.
    #[pyo3(signature = (group, count, bits, inverse, names = None, progress = None, home = None))]
    #[expect(
        clippy::too_many_arguments,
        reason = "they are those of the Python method"
    )]
    fn place_vectors(
        &self,
        py: Python<'_>,
        group: &str,
        count: u32,
        bits: u64,
        inverse: bool,
        names: Option<Vec<String>>,
        progress: Option<Bound<'_, PyAny>>,
        home: Option<(u16, u16)>,
    ) -> PyResult<Vec<VectorRow>> {
        let placed = Progress::new(py, progress).watch(|progress| {
            self.0.get().with(|drive| {
                let mut writer = drive.group(group)?.writer();
                if let Some((first, dies)) = home {
                    writer = writer.at(Home { first, dies });
                }
                if inverse {
                    writer = writer.inverse();
                }
                if let Some(names) = names {
                    writer = writer.named(names);
                }
                writer.place(bits, count, |vectors| progress.go_on(u64::from(vectors)))
            })
        })?;
        Ok(placed.into_iter().map(vector_row).collect())
    }

    /// The vectors of a group, by number.
    fn group_vectors(&self, group: String) -> PyResult<Vec<VectorRow>> {
        let vectors = self.run(async move |host| host.group_vectors(&group).await)?;
        Ok(vectors.into_iter().map(vector_row).collect())
    }

    /// A vector of a group by its name.
    fn vector_named(&self, group: String, name: String) -> PyResult<VectorRow> {
        let found = self.run(async move |host| host.vector(&group, &name).await)?;
        Ok(vector_row(found))
    }

    /// A vector of a group by its number.
    fn vector_numbered(&self, group: String, number: u32) -> PyResult<VectorRow> {
        let found = self.run(async move |host| host.vector_numbered(&group, number).await)?;
        Ok(vector_row(found))
    }

    /// A vector as it is now, named as in expressions.
    fn vector_called(&self, vector: (u32, u32)) -> PyResult<VectorRow> {
        let id = VectorId::new(vector.0, vector.1);
        let found = self.run(async move |host| host.vector_called(id).await)?;
        Ok(vector_row(found))
    }

    /// The groups, by name.
    fn groups(&self) -> PyResult<Vec<GroupRow>> {
        let groups = self.run(async |host| host.groups().await)?;
        Ok(groups.into_iter().map(group_row).collect())
    }

    /// A group by its name.
    fn group(&self, name: String) -> PyResult<Option<GroupRow>> {
        let group = self.run(async move |host| host.group(&name).await)?;
        Ok(group.map(group_row))
    }

    /// Gives a vector other bits; it is named as in expressions.
    fn overwrite_vector(
        &self,
        vector: (u32, u32),
        inverse: Option<bool>,
        data: PyBackedBytes,
    ) -> PyResult<VectorRow> {
        check_size(data.len() as u64)?;
        let id = VectorId::new(vector.0, vector.1);
        let overwrite = async move |host: Host| host.overwrite_vector(id, inverse, &data).await;
        Ok(vector_row(self.run(overwrite)?))
    }

    /// As `overwrite_vector`, which goes on; the answer is a list of what that gives.
    fn submit_overwrite(
        &self,
        py: Python<'_>,
        vector: (u32, u32),
        inverse: Option<bool>,
        data: PyBackedBytes,
    ) -> PyResult<Pending> {
        check_size(data.len() as u64)?;
        let id = VectorId::new(vector.0, vector.1);
        self.submit(py, async move |host| {
            let written = host.overwrite_vector(id, inverse, &data).await?;
            Ok(Answer::Vectors(vec![vector_row(written)]))
        })
    }

    /// Deletes a vector; it is named as in expressions.
    fn delete_vector(&self, vector: (u32, u32)) -> PyResult<()> {
        let id = VectorId::new(vector.0, vector.1);
        self.run(async move |host| host.delete_vector(id).await)
    }

    /// Groups, arrays, files and tables, by name.
    fn objects(&self) -> PyResult<Vec<ObjectRow>> {
        let objects = self.run(async |host| host.objects().await)?;
        Ok(objects.into_iter().map(object_row).collect())
    }

    /// A group, array, file or table by its name.
    fn object(&self, name: String) -> PyResult<Option<ObjectRow>> {
        let object = self.run(async move |host| host.object(&name).await)?;
        Ok(object.map(object_row))
    }

    /// Creates or replaces an `"array"`, `"file"` or `"table"`.
    #[pyo3(signature = (name, kind, data, dtype = "", shape = Vec::new(), schema = Vec::new()))]
    fn write_object(
        &self,
        name: String,
        kind: &str,
        data: PyBackedBytes,
        dtype: &str,
        shape: Vec<u64>,
        schema: Vec<u8>,
    ) -> PyResult<()> {
        let content = content(kind, &data, dtype, shape, schema)?;
        self.run(async move |host| host.write_object(&name, content, &data).await)
    }

    /// As `write_object`, which goes on.
    #[pyo3(signature = (name, kind, data, dtype = "", shape = Vec::new(), schema = Vec::new()))]
    #[allow(
        clippy::too_many_arguments,
        reason = "a keyword argument each in Python"
    )]
    fn submit_object(
        &self,
        py: Python<'_>,
        name: String,
        kind: &str,
        data: PyBackedBytes,
        dtype: &str,
        shape: Vec<u64>,
        schema: Vec<u8>,
    ) -> PyResult<Pending> {
        let content = content(kind, &data, dtype, shape, schema)?;
        self.submit(py, async move |host| {
            host.write_object(&name, content, &data).await?;
            Ok(Answer::Done)
        })
    }

    /// An array, file or table, and its bytes.
    fn read_object<'py>(
        &self,
        py: Python<'py>,
        name: String,
    ) -> PyResult<(ObjectRow, Bound<'py, PyBytes>)> {
        let read = self.run(async move |host| host.read_object(&name).await)?;
        Ok((object_row(read.0), PyBytes::new(py, &read.1)))
    }

    /// Bytes of an array, file or table, from `offset` on.
    fn read_at<'py>(
        &self,
        py: Python<'py>,
        name: String,
        offset: u64,
        size: u64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        check_size(size)?;
        let read = self.run(async move |host| host.read_object_at(&name, offset, size).await)?;
        Ok(PyBytes::new(py, &read))
    }

    /// As `read_at`, which goes on.
    fn submit_read_at(
        &self,
        py: Python<'_>,
        name: String,
        offset: u64,
        size: u64,
    ) -> PyResult<Pending> {
        check_size(size)?;
        self.submit(py, async move |host| {
            let read = host.read_object_at(&name, offset, size).await;
            read.map(Answer::Bytes)
        })
    }

    /// Writes bytes of an array, file or table in place.
    fn write_at(&self, name: String, offset: u64, data: PyBackedBytes) -> PyResult<()> {
        check_size(data.len() as u64)?;
        self.run(async move |host| host.write_object_at(&name, offset, &data).await)
    }

    /// As `write_at`, which goes on.
    fn submit_write_at(
        &self,
        py: Python<'_>,
        name: String,
        offset: u64,
        data: PyBackedBytes,
    ) -> PyResult<Pending> {
        check_size(data.len() as u64)?;
        self.submit(py, async move |host| {
            host.write_object_at(&name, offset, &data).await?;
            Ok(Answer::Done)
        })
    }

    /// Writes bytes behind the end of an array, file or table.
    fn append(&self, name: String, data: PyBackedBytes) -> PyResult<()> {
        check_size(data.len() as u64)?;
        self.run(async move |host| host.append_to_object(&name, &data).await)
    }

    /// As `append`, which goes on.
    fn submit_append(
        &self,
        py: Python<'_>,
        name: String,
        data: PyBackedBytes,
    ) -> PyResult<Pending> {
        check_size(data.len() as u64)?;
        self.submit(py, async move |host| {
            host.append_to_object(&name, &data).await?;
            Ok(Answer::Done)
        })
    }

    /// Cuts an array, file or table to its first bytes.
    fn truncate(&self, name: String, size: u64) -> PyResult<()> {
        self.run(async move |host| host.truncate_object(&name, size).await)
    }

    /// Gives a group, array, file or table another name.
    fn rename_object(&self, old: String, new: String) -> PyResult<()> {
        self.run(async move |host| host.rename_object(&old, &new).await)
    }

    /// Removes an object; a group goes with its vectors.
    fn remove_object(&self, name: String) -> PyResult<()> {
        self.run(async move |host| host.remove_object(&name).await)
    }

    /// First block, blocks and free blocks of the volume; all zero if there is none.
    fn volume_usage(&self) -> PyResult<(u64, u64, u64)> {
        let usage = self.run(async |host| host.volume_usage().await)?;
        Ok((usage.first, usage.blocks, usage.free))
    }
}

impl Volume {
    /// Lets time pass until a call is done.
    fn run<T: 'static>(
        &self,
        call: impl AsyncFnOnce(Host) -> Result<T, Error> + 'static,
    ) -> PyResult<T> {
        self.0.get().run(|host| async move { call(host).await })
    }

    /// Begins a call, which goes on.
    fn submit(
        &self,
        py: Python<'_>,
        call: impl AsyncFnOnce(Host) -> Result<Answer, Error> + 'static,
    ) -> PyResult<Pending> {
        Drive::submit(self.0.clone_ref(py), call)
    }
}

async fn write_vectors(
    host: &Host,
    group: &str,
    what: &Rows,
    rows: &[PyBackedBytes],
) -> Result<Vec<VectorRow>, Error> {
    let written = host.write_vectors(group, what, rows).await?;
    Ok(written.into_iter().map(vector_row).collect())
}

/// What an object of `data` is to be.
fn content(
    kind: &str,
    data: &[u8],
    dtype: &str,
    shape: Vec<u64>,
    schema: Vec<u8>,
) -> PyResult<Content> {
    let bytes = data.len() as u64;
    check_size(bytes)?;
    match kind {
        "file" => Ok(Content::File { bytes }),
        "table" => Ok(Content::Table { schema, bytes }),
        "array" => Ok(Content::Array(Array::new(dtype, shape, bytes))),
        _ => Err(usage(format!(
            "there is no kind {kind:?} of objects to write"
        ))),
    }
}

fn rows_of(bits: u64, inverse: bool, names: Option<Vec<String>>, home: Option<(u16, u16)>) -> Rows {
    let mut rows = Rows::new(bits);
    (rows.inverse, rows.names) = (inverse, names);
    rows.home = home.map(|(first, dies)| Home { first, dies });
    rows
}
