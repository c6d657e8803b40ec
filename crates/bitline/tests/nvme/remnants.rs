//! What the flash itself still holds of what a host wrote, looked for past the firmware.

use bitline::Drive;
use bitline::inside::InsideDrive;
use media::nand::{
    BlockCondition, BlockId, Command, Nand, PageAddress, PageState, PlaneId, ProgramMode,
};
use sim::{Span, Time};

/// Bytes that every block which these tests write consists of; no record of the firmware does.
pub(crate) const SECRET: [u8; 8] = *b"\xC3SECRET\x3C";

/// So many blocks of 512 bytes.
pub(crate) fn secret(blocks: usize) -> Vec<u8> {
    SECRET.repeat(blocks * 512 / SECRET.len())
}

/// First bytes of the spare bytes of pages that may stay: the journal, records of deallocation, mapping
/// pages and roots of checkpoints.
const FIRMWARE: [u8; 4] = *b"JTMR";

/// The blocks, each with the reason, in which something of the host's may still be.
pub(crate) fn remnants(drive: &Drive) -> Vec<(BlockId, String)> {
    let nand = &*drive.nand().borrow();
    let blocks = (0..nand.geometry().blocks()).map(BlockId);
    blocks
        .filter_map(|block| Some((block, remnant(nand, block)?)))
        .collect()
}

fn remnant(nand: &Nand, block: BlockId) -> Option<String> {
    let state = nand.block_state(block);
    if nand.is_erased(block) {
        return None;
    }
    if state.condition == BlockCondition::NeedsErase || state.mode.is_none() {
        return Some("its last erase did not complete".to_owned());
    }
    let pages = (0..state.next_page).map(|page| PageAddress { block, page });
    pages
        .filter_map(|page| Some(format!("page {}: {}", page.page, page_remnant(nand, page)?)))
        .next()
}

fn page_remnant(nand: &Nand, page: PageAddress) -> Option<String> {
    let at = nand.geometry().ppa(page);
    match nand.page_state(at) {
        PageState::Erased => return None,
        PageState::Torn | PageState::Failed => {
            return Some("its program did not complete".to_owned());
        }
        PageState::Programmed => {}
    }
    let tag = nand.spare(at).and_then(|spare| spare.first().copied());
    let is_firmware = tag.is_some_and(|tag| FIRMWARE.contains(&tag));
    (!is_firmware).then(|| format!("spare bytes that begin with {tag:02x?}"))
}

/// Reads a page by the command of the die, which must be idle.
fn content(nand: &mut Nand, page: PageAddress) -> Vec<u8> {
    let geometry = nand.geometry().clone();
    let (die, plane): (_, PlaneId) = (
        geometry.die_of_block(page.block),
        geometry.plane_of_block(page.block),
    );
    let read = Command::Read {
        pages: [page].into_iter().collect(),
        inverse: false,
    };
    let busy = nand.begin(die, &read, Time::ZERO).expect("the die is idle");
    let done = nand.finish(die, Time::ZERO + busy.span);
    done.expect("a read ends");
    let mut bytes = vec![0; geometry.page_bytes as usize];
    let taken = nand.data_out(plane, 0, &mut bytes);
    taken.expect("the page is in its register");
    bytes
}

/// Blocks marked bad that hold pages.
pub(crate) fn bad_blocks_with_pages(drive: &Drive) -> usize {
    let nand = drive.nand().borrow();
    let blocks = (0..nand.geometry().blocks()).map(BlockId);
    blocks
        .filter(|block| {
            let state = nand.block_state(*block);
            state.condition == BlockCondition::Bad && state.mode.is_some()
        })
        .count()
}

/// Blocks programmed as vectors are.
pub(crate) fn blocks_of_vectors(drive: &Drive) -> usize {
    let nand = drive.nand().borrow();
    let blocks = (0..nand.geometry().blocks()).map(BlockId);
    blocks
        .filter(|block| nand.block_state(*block).mode == Some(ProgramMode::Esp))
        .count()
}

/// The blocks in which the data itself is, as it was written or inverted. The drive is let come to rest first.
pub(crate) fn secrets(drive: &mut Drive) -> Vec<BlockId> {
    let rest = drive.run(|host| async move { host.sim().sleep(Span::from_us(50_000)).await });
    rest.expect("power");
    let nand = &mut *drive.nand().borrow_mut();
    let blocks = (0..nand.geometry().blocks()).map(BlockId);
    let inverse = SECRET.map(|byte| !byte);
    blocks
        .filter(|block| {
            let mut pages = 0..nand.block_state(*block).next_page;
            pages.any(|page| {
                let page = PageAddress {
                    block: *block,
                    page,
                };
                let content = content(nand, page);
                let mut parts = content.windows(8);
                parts.any(|bytes| bytes == SECRET || bytes == inverse)
            })
        })
        .collect()
}
