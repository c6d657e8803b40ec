//! Vectors named by group and number, in a table in host memory. It survives power cuts of its drive; of a drive in an image
//! it is written to the drive itself when that is flushed or closed ([`super::saved`]).
//!
//! Every vector is a run of logical pages in the *area*, the last addresses of the namespace: as many as computing's share of
//! the drive can hold. A group is a placement handle whose rows are as long as its vectors. A vector that is written again goes
//! to other addresses first, so that readers see the old one or the new one.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use host::bits::{BitsDevice, Checked, Handle};
use host::{Buffer, Error, StatusError};
use nvme::command::{Engine, HANDLE_MAX, Home};
use nvme::{Expression, Lba, Status, VectorId};

use super::saved::{Saved, volume_pages};
use crate::driver::Queue;

/// A vector that the drive holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredVector {
    /// Its name.
    pub id: VectorId,
    /// Its length in bits.
    pub bits: u64,
    /// Whether its inverse is what is stored.
    pub inverse: bool,
    /// The dies its group lies on.
    pub home: Home,
}

/// A part of vectors, and of what is computed from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its first page; pages are as long as the preferred write granularity.
    pub page: u32,
    /// Its length in bits.
    pub bits: u64,
}

/// What the vectors of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) handle: u16,
    pub(super) bits: u64,
    pub(super) home: Home,
}

/// A vector's place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Its first page in the namespace.
    pub(super) page: u64,
    pub(super) bits: u64,
    pub(super) inverse: bool,
    /// The change that made it.
    pub(super) change: u64,
}

/// What the host knows of vectors.
pub(crate) struct Table {
    page_bytes: u64,
    dies: u32,
    /// Pages of the namespace where vectors may be.
    area: Range<u64>,
    /// Those that are free: first page and number.
    free: BTreeMap<u64, u64>,
    groups: BTreeMap<u32, Group>,
    vectors: BTreeMap<VectorId, Entry>,
    /// Handles open in this life of the drive, and as what.
    open: BTreeMap<u16, (u64, Home)>,
    /// Evaluations and writes under way, numbered as they came, which may use what was replaced since.
    users: BTreeSet<u64>,
    next_user: u64,
    /// What was replaced and is not deallocated yet.
    replaced: Vec<Replaced>,
    /// Pages of the namespace where the table itself is written.
    on_drive: Option<Range<u64>>,
    /// How often vectors have changed, and how often they had when the table was written last.
    changes: u64,
    saved: u64,
    /// Free pages may hold what a process that was killed wrote and never named.
    has_leftovers: bool,
}

/// Pages that a vector had.
#[derive(Clone, Copy, Debug)]
struct Replaced {
    page: u64,
    pages: u64,
    /// The first user that came later.
    since: u64,
    /// The change that replaced them, if what is written on the drive names them.
    named_until: Option<u64>,
}

impl Table {
    /// No vectors, in an area of the pages of a namespace; the last of them are for the table itself if it is `durable`.
    pub(crate) fn new(mut area: Range<u64>, page_bytes: u32, dies: u32, durable: bool) -> Table {
        let pages = volume_pages(area.end - area.start, page_bytes);
        let is_large_enough = area.end - area.start > 2 * pages;
        let on_drive = (durable && is_large_enough).then(|| area.end - pages..area.end);
        if let Some(place) = &on_drive {
            area.end = place.start;
        }
        let mut table = Table {
            page_bytes: page_bytes.into(),
            dies,
            area,
            free: BTreeMap::new(),
            groups: BTreeMap::new(),
            vectors: BTreeMap::new(),
            open: BTreeMap::new(),
            users: BTreeSet::new(),
            next_user: 0,
            replaced: Vec::new(),
            on_drive,
            changes: 0,
            saved: 0,
            has_leftovers: false,
        };
        table.clear();
        table
    }

    /// Everything was erased.
    pub(crate) fn clear(&mut self) {
        let length = self.area.end - self.area.start;
        self.free = BTreeMap::from([(self.area.start, length)]);
        self.vectors.clear();
        self.replaced.clear();
        // What was written of it is erased, too.
        self.saved = self.changes;
    }

    /// Where the table is written, if it is.
    pub(super) fn place_on_drive(&self) -> Option<Range<u64>> {
        self.on_drive.clone()
    }

