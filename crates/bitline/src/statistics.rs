//! What a drive has done: counts, bytes, times and energies, each with its unit
//! in its name.

use device::Device;
use device::accelerators::AcceleratorCounts;
use device::bits::BitsCounts;
use device::cache::CacheCounts;
use device::frontend::FrontendCounts;
use device::ftl::FtlCounts;
use device::schedule::{FlashCounts, FlashServed};
use device::search::SearchCounts;
use device::stream::{CollectorCounts, StreamCounts};
use device::tx::TxCounts;
use device::{Served, tenants};
use serde::{Deserialize, Serialize};
use sim::{Energy, Tenant, Time};

/// A snapshot of everything a drive counts since it was powered up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Statistics {
    /// Simulated time of the snapshot, in nanoseconds.
    pub now_ns: f64,
    /// Of this, what has passed since power-up, in nanoseconds.
    pub elapsed_ns: f64,
    /// Commands.
    pub frontend: FrontendCounts,
    /// The data cache.
    pub cache: CacheCounts,
    /// The translation layer.
    pub ftl: FtlCounts,
    /// The flash.
    pub flash: FlashCounts,
    /// Bulk bitwise computing.
    pub bits: BitsCounts,
    /// Name-value lookup.
    pub search: SearchCounts,
    /// Transactions of tasks.
    pub tx: TxCounts,
    /// Streams.
    pub streams: StreamCounts,
    /// Collectors.
    pub collectors: CollectorCounts,
    /// Accelerators for operators of tasks.
    pub accelerators: AcceleratorCounts,
    /// Payload bytes from the host to the drive.
    pub link_down_bytes: u64,
    /// Payload bytes from the drive to the host.
    pub link_up_bytes: u64,
    /// Bytes of data over all channels, both directions.
    pub channel_bytes: u64,
    /// Share of the time since power-up in which the host-to-drive direction carried something.
    pub link_down_utilization: f64,
    /// The same of the drive-to-host direction.
    pub link_up_utilization: f64,
    /// The mean over all channels.
    pub channel_utilization: f64,
    /// The mean over all dies, of the array only.
    pub die_utilization: f64,
    /// The drive's DRAM.
    pub dram_utilization: f64,
    /// The mean over the controller's cores: firmware whose work takes time.
    pub core_utilization: f64,
    /// The mean over the accelerators; 0 without any.
    pub accelerator_utilization: f64,
    /// Each channel by itself.
    pub channel_utilizations: Vec<f64>,
    /// Each die by itself.
    pub die_utilizations: Vec<f64>,
    /// Energy spent by everything, in picojoules.
    pub energy_pj: u64,
    /// Energy by component and cause.
    pub energy: Vec<EnergyEntry>,
    /// What was done, and what energy was spent, for whom; tenants for whom nothing was are left out.
    pub tenants: Vec<TenantEntry>,
}

/// One account of the energy ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EnergyEntry {
    /// The part that spent.
    pub component: String,
    /// On what.
    pub cause: String,
    /// How much, in picojoules.
    pub energy_pj: u64,
    /// In how many events.
    pub events: u64,
}

/// What was done for one tenant: a namespace, or a kind of the firmware's own work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TenantEntry {
    /// Whose: `"namespace 1"` and so on; `"drive"` for what is done for all (admin commands, queue
    /// entries, doorbells, notes, the controller's own power), `"mapping"`, `"collection"`,
    /// `"wear levelling"`, `"recovery"`; and `"host"`, the host computer's own work.
    pub tenant: String,
    /// Commands, from the arrival of their entry at the drive to that of their completion at the host.
    pub commands: LatencyEntry,
    /// Flash pages read, each from the moment it was queued at its die.
    pub reads: LatencyEntry,
    /// Sequences of sensing commands.
    pub computations: LatencyEntry,
    /// Flash pages programmed.
    pub programs: LatencyEntry,
    /// Flash blocks erased.
    pub erases: LatencyEntry,
    /// Energy, in picojoules. That of all tenants is [`Statistics::energy_pj`].
    pub energy_pj: u64,
}

