//! What a drive refuses to take, and what it finds room for: numbers, memory for names that wait, page buffers.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;

use bitline::inside::host::{Buffer, Transport};
use bitline::inside::nvme::command::RegionAllocate;
use bitline::inside::nvme::{CommandId, IoCommand, Lba, SearchCommand};
use bitline::inside::{InsideDrive, InsideHost};
use bitline::{
    Config, Drive, Error, HostError, NameKind, NameTerm, NewStore, Pattern, Status, Wanted,
};

use crate::cut;

/// Whether the drive refused a call with this status.
fn is_refused<T: std::fmt::Debug>(outcome: &Result<T, Error>, status: Status) -> bool {
    match outcome {
        Err(Error::Search(error)) => error.is_status(status),
        Err(Error::Host(HostError::Status(error))) => error.status.is(status),
        _ => false,
    }
}

fn of_entries(entries: u32, name_bits: u32) -> NewStore {
    NewStore {
        entries,
        value_bytes: 1,
        names: vec![NameKind {
            bits: name_bits,
            ternary: false,
        }],
        schema: Vec::new(),
    }
}

#[test]
fn the_number_past_the_last_entry_is_one() {
    let mut drive =
        Drive::open(Config::preset("flash-cosmos").expect("a preset")).expect("a drive");
    let row = 8 * 16_384;
    let mut search = drive.search();
    let refused = search.create("most", &of_entries(u32::MAX, 8));
    assert!(
        is_refused(&refused, Status::REGION_LIMIT_EXCEEDED),
        "{refused:?}"
    );
    let most = u32::MAX - (row - 1);
    search
        .create("most", &of_entries(most, 8))
        .expect("it fits");
    assert_eq!(search.report("most").expect("told")[0].capacity.get(), most);
}

/// Records of names of 4 bytes and values of one.
fn records(numbers: std::ops::Range<u32>) -> (Vec<u8>, u32) {
    let record = |number: u32| [&number.to_be_bytes()[..], &[number as u8]].concat();
    (
        numbers.clone().flat_map(record).collect(),
        numbers.len() as u32,
    )
}

fn append(drive: &mut Drive, store: &str, numbers: std::ops::Range<u32>) -> Result<(), Error> {
    let (records, count) = records(numbers);
    drive.search().append(store, &records, count).map(drop)
}