    /// Where the table is to be written, the number of its last change, and what it says; none if that was written.
    pub(super) fn unsaved(&self) -> Option<(Range<u64>, u64, Saved)> {
        let place = self.on_drive.clone()?;
        (self.saved < self.changes).then(|| (place, self.changes, Saved::of(self)))
    }

    /// All changes up to this one are on the drive.
    pub(super) fn is_saved(&mut self, change: u64) {
        self.saved = self.saved.max(change);
    }

    /// Takes up what was written.
    ///
    /// # Errors
    /// What cannot be: vectors outside of the area, on one another, or without a group.
    pub(super) fn take_up(&mut self, saved: &Saved) -> Result<(), String> {
        self.groups = saved.groups().collect();
        for (id, entry) in saved.vectors() {
            let group = self.groups.get(&id.group);
            let fits = group.is_some_and(|group| group.bits == entry.bits);
            let pages = self.pages(entry.bits);
            if !fits || self.vectors.contains_key(&id) || !self.take_run(entry.page, pages) {
                return Err(format!(
                    "vector {} of group {} is not where one can be",
                    id.vector, id.group
                ));
            }
            self.vectors.insert(id, entry);
        }
        self.has_leftovers = true;
        Ok(())
    }

    /// Takes a run of pages if all of it is free.
    fn take_run(&mut self, page: u64, pages: u64) -> bool {
        let run = self.free.range(..=page).next_back();
        let Some((first, length)) = run.map(|(&first, &length)| (first, length)) else {
            return false;
        };
        let (end, run_end) = (page.saturating_add(pages), first + length);
        if pages == 0 || end > run_end {
            return false;
        }
        self.free.remove(&first);
        if page > first {
            self.free.insert(first, page - first);
        }
        if end < run_end {
            self.free.insert(end, run_end - end);
        }
        true
    }

    /// The vectors, by name.
    pub(super) fn vectors(&self) -> impl Iterator<Item = (&VectorId, &Entry)> {
        self.vectors.iter()
    }

    /// The pages of the namespace that vectors and the table itself have.
    pub(crate) fn own_pages(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let vectors = self.vectors.values();
        let vectors = vectors.map(|entry| entry.page..entry.page + self.pages(entry.bits));
        vectors.chain(self.on_drive.clone())
    }

    /// The groups that have vectors, by number.
    pub(super) fn groups(&self) -> impl Iterator<Item = (u32, &Group)> {
        let used = |(number, _): &(&u32, &Group)| self.of_group(**number).next().is_some();
        self.groups
            .iter()
            .filter(used)
            .map(|(number, group)| (*number, group))
    }

    /// The power went: handles are closed, and whoever used vectors is gone.
    pub(crate) fn power_lost(&mut self) {
        self.open.clear();
        self.users.clear();
    }

    /// Pages where vectors may be.
    pub(crate) fn area(&self) -> Range<u64> {
        self.area.clone()
    }

    fn pages(&self, bits: u64) -> u64 {
        bits.div_ceil(self.page_bytes * 8)
    }

    /// A home written in one way only: all dies of the drive are zero dies.
    fn canonical(&self, home: Home) -> Home {
        let all = u32::from(home.dies) == self.dies;
        Home {
            dies: if all { 0 } else { home.dies },
            ..home
        }
    }

    /// Pages are not needed any more but by those who use vectors now.
    fn replace(&mut self, old: Entry) {
        self.changes += 1;
        let is_named = old.change <= self.saved;
        self.replaced.push(Replaced {
            page: old.page,
            pages: self.pages(old.bits),
            since: self.next_user,
            named_until: is_named.then_some(self.changes),
        });
    }

    /// What was replaced and nobody uses any more.
    fn take_unused(&mut self) -> Vec<Replaced> {
        let oldest = self.users.first().copied().unwrap_or(u64::MAX);
        let unused = |old: &mut Replaced| old.since <= oldest;
        self.replaced.extract_if(.., unused).collect()
    }

    /// Whether what is written on the drive names one of them.
    fn names(&self, replaced: &[Replaced]) -> bool {
        let named = |old: &Replaced| old.named_until.is_some_and(|change| change > self.saved);
        replaced.iter().any(named)
    }

