//! The drive's DRAM: channels, ranks, banks and rows. An access is posted with its address and is over
//! at an instant that is known at once, as nothing overtakes on a bus.

mod banks;
mod config;
mod mqsim;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use sim::resource::Pipe;
use sim::{ByTenant, Energy, Key, Ledger, Name, Requester, Sim, Span, Tenant, Time, Track};

pub use banks::DramRow;
use banks::{Banks, Moved};
pub use config::{DramConfig, DramTiming, Interleave, RowPolicy};

static BYTES: Key = Key::one("bytes");

/// Which way data moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toward {
    /// Out of the DRAM.
    Reader,
    /// Into the DRAM.
    Cells,
}

impl Toward {
    /// What moves so, in traces.
    const fn name(self) -> &'static str {
        match self {
            Toward::Reader => "read",
            Toward::Cells => "write",
        }
    }
}

/// An access to several addresses, whose bytes move together.
#[derive(Default)]
#[must_use = "it moves when it is posted"]
pub struct ScatteredAccess {
    bytes: u64,
    /// For whom its last part is, and which way it moves.
    last: Option<(Requester, Toward)>,
    over: Time,
}

/// The DRAM, and what it has moved.
pub struct Dram {
    sim: Sim,
    config: DramConfig,
    since: Time,
    /// What `banks` says of addresses and rows.
    banks: RefCell<Banks>,
    /// The one channel of MQSim's timing, which serves whole accesses.
    serial: Pipe,
    /// The size of its last access and the span: most are of one size.
    last: Cell<(u64, Span)>,
    accesses: Cell<u64>,
    /// Of each channel.
    tracks: Vec<Track>,
    /// Bytes that each tenant has had moved out, and in.
    read_for: ByTenant,
    written_for: ByTenant,
    /// Rows opened for each tenant.
    activations_for: ByTenant,
}

impl Dram {
    /// A DRAM at rest whose energy `ledger` meters; refreshes are `standing`'s, everything else is
    /// that of whoever has it moved.
    pub fn new(sim: &Sim, config: &DramConfig, ledger: &Ledger, standing: Tenant) -> Rc<Dram> {
        let bytes_per_second =
            u64::from(config.clock_megahertz) * 2_000_000 * u64::from(config.transfer_bytes);
        let track = |channel| {
            sim.trace()
                .track("dram", Name::numbered("channel", channel))
        };
        let dram = Rc::new(Dram {
            tracks: (0..config.channels).map(track).collect(),
            sim: sim.clone(),
            since: sim.now(),
            banks: RefCell::new(Banks::new(config)),
            serial: Pipe::new(sim, bytes_per_second),
            last: Cell::default(),
            accesses: Cell::new(0),
            read_for: ByTenant::default(),
            written_for: ByTenant::default(),
            activations_for: ByTenant::default(),
            config: config.clone(),
        });
        let (metered, shared) = (dram.clone(), dram.clone());
        let share = move |tenant| shared.energy_of_data_for(tenant);
        ledger.meter("dram", "data", move || metered.energy_of_data(), share);
        let (metered, shared) = (dram.clone(), dram.clone());
        let share = move |tenant| shared.energy_of_rows_for(tenant);
        ledger.meter(
            "dram",
            "activation",
            move || metered.energy_of_rows(),
            share,
        );
        let (metered, shared) = (dram.clone(), dram.clone());
        let share = move |tenant| match tenant == standing {
            true => shared.energy_of_refreshes().0,
            false => Energy::ZERO,
        };
        ledger.meter(
            "dram",
            "refresh",
            move || metered.energy_of_refreshes(),
            share,
        );
        dram
    }

    /// What the DRAM is made of.
    pub fn config(&self) -> &DramConfig {
        &self.config
    }

    /// Queues an access of `bytes` from `address` on for `requester` behind those before it, and does not
    /// wait for it; gives the instant of its end.
    #[inline]
    pub fn post(
        &self,
        requester: impl Into<Requester>,
        address: u64,
        bytes: u64,
        toward: Toward,
    ) -> Time {
        let mut access = ScatteredAccess::default();
        self.add(&mut access, requester, address, bytes, toward);
        self.post_scattered(access)
            .unwrap_or_else(|| self.sim.now())
    }

