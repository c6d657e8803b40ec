//! A million random queue entries, for I/O and for administration: no panic, no hang, nothing lost.
//!
//! `BITLINE_ENTRIES=10000000` sends so many; `make fuzz` does.

use std::collections::BTreeMap;

use bitline::{Config, Drive, Host, send_raw, send_raw_admin};
use nvme::command::{Row, commands, effect, opcode, row};
use nvme::{CommandSet, Status, SubmissionEntry};
use sim::{Random, join_all};

/// Entries sent, in batches of [`BATCH`] at once.
const ENTRIES: u64 = 1_000_000;
/// Share of the entries that are for administration.
const ADMIN_SHARE: f64 = 0.1;
const BATCH: u64 = 200;
/// Logical blocks that no entry is allowed to hit: nothing of them may change.
const KEPT_BLOCKS: u64 = 64;

/// Size of the buffer that entries name, in logical blocks.
const SCRATCH_BLOCKS: u32 = 4096;

fn small_drive() -> Drive {
    let keys = [
        ("nand.geometry.channels", "2"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.blocks_per_plane", "24"),
        ("nand.geometry.strings_per_block", "2"),
        ("nand.geometry.cells_per_string", "8"),
        ("nand.geometry.page_bytes", "2048"),
        ("nand.geometry.spare_bytes", "64"),
        ("frontend.block_bytes", "512"),
        (
            "frontend.namespaces",
            "[{ share = 0.6, block_bytes = 512 }, { share = 0.3, block_bytes = 1024 }, \
             { blocks = 5, block_bytes = 512 }]",
        ),
        // Entries may delete every queue but this one.
        ("host.queue_pairs", "1"),
        ("ftl.overprovisioning", "0.25"),
        ("ftl.gc.threshold_blocks", "4"),
    ];
    let preset = Config::preset("flash-cosmos").expect("the preset exists");
    Drive::open(preset.with(keys).expect("a possible drive")).expect("it opens")
}

/// A command of `set`, each as often as the others.
fn some_command(random: &mut Random, set: CommandSet) -> &'static Row {
    let of_set: Vec<_> = commands().filter(|row| row.set == set).collect();
    of_set[random.below(of_set.len() as u64) as usize]
}

/// An entry that is random in some fields and plausible in others, so that it
/// gets past the first check, and past the next.
fn entry(
    random: &mut Random,
    set: CommandSet,
    blocks: u64,
    scratch: &host::Buffer,
) -> SubmissionEntry {
    let mut bytes = [0; SubmissionEntry::BYTES];
    random.fill(&mut bytes);
    let mut entry = SubmissionEntry::from_bytes(bytes);
    if random.chance(0.9) {
        let row = some_command(random, set);
        row.make_plausible(&mut entry, blocks, &mut |end| random.below(end));
    }
    if random.chance(0.8) {
        entry.flags = [0x00, 0x40][random.below(2) as usize];
    }
    if random.chance(0.9) {
        let named = match set {
            CommandSet::Admin => [0, 1, 2, 3, u32::MAX][random.below(5) as usize],
            CommandSet::Nvm => 1 + random.below(3) as u32,
        };
        entry.namespace_id.set(named);
    }
    // Addresses within the scratch buffer, at its end, or where nothing is.
    let place = |random: &mut Random| match random.below(8) {
        0 => u64::MAX - random.below(1 << 40),
        1 => scratch.address() + scratch.bytes() - random.below(4096),
        2 => scratch.address() + random.below(scratch.bytes()),
        _ => scratch.address() + (random.below(scratch.bytes()) & !0xFFF),
    };
    entry.data_pointer[..8].copy_from_slice(&place(random).to_le_bytes());
    let second = if entry.flags >> 6 == 1 {
        random.below(1 << 18)
    } else {
        place(random)
    };
    entry.data_pointer[8..].copy_from_slice(&second.to_le_bytes());
    entry.metadata_pointer.set(place(random));
    match set {
        CommandSet::Nvm => spare_the_kept(&mut entry),
        CommandSet::Admin => spare_the_test(&mut entry),
    }
    entry
}

/// Has the entry of an I/O command leave the blocks alone that are kept.
fn spare_the_kept(entry: &mut SubmissionEntry) {
    // Ranges to deallocate lie in host memory, where anything may be: they are
    // asked for, but not to be deallocated.
    if entry.opcode == opcode::DATASET_MANAGEMENT {
        entry.cdw11.set(entry.cdw11.get() & !4);
    }
    let writes = row(CommandSet::Nvm, entry.opcode)
        .is_some_and(|row| row.effects & effect::CHANGES_BLOCKS != 0);
    let low = entry.cdw11.get() == 0 && u64::from(entry.cdw10.get()) < KEPT_BLOCKS;
    let by_range = entry.opcode != opcode::DATASET_MANAGEMENT;
    if writes && by_range && entry.namespace_id.get() == 1 && low {
        entry.cdw10.set(KEPT_BLOCKS as u32);
    }
}

