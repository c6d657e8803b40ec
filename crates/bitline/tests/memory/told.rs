//! What the drive says of its command sets, of namespaces without blocks, and of what is in them.

use bitline::inside::InsideHost;
use bitline::{Drive, Status};
use host::Buffer;
use nvme::command::{CommandSet, GetLogPage, Identify, LogPageId, commands};
use nvme::identify::{Cns, IDENTIFY_BYTES};
use nvme::log::{ProgramDescriptor, RangeSetRecord};
use nvme::{AdminCommand, BROADCAST_NAMESPACE, CommandId, ControllerId, DataPointer, NamespaceId};

use crate::{BLOCKS, COMPUTE, MEMORY, drive, load, scale};

/// A page that an admin command sends.
fn page(
    drive: &mut Drive,
    bytes: u64,
    command: impl FnOnce(DataPointer) -> AdminCommand + 'static,
) -> Result<Vec<u8>, Status> {
    let page = drive.run(move |host| async move {
        let queue = host.queue(0).expect("a queue");
        let memory = host::Transport::memory(&queue).clone();
        let buffer = Buffer::holding(&memory, &vec![0; bytes as usize]).expect("room");
        let command = command(buffer.pointer(bytes as u32));
        let entry = command.encode(CommandId::new(0));
        let completion = host::Transport::admin(&queue, &entry).await;
        match completion.expect("an answer").status() {
            Status::SUCCESS => Ok(buffer.to_vec().expect("it is there")),
            status => Err(status),
        }
    });
    page.expect("power")
}

fn identify(drive: &mut Drive, cns: Cns, id: NamespaceId, set: u8) -> Result<Vec<u8>, Status> {
    page(drive, IDENTIFY_BYTES as u64, move |data| {
        AdminCommand::Identify(Identify {
            cns,
            namespace: id,
            controller: ControllerId::new(0),
            specific: 0,
            command_set: set,
            data,
        })
    })
}

fn log(drive: &mut Drive, page_id: LogPageId, id: NamespaceId, set: u8) -> Result<Vec<u8>, Status> {
    page(drive, 16384, move |data| {
        AdminCommand::GetLogPage(GetLogPage {
            page: page_id,
            namespace: id,
            specific: 0,
            specific_id: 0,
            command_set: set,
            retain_event: true,
            dwords: 4096,
            offset: 0,
            data,
        })
    })
}

/// The identifiers of a list of namespaces.
fn listed(page: &[u8]) -> Vec<u32> {
    let ids = page
        .as_chunks::<4>()
        .0
        .iter()
        .map(|id| u32::from_le_bytes(*id));
    ids.take_while(|id| *id > 0).collect()
}

#[test]
fn namespaces_have_their_command_sets() {
    let mut drive = drive(&[]);
    let zero = NamespaceId::new(0);
    let mut list = |cns, set| listed(&identify(&mut drive, cns, zero, set).expect("a list"));
    assert_eq!(list(Cns::ActiveNamespaces, 0), [1, 2, 3]);
    assert_eq!(list(Cns::AllocatedNamespaces, 0), [1, 2, 3]);
    assert_eq!(list(Cns::CommandSetActiveNamespaces, 0), [1]);
    assert_eq!(list(Cns::CommandSetActiveNamespaces, 3), [2]);
    assert_eq!(list(Cns::CommandSetActiveNamespaces, 4), [3]);
    let mut ask = |cns, id, set| identify(&mut drive, cns, id, set);
    let key_value = ask(Cns::CommandSetActiveNamespaces, zero, 1);
    assert_eq!(key_value, Err(Status::INVALID_FIELD));
    let sets = ask(Cns::CommandSets, zero, 0).expect("a page");
    assert_eq!(sets[..9], [0b1_1001, 0, 0, 0, 0, 0, 0, 0, 0]);
    for (id, csi, group) in [(BLOCKS, 0, 1), (MEMORY, 3, 2), (COMPUTE, 4, 3)] {
        let descriptors = ask(Cns::NamespaceDescriptors, id, 0).expect("a list");
        assert_eq!(descriptors[..8], [4, 1, 0, 0, csi, 0, 0, 0]);
        let independent = ask(Cns::IndependentNamespace, id, 0).expect("a page");
        assert_eq!(independent[14], 1, "ready");
        assert_eq!(independent[20..24], [group, 0, 0, 0], "RGRPID");
    }
    for id in [MEMORY, COMPUTE] {
        for (cns, set) in [
            (Cns::Namespace, 0),
            (Cns::AllocatedNamespace, 0),
            (Cns::CommandSetNamespace, 0),
        ] {
            assert_eq!(ask(cns, id, set), Err(Status::INVALID_COMMAND_SET));
        }
    }
    let other = ask(Cns::CommandSetNamespace, MEMORY, 4);
    assert_eq!(other, Err(Status::INVALID_COMMAND_SET));
    let none = ask(Cns::CommandSetNamespace, NamespaceId::new(4), 3);
    assert_eq!(none, Err(Status::INVALID_NAMESPACE_OR_FORMAT));
    let memory = ask(Cns::CommandSetNamespace, MEMORY, 3).expect("a page");
    assert_eq!(memory[..12], [0, 0, 0x10, 0, 0, 0, 0, 0, 4, 0, 0, 0]);
    let compute = ask(Cns::CommandSetNamespace, COMPUTE, 4).expect("a page");
    assert_eq!(
        compute[..8],
        [64, 0, 3, 0, 2, 0, 4, 0],
        "programs, sets, granularity, ranges"
    );
    assert_eq!(compute[8..16], [64, 0, 0, 0, 0, 0, 0, 0], "MiB of programs");
    let controller = ask(Cns::Controller, zero, 0).expect("a page");
    assert_eq!(controller[134], 0b11, "CRCAP");
    assert_eq!(controller[516..520], [3, 0, 0, 0], "NN");
    assert_eq!(controller[534..536], [0b1_0001, 0], "copy formats 0 and 4");
}