    /// The group of a vector of so many bits, made if it has none or no vector.
    fn group_for(&mut self, home: Home, id: VectorId, bits: u64) -> Result<Group, Status> {
        let home = self.canonical(home);
        if u32::from(home.first) >= self.dies || u32::from(home.dies) > self.dies {
            return Err(Status::INVALID_FIELD);
        }
        let is_used = self.of_group(id.group).next().is_some();
        if let Some(group) = self.groups.get(&id.group).filter(|_| is_used) {
            return match *group {
                group if group.bits != bits => Err(Status::VECTOR_LENGTH_MISMATCH),
                group if group.home != home => Err(Status::GROUP_HOME_MISMATCH),
                group => Ok(group),
            };
        }
        let handle = match self.groups.get(&id.group) {
            Some(group) => group.handle,
            None => self.free_handle().ok_or(Status::GROUP_FULL)?,
        };
        let group = Group { handle, bits, home };
        self.groups.insert(id.group, group);
        Ok(group)
    }

    /// The lowest handle that no group has.
    fn free_handle(&self) -> Option<u16> {
        let used: BTreeSet<u16> = self.groups.values().map(|group| group.handle).collect();
        (0..=HANDLE_MAX).find(|handle| !used.contains(handle))
    }

    fn of_group(&self, group: u32) -> impl Iterator<Item = (VectorId, Entry)> + '_ {
        let names = VectorId::new(group, 0)..=VectorId::new(group, u32::MAX);
        let vectors = self.vectors.range(names);
        vectors.map(|(&id, &entry)| (id, entry))
    }

    /// A free run of pages that is a row of a handle with this pitch.
    fn take(&mut self, pitch: u64) -> Result<u64, Status> {
        let fits = |(&first, &pages): (&u64, &u64)| {
            let row = self.area.start + (first - self.area.start).next_multiple_of(pitch);
            (row + pitch <= first + pages).then_some(row)
        };
        let found = self.free.iter().find_map(fits);
        let row = found.ok_or(Status::GROUP_FULL)?;
        let taken = self.take_run(row, pitch);
        debug_assert!(taken, "the row is within a free run");
        Ok(row)
    }

    fn give_back(&mut self, page: u64, pages: u64) {
        let (mut first, mut end) = (page, page + pages);
        if let Some((&before, &length)) = self.free.range(..page).next_back()
            && before + length == page
        {
            self.free.remove(&before);
            first = before;
        }
        if let Some(length) = self.free.remove(&end) {
            end += length;
        }
        self.free.insert(first, end - first);
    }

    /// Where a vector is, if it is as long as is asked for, or longer than a part of it.
    fn locate(&self, id: VectorId, (page, bits): (u32, u64), part: bool) -> Result<u64, Status> {
        let entry = self.vectors.get(&id).ok_or(Status::VECTOR_NOT_FOUND)?;
        let end = u64::from(page) * self.page_bytes * 8 + bits;
        if end > entry.bits || (!part && bits != entry.bits) {
            return Err(Status::VECTOR_LENGTH_MISMATCH);
        }
        Ok(entry.page + u64::from(page))
    }

    /// The first page of a vector in the namespace, and its length in bits.
    pub(crate) fn find(&self, id: VectorId) -> Option<(u64, u64)> {
        let entry = self.vectors.get(&id)?;
        Some((entry.page, entry.bits))
    }

    /// The length of a group's vectors in bits, if it has some.
    pub(crate) fn length_of(&self, group: u32) -> Option<u64> {
        self.of_group(group).next().map(|(_, entry)| entry.bits)
    }

    /// The vectors of a group or of all, by group and number.
    pub(crate) fn list(&self, group: Option<u32>) -> Vec<StoredVector> {
        let asked = |id: &VectorId| group.is_none_or(|group| group == id.group);
        let vectors = self.vectors.iter().filter(|(id, _)| asked(id));
        vectors
            .map(|(&id, entry)| StoredVector {
                id,
                bits: entry.bits,
                inverse: entry.inverse,
                home: self.groups[&id.group].home,
            })
            .collect()
    }

    /// Takes a row for a vector that is set up at once; gives its first page and the group's handle.
    pub(crate) fn place(
        &mut self,
        home: Home,
        id: VectorId,
        bits: u64,
        inverse: bool,
    ) -> Result<(Range<u64>, u16, Home), Status> {
        let group = self.group_for(home, id, bits)?;
        let pages = self.pages(bits);
        let page = self.take(pages)?;
        self.changes += 1;
        let entry = Entry {
            page,
            bits,
            inverse,
            change: self.changes,
        };
        if let Some(old) = self.vectors.insert(id, entry) {
            self.replace(old);
        }
        self.open.insert(group.handle, (pages, group.home));
        Ok((page..page + pages, group.handle, group.home))
    }

    /// What [`Table::place`] took cannot be set up.
    pub(crate) fn unplace(&mut self, id: VectorId) {
        if let Some(entry) = self.vectors.remove(&id) {
            let pages = self.pages(entry.bits);
            self.give_back(entry.page, pages);
        }
    }
}

