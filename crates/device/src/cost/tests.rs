//! The drive of Flash-Cosmos, Table 1, as far as costs depend on it.

use media::channel::ChannelConfig;
use media::core::CoresConfig;
use media::link::LinkConfig;
use media::nand::{CommandPhases, Geometry, NandConfig};

use super::{AcceleratorModel, CostModel};
use crate::memory::tests as memory;
use crate::schedule::tests as schedule;

/// Its model; a stripe is a page in each of 128 planes.
pub(crate) fn model() -> CostModel {
    let nand = schedule::nand();
    let geometry = Geometry {
        channels: 8,
        chips_per_channel: 8,
        dies_per_chip: 1,
        planes_per_die: 2,
        blocks_per_plane: 64,
        strings_per_block: 4,
        cells_per_string: 48,
        page_bytes: 16384,
        spare_bytes: 1024,
        bits_per_cell_max: 3,
    };
    let bus = media::nand::BusTiming {
        phases: CommandPhases::Cycles,
        ..nand.bus.clone()
    };
    CostModel {
        nand: NandConfig {
            geometry,
            bus,
            ..nand
        },
        channel: ChannelConfig {
            megabytes_per_second: 1200.0,
            transfer_pj_per_byte: 10,
        },
        link: LinkConfig {
            lanes: 4,
            megabytes_per_second_per_lane: 2000,
            packet_payload_bytes: 256,
            packet_overhead_bytes: 24,
            transfer_pj_per_byte: 40,
        },
        accelerator: AcceleratorModel {
            pages: 16,
            bytes_per_second: 9_600_000_000,
            pj_per_unit: 93,
        },
        active_milliwatts: 1000,
        cores: CoresConfig {
            count: 1,
            unused_cores: 0,
            task_cores: 0,
            clock_megahertz: 1000,
            active_milliwatts: 0,
            idle_milliwatts: 0,
            work: media::core::WorkConfig::default(),
        },
        dram: memory::dram(),
        page_buffers: 4096,
        schedule: schedule::config(),
    }
}
