//! The wire between a collector of data (a camera, a sensor) and its port: packets one after the other, each with what its protocol
//! adds.

use std::cell::Cell;

use sim::{Key, Sim, Span, Time, Track};

static BYTES: Key = Key::one("bytes");
static WIRE_BYTES: Key = Key::one("wire_bytes");

/// What a collector's wire is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wiring {
    /// Bytes a second, overhead included.
    pub bytes_per_second: u64,
    /// Bytes that a packet of the protocol carries at most.
    pub packet_bytes: u32,
    /// Bytes that the protocol adds to each of its packets.
    pub overhead_bytes: u32,
}

impl Wiring {
    /// Bytes on the wire of so many.
    pub fn wire_bytes(&self, bytes: u64) -> u64 {
        let packets = bytes.div_ceil(u64::from(self.packet_bytes.max(1)));
        bytes.saturating_add(packets.saturating_mul(self.overhead_bytes.into()))
    }

    /// How long so many bytes are on their way.
    pub fn span_of(&self, bytes: u64) -> Span {
        Span::of_transfer(self.wire_bytes(bytes), self.bytes_per_second.max(1))
    }
}

/// A wire, and until when it is in use.
pub struct Wire {
    sim: Sim,
    wiring: Wiring,
    free_at: Cell<Time>,
    track: Track,
}

impl Wire {
    /// An idle wire, which a trace shows on `track`.
    pub fn new(sim: &Sim, wiring: Wiring, track: Track) -> Wire {
        Wire {
            sim: sim.clone(),
            wiring,
            free_at: Cell::new(Time::ZERO),
            track,
        }
    }

    /// What it is.
    pub fn wiring(&self) -> &Wiring {
        &self.wiring
    }

    /// Carries bytes to the port, after those before them.
    pub async fn carry(&self, bytes: u32) {
        let begin = self.free_at.get().max(self.sim.now());
        let over = begin + self.wiring.span_of(bytes.into());
        self.free_at.set(over);
        self.sim.sleep_until(over).await;
        let wire = self.wiring.wire_bytes(bytes.into());
        let trace = self.sim.trace();
        trace.slice_with(self.track, "packet", begin, over, |args| {
            args.number(&BYTES, bytes);
            args.number(&WIRE_BYTES, wire);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_of_the_protocol_has_its_overhead() {
        let wiring = Wiring {
            bytes_per_second: 1_000_000_000,
            packet_bytes: 1500,
            overhead_bytes: 38,
        };
        assert_eq!(wiring.wire_bytes(3001), 3001 + 3 * 38);
        assert_eq!(wiring.span_of(3000), Span::from_ns(3076));
        assert_eq!(wiring.span_of(0), Span::ZERO);
    }
}
