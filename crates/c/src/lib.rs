//! Bitline for host programs in C: the calls that `include/bitline/host.h` declares and documents.
//!
//! C holds names of drives and contexts, never their memory (`handles`): a name that was given up, is another thread's, or never was
//! is an error. What C says of its own memory has to be believed, but for what no memory can be (`memory`). No panic crosses the
//! border (`error`).

mod context;
mod drive;
mod error;
mod handles;
mod memory;
mod run;
mod stream;
mod volume;

pub use context::{
    Limits, isc_free_context, isc_new_context, isc_put_args, isc_register_file, isc_register_store,
    isc_set_isolation, isc_set_limits, isc_set_retries,
};
pub use drive::{
    Task, isc_close_drive, isc_load_task, isc_open_drive, isc_set_priority, isc_unload_task,
};
pub use error::isc_error_text;
pub use handles::{ContextName, DriveName, Named, StreamName};
pub use run::{
    Usage, isc_get_log, isc_get_reason, isc_get_ret, isc_get_usage, isc_is_finished, isc_run_task,
    isc_submit_task, isc_wait_task,
};
pub use stream::{isc_fsclose, isc_fsfinish, isc_fsopen, isc_fsread, isc_fswrite};
pub use volume::{isc_volume_read, isc_volume_remove, isc_volume_size, isc_volume_write};
