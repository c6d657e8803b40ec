//! What the configuration alone says a drive takes, in picoseconds. Nothing here
//! asks the drive: the numbers are counted anew from the datasheet's phases.

use bitline::inside::InsideConfig;
use bitline::{Config, Drive};
use device::DeviceConfig;
use device::schedule::ProgramTransfer;
use media::core::WorkConfig;
use media::nand::ProgramMode;

/// Bytes of a queue entry, a completion, a doorbell, and a read request on the link.
const ENTRY: u64 = 64;
const COMPLETION: u64 = 16;
const DOORBELL: u64 = 4;
const READ_REQUEST: u64 = 32;

/// A drive with no data and, unless the changes say so, no cache, of a changed preset.
pub(crate) fn drive(preset: &str, changes: &[(&str, &str)]) -> Drive {
    let config = Config::preset(preset).expect("a preset");
    let plain = [("data.storage", "none"), ("cache.mode", "off")];
    let changes = plain.iter().chain(changes).copied();
    Drive::open(config.with(changes).expect("a configuration")).expect("a drive")
}

/// What all page types take, which is the same in every preset.
fn same(types: &[u64]) -> u64 {
    assert!(types.iter().all(|ns| *ns == types[0]), "{types:?}");
    types[0]
}

/// Durations of the phases of a configuration.
pub(crate) struct Model(pub(crate) DeviceConfig);

impl Model {
    pub(crate) fn of(drive: &Drive) -> Model {
        Model(drive.config().device().clone())
    }

    pub(crate) fn page_bytes(&self) -> u64 {
        self.0.nand.geometry.page_bytes.into()
    }

    pub(crate) fn dies(&self) -> u64 {
        let geometry = &self.0.nand.geometry;
        u64::from(geometry.channels * geometry.chips_per_channel * geometry.dies_per_chip)
    }

    /// A message on the link, divided into packets that each have an overhead.
    pub(crate) fn link(&self, bytes: u64) -> u64 {
        let link = &self.0.link;
        let packets = bytes.div_ceil(link.packet_payload_bytes.into());
        let wire = bytes + packets * u64::from(link.packet_overhead_bytes);
        let megabytes = u64::from(link.lanes) * u64::from(link.megabytes_per_second_per_lane);
        (wire * 1_000_000).div_ceil(megabytes)
    }

    /// Data on a channel.
    pub(crate) fn channel(&self, bytes: u64) -> u64 {
        let bytes_per_second = (self.0.channel.megabytes_per_second * 1e6).round() as u64;
        (bytes * 1_000_000_000_000).div_ceil(bytes_per_second)
    }

    /// Address cycles of a page: column and row.
    fn address_cycles(&self) -> u64 {
        let geometry = &self.0.nand.geometry;
        let bytes_for = |count: u64| (1..).find(|bytes| count <= 1 << (8 * bytes));
        let column = u64::from(geometry.page_bytes + geometry.spare_bytes);
        let pages = [
            geometry.dies_per_chip,
            geometry.planes_per_die,
            geometry.blocks_per_plane,
            geometry.strings_per_block,
            geometry.cells_per_string,
            // Bits of a cell in the densest mode that the drive can have.
            self.0.ftl.mode.bits_per_cell().max(3),
        ];
        let row = pages.iter().map(|&count| u64::from(count)).product();
        bytes_for(column).expect("some number") + bytes_for(row).expect("some number")
    }

    /// Command and address cycles of a read of `planes` planes at once: a command
    /// before and after each address.
    pub(crate) fn read_command(&self, planes: u64) -> u64 {
        let bus = &self.0.nand.bus;
        let cycles = planes * (2 + self.address_cycles());
        1000 * (cycles * bus.command_cycle_ns + bus.t_wb_ns)
    }

    /// The cycles of a search in one plane (Flash-Cosmos Figure 15): command and flags, a block and a string, a bit for each
    /// wordline, the end.
    pub(crate) fn search_command(&self) -> u64 {
        let (bus, geometry) = (&self.0.nand.bus, &self.0.nand.geometry);
        let blocks = [
            geometry.dies_per_chip,
            geometry.planes_per_die,
            geometry.blocks_per_plane,
        ];
        let blocks: u64 = blocks.iter().map(|&count| u64::from(count)).product();
        let block = (1..).find(|bytes| blocks <= 1 << (8 * bytes));
        let bitmap = u64::from(geometry.cells_per_string.div_ceil(8));
        let cycles = 2 + block.expect("some number") + 1 + bitmap + 1;
        1000 * (cycles * bus.command_cycle_ns + bus.t_wb_ns)
    }

