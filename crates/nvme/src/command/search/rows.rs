//! Where the fields of the commands lie.

use super::{
    Append, Delete, Lookup, LookupContinue, RegionAllocate, RegionDeallocate, RegionReport,
    Returned, SearchCommand, SimpleLookup, Update,
};
use crate::command::opcode;
use crate::command::row::{CommandSet, Decoded, Field, Row, Usual, effect};

const REGION: Field = Field::new(10, 0, 16, "region", "the search region", Usual::Below(6));
const RECORDS: Field = Field::new(
    11,
    0,
    32,
    "records",
    "records, at least 1",
    Usual::Below(40),
);
const BUFFER: Field = Field::new(
    11,
    0,
    32,
    "buffer",
    "bytes of the buffer for records",
    Usual::Below(1 << 17),
);
const QUERY: Field = Field::new(
    12,
    0,
    32,
    "query",
    "bytes of the query, which lies at the metadata pointer",
    Usual::Below(60),
);
const PAGES: Field = Field::flag(
    10,
    Returned::PAGES as u8,
    "pages",
    "logical pages with matches instead of values",
);
const NUMBERS: Field = Field::flag(
    10,
    Returned::NUMBERS as u8,
    "numbers",
    "before each record the number of its entry, 8 bytes",
);
const COUNT: Field = Field::flag(
    10,
    Returned::COUNT as u8,
    "count",
    "only how many entries match",
);

/// The commands of the family.
pub(in crate::command) const ROWS: [Decoded<SearchCommand>; 9] = [
    search(
        opcode::REGION_ALLOCATE,
        "Allocate Search Region",
        "allocate search region",
    )
    .fields(&[
        Field::new(
            10,
            0,
            64,
            "SLBA",
            "first logical block of the data region, which begins a chunk of NPWG blocks",
            Usual::Block,
        ),
        Field::new(
            12,
            0,
            32,
            "entries",
            "entries that there is room for",
            Usual::Below(1 << 12),
        ),
        Field::new(13, 0, 16, "bits", "bits of a name", Usual::Below(150)),
        Field::flag(13, 16, "ternary", "names may have don't cares"),
        Field::flag(
            13,
            17,
            "linked",
            "one more search region of the data region that begins there",
        ),
        Field::new(14, 0, 32, "value", "bytes of a value", Usual::Below(300)),
        Field::new(15, 0, 32, "records", "initial records", Usual::Below(8)),
    ])
    .effects(effect::CHANGES_BLOCKS)
    .decoded_by(|entry| Ok(SearchCommand::Allocate(RegionAllocate::decode(entry)?))),
    search(opcode::SIMPLE_LOOKUP, "Simple Lookup", "simple lookup")
        .fields(&[
            REGION,
            PAGES,
            NUMBERS,
            COUNT,
            BUFFER,
            Field::new(
                12,
                0,
                64,
                "name",
                "the name, up to 127 bits; what counts of it is in CDW2, CDW3 and the metadata pointer",
                Usual::Below(1 << 16),
            ),
            Field::new(14, 0, 64, "", "the name's second half", Usual::Below(2)),
        ])
        .decoded_by(|entry| Ok(SearchCommand::SimpleLookup(SimpleLookup::decode(entry)?))),
    search(
        opcode::REGION_DEALLOCATE,
        "Deallocate Search Region",
        "deallocate search region",
    )
    .fields(&[REGION])
    .decoded_by(|entry| Ok(SearchCommand::Deallocate(RegionDeallocate::decode(entry)))),
    search(opcode::APPEND, "Append", "append")
        .fields(&[REGION, RECORDS])
        .effects(effect::CHANGES_BLOCKS)
        .decoded_by(|entry| Ok(SearchCommand::Append(Append::decode(entry)?))),
    search(opcode::LOOKUP, "Lookup", "lookup")
        .fields(&[REGION, PAGES, NUMBERS, COUNT, BUFFER, QUERY])
        .decoded_by(|entry| Ok(SearchCommand::Lookup(Lookup::decode(entry)?))),
    search(opcode::UPDATE, "Update", "update")
        .fields(&[
            REGION,
            RECORDS,
            Field::new(
                12,
                0,
                32,
                "query",
                "bytes of the query, at the metadata pointer, for what is deleted; 0: what has the records' names",
                Usual::Below(60),
            ),
        ])
        .effects(effect::CHANGES_BLOCKS)
        .decoded_by(|entry| Ok(SearchCommand::Update(Update::decode(entry)?))),
    search(
        opcode::LOOKUP_CONTINUE,
        "Lookup Continue",
        "lookup continue",
    )
    .fields(&[
        REGION,
        BUFFER,
        Field::new(
            12,
            0,
            32,
            "cursor",
            "DW1 of the lookup's last completion; expires with any deletion or update",
            Usual::Below(8),
        ),
    ])
    .decoded_by(|entry| Ok(SearchCommand::LookupContinue(LookupContinue::decode(entry)?))),
    search(opcode::DELETE, "Delete", "delete")
        .fields(&[
            REGION,
            Field::new(
                11,
                0,
                32,
                "query",
                "bytes of the query, which is the data",
                Usual::Below(60),
            ),
        ])
        .decoded_by(|entry| Ok(SearchCommand::Delete(Delete::decode(entry)?))),
    search(
        opcode::REGION_REPORT,
        "Search Region Report",
        "search region report",
    )
    .fields(&[Field::new(
        11,
        0,
        32,
        "records",
        "room for so many records of 48 bytes",
        Usual::Below(16),
    )])
    .decoded_by(|entry| Ok(SearchCommand::Report(RegionReport::decode(entry)?))),
];

const fn search(opcode: u8, name: &'static str, label: &'static str) -> Row {
    Row::new(CommandSet::Nvm, opcode, name, label, "ANVIL 4.4")
}
