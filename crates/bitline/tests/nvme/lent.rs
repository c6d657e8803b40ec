//! Writes of data that the host has lent in pages, for the drive to keep.

use bitline::inside::{InsideHost, send_raw};
use bitline::{Drive, Status};
use host::{LentBuffer, Transport};
use nvme::command::{BlockRange, ReadWrite};
use nvme::{CommandId, DataPointer, IoCommand, Lba, Loan, NamespaceId, Pages};

use crate::config;

const BLOCK: usize = 4096;
const PAGE: usize = 16384;

fn drive(unit: &str, cache: &str) -> Drive {
    let config = config(&[
        ("nand.geometry.page_bytes", "16384"),
        ("nand.geometry.blocks_per_plane", "24"),
        ("frontend.block_bytes", "4096"),
        ("ftl.mapping_unit_bytes", unit),
        ("cache.mode", cache),
    ]);
    Drive::open(config).expect("it opens")
}

/// Blocks that differ, and differ from those of other seeds.
fn data(seed: usize, blocks: usize) -> Vec<u8> {
    let words = (0..blocks * BLOCK / 8).map(|word| (seed << 32 | word) as u64);
    words.flat_map(u64::to_le_bytes).collect()
}

fn pages_holding(data: &[u8]) -> Pages {
    let mut pages = Pages::zeroed(PAGE, data.len());
    for (page, data) in pages.pages_mut().zip(data.chunks(PAGE)) {
        page[..data.len()].copy_from_slice(data);
    }
    pages
}

/// Where pages lie.
fn addresses(pages: &mut Pages) -> Vec<usize> {
    pages.pages_mut().map(|page| page.as_ptr().addr()).collect()
}

/// Writes data from lent pages; gives which of them have been exchanged, and the pages.
fn write(drive: &mut Drive, lba: u64, data: &[u8]) -> (Vec<bool>, Pages) {
    let mut pages = pages_holding(data);
    let before = addresses(&mut pages);
    let blocks = (data.len() / BLOCK) as u32;
    let work = move |host: bitline::Host| async move {
        let lent = host.block().lend(Loan::from(pages));
        host.block().write_from(lba, blocks, &lent).await?;
        Ok::<Loan, host::Error>(lent.take_back())
    };
    let back = drive.run(work).expect("power").expect("it is written");
    let Loan::Pages(mut pages) = back else {
        panic!("pages were lent");
    };
    let after = addresses(&mut pages);
    let exchanged = before
        .iter()
        .zip(&after)
        .map(|(before, after)| before != after);
    (exchanged.collect(), pages)
}

fn read(drive: &mut Drive, lba: u64, blocks: usize) -> Vec<u8> {
    drive.read(lba, blocks as u64).expect("it is there")
}

#[test]
fn pages_are_exchanged_not_copied() {
    // Logical pages of a block each lie in a buffer as they come; those as long as a page of flash do where they begin with one.
    for (unit, cache) in [
        ("4096", "write"),
        ("4096", "off"),
        ("16384", "write"),
        ("16384", "off"),
    ] {
        for lba in [0, 1, 4] {
            let mut drive = drive(unit, cache);
            let old = data(1, 24);
            drive.write(0, &old).expect("there is room");
            let new = data(2, 10);
            let (exchanged, pages) = write(&mut drive, lba, &new);
            let are = unit == "4096" || lba != 1;
            assert_eq!(
                exchanged,
                [are, are, false],
                "unit {unit}, cache {cache}, block {lba}"
            );
            let rest: Vec<&[u8]> = pages.stretches(2 * PAGE..10 * BLOCK).collect();
            assert_eq!(rest, [&new[2 * PAGE..]], "what was copied is there still");
            let mut expected = old;
            expected[lba as usize * BLOCK..][..new.len()].copy_from_slice(&new);
            assert!(read(&mut drive, 0, 24) == expected);
            drive.flush().expect("it lands");
            assert!(read(&mut drive, 0, 24) == expected);
        }
    }
}

#[test]
fn what_the_drive_gave_for_pages_is_in_no_data() {
    let mut drive = drive("4096", "write");
    for round in 0..40 {
        let (first, second) = (data(2 * round, 16), data(2 * round + 1, 16));
        let (exchanged, _) = write(&mut drive, 0, &first);
        assert_eq!(exchanged, [true; 4]);
        write(&mut drive, 7, &second);
        assert!(read(&mut drive, 0, 7) == first[..7 * BLOCK]);
        assert!(read(&mut drive, 7, 16) == second);
    }
}

#[test]
fn pages_are_exchanged_where_blocks_are_marked() {
    let mut drive = drive("4096", "write");
    drive.write(0, &data(1, 8)).expect("there is room");
    drive.write_uncorrectable(2, 3).expect("marks are free");
    let new = data(2, 8);
    let (exchanged, _) = write(&mut drive, 0, &new);
    assert_eq!(exchanged, [true; 2]);
    assert!(read(&mut drive, 0, 8) == new, "no mark is left");
}

/// A list of memory pages may name those of a lent page in any order.
#[test]
fn a_page_that_is_named_in_parts_is_copied() {
    let mut drive = drive("4096", "write");
    let new = data(3, 4);
    let pages = pages_holding(&new);
    let work = |host: bitline::Host| async move {
        let queue = host.queue(0)?;
        let lent = LentBuffer::new(queue.memory(), Loan::from(pages));
        let at = |block: usize| lent.address() + (block * BLOCK) as u64;
        let list: Vec<u8> = [at(3), at(2), at(1)]
            .into_iter()
            .flat_map(u64::to_le_bytes)
            .collect();
        let list = host::Buffer::beginning(queue.memory(), &list, 4096)?;
        let write = ReadWrite {
            namespace: NamespaceId::new(1),
            blocks: BlockRange::new(Lba::new(0), 4),
            force_unit_access: false,
            limited_retry: false,
            data: DataPointer::Prp {
                prp1: at(0),
                prp2: list.address(),
            },
        };
        let entry = IoCommand::Write(write).encode(CommandId::new(0));
        let status = send_raw(&queue, entry).await?;
        Ok::<_, host::Error>((status, lent.take_back()))
    };
    let (status, back) = drive.run(work).expect("power").expect("it is told");
    assert_eq!(status, Status::SUCCESS);
    let Loan::Pages(pages) = back else {
        panic!("pages were lent");
    };
    assert!(
        pages.stretches(0..PAGE).eq([&new[..]]),
        "they are the host's still"
    );
    let order = [0, 3, 2, 1].map(|block| &new[block * BLOCK..][..BLOCK]);
    let expected = order.concat();
    assert!(read(&mut drive, 0, 4) == expected);
}
