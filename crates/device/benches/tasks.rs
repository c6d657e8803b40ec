//! `cargo bench -p bitline-device --bench tasks`: how long modules take to load and tasks to start, and how many reads of 16
//! KiB tasks do in a second of the computer's own time, on files that answer at once.

use std::future::ready;
use std::rc::Rc;
use std::time::{Duration, Instant};

use device::cores::Cores;
use device::memory::Quotas;
use device::schedule::{Origin, Priority};
use device::task::{
    CycleCosts, Data, Ended, FileError, Files, LocalBoxFuture, Program, QuotaConfig, TaskConfig,
    Tasks,
};
use media::core::{CoresConfig, WorkConfig};
use media::dram::{Dram, DramConfig, DramTiming, Interleave, RowPolicy};
use sim::{Ledger, Simulation, Tenant};

/// Tasks that are started.
const STARTS: u32 = 20_000;
/// Reads by each kind of task.
const READS: u32 = 1_000_000;
/// Bytes of a read.
const BYTES: u32 = 16384;

fn config() -> TaskConfig {
    TaskConfig {
        dram_bytes: 1 << 28,
        memory_bytes: 1 << 26,
        stack_bytes: 1 << 19,
        cycles_max: 100_000_000_000,
        log_bytes: 1 << 16,
        arguments_bytes: 1 << 20,
        return_bytes: 1 << 20,
        tickets: 64,
        quantum_us: 1000,
        module_bytes: 1 << 24,
        functions: 20_000,
        function_bytes: 1 << 18,
        globals: 1000,
        table_elements: 1 << 16,
        quota: QuotaConfig {
            programs: 1,
            program_bytes: 1 << 20,
            persistent_bytes: 8,
            runs: 1,
        },
        cycles: CycleCosts {
            local_tenths: 1,
            simple_tenths: 7,
            multiply_tenths: 20,
            divide_tenths: 80,
            load_tenths: 20,
            store_tenths: 12,
            branch_tenths: 15,
            call_tenths: 60,
            float_tenths: 25,
            float_divide_tenths: 180,
            vector_tenths: 20,
            bulk_byte_tenths: 2,
            request_cycles: 300,
        },
    }
}

fn dram_config() -> DramConfig {
    DramConfig {
        timing: DramTiming::Banks,
        capacity_bytes: 1 << 34,
        channels: 1,
        ranks: 1,
        banks: 8,
        row_bytes: 8192,
        interleave: Interleave::Banks,
        row_policy: RowPolicy::Open,
        clock_megahertz: 1600,
        transfer_bytes: 4,
        burst_transfers: 16,
        t_rcd_ns: 18,
        t_cl_ns: 18,
        t_rp_ns: 18,
        t_ras_ns: 42,
        t_refi_ns: 3904,
        t_rfc_ns: 280,
        activate_pj: 864,
        read_pj_per_byte: 40,
        write_pj_per_byte: 40,
        refresh_pj: 0,
    }
}

/// What tasks run on: the cores and the memory of a drive.
fn tasks() -> (Simulation, Rc<Tasks>) {
    let (simulation, ledger) = (Simulation::new(1), Ledger::default());
    let sim = simulation.handle();
    let cores = CoresConfig {
        count: 4,
        unused_cores: 1,
        task_cores: 2,
        clock_megahertz: 1500,
        active_milliwatts: 200,
        idle_milliwatts: 20,
        work: WorkConfig::default(),
    };
    let cores = Cores::new(&sim, &cores, &ledger);
    let dram = Dram::new(&sim, &dram_config(), &ledger, Tenant(0));
    let (config, quotas) = (config(), Quotas::default());
    let quotas = Quotas {
        buffers: 1 << 29,
        tasks: config.dram_bytes,
        ..quotas
    };
    let map = quotas.lay_out(&dram_config()).expect("it is large");
    let tasks = Tasks::new(&sim, cores, Some((&dram, &map)), &config);
    (simulation, Rc::new(tasks))
}

