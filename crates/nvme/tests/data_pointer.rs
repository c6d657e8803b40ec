//! Data pointers against host memory: PRP pages, lists, chains and their offset rules.

use nvme::{DataPointer, Dma, HostMemory, MAX_TRANSFER_BYTES, MEMORY_PAGE_BYTES, Segment, Status};
use proptest::prelude::*;

const PAGE: u64 = MEMORY_PAGE_BYTES;

fn prp(prp1: u64, prp2: u64) -> DataPointer {
    DataPointer::Prp { prp1, prp2 }
}

fn segment(address: u64, length: u64) -> Segment {
    Segment { address, length }
}

fn put_entries(memory: &mut HostMemory, address: u64, entries: &[u64]) {
    let bytes: Vec<u8> = entries
        .iter()
        .flat_map(|entry| entry.to_le_bytes())
        .collect();
    memory
        .write(address, &bytes)
        .expect("the list is allocated");
}

#[test]
fn one_and_two_pages_need_no_list() {
    let memory = HostMemory::new();
    let one = prp(0x1000, 0xBAD)
        .segments(4096, &memory)
        .expect("one whole page");
    assert_eq!(*one, [segment(0x1000, 4096)]);
    let two = prp(0x1F00, 0x9000)
        .segments(0x200, &memory)
        .expect("the end and a beginning");
    assert_eq!(*two, [segment(0x1F00, 0x100), segment(0x9000, 0x100)]);
    let adjacent = prp(0x1000, 0x2000)
        .segments(8192, &memory)
        .expect("two whole pages");
    assert_eq!(*adjacent, [segment(0x1000, 8192)]);
    let none = prp(0x1000, 0).segments(0, &memory).expect("no bytes");
    assert!(none.is_empty());
}

#[test]
fn offsets_are_checked() {
    let mut memory = HostMemory::new();
    let list = memory.allocate(PAGE).expect("a page");
    let status =
        |pointer: DataPointer, length, memory: &HostMemory| pointer.segments(length, memory).err();
    let invalid = Some(Status::INVALID_PRP_OFFSET);
    assert_eq!(status(prp(0x1002, 0), 8, &memory), invalid, "not a dword");
    assert_eq!(status(prp(0x1004, 0), 8, &memory), None);
    assert_eq!(
        status(prp(0x1000, 0x2004), 8192, &memory),
        invalid,
        "second page with offset"
    );
    assert_eq!(
        status(prp(0x1000, list + 4), 12288, &memory),
        invalid,
        "list not at a qword"
    );
    put_entries(&mut memory, list, &[0x5000, 0x6008]);
    assert_eq!(
        status(prp(0x1000, list), 12288, &memory),
        invalid,
        "entry with offset"
    );
    put_entries(&mut memory, list, &[0x5000, 0x6000]);
    assert_eq!(status(prp(0x1000, list), 12288, &memory), None);
    put_entries(&mut memory, list + PAGE - 8, &[0x7008]);
    assert_eq!(
        status(prp(0x1000, list + PAGE - 8), 12288, &memory),
        invalid,
        "chain with offset"
    );
}

#[test]
fn unreadable_lists_are_transfer_errors() {
    let mut memory = HostMemory::new();
    let pointer = prp(0x1000, 0x10_0000_0000);
    assert_eq!(
        pointer.segments(1 << 20, &memory).err(),
        Some(Status::DATA_TRANSFER_ERROR)
    );
    let list = memory.allocate(PAGE).expect("a page");
    put_entries(&mut memory, list + PAGE - 8, &[0x20_0000_0000]);
    let chained = prp(0x1000, list + PAGE - 8)
        .segments(1 << 20, &memory)
        .err();
    assert_eq!(chained, Some(Status::DATA_TRANSFER_ERROR));
    let top = prp(0x1000, u64::MAX - 7).segments(1 << 20, &memory).err();
    assert_eq!(top, Some(Status::DATA_TRANSFER_ERROR));
}

