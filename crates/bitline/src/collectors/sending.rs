//! What collectors send, as time passes.

use std::pin::pin;

use device::stream::collect::Arrival;
use device::task::Data;
use sim::{Either, Sim, select};

use super::{Attached, Collector, Source};
use crate::error::Error;
use crate::host_end::LOOK_AGAIN;

/// Bytes that are on their way over a wire at a time where a packet has more than the switch has room for.
const PART_BYTES: u32 = 16 << 10;

/// Sends what a source gives until its end, or until nobody collects any more.
pub(super) async fn send(
    sim: Sim,
    collector: Collector,
    mut source: Box<dyn Source>,
    keeps_data: bool,
) {
    let attached = &*collector.0;
    let (port, taker) = (attached.port, attached.taker.clone());
    let mut due = sim.now();
    'packets: while let Some(packet) = source.next() {
        let Some(next) = due.checked_add(packet.after) else {
            attached.stopped.set(Some(
                "the next packet is due when simulated time is at its end, after 213 days",
            ));
            break;
        };
        due = next.max(sim.now());
        sim.sleep_until(due).await;
        let _line = attached.line.acquire(1).await;
        let mut rest = match keeps_data {
            true => Data::Bytes(packet.data),
            false => Data::Untold(packet.data.len() as u32),
        };
        let fits = taker
            .packet_bytes_max(port)
            .is_some_and(|most| u64::from(rest.bytes()) <= most);
        let part_bytes = if fits { u32::MAX } else { PART_BYTES };
        while rest.bytes() > 0 {
            if attached.is_unplugged.get() {
                break 'packets;
            }
            let (part, after) = rest.split(part_bytes);
            rest = after;
            attached.delivering.set(attached.delivering.get() + 1);
            let arrival = taker.deliver(port, part).await;
            attached.delivering.set(attached.delivering.get() - 1);
            if arrival == Arrival::Closed {
                if !attached.is_unplugged.get() {
                    attached.stopped.set(Some("nothing is collected there any more: its namespace was erased, or what came could not be written"));
                }
                break 'packets;
            }
        }
    }
    attached.collecting().end(port);
    attached.changed.announce();
}

/// Waits until all sources of a collector are at their end.
///
/// # Errors
/// That they never will be: the object is full, and does not grow; why it does not.
pub(super) async fn all_sent(attached: &Attached) -> Result<(), Error> {
    let (port, collecting) = (attached.port, attached.collecting());
    let _awaiting = collecting.wait(port);
    while collecting.sends(port) {
        let mut changed = pin!(collecting.changed());
        loop {
            let full = attached.taker.full(port);
            let Either::Right(()) = select(changed.as_mut(), full).await else {
                break;
            };
            if let Some(error) = collecting.take_failure(port) {
                return Err(error);
            }
            if collecting.growth(port).is_none() {
                let object = attached.object.as_ref().map_or("", |object| &object.name);
                return Err(Error::usage(format!(
                    "{object:?} is full, and what the collector at port {port} sends is held back: allocate more, let it grow, or choose a policy that drops"
                )));
            }
            // It is growing.
            let again = attached.host.sim().sleep(LOOK_AGAIN);
            if let Either::Left(()) = select(changed.as_mut(), again).await {
                break;
            }
        }
    }
    match attached.stopped.take() {
        Some(why) => Err(Error::usage(format!(
            "the collector at port {port} has sent less than its source has: {why}"
        ))),
        None => Ok(()),
    }
}