/// How often something was done, and how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LatencyEntry {
    /// How often.
    pub count: u64,
    /// All of them together, in nanoseconds; that over `count` is the mean.
    pub total_ns: f64,
    /// The longest since power-up, in nanoseconds.
    pub max_ns: f64,
}

impl From<Served> for LatencyEntry {
    fn from(served: Served) -> LatencyEntry {
        LatencyEntry {
            count: served.count(),
            total_ns: served.total_ns(),
            max_ns: served.max().as_ns(),
        }
    }
}

impl TenantEntry {
    /// What was done for `tenant`; `None` if nothing was.
    fn of(device: &Device, tenant: Tenant) -> Option<TenantEntry> {
        let commands = device.controller.served(tenant);
        let flash = device.schedule.served(tenant);
        let energy = device.ledger.spent_for(tenant);
        let any = commands.count() > 0 || flash != FlashServed::default() || energy > Energy::ZERO;
        any.then(|| TenantEntry {
            tenant: tenants::name(tenant),
            commands: commands.into(),
            reads: flash.reads.into(),
            computations: flash.computations.into(),
            programs: flash.programs.into(),
            erases: flash.erases.into(),
            energy_pj: energy.as_pj(),
        })
    }
}

impl Statistics {
    /// What `device` has counted since it was powered up at `since`.
    pub(crate) fn of(device: &Device, since: Time, now: Time) -> Statistics {
        let since_power_up = now.since(since);
        let elapsed = since_power_up.as_seconds();
        let share = |busy: f64| if elapsed > 0.0 { busy / elapsed } else { 0.0 };
        let mean = |sum: f64, count: usize| share(sum / count.max(1) as f64);
        let channels: Vec<f64> = device
            .channels
            .iter()
            .map(|channel| channel.busy().as_seconds())
            .collect();
        let dies: Vec<f64> = device
            .schedule
            .dies_busy()
            .map(|span| span.as_seconds())
            .collect();
        let each = |busy: &[f64]| busy.iter().map(|busy| share(*busy)).collect();
        Statistics {
            now_ns: now.as_ns(),
            elapsed_ns: since_power_up.as_ns(),
            frontend: device.controller.counts(),
            cache: device.cache.counts(),
            ftl: device.ftl.counts(),
            flash: device.schedule.counts(),
            bits: device.bits.counts(),
            search: device.search.counts(),
            tx: device.tx.counts(),
            streams: device.streams.counts(),
            collectors: device.collectors.counts(),
            accelerators: device.accelerators.counts(),
            link_down_bytes: device.link.down.bytes(),
            link_up_bytes: device.link.up.bytes(),
            channel_bytes: device.channels.iter().map(|channel| channel.bytes()).sum(),
            link_down_utilization: share(device.link.down.busy().as_seconds()),
            link_up_utilization: share(device.link.up.busy().as_seconds()),
            channel_utilization: mean(channels.iter().sum(), channels.len()),
            die_utilization: mean(dies.iter().sum(), dies.len()),
            dram_utilization: share(device.dram.busy().as_seconds()),
            core_utilization: share(device.cores.busy().as_seconds()),
            accelerator_utilization: share(device.accelerators.busy().as_seconds()),
            channel_utilizations: each(&channels),
            die_utilizations: each(&dies),
            energy_pj: device.ledger.total().as_pj(),
            energy: device
                .ledger
                .accounts()
                .into_iter()
                .filter(|account| account.events > 0)
                .map(|account| EnergyEntry {
                    component: account.component.to_owned(),
                    cause: account.cause.to_owned(),
                    energy_pj: account.energy.as_pj(),
                    events: account.events,
                })
                .collect(),
            tenants: tenants::all(device.controller.namespace_count())
                .filter_map(|tenant| TenantEntry::of(device, tenant))
                .collect(),
        }
    }
}
