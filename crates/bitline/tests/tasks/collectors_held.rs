//! What collectors fill: it grows by whole pages wherever it began, nobody else changes it meanwhile, and what fails can be tried again.

use bitline::inside::InsideDrive;
use bitline::inside::nvme::collector::{CollectorState, Policy};
use bitline::{Attach, Collector, Content, Drive, Error, ErrorKind, StreamRun, TaskRun};
use sim::Span;

use crate::collectors::{Counting, FAST, allocate, attach, bytes, drive, feeding, status};
use crate::cut;
use crate::streams::{echo, from_file, into_file, load};

pub(crate) fn send(drive: &mut Drive, collector: &Collector, count: u64) {
    let source = Counting::new(&[700, 4096, 33, 9000], count, Span::from_us(150));
    drive.collectors().send(collector, source).expect("power");
}

pub(crate) fn run(drive: &mut Drive, collector: &Collector) -> Result<(), Error> {
    drive.collectors().run(collector)
}

pub(crate) fn detach(drive: &mut Drive, collector: Collector) -> u64 {
    drive.collectors().detach(collector).expect("it ends")
}

pub(crate) fn read(drive: &mut Drive, name: &str) -> Vec<u8> {
    drive.volume().read(name).expect("it is there")
}

/// What is refused, in words, by something that a caller has done wrong.
fn refused<T>(result: Result<T, Error>) -> String {
    let error = result.map(drop).expect_err("it cannot be");
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    error.to_string()
}

#[test]
fn objects_of_any_size_grow_by_any_size() {
    for first in [0, 1, 100, 4095, 4096, 10_000, 65_536] {
        for (low, by) in [(0, 1), (1, 1000), (2048, 4096), (50_000, 100_001)] {
            let mut drive = drive(&[]);
            allocate(&mut drive, "frames", first);
            let asked = Attach::to(0, "frames").wired(FAST).growing(low, by);
            let collector = attach(&mut drive, &asked);
            send(&mut drive, &collector, 123_457);
            run(&mut drive, &collector).expect("it grows");
            assert_eq!(detach(&mut drive, collector), 123_457, "{first}, {by}");
            let kept = read(&mut drive, "frames");
            assert!(kept == bytes(0, 123_457), "{first} bytes by {by}");
        }
    }
}

/// Detached while much is on its way, and nothing that was taken in is lost.
#[test]
fn an_object_that_grows_takes_what_came_before_its_end() {
    for after in [1, 40, 900, 5000, 20_000] {
        let mut drive = drive(&[]);
        allocate(&mut drive, "frames", 5000);
        let asked = Attach::to(0, "frames").wired(FAST).growing(1, 5000);
        let collector = attach(&mut drive, &asked);
        let source = Counting::new(&[1500], 2_000_000, Span::from_us(2));
        drive.collectors().send(&collector, source).expect("power");
        crate::collectors::wait(&mut drive, Span::from_us(after));
        let had = detach(&mut drive, collector.clone());
        let told = status(&mut drive, &collector);
        assert_eq!(told.lost_bytes.get(), 0);
        assert_eq!(told.packet_bytes.get(), had, "{after}");
        assert!(read(&mut drive, "frames") == bytes(0, had), "{after}");
    }
}

/// What there was no room for is told, and is not in the object.
#[test]
fn what_does_not_fit_is_told() {
    for policy in Policy::ALL {
        let mut drive = drive(&[]);
        allocate(&mut drive, "frames", 10_000);
        let asked = Attach::to(0, "frames").wired(FAST).policy(policy);
        let collector = attach(&mut drive, &asked);
        send(&mut drive, &collector, 30_000);
        run(&mut drive, &collector).expect("the rest is in the switch");
        assert_eq!(detach(&mut drive, collector.clone()), 10_000);
        let told = status(&mut drive, &collector);
        assert_eq!(
            CollectorState::of_code(told.state),
            Some(CollectorState::Over)
        );
        assert_eq!(told.lost_bytes.get(), 20_000, "{policy:?}");
        assert_eq!(told.oldest_bytes.get(), 0, "{policy:?}");
        assert!(read(&mut drive, "frames") == bytes(0, 10_000));
        let counts = drive.statistics().expect("power").collectors;
        assert_eq!(counts.lost_bytes, 20_000);
        assert_eq!(detach(&mut drive, collector), 10_000, "told again");
    }
}