    /// Adds `bytes` from `address` on, moved for `requester`, to such an access.
    #[inline]
    pub fn add(
        &self,
        access: &mut ScatteredAccess,
        requester: impl Into<Requester>,
        address: u64,
        bytes: u64,
        toward: Toward,
    ) {
        let requester = requester.into();
        let tenant = requester.tenant;
        let moved_for = match toward {
            Toward::Reader => &self.read_for,
            Toward::Cells => &self.written_for,
        };
        moved_for.add(tenant, bytes);
        access.bytes += bytes;
        access.last = Some((requester, toward));
        if self.config.timing == DramTiming::Banks {
            debug_assert!(address + bytes <= self.config.capacity_bytes, "{address}");
            let banks = &mut *self.banks.borrow_mut();
            let before = banks.activations();
            let over = banks.access(self.sim.now(), address, bytes, |moved| {
                self.trace(moved, requester, toward);
            });
            self.activations_for
                .add(tenant, banks.activations() - before);
            access.over = access.over.max(over);
        }
    }

    /// Queues an access to several addresses; gives the instant of its end, or nothing if it has none.
    #[inline]
    pub fn post_scattered(&self, access: ScatteredAccess) -> Option<Time> {
        if access.bytes == 0 {
            return None;
        }
        self.accesses.set(self.accesses.get() + 1);
        Some(match self.config.timing {
            DramTiming::Banks => access.over,
            DramTiming::Mqsim => self.post_serial(&access),
        })
    }

    fn post_serial(&self, access: &ScatteredAccess) -> Time {
        let span = self.span_of_mqsim(access.bytes);
        let moved = Moved {
            channel: 0,
            end: self.serial.reserve(access.bytes, span),
            span,
            bytes: access.bytes,
        };
        if let Some((requester, toward)) = access.last {
            self.trace(moved, requester, toward);
        }
        moved.end
    }

    /// Notes in the trace what a channel moves.
    #[inline]
    fn trace(&self, moved: Moved, requester: Requester, toward: Toward) {
        if self.sim.trace().enabled() {
            self.record(moved, requester, toward);
        }
    }

    #[cold]
    #[inline(never)]
    fn record(&self, moved: Moved, requester: Requester, toward: Toward) {
        let begin = Time::from_ps(moved.end.as_ps() - moved.span.as_ps());
        let track = self.tracks[moved.channel as usize];
        let trace = self.sim.trace();
        trace.slice_with(track, toward.name(), begin, moved.end, |args| {
            args.number(&BYTES, moved.bytes)
                .requesters([requester].into_iter());
        });
    }

    #[inline]
    fn span_of_mqsim(&self, bytes: u64) -> Span {
        let (known, span) = self.last.get();
        if known == bytes {
            return span;
        }
        let span = mqsim::span_of(&self.config, bytes);
        self.last.set((bytes, span));
        span
    }

    /// Bytes moved, both directions, counting what is promised.
    pub fn bytes(&self) -> u64 {
        self.read_for.sum() + self.written_for.sum()
    }

    /// How long a channel was occupied, the mean of all, counting what is promised.
    pub fn busy(&self) -> Span {
        match self.config.timing {
            DramTiming::Banks => self.banks.borrow().busy() / u64::from(self.config.channels),
            DramTiming::Mqsim => self.serial.busy(),
        }
    }

    /// What moving data has cost so far, and in how many accesses.
    fn energy_of_data(&self) -> (Energy, u64) {
        let energy = self.energy_of_bytes(self.read_for.sum(), self.written_for.sum());
        (energy, self.accesses.get())
    }

    fn energy_of_data_for(&self, tenant: Tenant) -> Energy {
        self.energy_of_bytes(self.read_for.of(tenant), self.written_for.of(tenant))
    }

    fn energy_of_bytes(&self, read: u64, written: u64) -> Energy {
        Energy::from_pj(self.config.read_pj_per_byte) * read
            + Energy::from_pj(self.config.write_pj_per_byte) * written
    }

    /// What opening rows has cost so far, and how many were.
    fn energy_of_rows(&self) -> (Energy, u64) {
        let activations = self.banks.borrow().activations();
        (
            Energy::from_pj(self.config.activate_pj) * activations,
            activations,
        )
    }

    fn energy_of_rows_for(&self, tenant: Tenant) -> Energy {
        Energy::from_pj(self.config.activate_pj) * self.activations_for.of(tenant)
    }

    /// What refreshes have cost since the power came, and how many fell due; nothing if they are free.
    fn energy_of_refreshes(&self) -> (Energy, u64) {
        let on = self.sim.now().since(self.since).as_ps();
        let interval = Span::from_ns(u64::from(self.config.t_refi_ns)).as_ps();
        let ranks = u64::from(self.config.channels) * u64::from(self.config.ranks);
        let refreshes = on.checked_div(interval).unwrap_or(0) * ranks;
        if self.config.refresh_pj == 0 {
            return (Energy::ZERO, 0);
        }
        (
            Energy::from_pj(self.config.refresh_pj) * refreshes,
            refreshes,
        )
    }
}

#[cfg(test)]
mod tests;