/// The vectors of a drive, by a queue pair. Cheap to clone.
#[derive(Clone)]
pub struct Vectors {
    table: Rc<RefCell<Table>>,
    device: BitsDevice<Queue>,
}

/// Somebody uses vectors: what is replaced meanwhile stays.
struct User<'a>(&'a RefCell<Table>, u64);

impl<'a> User<'a> {
    fn new(table: &'a RefCell<Table>) -> User<'a> {
        let mut known = table.borrow_mut();
        let number = known.next_user;
        known.next_user += 1;
        known.users.insert(number);
        User(table, number)
    }
}

impl Drop for User<'_> {
    fn drop(&mut self) {
        self.0.borrow_mut().users.remove(&self.1);
    }
}

impl Vectors {
    pub(crate) fn new(table: Rc<RefCell<Table>>, device: BitsDevice<Queue>) -> Vectors {
        Vectors { table, device }
    }

    /// The computing interface beneath.
    pub fn device(&self) -> &BitsDevice<Queue> {
        &self.device
    }

    pub(super) fn table(&self) -> &RefCell<Table> {
        &self.table
    }

    pub(super) fn lba(&self, page: u64) -> u64 {
        page * u64::from(self.device.block().page_blocks())
    }

    /// Where a vector is, for plain reads: its first logical block and how many it has.
    pub fn extents(&self, id: VectorId) -> Option<(u64, u64)> {
        let table = self.table.borrow();
        let (page, bits) = table.find(id)?;
        Some((self.lba(page), self.lba(table.pages(bits))))
    }

    /// Logical blocks of the namespace where vectors may be.
    pub fn area(&self) -> Range<u64> {
        let area = self.table.borrow().area();
        self.lba(area.start)..self.lba(area.end)
    }

    /// Writes a vector of `bits` bits, bit i in bit i mod 8 of byte i / 8 of `data`,
    /// or its inverse if that serves the operations to come better.
    ///
    /// # Errors
    /// If `data` is not as long as `bits` says; what the drive reports, such as Group Full; Vector Length Mismatch with the
    /// group's other vectors.
    pub async fn write(
        &self,
        vector: VectorId,
        bits: u64,
        inverse: bool,
        data: &[u8],
    ) -> Result<(), Error> {
        self.write_at(Home::ALL, vector, bits, inverse, data).await
    }

    /// As [`Vectors::write`], to a group that lies on some dies of the drive.
    ///
    /// # Errors
    /// As [`Vectors::write`]; also Vector Group Home Mismatch if the group lies elsewhere, and
    /// Invalid Field if the drive has no such dies.
    pub async fn write_at(
        &self,
        home: Home,
        vector: VectorId,
        bits: u64,
        inverse: bool,
        data: &[u8],
    ) -> Result<(), Error> {
        check_length(bits, data)?;
        let memory = host::Transport::memory(self.device.block().transport()).clone();
        let pages = self.table.borrow().pages(bits);
        let bytes = pages * self.table.borrow().page_bytes;
        let buffer = {
            let mut padded = data.to_vec();
            padded.resize(bytes as usize, 0);
            if let (Some(last), used @ 1..) = (padded.get_mut(data.len() - 1), bits % 8) {
                *last &= (1 << used) - 1;
            }
            Buffer::holding(&memory, &padded)?
        };
        self.write_from(home, vector, bits, inverse, &buffer).await
    }

