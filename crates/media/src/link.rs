//! The host link: PCIe with lanes, packets and their overhead, one direction each.

use std::cell::Cell;
use std::rc::Rc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::resource::Pipe;
use sim::{ByTenant, Energy, Key, Ledger, Requester, Sim, Span, Tenant, Time, Track};

use crate::OutOfRange;

/// What the link is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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

impl LinkConfig {
    /// Checks everything.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), OutOfRange> {
        OutOfRange::check("lanes", self.lanes, 1, 64)?;
        let lane = self.megabytes_per_second_per_lane;
        OutOfRange::check("megabytes_per_second_per_lane", lane, 1, 1_000_000)?;
        OutOfRange::check("packet_payload_bytes", self.packet_payload_bytes, 1, 4096)
    }

    /// Bytes on the wire of a message of `payload` bytes: packets, each with its overhead.
    pub fn wire_bytes(&self, payload: u64) -> u64 {
        let packets = payload.div_ceil(u64::from(self.packet_payload_bytes));
        payload + packets * u64::from(self.packet_overhead_bytes)
    }

    /// How long so many bytes on the wire occupy one direction.
    pub fn span_of_wire(&self, bytes: u64) -> Span {
        Span::of_transfer(bytes, self.bytes_per_second())
    }

    fn bytes_per_second(&self) -> u64 {
        u64::from(self.lanes) * u64::from(self.megabytes_per_second_per_lane) * 1_000_000
    }
}

/// Size of a memory read request on the wire, before overhead: none of its
/// packet is payload, so it is counted as a 32-byte message (as MQSim does).
pub const READ_REQUEST_BYTES: u64 = 32;

/// What a message is there for, as a trace tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// The host says that a queue has moved.
    Doorbell,
    /// The drive asks for bytes of host memory.
    Request,
    /// An entry of a submission queue.
    SubmissionEntry,
    /// An entry of a completion queue.
    Completion,
    /// Where a command's data lies: a list of pages.
    PointerList,
    /// What a command is about: an expression, ranges, attributes.
    Parameters,
    /// A command's data.
    Data,
}

impl Carries {
    fn name(self) -> &'static str {
        match self {
            Carries::Doorbell => "doorbell",
            Carries::Request => "request",
            Carries::SubmissionEntry => "submission entry",
            Carries::Completion => "completion",
            Carries::PointerList => "pointer list",
            Carries::Parameters => "parameters",
            Carries::Data => "data",
        }
    }
}

static BYTES: Key = Key::one("bytes");
static WIRE_BYTES: Key = Key::one("wire_bytes");

/// What a message of some payload is on the wire.
#[derive(Clone, Copy, Default)]
struct Message {
    payload: u64,
    wire: u64,
    span: Span,
}

/// Payloads up to here are looked up: doorbells, requests, queue entries.
const SMALL: usize = 64;

/// One direction of the link.
pub struct Direction {
    pipe: Pipe,
    config: LinkConfig,
    picojoules_per_byte: u64,
    small: Box<[Message]>,
    /// The last message that was not small: most are of one size.
    last: Cell<Message>,
    payload_moved: Cell<u64>,
    messages: Cell<u64>,
    /// Bytes on the wire for each tenant.
    wire_for: ByTenant,
    sim: Sim,
    track: Track,
}

/// Both directions.
pub struct Link {
    /// From the host to the drive.
    pub down: Direction,
    /// From the drive to the host.
    pub up: Direction,
}

impl Link {
    /// An idle link whose energy `ledger` meters.
    pub fn new(sim: &Sim, config: &LinkConfig, ledger: &Ledger) -> Rc<Link> {
        let link = Rc::new(Link {
            down: Direction::new(sim, config, "host to drive"),
            up: Direction::new(sim, config, "drive to host"),
        });
        let (metered, shared) = (link.clone(), link.clone());
        let share = move |tenant| shared.down.energy_for(tenant);
        ledger.meter(
            "link",
            "host to drive",
            move || metered.down.energy(),
            share,
        );
        let (metered, shared) = (link.clone(), link.clone());
        let share = move |tenant| shared.up.energy_for(tenant);
        ledger.meter("link", "drive to host", move || metered.up.energy(), share);
        link
    }
}

