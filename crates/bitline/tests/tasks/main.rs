//! Tasks on whole drives: programs loaded, activated and kept, runs over objects of the volume, and what the drive makes of
//! requests that no library sends.

mod aborted;
mod atomic;
mod beside;
mod collectors;
mod collectors_held;
mod collectors_kept;
mod collectors_stopped;
mod counted;
mod erased;
mod hostile;
mod loading;
mod modules;
mod names;
mod on_host;
mod operators;
mod placed;
mod power;
#[path = "../support/random.rs"]
mod random;
mod running;
mod streams;
mod streams_end;
mod together;
mod vectors;

use bitline::inside::InsideHost;
use bitline::{Config, Content, Drive, Error, Host, HostError, Loading, Outcome, Status, TaskRun};
use host::tasks::{TaskDevice, TaskError};
use nvme::NamespaceId;

use bitline::inside::Queue;

/// The namespace that has the programs: behind that of blocks and that of memory.
const COMPUTE: NamespaceId = NamespaceId::new(3);

/// A small drive with pages of 4096 bytes and blocks of 512.
fn config(changes: &[(&str, &str)]) -> Config {
    const SMALL: [(&str, &str); 9] = [
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.blocks_per_plane", "40"),
        ("nand.geometry.strings_per_block", "2"),
        ("nand.geometry.cells_per_string", "8"),
        ("nand.geometry.page_bytes", "4096"),
        ("frontend.block_bytes", "512"),
        ("ftl.overprovisioning", "0.25"),
        ("ftl.gc.threshold_blocks", "4"),
    ];
    let preset = Config::preset("flash-cosmos").expect("the preset exists");
    let keys = SMALL.iter().chain(changes).copied();
    preset.with(keys).expect("a possible drive")
}

fn drive(changes: &[(&str, &str)]) -> Drive {
    Drive::open(config(changes)).expect("it opens")
}

/// Writes a file of the volume.
fn write_file(drive: &mut Drive, name: &str, data: &[u8]) {
    let bytes = data.len() as u64;
    let written = drive.volume().write(name, Content::File { bytes }, data);
    written.expect("there is room");
}

/// Has an async function use the programs of the drive.
fn with_device<T: 'static, F>(
    drive: &mut Drive,
    function: impl FnOnce(TaskDevice<Queue>) -> F + 'static,
) -> T
where
    F: Future<Output = T> + 'static,
{
    let ran = drive.run(|host| {
        let device = TaskDevice::new(host.block().clone());
        function(device.with_programs_of(COMPUTE))
    });
    ran.expect("it has power")
}

/// The status that a call ended with.
fn status<T: std::fmt::Debug>(outcome: Result<T, TaskError>) -> Status {
    match outcome {
        Ok(_) => Status::SUCCESS,
        Err(TaskError::Device(HostError::Status(error))) => error.status,
        Err(other) => panic!("no status: {other}"),
    }
}

fn drive_status<T: std::fmt::Debug>(outcome: Result<T, Error>) -> Status {
    match outcome {
        Ok(_) => Status::SUCCESS,
        Err(Error::Host(HostError::Status(error))) => error.status,
        Err(other) => panic!("no status: {other}"),
    }
}

/// Cuts the power, and powers up.
fn cut(drive: &mut Drive) {
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
}

/// Runs a module while somebody else does something, who begins so many events before it or after it.
fn beside(
    drive: &mut Drive,
    (module, run): (&[u8], TaskRun),
    (events, comes_first): (u32, bool),
    other: impl AsyncFnOnce(&Host) + 'static,
) -> Outcome {
    let program = drive.tasks().load(module, Loading::default());
    let program = program.expect("room");
    let task = async move |host: Host| host.run_program(&program, &run).await;
    let other = async move |host: Host| other(&host).await;
    let step = |drive: &mut Drive| {
        for _ in 0..events {
            drive.simulation().expect("power").step();
        }
    };
    let (task, other) = if comes_first {
        let other = drive.submit(other).expect("power");
        step(drive);
        (drive.submit(task).expect("power"), other)
    } else {
        let task = drive.submit(task).expect("power");
        step(drive);
        (task, drive.submit(other).expect("power"))
    };
    let outcome = drive.wait(&task).expect("power").answer.expect("begun");
    drive.wait(&other).expect("power");
    outcome
}