    /// As [`Vectors::write_at`], from a buffer of whole pages that already holds the data.
    ///
    /// # Errors
    /// As [`Vectors::write_at`].
    pub async fn write_from(
        &self,
        home: Home,
        vector: VectorId,
        bits: u64,
        inverse: bool,
        data: &Buffer,
    ) -> Result<(), Error> {
        let pages = self.table.borrow().pages(bits);
        self.deallocate_leftovers().await?;
        let (group, page) = {
            let mut table = self.table.borrow_mut();
            let refused = |status| refusal("fc_write", status);
            let group = table.group_for(home, vector, bits).map_err(refused)?;
            (group, table.take(pages).map_err(refused)?)
        };
        let user = User::new(&self.table);
        let written = match self.open(&group, pages).await {
            Ok(()) => {
                let lba = self.lba(page);
                self.device
                    .write_from(group.handle, inverse, lba, data)
                    .await
            }
            Err(error) => Err(error),
        };
        {
            let mut table = self.table.borrow_mut();
            table.changes += 1;
            let entry = Entry {
                page,
                bits,
                inverse,
                change: table.changes,
            };
            let old = match written {
                Ok(()) => table.vectors.insert(vector, entry),
                Err(_) => Some(entry),
            };
            if let Some(old) = old {
                table.replace(old);
            }
        }
        drop(user);
        let deallocated = self.deallocate_replaced().await;
        written.and(deallocated)
    }

    /// Opens the handle of a group, unless it is.
    async fn open(&self, group: &Group, pages: u64) -> Result<(), Error> {
        let shape = (pages, group.home);
        let before = self.table.borrow_mut().open.insert(group.handle, shape);
        if before == Some(shape) {
            return Ok(());
        }
        let handle = Handle {
            number: group.handle,
            anchor: self.lba(self.table.borrow().area.start),
            pitch: self.lba(pages),
            home: group.home,
        };
        let opened = self.device.open_handle(&handle).await;
        if opened.is_err() {
            self.table.borrow_mut().open.remove(&group.handle);
        }
        opened
    }

    /// Deallocates what was replaced, once nobody uses it and nothing on the drive names it.
    async fn deallocate_replaced(&self) -> Result<(), Error> {
        let replaced = self.table.borrow_mut().take_unused();
        if self.table.borrow().names(&replaced)
            && let Err(error) = self.save().await
        {
            self.table.borrow_mut().replaced.extend(replaced);
            return Err(Error::Protocol(format!("the table of vectors: {error}")));
        }
        for (number, old) in replaced.iter().enumerate() {
            let (lba, blocks) = (self.lba(old.page), self.lba(old.pages));
            if let Err(error) = self.device.block().deallocate(lba, blocks).await {
                let left = replaced[number..].iter().copied();
                self.table.borrow_mut().replaced.extend(left);
                return Err(error);
            }
            self.table.borrow_mut().give_back(old.page, old.pages);
        }
        Ok(())
    }

    /// Deallocates what a process that was killed wrote to pages that are free.
    async fn deallocate_leftovers(&self) -> Result<(), Error> {
        if !std::mem::take(&mut self.table.borrow_mut().has_leftovers) {
            return Ok(());
        }
        let free = self.table.borrow().free.clone();
        for (page, pages) in free {
            let (lba, blocks) = (self.lba(page), self.lba(pages));
            self.device.block().deallocate(lba, blocks).await?;
        }
        Ok(())
    }

    /// An expression over the blocks where its vectors are.
    fn located(
        &self,
        expression: &Expression,
        asked: (u32, u64),
        part: bool,
    ) -> Result<Expression<Lba>, Error> {
        let table = self.table.borrow();
        expression.try_map(|id| {
            let page = table.locate(id, asked, part);
            let page = page.map_err(|status| refusal("fc_read", status))?;
            Ok(Lba::new(self.lba(page)))
        })
    }

    /// Evaluates an expression over vectors of `bits` bits; gives the result's bytes.
    ///
    /// # Errors
    /// What the drive reports; Vector Not Found and Vector Length Mismatch.
    pub async fn evaluate(
        &self,
        expression: &Expression,
        engine: Engine,
        bits: u64,
    ) -> Result<Vec<u8>, Error> {
        let user = User::new(&self.table);
        let located = self.located(expression, (0, bits), false)?;
        let result = self.device.evaluate(&located, engine, bits).await;
        self.done(user).await?;
        result
    }