#[test]
fn a_source_that_is_held_back_for_ever_is_told_of() {
    for through_host in [false, true] {
        let mut drive = drive(&[("host.receiver.buffer_bytes", "1048576")]);
        allocate(&mut drive, "frames", 10_000);
        let mut asked = Attach::to(0, "frames").wired(FAST);
        match through_host {
            true => asked = asked.through_host(),
            false => asked = asked.share(64 << 10),
        }
        let collector = attach(&mut drive, &asked);
        send(&mut drive, &collector, 2_000_000);
        let text = refused(run(&mut drive, &collector));
        assert!(text.contains("is full"), "{text}");
        assert_eq!(detach(&mut drive, collector.clone()), 10_000);
        let told = status(&mut drive, &collector);
        let lost = told.packet_bytes.get() - 10_000;
        assert_eq!(told.lost_bytes.get(), lost);
        assert!(read(&mut drive, "frames") == bytes(0, 10_000));
    }
}

#[test]
fn nobody_else_changes_what_is_collected_to() {
    for through_host in [false, true] {
        let mut drive = drive(&[]);
        allocate(&mut drive, "frames", 40_000);
        let mut asked = Attach::to(0, "frames").wired(FAST);
        asked.through_host = through_host;
        let collector = attach(&mut drive, &asked);
        send(&mut drive, &collector, 9_000);
        let held = |result: Result<(), Error>| {
            let text = refused(result);
            assert!(
                text.contains("\"frames\" is held by the collector at port 0"),
                "{text}"
            );
        };
        held(drive.volume().remove("frames"));
        held(drive.volume().truncate("frames", 100));
        held(drive.volume().append("frames", b"more"));
        held(
            drive
                .volume()
                .write("frames", Content::File { bytes: 3 }, b"abc"),
        );
        held(
            drive
                .collectors()
                .attach(&Attach::to(1, "frames"))
                .map(drop),
        );
        let other = Attach::to(1, "frames").through_host();
        held(drive.collectors().attach(&other).map(drop));
        drive
            .volume()
            .rename("frames", "film")
            .expect("the same object");
        run(&mut drive, &collector).expect("power");
        assert_eq!(detach(&mut drive, collector), 9_000);
        assert!(read(&mut drive, "film") == bytes(0, 9_000));
        drive.volume().remove("film").expect("it is free");
    }
}

#[test]
fn what_a_stream_writes_is_held_until_it_is_over() {
    let mut drive = drive(&[]);
    let file = |drive: &mut Drive, name: &str| {
        let content = Content::File { bytes: 20_000 };
        let written = drive.volume().write(name, content, &bytes(0, 20_000));
        written.expect("room");
    };
    file(&mut drive, "from");
    file(&mut drive, "to");
    let program = load(&mut drive, &echo());
    let run = into_file("from", "to");
    let mut stream = drive.streams().open(&program, &run).expect("it opens");
    let text = refused(drive.volume().remove("to"));
    assert!(text.contains("close it first"), "{text}");
    drive.streams().outcome(&mut stream).expect("well");
    drive.volume().remove("to").expect("nobody writes it");
    drive.streams().close(stream).expect("open");

    // A card reads its input while the host may do anything else.
    let run = from_file("from");
    let opened = drive.streams().open_on_card(&echo(), &run);
    let mut stream = opened.expect("it opens");
    let text = refused(drive.volume().truncate("from", 5));
    assert!(text.contains("of the card: close it first"), "{text}");
    let read = drive.streams().read(&mut stream, 20_000).expect("well");
    assert!(read == bytes(0, 20_000));
    drive.streams().close(stream).expect("open");
    drive.volume().truncate("from", 5).expect("it is free");
}

/// Refused, for a stream that needs the object as it is; and carried out when that is closed.
#[test]
fn what_could_not_be_detached_can_be_later() {
    let mut drive = drive(&[]);
    allocate(&mut drive, "frames", 40_000);
    let collector = attach(&mut drive, &Attach::to(0, "frames").wired(FAST));
    send(&mut drive, &collector, 9_000);
    run(&mut drive, &collector).expect("power");
    let opened = drive.streams().open_on_card(&echo(), &from_file("frames"));
    let stream = opened.expect("it opens");
    let text = refused(drive.collectors().detach(collector.clone()));
    assert!(text.contains("of the card"), "{text}");
    send(&mut drive, &collector, 0);
    drive.streams().close(stream).expect("open");
    assert_eq!(detach(&mut drive, collector), 9_000);
    assert!(read(&mut drive, "frames") == bytes(0, 9_000));
}

