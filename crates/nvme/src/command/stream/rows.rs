//! Where the fields of the commands lie.

use super::collector::{GOES_ON_BIT, POLICY_BIT};
use super::{
    CollectorClose, CollectorExtend, CollectorOpen, END_BIT, StreamClose, StreamCommand,
    StreamOpen, StreamRead, StreamWrite, UNORDERED_BIT,
};
use crate::command::opcode;
use crate::command::row::{CommandSet, Decoded, Field, Row, Usual, effect};

const NUMBER: Field = Field::new(10, 0, 32, "stream", "the stream's number", Usual::Below(4));
const PORT: Field = Field::new(10, 0, 16, "port", "the collector's port", Usual::Below(4));
const REQUEST: Field = Field::new(
    11,
    0,
    32,
    "request",
    "bytes of the request, 64 at least",
    Usual::Below(200),
);
/// A file of the request, or the host.
const FILES: Usual = Usual::OneOf(&[0, 1, 0xFFFF_FFFF]);

/// The commands of the family.
pub(in crate::command) const ROWS: [Decoded<StreamCommand>; 7] = [
    Row::new(
        CommandSet::Nvm,
        opcode::STREAM_OPEN,
        "Stream Open",
        "stream",
        "TH-iSSD 3.4, fsopen",
    )
    .effects(effect::CHANGES_BLOCKS)
    .fields(&[
        Field::new(
            10,
            0,
            16,
            "PIND",
            "the program's index in its namespace",
            Usual::Below(4),
        ),
        Field::new(
            10,
            16,
            16,
            "PNS",
            "the namespace that has the program; 0 is the command's own",
            Usual::OneOf(&[0, 0, 1, 5]),
        ),
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
            "piece",
            "bytes of a piece; 0 is the drive's choice",
            Usual::Below(8192),
        ),
        Field::new(
            13,
            0,
            16,
            "elements",
            "instances of the program; 0 is the drive's choice",
            Usual::Below(4),
        ),
        Field::flag(
            13,
            UNORDERED_BIT as u8,
            "unordered",
            "output comes in the order in which it is emitted",
        ),
        Field::new(
            14,
            0,
            32,
            "input",
            "the file that is the input; FFFFFFFFh: the host sends it; 80000000h and its port: a collector",
            FILES,
        ),
        Field::new(
            15,
            0,
            32,
            "output",
            "the file that takes the output; FFFFFFFFh: the host fetches it",
            FILES,
        ),
    ])
    .decoded_by(StreamOpen::decode),
    Row::new(
        CommandSet::Nvm,
        opcode::STREAM_READ,
        "Stream Read",
        "stream",
        "TH-iSSD 3.4, fsread",
    )
    .fields(&[
        NUMBER,
        Field::new(
            11,
            0,
            32,
            "bytes",
            "bytes of the buffer",
            Usual::Below(8192),
        ),
    ])
    .decoded_by(StreamRead::decode),
    Row::new(
        CommandSet::Nvm,
        opcode::STREAM_CLOSE,
        "Stream Close",
        "stream",
        "TH-iSSD 3.4, fsclose",
    )
    .effects(effect::CHANGES_BLOCKS)
    .fields(&[NUMBER])
    .decoded_by(|entry| Ok(StreamClose::decode(entry))),
    Row::new(
        CommandSet::Nvm,
        opcode::STREAM_WRITE,
        "Stream Write",
        "stream",
        "TH-iSSD 3.4, fswrite",
    )
    .effects(effect::CHANGES_BLOCKS)
    .fields(&[
        NUMBER,
        Field::new(11, 0, 32, "bytes", "bytes to send", Usual::Below(8192)),
        Field::flag(12, END_BIT as u8, "end", "no more will come"),
    ])
    .decoded_by(StreamWrite::decode),
    Row::new(
        CommandSet::Nvm,
        opcode::COLLECTOR_OPEN,
        "Collector Open",
        "stream",
        "TH-iSSD 3.2, data switch",
    )
    .effects(effect::CHANGES_BLOCKS)
    .fields(&[
        PORT,
        Field::new(
            10,
            POLICY_BIT as u8,
            8,
            "policy",
            "where there is no room: 0 holds packets back, 1 drops them, 2 drops the oldest ones",
            Usual::Below(3),
        ),
        Field::flag(
            10,
            GOES_ON_BIT as u8,
            "goes on",
            "it goes on where the last one of this identifier ended",
        ),
        REQUEST,
        Field::new(
            12,
            0,
            32,
            "share",
            "bytes that it may have in the drive's memory; 0 is the drive's choice",
            Usual::Below(1 << 18),
        ),
        Field::new(
            13,
            0,
            32,
            "low",
            "bytes of room below which there is an event",
            Usual::Below(8192),
        ),
    ])
    .decoded_by(|entry| CollectorOpen::decode(entry).map(StreamCommand::CollectorOpen)),
    Row::new(
        CommandSet::Nvm,
        opcode::COLLECTOR_CLOSE,
        "Collector Close",
        "stream",
        "TH-iSSD 3.2, data switch",
    )
    .effects(effect::CHANGES_BLOCKS)
    .fields(&[PORT])
    .decoded_by(|entry| Ok(StreamCommand::CollectorClose(CollectorClose::decode(entry)))),
    Row::new(
        CommandSet::Nvm,
        opcode::COLLECTOR_EXTEND,
        "Collector Extend",
        "stream",
        "TH-iSSD 3.2, fallocate",
    )
    .effects(effect::CHANGES_BLOCKS)
    .fields(&[PORT, REQUEST])
    .decoded_by(|entry| CollectorExtend::decode(entry).map(StreamCommand::CollectorExtend)),
];
