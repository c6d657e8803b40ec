//! The host link: PCIe with lanes, packets and their overhead, one direction each.

use serde::{Deserialize, Serialize};
use sim::resource::Pipe;
use sim::{Energy, Sim, Span, Time};

/// What the link is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    /// Number of lanes.
    pub lanes: u32,
    /// Bandwidth of one lane in one direction, in megabytes (10^6) per second.
    pub megabytes_per_second_per_lane: u32,
    /// Largest payload of one transaction-layer packet, in bytes.
    pub packet_payload_bytes: u32,
    /// Header, sequence number, checksum and framing of one packet, in bytes.
    pub packet_overhead_bytes: u32,
    /// Energy of moving one byte, overhead included, in picojoules.
    pub transfer_pj_per_byte: u32,
}

/// Size of a memory read request on the wire, before overhead: none of its
/// packet is payload, so it is counted as a 32-byte message (as MQSim does).
pub const READ_REQUEST_BYTES: u64 = 32;

/// One direction of the link.
pub struct Direction {
    pipe: Pipe,
    bytes_per_second: u64,
    payload: u64,
    overhead: u64,
    picojoules_per_byte: u64,
    payload_moved: std::cell::Cell<u64>,
}

/// Both directions.
pub struct Link {
    /// From the host to the drive.
    pub down: Direction,
    /// From the drive to the host.
    pub up: Direction,
}

impl Link {
    /// An idle link.
    pub fn new(sim: &Sim, config: &LinkConfig) -> Link {
        Link {
            down: Direction::new(sim, config),
            up: Direction::new(sim, config),
        }
    }
}

impl Direction {
    fn new(sim: &Sim, config: &LinkConfig) -> Direction {
        let bytes_per_second =
            u64::from(config.lanes) * u64::from(config.megabytes_per_second_per_lane) * 1_000_000;
        Direction {
            pipe: Pipe::new(sim, bytes_per_second),
            bytes_per_second,
            payload: u64::from(config.packet_payload_bytes),
            overhead: u64::from(config.packet_overhead_bytes),
            picojoules_per_byte: u64::from(config.transfer_pj_per_byte),
            payload_moved: std::cell::Cell::new(0),
        }
    }

    /// Bytes on the wire for a message of `bytes`.
    pub fn wire_bytes(&self, bytes: u64) -> u64 {
        bytes + bytes.div_ceil(self.payload) * self.overhead
    }

    /// How long a message of `bytes` occupies this direction.
    #[inline]
    pub fn span_of(&self, bytes: u64) -> Span {
        Span::of_transfer(self.wire_bytes(bytes), self.bytes_per_second)
    }

    /// What moving a message of `bytes` costs.
    #[inline]
    pub fn energy_of(&self, bytes: u64) -> Energy {
        Energy::from_pj(self.wire_bytes(bytes) * self.picojoules_per_byte)
    }

    /// Waits until a message of `bytes` has crossed.
    #[inline]
    pub fn transfer(&self, bytes: u64) -> impl Future<Output = ()> + '_ {
        self.payload_moved.set(self.payload_moved.get() + bytes);
        self.pipe
            .occupy(self.wire_bytes(bytes), self.span_of(bytes))
    }

    /// Sends a message nobody waits for, behind those before it; gives the
    /// instant of its arrival.
    #[inline]
    pub fn post(&self, bytes: u64) -> Time {
        self.payload_moved.set(self.payload_moved.get() + bytes);
        self.pipe
            .reserve(self.wire_bytes(bytes), self.span_of(bytes))
    }

    /// Whether nothing is under way.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.pipe.is_idle()
    }

    /// As [`Direction::post`], for the answer to a request that arrives at `from`.
    #[inline]
    pub fn post_answer(&self, from: Time, bytes: u64) -> Time {
        self.payload_moved.set(self.payload_moved.get() + bytes);
        self.pipe.reserve_from(from, self.wire_bytes(bytes), self.span_of(bytes))
    }

    /// Payload bytes carried, counting what is promised.
    pub fn bytes(&self) -> u64 {
        self.payload_moved.get()
    }

    /// How long this direction carried something.
    pub fn busy(&self) -> Span {
        self.pipe.busy()
    }
}
