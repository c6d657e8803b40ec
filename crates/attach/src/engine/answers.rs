//! Answers to hosts, some of which wait for others: who waits for them is woken once and asks for more while the drive goes on,
//! instead of both taking turns. Whichever thread comes by tells them, the drive's or one that brings a host's next request.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Tells a host what became of a request.
pub(super) type Answer = Box<dyn FnOnce() + Send>;

/// When so many wait, the drive's thread tells them itself: half of what a host has under way that asks for much at once, so that it
/// asks for the next half while the drive is at the other.
const TOGETHER: usize = 16;
/// They wait for more no longer than this: some times what it takes to wake somebody.
const LONG: Duration = Duration::from_micros(200);

/// Answers that wait for others.
#[derive(Default)]
pub(super) struct Answers {
    waiting: Mutex<Waiting>,
    /// How many wait, for a look without the lock. Only the drive's thread adds any, so it never sees fewer here than there are, and
    /// leaves none behind when it goes to sleep; others may.
    count: AtomicUsize,
    wait_no_more: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    answers: VecDeque<Answer>,
    /// Since when there has been one at all times.
    since: Option<Instant>,
}

impl Answers {
    pub(super) fn add(&self, answer: Answer) {
        if self.wait_no_more.load(Ordering::Relaxed) {
            return answer();
        }
        let count = {
            let mut waiting = self.waiting();
            waiting.since.get_or_insert_with(Instant::now);
            waiting.answers.push_back(answer);
            self.publish_count(&waiting)
        };
        if count >= TOGETHER {
            self.tell();
        }
    }

    /// Whether any waits.
    pub(super) fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Tells all of them, but those that another thread is telling.
    pub(super) fn tell(&self) {
        while self.any()
            && let Some(answer) = self.next()
        {
            answer();
        }
    }

    /// The one that waits for longest, which waits no more.
    fn next(&self) -> Option<Answer> {
        let mut waiting = self.waiting();
        let next = waiting.answers.pop_front();
        if waiting.answers.is_empty() {
            waiting.since = None;
        }
        self.publish_count(&waiting);
        next
    }

    /// How many wait, which those see who look without the lock from now on.
    fn publish_count(&self, waiting: &Waiting) -> usize {
        let count = waiting.answers.len();
        self.count.store(count, Ordering::Relaxed);
        count
    }

    /// Tells them if they have waited for long.
    pub(super) fn tell_late(&self) {
        if !self.any() {
            return;
        }
        let since = self.waiting().since;
        if since.is_some_and(|since| since.elapsed() >= LONG) {
            self.tell();
        }
    }

    /// From now on none waits.
    pub(super) fn wait_no_more(&self) {
        self.wait_no_more.store(true, Ordering::Relaxed);
        self.tell();
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;
    use std::thread;

    use super::*;

    fn some(answers: &Answers, count: u32, told: &Arc<AtomicU32>) {
        for _ in 0..count {
            let told = told.clone();
            answers.add(Box::new(move || {
                told.fetch_add(1, Ordering::Relaxed);
            }));
        }
    }

    #[test]
    fn they_wait_for_more_but_not_for_long() {
        let (answers, told) = (Answers::default(), Arc::<AtomicU32>::default());
        let so_far = || told.load(Ordering::Relaxed);
        some(&answers, 3, &told);
        assert!(answers.any());
        assert_eq!(so_far(), 0);
        answers.tell();
        assert!(!answers.any());
        assert_eq!(so_far(), 3);
        some(&answers, TOGETHER as u32, &told);
        assert_eq!(so_far(), 3 + TOGETHER as u32);
        some(&answers, 1, &told);
        thread::sleep(LONG);
        answers.tell_late();
        assert_eq!(so_far(), 4 + TOGETHER as u32);
        some(&answers, 1, &told);
        answers.wait_no_more();
        some(&answers, 1, &told);
        assert_eq!(so_far(), 6 + TOGETHER as u32);
    }

    #[test]
    fn none_is_lost_whoever_comes_by() {
        const ANSWERS: u32 = 100_000;
        let (answers, told) = (Answers::default(), Arc::<AtomicU32>::default());
        let is_over = AtomicBool::new(false);
        let come_by = || {
            while !is_over.load(Ordering::Relaxed) {
                answers.tell();
                thread::yield_now();
            }
        };
        thread::scope(|scope| {
            scope.spawn(come_by);
            scope.spawn(come_by);
            some(&answers, ANSWERS, &told);
            answers.tell();
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(told.load(Ordering::Relaxed), ANSWERS);
        assert!(!answers.any());
    }
}
