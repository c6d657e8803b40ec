//! What collectors send, as time passes.

use device::stream::collect::Arrival;
use device::task::Data;
use sim::{Either, Sim, Span, select};

use super::operations::usage;
use super::{Attached, Collector, Source};
use crate::error::Error;

/// Bytes that are on their way over a wire at a time where a packet has more than the switch has room for.
const PART_BYTES: u32 = 16 << 10;

/// How long until it is looked again whether an object that is full has grown.
const LOOK_AGAIN: Span = Span::from_us(100);

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
        due = (due + packet.after).max(sim.now());
        sim.sleep_until(due).await;
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
        let full = attached.taker.is_full(port);
        let Either::Right(()) = select(collecting.changed(), full).await else {
            continue;
        };
        if let Some(error) = collecting.take_failure(port) {
            return Err(error);
        }
        if collecting.growth(port).is_none() {
            let object = attached.object.as_ref().map_or("", |object| &object.name);
            return usage(format!(
                "{object:?} is full, and what the collector at port {port} sends is held back: allocate more, let it grow, or choose a policy that drops"
            ));
        }
        // It is growing.
        let again = attached.host.sim().sleep(LOOK_AGAIN);
        select(collecting.changed(), again).await;
    }
    Ok(())
}
