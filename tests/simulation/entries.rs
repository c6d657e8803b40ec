//! A million random queue entries: no panic, no hang, nothing lost.

use bitline::{Config, Drive, send_raw};
use nvme::{Status, SubmissionEntry};
use sim::{Random, join_all};

/// Entries sent, in batches of [`BATCH`] at once.
const ENTRIES: u64 = 1_000_000;
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
        const OPCODES: [u8; 10] = [0x00, 0x01, 0x02, 0x08, 0x09, 0x81, 0x82, 0x84, 0x86, 0x05];
        entry.opcode = OPCODES[random.below(10) as usize];
    }
    if random.chance(0.8) {
        entry.flags = [0x00, 0x40][random.below(2) as usize];
    }
    if random.chance(0.9) {
        entry.namespace_id.set(1);
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
        entry.cdw12.set(random.below(40) as u32);
        entry.cdw13.set(0);
    }
    let writes = matches!(entry.opcode, 0x01 | 0x08);
    if writes && u64::from(entry.cdw10.get()) < KEPT_BLOCKS {
        entry.cdw10.set(KEPT_BLOCKS as u32);
    }
    // Ranges to deallocate lie in host memory, where anything may be: they are
    // asked for, but not to be deallocated.
    if entry.opcode == 0x09 {
        entry.cdw11.set(entry.cdw11.get() & !4);
    }
    entry
}

#[test]
fn a_million_random_entries_lose_nothing() {
    let mut drive = small_drive();
    let blocks = drive.blocks().expect("it has power");
    let mut kept = vec![0; (KEPT_BLOCKS * 512) as usize];
    Random::named(1, "kept").fill(&mut kept);
    drive.write(0, &kept).expect("the drive is empty");
    let mut random = Random::named(1, "entries");
    let (mut accepted, mut refused) = (0u64, 0u64);
    // Data goes here and nowhere else: a drive told to write over the host's queues would.
    let host = drive.host().expect("it has power");
    let scratch = host
        .block()
        .buffer(SCRATCH_BLOCKS)
        .expect("host memory has room");
    for _ in 0..ENTRIES / BATCH {
        let batch: Vec<SubmissionEntry> = (0..BATCH)
            .map(|_| entry(&mut random, blocks, &scratch))
            .collect();
        let statuses = drive.run(|host| async move {
            let queue = host.queue(0).expect("there is a queue");
            join_all(batch.into_iter().map(|entry| send_raw(&queue, entry))).await
        });
        for status in statuses.expect("every command completes") {
            match status.expect("the transport does not fail") {
                Status::SUCCESS => accepted += 1,
                _ => refused += 1,
            }
        }
    }
    println!("{accepted} entries carried out, {refused} refused");
    assert_eq!(accepted + refused, ENTRIES);
    assert!(
        accepted > ENTRIES / 50,
        "only {accepted} entries were legal: the test tests little"
    );
    assert!(
        refused > ENTRIES / 10,
        "only {refused} entries were refused: the test tests little"
    );
    assert_eq!(drive.read(0, KEPT_BLOCKS).expect("it can be read"), kept);
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    assert_eq!(drive.read(0, KEPT_BLOCKS).expect("it can be read"), kept);
}
