//! What each way to move less saves (ANVIL 5.2), by what the drive counts. What is found does not depend on them.

use bitline::{Content, Drive, NameKind, NameTerm, NewStore, Pattern, Statistics, Wanted};
use sim::Span;

use crate::tiny;

const ENTRIES: u32 = 4096;

/// What a lookup of a tag among a row of names took, which was appended before.
struct Took {
    appended: Statistics,
    found: Vec<u8>,
    looked_up: Statistics,
    /// The time of the lookup.
    span: Span,
}

/// A drive with a store of so many entries, of which 64 that lie side by side have a tag.
fn filled(switch: &str, value: &str, entries: u32) -> Drive {
    let mut drive = tiny(&[(switch, value)]);
    let store = NewStore {
        entries: ENTRIES,
        value_bytes: 32,
        names: vec![NameKind {
            bits: 16,
            ternary: false,
        }],
        schema: Vec::new(),
    };
    drive.search().create("store", &store).expect("it fits");
    let record = |number: u32| {
        let mut record = ((number / 64) as u16).to_le_bytes().to_vec();
        record.extend([number as u8; 32]);
        record
    };
    let records: Vec<u8> = (0..entries).flat_map(record).collect();
    drive
        .search()
        .append("store", &records, entries)
        .expect("it fits");
    drive
}

fn took(switch: &str, value: &str, pages: bool) -> Took {
    let mut drive = filled(switch, value, ENTRIES);
    while drive.search().report("store").expect("it is told")[0]
        .buffered
        .get()
        > 0
    {
        let ticked = drive
            .volume()
            .write("clock", Content::File { bytes: 4 }, b"tick");
        ticked.expect("it fits");
    }
    let appended = drive.statistics().expect("it is on");
    let (found, span) = look_up(&mut drive, pages);
    Took {
        appended,
        found,
        looked_up: drive.statistics().expect("it is on"),
        span,
    }
}

/// What a lookup of a tag finds, and how long it takes.
fn look_up(drive: &mut Drive, pages: bool) -> (Vec<u8>, Span) {
    let pattern = Pattern::exact(16, &7_u16.to_le_bytes()).expect("a name");
    let wanted = Wanted {
        pages,
        ..Wanted::default()
    };
    let term = NameTerm { name: 0, pattern };
    let begin = drive.now();
    let found = drive
        .search()
        .look_up("store", &[vec![term]], &[], wanted)
        .expect("it can be asked");
    (found.records, drive.now().since(begin))
}

/// With a switch and without it, and what is found is the same.
fn both(switch: &str) -> [Took; 2] {
    let [on, off] = ["true", "false"].map(|value| took(switch, value, false));
    assert_eq!(on.found, off.found, "{switch}");
    assert_eq!(on.found.len(), 64 * 32);
    [on, off]
}

#[test]
fn write_inversion_halves_what_programming_moves() {
    let [on, off] = both("search.write_inversion").map(|took| took.appended.search);
    assert_eq!(on.name_pages_programmed, off.name_pages_programmed);
    assert_eq!(
        (2 * on.pages_inverted, off.pages_inverted),
        (on.name_pages_programmed, 0)
    );
}

#[test]
fn early_termination_keeps_what_matches_nothing_out_of_dram() {
    let bytes =
        both("search.early_termination").map(|took| took.looked_up.search.match_vector_bytes);
    // Of the eight bursts of a vector one, with its tag.
    assert_eq!(bytes, [64 + 4, 512]);
}

#[test]
fn a_page_with_several_values_is_read_once() {
    let pages =
        both("search.duplicate_suppression").map(|took| took.looked_up.search.value_pages_read);
    // Sixteen values to a page.
    assert_eq!(pages, [4, 64]);
}

#[test]
fn values_without_the_rest_of_their_pages_cross_the_link() {
    let bytes = [false, true].map(|pages| {
        let took = took("search.duplicate_suppression", "false", pages);
        took.looked_up.link_up_bytes - took.appended.link_up_bytes
    });
    // A completion besides.
    assert_eq!(bytes.map(|bytes| bytes / 512), [4, 64], "{bytes:?}");
}

#[test]
fn what_a_core_compares_takes_its_time() {
    let (waiting, key) = (ENTRIES / 2, "cores.work.examine_cycles");
    let [[in_memory, in_flash], free] = ["1000", "0"].map(|cycles| {
        let (_, in_memory) = look_up(&mut filled(key, cycles, waiting), false);
        [in_memory, took(key, cycles, false).span]
    });
    let more = [in_memory - free[0], in_flash - free[1]];
    // Names of two bytes; and a burst of a match vector with its tag. A microsecond for 64 bytes.
    let expected = [2 * u64::from(waiting), 64 + 4].map(|bytes| bytes.div_ceil(64));
    assert_eq!(more, expected.map(Span::from_us));
}