#[test]
fn the_last_slot_of_a_list_page_is_data_when_nothing_follows() {
    let mut memory = HostMemory::new();
    let list = memory.allocate(PAGE).expect("a page");
    put_entries(&mut memory, list + PAGE - 16, &[0x7000, 0x9000]);
    let pointer = prp(0x1000, list + PAGE - 16);
    let segments = pointer
        .segments(3 * PAGE, &memory)
        .expect("a list of two entries");
    let pages = [0x1000, 0x7000, 0x9000].map(|page| segment(page, PAGE));
    assert_eq!(*segments, pages);
    assert_eq!(pointer.list_bytes(3 * PAGE), 16);
}

#[test]
fn a_list_that_chains_to_itself_ends() {
    let mut memory = HostMemory::new();
    let list = memory.allocate(PAGE).expect("a page");
    put_entries(&mut memory, list, &[list; 512]);
    let segments = prp(list, list)
        .segments(64 << 20, &memory)
        .expect("every entry is legal");
    assert_eq!(segments.total_bytes(), 64 << 20);
}

#[test]
fn sgl_length_is_checked() {
    let memory = HostMemory::new();
    let sgl = DataPointer::Sgl {
        address: 0x123,
        length: 100,
    };
    assert_eq!(
        *sgl.segments(100, &memory).expect("all of it"),
        [segment(0x123, 100)]
    );
    assert_eq!(
        *sgl.segments(60, &memory).expect("part of it"),
        [segment(0x123, 60)]
    );
    assert_eq!(
        sgl.segments(101, &memory).err(),
        Some(Status::DATA_SGL_LENGTH_INVALID)
    );
    let too_long = MAX_TRANSFER_BYTES + 1;
    assert_eq!(
        sgl.segments(too_long, &memory).err(),
        Some(Status::INVALID_FIELD)
    );
    assert_eq!(sgl.list_bytes(100), 0);
}

#[test]
fn copies_stop_at_the_shorter_side() {
    let mut memory = HostMemory::new();
    let buffer = memory.allocate(2 * PAGE).expect("two pages");
    let pointer = prp(buffer + 4092, buffer + PAGE);
    let segments = pointer.segments(8, &memory).expect("legal");
    segments
        .write(&mut memory, &[1, 2, 3, 4, 5, 6, 7, 8, 9])
        .expect("in range");
    let mut back = [0; 6];
    segments.read(&memory, &mut back).expect("in range");
    assert_eq!(back, [1, 2, 3, 4, 5, 6]);
    assert_eq!(
        memory.slice(buffer + 4100, 1),
        Ok(&[0][..]),
        "the ninth byte is not written"
    );
}

/// Builds what a host would: pages in any order, and a list that begins `list_slot` entries into
/// its page. Gives the pointer and the bytes of list it filled.
fn scatter(
    memory: &mut HostMemory,
    pages: &[u64],
    offset: u64,
    list_slot: u64,
) -> (DataPointer, u64) {
    let [first, rest @ ..] = pages else {
        panic!("at least one page");
    };
    match rest {
        [] => (prp(first + offset, 0), 0),
        [second] => (prp(first + offset, *second), 0),
        _ => {
            let start = memory.allocate(PAGE).expect("a list page") + list_slot * 8;
            let (mut at, mut filled) = (start, 0);
            for (index, page) in rest.iter().enumerate() {
                if at % PAGE == PAGE - 8 && index + 1 < rest.len() {
                    let next = memory.allocate(PAGE).expect("a list page");
                    put_entries(memory, at, &[next]);
                    at = next;
                    filled += 8;
                }
                put_entries(memory, at, &[*page]);
                at += 8;
                filled += 8;
            }
            (prp(first + offset, start), filled)
        }
    }
}

