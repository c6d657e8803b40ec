//! A million random queue entries, for I/O and for administration: no panic, no hang, nothing lost.
//!
//! `BITLINE_ENTRIES=10000000` sends so many; `make fuzz` does.

use bitline::{Config, Drive, Host, send_raw, send_raw_admin};
use nvme::{Status, SubmissionEntry};
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

/// An entry that is random in some fields and plausible in others, so that it
/// gets past the first check, and past the next.
fn entry(random: &mut Random, blocks: u64, scratch: &host::Buffer) -> SubmissionEntry {
    let mut bytes = [0; SubmissionEntry::BYTES];
    random.fill(&mut bytes);
    let mut entry = SubmissionEntry::from_bytes(bytes);
    if random.chance(0.9) {
        const OPCODES: [u8; 11] = [
            0x00, 0x01, 0x02, 0x04, 0x05, 0x08, 0x09, 0x0C, 0x19, 0x81, 0x82,
        ];
        entry.opcode = OPCODES[random.below(11) as usize];
    }
    if random.chance(0.8) {
        entry.flags = [0x00, 0x40][random.below(2) as usize];
    }
    if random.chance(0.9) {
        entry.namespace_id.set(1 + random.below(3) as u32);
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
    if random.chance(0.8) {
        entry.cdw10.set(random.below(2 * blocks) as u32);
        entry.cdw11.set(u32::from(random.chance(0.05)));
        let directive = u32::from(random.chance(0.2)) * 0xF0_0000;
        entry.cdw12.set(random.below(40) as u32 | directive);
        entry.cdw13.set((random.below(4) as u32) << 16);
    }
    let writes = matches!(entry.opcode, 0x01 | 0x04 | 0x08 | 0x19);
    let low = u64::from(entry.cdw10.get()) < KEPT_BLOCKS;
    if writes && entry.namespace_id.get() == 1 && low {
        entry.cdw10.set(KEPT_BLOCKS as u32);
    }
    // Ranges to deallocate lie in host memory, where anything may be: they are
    // asked for, but not to be deallocated.
    if entry.opcode == 0x09 {
        entry.cdw11.set(entry.cdw11.get() & !4);
    }
    entry
}

/// Makes an entry for the admin queue of one for I/O, as plausible: it spares the queue that the
/// test itself uses, and the namespace whose blocks are kept.
fn admin_entry(random: &mut Random, mut entry: SubmissionEntry) -> SubmissionEntry {
    if random.chance(0.9) {
        const OPCODES: [u8; 14] = [
            0x00, 0x01, 0x02, 0x04, 0x05, 0x06, 0x08, 0x09, 0x0A, 0x0C, 0x19, 0x1A, 0x80, 0x84,
        ];
        entry.opcode = OPCODES[random.below(14) as usize];
    }
    if random.chance(0.8) {
        entry.cdw10.set(match entry.opcode {
            // Queues 0 to 7, of 1 to 16 entries.
            0x00 | 0x01 | 0x04 | 0x05 => random.below(8) as u32 | (random.below(16) as u32) << 16,
            // Log pages of up to 64 KiB, with and without RAE.
            0x02 => {
                let page = [0, 1, 2, 3, 4, 5, 0x81, random.below(256)][random.below(8) as usize];
                page as u32 | (random.below(0x4001) as u32) << 16 | (random.below(2) as u32) << 15
            }
            0x08 => random.below(3) as u32 | (random.below(1024) as u32) << 16,
            0x0A | 0x09 => random.below(16) as u32 | (random.below(4) as u32) << 8,
            _ => random.below(32) as u32,
        });
        entry.cdw11.set(random.below(1 << 24) as u32);
        if matches!(entry.opcode, 0x19 | 0x1A) {
            let operation = 1 + random.below(3) as u32;
            entry
                .cdw11
                .set(operation | 0x0F00 | (random.below(4) as u32) << 16);
        }
        entry.cdw12.set(random.below(2) as u32 * 64);
    }
    let number = entry.cdw10.get();
    match entry.opcode {
        0x00 | 0x01 | 0x04 | 0x05 if number & 0xFFFF == 1 => entry.cdw10.set(number + 1),
        0x80 if matches!(entry.namespace_id.get(), 1 | u32::MAX) => entry.namespace_id.set(2),
        // Everything but the erase itself.
        0x84 if number & 7 == 2 => entry.cdw10.set(number ^ 1),
        _ => {}
    }
    entry
}

/// Sends an entry; none is given for those that wait for an event.
async fn send(host: Host, admin: bool, entry: SubmissionEntry) -> Option<Status> {
    const EVENT_REQUEST: u8 = 0x0C;
    let queue = host.queue(0).expect("there is a queue");
    if !admin {
        let status = send_raw(&queue, entry).await;
        return Some(status.expect("the transport does not fail"));
    }
    if entry.opcode == EVENT_REQUEST {
        host.sim().spawn_detached(async move {
            let _ = send_raw_admin(&queue, entry).await;
        });
        return None;
    }
    let status = send_raw_admin(&queue, entry).await;
    Some(status.expect("the transport does not fail"))
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
    // Data goes here and nowhere else: a drive told to write over the host's queues would.
    let host = drive.host().expect("it has power");
    let scratch = host
        .block()
        .buffer(SCRATCH_BLOCKS)
        .expect("host memory has room");
    for _ in 0..entries() / BATCH {
        let batch: Vec<(bool, SubmissionEntry)> = (0..BATCH)
            .map(|_| {
                let io = entry(&mut random, blocks, &scratch);
                let admin = random.chance(ADMIN_SHARE);
                let entry = if admin {
                    admin_entry(&mut random, io)
                } else {
                    io
                };
                (admin, entry)
            })
            .collect();
        let kinds: Vec<bool> = batch.iter().map(|(admin, _)| *admin).collect();
        let statuses = drive.run(|host| async move {
            let sent = batch
                .into_iter()
                .map(|(admin, entry)| send(host.clone(), admin, entry));
            join_all(sent).await
        });
        for (admin, status) in kinds
            .into_iter()
            .zip(statuses.expect("every command completes"))
        {
            match status {
                None => waiting += 1,
                Some(Status::SUCCESS) => accepted[usize::from(admin)] += 1,
                Some(_) => refused[usize::from(admin)] += 1,
            }
        }
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
