//! Volumes on whole drives: power cuts at every event of changes of the catalogue, thousands of objects, other
//! processes, formats. What a volume does by itself is tested beside it, in the host library.

use std::collections::BTreeMap;

use bitline::inside::InsideHost;
use bitline::{Config, Drive};
use host::volume::{Content, Object, Volume, VolumeError, VolumeOptions};

type DriveVolume = Volume<bitline::inside::Queue>;
type Contents = BTreeMap<String, Vec<u8>>;

/// The first block of the volumes.
const FIRST: u64 = 16;

/// A drive so small that it recovers in no time.
fn small(overrides: &[(&str, &str)]) -> Config {
    let keys = [
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.blocks_per_plane", "24"),
        ("nand.geometry.strings_per_block", "2"),
        ("nand.geometry.cells_per_string", "4"),
        ("nand.geometry.page_bytes", "2048"),
        ("frontend.block_bytes", "512"),
        ("ftl.gc.threshold_blocks", "3"),
        ("host.queue_pairs", "1"),
    ];
    let preset = Config::preset("flash-cosmos").expect("a preset");
    let keys = keys.iter().chain(overrides).copied();
    preset.with(keys).expect("a possible drive")
}

async fn open(host: &bitline::Host) -> Result<DriveVolume, VolumeError> {
    Volume::open(host.block().clone(), FIRST).await
}

fn create(drive: &mut Drive, options: VolumeOptions) -> Result<(), VolumeError> {
    let create = move |host: bitline::Host| async move {
        Volume::create(host.block().clone(), options)
            .await
            .map(drop)
    };
    drive.run(create).expect("power")
}

/// Everything that a volume has, by name; free space and objects make the whole.
async fn contents(volume: &DriveVolume) -> Contents {
    let mut found = Contents::new();
    let mut blocks = 0;
    for root in volume.objects() {
        let vectors: Vec<Object> = volume.vectors(root.id).collect();
        for vector in &vectors {
            let data = volume.read(vector.id).await.expect("its blocks are there");
            found.insert(format!("{}/{}", root.name, vector.name), data);
        }
        blocks += vectors
            .iter()
            .chain([&root])
            .flat_map(|object| &object.extents)
            .map(|extent| extent.blocks)
            .sum::<u64>();
        let data = volume.read(root.id).await.expect("its blocks are there");
        found.insert(root.name, data);
    }
    assert_eq!(
        blocks + volume.free_blocks(),
        DATA_BLOCKS,
        "space is neither lost nor counted twice"
    );
    found
}

/// Four catalogue pages an area, so that every fourth commit begins the other one.
fn options() -> VolumeOptions {
    VolumeOptions {
        catalogue_pages: Some(4),
        ..VolumeOptions::new(FIRST, 4 * (2 + 2 * 4) + DATA_BLOCKS)
    }
}

const DATA_BLOCKS: u64 = 4 * 40;

/// Bytes that tell rounds apart.
fn bytes(round: u64, count: usize) -> Vec<u8> {
    (0..count as u64)
        .map(|place| (round * 41 + place * 7) as u8)
        .collect()
}

fn file(data: &[u8]) -> Content {
    Content::File {
        bytes: data.len() as u64,
    }
}

/// One change of many kinds: a file is replaced, another comes or goes, a group with vectors goes and comes.
async fn change(volume: &mut DriveVolume, round: u64) -> Result<(), VolumeError> {
    let mut change = volume.change()?;
    let data = bytes(round, 5000);
    let kept = match change.volume().named("kept") {
        Some(old) => {
            change.replace(old.id, file(&data))?;
            old.id
        }
        None => change.create("kept", file(&data))?,
    };
    change.write(kept, &data).await?;
    match change.volume().named("now and then") {
        Some(old) => change.remove(old.id)?,
        None => drop(change.create("now and then", file(&[]))?),
    }
    if let Some(old) = change.volume().named("group") {
        change.remove(old.id)?;
    }
    let group = change.create_group("group", 8 * 2500, 0, 0)?;
    for name in ["a", "b"] {
        let vector = change.create_vector(group, name, false)?;
        change.write(vector, &bytes(round + 1, 2500)).await?;
    }
    change.commit().await.map(drop)
}

/// A change as it is imagined.
fn after(before: &Contents, round: u64) -> Contents {
    let mut after = before.clone();
    after.insert("kept".into(), bytes(round, 5000));
    if after.remove("now and then").is_none() {
        after.insert("now and then".into(), vec![]);
    }
    after.insert("group".into(), vec![]);
    for name in ["group/a", "group/b"] {
        after.insert(name.into(), bytes(round + 1, 2500));
    }
    after
}

/// Brings the log to where `commits` further ones fit into its area: small commits of a page each.
async fn wind(volume: &mut DriveVolume, commits: u64) -> Result<(), VolumeError> {
    loop {
        let is_compacted = touch(volume).await?;
        if is_compacted {
            break;
        }
    }
    for _ in commits..3 {
        assert!(!touch(volume).await?);
    }
    Ok(())
}

