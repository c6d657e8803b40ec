//! The engine that runs modules, and modules that it has compiled.

use std::fmt;

use wasmtime::{Config, Engine, InstancePre, Linker, Module, OptLevel};

use super::check;
use super::config::TaskConfig;
use super::costs::operator_costs;
use super::error::ModuleError;
use super::imports;
use super::inside::Inside;

/// Stack for the firmware's side of calls, besides that of the task.
const CALL_STACK_BYTES: usize = 512 << 10;

/// What runs modules.
pub(super) struct Runtime {
    engine: Engine,
    linker: Linker<Inside>,
}

/// A module that was loaded. It can be run any number of times, also at the same time.
#[derive(Clone)]
pub struct Program {
    pre: InstancePre<Inside>,
    memory_min: u64,
    memory_max: u64,
    initializes: bool,
}

impl Runtime {
    /// # Errors
    /// If this computer cannot run what it would compile.
    pub(super) fn new(config: &TaskConfig) -> Result<Runtime, ModuleError> {
        let unsupported = |error: wasmtime::Error| ModuleError::Unsupported(format!("{error:#}"));
        let engine = Engine::new(&engine_config(config)).map_err(unsupported)?;
        let mut linker = Linker::new(&engine);
        imports::offer(&mut linker).map_err(unsupported)?;
        Ok(Runtime { engine, linker })
    }

    /// Checks and compiles a module.
    pub(super) fn load(&self, bytes: &[u8], config: &TaskConfig) -> Result<Program, ModuleError> {
        check::bounds(bytes, config)?;
        let compile = |error: wasmtime::Error| ModuleError::Compile(format!("{error:#}"));
        let module = Module::from_binary(&self.engine, bytes).map_err(compile)?;
        let (memory_min, memory_max) = check::exports(&module)?;
        let pre = self.linker.instantiate_pre(&module).map_err(compile)?;
        Ok(Program {
            pre,
            memory_min,
            memory_max,
            initializes: module.get_export(check::INITIALIZE).is_some(),
        })
    }

    /// Whether it was this that loaded a program.
    pub(super) fn loaded(&self, program: &Program) -> bool {
        Engine::same(&self.engine, program.pre.module().engine())
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("memory_min", &self.memory_min)
            .field("memory_max", &self.memory_max)
            .finish_non_exhaustive()
    }
}

impl Program {
    /// Bytes of memory with which it begins.
    pub fn memory_min(&self) -> u64 {
        self.memory_min
    }

    /// Bytes of memory that it can have at most.
    pub fn memory_max(&self) -> u64 {
        self.memory_max
    }

    /// Whether it has something to do before its main function.
    pub(super) fn initializes(&self) -> bool {
        self.initializes
    }

    pub(super) fn pre(&self) -> &InstancePre<Inside> {
        &self.pre
    }
}

/// The engine: what tasks do is a function of their module, their files and their arguments.
fn engine_config(config: &TaskConfig) -> Config {
    let stack = config.stack_bytes as usize;
    let mut engine = Config::new();
    engine
        .consume_fuel(true)
        .operator_cost(operator_costs(&config.cycles))
        .cranelift_nan_canonicalization(true)
        .cranelift_opt_level(OptLevel::Speed)
        .relaxed_simd_deterministic(true)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .concurrency_support(false)
        .max_wasm_stack(stack)
        .async_stack_size(stack + CALL_STACK_BYTES);
    engine
}
