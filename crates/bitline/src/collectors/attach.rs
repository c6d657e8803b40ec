//! What a collector is attached with.

use device::port::Wiring;
use nvme::collector::Policy;

use crate::placed::Placed;

/// What a collector is attached with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attach {
    /// The port.
    pub port: u16,
    /// What its wire is.
    pub wiring: Wiring,
    /// The object that it goes to; none if it is for a stream only.
    pub object: Option<String>,
    /// Where that lies, of a file that is no object of the volume; it does not grow, and keeps its length.
    pub placed: Option<Placed>,
    /// What becomes of packets for which there is no room.
    pub policy: Policy,
    /// Bytes that it may have in the drive's memory; 0 is the drive's choice.
    pub share_bytes: u32,
    /// Bytes of room in the object below which more is added.
    pub low_bytes: u32,
    /// Bytes that are added then; 0 adds none.
    pub grow_bytes: u64,
    /// It goes on where the last one of this object ended on this port.
    pub goes_on: bool,
    /// It is connected to the host, which writes what comes to the drive, to compare with; the port is one of the host's then.
    pub through_host: bool,
}

impl Attach {
    /// To an object, over 10 Gigabit Ethernet with frames of 1500 bytes.
    pub fn to(port: u16, object: impl Into<String>) -> Attach {
        Attach {
            object: Some(object.into()),
            ..Attach::for_streams(port)
        }
    }

    /// To streams only, which take what comes as their input.
    pub fn for_streams(port: u16) -> Attach {
        Attach {
            port,
            wiring: Wiring {
                bytes_per_second: 1_250_000_000,
                packet_bytes: 1500,
                overhead_bytes: 38,
            },
            object: None,
            placed: None,
            policy: Policy::Stall,
            share_bytes: 0,
            low_bytes: 0,
            grow_bytes: 0,
            goes_on: false,
            through_host: false,
        }
    }

    /// To a file of which somebody else says where it lies: a file system on the drive. Whoever calls sees to it that the
    /// file stays there until the collector is detached.
    pub fn at(mut self, placed: Placed) -> Attach {
        self.placed = Some(placed);
        self
    }

    /// Over this wire.
    pub fn wired(mut self, wiring: Wiring) -> Attach {
        self.wiring = wiring;
        self
    }

    /// What becomes of packets for which there is no room.
    pub fn policy(mut self, policy: Policy) -> Attach {
        self.policy = policy;
        self
    }

    /// Bytes that it may have in the drive's memory.
    pub fn share(mut self, bytes: u32) -> Attach {
        self.share_bytes = bytes;
        self
    }

    /// Has the object grow by so many bytes whenever there is room for less than `low` bytes.
    pub fn growing(mut self, low: u32, by: u64) -> Attach {
        self.low_bytes = low;
        self.grow_bytes = by;
        self
    }

    /// Goes on where the last one of this object ended on this port.
    pub fn going_on(mut self) -> Attach {
        self.goes_on = true;
        self
    }

    /// Connected to the host, which writes what comes to the drive.
    pub fn through_host(mut self) -> Attach {
        self.through_host = true;
        self
    }
}
