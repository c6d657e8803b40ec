//! TPC-H rows for Python: four columns of `lineitem` as plain integers.
//!
//! The rows are the benchmark's own (crate `tpchgen`, equal to dbgen's output); only
//! the columns that query 6 names are kept.

use std::ops::RangeInclusive;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use tpchgen::distribution::Distributions;
use tpchgen::generators::LineItemGenerator;
use tpchgen::text::TextPool;

/// The accepted scale factors: from 150 orders (some 600 rows) to 60 million rows
/// (840 MB of columns).
const SCALES: RangeInclusive<f64> = 0.0001..=10.0;

/// The generator cuts comments out of a pool of text, by default 300 MiB large. No
/// column kept here depends on it, so a pool just large enough to cut from will do.
const TEXT_POOL_BYTES: i32 = 4096;

/// Rows between two calls of the progress function, and between two looks for Ctrl-C.
const ROWS_PER_STEP: usize = 65_536;

/// The columns, growing row by row, as little-endian bytes that NumPy takes over.
#[derive(Default)]
struct Columns {
    ship_date: Vec<u8>,
    quantity: Vec<u8>,
    discount: Vec<u8>,
    extended_price: Vec<u8>,
}

/// Generates TPC-H `lineitem` rows: `(ship_date, quantity, discount, extended_price)`,
/// each column a bytearray of little-endian integers: days since 1970-01-01 (i32),
/// pieces (u8), percent (u8), cents (i64).
///
/// `progress(rows)` is called every 65,536 rows and at the end. Raises ValueError for a
/// scale below 0.0001 or above 10.
#[pyfunction]
#[pyo3(signature = (scale, progress = None))]
#[allow(clippy::type_complexity)] // a tuple of four columns, named by the caller
pub(crate) fn generate_line_items<'py>(
    py: Python<'py>,
    scale: f64,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(
    Bound<'py, PyByteArray>,
    Bound<'py, PyByteArray>,
    Bound<'py, PyByteArray>,
    Bound<'py, PyByteArray>,
)> {
    if !SCALES.contains(&scale) {
        return Err(PyValueError::new_err(format!(
            "scale is {scale}; it must be from {} to {}",
            SCALES.start(),
            SCALES.end()
        )));
    }
    let columns = generate(py, scale, progress.as_ref())?;
    Ok((
        PyByteArray::new(py, &columns.ship_date),
        PyByteArray::new(py, &columns.quantity),
        PyByteArray::new(py, &columns.discount),
        PyByteArray::new(py, &columns.extended_price),
    ))
}

fn generate(py: Python<'_>, scale: f64, progress: Option<&Bound<'_, PyAny>>) -> PyResult<Columns> {
    let distributions = Distributions::static_default();
    let text = TextPool::new(TEXT_POOL_BYTES, distributions);
    let rows =
        LineItemGenerator::new_with_distributions_and_text_pool(scale, 1, 1, distributions, &text);
    let mut columns = Columns::default();
    let mut count = 0;
    for row in rows.iter() {
        columns.push(
            row.l_shipdate.to_unix_epoch(),
            row.l_quantity,
            row.l_discount.into_inner(),
            row.l_extendedprice.into_inner(),
        );
        count += 1;
        if count % ROWS_PER_STEP == 0 {
            report(py, progress, count)?;
        }
    }
    report(py, progress, count)?;
    Ok(columns)
}

fn report(py: Python<'_>, progress: Option<&Bound<'_, PyAny>>, rows: usize) -> PyResult<()> {
    py.check_signals()?;
    if let Some(progress) = progress {
        progress.call1((rows,))?;
    }
    Ok(())
}

impl Columns {
    fn push(&mut self, ship_date: i32, quantity: i64, discount: i64, extended_price: i64) {
        self.ship_date.extend_from_slice(&ship_date.to_le_bytes());
        // TPC-H 4.2.3: quantity is 1..=50, discount 0.00..=0.10.
        self.quantity
            .push(u8::try_from(quantity).expect("TPC-H bounds it by 50"));
        self.discount
            .push(u8::try_from(discount).expect("TPC-H bounds it by 10 percent"));
        self.extended_price
            .extend_from_slice(&extended_price.to_le_bytes());
    }
}
