//! Tasks on files of a mounted file system by a host that is connected to the drive over NVMe/TCP, as another process is.

use std::fs;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::thread;

use attach::engine::Pace;
use attach::initiator::{self, Address, Options};
use attach::mounted::{Mounted, Sharing, run};
use attach::tcp::{Listen, Server, ServerOptions};
use bitline::{Drive, Ended, TaskRun};

use crate::live::{copy, invert, inverted, on_each};
use crate::place::{data, write_file};

/// The drive of another process; nobody breaks a call off.
pub(crate) fn connect(address: &Address) -> Result<Drive, bitline::Error> {
    let watch = Rc::new(|| ControlFlow::Continue(()));
    initiator::connect(address, Options::default(), watch)
}

#[test]
fn a_connected_host_runs_tasks_on_files() {
    on_each(Pace::None, |rig| {
        let mut options = ServerOptions::default();
        options.listen = vec![Listen::Tcp("127.0.0.1:0".parse().expect("an address"))];
        let server = Server::start(rig.attachment.handle(), &options).expect("a port");
        let address = format!("nvme+tcp://{}", server.addresses()[0]);
        let address = address.parse().expect("an address");
        let written = data(2_000_000, 1);
        write_file(&rig.path("from"), &written);
        thread::scope(|scope| {
            let host = scope.spawn(|| {
                let mut drive = connect(&address).expect("it is served");
                let block_bytes = drive.block_bytes().expect("power");
                let mount = Mounted::open(&rig.folder, block_bytes).expect("it is mounted");
                let read = |first, blocks| drive.read(first, blocks);
                mount.check(read).expect("it is on this drive");
                let files = vec![
                    mount.read("from").expect("it is whole"),
                    mount.create("to", 2_000_000).expect("there is room"),
                ];
                let ran = run(files, |files| {
                    drive.tasks().run_module(&copy(), &TaskRun::of(files))
                });
                assert_eq!(ran.expect("it is begun").ended, Ended::Committed);
                let file = mount.write("from", Sharing::Alone).expect("it is alone");
                let ran = run(vec![file], |files| {
                    drive.tasks().run_module(&invert(1), &TaskRun::of(files))
                });
                assert_eq!(ran.expect("it is begun").ended, Ended::Committed);
                drive.close().map_err(|unclosed| unclosed.error)
            });
            host.join().expect("it ends").expect("it is closed");
        });
        assert!(fs::read(rig.path("to")).expect("it is there") == written);
        assert!(fs::read(rig.path("from")).expect("it is there") == inverted(&written));
        drop(server);
    });
}
