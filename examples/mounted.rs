//! A task of the drive turns a file of a mounted ext4 into capitals: the host writes the file and reads it, the drive does the rest.
//! It takes root and /dev/fuse, and says so where they are not.

use std::error::Error;
use std::fs;

use attach::attachment::{Attachment, Options};
use attach::engine::Pace;
use attach::mount::{FileSystem, for_file_systems};
use attach::mounted::{Mounted, Sharing};
use attach::unmount::Unmount;
use bitline::{Config, DEFAULT_PRESET, Drive, TaskRun};

/// Makes capitals of the letters of file 0, up to 64 KiB of it.
const CAPITALS: &str = r#"(module
  (import "isc" "file_read" (func $read (param i32 i32 i32 i64) (result i64)))
  (import "isc" "file_write" (func $write (param i32 i32 i32 i64) (result i64)))
  (memory (export "memory") 1)
  (func (export "isc_main") (result i32) (local $bytes i32) (local $at i32) (local $byte i32)
    (local.set $bytes
      (i32.wrap_i64 (call $read (i32.const 0) (i32.const 0) (i32.const 65536) (i64.const 0))))
    (loop $bytes
      (local.set $byte (i32.load8_u (local.get $at)))
      (if (i32.lt_u (i32.sub (local.get $byte) (i32.const 97)) (i32.const 26)) (then
        (i32.store8 (local.get $at) (i32.sub (local.get $byte) (i32.const 32)))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $bytes (i32.lt_u (local.get $at) (local.get $bytes))))
    (drop (call $write (i32.const 0) (i32.const 0) (local.get $bytes) (i64.const 0)))
    (i32.const 0)))"#;

fn main() -> Result<(), Box<dyn Error>> {
    let at = std::env::temp_dir().join(format!("bitline-example-{}", std::process::id()));
    fs::create_dir_all(&at)?;
    let open = || Drive::open(for_file_systems(Config::preset(DEFAULT_PRESET)?, &[]));
    let mut options = Options::new(Pace::None);
    options.mount = Some(FileSystem::Ext4);
    match Attachment::start(open, None, &at, &options) {
        Ok(mut attachment) => {
            let worked = work(&attachment, &at);
            attachment.stop(Unmount::ByForce)?;
            worked?;
        }
        Err(why) => println!("SKIPPED, as nothing can be mounted here: {why}"),
    }
    Ok(fs::remove_dir(&at)?)
}

fn work(attachment: &Attachment, at: &std::path::Path) -> Result<(), Box<dyn Error>> {
    fs::write(at.join("words"), "the drive works on files\n")?;
    let mount = Mounted::open(at, 4096)?;
    let file = mount.write("words", Sharing::Alone)?;
    println!("words lies at {:?}", file.extents());
    let module = wat::parse_str(CAPITALS)?;
    let outcome = attach::mounted::run(vec![file], |files| {
        let asked = TaskRun::of(files);
        let ran = attachment
            .handle()
            .run(move |served| async move { served.host().run_module(&module, &asked).await });
        ran.unwrap_or_else(|error| panic!("{error}"))
    })?;
    println!("{:?} in {} ns", outcome.ended, outcome.nanoseconds);
    print!("{}", fs::read_to_string(at.join("words"))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_runs() {
        super::main().expect("it runs");
    }
}