proptest! {
    /// Whatever the pages and the list, what is written through the segments lies, byte for byte,
    /// where the pages are.
    #[test]
    fn walks_every_list(
        (count, order) in (1usize..1400).prop_flat_map(|count| {
            (Just(count), Just((0..count).collect::<Vec<_>>()).prop_shuffle())
        }),
        shuffled in any::<bool>(),
        offset in (0u64..1024).prop_map(|dword| dword * 4),
        list_slot in prop_oneof![Just(0u64), Just(511u64), 0u64..512],
        last in 1u64..=4096,
    ) {
        let mut memory = HostMemory::new();
        let base = memory.allocate(count as u64 * PAGE).expect("well below the limit");
        let pages: Vec<u64> = (0..count)
            .map(|index| base + PAGE * if shuffled { order[index] } else { index } as u64)
            .collect();
        let (pointer, list_bytes) = scatter(&mut memory, &pages, offset, list_slot);
        let last = if count == 1 { last.min(PAGE - offset) } else { last };
        let length = if count == 1 { last } else { PAGE - offset + PAGE * (count as u64 - 2) + last };

        let segments = pointer.segments(length, &memory).expect("a legal pointer");
        prop_assert_eq!(segments.total_bytes(), length);
        prop_assert_eq!(pointer.list_bytes(length), list_bytes);
        if !shuffled {
            prop_assert_eq!(segments.len(), 1, "adjacent pages are one segment");
        }
        let mut expected = Vec::new();
        for (index, page) in pages.iter().enumerate() {
            let start = if index == 0 { offset } else { 0 };
            let room = (PAGE - start).min(length - expected.len() as u64);
            expected.extend((0..room).map(|byte| page + start + byte));
        }
        let walked = segments.iter().flat_map(|part| part.address..part.address + part.length);
        prop_assert!(walked.eq(expected));
    }
}

#[test]
fn an_endless_transfer_fetches_no_list() {
    let pointer = DataPointer::Prp {
        prp1: 0x1000,
        prp2: 0x2000,
    };
    assert_eq!(pointer.list_bytes(u64::MAX - 0x1000), 0);
    assert!(
        pointer
            .segments(u64::MAX - 0x1000, &HostMemory::new())
            .is_err()
    );
}

/// Memory at every address, so that only the pointer itself can be wrong.
struct Everywhere;

impl Dma for Everywhere {
    fn read(&self, _: u64, into: &mut [u8]) -> Result<(), nvme::MemoryError> {
        into.fill(0);
        Ok(())
    }

    fn write(&mut self, _: u64, _: &[u8]) -> Result<(), nvme::MemoryError> {
        Ok(())
    }
}

#[test]
fn data_beyond_the_last_address_are_a_transfer_error() {
    let sgl = |address, length: u32| {
        let pointer = DataPointer::Sgl { address, length };
        pointer.segments(length.into(), &Everywhere).err()
    };
    let end = u64::MAX;
    assert_eq!(sgl(end - 4096, 4096), None);
    assert_eq!(sgl(end - 4095, 4097), Some(Status::DATA_TRANSFER_ERROR));
    assert_eq!(sgl(end, 1), Some(Status::DATA_TRANSFER_ERROR));
    assert_eq!(sgl(end - 7, u32::MAX), Some(Status::DATA_TRANSFER_ERROR));
    // What the descriptor has beyond the transfer is not touched.
    let pointer = DataPointer::Sgl {
        address: end - 4096,
        length: u32::MAX,
    };
    assert!(pointer.segments(4096, &Everywhere).is_ok());
}

proptest! {
    /// Whatever the pointer: segments of as many bytes as asked for, each with a last byte, or a status.
    #[test]
    fn segments_never_pass_the_last_address(
        low in ends(), high in ends(), is_sgl: bool, length in 0u64..(1 << 22),
    ) {
        let pointer = match is_sgl {
            true => DataPointer::Sgl { address: low, length: high as u32 },
            false => prp(low, high),
        };
        pointer.list_bytes(length);
        if let Ok(segments) = pointer.segments(length, &Everywhere) {
            prop_assert_eq!(segments.total_bytes(), length);
            for segment in segments.iter() {
                prop_assert!(segment.address.checked_add(segment.length - 1).is_some());
            }
        }
    }
}

/// Addresses near zero, near the last one, and anywhere.
fn ends() -> impl Strategy<Value = u64> {
    prop_oneof![
        0u64..3 * PAGE,
        (0u64..3 * PAGE).prop_map(|back| u64::MAX - back),
        any::<u64>(),
    ]
}