/// A drive of one plane, whose rows have 4,096 names, with two blocks for names.
fn two_blocks(more: &[(&str, &str)]) -> Config {
    let keys = [
        ("nand.geometry.channels", "1"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.dies_per_chip", "1"),
        ("nand.geometry.planes_per_die", "1"),
        ("nand.geometry.blocks_per_plane", "200"),
        ("nand.geometry.page_bytes", "512"),
        ("frontend.block_bytes", "512"),
        ("bits.compute_blocks_percent", "1"),
        ("search.buffer_bytes", "20000"),
    ];
    let preset = Config::preset("flash-cosmos").expect("a preset");
    let config = preset.with(keys).expect("a possible drive");
    config.with(more.iter().copied()).expect("likewise")
}

fn of_two_blocks(more: &[(&str, &str)]) -> Drive {
    Drive::open(two_blocks(more)).expect("a drive")
}

/// The same, whose calls are broken off when the number that is shared gets to zero.
fn watched(more: &[(&str, &str)]) -> (Drive, Rc<Cell<u64>>) {
    let looks = Rc::new(Cell::new(u64::MAX));
    let shared = looks.clone();
    let watch = Rc::new(move || {
        shared.set(shared.get().saturating_sub(1));
        match shared.get() {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    let drive = Drive::open_watched(two_blocks(more), None, watch);
    (drive.expect("a drive"), looks)
}

fn rows_sealed(drive: &Drive) -> u64 {
    drive.statistics().expect("power").search.rows_sealed
}

/// A row for which flash has no blocks says so to whoever wants its memory, and stands in nobody's way once there are some.
#[test]
fn a_row_without_room_on_flash_holds_up_others_only_as_long_as_there_is_none() {
    let mut drive = of_two_blocks(&[]);
    for (name, full) in [("a", true), ("b", true), ("c", true), ("d", false)] {
        let what = of_entries(4 * 4096, 32);
        drive.search().create(name, &what).expect("it fits");
        if full {
            append(&mut drive, name, 0..4096).expect("it fits");
        }
    }
    // The third row waits where it is.
    let refused = append(&mut drive, "d", 0..1000);
    assert!(is_refused(&refused, Status::GROUP_FULL), "{refused:?}");
    assert_eq!(rows_sealed(&drive), 2);
    drive.search().remove("a").expect("it is there");
    append(&mut drive, "d", 0..1000).expect("there is room now");
    assert_eq!(rows_sealed(&drive), 3);
}

#[test]
fn a_command_with_more_names_than_memory_has_room_for_is_refused() {
    for capacitor in ["false", "true"] {
        let mut drive = of_two_blocks(&[("search.capacitor", capacitor)]);
        let mut search = drive.search();
        search.create("a", &of_entries(8192, 32)).expect("it fits");
        let (many, count) = records(0..5001);
        let refused = search.update("a", None, &many, count);
        assert!(
            is_refused(&refused, Status::COMMAND_SIZE_LIMIT_EXCEEDED),
            "{capacitor}: {refused:?}"
        );
        // What need not be one command is several.
        let appended = search.append("a", &many, count).expect("it fits");
        assert!(appended.runs.len() > 1, "{capacitor}: {appended:?}");
        let all: Vec<NameTerm> = Vec::from([NameTerm {
            name: 0,
            pattern: Pattern::new(32, &[0; 4], &[0; 4]).expect("any"),
        }]);
        assert_eq!(search.count("a", &[all]).expect("asked"), 5001);
    }
}

/// Adds names to the entries of a store; gives the status.
fn link(drive: &mut Drive, store: &str, of: &NewStore, names: Vec<u8>) -> Status {
    let start = drive.search().report(store).expect("told")[0].start.get();
    let (entries, value_bytes) = (of.entries, of.value_bytes);
    let linked = drive.run(|host| async move {
        let transport = host.block().transport();
        let buffer = Buffer::holding(transport.memory(), &names).expect("it fits");
        let command = SearchCommand::Allocate(RegionAllocate {
            namespace: host.block().namespace(),
            start: Lba::new(start),
            entries,
            name_bits: 32,
            ternary: false,
            linked: true,
            value_bytes,
            records: names.len() as u32 / 4,
            data: buffer.pointer(buffer.bytes() as u32),
        });
        let entry = IoCommand::Search(command).encode(CommandId::new(0));
        let completion = transport.io(&entry).await;
        completion.expect("an answer").status()
    });
    linked.expect("the power is on")
}

#[test]
fn more_names_of_entries_that_wait_find_room_in_memory_or_are_refused() {
    let mut drive = of_two_blocks(&[]);
    let (full, part) = (of_entries(4096, 32), of_entries(2000, 32));
    for (name, what, count) in [("a", &full, 3000), ("b", &part, 1500)] {
        drive.search().create(name, what).expect("it fits");
        append(&mut drive, name, 0..count).expect("it fits");
    }
    let refused = link(&mut drive, "a", &full, vec![7; 4 * 3000]);
    assert!(refused.is(Status::REGION_LIMIT_EXCEEDED), "{refused}");
    assert_eq!(rows_sealed(&drive), 0);
    // The row of the other store makes room.
    let linked = link(&mut drive, "b", &part, vec![7; 4 * 1500]);
    assert!(linked.is(Status::SUCCESS), "{linked}");
    assert_eq!(rows_sealed(&drive), 1);
    // A full row of two names each never would.
    drive.search().create("c", &full).expect("it fits");
    append(&mut drive, "c", 0..1).expect("it fits");
    let refused = link(&mut drive, "c", &full, vec![7; 4]);
    assert!(refused.is(Status::NAMES_EXCEED_BUFFER), "{refused}");
}

#[test]
fn names_are_refused_of_which_a_full_row_never_fits_into_memory() {
    let mut drive = of_two_blocks(&[]);
    let refused = drive.search().create("wide", &of_entries(4096, 40));
    assert!(
        is_refused(&refused, Status::NAMES_EXCEED_BUFFER),
        "{refused:?}"
    );
    // Those that are asked for fit.
    drive
        .search()
        .create("few", &of_entries(4000, 40))
        .expect("it fits");
}

/// The pages that a drive with memory for so many names claims to save, as docs/model.md has it.
fn claimed_pages(buffer_bytes: u64, page_bytes: u64) -> u64 {
    let pages = (2 * buffer_bytes + buffer_bytes / 8).div_ceil(page_bytes - 64);
    pages + pages.div_ceil(16) + 2
}

/// Names of one byte, every other one deleted, in rows of several stores: what each takes most to save.
#[test]
fn a_capacitor_saves_no_more_than_it_claims() {
    let mut drive = of_two_blocks(&[("search.capacitor", "true")]);
    for store in 0..40 {
        let name = format!("store {store}");
        let mut search = drive.search();
        search.create(&name, &of_entries(4096, 8)).expect("it fits");
        // Until there is no room in memory, nor on flash for what some has.
        let count = 400;
        let all: Vec<u8> = (0..count)
            .flat_map(|number| [number as u8 % 2, 0])
            .collect();
        if search.append(&name, &all, count).is_err() {
            break;
        }
        let one = |byte| NameTerm {
            name: 0,
            pattern: Pattern::exact(8, &[byte]).expect("a name"),
        };
        search.delete(&name, &[vec![one(1)]]).expect("it is there");
    }
    let saved = drive.device().expect("power").power_lost();
    assert_eq!(saved.lost, 0);
    let claimed = claimed_pages(20_000, 512);
    assert!(saved.pages <= claimed, "{saved:?}, of {claimed} pages");
}

/// A deletion whose intent the capacitor does not cover is whole all the same, wherever the power cuts it.
#[test]
fn an_update_of_more_entries_than_the_capacitor_covers_is_in_the_journal() {
    let [mut before, mut after] = [0, 0];
    for looks in std::iter::successors(Some(1), |looks| Some(looks + looks / 2 + 1)) {
        let (mut drive, shared) = watched(&[
            ("search.capacitor", "true"),
            ("bits.compute_blocks_percent", "10"),
        ]);
        drive
            .search()
            .create("a", &of_entries(32_768, 8))
            .expect("it fits");
        let all: Vec<u8> = (0..4096).flat_map(|_| [7, 1]).collect();
        for row in 1..=6 {
            drive.search().append("a", &all, 4096).expect("it fits");
            while rows_sealed(&drive) < row {
                drive.read(0, 512).expect("nothing is there");
            }
        }
        let pages = drive.statistics().expect("power").flash.page_programs;
        shared.set(looks);
        let updated = drive.search().update("a", None, &[7, 2], 1);
        shared.set(u64::MAX);
        let in_journal = drive.statistics().expect("power").flash.page_programs - pages;
        let claimed = claimed_pages(20_000, 512);
        let saved = drive.device().expect("power").power_lost();
        assert!(saved.pages + 6 <= claimed, "{saved:?}");
        cut(&mut drive);
        let one = [vec![NameTerm {
            name: 0,
            pattern: Pattern::exact(8, &[7]).expect("a name"),
        }]];
        let count = drive.search().count("a", &one).expect("asked");
        let counted = [&mut before, &mut after];
        match count {
            24_576 => *counted[0] += 1,
            1 => *counted[1] += 1,
            other => panic!("{other} entries after {looks} looks"),
        }
        if updated.is_ok() {
            assert_eq!(count, 1);
            // A bit for each entry, and a raise for each row.
            assert!(in_journal >= 6 + 6, "{in_journal} pages");
            break;
        }
    }
    assert!(before > 2 && after > 0, "{before} before, {after} after");
}

/// With the fewest page buffers there may be, pages of several logical pages whose first and last are filled in part by a
/// command, and of which the cache has parts.
#[test]
fn the_fewest_page_buffers_are_enough_for_values() {
    let mut drive = of_two_blocks(&[
        ("nand.geometry.blocks_per_plane", "400"),
        ("nand.geometry.page_bytes", "2048"),
        ("ftl.mapping_unit_bytes", "512"),
        ("memory.page_buffers", "7"),
        ("cache.mode", "write"),
    ]);
    let mut search = drive.search();
    let wide = NewStore {
        value_bytes: 30,
        ..of_entries(4096, 32)
    };
    search.create("a", &wide).expect("it fits");
    let record = |number: u32| [&number.to_be_bytes()[..], &[number as u8; 30]].concat();
    let mut first = 0_u32;
    for count in [1, 3, 20, 70, 6, 300] {
        let records: Vec<u8> = (first..first + count).flat_map(record).collect();
        search.append("a", &records, count).expect("it fits");
        first += count;
    }
    let any = NameTerm {
        name: 0,
        pattern: Pattern::new(32, &[0; 4], &[0; 4]).expect("any"),
    };
    let found = search.look_up("a", &[vec![any]], &[], Wanted::default());
    let found = found.expect("it can be asked");
    assert_eq!(found.count, first);
    for (number, value) in found.iter().enumerate() {
        assert_eq!(value, [number as u8; 30]);
    }
}

/// Reads raise cells, until those that are low look high. A row is programmed anew before its names are missed.
#[test]
fn names_that_are_looked_up_often_are_programmed_anew() {
    let mut drive = of_two_blocks(&[
        ("nand.cells.errors", "modelled"),
        ("nand.cells.disturb.raise_mv_per_million_reads", "1e6"),
    ]);
    let mut search = drive.search();
    search.create("a", &of_entries(4096, 32)).expect("it fits");
    append(&mut drive, "a", 0..4096).expect("it fits");
    while rows_sealed(&drive) == 0 {
        drive.read(0, 512).expect("nothing is there");
    }
    let moved = |drive: &Drive| drive.statistics().expect("power").search.rows_moved;
    for number in 0..6000_u32 {
        let name = (number % 4096).to_be_bytes();
        let one = vec![NameTerm {
            name: 0,
            pattern: Pattern::exact(32, &name).expect("a name"),
        }];
        let count = drive.search().count("a", &[one]).expect("asked");
        assert_eq!(count, 1, "lookup {number}, {} rows moved", moved(&drive));
    }
    // More often than once, and not all the time.
    assert!((2..20).contains(&moved(&drive)), "{} times", moved(&drive));
}

/// What a flush makes durable is in the image, whatever becomes of the process that has what a capacitor would save.
#[test]
fn names_that_a_capacitor_would_save_are_in_an_image_that_was_flushed() {
    let directory = std::env::temp_dir();
    let [path, left] = ["names", "left"]
        .map(|name| directory.join(format!("bitline-{}-{name}.img", std::process::id())));
    let config = two_blocks(&[("search.capacitor", "true"), ("data.storage", "image")]);
    let mut drive = Drive::open_image(config.clone(), &path).expect("a new image");
    drive
        .search()
        .create("a", &of_entries(4000, 32))
        .expect("it fits");
    append(&mut drive, "a", 0..1000).expect("it fits");
    let term = |number: u32| NameTerm {
        name: 0,
        pattern: Pattern::exact(32, &number.to_be_bytes()).expect("a pattern"),
    };
    let seven = [vec![term(7)]];
    assert_eq!(drive.search().delete("a", &seven).expect("it is there"), 1);
    drive.flush().expect("there is room");
    append(&mut drive, "a", 1000..1100).expect("it fits");
    // As it would be found if the process were killed now.
    std::fs::copy(&path, &left).expect("a copy");
    let mut other = Drive::open_image(config, &left).expect("an image");
    let any = Pattern::new(8, &[0], &[0]).expect("a pattern");
    let any = [vec![NameTerm {
        name: 0,
        pattern: any,
    }]];
    let found = |drive: &mut Drive| drive.search().count("a", &any).expect("it is there");
    assert_eq!((found(&mut drive), found(&mut other)), (1099, 999));
    assert_eq!(other.search().count("a", &seven).expect("it is there"), 0);
    for path in [path, left] {
        std::fs::remove_file(path).expect("it was made");
    }
}

/// A call that is broken off may have sent its command: whoever asks next sees what that did.
#[test]
fn a_deletion_that_was_broken_off_has_happened_or_not_by_the_next_call() {
    let any = Pattern::new(8, &[0], &[0]).expect("a pattern");
    let any = [vec![NameTerm {
        name: 0,
        pattern: any,
    }]];
    let mut broken_off = [0; 2];
    for looks in 1..40 {
        let (mut drive, shared) = watched(&[]);
        drive
            .search()
            .create("a", &of_entries(4096, 32))
            .expect("it fits");
        append(&mut drive, "a", 0..1000).expect("it fits");
        shared.set(looks);
        let deleted = drive.search().delete("a", &any);
        shared.set(u64::MAX);
        let mut count = || drive.search().count("a", &any).expect("it is there");
        let left = count();
        assert!(left == 0 || left == 1000, "{left}");
        assert_eq!(left, count(), "{looks} looks");
        broken_off[usize::from(left == 0)] += usize::from(deleted.is_err());
    }
    assert!(broken_off[1] > 0, "{broken_off:?}");
}

fn is_full(refused: &Result<(), Error>) -> bool {
    is_refused(refused, Status::LINK_TABLE_FULL)
}

/// Entries of the link table by its formula: 40 bytes for a search region, 4 for a row, and 4 for its block of names.
#[test]
fn what_has_no_room_in_the_link_table_is_refused_and_nothing_of_it_is_there() {
    let more = [
        ("search.link_table_bytes", "64"),
        ("bits.compute_blocks_percent", "10"),
    ];
    let mut drive = of_two_blocks(&more);
    let what = of_entries(8 * 4096, 32);
    drive.search().create("a", &what).expect("40 of 64");
    let another = drive.search().create("b", &what).map(drop);
    assert!(is_full(&another), "{another:?}");
    for row in 0..3 {
        append(&mut drive, "a", 4096 * row..4096 * (row + 1)).expect("48, 56 and 64 of 64");
    }
    for again in [false, true] {
        if again {
            cut(&mut drive);
        }
        let refused = append(&mut drive, "a", 0..1);
        assert!(is_full(&refused), "again: {again}, {refused:?}");
        assert_eq!(
            drive.search().report("a").expect("told")[0].live.get(),
            3 * 4096
        );
    }
    drive.search().remove("a").expect("it is there");
    drive
        .search()
        .create("b", &what)
        .expect("there is room again");
    append(&mut drive, "b", 0..1).expect("likewise");
}

#[test]
fn one_more_search_region_takes_an_entry_for_each_block_of_its_names() {
    let status = |bytes: &str| {
        let more = [
            ("search.link_table_bytes", bytes),
            ("bits.compute_blocks_percent", "10"),
        ];
        let mut drive = of_two_blocks(&more);
        let what = of_entries(2000, 32);
        drive.search().create("a", &what).expect("it fits");
        append(&mut drive, "a", 0..1500).expect("it fits");
        link(&mut drive, "a", &what, vec![7; 4 * 1500])
    };
    // Twice 40, a row, and two blocks.
    assert!(status("91").is(Status::LINK_TABLE_FULL));
    assert!(status("92").is(Status::SUCCESS));
}

#[test]
fn a_link_table_that_the_dram_does_not_hold_is_told() {
    let config = two_blocks(&[]).with([("search.link_table_bytes", "17179869184")]);
    let refused = config.expect_err("as much as there is").to_string();
    assert!(
        refused.contains("names to be looked up 20000 and their link table 17179869184"),
        "{refused}"
    );
}
