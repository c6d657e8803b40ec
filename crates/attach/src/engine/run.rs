//! The loop of a drive's thread: what comes from outside, and what is due.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use bitline::{Drive, Time};
use crossbeam_channel::{Receiver, RecvError, RecvTimeoutError, TryRecvError};

use super::EngineError;
use super::Order;
use super::served::Served;

/// Events of the simulation between two looks at what comes from outside; fewer while answers wait, as an event may be as much as
/// a task computes in its turn.
const EVENTS_PER_LOOK: u64 = 64;
const EVENTS_WHILE_ANSWERS_WAIT: u64 = 16;
/// What is due so soon is not slept for: the operating system would wake the thread later than that.
const TOO_SHORT_TO_SLEEP: Duration = Duration::from_micros(10);

/// Serves the drive until it is told to close; what is under way then is let finish.
pub(super) fn until_closed(
    drive: &mut Drive,
    served: &Served,
    orders: &Receiver<Order>,
) -> Result<(), EngineError> {
    wake_exactly();
    let mut waited = None;
    'turns: loop {
        let due = served.clock().due();
        let events = match served.answers().any() {
            true => EVENTS_WHILE_ANSWERS_WAIT,
            false => EVENTS_PER_LOOK,
        };
        let has_more = drive.simulation()?.advance_until(due, events);
        served.answers().tell_late();
        // What comes now comes at the present instant of both clocks, unless the simulated one is late.
        loop {
            let order = match waited.take() {
                Some(order) => order,
                None => match orders.try_recv() {
                    // It may have come after what was due then: it must not begin before it came.
                    Ok(order) if due < Time::MAX => {
                        waited = Some(order);
                        continue 'turns;
                    }
                    Ok(order) => order,
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return Ok(()),
                },
            };
            match order {
                Order::Do(job) => job(drive, served),
                Order::Close => return Ok(()),
            }
        }
        let next = drive.simulation()?.next_at();
        if has_more || next.is_some_and(|next| next <= due) {
            continue;
        }
        served.answers().tell();
        let Some(next) = next else {
            // An idle drive sleeps until somebody wants something of it.
            match orders.recv() {
                Ok(order) => waited = Some(order),
                Err(RecvError) => return Ok(()),
            }
            continue;
        };
        let wait = served.clock().until(next, Instant::now());
        if wait <= TOO_SHORT_TO_SLEEP {
            std::hint::spin_loop();
            continue;
        }
        waited = match orders.recv_timeout(wait) {
            Ok(order) => Some(order),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
    }
}

/// Timers of this thread are not put together with later ones: by default Linux may add 50 microseconds.
fn wake_exactly() {
    // Where the operating system does not do it, completions are told a little later.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1_000));
}
