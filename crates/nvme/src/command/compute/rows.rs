//! Where the fields of the commands lie.

use super::{ComputeCommand, ExecuteOverMemory, MemoryRangeSets};
use crate::command::row::{CommandSet, Decoded, Field, Row, Usual};
use crate::command::{AdminCommand, opcode};

/// The admin commands of the family.
pub(in crate::command) const ADMIN_ROWS: [Decoded<AdminCommand>; 1] = [Row::new(
    CommandSet::Admin,
    opcode::MEMORY_RANGE_SETS,
    "Memory Range Set Management",
    "admin",
    "CP, Memory Range Set Management",
)
.fields(&[
    Field::new(
        10,
        0,
        4,
        "SEL",
        "0 makes a set, 1 removes one",
        Usual::Below(3),
    ),
    Field::new(10, 16, 16, "RSID", "the set to remove", Usual::Below(4)),
    Field::new(11, 0, 8, "NUMR", "ranges of a new set", Usual::Below(4)),
])
.decoded_by(|entry| {
    Ok(AdminCommand::MemoryRangeSets(MemoryRangeSets::decode(
        entry,
    )?))
})];

/// The I/O commands of the family.
pub(in crate::command) const IO_ROWS: [Decoded<ComputeCommand>; 1] = [Row::new(
    CommandSet::Compute,
    opcode::EXECUTE_OVER_MEMORY,
    "Execute Program",
    "execute over memory",
    "CP, Execute Program",
)
.fields(&[
    Field::new(2, 0, 16, "PIND", "the program's index", Usual::Below(4)),
    Field::new(
        2,
        16,
        16,
        "RSID",
        "the memory range set that it sees; 0 is none",
        Usual::Below(4),
    ),
    Field::new(
        3,
        0,
        32,
        "NUMR",
        "ranges with which the data begins, without a set",
        Usual::OneOf(&[0, 0, 0, 1]),
    ),
    Field::new(
        4,
        0,
        32,
        "DLEN",
        "bytes of the data: ranges, then arguments",
        Usual::Below(100),
    ),
    Field::new(
        10,
        0,
        64,
        "CPARAM1",
        "a number for the program",
        Usual::Below(9),
    ),
    Field::new(12, 0, 64, "CPARAM2", "another one", Usual::Below(9)),
])
.decoded_by(|entry| Ok(ComputeCommand::Execute(ExecuteOverMemory::decode(entry)?)))];
