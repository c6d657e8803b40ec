//! Where vectors lie on the media and what their cells hold, read page by page without the firmware.

use std::collections::BTreeMap;

use bitline::inside::InsideDrive;
use bitline::{Drive, Extent, VectorId};
use device::ftl::PageRecord;
use device::region::Placement;
use media::nand::{BlockId, Command, PageAddress, ProgramMode};
use sim::{Span, Time};

use crate::numbered::Numbered;
use crate::{BITS, Random, clear_tail, open};

const PAGE_BITS: u64 = 512 * 8;

/// What the media holds of vectors, by vector and chunk: the page, its record, its bytes.
type Pages = BTreeMap<(VectorId, u32), (PageAddress, Placement, Vec<u8>)>;

/// The vector and chunk of each logical page.
type Names = BTreeMap<u32, (VectorId, u32)>;

fn names(drive: &mut Drive, ids: impl IntoIterator<Item = VectorId>) -> Names {
    let stored = drive.vectors(None).expect("a list");
    let mut names = Names::new();
    for id in ids {
        let vector = stored.iter().find(|vector| vector.id == id);
        // Blocks are as long as pages here.
        let [
            Extent {
                first,
                blocks: pages,
            },
        ] = vector.expect("it was written").vector.extents[..]
        else {
            panic!("vector {id} lies in several places");
        };
        names.extend((0..pages as u32).map(|chunk| (first as u32 + chunk, (id, chunk))));
    }
    names
}

/// Reads every page of a vector out of a drive without power, whose clock goes on in `now`.
fn pages(drive: &Drive, names: &Names, mut now: Time) -> Pages {
    let mut nand = drive.nand().borrow_mut();
    let geometry = nand.geometry().clone();
    let mut pages = Pages::new();
    for block in (0..geometry.blocks()).map(BlockId) {
        for page in 0..geometry.wordlines_per_block() {
            let address = PageAddress { block, page };
            let record = nand.spare(geometry.ppa(address));
            let placed = record.and_then(|spare| PageRecord::decode(spare)?.placed);
            let Some((lpn, placement)) = placed else {
                continue;
            };
            assert_eq!(nand.block_state(block).mode, Some(ProgramMode::Esp));
            let die = geometry.die_of_block(block);
            let read = nand.begin(die, &Command::read(address), now);
            now += read.expect("the die is idle").span;
            nand.finish(die, now).expect("it is time");
            let register = nand.page_register(geometry.plane_of_block(block));
            let words = register.expect("the die is idle");
            let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            pages.insert(names[&lpn.0], (address, placement, bytes));
        }
    }
    pages
}

/// The bytes of a vector put together from its pages, inverted if the inverse is stored.
fn content(pages: &Pages, id: VectorId, bits: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in 0..bits.div_ceil(PAGE_BITS) as u32 {
        let (_, record, page) = &pages[&(id, chunk)];
        let flip = if record.inverse { u8::MAX } else { 0 };
        bytes.extend(page.iter().map(|byte| byte ^ flip));
    }
    bytes.truncate(bits.div_ceil(8) as usize);
    clear_tail(&mut bytes, bits);
    bytes
}

#[test]
fn groups_fill_strings_and_span_them_in_the_same_planes() {
    let mut random = Random(1);
    let mut drive = open(&[]);
    let mut vectors = BTreeMap::new();
    // Ten vectors over strings of four cells, two groups in turns; one of them stored inverted.
    for number in 0..10 {
        for group in [1, 2] {
            let (id, data) = (VectorId::new(group, number), random.vector(BITS));
            let written = drive.write_vector(id, BITS, group == 2, &data);
            written.expect("there is room");
            vectors.insert(id, data);
        }
    }
    let pause = drive.run(|host| async move { host.sim().sleep(Span::from_us(100)).await });
    pause.expect("nothing hangs");
    let now = drive.now();
    let names = names(&mut drive, vectors.keys().copied());
    drive.power_cut().expect("memory does not fail");
    let pages = pages(&drive, &names, now + Span::from_us(10_000));
    let chunks = BITS.div_ceil(PAGE_BITS) as u32;
    assert_eq!(pages.len(), 20 * chunks as usize);
    let nand = drive.nand().borrow();
    let geometry = nand.geometry();
    let mut strings = BTreeMap::new();
    for (id, data) in &vectors {
        assert!(content(&pages, *id, BITS) == *data, "{id}");
        for chunk in 0..chunks {
            let (address, record, _) = &pages[&(*id, chunk)];
            assert_eq!(record.inverse, id.group == 2);
            // Two strings a block: pages go through them before they go to the next wordline.
            let (string, layer) = (address.page % 2, address.page / 2);
            assert_eq!(layer, id.vector % 4, "one wordline after another");
            let plane = geometry.plane_of_block(address.block);
            let home = (address.block, string);
            let of_chunk = strings
                .entry((id.group, id.vector / 4, chunk))
                .or_insert(home);
            assert_eq!(*of_chunk, home, "{id}: four vectors share a string");
            let first = strings[&(id.group, 0, chunk)].0;
            assert_eq!(
                plane,
                geometry.plane_of_block(first),
                "the group stays in its planes"
            );
            // Consecutive chunks visit all eight planes before one comes again.
            let before = chunk
                .checked_sub(8)
                .map(|before| strings[&(id.group, id.vector / 4, before)].0);
            assert!(before.is_none_or(|before| geometry.plane_of_block(before) == plane));
        }
    }
    let stripe: std::collections::BTreeSet<u32> = (0..8)
        .map(|chunk| geometry.plane_of_block(strings[&(1, 0, chunk)].0).0)
        .collect();
    assert_eq!(stripe, (0..8).collect(), "a stripe goes over all planes");
    let distinct: std::collections::BTreeSet<(u32, u32)> = strings
        .values()
        .map(|(block, string)| (block.0, *string))
        .collect();
    assert_eq!(distinct.len(), strings.len(), "no string serves twice");
    let groups: BTreeMap<u32, u32> = strings
        .iter()
        .map(|((group, ..), (block, _))| (block.0, *group))
        .collect();
    let sole = strings
        .iter()
        .all(|((group, ..), (block, _))| groups[&block.0] == *group);
    assert!(sole, "no block holds vectors of two groups");
}