    /// The same of a program: one cycle for the mode, tADL for each page.
    pub(crate) fn program_command(&self, planes: u64) -> u64 {
        let bus = &self.0.nand.bus;
        let cycles = 1 + planes * (2 + self.address_cycles());
        1000 * (cycles * bus.command_cycle_ns + planes * bus.t_adl_ns + bus.t_wb_ns)
    }

    pub(crate) fn sense(&self) -> u64 {
        let latency = &self.0.nand.latency;
        1000 * match self.0.ftl.mode {
            ProgramMode::Slc | ProgramMode::Esp => latency.read_slc_ns,
            ProgramMode::Mlc => same(&latency.read_mlc_ns),
            ProgramMode::Tlc => same(&latency.read_tlc_ns),
            ProgramMode::Qlc => same(&latency.read_qlc_ns),
        }
    }

    pub(crate) fn program(&self) -> u64 {
        let latency = &self.0.nand.latency;
        1000 * match self.0.ftl.mode {
            ProgramMode::Slc => latency.program_slc_ns,
            ProgramMode::Esp => latency.program_esp_ns,
            ProgramMode::Mlc => same(&latency.program_mlc_ns),
            ProgramMode::Tlc => same(&latency.program_tlc_ns),
            ProgramMode::Qlc => same(&latency.program_qlc_ns),
        }
    }

    /// Data from a die.
    pub(crate) fn data_out(&self, bytes: u64) -> u64 {
        1000 * self.0.nand.bus.t_rr_ns + self.channel(bytes)
    }

    /// A page read, and `bytes` of it moved, by one die at rest.
    pub(crate) fn page_read(&self, bytes: u64) -> u64 {
        self.read_command(1) + self.sense() + self.data_out(bytes)
    }

    /// A page moved to a die at rest and programmed.
    pub(crate) fn page_program(&self) -> u64 {
        self.part_program(self.page_bytes())
    }

    /// A page of which `bytes` are written, moved to a die at rest and programmed.
    pub(crate) fn part_program(&self, bytes: u64) -> u64 {
        let moved = match self.0.schedule.program_transfer {
            ProgramTransfer::Page => self.page_bytes(),
            ProgramTransfer::Written => bytes,
        };
        self.program_command(1) + self.channel(moved) + self.program()
    }

    /// What a command takes before the drive knows it: doorbell, request, entry, and what the
    /// firmware makes of that.
    pub(crate) fn fetch(&self) -> u64 {
        let work = self.firmware(self.work().fetch_cycles);
        self.link(DOORBELL) + self.link(READ_REQUEST) + self.link(ENTRY) + work
    }

    /// What firmware's work costs, in cycles.
    pub(crate) fn work(&self) -> &WorkConfig {
        &self.0.cores.work
    }

    /// How long a core takes for so many cycles.
    pub(crate) fn firmware(&self, cycles: u64) -> u64 {
        (cycles * 1_000_000).div_ceil(self.0.cores.clock_megahertz.into())
    }

    /// Host memory read by the drive.
    pub(crate) fn host_read(&self, bytes: u64) -> u64 {
        self.link(READ_REQUEST) + self.link(bytes)
    }

    /// An access to the DRAM at rest, its rows closed, that begins with a row: the others are opened
    /// in their banks meanwhile.
    pub(crate) fn dram(&self, bytes: u64) -> u64 {
        let dram = &self.0.dram;
        let cycles = bytes.div_ceil(2 * u64::from(dram.transfer_bytes));
        let open = 1000 * u64::from(dram.t_rcd_ns + dram.t_cl_ns);
        open + cycles * 1_000_000 / u64::from(dram.clock_megahertz)
    }

    pub(crate) fn completion(&self) -> u64 {
        self.firmware(self.work().complete_cycles) + self.link(COMPLETION)
    }

    /// What a read of `bytes` occupies of the direction to the host.
    pub(crate) fn read_up(&self, bytes: u64) -> u64 {
        self.link(READ_REQUEST) + self.link(bytes) + self.link(COMPLETION)
    }

    /// What a write of `bytes` occupies of the direction to the drive, both
    /// doorbells included.
    pub(crate) fn write_down(&self, bytes: u64) -> u64 {
        2 * self.link(DOORBELL) + self.link(ENTRY) + self.link(bytes)
    }
}
