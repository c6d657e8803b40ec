//! Named objects for Python: groups with their vectors, arrays, files and tables of a drive's volume.

use bitline::{Array, Content, Extent, Home, Host, Object, Rows, Vector, VectorId};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::drive::{Drive, check_size};
use crate::error::usage;
use crate::progress::Progress;

/// Name, number, length in bits, whether inverted, name in expressions, extents as first block and blocks.
type VectorRow = (String, u32, u64, bool, (u32, u32), Vec<(u64, u64)>);

/// Name, kind, bytes, type, shape, schema, extents as first block and blocks.
type ObjectRow = (
    String,
    &'static str,
    u64,
    Option<String>,
    Vec<u64>,
    Option<Vec<u8>>,
    Vec<(u64, u64)>,
);

/// Name, bits, first die and dies of its home, number of vectors.
type GroupRow = (String, u64, (u16, u16), usize);

/// The named objects of a drive.
#[pyclass(frozen, module = "bitline._bitline")]
pub(crate) struct Names(pub(crate) Py<Drive>);

#[pymethods]
impl Names {
    /// Fails if there can be no group of this name.
    fn check_group(&self, group: &str) -> PyResult<()> {
        self.0.get().with(|drive| drive.group(group).map(drop))
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
        let written = self
            .0
            .get()
            .run(move |host| async move { host.write_vectors(&group, &what, &rows).await })?;
        Ok(written.into_iter().map(vector_row).collect())
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
        let vectors = self
            .0
            .get()
            .run(move |host| async move { host.group_vectors(&group).await })?;
        Ok(vectors.into_iter().map(vector_row).collect())
    }

    /// The groups, by name.
    fn groups(&self) -> PyResult<Vec<GroupRow>> {
        let groups = self
            .0
            .get()
            .run(|host| async move { host.groups().await })?;
        let row = |group: bitline::GroupInfo| {
            let home = (group.home.first, group.home.dies);
            (group.name, group.bits, home, group.vectors)
        };
        Ok(groups.into_iter().map(row).collect())
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
        let written = self
            .0
            .get()
            .run(move |host| async move { host.overwrite_vector(id, inverse, &data).await })?;
        Ok(vector_row(written))
    }

    /// Deletes a vector; it is named as in expressions.
    fn delete_vector(&self, vector: (u32, u32)) -> PyResult<()> {
        let id = VectorId::new(vector.0, vector.1);
        let delete = move |host: Host| async move { host.delete_vector(id).await };
        self.0.get().run(delete)
    }

    /// Groups, arrays, files and tables, by name.
    fn objects(&self) -> PyResult<Vec<ObjectRow>> {
        let objects = self
            .0
            .get()
            .run(|host| async move { host.objects().await })?;
        Ok(objects.into_iter().map(object_row).collect())
    }

    /// Creates or replaces an `"array"`, `"file"` or `"table"`.
    #[pyo3(signature = (name, kind, data, dtype = "", shape = Vec::new(), schema = Vec::new()))]
    fn write_object(
        &self,
        name: String,
        kind: &str,
        data: &[u8],
        dtype: &str,
        shape: Vec<u64>,
        schema: Vec<u8>,
    ) -> PyResult<()> {
        let bytes = data.len() as u64;
        check_size(bytes)?;
        let content = match kind {
            "file" => Content::File { bytes },
            "table" => Content::Table { schema, bytes },
            "array" => Content::Array(Array {
                dtype: dtype.to_owned(),
                shape,
                bytes,
            }),
            _ => {
                return Err(usage(format!(
                    "there is no kind {kind:?} of objects to write"
                )));
            }
        };
        let data = data.to_vec();
        self.0
            .get()
            .run(move |host| async move { host.write_object(&name, content, &data).await })
    }

    /// An array, file or table, and its bytes.
    fn read_object<'py>(
        &self,
        py: Python<'py>,
        name: String,
    ) -> PyResult<(ObjectRow, Bound<'py, PyBytes>)> {
        let read = self
            .0
            .get()
            .run(move |host| async move { host.read_object(&name).await })?;
        Ok((object_row(read.0), PyBytes::new(py, &read.1)))
    }

    /// Gives a group, array, file or table another name.
    fn rename_object(&self, old: String, new: String) -> PyResult<()> {
        self.0
            .get()
            .run(move |host| async move { host.rename_object(&old, &new).await })
    }

    /// Removes an object; a group goes with its vectors.
    fn remove_object(&self, name: String) -> PyResult<()> {
        self.0
            .get()
            .run(move |host| async move { host.remove_object(&name).await })
    }

    /// First block, blocks and free blocks of the volume; all zero if there is none.
    fn volume_usage(&self) -> PyResult<(u64, u64, u64)> {
        let usage = self
            .0
            .get()
            .run(|host| async move { host.volume_usage().await })?;
        Ok((usage.first, usage.blocks, usage.free))
    }
}

fn rows_of(bits: u64, inverse: bool, names: Option<Vec<String>>, home: Option<(u16, u16)>) -> Rows {
    let mut rows = Rows::new(bits);
    (rows.inverse, rows.names) = (inverse, names);
    rows.home = home.map(|(first, dies)| Home { first, dies });
    rows
}

fn vector_row(vector: Vector) -> VectorRow {
    let extents = runs(&vector.extents);
    let id = (vector.id.group, vector.id.vector);
    (
        vector.name,
        vector.number,
        vector.bits,
        vector.inverse,
        id,
        extents,
    )
}

fn object_row(object: Object) -> ObjectRow {
    let (bytes, extents) = (object.content.bytes(), runs(&object.extents));
    let (kind, dtype, shape, schema) = match object.content {
        Content::Group(_) => ("group", None, Vec::new(), None),
        Content::Array(array) => ("array", Some(array.dtype), array.shape, None),
        Content::File { .. } => ("file", None, Vec::new(), None),
        Content::Table { schema, .. } => ("table", None, Vec::new(), Some(schema)),
        _ => ("object", None, Vec::new(), None),
    };
    (object.name, kind, bytes, dtype, shape, schema, extents)
}

fn runs(extents: &[Extent]) -> Vec<(u64, u64)> {
    extents
        .iter()
        .map(|extent| (extent.first, extent.blocks))
        .collect()
}
