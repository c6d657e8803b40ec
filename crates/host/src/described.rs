//! What the drives of a few lines, which tests of the library have, say of themselves.

use nvme::ControllerId;
use nvme::identify::{
    ControllerDescription, CopyLimits, IdentifyController, IdentifyNamespace, NamespaceDescription,
};

/// Bytes of a logical block.
pub(crate) const BLOCK_BYTES: u32 = 512;

/// A namespace of so many logical blocks, two of which are best written together and so many of which are a logical page.
pub(crate) fn namespace(blocks: u64, unit_blocks: u16) -> IdentifyNamespace {
    IdentifyNamespace::new(&NamespaceDescription {
        block_bytes: BLOCK_BYTES,
        block_bytes_max: 4096,
        capacity_bytes: blocks * u64::from(BLOCK_BYTES),
        format_left_percent: 0,
        copy: CopyLimits {
            range_blocks: 1,
            blocks: 1,
            ranges: 1,
        },
        blocks,
        allocated_blocks: 0,
        preferred_write_blocks: 2,
        unit_blocks,
        nguid: [0; 16],
        eui64: [0; 8],
    })
}

/// A controller with that namespace alone. Transfers are at most 8 KiB.
pub(crate) fn controller(model: &str, blocks: u64) -> IdentifyController {
    IdentifyController::new(&ControllerDescription {
        serial_number: "1".into(),
        model_number: model.into(),
        firmware_revision: "1".into(),
        subsystem_name: format!("nqn.2014-08.org.nvmexpress:{model}"),
        controller: ControllerId::new(0),
        max_data_transfer: 1,
        capacity_bytes: blocks * u64::from(BLOCK_BYTES),
        namespaces: 1,
        max_commands: 0,
        optional_commands: 0,
        volatile_write_cache: true,
        atomic_blocks: 1,
        abort_limit: 1,
        async_event_limit: 1,
        error_log_entries: 1,
        arbitration_burst: 0,
        warning_temperature: 0,
        critical_temperature: 0,
        sanitize: 0,
        max_power_mw: 0,
        has_memory: false,
    })
}
