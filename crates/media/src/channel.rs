//! A flash channel: the bus that the dies of one channel share with the
//! controller. One phase at a time: command and address cycles, or data in one
//! direction.

use std::cell::Cell;
use std::rc::Rc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::resource::{Priority, Serve, Server};
use sim::{Args, ByTenant, Energy, Name, Sim, Span, Tenant, Time, Track};

/// What a channel is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelConfig {
    /// Data rate of the eight-bit bus, in megabytes (10^6) per second; whole bytes
    /// per second are kept.
    pub megabytes_per_second: f64,
    /// Energy of moving one byte, in picojoules.
    pub transfer_pj_per_byte: u32,
}

/// A data rate that no bus has.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("megabytes_per_second = {0} is out of range; it must be 1 to 1000000")]
pub struct RateOutOfRange(pub f64);

impl ChannelConfig {
    /// Checks everything.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), RateOutOfRange> {
        let rate = self.megabytes_per_second;
        if !(1.0..=1e6).contains(&rate) {
            return Err(RateOutOfRange(rate));
        }
        Ok(())
    }

    /// How long `bytes` occupy the bus.
    pub fn span_of(&self, bytes: u64) -> Span {
        Span::of_transfer(bytes, self.bytes_per_second())
    }

    fn bytes_per_second(&self) -> u64 {
        (self.megabytes_per_second * 1e6).round() as u64
    }
}

/// Who goes first when several dies want the channel: commands are short and
/// start long waits, so they precede data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Command, address and page bitmap cycles.
    Command,
    /// Data from a die, or to one.
    Data,
}

/// What a channel has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    bytes: u64,
    transfers: u64,
    for_tenant: u64,
    busy: Span,
}

impl Carried {
    /// What was carried since `before`.
    #[must_use]
    pub fn since(&self, before: &Carried) -> Carried {
        Carried {
            bytes: self.bytes - before.bytes,
            transfers: self.transfers - before.transfers,
            for_tenant: self.for_tenant - before.for_tenant,
            busy: self.busy - before.busy,
        }
    }
}

/// One channel, and what it has carried.
pub struct Channel {
    bus: Server,
    bytes_per_second: u64,
    picojoules_per_byte: u64,
    bytes: Cell<u64>,
    transfers: Cell<u64>,
    /// Bytes of data moved for each tenant.
    bytes_for: ByTenant,
    /// The size of the last transfer and its span: most are of one size.
    last: Cell<(u64, Span)>,
    sim: Sim,
    track: Track,
}

impl Channel {
    /// An idle channel; `number` names its track in a trace.
    pub fn new(sim: &Sim, config: &ChannelConfig, number: usize) -> Rc<Channel> {
        let name = Name::numbered("channel", number as u32);
        let track = sim.trace().track("channels", name);
        Rc::new(Channel {
            bus: Server::new(sim),
            bytes_per_second: config.bytes_per_second(),
            picojoules_per_byte: u64::from(config.transfer_pj_per_byte),
            bytes: Cell::new(0),
            transfers: Cell::new(0),
            bytes_for: ByTenant::default(),
            last: Cell::default(),
            sim: sim.clone(),
            track,
        })
    }

