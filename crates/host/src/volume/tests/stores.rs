//! Name-value stores: made and removed with the drive's search regions, whatever the power does.

use nvme::Status;

use super::drive::{BLOCK_BYTES, MemoryDrive, PAGE_BLOCKS};
use super::{MemoryVolume, Random, create, file, fresh, now, open};
use crate::Error;
use crate::search::{NameKind, SearchDevice};
use crate::volume::{Content, Kind, Mended, NewStore, Object, ObjectId, VolumeError};

fn what(value_bytes: u32) -> NewStore {
    let kind = |bits, ternary| NameKind { bits, ternary };
    NewStore {
        entries: 100,
        value_bytes,
        names: vec![kind(40, false), kind(8, true)],
        schema: b"a schema".to_vec(),
    }
}

fn store(volume: &mut MemoryVolume, name: &str) -> Result<ObjectId, VolumeError> {
    now(volume.create_store(name, &what(1)))
}

/// Opens a volume and mends it.
fn mended(drive: &MemoryDrive) -> (MemoryVolume, Mended) {
    let mut volume = open(drive).expect("a whole volume");
    let mended = now(volume.mend(async || Ok(true))).expect("it can be mended");
    (volume, mended)
}

/// The search regions that stores of the volume have are those of the drive, and its blocks add up.
fn check(volume: &MemoryVolume, drive: &MemoryDrive) {
    let of_object = |object: Object| {
        let region = object.data_region();
        let regions = region.iter().flat_map(|region| {
            let numbers = region.names.iter().map(|name| name.region.get());
            numbers
                .map(|number| (number, region.start))
                .collect::<Vec<_>>()
        });
        regions.collect::<Vec<_>>()
    };
    let mut named: Vec<(u16, u64)> = volume.objects().flat_map(of_object).collect();
    let mut there = drive.regions();
    named.sort_unstable();
    there.sort_unstable();
    assert_eq!(named, there);
    super::contents(volume);
}

#[test]
fn a_store_is_found_again_with_all_that_it_is() {
    let (drive, mut volume) = fresh();
    file(&mut volume, "before", &[1; 1500]).unwrap();
    let id = store(&mut volume, "names").unwrap();
    let made = volume.get(id).unwrap();
    let (mut volume, nothing) = mended(&drive);
    assert_eq!(nothing, Mended::default());
    assert_eq!(volume.named("names"), Some(made.clone()));
    check(&volume, &drive);
    let Content::Store(content) = &made.content else {
        panic!("{made:?}");
    };
    assert_eq!(made.content.kind(), Kind::Store);
    assert_eq!((content.entries, content.value_bytes), (100, 1));
    assert_eq!(content.schema, b"a schema");
    // A row has 8192 names, whose values are 1024 to a page of two blocks.
    assert_eq!(made.extents.len(), 1);
    assert_eq!(made.extents[0].blocks, 8 * PAGE_BLOCKS);
    assert!(made.extents[0].first.is_multiple_of(PAGE_BLOCKS));
    assert_eq!(content.bytes, 8 * PAGE_BLOCKS * BLOCK_BYTES as u64);
    let region = made.data_region().unwrap();
    let kinds: Vec<NameKind> = region.names.iter().map(|name| name.kind).collect();
    assert_eq!(kinds, what(1).names);
    // It can be used by what it says.
    let search = SearchDevice::new(volume.device().clone());
    let record = [1, 2, 3, 4, 5, 6, 0xFF, 7];
    let appended = now(search.append(&region, &record, 1)).unwrap();
    assert_eq!(appended.first(), 0);
    super::commit(&mut volume, |change| change.rename(id, "renamed")).unwrap();
    now(volume.remove_store(id)).unwrap();
    check(&volume, &drive);
    check(&open(&drive).unwrap(), &drive);
    assert_eq!(volume.len(), 1);
}

#[test]
fn what_cannot_be_is_refused_and_leaves_nothing() {
    let (drive, mut volume) = fresh();
    store(&mut volume, "a").unwrap();
    let free = volume.free_blocks();
    let taken = store(&mut volume, "a");
    assert!(matches!(taken, Err(VolumeError::Taken { .. })), "{taken:?}");
    let large = now(volume.create_store("b", &what(1000)));
    assert!(
        matches!(large, Err(VolumeError::NoSpace { .. })),
        "{large:?}"
    );
    let mut nameless = what(1);
    nameless.names.clear();
    assert!(now(volume.create_store("b", &nameless)).is_err());
    let mut long = what(1);
    long.schema = vec![0; 0x1_0000];
    let refused = now(volume.create_store("b", &long));
    assert!(
        matches!(refused, Err(VolumeError::Attribute { .. })),
        "{refused:?}"
    );
    drive.limit_regions(3);
    let limited = store(&mut volume, "b").unwrap_err();
    let is_limit = matches!(&limited, VolumeError::Device(Error::Status(error))
        if error.status.is(Status::REGION_LIMIT_EXCEEDED));
    assert!(is_limit, "{limited}");
    drive.limit_regions(0);
    let mut full = what(1);
    full.schema = vec![0; 20_000];
    let refused = now(volume.create_store("b", &full));
    assert!(
        matches!(refused, Err(VolumeError::CatalogueFull { .. })),
        "{refused:?}"
    );
    assert_eq!(volume.free_blocks(), free);
    check(&volume, &drive);
    // A change of the catalogue alone does not do.
    let id = volume.named("a").unwrap().id;
    let content = volume.get(id).unwrap().content;
    let mut change = volume.change().unwrap();
    assert!(matches!(change.remove(id), Err(VolumeError::Store { .. })));
    assert!(matches!(
        change.create("c", content.clone()),
        Err(VolumeError::Store { .. })
    ));
    assert!(matches!(
        change.replace(id, content),
        Err(VolumeError::Store { .. })
    ));
    let longer = now(change.append(id, b"more"));
    assert!(
        matches!(longer, Err(VolumeError::Fixed { .. })),
        "{longer:?}"
    );
    drop(change);
    check(&open(&drive).unwrap(), &drive);
}

