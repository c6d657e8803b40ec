//! The loop of a drive's thread: what comes from outside, and what is due.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use bitline::{Drive, Time};
use crossbeam_channel::Receiver;

use super::EngineError;
use super::Order;
use super::doorbell::Doorbell;
use super::served::Served;
use super::source::{Await, Source};

/// Events of the simulation between two looks at what comes from outside.
const EVENTS_PER_LOOK: u64 = 128;
/// Requests of a source that begin at a look.
const REQUESTS_PER_LOOK: u32 = 32;
/// What is due so soon is not slept for: the operating system would wake the thread later than that.
const TOO_SHORT_TO_SLEEP: Duration = Duration::from_micros(10);

/// Serves the drive until it is told to close; what is under way then is let finish.
pub(super) fn until_closed(
    drive: &mut Drive,
    served: &Served,
    orders: &Receiver<Order>,
    doorbell: &Doorbell,
) -> Result<(), EngineError> {
    wake_exactly();
    let mut source = None::<Box<dyn Source>>;
    let (mut waited, mut is_received) = (None, false);
    loop {
        let due = served.clock().due();
        let has_more = drive.simulation()?.advance_until(due, EVENTS_PER_LOOK);
        if let Some(source) = &source {
            source.tell(false);
        }
        // What came at the present instant of both clocks, unless the simulated one is late, begins then.
        if is_received && let Some(source) = &mut source {
            source.begin(served);
            is_received = false;
        }
        // What comes now may come after what was due then: bound to a clock, it must not begin before it came.
        let is_clocked = due < Time::MAX;
        let mut come = waited.take();
        while let Some(order) = come.take().or_else(|| next_of(orders, !is_clocked)) {
            if let Some(source) = &source {
                // It may take long.
                source.tell(true);
            }
            match order {
                Order::Do(job) => job(drive, served),
                Order::TakeFrom(make) => source = Some(make()),
                Order::Close => return Ok(()),
            }
        }
        waited = next_of(orders, is_clocked);
        if let Some(source) = &mut source {
            for _ in 0..REQUESTS_PER_LOOK {
                is_received = source.receive();
                if !is_received || is_clocked {
                    break;
                }
                source.begin(served);
                is_received = false;
            }
        }
        if waited.is_some() || is_received {
            continue;
        }
        let next = drive.simulation()?.next_at();
        if has_more || next.is_some_and(|next| next <= due) {
            continue;
        }
        if let Some(source) = &source {
            source.tell(true);
        }
        // An idle drive sleeps until somebody wants something of it.
        let wait = next.map(|next| served.clock().until(next, Instant::now()));
        if wait.is_some_and(|wait| wait <= TOO_SHORT_TO_SLEEP) {
            std::hint::spin_loop();
            continue;
        }
        doorbell.sleep(wait, || match &source {
            _ if !orders.is_empty() => Await::Nothing,
            Some(source) => source.awaits(),
            None => Await::Bell,
        });
    }
}

/// The next order, if there is one and it `may` come.
fn next_of(orders: &Receiver<Order>, may: bool) -> Option<Order> {
    may.then(|| orders.try_recv().ok()).flatten()
}

/// Timers of this thread are not put together with later ones: by default Linux may add 50 microseconds.
fn wake_exactly() {
    // Where the operating system does not do it, completions are told a little later.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1_000));
}
