//! Files that are no objects of the volume: a file system on the drive says where they lie.

use bitline::{
    Attach, Content, Drive, Ended, Error, Extent, Pace, Placed, StreamRun, TaskFile, TaskRun,
};

use crate::modules::copy;
use crate::streams::{echo, load};
use crate::{drive, write_file};

/// Bytes of a block.
const BLOCK: usize = 512;

/// Blocks of a logical page.
const PAGE_BLOCKS: u64 = 8;

/// So many bytes from a block on, in two pieces of whole pages, the second of which comes first.
fn placed(first: u64, bytes: u64) -> Placed {
    let blocks = bytes.div_ceil(BLOCK as u64).next_multiple_of(PAGE_BLOCKS);
    let half = (blocks / 2).next_multiple_of(PAGE_BLOCKS);
    let extents = vec![
        Extent {
            first: first + half,
            blocks: blocks - half,
        },
        Extent {
            first,
            blocks: half,
        },
    ];
    Placed::new(bytes, extents)
}

fn data(bytes: u64) -> Vec<u8> {
    (0..bytes).map(|byte| (byte * 7 % 251) as u8).collect()
}

fn write(drive: &mut Drive, placed: &Placed, data: &[u8]) {
    let blocks: u64 = placed.extents.iter().map(|extent| extent.blocks).sum();
    let mut padded = data.to_vec();
    padded.resize(blocks as usize * BLOCK, 0);
    let mut rest = &padded[..];
    for extent in &placed.extents {
        let (now, later) = rest.split_at(extent.blocks as usize * BLOCK);
        drive.write(extent.first, now).expect("it is there");
        rest = later;
    }
}

fn read(drive: &mut Drive, placed: &Placed) -> Vec<u8> {
    let mut found = Vec::new();
    for extent in &placed.extents {
        found.extend(
            drive
                .read(extent.first, extent.blocks)
                .expect("it is there"),
        );
    }
    found.truncate(placed.bytes as usize);
    found
}

#[test]
fn a_task_copies_one_file_to_another() {
    let mut drive = drive(&[]);
    let (from, to) = (placed(64, 23_456), placed(512, 23_456));
    write(&mut drive, &from, &data(23_456));
    let files = vec![
        TaskFile::read("from").at(from.clone()),
        TaskFile::write("to").at(to.clone()),
    ];
    let outcome = drive
        .tasks()
        .run_module(&copy(), &TaskRun::of(files.clone()))
        .expect("it is begun");
    assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
    assert!(read(&mut drive, &to) == data(23_456));
    write(&mut drive, &to, &vec![0; 23_456]);
    // The host's own processor, to compare with.
    let outcome = drive
        .tasks()
        .run_on_host(&copy(), &files, &[], Default::default())
        .expect("it is begun");
    assert_eq!(outcome.ended, Ended::Committed, "{}", outcome.reason);
    assert!(read(&mut drive, &to) == data(23_456));
}

#[test]
fn objects_and_placed_files_go_together() {
    let mut drive = drive(&[]);
    write_file(&mut drive, "object", &data(10_000));
    let to = placed(64, 10_000);
    write(&mut drive, &to, &vec![1; 10_000]);
    let files = vec![
        TaskFile::read("object"),
        TaskFile::write("to").at(to.clone()),
    ];
    let ran = drive.tasks().run_module(&copy(), &TaskRun::of(files));
    assert_eq!(ran.expect("it is begun").ended, Ended::Committed);
    assert!(read(&mut drive, &to) == data(10_000));
}

#[test]
fn streams_read_and_write_them() {
    let mut drive = drive(&[]);
    let (from, to) = (placed(64, 30_000), placed(512, 30_000));
    write(&mut drive, &from, &data(30_000));
    let program = load(&mut drive, &echo());
    let run = TaskRun::of(vec![TaskFile::read("from").at(from.clone())]);
    let stream = drive
        .streams()
        .open(&program, &StreamRun::of(run).from_file(0));
    let mut stream = stream.expect("it is opened");
    let got = drive.streams().read(&mut stream, 40_000).expect("data");
    assert!(got == data(30_000));
    drive.streams().close(stream).expect("it is closed");

    let files = vec![
        TaskFile::read("from").at(from),
        TaskFile::write("to").at(to.clone()),
    ];
    let asked = StreamRun::of(TaskRun::of(files)).from_file(0).into_file(1);
    let mut stream = drive.streams().open(&program, &asked).expect("opened");
    // As long as it writes the file, no collector fills it.
    let held = drive
        .collectors()
        .attach(&Attach::to(0, "to").at(to.clone()));
    assert!(matches!(held, Err(Error::Held { .. })));
    let outcome = drive.streams().outcome(&mut stream).expect("it is over");
    assert_eq!(outcome.ended, Ended::Committed);
    assert!(read(&mut drive, &to) == data(30_000));
}