/// Makes and removes stores with a cut at each command of each. How often one that was made was lost, or there; and
/// likewise one that was removed.
fn live(seed: u64, drive: &MemoryDrive, outcomes: &mut [u32; 4], mendings: &mut [u32; 2]) {
    let mut random = Random(seed);
    let mut volume = create(drive).expect("a drive with room");
    store(&mut volume, "stays").unwrap();
    for is_removal in [false, true] {
        if is_removal {
            store(&mut volume, "goes").unwrap();
        }
        for commands in 0.. {
            let torn = drive.copy();
            let mut there = open(&torn).expect("it was left whole");
            torn.cut_search_after(commands, random.below(2) == 0);
            let done = match is_removal {
                true => {
                    let id = there.named("goes").expect("it is there").id;
                    now(there.remove_store(id))
                }
                false => store(&mut there, "goes").map(drop),
            };
            drop(there);
            torn.power_up(&mut random);
            // The mending is cut, too, and done again.
            if random.below(2) == 0 {
                let mut mending = open(&torn).expect("a cut leaves a whole volume");
                torn.cut_search_after(random.below(4), random.below(2) == 0);
                let _ = now(mending.mend(async || Ok(true)));
                torn.power_up(&mut random);
            }
            let (there, mended_now) = mended(&torn);
            mendings[0] += mended_now.regions;
            mendings[1] += mended_now.stores;
            check(&there, &torn);
            assert!(
                there.named("stays").is_some(),
                "seed {seed}, command {commands}"
            );
            let (again, nothing) = mended(&torn);
            assert_eq!(nothing, Mended::default(), "it is mended once");
            let is_there = again.named("goes").is_some();
            if done.is_ok() {
                assert_eq!(is_there, !is_removal, "seed {seed}: nothing was cut");
                break;
            }
            let outcome = 2 * usize::from(is_removal) + usize::from(is_there);
            outcomes[outcome] += 1;
        }
    }
}

#[test]
fn a_cut_leaves_a_store_whole_or_not_at_all() {
    let (mut outcomes, mut mendings) = ([0; 4], [0; 2]);
    for seed in 0..60 {
        let drive = match seed % 2 {
            0 => MemoryDrive::new(),
            _ => MemoryDrive::with_cache(),
        };
        live(seed, &drive, &mut outcomes, &mut mendings);
    }
    assert!(outcomes.iter().all(|count| *count > 10), "{outcomes:?}");
    assert!(mendings.iter().all(|count| *count > 10), "{mendings:?}");
}

#[test]
fn regions_of_others_stay_and_a_drive_without_lookups_loses_no_store() {
    let (drive, mut volume) = fresh();
    store(&mut volume, "names").unwrap();
    let search = SearchDevice::new(volume.device().clone());
    // Before the volume, where somebody else has blocks.
    let names = [NameKind {
        bits: 8,
        ternary: false,
    }];
    now(search.allocate(0, 1, 1, &names)).unwrap();
    let (volume, nothing) = mended(&drive);
    assert_eq!((nothing, drive.regions().len()), (Mended::default(), 3));
    drive.lose_search();
    let (found, nothing) = mended(&drive);
    assert_eq!(nothing, Mended::default());
    assert_eq!(found.named("names"), volume.named("names"));
}

#[test]
fn a_drive_that_breaks_off_forbids_changes_until_the_volume_is_opened_again() {
    let (drive, mut volume) = fresh();
    let id = store(&mut volume, "names").unwrap();
    // The second region goes first, then the first one does not.
    drive.fail_after(1, Status::INTERNAL_ERROR);
    assert!(now(volume.remove_store(id)).is_err());
    assert_eq!(store(&mut volume, "others"), Err(VolumeError::Unsure));
    let (volume, mended) = mended(&drive);
    assert_eq!((mended.regions, mended.stores), (1, 1));
    check(&volume, &drive);
    assert!(volume.is_empty());
}
