//! Who uses objects of the volume, and who changes where they are: a change of an object waits for those who use that
//! one, and whoever comes later waits for the change. Of those who hold one from call to call nobody can tell when they
//! let go: what would change it is refused then.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use host::volume::{Extent, Object};
use sim::Sim;
use sim::resource::Broadcast;

use crate::error::Error;

/// The objects, by number, that are used or closed.
pub(crate) struct Uses {
    objects: RefCell<BTreeMap<u32, Count>>,
    /// Blocks of files that are no objects of the volume, and who holds them.
    placed: RefCell<Vec<(Vec<Extent>, Holder)>>,
    ended: Broadcast,
}

#[derive(Default)]
struct Count {
    users: u32,
    closings: u32,
    holders: Vec<Holder>,
}

impl Count {
    fn is_idle(&self) -> bool {
        self.users == 0 && self.closings == 0 && self.holders.is_empty()
    }
}

/// What holds an object until its owner lets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// The collector of a port of the drive.
    Collector(u16),
    /// The collector of a port of the host.
    HostCollector(u16),
    /// A stream of the drive that writes it.
    Stream(u32),
    /// A stream of a card in the host.
    CardStream(u32),
}

impl Holder {
    /// Whether it fills the object.
    pub(crate) fn collects(self) -> bool {
        matches!(self, Holder::Collector(_) | Holder::HostCollector(_))
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Collector(port) => write!(f, "the collector at port {port}: detach it first"),
            Holder::HostCollector(port) => write!(
                f,
                "the collector at port {port} of the host: detach it first"
            ),
            Holder::Stream(number) => write!(f, "stream {number}: close it first"),
            Holder::CardStream(number) => write!(f, "stream {number} of the card: close it first"),
        }
    }
}

/// Objects that stay as they are until this is dropped.
#[must_use = "objects are held as long as this is"]
pub(crate) struct Held {
    uses: Rc<Uses>,
    numbers: Vec<u32>,
    /// Blocks of placed files.
    placed: Vec<Vec<Extent>>,
    holder: Holder,
}

/// Objects that stay where they are until this is dropped.
#[must_use = "objects are used as long as this is held"]
pub(crate) struct Using<'a> {
    uses: &'a Uses,
    numbers: Vec<u32>,
}

/// Objects that nobody begins to use until this is dropped.
#[must_use = "objects are closed as long as this is held"]
pub(crate) struct Closing<'a> {
    uses: &'a Uses,
    numbers: Vec<u32>,
}

impl Uses {
    pub(crate) fn new(sim: &Sim) -> Uses {
        Uses {
            objects: RefCell::default(),
            placed: RefCell::default(),
            ended: Broadcast::new(sim),
        }
    }

    /// Uses objects; `None` if one of them is about to change: [`Uses::changed`] tells when to look again.
    pub(crate) fn begin(&self, numbers: Vec<u32>) -> Option<Using<'_>> {
        let mut objects = self.objects.borrow_mut();
        let is_closed = |number| objects.get(number).is_some_and(|count| count.closings > 0);
        if numbers.iter().any(is_closed) {
            return None;
        }
        for number in &numbers {
            objects.entry(*number).or_default().users += 1;
        }
        drop(objects);
        Some(Using {
            uses: self,
            numbers,
        })
    }

    /// Holds objects that the caller uses, from call to call.
    pub(crate) fn hold<'o>(
        self: &Rc<Uses>,
        held: impl IntoIterator<Item = &'o Object>,
        holder: Holder,
    ) -> Held {
        let (mut numbers, mut placed) = (Vec::new(), Vec::new());
        let mut objects = self.objects.borrow_mut();
        for object in held {
            if object.is_placed() {
                let extents = object.extents.clone();
                self.placed.borrow_mut().push((extents.clone(), holder));
                placed.push(extents);
                continue;
            }
            numbers.push(object.id.get());
            let count = objects.entry(object.id.get()).or_default();
            count.holders.push(holder);
        }
        drop(objects);
        Held {
            uses: self.clone(),
            numbers,
            placed,
            holder,
        }
    }

    /// # Errors
    /// [`Error::Held`] if somebody holds an object, of those that `is_meant`.
    pub(crate) fn check(
        &self,
        object: &Object,
        is_meant: impl Fn(Holder) -> bool,
    ) -> Result<(), Error> {
        let (objects, placed) = (self.objects.borrow(), self.placed.borrow());
        let of_number = objects.get(&object.id.get()).map(|count| &count.holders);
        let overlapping = placed
            .iter()
            .filter(|(extents, _)| object.is_placed() && touch(extents, &object.extents));
        let holders = of_number.into_iter().flatten();
        let mut holders = holders.chain(overlapping.map(|(_, holder)| holder));
        match holders.find(|holder| is_meant(**holder)) {
            None => Ok(()),
            Some(holder) => Err(Error::Held {
                name: object.name.clone(),
                by: holder.to_string(),
            }),
        }
    }

    /// Lets nobody begin to use objects.
    pub(crate) fn close(&self, numbers: Vec<u32>) -> Closing<'_> {
        let mut objects = self.objects.borrow_mut();
        for number in &numbers {
            objects.entry(*number).or_default().closings += 1;
        }
        drop(objects);
        Closing {
            uses: self,
            numbers,
        }
    }

    /// Waits until the use or the closing of any object ends.
    pub(crate) async fn changed(&self) {
        self.ended.next().await;
    }

    fn end(&self, numbers: &[u32], end: impl Fn(&mut Count)) {
        let mut objects = self.objects.borrow_mut();
        for number in numbers {
            if let Some(count) = objects.get_mut(number) {
                end(count);
                if count.is_idle() {
                    objects.remove(number);
                }
            }
        }
        drop(objects);
        self.ended.announce();
    }
}

impl Closing<'_> {
    /// Whether nobody uses them.
    pub(crate) fn is_unused(&self) -> bool {
        let objects = self.uses.objects.borrow();
        let mut counts = self.numbers.iter().filter_map(|number| objects.get(number));
        counts.all(|count| count.users == 0)
    }

    /// Their numbers.
    pub(crate) fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// Waits until nobody uses them.
    pub(crate) async fn unused(&self) {
        while !self.is_unused() {
            self.uses.changed().await;
        }
    }
}

impl Drop for Using<'_> {
    fn drop(&mut self) {
        self.uses.end(&self.numbers, |count| count.users -= 1);
    }
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.uses.end(&self.numbers, |count| count.closings -= 1);
    }
}

/// Whether some block is in both.
fn touch(some: &[Extent], others: &[Extent]) -> bool {
    let ends_behind = |one: &Extent, other: &Extent| one.first + one.blocks > other.first;
    let mut pairs = some
        .iter()
        .flat_map(|one| others.iter().map(move |other| (one, other)));
    pairs.any(|(one, other)| ends_behind(one, other) && ends_behind(other, one))
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut placed = self.uses.placed.borrow_mut();
        for extents in &self.placed {
            let mut held = placed.iter();
            let own = |(other, holder): &(Vec<Extent>, Holder)| {
                other == extents && *holder == self.holder
            };
            if let Some(place) = held.position(own) {
                placed.swap_remove(place);
            }
        }
        drop(placed);
        self.uses.end(&self.numbers, |count| {
            let mut holders = count.holders.iter();
            if let Some(place) = holders.position(|holder| *holder == self.holder) {
                count.holders.swap_remove(place);
            }
        });
    }
}
