//! Sealing: the names of a full row go to flash, in blocks of one plane, and leave memory. And moving a row whose blocks fail.

use std::rc::Rc;

use media::nand::{BlockId, PageAddress, PlaneId};
use sim::Tenant;

use super::facts::{self, LOGS};
use super::names::Names;
use super::table::{Column, InUse, Row, Table};
use super::there::without_gone;
use super::{Search, SearchError};
use crate::ftl::{FtlError, NamePage};
use crate::journal::Change;
use crate::planted::{Bug, is_planted};
use crate::region::Owner;
use crate::schedule::{Fault, Origin, Read, Ticket};
use crate::tenants;

/// Pages of a row that wait to be programmed at a time.
const PAGES_AT_ONCE: u32 = 8;

/// Which free blocks a row gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wear {
    /// The next.
    Fresh,
    /// The most worn: its names are hardly ever replaced.
    Levelled,
}

/// One page of names that is to be programmed.
#[derive(Clone, Copy)]
pub(super) struct PageOfNames {
    pub(super) page: PageAddress,
    pub(super) slice: u32,
    /// The bit whose pair it is of; none for the pair that says whether entries are there.
    pub(super) bit: Option<u32>,
    /// It is the second of its pair.
    pub(super) second: bool,
    /// The second of its pair, which can be programmed from the page register right after it.
    complement: Option<PageAddress>,
}

impl Search {
    /// Has the rows of a table sealed that are full.
    pub(super) fn seal_full_rows(&self, table: &Rc<Table>) {
        if table.gone.get() {
            return;
        }
        let row_names = table.values.row_names;
        let due = |row: &&Rc<Row>| {
            let full = row.entries.get() == row_names && row.pending.get() == 0;
            full && !row.is_sealed() && !row.sealing.get()
        };
        let due: Vec<Rc<Row>> = table.rows.borrow().values().filter(due).cloned().collect();
        for row in due {
            row.sealing.set(true);
            let (search, table) = (self.myself(), table.clone());
            self.sim.spawn_detached(async move {
                let sealed = search.seal(&table, &row).await;
                // If not, the names stay where they are, and the next append that needs room tries again, or says so.
                row.trouble.set(sealed.err());
                row.sealing.set(false);
                table.changed.announce();
                search.changed.announce();
            });
        }
    }

    /// For whom a table's names are programmed.
    fn tenant_of(table: &Table) -> Tenant {
        tenants::namespace(table.namespace.get() as usize - 1)
    }

    /// Programs the names of a row.
    async fn seal(&self, table: &Rc<Table>, row: &Rc<Row>) -> Result<(), SearchError> {
        let turn = row.turn.acquire(1).await;
        if row.live.get() == 0 {
            drop(turn);
            return self.free_row(table, row).await;
        }
        let origin = Origin::own(Search::tenant_of(table));
        let columns = table.columns.borrow().clone();
        let (plane, mut blocks) = self.take_row(row.plane.get(), &columns, Wear::Fresh)?;
        for (at, column) in columns.iter().enumerate() {
            let programmed = self
                .program_column(row, (at, column), &mut blocks[at], origin)
                .await;
            if let Err(error) = programmed {
                self.give_back(blocks.into_iter().flatten()).await;
                return Err(error);
            }
        }
        let mut changes = vec![facts::put(
            facts::row_key(table.number, row.number),
            facts::encode_blocks(row.entries.get(), &blocks),
        )];
        changes.extend(self.without_margin(table, row));
        if is_planted(Bug::SealLeavesNoFact) {
            changes.clear();
        }
        changes.extend(self.without_logs(row));
        if let Err(error) = self.ftl.put_facts(changes).await {
            self.give_back(blocks.into_iter().flatten()).await;
            return Err(error.into());
        }
        if let Some(names) = &*row.names.borrow() {
            row.set_there(names.there());
        }
        row.has_margin.set(self.config.esp);
        row.unsaved.set(false);
        row.plane.set(plane);
        row.blocks.replace(Some(blocks.into()));
        table.rows_changed();
        row.logs.borrow_mut().clear();
        self.leave_memory(row);
        self.count(|counts| counts.rows_sealed += 1);
        Ok(())
    }