/// A commit that changes nothing.
async fn touch(volume: &mut DriveVolume) -> Result<bool, VolumeError> {
    let mut change = volume.change()?;
    let id = match change.volume().named("touched") {
        Some(object) => object.id,
        None => change.create("touched", file(&[]))?,
    };
    change.rename(id, "touched")?;
    Ok(change.commit().await?.is_compacted)
}

/// Cuts the power after each number of events of a change, until the change is made before; in an area with room for
/// it, or one that is full. How often the old state was left, and how often the new one.
fn cut_at_every_event(overrides: &[(&str, &str)], room: u64) -> [u64; 2] {
    let mut drive = Drive::open(small(overrides)).expect("a drive in memory");
    create(&mut drive, options()).expect("room");
    let mut outcomes = [0; 2];
    for events in 0.. {
        let wound = drive.run(move |host| async move {
            let mut volume = open(&host).await?;
            wind(&mut volume, room).await?;
            Ok::<_, VolumeError>(contents(&volume).await)
        });
        let before = wound.expect("power").expect("nothing is cut here");
        let expected = after(&before, events);
        let (host, simulation) = (
            drive.host().expect("power"),
            drive.simulation().expect("power"),
        );
        let opened = simulation.block_on(async move { open(&host).await });
        let mut volume = opened.expect("it ends").expect("it is whole");
        let task = simulation
            .handle()
            .spawn(async move { change(&mut volume, events).await });
        for _ in 0..events {
            if !simulation.step() {
                break;
            }
        }
        let outcome = task.take();
        drive.power_cut().expect("memory does not fail");
        drive.power_up().expect("it recovers");
        let left = drive
            .run(|host| async move { Ok::<_, VolumeError>(contents(&open(&host).await?).await) });
        let left = left
            .expect("power")
            .unwrap_or_else(|error| panic!("event {events}: {error}"));
        match outcome {
            Some(Ok(())) => {
                assert!(left == expected, "event {events}: it was acknowledged");
                return outcomes;
            }
            Some(Err(error)) => panic!("event {events}: {error}"),
            None => assert!(left == before || left == expected, "event {events}"),
        }
        outcomes[usize::from(left == expected)] += 1;
    }
    outcomes
}

fn check(overrides: &[(&str, &str)]) {
    for room in [0, 1] {
        let outcomes = cut_at_every_event(overrides, room);
        println!("{overrides:?}, room for {room}: {outcomes:?}");
        assert!(outcomes[0] > 40 && outcomes[1] > 5, "{outcomes:?}");
    }
}

#[test]
fn a_cut_at_any_event_leaves_a_change_whole_or_undone() {
    check(&[]);
}

#[test]
fn so_it_does_with_a_volatile_cache() {
    check(&[
        ("cache.mode", "write"),
        ("cache.write_back", "lazy"),
        ("cache.capacity_bytes", "65536"),
    ]);
}

/// Runs a function on the volume; its errors are the test's.
fn with<T: 'static, F>(drive: &mut Drive, work: impl FnOnce(DriveVolume) -> F + 'static) -> T
where
    F: Future<Output = Result<T, VolumeError>>,
{
    let opened = move |host: bitline::Host| async move { work(open(&host).await?).await };
    drive
        .run(opened)
        .expect("power")
        .expect("the volume is whole")
}

fn refusal(drive: &mut Drive) -> VolumeError {
    let opened = drive.run(|host| async move { open(&host).await.map(drop) });
    opened.expect("power").expect_err("there is none")
}

#[test]
fn thousands_of_objects_are_opened_by_reading_the_catalogue() {
    let keys = [
        ("nand.geometry.page_bytes", "4096"),
        ("nand.geometry.blocks_per_plane", "1000"),
        ("frontend.block_bytes", "4096"),
    ];
    let mut drive = Drive::open(small(&keys)).expect("a drive in memory");
    let blocks = 10_000 + 10 + 2 + 2 * 300;
    create(
        &mut drive,
        VolumeOptions {
            catalogue_pages: Some(300),
            ..VolumeOptions::new(FIRST, blocks)
        },
    )
    .expect("room");
    let pages = with(&mut drive, |mut volume| async move {
        let mut pages = 0;
        for group in 0..10 {
            // A group and a thousand vectors are one commit.
            let mut change = volume.change()?;
            let group = change.create_group(&format!("group {group}"), 4096 * 8, 0, 0)?;
            for number in 0..1000 {
                change.create_vector(group, &number.to_string(), false)?;
            }
            pages += change.commit().await?.pages;
        }
        Ok(pages)
    });
    // A vector takes 26 bytes, its extent 8 and its name 1 to 3; the group 39 and its name. A page has room for 4048.
    let names = 10 + 2 * 90 + 3 * 900;
    let bytes: u32 = 1000 * (26 + 8) + names + 39 + 7;
    assert_eq!(pages, 10 * bytes.div_ceil(4048));
    let before = drive.statistics().expect("power");
    let (len, free, third) = with(&mut drive, |volume| async move {
        let group = volume.named("group 3").expect("it was made").id;
        let vector = volume.vector(group, "777").expect("it was made");
        Ok((volume.len(), volume.free_blocks(), vector.extents))
    });
    assert_eq!((len, free), (10_010, 10));
    assert_eq!(third[0].blocks, 1);
    let commands = drive.statistics().expect("power").frontend.commands - before.frontend.commands;
    // A flush, the superblock, and 64 pages a command of both areas.
    assert_eq!(commands, 1 + 1 + 2 * 300u64.div_ceil(64));
}