/// More than all buffers hold: it is fetched while somebody waits for the collector, and read later.
#[test]
fn what_a_stream_makes_is_read_after_its_collector_is_gone() {
    for is_kept in [false, true] {
        let mut drive = drive(&[]);
        let collector = feeding(&mut drive, is_kept, 4 << 20);
        let program = load(&mut drive, &echo());
        let asked = StreamRun::of(TaskRun::of(Vec::new())).from_collector(0);
        let opened = drive.streams().open(&program, &asked);
        let mut stream = opened.expect("room");
        const ALL: u64 = 3_000_001;
        let source = Counting::new(&[5000], ALL, Span::from_us(20));
        drive.collectors().send(&collector, source).expect("power");
        run(&mut drive, &collector).expect("power");
        let kept = detach(&mut drive, collector);
        assert_eq!(kept, if is_kept { ALL } else { 0 });
        let mut got = Vec::new();
        for each in [1, 100_000, 4 << 20] {
            got.extend(drive.streams().read(&mut stream, each).expect("well"));
        }
        assert!(got == bytes(0, ALL), "{} bytes", got.len());
        drive.streams().close(stream).expect("open");
    }
}

#[test]
fn after_a_power_cut_nothing_is_forgotten_by_accident() {
    let mut drive = drive(&[]);
    allocate(&mut drive, "frames", 40_000);
    allocate(&mut drive, "other", 40_000);
    let asked = Attach::to(0, "frames").wired(FAST);
    let collector = attach(&mut drive, &asked);
    send(&mut drive, &collector, 20_000);
    run(&mut drive, &collector).expect("power");
    cut(&mut drive);
    let text = refused(run(&mut drive, &collector));
    assert!(text.contains("the power was cut"), "{text}");
    for asked in [&asked, &Attach::to(0, "other"), &Attach::for_streams(0)] {
        let text = refused(drive.collectors().attach(asked));
        assert!(text.contains("settle it first"), "{text}");
    }
    let text = refused(
        drive
            .collectors()
            .attach(&Attach::to(0, "other").going_on()),
    );
    assert!(text.contains("went to \"frames\""), "{text}");
    for other in [Attach::to(1, "frames"), asked.clone().through_host()] {
        let text = refused(drive.collectors().attach(&other));
        assert!(text.contains("settle that first"), "{text}");
    }
    let kept = drive.collectors().detach(collector).expect("it is settled");
    assert!(read(&mut drive, "frames") == bytes(0, kept));
    assert!(drive.collectors().list().expect("power").is_empty());

    // One that was made shorter is what it is.
    drive.volume().remove("frames").expect("it is settled");
    allocate(&mut drive, "frames", 40_000);
    let collector = attach(&mut drive, &asked);
    send(&mut drive, &collector, 20_000);
    run(&mut drive, &collector).expect("power");
    crate::collectors::wait(&mut drive, Span::from_us(2_000_000));
    let told = status(&mut drive, &collector).bytes.get();
    assert_eq!(told, 16_384, "whole pages are there");
    cut(&mut drive);
    drive
        .volume()
        .truncate("frames", 5)
        .expect("nobody holds it");
    let text = refused(drive.collectors().attach(&asked.clone().going_on()));
    assert!(text.contains("has only 5 now"), "{text}");
    assert_eq!(drive.collectors().settle(0).expect("over"), 5);
    assert!(read(&mut drive, "frames") == bytes(0, 5));

    // An object that is gone leaves nothing to go on with, and nothing in the way.
    let collector = attach(&mut drive, &Attach::to(0, "other"));
    send(&mut drive, &collector, 20_000);
    cut(&mut drive);
    drive.volume().remove("other").expect("nobody holds it");
    let text = refused(drive.collectors().attach(&asked.clone().going_on()));
    assert!(text.contains("an object that is gone"), "{text}");
    assert_eq!(drive.collectors().settle(0).expect("over"), 0);
    assert!(drive.collectors().list().expect("power").is_empty());
    refused(drive.collectors().settle(0));
}

