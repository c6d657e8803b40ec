//! The extension module `bitline._bitline`: glue between Python and the drive,
//! nothing clever. Its types are described to Python in `python/bitline/_bitline.pyi`.

mod advise;
mod attach;
mod bench;
mod cells;
mod collectors;
mod config;
mod drive;
mod error;
mod expression;
mod image;
mod keeper;
mod listening;
mod memory;
mod mounted;
mod mqsim;
mod opening;
mod pending;
mod progress;
mod remote;
mod rows;
mod running;
mod search;
mod serve;
mod streams;
mod tasks;
mod tpch;
mod tracing;
mod volume;
mod waiting;
mod workload;

use pyo3::prelude::*;

#[pymodule(gil_used = true)]
mod _bitline {
    #[pymodule_export]
    use super::advise::{Advice, advise};

    #[pymodule_export]
    use super::attach::Attachment;

    #[pymodule_export]
    use super::bench::run_benchmarks;

    #[pymodule_export]
    use super::cells::{name_lookups, raw_bit_error_rate, sense_power, sense_time};

    #[pymodule_export]
    use super::config::{Config, preset_names, preset_text};

    #[pymodule_export]
    use super::drive::Drive;

    #[pymodule_export]
    use super::expression::Expression;

    #[pymodule_export]
    use super::image::check_image;

    #[pymodule_export]
    use super::memory::Memory;

    #[pymodule_export]
    use super::mounted::{Mounted, MountedFile, control_socket};

    #[pymodule_export]
    use super::mqsim::{mqsim_requests, validate_mqsim};

    #[pymodule_export]
    use super::pending::Pending;

    #[pymodule_export]
    use super::remote::{connect, remote_name};

    #[pymodule_export]
    use super::search::Search;

    #[pymodule_export]
    use super::serve::Server;

    #[pymodule_export]
    use super::collectors::Collectors;

    #[pymodule_export]
    use super::streams::Streams;

    #[pymodule_export]
    use super::tasks::Tasks;

    #[pymodule_export]
    use super::tpch::generate_line_items;

    #[pymodule_export]
    use super::volume::Volume;

    #[pymodule_export]
    use super::workload::check_workloads;

    #[pymodule_export]
    const CLOSED_DEPTH: u32 = bitline::workload::CLOSED_DEPTH;

    #[pymodule_export]
    const OPEN_DEPTH: u32 = bitline::workload::OPEN_DEPTH;

    #[pymodule_export]
    #[allow(non_upper_case_globals)] // the name Python's packages use
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