    /// As [`Vectors::evaluate`], into the beginning of a buffer.
    ///
    /// # Errors
    /// As [`Vectors::evaluate`].
    pub async fn evaluate_into(
        &self,
        expression: &Expression,
        engine: Engine,
        bits: u64,
        result: &Buffer,
    ) -> Result<(), Error> {
        let user = User::new(&self.table);
        let located = self.located(expression, (0, bits), false)?;
        let done = self.device.evaluate_into(&located, engine, bits, result);
        let done = done.await;
        self.done(user).await?;
        done
    }

    /// As [`Vectors::evaluate_into`], for a part of the vectors.
    ///
    /// # Errors
    /// As [`Vectors::evaluate`].
    pub async fn evaluate_part_into(
        &self,
        expression: &Expression,
        engine: Engine,
        part: Part,
        result: &Buffer,
    ) -> Result<(), Error> {
        let user = User::new(&self.table);
        let located = self.located(expression, (part.page, part.bits), true)?;
        let done = self
            .device
            .evaluate_into(&located, engine, part.bits, result);
        let done = done.await;
        self.done(user).await?;
        done
    }

    /// As [`Vectors::evaluate`], checked by a second plan.
    ///
    /// # Errors
    /// As [`Vectors::evaluate`]. Results that differ are no error here.
    pub async fn evaluate_checked(
        &self,
        expression: &Expression,
        engine: Engine,
        bits: u64,
    ) -> Result<Checked<Vec<u8>>, Error> {
        let user = User::new(&self.table);
        let located = self.located(expression, (0, bits), false)?;
        let result = self.device.evaluate_checked(&located, engine, bits).await;
        self.done(user).await?;
        result
    }

    /// Evaluates an expression and gives only the number of bits set.
    ///
    /// # Errors
    /// As [`Vectors::evaluate`].
    pub async fn count(
        &self,
        expression: &Expression,
        engine: Engine,
        bits: u64,
    ) -> Result<u64, Error> {
        let user = User::new(&self.table);
        let located = self.located(expression, (0, bits), false)?;
        let result = self.device.count(&located, engine, bits).await;
        self.done(user).await?;
        result
    }

    /// As [`Vectors::count`], checked as by [`Vectors::evaluate_checked`].
    ///
    /// # Errors
    /// As [`Vectors::evaluate`].
    pub async fn count_checked(
        &self,
        expression: &Expression,
        engine: Engine,
        bits: u64,
    ) -> Result<Checked<u64>, Error> {
        let user = User::new(&self.table);
        let located = self.located(expression, (0, bits), false)?;
        let result = self.device.count_checked(&located, engine, bits).await;
        self.done(user).await?;
        result
    }

    async fn done(&self, user: User<'_>) -> Result<(), Error> {
        drop(user);
        self.deallocate_replaced().await
    }

    /// Deletes one vector of a group, or the whole group.
    ///
    /// # Errors
    /// What the drive reports; Vector Not Found.
    pub async fn delete(&self, group: u32, vector: Option<u32>) -> Result<(), Error> {
        {
            let mut table = self.table.borrow_mut();
            let named = |id: &VectorId| vector.is_none_or(|vector| vector == id.vector);
            let found: BTreeSet<VectorId> = table
                .of_group(group)
                .map(|(id, _)| id)
                .filter(named)
                .collect();
            if found.is_empty() {
                return Err(refusal("fc_delete", Status::VECTOR_NOT_FOUND));
            }
            for id in found {
                if let Some(old) = table.vectors.remove(&id) {
                    table.replace(old);
                }
            }
        }
        self.deallocate_replaced().await
    }

    /// The vectors of a group, or of all groups, by group and vector number.
    ///
    /// # Errors
    /// None; a catalogue on the drive may have some.
    pub async fn list(&self, group: Option<u32>) -> Result<Vec<StoredVector>, Error> {
        Ok(self.table.borrow().list(group))
    }
}

/// What a drive that knew vectors by name would answer.
fn refusal(command: &'static str, status: Status) -> Error {
    StatusError { command, status }.into()
}

fn check_length(bits: u64, data: &[u8]) -> Result<(), Error> {
    if data.len() as u64 == bits.div_ceil(8) && bits > 0 {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{} bytes for a vector of {bits} bits: {} would be right",
        data.len(),
        bits.div_ceil(8).max(1)
    )))
}
