//! Tasks on cores and memory of their own: what they can do, how long it takes, and what they cannot do.

mod calls;
mod corpus;
mod mutations;
mod time;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use media::core::{CoresConfig, WorkConfig};
use media::dram::{Dram, DramConfig};
use sim::{Ledger, Simulation, Span, Tenant, Time};

use super::*;
use crate::memory::{self, Quotas};
use crate::schedule::Priority;
use crate::tenants;

/// For whom tasks run here, unless it matters.
const USER: Tenant = Tenant(6);

fn origin() -> Origin {
    Origin::new(USER, Priority::High)
}

/// Small limits, and instructions that take nothing but for branches, which take a cycle each.
fn config() -> TaskConfig {
    TaskConfig {
        dram_bytes: 1 << 20,
        memory_bytes: 1 << 18,
        stack_bytes: 1 << 16,
        cycles_max: 1_000_000,
        log_bytes: 64,
        arguments_bytes: 64,
        return_bytes: 64,
        tickets: 4,
        quantum_us: 10,
        module_bytes: 1 << 16,
        functions: 50,
        function_bytes: 4096,
        globals: 20,
        table_elements: 100,
        quota: QuotaConfig {
            programs: 4,
            program_bytes: 1 << 16,
            persistent_bytes: 1 << 12,
            runs: 4,
        },
        cycles: CycleCosts {
            local_tenths: 0,
            simple_tenths: 0,
            multiply_tenths: 0,
            divide_tenths: 0,
            load_tenths: 0,
            store_tenths: 0,
            branch_tenths: 10,
            call_tenths: 0,
            float_tenths: 0,
            float_divide_tenths: 0,
            vector_tenths: 0,
            bulk_byte_tenths: 1,
            request_cycles: 0,
        },
    }
}

/// A memory that is never refreshed.
fn dram_config() -> DramConfig {
    DramConfig {
        t_refi_ns: 0,
        t_rfc_ns: 0,
        ..memory::tests::dram()
    }
}

/// What tasks run on.
struct Rig {
    simulation: Simulation,
    ledger: Rc<Ledger>,
    tasks: Rc<Tasks>,
}

impl Rig {
    /// With so many cores of a gigahertz, all for tasks but one.
    fn new(config: &TaskConfig, task_cores: u32) -> Rig {
        let simulation = Simulation::new(1);
        let (sim, ledger) = (simulation.handle(), Rc::new(Ledger::default()));
        let cores = CoresConfig {
            count: 1 + task_cores,
            unused_cores: 0,
            task_cores,
            clock_megahertz: 1000,
            active_milliwatts: 1000,
            idle_milliwatts: 0,
            work: WorkConfig::default(),
        };
        let cores = Cores::new(&sim, &cores, &ledger);
        let dram = Dram::new(&sim, &dram_config(), &ledger, tenants::DRIVE);
        let quotas = Quotas {
            buffers: 1 << 20,
            tasks: config.dram_bytes,
            ..Quotas::default()
        };
        let map = quotas.lay_out(&dram_config()).expect("it is large");
        let tasks = Tasks::new(&sim, cores, Some((&dram, &map)), config);
        Rig {
            simulation,
            ledger,
            tasks: Rc::new(tasks),
        }
    }

    fn load(&self, text: &str) -> Result<Program, ModuleError> {
        self.tasks.load(&wat::parse_str(text).expect("a module"))
    }

    /// Begins a run; gives where it will be put when it is over, with the instant.
    fn begin(&self, program: &Program, files: Rc<dyn Files>, origin: Origin) -> Over {
        let over = Over::default();
        let (tasks, program, put) = (self.tasks.clone(), program.clone(), over.clone());
        self.simulation.handle().spawn_detached(async move {
            let limits = tasks.limits();
            let run = tasks
                .run(&program, files, b"arguments", limits, origin)
                .await;
            put.0.set(Some((run, tasks.sim.now())));
        });
        over
    }

    /// Runs a program alone.
    fn run(&self, program: &Program, files: Rc<dyn Files>) -> Run {
        let over = self.begin(program, files, origin());
        self.simulation.run();
        over.run()
    }

    /// Loads and runs a program.
    fn run_text(&self, text: &str, files: Rc<dyn Files>) -> Run {
        self.run(&self.load(text).expect("a task"), files)
    }
}

/// A run and the instant at which it was over.
#[derive(Clone, Default)]
struct Over(Rc<Cell<Option<(Run, Time)>>>);

impl Over {
    fn take(&self) -> (Run, Time) {
        self.0.take().expect("it is over")
    }

    fn run(&self) -> Run {
        self.take().0
    }

