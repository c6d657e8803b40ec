//! Looking through image files, without a drive.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::error::to_python;

/// Pages with data, block and page of those that are damaged, damaged copies of records, and whether the image
/// went back to its last flush.
type Checked = (u64, Vec<(u32, u32)>, u64, bool);

/// Looks through an image without writing it, and through all its data if `data` is set.
#[pyfunction]
pub(crate) fn check_image(py: Python<'_>, image: PathBuf, data: bool) -> PyResult<Checked> {
    let checked = py
        .detach(|| bitline::Drive::check_image(&image, data))
        .map_err(to_python)?;
    let damaged = checked.damaged_pages.iter();
    let damaged = damaged.map(|page| (page.block.0, page.page)).collect();
    let copies = checked.damaged_copies;
    Ok((checked.pages, damaged, copies, checked.rolled_back))
}
