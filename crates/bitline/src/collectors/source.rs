//! What collectors send: packets, and when.

use sim::{Random, Span};

/// The longest time from packet to packet: a day.
const INTERVAL_MAX: Span = Span::from_us(86_400_000_000);

/// A packet, and how long after the one before it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// From when the one before was sent, or the source began.
    pub after: Span,
    /// What it carries.
    pub data: Vec<u8>,
}

/// What a collector sends. It must give the same packets whenever it is asked in the same way: simulations are to be repeated.
pub trait Source {
    /// The next packet; nothing at the end.
    fn next(&mut self) -> Option<Packet>;
}

/// When packets are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Bytes a second, while it sends. A packet that would take longer than a day takes a day.
    pub bytes_per_second: f64,
    /// How far each interval differs from that, as a share of it: 0.1 for up to ten per cent less or more.
    pub jitter: f64,
    /// For how long it sends at a time, and for how long it does not then; always, if the second is zero.
    pub burst: (Span, Span),
}

impl Pace {
    /// So many bytes a second, evenly.
    pub fn even(bytes_per_second: f64) -> Pace {
        Pace {
            bytes_per_second,
            jitter: 0.0,
            burst: (Span::ZERO, Span::ZERO),
        }
    }
}

/// Intervals of packets at a pace.
#[derive(Clone, Debug)]
pub struct Timing {
    pace: Pace,
    random: Random,
    /// How long it has sent since the burst began.
    sent: Span,
    is_first: bool,
}

impl Timing {
    /// Packets at a pace, whose jitter is drawn from `random`.
    pub fn new(pace: Pace, random: Random) -> Timing {
        Timing {
            pace,
            random,
            sent: Span::ZERO,
            is_first: true,
        }
    }

    /// How long after the packet before it a packet of so many bytes is sent.
    pub fn next(&mut self, bytes: u64) -> Span {
        if std::mem::take(&mut self.is_first) {
            return Span::ZERO;
        }
        let even = bytes as f64 * 1e12 / self.pace.bytes_per_second;
        let jitter = match self.pace.jitter > 0.0 {
            true => self.pace.jitter * (2.0 * self.random.unit() - 1.0),
            false => 0.0,
        };
        let interval = Span::from_ps((even * (1.0 + jitter)).round().max(0.0) as u64);
        let interval = interval.min(INTERVAL_MAX);
        let (on, off) = self.pace.burst;
        if off == Span::ZERO {
            return interval;
        }
        self.sent += interval;
        match self.sent > on {
            true => {
                self.sent = Span::ZERO;
                interval + off
            }
            false => interval,
        }
    }
}

/// Random bytes, made from the drive's seed and the port's number.
pub struct Generator {
    timing: Timing,
    random: Random,
    packet_bytes: u32,
    left: u64,
    keeps_data: bool,
}

impl Generator {
    /// So many bytes in packets of so many each, of the stream of randomness of a port. Where the drive keeps no data they are all zero.
    pub fn new(
        (pace, packet_bytes, bytes): (Pace, u32, u64),
        (timing, content): (Random, Random),
        keeps_data: bool,
    ) -> Generator {
        Generator {
            timing: Timing::new(pace, timing),
            random: content,
            packet_bytes: packet_bytes.max(1),
            left: bytes,
            keeps_data,
        }
    }
}

impl Source for Generator {
    fn next(&mut self) -> Option<Packet> {
        let bytes = self.left.min(self.packet_bytes.into());
        if bytes == 0 {
            return None;
        }
        self.left -= bytes;
        let mut data = vec![0; bytes as usize];
        if self.keeps_data {
            self.random.fill(&mut data);
        }
        Some(Packet {
            after: self.timing.next(bytes),
            data,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(pace: Pace, packets: u64) -> Span {
        let mut timing = Timing::new(pace, Random::named(1, "test"));
        (0..packets)
            .map(|_| timing.next(1000))
            .fold(Span::ZERO, |sum, span| sum + span)
    }

    #[test]
    fn packets_are_sent_at_the_pace() {
        let even = Pace::even(1e6);
        assert_eq!(total(even, 101), Span::from_us(100_000));
        let jittery = Pace {
            jitter: 0.5,
            ..even
        };
        let ratio = total(jittery, 10_001).as_ns() / 1e10;
        assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
        // 10 ms of packets each millisecond, then 30 ms of none.
        let burst = (Span::from_us(10_000), Span::from_us(30_000));
        let bursts = Pace { burst, ..even };
        let ratio = total(bursts, 11_001).as_ns() / (11e9 + 1000.0 * 30e6);
        assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
    }
}
