//! Commands: round trips through their entries, and total decoding of any bytes.

mod admin;
mod io;
mod program;
mod search;

use nvme::command::commands;
use nvme::{AdminCommand, CommandId, DataPointer, IoCommand, NamespaceId, SubmissionEntry};
use proptest::prelude::*;

use admin::admin_command;
use io::io_command;

fn prp(prp1: u64, prp2: u64) -> DataPointer {
    DataPointer::Prp { prp1, prp2 }
}

fn data() -> impl Strategy<Value = DataPointer> {
    prop_oneof![
        any::<(u64, u64)>().prop_map(|(prp1, prp2)| prp(prp1, prp2)),
        any::<(u64, u32)>().prop_map(|(address, length)| DataPointer::Sgl { address, length }),
    ]
}

fn namespace() -> impl Strategy<Value = NamespaceId> {
    any::<u32>().prop_map(NamespaceId::new)
}

/// Any 64 bytes, with opcodes that exist more often than chance has them.
fn any_entry() -> impl Strategy<Value = SubmissionEntry> {
    let listed: Vec<u8> = commands().map(|row| row.opcode).collect();
    let plain = prop::sample::select(listed);
    let opcode = prop_oneof![3 => plain, 1 => any::<u8>()];
    (
        opcode,
        prop_oneof![Just(0u8), Just(0x40u8), any::<u8>()],
        any::<[[u8; 32]; 2]>(),
    )
        .prop_map(|(opcode, flags, halves)| {
            let mut bytes = [0; 64];
            bytes[..32].copy_from_slice(&halves[0]);
            bytes[32..].copy_from_slice(&halves[1]);
            bytes[0] = opcode;
            bytes[1] = flags;
            SubmissionEntry::from_bytes(bytes)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn io_commands_round_trip(command in io_command(), id in any::<u16>()) {
        let entry = command.encode(CommandId::new(id));
        prop_assert_eq!(entry.command().get(), id);
        prop_assert_eq!(entry.namespace(), command.namespace());
        prop_assert_eq!(IoCommand::decode(&entry), Ok(command));
    }

    #[test]
    fn admin_commands_round_trip(command in admin_command(), id in any::<u16>()) {
        let entry = command.encode(CommandId::new(id));
        prop_assert_eq!(entry.command().get(), id);
        prop_assert_eq!(AdminCommand::decode(&entry), Ok(command));
    }

    /// Any bytes decode or are refused, and what decodes means the same when encoded again.
    #[test]
    fn decoding_is_total(entry in any_entry()) {
        if let Ok(command) = IoCommand::decode(&entry) {
            prop_assert_eq!(IoCommand::decode(&command.encode(entry.command())), Ok(command));
        }
        if let Ok(command) = AdminCommand::decode(&entry) {
            prop_assert_eq!(AdminCommand::decode(&command.encode(entry.command())), Ok(command));
        }
    }
}
