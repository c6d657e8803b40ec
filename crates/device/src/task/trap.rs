//! What stopped a task, in words.

use wasmtime::{Error, Trap, WasmBacktrace};

use super::Limits;
use super::config::TaskConfig;

/// Why a task was stopped, and in which function.
pub(super) fn reason(error: &Error, limits: &Limits, config: &TaskConfig) -> String {
    let what = match error.downcast_ref::<Trap>() {
        Some(trap) => of_trap(*trap, limits, config),
        None => error.root_cause().to_string(),
    };
    match function(error) {
        Some(function) => format!("{what}, in {function}"),
        None => what,
    }
}

fn of_trap(trap: Trap, limits: &Limits, config: &TaskConfig) -> String {
    match trap {
        Trap::OutOfFuel => format!(
            "it took more than the {} cycles that it may take",
            limits.cycles
        ),
        Trap::StackOverflow => format!(
            "stack overflow: calls are nested deeper than task.stack_bytes = {} lets them be",
            config.stack_bytes
        ),
        Trap::MemoryOutOfBounds => "out of bounds access to memory".to_owned(),
        Trap::TableOutOfBounds => "out of bounds access to a table".to_owned(),
        Trap::IndirectCallToNull => "a function pointer that is null was called".to_owned(),
        Trap::BadSignature => {
            "a function pointer was called as another type of function".to_owned()
        }
        Trap::IntegerOverflow => "integer overflow".to_owned(),
        Trap::IntegerDivisionByZero => "integer division by zero".to_owned(),
        Trap::BadConversionToInteger => {
            "a number that is no integer was converted to one".to_owned()
        }
        Trap::UnreachableCodeReached => "unreachable code was reached".to_owned(),
        other => other.to_string(),
    }
}

/// Where a task was when it was stopped.
fn function(error: &Error) -> Option<String> {
    let backtrace = error.downcast_ref::<WasmBacktrace>()?;
    let frame = backtrace.frames().first()?;
    Some(match frame.func_name() {
        Some(name) => format!("function {name:?}"),
        None => format!("function {}", frame.func_index()),
    })
}
