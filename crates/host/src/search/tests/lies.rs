//! Drives that forget lookups, answer what cannot be, or find what does not match.

use nvme::query::{Pattern, Query};
use nvme::{SearchCommand, Status};

use super::drive::LookupDrive;
use super::{device, kind, now, query};
use crate::error::Error;
use crate::search::{DataRegion, NameCopy, Recheck, SearchDevice, SearchError, Wanted};

/// A region of forty entries whose names are all the same.
fn forty(drive: &LookupDrive) -> (SearchDevice<LookupDrive>, DataRegion, Query) {
    let device = device(drive);
    let region = now(device.allocate(0, 100, 10, &[kind(8, false)])).unwrap();
    let record: Vec<Vec<u8>> = (0..40)
        .map(|number| [vec![7], vec![number; 10]].concat())
        .collect();
    now(device.append(&region, &record.concat(), 40)).unwrap();
    let all = query(&region, 0, Pattern::exact(8, &[7]).unwrap());
    (device, region, all)
}

#[test]
fn a_lookup_that_was_forgotten_is_asked_anew() {
    let drive = LookupDrive::new();
    let (device, region, all) = forty(&drive);
    drive.take_log();
    let model = drive.model.clone();
    let mut forgotten = 0;
    drive.twist(move |command, answer| {
        if forgotten == 0 && matches!(command, SearchCommand::LookupContinue(_)) {
            forgotten += 1;
            model.borrow_mut().forget_lookups();
        }
        answer
    });
    let found = now(device.look_up(&region, &all, Wanted::default())).unwrap();
    let values: Vec<u8> = (0..40).flat_map(|number| [number; 10]).collect();
    assert_eq!(found.records, values, "nothing is there twice");
    let log = drive.take_log();
    assert_eq!(
        log.iter().filter(|name| **name == "simple lookup").count(),
        2,
        "{log:?}"
    );
}

#[test]
fn a_drive_that_always_forgets_is_not_asked_forever() {
    let drive = LookupDrive::new();
    let (device, region, all) = forty(&drive);
    drive.twist(|command, answer| match command {
        SearchCommand::LookupContinue(_) => Err(Status::CURSOR_EXPIRED),
        // As if others had filled up its memory: it always has more.
        SearchCommand::SimpleLookup(_) => answer.map(|(count, _)| (count, 1)),
        _ => answer,
    });
    let found = now(device.look_up(&region, &all, Wanted::default()));
    assert_eq!(found, Err(SearchError::Expired(8)));
}

#[test]
fn what_cannot_be_is_an_error() {
    type Lie = fn(u32, u32) -> (u32, u32);
    let lies: [Lie; 3] = [
        |_, cursor| (7, cursor),
        |_, cursor| (u32::MAX, cursor),
        |_, _| (0, 5),
    ];
    for lie in lies {
        let drive = LookupDrive::new();
        let (device, region, all) = forty(&drive);
        drive.twist(move |_, answer| answer.map(|(count, cursor)| lie(count, cursor)));
        let found = now(device.look_up(&region, &all, Wanted::default()));
        assert!(
            matches!(found, Err(SearchError::Device(Error::Protocol(_)))),
            "{found:?}"
        );
    }
    let drive = LookupDrive::new();
    let (device, ..) = forty(&drive);
    drive.twist(|_, answer| answer.map(|_| (1 << 20, 0)));
    let told = now(device.report());
    assert!(
        matches!(told, Err(SearchError::Device(Error::Protocol(_)))),
        "{told:?}"
    );
    let allocated = now(device.allocate(512, 1, 1, &[kind(8, false)]));
    assert!(
        matches!(allocated, Err(SearchError::Device(Error::Protocol(_)))),
        "{allocated:?}"
    );
}

#[test]
fn what_does_not_match_is_dropped_and_counted() {
    let drive = LookupDrive::new();
    let device = device(&drive);
    // The value begins with the name, and one that has don't cares with its mask, too.
    let region = now(device.allocate(0, 100, 6, &[kind(16, false), kind(9, true)])).unwrap();
    let names: [[u8; 6]; 4] = [
        [1, 1, 5, 0, 0xFF, 1],
        [1, 2, 5, 0, 0xFF, 1],
        [1, 1, 6, 0, 0xFC, 1],
        [1, 1, 5, 1, 0xFF, 0],
    ];
    let records: Vec<u8> = names
        .iter()
        .flat_map(|name| [*name, *name].concat())
        .collect();
    now(device.append(&region, &records, 4)).unwrap();
    let copies = [0, 2].into_iter().zip(&region.names);
    let copies = copies.map(|(at, name)| NameCopy { name: *name, at });
    let check = Recheck::new(copies.collect());
    // A drive whose flash errs gives everything.
    let everything = query(&region, 0, Pattern::new(16, &[0; 2], &[0; 2]).unwrap());
    let wanted = Wanted {
        numbers: true,
        ..Wanted::default()
    };
    let found = now(device.look_up(&region, &everything, wanted)).unwrap();
    let first = super::term(&region, 0, Pattern::exact(16, &[1, 1]).unwrap());
    let second = super::term(&region, 1, Pattern::exact(9, &[5, 0]).unwrap());
    let meant = Query::new(vec![vec![first, second]], Vec::new()).unwrap();
    let checked = check.keep(&meant, found.clone()).unwrap();
    assert_eq!(
        checked.found.numbers,
        [0, 2, 3],
        "the third by don't cares, as the last"
    );
    assert_eq!((checked.found.count, checked.dropped), (3, 1));
    assert_eq!(
        checked.found.records,
        [names[0], names[2], names[3]].concat()
    );
    assert!(
        check.matches(&meant, &[1, 1, 5]).is_err(),
        "it ends within a copy"
    );
    let unknown = Recheck::default();
    assert_eq!(
        unknown.keep(&meant, found).unwrap().dropped,
        0,
        "what has no copy is believed"
    );
}