    fn at_ns(&self) -> u64 {
        self.take().1.as_ps() / 1000
    }
}

/// Files in memory, each access to which takes the same time.
struct InMemory {
    sim: Sim,
    files: Vec<RefCell<Vec<u8>>>,
    latency: Span,
    has_data: bool,
    /// Fails writes to bytes from here on.
    fails_from: u64,
    /// The most accesses that there were at a time.
    at_once: Cell<(u32, u32)>,
}

impl InMemory {
    /// A file of 64 KiB that can be written to, and one of 100 bytes that cannot; byte *i* of each is *i* modulo 251.
    fn new(rig: &Rig, latency_ns: u64) -> InMemory {
        let file = |bytes: u32| RefCell::new((0..bytes).map(|byte| (byte % 251) as u8).collect());
        InMemory {
            sim: rig.simulation.handle(),
            files: vec![file(1 << 16), file(100)],
            latency: Span::from_ns(latency_ns),
            has_data: true,
            fails_from: u64::MAX,
            at_once: Cell::default(),
        }
    }

    async fn access(&self) {
        let (now, most) = self.at_once.get();
        self.at_once.set((now + 1, most.max(now + 1)));
        self.sim.sleep(self.latency).await;
        let (now, most) = self.at_once.get();
        self.at_once.set((now - 1, most));
    }
}

impl Files for InMemory {
    fn count(&self) -> u32 {
        self.files.len() as u32
    }

    fn bytes(&self, file: u32) -> Option<u64> {
        Some(self.files.get(file as usize)?.borrow().len() as u64)
    }

    fn writable(&self, file: u32) -> bool {
        file == 0
    }

    fn has_data(&self) -> bool {
        self.has_data
    }

    fn read<'a>(
        &'a self,
        file: u32,
        offset: u64,
        bytes: u32,
    ) -> LocalBoxFuture<'a, Result<Data, FileError>> {
        Box::pin(async move {
            self.access().await;
            let range = offset as usize..offset as usize + bytes as usize;
            Ok(match self.has_data {
                true => Data::Bytes(self.files[file as usize].borrow()[range].to_vec()),
                false => Data::Untold(bytes),
            })
        })
    }

    fn write<'a>(
        &'a self,
        file: u32,
        offset: u64,
        data: Data,
    ) -> LocalBoxFuture<'a, Result<(), FileError>> {
        Box::pin(async move {
            self.access().await;
            if offset + u64::from(data.bytes()) > self.fails_from {
                let reason = format!("somebody wrote to file {file} first");
                return Err(FileError::Conflict { reason });
            }
            if let Data::Bytes(bytes) = data {
                let range = offset as usize..offset as usize + bytes.len();
                self.files[file as usize].borrow_mut()[range].copy_from_slice(&bytes);
            }
            Ok(())
        })
    }
}

/// A task with all calls, a page of memory with `data` at its beginning, and this main function.
fn task(data: &str, main: &str) -> String {
    format!(
        r#"(module
        (import "isc" "args_size" (func $args_size (result i32)))
        (import "isc" "get_args" (func $get_args (param i32 i32 i32) (result i32)))
        (import "isc" "put_ret" (func $put_ret (param i32 i32) (result i32)))
        (import "isc" "file_count" (func $file_count (result i32)))
        (import "isc" "file_size" (func $file_size (param i32) (result i64)))
        (import "isc" "file_read" (func $file_read (param i32 i32 i32 i64) (result i64)))
        (import "isc" "file_write" (func $file_write (param i32 i32 i32 i64) (result i64)))
        (import "isc" "submit_read" (func $submit_read (param i32 i32 i32 i64) (result i32)))
        (import "isc" "submit_write" (func $submit_write (param i32 i32 i32 i64) (result i32)))
        (import "isc" "wait" (func $wait (param i32) (result i64)))
        (import "isc" "log" (func $log (param i32 i32) (result i32)))
        (import "isc" "evaluate" (func $evaluate (param i32 i32 i64 i32) (result i64)))
        (import "isc" "look_up" (func $look_up (param i32 i32 i32 i32 i32) (result i64)))
        (memory (export "memory") 1)
        (data (i32.const 0) "{data}")
        (func $main (export "isc_main") (result i32) (local $i i32) (local $j i64) {main}))"#
    )
}

/// A task that takes so many cycles, and one for its beginning, in a page of memory.
fn computing(cycles: u32) -> String {
    let main = format!(
        "(local.set $i (i32.const {cycles}))
         (loop $again (br_if $again (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))
         (i32.const 0)"
    );
    task("", &main).replace("\"memory\") 1", "\"memory\") 1 1")
}
