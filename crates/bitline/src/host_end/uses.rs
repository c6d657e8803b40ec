//! Who uses objects of the volume, and who changes where they are: a change of an object waits for those who use that
//! one, and whoever comes later waits for the change.

use std::cell::RefCell;
use std::collections::BTreeMap;

use sim::Sim;
use sim::resource::Broadcast;

/// The objects, by number, that are used or closed.
pub(crate) struct Uses {
    objects: RefCell<BTreeMap<u32, Count>>,
    ended: Broadcast,
}

#[derive(Default)]
struct Count {
    users: u32,
    closings: u32,
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

    /// Uses objects that the caller uses already, until [`Uses::end_use`].
    pub(crate) fn begin_use(&self, numbers: &[u32]) {
        let mut objects = self.objects.borrow_mut();
        for number in numbers {
            objects.entry(*number).or_default().users += 1;
        }
    }

    /// Ends that.
    pub(crate) fn end_use(&self, numbers: &[u32]) {
        self.end(numbers, |count| count.users -= 1);
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
                if count.users == 0 && count.closings == 0 {
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