    /// The names of a row need not be in memory any more.
    fn leave_memory(&self, row: &Row) {
        self.leave_room(row);
        if self.buffers.stores_data() {
            row.names.replace(None);
        }
    }

    /// That the facts of a row's entries are no more.
    pub(super) fn without_logs(&self, row: &Row) -> Vec<Change> {
        let logs = row.logs.borrow();
        logs.iter()
            .map(|number| (LOGS.key(*number), None))
            .collect()
    }

    /// Blocks for a row, all in one plane: that one, or the next that has as many.
    pub(super) fn take_row(
        &self,
        plane: PlaneId,
        columns: &[Column],
        wear: Wear,
    ) -> Result<(PlaneId, Vec<Vec<BlockId>>), SearchError> {
        let planes = self.geometry.planes();
        for step in 0..planes {
            let plane = PlaneId((plane.0 + step) % planes);
            let mut taken: Vec<Vec<BlockId>> = Vec::new();
            for column in columns {
                let wanted = self.layout.blocks(column.bits);
                let blocks: Vec<BlockId> = (0..wanted)
                    .map_while(|_| match wear {
                        Wear::Fresh => self.ftl.lend_block(Owner::Search, plane),
                        Wear::Levelled => self.ftl.lend_worn_block(Owner::Search, plane),
                    })
                    .collect();
                let enough = blocks.len() == wanted;
                taken.push(blocks);
                if !enough {
                    break;
                }
            }
            let enough = |(blocks, column): (&Vec<BlockId>, &Column)| {
                blocks.len() == self.layout.blocks(column.bits)
            };
            if taken.len() == columns.len() && taken.iter().zip(columns).all(enough) {
                return Ok((plane, taken));
            }
            self.give_back_soon(taken.into_iter().flatten().collect());
        }
        Err(FtlError::NoComputeBlock(plane.0).into())
    }

    /// Erases blocks that hold nothing of use.
    pub(super) async fn give_back(&self, blocks: impl Iterator<Item = BlockId>) {
        let released = blocks.map(|block| self.ftl.take_back(block));
        // A block whose erase fails is out of use.
        let _ = sim::join_all(released).await;
    }

    /// The same, in the background.
    pub(super) fn give_back_soon(&self, blocks: Vec<BlockId>) {
        if blocks.is_empty() {
            return;
        }
        let search = self.myself();
        self.sim.spawn_detached(async move {
            search.give_back(blocks.into_iter()).await;
        });
    }

    /// Programs the names of a row in one search region, elsewhere where a block fails.
    pub(super) async fn program_column(
        &self,
        row: &Row,
        (at, column): (usize, &Column),
        blocks: &mut [BlockId],
        origin: Origin,
    ) -> Result<(), SearchError> {
        self.program_blocks(row.number, column, blocks, origin, |page, bytes| {
            let names = row.names.borrow();
            if let Some(names) = &*names {
                fill_page(names, at, page, bytes);
            }
        })
        .await
    }

    /// Programs blocks with pages that `fill` fills; a block in which a program fails is replaced.
    pub(super) async fn program_blocks(
        &self,
        row: u32,
        column: &Column,
        blocks: &mut [BlockId],
        origin: Origin,
        fill: impl Fn(&PageOfNames, &mut [u8]),
    ) -> Result<(), SearchError> {
        for (number, block) in blocks.iter_mut().enumerate() {
            loop {
                let programmed = self
                    .program_block(row, column, (number, *block), origin, &fill)
                    .await;
                match programmed {
                    Ok(()) => break,
                    Err(Fault::ProgramFailed(_)) => {
                        let plane = self.geometry.plane_of_block(*block);
                        let other = self.ftl.lend_block(Owner::Search, plane);
                        let other = other.ok_or(FtlError::NoComputeBlock(plane.0))?;
                        let failed = std::mem::replace(block, other);
                        self.give_back_soon(vec![failed]);
                    }
                    Err(fault) => return Err(fault.into()),
                }
            }
        }
        Ok(())
    }