/// Without memory, a drive is what it was.
#[test]
fn a_drive_without_memory_says_nothing_of_it() {
    let mut drive = drive(&[("local_memory.bytes", "0")]);
    let zero = NamespaceId::new(0);
    let all = identify(&mut drive, Cns::ActiveNamespaces, zero, 0);
    assert_eq!(listed(&all.expect("a list")), [1]);
    let sets = identify(&mut drive, Cns::CommandSets, zero, 0).expect("a page");
    assert_eq!(sets[..9], [1, 0, 0, 0, 0, 0, 0, 0, 0]);
    let controller = identify(&mut drive, Cns::Controller, zero, 0).expect("a page");
    assert_eq!(
        (controller[134], controller[516], controller[534]),
        (0, 1, 1)
    );
    let none = identify(&mut drive, Cns::CommandSetNamespace, MEMORY, 3);
    assert_eq!(none, Err(Status::INVALID_FIELD));
    for page in [
        LogPageId::REACHABILITY_GROUPS,
        LogPageId::REACHABILITY_ASSOCIATIONS,
    ] {
        let refused = log(&mut drive, page, zero, 0);
        assert_eq!(refused, Err(Status::INVALID_LOG_PAGE));
    }
    assert_eq!(drive.memory().bytes().expect("it says so"), 0);
    let refused = drive.memory().read(0, 4).expect_err("there is none");
    assert!(
        refused.to_string().contains("local_memory.bytes"),
        "{refused}"
    );
    // Its programs are those of its first namespace.
    load(&mut drive, &scale());
    let programs = log(&mut drive, LogPageId::PROGRAM_LIST, BLOCKS, 0).expect("a list");
    let programs = ProgramDescriptor::decode_list(&programs).expect("whole");
    assert!(programs[0].is_active());
}

#[test]
fn logs_tell_of_programs_sets_and_reachability() {
    let mut drive = drive(&[]);
    let program = load(&mut drive, &scale());
    drive
        .memory()
        .create_ranges(&[0..64, 128..132])
        .expect("a set");
    let programs = log(&mut drive, LogPageId::PROGRAM_LIST, COMPUTE, 4).expect("a list");
    let programs = ProgramDescriptor::decode_list(&programs).expect("whole");
    assert_eq!(programs.len(), 64);
    let first = &programs[0];
    assert!(first.is_occupied() && first.is_active());
    assert_eq!(
        (first.program_type, first.identifier.get()),
        (0xC0, program.identifier)
    );
    assert!(programs[1..].iter().all(|of| !of.is_occupied()));
    let types = log(&mut drive, LogPageId::PROGRAM_TYPES, COMPUTE, 4).expect("a list");
    assert_eq!((types[0], types[64]), (1, 0xC0));
    let sets = log(&mut drive, LogPageId::MEMORY_RANGE_SETS, COMPUTE, 4).expect("a list");
    let sets = RangeSetRecord::decode_list(&sets).expect("whole");
    assert_eq!((sets.len(), sets[0].set, sets[0].ranges.len()), (1, 1, 2));
    assert_eq!(
        (sets[0].ranges[1].start(), sets[0].ranges[1].bytes()),
        (128, 4)
    );
    let other = log(&mut drive, LogPageId::MEMORY_RANGE_SETS, MEMORY, 4);
    assert_eq!(other, Err(Status::INVALID_NAMESPACE_OR_FORMAT));

    let all = BROADCAST_NAMESPACE;
    let groups = log(&mut drive, LogPageId::REACHABILITY_GROUPS, all, 0).expect("a list");
    assert_eq!(groups[8], 3);
    for (number, descriptor) in groups[16..16 + 3 * 36].chunks(36).enumerate() {
        let number = number as u8 + 1;
        assert_eq!(descriptor[..8], [number, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(descriptor[32..], [number, 0, 0, 0], "its only namespace");
    }
    let page = LogPageId::REACHABILITY_ASSOCIATIONS;
    let associations = log(&mut drive, page, all, 0).expect("a list");
    assert_eq!(associations[8], 2);
    assert_eq!(
        associations[48..56],
        [1, 0, 0, 0, 2, 0, 0, 0],
        "blocks and memory"
    );
    assert_eq!(
        associations[88..96],
        [2, 0, 0, 0, 3, 0, 0, 0],
        "memory and programs"
    );

    let supported = log(&mut drive, LogPageId::SUPPORTED, all, 0).expect("a page");
    for id in [0x1A, 0x1B, 0x82, 0x83, 0x84, 0xC0, 0xC6] {
        assert_eq!(supported[4 * id], 1, "{id:02X}h");
    }
    let effects = LogPageId::COMMANDS_SUPPORTED;
    for set in [CommandSet::Nvm, CommandSet::Memory, CommandSet::Compute] {
        let csi = set.csi().expect("an I/O command set");
        let page = log(&mut drive, effects, all, csi).expect("a page");
        let told: Vec<usize> = (0..256)
            .filter(|opcode| page[1024 + 4 * opcode] & 1 == 1)
            .collect();
        let mut rows: Vec<usize> = commands()
            .filter(|row| row.set == set)
            .map(|row| row.opcode.into())
            .collect();
        rows.sort_unstable();
        assert_eq!(told, rows, "{set:?}");
    }
    let key_value = log(&mut drive, effects, all, 1);
    assert_eq!(key_value, Err(Status::INVALID_FIELD));
}