#[test]
fn a_collector_of_the_host_ends_with_the_power() {
    let mut drive = drive(&[]);
    allocate(&mut drive, "frames", 40_000);
    let asked = Attach::to(0, "frames").wired(FAST).through_host();
    let collector = attach(&mut drive, &asked);
    send(&mut drive, &collector, 20_000);
    cut(&mut drive);
    for result in [
        drive.collectors().status(&collector).map(drop),
        drive.collectors().run(&collector),
        drive.collectors().detach(collector).map(drop),
    ] {
        let text = refused(result);
        assert!(text.contains("the power was cut"), "{text}");
    }
    let collector = attach(&mut drive, &asked);
    send(&mut drive, &collector, 20_000);
    run(&mut drive, &collector).expect("power");
    assert_eq!(detach(&mut drive, collector), 20_000);
}

/// Two who close one collection at once, and two who open one: its share of the switch comes back once, and its end is told once.
#[test]
fn one_port_has_one_collection_whoever_asks_at_once() {
    use host::collectors::{Collection, CollectorDevice};
    let mut drive = drive(&[]);
    let ports = drive.device().expect("power").collectors.clone();
    ports.plug(0, FAST).expect("a wire");
    let outcomes = drive.run(|host| async move {
        use bitline::inside::InsideHost;
        let device = CollectorDevice::new(host.block().clone());
        let asked = Collection::default();
        let mut outcomes = Vec::new();
        for _ in 0..40 {
            let opened = sim::join(device.open(0, &asked), device.open(0, &asked)).await;
            outcomes.push((opened.0.is_ok(), opened.1.is_ok()));
            let closed = sim::join(device.close(0), device.close(0)).await;
            outcomes.push((closed.0.is_ok(), closed.1.is_ok()));
        }
        outcomes
    });
    let outcomes = outcomes.expect("power");
    assert!(
        outcomes.iter().all(|(first, second)| first != second),
        "{outcomes:?}"
    );
    assert_eq!(drive.statistics().expect("power").collectors.opened, 40);
}

/// What is durable stays what was collected: no stream and no run writes there, and no collector fills what a stream writes.
#[test]
fn nothing_else_writes_to_what_is_collected_to() {
    let mut drive = drive(&[]);
    allocate(&mut drive, "frames", 40_000);
    allocate(&mut drive, "other", 40_000);
    let program = load(&mut drive, &echo());
    let written = into_file("other", "frames");
    let collector = attach(&mut drive, &Attach::to(0, "frames").wired(FAST));
    send(&mut drive, &collector, 9_000);
    let refusals = [
        drive.streams().open(&program, &written).map(drop),
        drive.streams().open_on_card(&echo(), &written).map(drop),
        drive.tasks().run(&program, &written.run).map(drop),
        drive.volume().write_at("frames", 0, b"mine"),
    ];
    for refusal in refusals {
        let text = refused(refusal);
        assert!(text.contains("held by the collector at port 0"), "{text}");
    }
    run(&mut drive, &collector).expect("power");
    assert_eq!(detach(&mut drive, collector), 9_000);
    assert!(read(&mut drive, "frames") == bytes(0, 9_000));
    let stream = drive
        .streams()
        .open(&program, &into_file("other", "frames"));
    let stream = stream.expect("it is free");
    let text = refused(drive.collectors().attach(&Attach::to(0, "frames")));
    assert!(text.contains("held by stream"), "{text}");
    drive.streams().close(stream).expect("open");
}

/// A reader is told that nothing more will come, instead of waiting for ever; what came is read before.
#[test]
fn who_reads_what_a_full_object_holds_back_is_told() {
    for output in [false, true] {
        let mut drive = drive(&[]);
        allocate(&mut drive, "frames", 4096);
        let made = Content::File { bytes: 600_000 };
        let written = drive.volume().write("made", made, &vec![0; 600_000]);
        written.expect("room");
        let asked = Attach::to(0, "frames").wired(FAST).share(64 << 10);
        let collector = attach(&mut drive, &asked);
        let program = load(&mut drive, &echo());
        let files = match output {
            true => into_file("frames", "made").run.files[1..].to_vec(),
            false => Vec::new(),
        };
        let mut asked = StreamRun::of(TaskRun::of(files)).from_collector(0);
        if output {
            asked = asked.into_file(0);
        }
        let opened = drive.streams().open(&program, &asked.piece_bytes(1000));
        let mut stream = opened.expect("room");
        send(&mut drive, &collector, 500_000);
        let mut had = 0;
        let error = loop {
            match drive.streams().read(&mut stream, 100_000) {
                Ok(read) => had += read.len() as u64,
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("is held back"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert_eq!(had >= 4000, !output, "{had} bytes");
        assert_eq!(detach(&mut drive, collector), 4096);
        drive.streams().close(stream).expect("open");
    }
}