impl Direction {
    fn new(sim: &Sim, config: &LinkConfig, name: &'static str) -> Direction {
        let trace = sim.trace();
        let mut direction = Direction {
            pipe: Pipe::new(sim, config.bytes_per_second()),
            config: config.clone(),
            picojoules_per_byte: u64::from(config.transfer_pj_per_byte),
            small: Box::default(),
            last: Cell::default(),
            payload_moved: Cell::new(0),
            messages: Cell::new(0),
            wire_for: ByTenant::default(),
            sim: sim.clone(),
            track: trace.track("link", name),
        };
        direction.small = (0..=SMALL as u64)
            .map(|bytes| direction.measure(bytes))
            .collect();
        direction
    }

    /// A payload divided into packets, each with its overhead.
    fn measure(&self, payload: u64) -> Message {
        let wire = self.config.wire_bytes(payload);
        Message {
            payload,
            wire,
            span: self.config.span_of_wire(wire),
        }
    }

    #[inline]
    fn message(&self, payload: u64) -> Message {
        if let Some(small) = self.small.get(payload as usize) {
            return *small;
        }
        let last = self.last.get();
        if last.payload == payload {
            return last;
        }
        let message = self.measure(payload);
        self.last.set(message);
        message
    }

    /// Notes in the trace a message that has crossed at `end`.
    #[inline]
    fn trace(&self, message: &Message, requester: Requester, carries: Carries, end: Time) {
        if self.sim.trace().enabled() {
            self.record(message, requester, carries, end);
        }
    }

    #[cold]
    #[inline(never)]
    fn record(&self, message: &Message, requester: Requester, carries: Carries, end: Time) {
        let begin = Time::from_ps(end.as_ps() - message.span.as_ps());
        let trace = self.sim.trace();
        trace.slice_with(self.track, carries.name(), begin, end, |args| {
            args.number(&BYTES, message.payload)
                .number(&WIRE_BYTES, message.wire)
                .requesters([requester].into_iter());
        });
    }

    /// Notes in the trace a message that [`Direction::post_answer`] has put on the link, once it is
    /// known for whom that was.
    #[inline]
    pub fn trace_answer(&self, requester: Requester, carries: Carries, bytes: u64, end: Time) {
        if self.sim.trace().enabled() {
            self.record(&self.measure(bytes), requester, carries, end);
        }
    }

    #[inline]
    fn count(&self, message: &Message, tenant: Tenant) {
        self.wire_for.add(tenant, message.wire);
        self.payload_moved
            .set(self.payload_moved.get() + message.payload);
        self.messages.set(self.messages.get() + 1);
    }

    /// What all messages so far have cost, and how many they were.
    fn energy(&self) -> (Energy, u64) {
        let energy = Energy::from_pj(self.pipe.bytes() * self.picojoules_per_byte);
        (energy, self.messages.get())
    }

    /// What of that was for `tenant`.
    fn energy_for(&self, tenant: Tenant) -> Energy {
        Energy::from_pj(self.wire_for.of(tenant) * self.picojoules_per_byte)
    }

    /// Waits until a message of `bytes`, sent for `requester`, has crossed.
    #[inline]
    pub fn transfer(
        &self,
        requester: impl Into<Requester>,
        carries: Carries,
        bytes: u64,
    ) -> impl Future<Output = ()> + '_ {
        let requester = requester.into();
        let message = self.message(bytes);
        self.count(&message, requester.tenant);
        self.pipe.occupy(message.wire, message.span, move |end| {
            self.trace(&message, requester, carries, end)
        })
    }

    /// Sends a message for `requester` that nobody waits for, behind those before it; gives the
    /// instant of its arrival.
    #[inline]
    pub fn post(&self, requester: impl Into<Requester>, carries: Carries, bytes: u64) -> Time {
        let requester = requester.into();
        let message = self.message(bytes);
        self.count(&message, requester.tenant);
        let end = self.pipe.reserve(message.wire, message.span);
        self.trace(&message, requester, carries, end);
        end
    }

    /// Whether nothing is under way.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.pipe.is_idle()
    }

    /// As [`Direction::post`], for the answer to a request that arrives at `from`. Whoever posts it
    /// has it in the trace by [`Direction::trace_answer`].
    #[inline]
    pub fn post_answer(&self, tenant: Tenant, from: Time, bytes: u64) -> Time {
        let message = self.message(bytes);
        self.count(&message, tenant);
        self.pipe.reserve_from(from, message.wire, message.span)
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