#[test]
fn an_image_has_the_names_wherever_it_is_opened() {
    let path = std::env::temp_dir().join(format!("bitline-{}-volume.img", std::process::id()));
    let image = small(&[("data.storage", "image")]);
    let mut drive = Drive::open_image(image, &path).expect("a new image");
    create(&mut drive, options()).expect("room");
    let made = with(&mut drive, |mut volume| async move {
        change(&mut volume, 1).await?;
        Ok(contents(&volume).await)
    });
    drive.close().expect("it is written");
    let mut drive = Drive::open_existing_image(&path).expect("the image is sound");
    let found = with(
        &mut drive,
        |volume| async move { Ok(contents(&volume).await) },
    );
    assert_eq!(found, made);
    assert_eq!(found["group/b"], bytes(2, 2500));
    drop(drive);
    std::fs::remove_file(path).expect("it is there");
}

#[test]
fn formatting_and_sanitizing_leave_no_volume() {
    let mut drive = Drive::open(small(&[])).expect("a drive in memory");
    assert_eq!(refusal(&mut drive), VolumeError::NoVolume { first: FIRST });
    for erase in [
        |drive: &mut Drive| drive.format(1, 512),
        |drive: &mut Drive| drive.sanitize(),
    ] {
        create(&mut drive, options()).expect("there is none");
        with(&mut drive, |mut volume| async move {
            change(&mut volume, 1).await
        });
        erase(&mut drive).expect("it can");
        assert_eq!(refusal(&mut drive), VolumeError::NoVolume { first: FIRST });
    }
    create(&mut drive, options()).expect("there is none");
    assert!(with(
        &mut drive,
        |volume| async move { Ok(volume.is_empty()) }
    ));
}

/// Writes a file through the drive's own volume, which is made where there is none.
fn store(drive: &mut Drive, name: &'static str) -> Result<(), bitline::Error> {
    let write = move |host: bitline::Host| async move {
        host.write_object(name, file(b"data"), b"data").await
    };
    drive.run(write).expect("power")
}

fn names(drive: &mut Drive) -> Vec<String> {
    let objects = drive.run(|host| async move { host.objects().await });
    let objects = objects.expect("power").expect("a sound volume");
    objects.into_iter().map(|object| object.name).collect()
}

#[test]
fn a_format_of_all_namespaces_leaves_no_volume_and_room_for_another() {
    let mut drive = Drive::open(small(&[])).expect("a drive in memory");
    store(&mut drive, "old").expect("room");
    drive.format(u32::MAX, 512).expect("it can");
    assert_eq!(names(&mut drive), [""; 0]);
    store(&mut drive, "new").expect("a new volume is made");
    assert_eq!(names(&mut drive), ["new"]);
}

#[test]
fn what_is_written_to_a_volume_that_another_erased_is_given_back() {
    let mut drive = Drive::open(small(&[])).expect("a drive in memory");
    store(&mut drive, "old").expect("room");
    // By a command that the library does not send: it knows nothing of it.
    let format = |host: bitline::Host| async move {
        let namespace = nvme::NamespaceId::new(1);
        host.admin().format(namespace, 512).await
    };
    drive.run(format).expect("power").expect("it can");
    let refused = store(&mut drive, "new").map_err(|error| error.to_string());
    assert!(refused.is_err_and(|error| error.contains(&VolumeError::Stale.to_string())));
    assert_eq!(drive.inventory().expect("power").mapped_pages, 0);
    store(&mut drive, "new").expect("a new volume is made");
    assert_eq!(names(&mut drive), ["new"]);
}

#[test]
fn space_comes_back_to_the_drive_with_what_is_removed() {
    let mut drive = Drive::open(small(&[])).expect("a drive in memory");
    create(&mut drive, options()).expect("room");
    let mapped = |drive: &mut Drive| drive.inventory().expect("power").mapped_pages;
    let empty = mapped(&mut drive);
    with(&mut drive, |mut volume| async move {
        change(&mut volume, 1).await
    });
    // 5000 bytes, twice 2500, and a page of the log.
    assert_eq!(mapped(&mut drive), empty + 3 + 2 * 2 + 1);
    with(&mut drive, |mut volume| async move {
        let ids: Vec<_> = volume.objects().map(|object| object.id).collect();
        let mut change = volume.change()?;
        ids.into_iter().try_for_each(|id| change.remove(id))?;
        change.commit().await
    });
    assert_eq!(mapped(&mut drive), empty + 2, "two pages of the log");
}
