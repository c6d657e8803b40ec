//! A camera into a drive: frames go to flash and, on the same way, to a program that keeps their bright bytes (TH-iSSD, Figure 3).

use bitline::inside::sim::Span;
use bitline::{Attach, Config, Drive, Loading, Packet, Source, StreamRun, TaskRun, Wiring};

/// Emits bytes of 250 and more.
const BRIGHT: &str = r#"(module
  (import "isc" "stream_next" (func $next (param i32 i32 i32) (result i64)))
  (import "isc" "stream_emit" (func $emit (param i32 i32) (result i64)))
  (memory (export "memory") 3)
  (func (export "isc_main") (result i32) (local $got i32) (local $at i32) (local $kept i32)
    (loop $pieces
      (local.set $got (i32.wrap_i64 (call $next (i32.const 1024) (i32.const 65536) (i32.const 0))))
      (if (i32.gt_s (local.get $got) (i32.const 0)) (then
        (local.set $at (i32.const 0))
        (local.set $kept (i32.const 0))
        (loop $bytes
          (if (i32.ge_u (i32.load8_u (i32.add (i32.const 1024) (local.get $at))) (i32.const 250)) (then
            (i32.store8 (i32.add (i32.const 70000) (local.get $kept))
              (i32.load8_u (i32.add (i32.const 1024) (local.get $at))))
            (local.set $kept (i32.add (local.get $kept) (i32.const 1)))))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br_if $bytes (i32.lt_u (local.get $at) (local.get $got))))
        (drop (call $emit (i32.const 70000) (local.get $kept)))
        (br $pieces))))
    (i32.const 0)))"#;

const FRAME: usize = 30_000;

/// Frames, thirty a second.
struct Camera {
    frames: std::vec::IntoIter<Vec<u8>>,
}

impl Source for Camera {
    fn next(&mut self) -> Option<Packet> {
        let data = self.frames.next()?;
        let after = Span::from_us(33_333);
        Some(Packet { after, data })
    }
}

fn main() -> Result<(), bitline::Error> {
    let frames: Vec<Vec<u8>> = (0..60_usize)
        .map(|number| (0..FRAME).map(|at| (at * 7 + number) as u8).collect())
        .collect();
    let sent = frames.concat();
    let mut drive = Drive::open(Config::preset("flash-cosmos")?)?;
    drive.collectors().allocate("video", 4 << 20)?;
    let camera = Attach::to(0, "video").wired(Wiring {
        bytes_per_second: 125_000_000, // Gigabit Ethernet
        packet_bytes: 1500,
        overhead_bytes: 38,
    });
    let collector = drive.collectors().attach(&camera)?;
    let module = wat::parse_str(BRIGHT).expect("a module");
    let program = drive.tasks().load(&module, Loading::default())?;
    let run = StreamRun::of(TaskRun::default())
        .from_collector(0)
        .piece_bytes(FRAME as u32);
    let mut stream = drive.streams().open(&program, &run)?;
    let source = Camera {
        frames: frames.into_iter(),
    };
    drive.collectors().send(&collector, source)?;
    drive.collectors().run(&collector)?;
    let kept = drive.collectors().detach(collector)?;
    let bright = drive.streams().read(&mut stream, sent.len() as u64)?;
    drive.streams().close(stream)?;
    let counts = drive.statistics()?.collectors;
    println!(
        "{} packets, {kept} bytes on flash, {} bright",
        counts.packets,
        bright.len()
    );
    assert_eq!(counts.task_bytes, sent.len() as u64);
    assert!(drive.volume().read("video")? == sent);
    assert!(bright.iter().eq(sent.iter().filter(|byte| **byte >= 250)));
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_runs() {
        super::main().expect("it runs");
    }
}