    async fn program_block(
        &self,
        row: u32,
        column: &Column,
        (number, block): (usize, BlockId),
        origin: Origin,
        fill: &impl Fn(&PageOfNames, &mut [u8]),
    ) -> Result<(), Fault> {
        let pages = self.pages_of_block(column, number, block);
        let most = self.buffers.most_at_once().clamp(1, PAGES_AT_ONCE);
        for pages in pages.chunks(most as usize) {
            let _room = self.buffers.rooms(pages.len() as u32).await;
            let ticket: Ticket<'_> = self.schedule.ticket();
            let mut buffers = Vec::with_capacity(pages.len());
            for page in pages {
                let buffer = self.buffers.take();
                self.buffers
                    .with_mut(buffer.id(), |bytes| fill(page, bytes));
                let holds = NamePage {
                    region: column.region,
                    row,
                    slice: page.slice as u8,
                };
                let from = (buffer.id(), origin);
                let both = (page.page, page.complement);
                let mode = self.config.mode();
                self.ftl
                    .program_names(both, (holds, mode), from, ticket.id().into());
                let inverted = u64::from(page.complement.is_some());
                self.count(|counts| {
                    counts.name_pages_programmed += 1 + inverted;
                    counts.pages_inverted += inverted;
                });
                buffers.push(buffer);
            }
            ticket.await?;
        }
        Ok(())
    }

    /// The pages of a block of names in the order in which they are programmed. Where a block holds one slice and names have no
    /// don't cares, the second of each pair follows the first and can be made of it.
    fn pages_of_block(&self, column: &Column, number: usize, block: BlockId) -> Vec<PageOfNames> {
        let slices = self.layout.slices_of(column.bits, number);
        let inverts = self.config.write_inversion && !column.ternary && slices.len() == 1;
        let mut pages = Vec::new();
        for slice in slices {
            let string = self.layout.slice(slice).string;
            let bits = self.layout.bits_of(column.bits, slice);
            let pairs = bits.map(|bit| (self.layout.pair_of(bit).1 * 2, Some(bit)));
            let valid = (slice == 0).then_some((self.layout.valid_layer(), None));
            for (layer, bit) in pairs.chain(valid) {
                let at = |second: bool| PageAddress {
                    block,
                    page: self.geometry.page_at(string, layer + u32::from(second)),
                };
                for second in [false, true] {
                    if second && inverts {
                        continue;
                    }
                    pages.push(PageOfNames {
                        page: at(second),
                        slice,
                        bit,
                        second,
                        complement: inverts.then(|| at(true)),
                    });
                }
            }
        }
        pages.sort_by_key(|page| page.page.page);
        pages
    }

    /// Moves rows out of blocks that are hardly ever erased.
    pub(super) async fn level_wear(self: Rc<Search>) {
        loop {
            let block = self.ftl.next_cold_block().await;
            let moved = self.move_row_of(block, Wear::Levelled).await;
            self.ftl.levelled(moved);
        }
    }

    /// The row that a block holds names of.
    pub(super) fn row_of(&self, block: BlockId) -> Option<(InUse, Rc<Row>)> {
        let tables = self.tables.borrow();
        tables.values().find_map(|table| {
            let rows = table.rows.borrow();
            let row = rows.values().find(|row| row.holds(block))?.clone();
            Some((table.enter(), row))
        })
    }

    /// Moves the row that a block is of to other free blocks; whether it did.
    pub(super) async fn move_row_of(&self, block: BlockId, wear: Wear) -> bool {
        let Some((table, row)) = self.row_of(block) else {
            return false;
        };
        let _turn = row.turn.acquire(1).await;
        if table.gone.get() || !row.holds(block) {
            return false;
        }
        // Where there is no room for it, it stays.
        self.move_row(&table, &row, wear).await.is_ok()
    }

