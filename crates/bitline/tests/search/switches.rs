//! What each way to move less saves (ANVIL 5.2), by what the drive counts. What is found does not depend on them.

use bitline::{Config, Content, Drive, NameKind, NameTerm, NewStore, Pattern, Statistics, Wanted};

const ENTRIES: u32 = 4096;

/// What a lookup of a tag among a row of names took, which was appended before.
struct Took {
    appended: Statistics,
    found: Vec<u8>,
    looked_up: Statistics,
}

fn took(switch: &str, value: &str, pages: bool) -> Took {
    let keys = [
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.blocks_per_plane", "200"),
        ("nand.geometry.page_bytes", "512"),
        ("frontend.block_bytes", "512"),
        ("bits.compute_blocks_percent", "40"),
        (switch, value),
    ];
    let preset = Config::preset("flash-cosmos").expect("a preset");
    let mut drive = Drive::open(preset.with(keys).expect("a possible drive")).expect("a drive");
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
    // The 64 entries with one tag lie side by side.
    let record = |number: u32| {
        let mut record = ((number / 64) as u16).to_le_bytes().to_vec();
        record.extend([number as u8; 32]);
        record
    };
    let records: Vec<u8> = (0..ENTRIES).flat_map(record).collect();
    drive
        .search()
        .append("store", &records, ENTRIES)
        .expect("it fits");
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
    let pattern = Pattern::exact(16, &7_u16.to_le_bytes()).expect("a name");
    let wanted = Wanted {
        pages,
        ..Wanted::default()
    };
    let term = NameTerm { name: 0, pattern };
    let found = drive
        .search()
        .look_up("store", &[vec![term]], &[], wanted)
        .expect("it can be asked");
    Took {
        appended,
        found: found.records,
        looked_up: drive.statistics().expect("it is on"),
    }
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
