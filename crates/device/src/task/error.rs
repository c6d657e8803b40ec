//! Why a module cannot be loaded.

/// What is wrong with a module, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleError {
    /// It is larger than modules may be.
    #[error("the module has {bytes} bytes, more than task.module_bytes = {most}")]
    TooLarge {
        /// Its bytes.
        bytes: u64,
        /// Bytes that it may have.
        most: u64,
    },
    /// It is something else.
    #[error("this is no WebAssembly module: {0}")]
    NotWasm(&'static str),
    /// It breaks the rules of WebAssembly, or asks for what tasks do not have.
    #[error("the module is not valid: {what}, at byte {offset}")]
    Invalid {
        /// What is wrong.
        what: String,
        /// Where.
        offset: u64,
    },
    /// It has more of something than it may.
    #[error("the module has {found} {what}, more than task.{key} = {most}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        found: u64,
        /// The key of the configuration that says how many there may be.
        key: &'static str,
        /// How many there may be.
        most: u64,
    },
    /// It wants something that the drive does not have.
    #[error(
        "the module imports {module:?} {name:?}, which tasks are not offered; they have {offered} of module \"isc\""
    )]
    UnknownImport {
        /// From where.
        module: String,
        /// What.
        name: String,
        /// What there is.
        offered: String,
    },
    /// It wants a call of another form than it has.
    #[error("the module imports \"isc\" {name:?} as {found}; it is {wanted}")]
    ImportType {
        /// The call.
        name: String,
        /// As what.
        found: String,
        /// What it is.
        wanted: String,
    },
    /// It lacks something that tasks must have.
    #[error("the module exports no {name:?}; a task must export {wanted}")]
    MissingExport {
        /// What.
        name: &'static str,
        /// What it must be.
        wanted: &'static str,
    },
    /// What it exports is something else than it must be.
    #[error("the module exports {name:?} as {found}; it must be {wanted}")]
    ExportType {
        /// The export.
        name: &'static str,
        /// As what.
        found: String,
        /// What it must be.
        wanted: &'static str,
    },
    /// Its code cannot be translated.
    #[error("the module cannot be compiled: {0}")]
    Compile(String),
    /// Tasks cannot run on this computer at all.
    #[error("tasks cannot be run on this computer: {0}")]
    Unsupported(String),
}
