//! A million queue entries, for I/O and for administration: no panic, no hang, nothing lost.
//!
//! Most are legal commands for what is on the drive ([`shapes`]), of which half are then spoiled. Others have
//! fields as the table of commands says that they usually are, and some are random from the first bit to the last.
//!
//! `BITLINE_ENTRIES=10000000` sends so many; `make fuzz` does.

mod collectors;
mod memory;
mod names;
mod programs;
mod search;
mod shapes;
mod spare;
mod streams;
mod world;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use bitline::inside::InsideHost;
use bitline::inside::{send_raw, send_raw_admin};
use bitline::{Config, Drive, Host};
use nvme::command::{commands, opcode, row};
use nvme::{CommandSet, Status, SubmissionEntry};
use sim::{Random, join_all};

use shapes::{ADMIN, IO, Shape};
use world::{KEPT_BLOCKS, World};

/// Entries sent, in batches of [`BATCH`] at once.
const ENTRIES: u64 = 1_000_000;
/// Share of the entries that are for administration.
const ADMIN_SHARE: f64 = 0.1;
const BATCH: u64 = 200;
/// Share of the legal entries that are spoiled.
const SPOILED: f64 = 0.5;
/// Shares of the entries that are random, and that only look right.
const RANDOM: f64 = 0.05;
const PLAUSIBLE: f64 = 0.1;

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
        ("bits.compute_blocks_percent", "25"),
        // Names that wait for a row to be full are in the journal, too, which has little room.
        ("search.buffer_bytes", "262144"),
        ("local_memory.bytes", "1048576"),
        ("local_memory.range_sets", "4"),
    ];
    let preset = Config::preset("flash-cosmos").expect("the preset exists");
    Drive::open(preset.with(keys).expect("a possible drive")).expect("it opens")
}

/// What became of the entries of a command.
#[derive(Clone, Default)]
struct Tally {
    sent: u64,
    carried_out: u64,
    /// How often each other status was given.
    refused: BTreeMap<String, u64>,
}

impl Tally {
    fn count(&mut self, status: Option<Status>) {
        self.sent += 1;
        match status {
            None => {}
            Some(Status::SUCCESS) => self.carried_out += 1,
            Some(status) => *self.refused.entry(status.to_string()).or_default() += 1,
        }
    }

    /// The statuses given most often.
    fn reasons(&self) -> String {
        let mut reasons: Vec<(&String, &u64)> = self.refused.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let most = reasons.iter().take(4);
        let words: Vec<String> = most
            .map(|(status, count)| format!("{status} {count}"))
            .collect();
        words.join(", ")
    }
}

/// An entry, and the index of its shape among those of its command set.
struct Sent {
    set: CommandSet,
    shape: Option<usize>,
    entry: SubmissionEntry,
}

/// Draws one of `shapes` by their weights.
fn pick(random: &mut Random, shapes: &[Shape]) -> usize {
    let mut left = random.below(shapes.iter().map(|shape| shape.weight).sum());
    let drawn = shapes.iter().position(|shape| {
        let here = left < shape.weight;
        left = left.wrapping_sub(shape.weight);
        here
    });
    drawn.expect("the weights add up")
}

/// The shapes of a command set.
fn shapes_of(set: CommandSet) -> &'static [Shape] {
    match set {
        CommandSet::Admin => &ADMIN,
        CommandSet::Nvm => &IO,
        CommandSet::Memory => &memory::MEMORY_IO,
        CommandSet::Compute => &memory::COMPUTE_IO,
    }
}

/// The shape of an entry, if its namespace has such a command.
fn shape_of(set: CommandSet, entry: &SubmissionEntry) -> Option<usize> {
    let mut shapes = shapes_of(set).iter();
    shapes.position(|shape| shape.opcode == entry.opcode)
}

/// The command set of an I/O entry.
fn set_of(entry: &SubmissionEntry) -> CommandSet {
    match entry.namespace() {
        memory::MEMORY => CommandSet::Memory,
        memory::COMPUTE => CommandSet::Compute,
        _ => CommandSet::Nvm,
    }
}

/// The command set of the next entry.
fn draw_set(random: &mut Random) -> CommandSet {
    if random.chance(ADMIN_SHARE) {
        return CommandSet::Admin;
    }
    match random.below(16) {
        0 => CommandSet::Memory,
        1 => CommandSet::Compute,
        _ => CommandSet::Nvm,
    }
}

