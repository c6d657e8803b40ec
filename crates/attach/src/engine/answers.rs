//! Answers to hosts, some of which are told together: who waits for them is woken once and asks for more while the drive goes on,
//! instead of both taking turns.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// Tells a host what became of a request.
pub(super) type Answer = Box<dyn FnOnce()>;

/// So many are told without waiting for more: half of what a host has under way that asks for much at once, so that it asks for
/// the next half while the drive is at the other.
const TOGETHER: usize = 16;
/// They wait for more no longer than this: some times what it takes to wake somebody.
const LONG: Duration = Duration::from_micros(200);

/// Answers that wait for others.
#[derive(Default)]
pub(super) struct Answers {
    waiting: RefCell<Vec<Answer>>,
    since: Cell<Option<Instant>>,
    wait_no_more: Cell<bool>,
}

impl Answers {
    pub(super) fn add(&self, answer: Answer) {
        if self.wait_no_more.get() {
            return answer();
        }
        if self.since.get().is_none() {
            self.since.set(Some(Instant::now()));
        }
        self.waiting.borrow_mut().push(answer);
        if self.waiting.borrow().len() >= TOGETHER {
            self.tell();
        }
    }

    /// Whether any waits.
    pub(super) fn any(&self) -> bool {
        self.since.get().is_some()
    }

    /// Tells all of them.
    pub(super) fn tell(&self) {
        self.since.set(None);
        // Telling adds none.
        self.waiting
            .borrow_mut()
            .drain(..)
            .for_each(|answer| answer());
    }

    /// Tells them if they have waited for long.
    pub(super) fn tell_late(&self) {
        if self
            .since
            .get()
            .is_some_and(|since| since.elapsed() >= LONG)
        {
            self.tell();
        }
    }

    /// From now on none waits.
    pub(super) fn wait_no_more(&self) {
        self.wait_no_more.set(true);
        self.tell();
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    fn some(answers: &Answers, count: u32, told: &Rc<Cell<u32>>) {
        for _ in 0..count {
            let told = told.clone();
            answers.add(Box::new(move || told.update(|told| told + 1)));
        }
    }

    #[test]
    fn they_wait_for_more_but_not_for_long() {
        let (answers, told) = (Answers::default(), Rc::default());
        some(&answers, 3, &told);
        assert!(answers.any());
        assert_eq!(told.get(), 0);
        answers.tell();
        assert!(!answers.any());
        assert_eq!(told.get(), 3);
        some(&answers, TOGETHER as u32, &told);
        assert_eq!(told.replace(0), 3 + TOGETHER as u32);
        some(&answers, 1, &told);
        std::thread::sleep(LONG);
        answers.tell_late();
        assert_eq!(told.get(), 1);
        some(&answers, 1, &told);
        answers.wait_no_more();
        some(&answers, 1, &told);
        assert_eq!(told.get(), 3);
    }
}