/// Has the entry of an admin command leave the queue alone that the test itself uses, and the
/// namespace whose blocks are kept.
fn spare_the_test(entry: &mut SubmissionEntry) {
    let number = entry.cdw10.get();
    match entry.opcode {
        opcode::CREATE_SUBMISSION_QUEUE
        | opcode::CREATE_COMPLETION_QUEUE
        | opcode::DELETE_SUBMISSION_QUEUE
        | opcode::DELETE_COMPLETION_QUEUE
            if number & 0xFFFF == 1 =>
        {
            entry.cdw10.set(number + 1);
        }
        opcode::FORMAT_NVM if matches!(entry.namespace_id.get(), 1 | u32::MAX) => {
            entry.namespace_id.set(2);
        }
        // Everything but the erase itself.
        opcode::SANITIZE if number & 7 == 2 => entry.cdw10.set(number ^ 1),
        _ => {}
    }
}

/// Sends an entry; none is given for those that wait for an event.
async fn send(host: Host, admin: bool, entry: SubmissionEntry) -> Option<Status> {
    let queue = host.queue(0).expect("there is a queue");
    if !admin {
        let status = send_raw(&queue, entry).await;
        return Some(status.expect("the transport does not fail"));
    }
    if entry.opcode == opcode::ASYNC_EVENT_REQUEST {
        host.sim().spawn_detached(async move {
            let _ = send_raw_admin(&queue, entry).await;
        });
        return None;
    }
    let status = send_raw_admin(&queue, entry).await;
    Some(status.expect("the transport does not fail"))
}

fn set_of(admin: bool) -> CommandSet {
    if admin {
        CommandSet::Admin
    } else {
        CommandSet::Nvm
    }
}

/// How many entries to send.
fn entries() -> u64 {
    let Ok(named) = std::env::var("BITLINE_ENTRIES") else {
        return ENTRIES;
    };
    let number = named.parse();
    number.unwrap_or_else(|_| panic!("BITLINE_ENTRIES={named} is no number"))
}

#[test]
fn a_million_random_entries_lose_nothing() {
    let mut drive = small_drive();
    let blocks = drive.blocks().expect("it has power");
    let mut kept = vec![0; (KEPT_BLOCKS * 512) as usize];
    Random::named(1, "kept").fill(&mut kept);
    drive.write(0, &kept).expect("the drive is empty");
    let mut random = Random::named(1, "entries");
    let (mut accepted, mut refused, mut waiting) = ([0u64; 2], [0u64; 2], 0u64);
    let mut carried_out = BTreeMap::new();
    // Data goes here and nowhere else: a drive told to write over the host's queues would.
    let host = drive.host().expect("it has power");
    let scratch = host
        .block()
        .buffer(SCRATCH_BLOCKS)
        .expect("host memory has room");
    for _ in 0..entries() / BATCH {
        let batch: Vec<(bool, SubmissionEntry)> = (0..BATCH)
            .map(|_| {
                let admin = random.chance(ADMIN_SHARE);
                let set = set_of(admin);
                (admin, entry(&mut random, set, blocks, &scratch))
            })
            .collect();
        let kinds: Vec<(bool, u8)> = batch
            .iter()
            .map(|(admin, entry)| (*admin, entry.opcode))
            .collect();
        let statuses = drive.run(|host| async move {
            let sent = batch
                .into_iter()
                .map(|(admin, entry)| send(host.clone(), admin, entry));
            join_all(sent).await
        });
        for ((admin, opcode), status) in kinds
            .into_iter()
            .zip(statuses.expect("every command completes"))
        {
            match status {
                None => waiting += 1,
                Some(Status::SUCCESS) => {
                    accepted[usize::from(admin)] += 1;
                    *carried_out.entry((set_of(admin), opcode)).or_insert(0u64) += 1;
                }
                Some(_) => refused[usize::from(admin)] += 1,
            }
        }
    }
    for row in commands() {
        // Event requests wait, and what memory holds at random is no expression.
        let never = [opcode::ASYNC_EVENT_REQUEST, opcode::FC_READ].contains(&row.opcode);
        let times = carried_out.get(&(row.set, row.opcode));
        assert!(never || times.is_some(), "no {} was legal", row.name);
    }
    let sent = entries() / BATCH * BATCH;
    for (kind, number) in [("I/O", 0), ("admin", 1)] {
        let (accepted, refused) = (accepted[number], refused[number]);
        println!("{accepted} {kind} entries carried out, {refused} refused");
        assert!(
            accepted > (accepted + refused) / 50,
            "only {accepted} {kind} entries were legal: the test tests little"
        );
        assert!(
            refused > (accepted + refused) / 10,
            "only {refused} {kind} entries were refused: the test tests little"
        );
    }
    let answered: u64 = accepted.iter().chain(&refused).sum();
    assert_eq!(answered + waiting, sent);
    assert_eq!(drive.read(0, KEPT_BLOCKS).expect("it can be read"), kept);
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    assert_eq!(drive.read(0, KEPT_BLOCKS).expect("it can be read"), kept);
}