/// An entry of a command of `set`, each as often as the others, with usual values in the fields that the command has.
fn plausible(world: &World, random: &mut Random, set: CommandSet) -> SubmissionEntry {
    let rows: Vec<_> = commands().filter(|row| row.set == set).collect();
    let row = rows[random.below(rows.len() as u64) as usize];
    let space = world.space(random);
    let mut entry = SubmissionEntry::default();
    row.make_plausible(&mut entry, space.blocks, &mut |end| random.below(end));
    let of_set = match set {
        CommandSet::Memory => memory::MEMORY.get(),
        CommandSet::Compute => memory::COMPUTE.get(),
        _ => space.id.get(),
    };
    let namespaces = [of_set, of_set, 0, u32::MAX];
    entry.namespace_id.set(namespaces[random.below(4) as usize]);
    let first = match random.chance(0.9) {
        true => world.data(random, 1 << 16),
        false => world.end(random),
    };
    let sgl = random.chance(0.5);
    let second = match sgl {
        true => random.below(1 << 17),
        false => world.end_of_list(random),
    };
    entry.flags = if sgl { 0x40 } else { 0 };
    entry.data_pointer[..8].copy_from_slice(&first.to_le_bytes());
    entry.data_pointer[8..].copy_from_slice(&second.to_le_bytes());
    entry
}

fn draw(world: &mut World, random: &mut Random) -> Sent {
    world.begin_entry();
    let set = draw_set(random);
    let shapes = shapes_of(set);
    if random.chance(PLAUSIBLE) {
        let mut entry = plausible(world, random, set);
        let shape = shape_of(set, &entry).expect("every row has one");
        (shapes[shape].spare)(&mut entry);
        return Sent {
            set,
            shape: None,
            entry,
        };
    }
    if random.chance(RANDOM) {
        let mut bytes = [0; SubmissionEntry::BYTES];
        random.fill(&mut bytes);
        let mut entry = SubmissionEntry::from_bytes(bytes);
        let set = match set {
            CommandSet::Admin => set,
            _ => set_of(&entry),
        };
        let shape = shape_of(set, &entry);
        if let Some(shape) = shape {
            (shapes_of(set)[shape].spare)(&mut entry);
        }
        return Sent { set, shape, entry };
    }
    let number = pick(random, shapes);
    let shape = &shapes[number];
    let mut entry = (shape.legal)(world, random);
    entry.opcode = shape.opcode;
    if random.chance(SPOILED) {
        for _ in 0..1 + random.below(2) {
            spoil(&mut entry, world, random);
        }
        (shape.spare)(&mut entry);
    }
    Sent {
        set,
        shape: Some(number),
        entry,
    }
}

/// Changes one thing of an entry: an address to the ends of memory or of all addresses, a length, a field.
fn spoil(entry: &mut SubmissionEntry, world: &World, random: &mut Random) {
    match random.below(10) {
        0 | 1 => entry.data_pointer[..8].copy_from_slice(&world.end(random).to_le_bytes()),
        2 => {
            // A descriptor's length, up to all that it can say. As an address it must not be small:
            // there the host has its queues.
            let is_length = entry.flags >> 6 == 1 && random.chance(0.5);
            let second = match (is_length, random.chance(0.5)) {
                (true, _) => random.below(1 << 32),
                (false, true) => world.end_of_list(random),
                (false, false) => random.bits() | 1 << 63,
            };
            entry.data_pointer[8..].copy_from_slice(&second.to_le_bytes());
        }
        3 => entry.metadata_pointer.set(world.end(random)),
        4 => world.garble(random),
        5 => {
            let namespaces = [0, 6, u32::MAX, random.bits() as u32, 1, 2, 3, 4, 5];
            entry.namespace_id.set(namespaces[random.below(9) as usize]);
        }
        6 => {
            // A length that is taken for a PRP list must not be where the host has its queues.
            let second = world.end_of_list(random);
            entry.data_pointer[8..].copy_from_slice(&second.to_le_bytes());
            entry.flags = random.bits() as u8;
        }
        _ => spoil_dword(entry, random),
    }
}