    /// Moves a row to other blocks, without the entries that are there no more, because a block fails. The caller has the
    /// row's turn.
    pub(super) async fn move_row(
        &self,
        table: &Rc<Table>,
        row: &Row,
        wear: Wear,
    ) -> Result<(), SearchError> {
        let Some(old) = row.blocks.borrow().clone() else {
            return Ok(());
        };
        let origin = Origin::own(tenants::WEAR_LEVELLING);
        let columns = table.columns.borrow().clone();
        let mut names = self.read_names(&columns, &old, origin).await?;
        names.set_there(&row.there.borrow());
        let (plane, mut blocks) = self.take_row(row.plane.get(), &columns, wear)?;
        for (at, column) in columns.iter().enumerate() {
            let fill = |page: &PageOfNames, bytes: &mut [u8]| fill_page(&names, at, page, bytes);
            let programmed = self
                .program_blocks(row.number, column, &mut blocks[at], origin, fill)
                .await;
            if let Err(error) = programmed {
                self.give_back(blocks.into_iter().flatten()).await;
                return Err(error);
            }
        }
        let mut changes = vec![facts::put(
            facts::row_key(table.number, row.number),
            facts::encode_blocks(row.entries.get(), &blocks),
        )];
        changes.extend(match self.config.esp {
            true => without_gone(table, row),
            false => self.without_margin(table, row),
        });
        if let Err(error) = self.ftl.put_facts(changes).await {
            self.give_back(blocks.into_iter().flatten()).await;
            return Err(error.into());
        }
        row.plane.set(plane);
        row.blocks.replace(Some(blocks.into()));
        table.rows_changed();
        self.count(|counts| counts.rows_moved += 1);
        row.has_margin.set(self.config.esp);
        row.unsaved.set(false);
        row.due.take();
        self.settle(table, row);
        // Whoever began before may be sensing them.
        table.past(table.deletion()).await;
        row.tell_names();
        self.give_back(old.iter().flatten().copied()).await;
        Ok(())
    }

    /// The names that blocks hold of these search regions; none of them is said to be there.
    pub(super) async fn read_names(
        &self,
        columns: &[Column],
        blocks: &[Vec<BlockId>],
        origin: Origin,
    ) -> Result<Names, SearchError> {
        let kinds = columns.iter().map(|column| (column.bits, column.ternary));
        let mut names = Names::new(self.row_names(), kinds);
        let _room = self.buffers.rooms(2).await;
        let cells = [self.buffers.take(), self.buffers.take()];
        for (at, column) in columns.iter().enumerate() {
            for bit in 0..column.bits {
                let (slice, pair) = self.layout.pair_of(bit);
                for (second, cells) in cells.iter().enumerate() {
                    if second == 1 && !column.ternary {
                        continue;
                    }
                    let layer = 2 * pair + second as u32;
                    let page = self.layout.page(&self.geometry, &blocks[at], slice, layer);
                    self.read_page(page, cells.id(), origin).await?;
                }
                let take = |first: &[u8]| {
                    self.buffers.with(cells[1].id(), |second| {
                        let second = column.ternary.then_some(second);
                        names.column_mut(at).take_cells(bit, first, second);
                    })
                };
                self.buffers.with(cells[0].id(), take);
            }
        }
        Ok(names)
    }

    async fn read_page(
        &self,
        page: PageAddress,
        into: crate::memory::BufferId,
        origin: Origin,
    ) -> Result<(), SearchError> {
        let read = Read {
            page,
            column: 0,
            bytes: self.geometry.page_bytes,
            into,
            at: 0,
            inverse: false,
            origin,
        };
        let die = self.geometry.die_of_block(page.block);
        Ok(self.schedule.perform(die, read).await?)
    }
}

/// What the cells of a page hold of the names of a row.
pub(super) fn fill_page(names: &Names, column: usize, page: &PageOfNames, bytes: &mut [u8]) {
    match page.bit {
        Some(bit) => names.column(column).cells(bit, page.second, bytes),
        None => names.valid_cells(page.second, bytes),
    }
}
