//! Where the fields of the commands lie.

use super::load::PERSISTENT_BIT;
use super::{ExecuteProgram, LoadProgram, ProgramActivation};
use crate::command::row::{CommandSet, Decoded, Field, Row, Usual, effect};
use crate::command::{AdminCommand, opcode};

const INDEX: Field = Field::new(
    10,
    0,
    16,
    "PIND",
    "the program's index in its namespace",
    Usual::Below(4),
);

/// The admin commands of the family.
pub(in crate::command) const ADMIN_ROWS: [Decoded<AdminCommand>; 2] = [
    Row::new(
        CommandSet::Admin,
        opcode::LOAD_PROGRAM,
        "Load Program",
        "admin",
        "CP, Load Program",
    )
    .fields(&[
        INDEX,
        Field::new(
            10,
            16,
            8,
            "PTYPE",
            "what it is written in: C0h WebAssembly",
            Usual::OneOf(&[super::WEB_ASSEMBLY as u64]),
        ),
        Field::flag(10, 24, "SEL", "unload it, and nothing else counts"),
        Field::flag(
            10,
            PERSISTENT_BIT as u8,
            "keep",
            "keep it through power cycles (vendor specific)",
        ),
        Field::new(11, 0, 32, "PSIZE", "bytes of all of it", Usual::Below(256)),
        Field::new(12, 0, 64, "PID", "what its owner calls it", Usual::Below(9)),
        Field::new(14, 0, 32, "NUMB", "bytes of this chunk", Usual::Below(256)),
        Field::new(
            15,
            0,
            32,
            "LOFF",
            "where the chunk begins: where the one before ended",
            Usual::OneOf(&[0, 0, 64]),
        ),
    ])
    .decoded_by(|entry| Ok(AdminCommand::LoadProgram(LoadProgram::decode(entry)?))),
    Row::new(
        CommandSet::Admin,
        opcode::PROGRAM_ACTIVATION,
        "Program Activation Management",
        "admin",
        "CP, Program Activation Management",
    )
    .fields(&[
        INDEX,
        Field::new(
            10,
            16,
            4,
            "SEL",
            "0 deactivates, 1 activates",
            Usual::Below(2),
        ),
    ])
    .decoded_by(|entry| {
        let activation = ProgramActivation::decode(entry)?;
        Ok(AdminCommand::ProgramActivation(activation))
    }),
];

const NAMESPACE: Field = Field::new(
    10,
    16,
    16,
    "PNS",
    "the namespace that has the program; 0 is the command's own",
    Usual::OneOf(&[0, 0, 1, 5]),
);

/// The I/O commands of the family.
pub(in crate::command) const IO_ROWS: [Decoded<ExecuteProgram>; 1] = [Row::new(
    CommandSet::Nvm,
    opcode::EXECUTE_PROGRAM,
    "Execute Over Files",
    "execute program",
    "TxISC, Listing 1; as Execute Program (CP)",
)
.effects(effect::CHANGES_BLOCKS)
.fields(&[
    INDEX,
    NAMESPACE,
    Field::new(
        11,
        0,
        32,
        "request",
        "bytes of the request, 64 at least",
        Usual::Below(200),
    ),
    Field::new(
        12,
        0,
        32,
        "result",
        "bytes that there is room for, of what becomes of the run, 64 at least",
        Usual::Below(4096),
    ),
])
.decoded_by(ExecuteProgram::decode)];
