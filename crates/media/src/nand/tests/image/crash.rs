//! A host that loses power while a drive is at work.

use super::*;
use sim::Random;

/// Few pages, so that a history overwrites them often.
pub(super) fn tiny() -> NandConfig {
    let mut config = small();
    config.geometry.channels = 1;
    config.geometry.dies_per_chip = 1;
    config.geometry.planes_per_die = 1;
    config.geometry.blocks_per_plane = 4;
    config.geometry.cells_per_string = 2;
    config.geometry.spare_bytes = 100;
    config
}

/// Does something to a drive.
pub(super) fn change(d: &mut Driver, random: &mut Random) {
    let block = random.below(4) as u32;
    let state = d.nand.block_state(BlockId(block));
    let mode = state
        .mode
        .unwrap_or(ProgramMode::ALL[random.below(5) as usize]);
    let is_full = state.next_page >= d.nand.geometry().pages_per_block(mode);
    if is_full || state.condition != BlockCondition::Good || random.chance(0.05) {
        d.must(0, &Command::erase(BlockId(block)));
        return;
    }
    if state.next_page > 0 && mode.bits_per_cell() == 1 && random.chance(0.2) {
        raise(
            d,
            page(block, random.below(state.next_page.into()) as u32),
            random,
        );
        return;
    }
    let at = page(block, state.next_page);
    match random.below(30) {
        0 => {
            let ageing = Ageing {
                hours: 1e-6,
                ..Ageing::default()
            };
            d.nand.grow_older(&ageing).expect("kept");
        }
        1 => {
            let program = Command::program(at, mode);
            d.nand.begin(DieId(0), &program, d.now).expect("legal");
            d.nand.power_cut(d.now).expect("kept");
        }
        2 => {
            let erase = Command::erase(BlockId(block));
            d.nand.begin(DieId(0), &erase, d.now).expect("legal");
            d.nand.power_cut(d.now).expect("kept");
        }
        3 => d.nand.place_page(at, mode, b"placed", None).expect("kept"),
        _ => {
            let mut data = [0; 32];
            random.fill(&mut data);
            let mut spare = vec![0; random.below(101) as usize];
            random.fill(&mut spare);
            d.program(at, mode, &data, &spare);
        }
    }
}

/// Raises some cells of a page, or is cut short at that.
fn raise(d: &mut Driver, at: PageAddress, random: &mut Random) {
    if d.nand.page_state(d.nand.geometry().ppa(at)) != PageState::Programmed {
        return;
    }
    let mut data = [0; 32];
    random.fill(&mut data);
    d.nand.data_in(PlaneId(0), 0, &data).expect("idle");
    let raise = Command::raise(at);
    if random.chance(0.2) {
        d.nand.begin(DieId(0), &raise, d.now).expect("legal");
        d.nand.power_cut(d.now).expect("kept");
    } else {
        d.must(0, &raise);
    }
}

/// Whether a drive is what another was, but for pages torn since.
fn is_back_at(found: &Durable, before: &Durable) -> bool {
    let blocks = found.0.iter().zip(&before.0).all(|(found, before)| {
        (found.erase_count, found.condition) == (before.erase_count, before.condition)
    });
    let pages = found.1.iter().zip(&before.1).all(|(found, before)| {
        found == before || (before.0, found.0) == (PageState::Erased, PageState::Torn)
    });
    blocks && pages && found.2 == before.2
}

type Durable = (Vec<BlockState>, Pages, DriveAge);

fn durable(d: &mut Driver) -> Durable {
    let (blocks, _) = snapshot(d);
    let mut pages = Vec::new();
    for block in 0..4 {
        // Pages beyond those of the mode of a block are erased in each.
        for index in 0..12 {
            let at = page(block, index);
            let ppa = d.nand.geometry().ppa(at);
            let mode = blocks[block as usize].mode.unwrap_or(ProgramMode::Tlc);
            let data = (index < d.nand.geometry().pages_per_block(mode)).then(|| d.read(at));
            let spare = d.nand.spare(ppa).map(<[u8]>::to_vec);
            let erased = d.nand.page_state(ppa) == PageState::Erased;
            pages.push((
                d.nand.page_state(ppa),
                spare.filter(|_| !erased),
                data.flatten().filter(|_| !erased),
            ));
        }
    }
    (blocks, pages, *d.nand.age())
}

/// A drive is as it was at some moment since it was last synced, whatever the host wrote back.
#[test]
fn a_host_that_loses_power_keeps_what_was_synced() {
    let outcomes: Vec<bool> = (0..300).map(lose_power).collect();
    let back = outcomes.iter().filter(|&&back| back).count();
    assert!((50..250).contains(&back), "{back} of 300 went back");
}

/// Whether it is not as it was at the end.
fn lose_power(seed: u64) -> bool {
    let mut random = Random::named(seed, "power");
    let config = tiny();
    let disk = Disk::default();
    let mut d = disk.create(&config);
    let mut since_sync = vec![durable(&mut d)];
    for _ in 0..random.below(80) {
        if random.chance(0.1) {
            d.nand.sync().expect("the disk works");
            since_sync.drain(..since_sync.len() - 1);
        }
        change(&mut d, &mut random);
        since_sync.push(durable(&mut d));
    }
    let disk = disk.after_power_loss(&mut || random.bits());
    drop(d);

    let opened = disk.open_on_another_host(&config);
    let mut d = opened.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let found = durable(&mut d);
    let moment = since_sync
        .iter()
        .position(|before| is_back_at(&found, before));
    let moment = moment.unwrap_or_else(|| panic!("seed {seed}: a state that never was"));
    // It goes on from there, and what is programmed now stays.
    for _ in 0..20 {
        change(&mut d, &mut random);
    }
    let before = durable(&mut d);
    drop(d);
    let opened = disk.open_on_another_host(&config);
    let mut d = opened.unwrap_or_else(|error| panic!("seed {seed}, again: {error}"));
    assert_eq!(durable(&mut d), before, "seed {seed}");
    moment + 1 < since_sync.len()
}