/// A file that answers at once, with or without data.
struct AtOnce {
    has_data: bool,
}

impl Files for AtOnce {
    fn count(&self) -> u32 {
        1
    }

    fn bytes(&self, file: u32) -> Option<u64> {
        (file == 0).then_some(1 << 40)
    }

    fn writable(&self, _: u32) -> bool {
        false
    }

    fn has_data(&self) -> bool {
        self.has_data
    }

    fn read<'a>(
        &'a self,
        _: u32,
        _: u64,
        bytes: u32,
    ) -> LocalBoxFuture<'a, Result<Data, FileError>> {
        let data = match self.has_data {
            true => Data::Bytes(vec![1; bytes as usize]),
            false => Data::Untold(bytes),
        };
        Box::pin(ready(Ok(data)))
    }

    fn write<'a>(&'a self, _: u32, _: u64, _: Data) -> LocalBoxFuture<'a, Result<(), FileError>> {
        Box::pin(ready(Ok(())))
    }
}

/// A task with a megabyte of memory that does `main`, `times` times over.
fn task(main: &str, times: u32) -> String {
    format!(
        r#"(module
        (import "isc" "file_read" (func $file_read (param i32 i32 i32 i64) (result i64)))
        (import "isc" "submit_read" (func $submit_read (param i32 i32 i32 i64) (result i32)))
        (import "isc" "wait" (func $wait (param i32) (result i64)))
        (memory (export "memory") 16)
        (func (export "isc_main") (result i32) (local $i i32)
          (local.set $i (i32.const {times}))
          (loop $again
            {main}
            (br_if $again (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))
          (i32.const 0)))"#
    )
}

/// Runs a program so many times, one after the other; gives how long that takes.
fn run(on: &(Simulation, Rc<Tasks>), program: &Program, has_data: bool, times: u32) -> Duration {
    let (simulation, tasks) = on;
    let (tasks, program) = (tasks.clone(), program.clone());
    let begin = Instant::now();
    let over = simulation.block_on(async move {
        let files: Rc<dyn Files> = Rc::new(AtOnce { has_data });
        let origin = Origin::new(Tenant(6), Priority::High);
        for _ in 0..times {
            let limits = tasks.limits();
            let run = tasks
                .run(&program, files.clone(), &[], limits, origin)
                .await;
            assert_eq!(run.ended, Ended::Returned(Vec::new()));
        }
    });
    over.expect("it ends");
    begin.elapsed()
}

fn main() {
    let on = tasks();
    let load = |text: &str| {
        let module = wat::parse_str(text).expect("a module");
        let begin = Instant::now();
        let program = on.1.load(&module).expect("a task");
        (program, begin.elapsed())
    };
    let (_, first) = load(&task("nop", 1));
    let (nothing, again) = load(&task("nop", 1));
    println!("load a small module: {first:?} the first, {again:?} another");
    run(&on, &nothing, false, 100);
    let start = run(&on, &nothing, false, STARTS) / STARTS;
    println!("start and end of a loaded task: {start:?}");
    let in_turn = format!(
        "(drop (call $file_read (i32.const 0) (i32.const 0) (i32.const {BYTES}) (i64.const 0)))"
    );
    let one = format!(
        "(drop (call $wait (call $submit_read (i32.const 0) (i32.const 0) (i32.const {BYTES}) (i64.const 0))))"
    );
    for (how, main) in [("in turn", in_turn), ("submitted", one)] {
        let (program, _) = load(&task(&main, READS));
        for has_data in [false, true] {
            let took = run(&on, &program, has_data, 1);
            let rate = f64::from(READS) / took.as_secs_f64() / 1e6;
            let data = if has_data { "with data" } else { "timing only" };
            println!("reads of {BYTES} bytes {how}, {data}: {rate:.2} M/s");
        }
    }
}
