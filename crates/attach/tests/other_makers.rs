//! User-space hosts of other makers, which speak NVMe/TCP without a kernel's help. Neither is in a registry, so that a test is
//! skipped loudly where its host is not:
//! - TrueNAS's in pure Python (github.com/truenas/truenas_pynvmeof_client): `python3` must find the module `nvmeof_client`;
//! - ByteDance's in C (github.com/bytedance/libnvmf): `BITLINE_NVMF_FIO` names its program `nvmf-fio`.

use std::path::Path;
use std::process::{Command, Output};

use attach::engine::{Engine, Pace};
use attach::tcp::{Listen, SUBSYSTEM_NQN, Server, ServerOptions};
use bitline::{Config, Drive};

fn served() -> (Engine, Server) {
    let open = || Drive::open(Config::preset(bitline::DEFAULT_PRESET)?);
    let engine = Engine::start(open, Pace::None).expect("a drive");
    let mut options = ServerOptions::default();
    options.listen = vec![Listen::Tcp("127.0.0.1:0".parse().expect("an address"))];
    let server = Server::start(engine.handle(), &options).expect("a port");
    (engine, server)
}

fn run(command: &mut Command) -> Output {
    command.output().expect("it was found just now")
}

fn said(output: &Output) -> String {
    let (out, error) = (&output.stdout, &output.stderr);
    String::from_utf8_lossy(out).into_owned() + &String::from_utf8_lossy(error)
}

#[test]
fn a_host_in_python_works_on_it() {
    let looks = Command::new("python3")
        .args(["-c", "import nvmeof_client"])
        .output();
    if !looks.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: python3 has no module nvmeof_client");
        return;
    }
    let (_engine, server) = served();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/other_makers/pynvmeof.py");
    let port = server.addresses()[0].port().to_string();
    let output = run(Command::new("python3")
        .arg(script)
        .args([&port, SUBSYSTEM_NQN]));
    let said = said(&output);
    assert!(output.status.success() && said.contains("OK"), "{said}");
}

#[test]
fn a_host_in_c_works_on_it() {
    let Some(program) = std::env::var_os("BITLINE_NVMF_FIO") else {
        eprintln!("SKIPPED: BITLINE_NVMF_FIO names no program");
        return;
    };
    let (_engine, server) = served();
    let name = format!("nvmf-tcp://{}/{SUBSYSTEM_NQN}/1", server.addresses()[0]);
    for digests in [&[][..], &["--hdgst"], &["--ddgst"], &["--hdgst", "--ddgst"]] {
        let mut command = Command::new(&program);
        command.args([
            &*format!("--filename={name}"),
            "--iodepth=32",
            "--ioqueues=1",
        ]);
        command.args(["--randrw", "--runtime=2"]).args(digests);
        let output = run(&mut command);
        let said = said(&output);
        println!("{digests:?}: {said}");
        assert!(output.status.success(), "{said}");
    }
    let counted = server.snapshot().counted;
    assert_eq!(
        (counted.connections_terminated, counted.commands_failed),
        (0, 0)
    );
    assert!(counted.commands > 1000, "{counted:?}");
}