#[test]
fn a_collector_fills_one_and_holds_it() {
    let mut drive = crate::collectors::drive(&[]);
    let to = placed(64, 40_000);
    write(&mut drive, &to, &vec![1; 40_000]);
    let asked = Attach::to(0, "frames").at(to.clone());
    let growing = drive.collectors().attach(&asked.clone().growing(0, 4096));
    let refused = growing.err().expect("it does not grow").to_string();
    assert!(refused.contains("file system"), "{refused}");
    let collector = drive.collectors().attach(&asked).expect("it is attached");
    let files = TaskRun::of(vec![
        TaskFile::read("from").at(placed(512, 10_000)),
        TaskFile::write("to").at(to.clone()),
    ]);
    let held = drive.tasks().run_module(&copy(), &files);
    assert!(matches!(held, Err(Error::Held { .. })));
    let sent = drive
        .collectors()
        .generate(&collector, Pace::even(10e6), 1000, 30_000);
    sent.expect("it sends");
    drive.collectors().run(&collector).expect("it is sent");
    assert_eq!(drive.collectors().detach(collector).expect("over"), 30_000);
    let filled = read(&mut drive, &to);
    assert!(filled[..30_000].iter().any(|byte| *byte != 1));
    assert!(filled[31_000..].iter().all(|byte| *byte == 1));
    let ran = drive.tasks().run_module(&copy(), &files);
    assert_eq!(ran.expect("it is begun").ended, Ended::Committed);
}

#[test]
fn what_is_the_volumes_is_refused() {
    let mut drive = drive(&[]);
    write_file(&mut drive, "object", &data(10_000));
    let object = drive.volume().get("object").expect("it is read");
    let extents = object.expect("it is there").extents;
    let files = vec![
        TaskFile::read("from").at(placed(64, 10_000)),
        TaskFile::write("to").at(Placed::new(10_000, extents)),
    ];
    let refused = drive.tasks().run_module(&copy(), &TaskRun::of(files));
    assert!(matches!(refused, Err(Error::InVolume { .. })));
    let content = drive.volume().read("object").expect("it is there");
    assert!(content == data(10_000));
    let bytes = Content::File { bytes: 5 };
    drive
        .volume()
        .write("other", bytes, b"hello")
        .expect("room");
}

#[test]
fn blocks_that_are_not_there_or_twice_are_refused() {
    let mut drive = drive(&[]);
    let last = drive.blocks().expect("one namespace");
    let beyond = Placed::new(
        1000,
        vec![Extent {
            first: last,
            blocks: PAGE_BLOCKS,
        }],
    );
    let parted = Placed::new(
        1000,
        vec![Extent {
            first: 8,
            blocks: 2,
        }],
    );
    let short = Placed::new(
        5000,
        vec![Extent {
            first: 8,
            blocks: PAGE_BLOCKS,
        }],
    );
    for (file, word) in [
        (beyond, "the namespace has"),
        (parted, "parts of logical pages of 4096 bytes"),
        (short, "lies in 8 blocks"),
    ] {
        let files = vec![TaskFile::read("from").at(file)];
        let refused = drive.tasks().run_module(&copy(), &TaskRun::of(files));
        let refused = refused.expect_err("it is refused").to_string();
        assert!(refused.contains(word), "{refused}");
    }
    let files = vec![
        TaskFile::read("from").at(placed(64, 10_000)),
        TaskFile::write("to").at(placed(72, 10_000)),
    ];
    let refused = drive.tasks().run_module(&copy(), &TaskRun::of(files));
    let refused = refused.expect_err("they overlap").to_string();
    assert!(refused.contains("belongs to file"), "{refused}");
}
