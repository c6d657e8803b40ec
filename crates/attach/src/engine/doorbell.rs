//! How the drive's thread is woken.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{read, write};

use super::source::Await;

/// Wakes the drive's thread if it sleeps. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Doorbell(Arc<Inner>);

struct Inner {
    event: OwnedFd,
    /// Whether the drive's thread is about to sleep, or sleeps, and nobody has rung since.
    is_asleep: AtomicBool,
}

impl Doorbell {
    /// # Errors
    /// The operating system gives no event.
    pub(crate) fn new() -> io::Result<Doorbell> {
        Ok(Doorbell(Arc::new(Inner {
            event: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            is_asleep: AtomicBool::new(false),
        })))
    }

    /// Wakes the drive's thread, after there is something new for it.
    #[inline]
    pub(crate) fn ring(&self) {
        // Either this sees that it sleeps, or it sees what is new before it does.
        fence(Ordering::SeqCst);
        if self.0.is_asleep.load(Ordering::Relaxed)
            && self.0.is_asleep.swap(false, Ordering::Relaxed)
        {
            // It fails only if the event has been written 2^64 - 2 times, and then it is awake.
            let _ = write(&self.0.event, &1_u64.to_ne_bytes());
        }
    }

    /// Sleeps until somebody rings or there is what `awaits` tells, but no longer than `at_most`. It is asked once nobody can ring unheard.
    pub(crate) fn sleep<'a>(&self, at_most: Option<Duration>, awaits: impl FnOnce() -> Await<'a>) {
        let inner = &self.0;
        inner.is_asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let (event, awaits) = (inner.event.as_fd(), awaits());
        let reads = match awaits {
            Await::Nothing => None,
            Await::Read(file) => Some(file),
            Await::Bell => Some(event),
        };
        if let Some(reads) = reads {
            let mut both = [event, reads].map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN));
            // What no clock can tell does not come.
            let at_most = at_most.and_then(|at_most| Timespec::try_from(at_most).ok());
            // Whatever ends it, the next turn looks at everything.
            let _ = poll(&mut both, at_most.as_ref());
            if both[0].revents().contains(PollFlags::IN) {
                // It can be read, and nobody else reads it.
                let _ = read(&inner.event, &mut [0; 8]);
            }
        }
        // Who rings from now on need not write. One that has said so and has not written yet makes the next sleep short.
        inner.is_asleep.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Instant;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn sleeps(doorbell: &Doorbell, at_most: Duration) -> Duration {
        let began = Instant::now();
        doorbell.sleep(Some(at_most), || Await::Bell);
        began.elapsed()
    }

    #[test]
    fn it_sleeps_until_somebody_rings() {
        let doorbell = Doorbell::new().expect("an event");
        let short = Duration::from_millis(20);
        assert!(sleeps(&doorbell, short) >= short);
        doorbell.sleep(Some(LONG), || Await::Nothing);
        // Nobody sleeps: it is not kept.
        doorbell.ring();
        assert!(sleeps(&doorbell, short) >= short);
        let rings = doorbell.clone();
        let ringing = thread::spawn(move || {
            thread::sleep(short);
            rings.ring();
        });
        assert!(sleeps(&doorbell, LONG) < LONG);
        ringing.join().expect("it rings");
        // Once: the event may be seen late, and is read then.
        sleeps(&doorbell, short);
        assert!(sleeps(&doorbell, short) >= short);
    }

    #[test]
    fn who_rings_just_before_is_heard() {
        let doorbell = Doorbell::new().expect("an event");
        let began = Instant::now();
        doorbell.sleep(Some(LONG), || {
            doorbell.ring();
            Await::Bell
        });
        assert!(began.elapsed() < LONG);
    }

    #[test]
    fn what_can_be_read_wakes_it() {
        let doorbell = Doorbell::new().expect("an event");
        let other = eventfd(1, EventfdFlags::CLOEXEC).expect("an event");
        let began = Instant::now();
        doorbell.sleep(Some(LONG), || Await::Read(other.as_fd()));
        assert!(began.elapsed() < LONG);
    }
}