    /// Waits for the bus and occupies it for a command phase of `span`.
    #[inline]
    pub fn command(&self, span: Span) -> Serve<'_> {
        self.bus.serve(Priority(Phase::Command as u8), span)
    }

    /// Occupies an idle bus for a command phase of `span` from now on, without
    /// waiting for it; gives the instant of its end. `None` if the bus is not idle.
    #[inline]
    pub fn post_command(&self, span: Span) -> Option<Time> {
        self.bus.post(span)
    }

    /// Waits for the bus and moves `bytes` over it for `tenant`, after `lead` spent on
    /// command cycles that belong to the transfer.
    #[inline]
    pub fn data(&self, tenant: Tenant, lead: Span, bytes: u64) -> Serve<'_> {
        self.count(tenant, bytes);
        self.bus
            .serve(Priority(Phase::Data as u8), lead + self.span_of(bytes))
    }

    /// As [`Channel::data`] on an idle bus, without waiting for the end, which it
    /// gives. `None` if the bus is not idle.
    #[inline]
    pub fn post_data(&self, tenant: Tenant, lead: Span, bytes: u64) -> Option<Time> {
        let end = self.bus.post(lead + self.span_of(bytes))?;
        self.count(tenant, bytes);
        Some(end)
    }

    /// What it has carried so far, and for `tenant` of that.
    pub fn carried(&self, tenant: Tenant) -> Carried {
        Carried {
            bytes: self.bytes.get(),
            transfers: self.transfers.get(),
            for_tenant: self.bytes_for.of(tenant),
            busy: self.bus.busy(),
        }
    }

    /// Counts what an idle channel carried for `tenant` in phases that were summed up.
    pub fn add(&self, tenant: Tenant, carried: &Carried) {
        self.bytes.set(self.bytes.get() + carried.bytes);
        self.transfers.set(self.transfers.get() + carried.transfers);
        self.bytes_for.add(tenant, carried.for_tenant);
        self.bus.add_busy(carried.busy);
    }

    /// Waits for the bus and sends a program: `command` for its command phase, then so many bytes
    /// of each page, for its tenant. On the bus these are one sequence (ONFI 4.2, Page Program): nobody comes between.
    #[inline]
    pub fn program(
        &self,
        command: Span,
        pages: impl Iterator<Item = (Tenant, u64)> + Clone,
    ) -> Serve<'_> {
        let data = self.span_of_pages(pages.clone());
        self.count_pages(pages);
        self.bus.serve(Priority(Phase::Data as u8), command + data)
    }

    /// As [`Channel::program`] on an idle bus, without waiting for the end, which it gives. `None`
    /// if the bus is not idle.
    #[inline]
    pub fn post_program(
        &self,
        command: Span,
        pages: impl Iterator<Item = (Tenant, u64)> + Clone,
    ) -> Option<Time> {
        let end = self.bus.post(command + self.span_of_pages(pages.clone()))?;
        self.count_pages(pages);
        Some(end)
    }

    /// How long so many bytes of each page occupy the bus.
    #[inline]
    pub fn span_of_pages(&self, pages: impl Iterator<Item = (Tenant, u64)>) -> Span {
        pages.fold(Span::ZERO, |span, (_, bytes)| span + self.span_of(bytes))
    }

    #[inline]
    fn count_pages(&self, pages: impl Iterator<Item = (Tenant, u64)>) {
        pages.for_each(|(tenant, bytes)| self.count(tenant, bytes));
    }

    #[inline]
    fn count(&self, tenant: Tenant, bytes: u64) {
        self.bytes.set(self.bytes.get() + bytes);
        self.transfers.set(self.transfers.get() + 1);
        self.bytes_for.add(tenant, bytes);
    }

    /// How long `bytes` occupy the bus.
    #[inline]
    pub fn span_of(&self, bytes: u64) -> Span {
        let (known, span) = self.last.get();
        if known == bytes {
            return span;
        }
        let span = Span::of_transfer(bytes, self.bytes_per_second);
        self.last.set((bytes, span));
        span
    }

    /// What the data moved so far has cost, and in how many transfers.
    pub fn energy(&self) -> (Energy, u64) {
        let energy = Energy::from_pj(self.bytes.get() * self.picojoules_per_byte);
        (energy, self.transfers.get())
    }

    /// What of that was for `tenant`.
    pub fn energy_for(&self, tenant: Tenant) -> Energy {
        Energy::from_pj(self.bytes_for.of(tenant) * self.picojoules_per_byte)
    }

    /// Notes in the trace what the bus does until `end` for `span`, with the arguments of `tell`.
    #[inline]
    pub fn trace(&self, name: &'static str, end: Time, span: Span, tell: impl FnOnce(&mut Args)) {
        let begin = Time::from_ps(end.as_ps() - span.as_ps());
        let trace = self.sim.trace();
        trace.slice_with(self.track, name, begin, end, tell);
    }

    /// Bytes of data moved, both directions.
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// How long the bus was occupied.
    pub fn busy(&self) -> Span {
        self.bus.busy()
    }
}
