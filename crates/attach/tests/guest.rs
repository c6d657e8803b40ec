//! A Linux guest as a host: the kernel's own initiator, nvme-cli, ext4; first what docs/nvme-tcp.md has a reader do, to the letter.
//! Skipped loudly where QEMU, the kernel's package or a program is missing, unless `BITLINE_REQUIRE_GUEST` is set.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use attach::engine::{Engine, Pace};
use attach::tcp::{Listen, SUBSYSTEM_NQN, Server, ServerOptions};
use bitline::{Config, Drive};

/// How long all of it may take.
const PATIENCE: Duration = Duration::from_secs(600);
/// What it has to say.
const STEPS: [&str; 12] = [
    "page", "discover", "connect", "kept", "identify", "smart", "logs", "vendor", "mkfs", "copy",
    "cut", "fsck",
];

#[test]
fn a_linux_guest_works_on_it() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("guest");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guest");
    let commands = folder.with_extension("commands");
    fs::write(&commands, commands_of_the_page()).expect("room");
    let built = Command::new("sh")
        .arg(source.join("build.sh"))
        .arg(&folder)
        .arg(source.join("init"))
        .arg(&commands)
        .output()
        .expect("a shell");
    if !built.status.success() {
        let why = String::from_utf8_lossy(&built.stderr);
        assert!(
            std::env::var_os("BITLINE_REQUIRE_GUEST").is_none(),
            "no guest: {why}"
        );
        eprintln!("SKIPPED: no guest was run, {}", why.trim());
        return;
    }
    let open = || Drive::open(Config::preset(bitline::DEFAULT_PRESET)?);
    let engine = Engine::start(open, Pace::None).expect("a drive");
    let mut options = ServerOptions::default();
    options.listen = vec![Listen::Tcp("127.0.0.1:0".parse().expect("an address"))];
    let mut server = Server::start(engine.handle(), &options).expect("a port");
    let address = server.addresses()[0];
    options.listen = vec![Listen::Tcp(address)];
    let began = Instant::now();
    let mut guest = boot(&folder, address.port());
    let lines = lines_of(&mut guest);
    let (mut said, mut steps) = (Vec::new(), Vec::new());
    while let Ok(line) = lines.recv_timeout(PATIENCE.saturating_sub(began.elapsed())) {
        println!("{:6.1} {line}", began.elapsed().as_secs_f64());
        if line == "CUT" {
            server.close();
            thread::sleep(Duration::from_millis(300));
            server = Server::start(engine.handle(), &options).expect("the same port");
        }
        if let Some(step) = line.strip_prefix("OK ") {
            steps.push(step.to_owned());
        }
        let is_over = line == "ALL DONE" || line.starts_with("FAILED");
        said.push(line);
        if is_over {
            break;
        }
    }
    // It has said what there was to say, or is stuck.
    let _ = guest.kill();
    guest.wait().expect("it was ours");
    for step in STEPS {
        assert!(steps.iter().any(|done| done == step), "{step}: {said:#?}");
    }
    let snapshot = server.snapshot();
    println!("{snapshot:?}");
    server.close();
    engine.close().expect("no image");
}

/// What the page says that is to be typed in a guest, from top to bottom.
fn commands_of_the_page() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/nvme-tcp.md");
    let page = fs::read_to_string(page).expect("the page");
    let (_, section) = page.split_once("\n### In the guest\n").expect("it");
    let (section, _) = section.split_once("\n### ").expect("the next one");
    let blocks = section.split("```console\n").skip(1);
    let commands: String = blocks
        .filter_map(|block| block.split_once("```"))
        .map(|(commands, _)| commands)
        .collect();
    assert!(commands.contains("nvme connect"), "{commands}");
    commands
}

fn boot(folder: &Path, port: u16) -> Child {
    let says =
        format!("console=ttyS0 quiet panic=-1 bitline_port={port} bitline_nqn={SUBSYSTEM_NQN}");
    let memory = ["-accel", "tcg", "-cpu", "max", "-m", "512"];
    Command::new("qemu-system-x86_64")
        .args(memory)
        .args([
            "-nographic",
            "-no-reboot",
            "-nodefaults",
            "-serial",
            "stdio",
        ])
        .args(["-netdev", "user,id=net"])
        .args(["-device", "virtio-net-pci,netdev=net"])
        .arg("-kernel")
        .arg(folder.join("vmlinuz"))
        .arg("-initrd")
        .arg(folder.join("initrd"))
        .args(["-append", &says])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("the build found QEMU")
}

/// What the guest says, line by line.
fn lines_of(guest: &mut Child) -> mpsc::Receiver<String> {
    let (tell, told) = mpsc::channel();
    let output = guest.stdout.take().expect("it is piped");
    thread::spawn(move || {
        let mut lines = BufReader::new(output).split(b'\n');
        while let Some(Ok(line)) = lines.next() {
            let line = String::from_utf8_lossy(&line).trim().to_owned();
            if tell.send(line).is_err() {
                return;
            }
        }
    });
    told
}