fn spoil_dword(entry: &mut SubmissionEntry, random: &mut Random) {
    let dwords = [
        &mut entry.cdw10,
        &mut entry.cdw11,
        &mut entry.cdw12,
        &mut entry.cdw13,
        &mut entry.cdw14,
        &mut entry.cdw15,
    ];
    let dword = dwords.into_iter().nth(random.below(6) as usize);
    let dword = dword.expect("one of six");
    let was = dword.get();
    dword.set(match random.below(6) {
        0 => 0,
        1 => u32::MAX - random.below(3) as u32,
        2 => was.wrapping_add(1),
        3 => was.wrapping_sub(1),
        4 => was ^ 1 << random.below(32),
        _ => random.bits() as u32,
    });
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

/// How many entries to send.
fn entries() -> u64 {
    let Ok(named) = std::env::var("BITLINE_ENTRIES") else {
        return ENTRIES;
    };
    let number = named.parse();
    number.unwrap_or_else(|_| panic!("BITLINE_ENTRIES={named} is no number"))
}

/// Sends a batch; the statuses in its order.
fn send_all(drive: &mut Drive, batch: &[Sent]) -> Vec<Option<Status>> {
    let waiting = Rc::new(RefCell::new((0..batch.len()).collect::<BTreeSet<_>>()));
    let is_admin = |sent: &Sent| sent.set == CommandSet::Admin;
    let entries: Vec<_> = batch
        .iter()
        .map(|sent| (is_admin(sent), sent.entry))
        .collect();
    let left = waiting.clone();
    let statuses = drive.run(|host| async move {
        let sent = (0..).zip(entries).map(|(number, (admin, entry))| {
            let (host, left) = (host.clone(), left.clone());
            async move {
                let status = send(host, admin, entry).await;
                left.borrow_mut().remove(&number);
                status
            }
        });
        join_all(sent).await
    });
    statuses.unwrap_or_else(|error| {
        let waiting = waiting.borrow();
        let entries: Vec<_> = waiting.iter().map(|number| &batch[*number].entry).collect();
        panic!("{error}; these never complete: {entries:#x?}")
    })
}

/// Tells how many entries of each command were carried out, and holds that against what is enough.
fn check_shares(set: CommandSet, shapes: &[Shape], tallies: &[Tally]) {
    let name_of = |shape: &Shape| row(set, shape.opcode).expect("a command").name;
    for (shape, tally) in shapes.iter().zip(tallies) {
        let (name, percent) = (name_of(shape), 100 * tally.carried_out / tally.sent.max(1));
        println!(
            "{name}: {percent} % of {} carried out; {}",
            tally.sent,
            tally.reasons()
        );
    }
    for (shape, tally) in shapes.iter().zip(tallies) {
        let (name, percent) = (name_of(shape), 100 * tally.carried_out / tally.sent.max(1));
        let least = shape.least_percent;
        assert!(
            percent >= least,
            "only {percent} % of {name} were legal: the test tests little"
        );
        assert!(
            percent <= 95,
            "{percent} % of {name} were carried out: the test tests little"
        );
    }
}

#[test]
fn every_command_has_a_shape() {
    for set in CommandSet::ALL {
        let shapes = shapes_of(set);
        let of_set = commands().filter(|row| row.set == set);
        let opcodes: BTreeSet<u8> = of_set.map(|row| row.opcode).collect();
        let shaped: BTreeSet<u8> = shapes.iter().map(|shape| shape.opcode).collect();
        assert_eq!(opcodes, shaped, "{set:?}");
    }
}

#[test]
fn a_million_random_entries_lose_nothing() {
    let mut drive = small_drive();
    let mut kept = vec![0; (KEPT_BLOCKS * 512) as usize];
    Random::named(1, "kept").fill(&mut kept);
    drive.write(0, &kept).expect("the drive is empty");
    let mut random = Random::named(1, "entries");
    // Data goes here and nowhere else: a drive told to write over the host's queues would.
    let mut world = World::new(&drive);
    let tally = |set| (set, vec![Tally::default(); shapes_of(set).len()]);
    let mut tallies: BTreeMap<_, _> = CommandSet::ALL.map(tally).into();
    for _ in 0..entries() / BATCH {
        world.look(&mut drive);
        world.look_for_names(&mut drive, &mut random);
        let batch: Vec<Sent> = (0..BATCH).map(|_| draw(&mut world, &mut random)).collect();
        let statuses = send_all(&mut drive, &batch);
        for (sent, status) in batch.iter().zip(statuses) {
            let Some(shape) = sent.shape else { continue };
            let of_set = tallies.get_mut(&sent.set).expect("all are there");
            of_set[shape].count(status);
        }
    }
    for (set, tallies) in &tallies {
        check_shares(*set, shapes_of(*set), tallies);
    }
    assert_eq!(drive.read(0, KEPT_BLOCKS).expect("it can be read"), kept);
    drive.power_cut().expect("no image");
    drive.power_up().expect("it recovers");
    assert_eq!(drive.read(0, KEPT_BLOCKS).expect("it can be read"), kept);
}
