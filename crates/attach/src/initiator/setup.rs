//! How an association begins (Base 3.5, 6.3): Connect, the controller's properties, what it is, and how many queues it gives.

use std::mem::offset_of;
use std::thread;
use std::time::{Duration, Instant};

use nvme::command::{FeatureId, GetLogPage, Identify, LogPageId, SetFeatures};
use nvme::fabrics::{
    ConnectCommand, ConnectData, DISCOVERY_LOG, DiscoveryEntry, DiscoveryHead, Property,
    PropertyGet, PropertySet, SubsystemType, TRANSPORT_TCP, capabilities, configuration,
    connect_error, fabrics_status, nqn_of, state,
};
use nvme::identify::{Cns, IDENTIFY_BYTES, IdentifyController};
use nvme::{
    AdminCommand, CommandId, CompletionEntry, ControllerId, DataPointer, NamespaceId,
    SubmissionEntry,
};
use zerocopy::{FromBytes, IntoBytes};

use super::association::Association;

/// Entries of the admin queue, as the driver's has.
const ADMIN_ENTRIES: u16 = 32;
/// How long until it is looked again whether a controller is ready.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// Entries of a discovery log that are read: more are more than somebody would choose from.
const DISCOVERED_MAX: u64 = 1024;

/// What a controller gives of itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    /// I/O queues.
    pub(super) queues: u16,
    /// The most entries of one.
    pub(super) entries: u32,
}

/// Begins an association: its admin queue is there, and the controller enabled.
pub(super) fn begin(association: &mut Association, host_id: [u8; 16]) -> Result<Given, String> {
    association.open(0)?;
    let connected = connect(association, host_id, (0, ADMIN_ENTRIES))?;
    association.controller = connected.dw0.get() as u16;
    let capabilities = property(association, Property::Capabilities)?;
    enable(association, capabilities)?;
    association.keep_alive()?;
    let entries = (capabilities & 0xFFFF) as u32 + 1;
    if association.is_discovery() {
        return Ok(Given { queues: 0, entries });
    }
    let identify = Identify {
        cns: Cns::Controller,
        namespace: NamespaceId::new(0),
        controller: ControllerId::new(0),
        specific: 0,
        command_set: 0,
        data: DataPointer::NONE,
    };
    let page = ask(
        association,
        "Identify",
        AdminCommand::Identify(identify),
        IDENTIFY_BYTES,
    )?;
    let page = IdentifyController::read_from_bytes(&page)
        .map_err(|_| "Identify gave a page of another size".to_owned())?;
    let capsule = u64::from(page.io_command_capsule.get()) * 16;
    let capsule = capsule.saturating_sub(SubmissionEntry::BYTES as u64);
    association.capsule_bytes = match page.capsule_data_offset.get() {
        0 => capsule.min(1 << 20) as usize,
        // It wants data elsewhere in the capsule: it may ask for all of it.
        _ => 0,
    };
    let queues = number_of_queues(association)?;
    Ok(Given { queues, entries })
}

/// Connects an I/O queue.
pub(super) fn open_queue(
    association: &mut Association,
    host_id: [u8; 16],
    (queue, entries): (u16, u16),
) -> Result<(), String> {
    association.open(queue)?;
    connect(association, host_id, (queue, entries)).map(drop)
}

/// The subsystems that a discovery controller knows: their names, and the ports where they are, as it writes them.
pub(super) fn discover(association: &mut Association) -> Result<Vec<(String, String)>, String> {
    let head_bytes = size_of::<DiscoveryHead>();
    let head = log(association, 0, head_bytes)?;
    let head = DiscoveryHead::read_from_bytes(&head)
        .map_err(|_| "a discovery log page that is cut off".to_owned())?;
    let records = head.records.get().min(DISCOVERED_MAX) as usize;
    let bytes = records * size_of::<DiscoveryEntry>();
    let entries = match records {
        0 => Vec::new(),
        _ => log(association, head_bytes as u64, bytes)?,
    };
    let entries = <[DiscoveryEntry]>::ref_from_bytes(&entries)
        .map_err(|_| "a discovery log page that is cut off".to_owned())?;
    let is_wanted = |entry: &&DiscoveryEntry| {
        entry.transport == TRANSPORT_TCP && entry.subsystem_type == SubsystemType::Nvm as u8
    };
    let mut found: Vec<(String, String)> = Vec::new();
    for entry in entries.iter().filter(is_wanted) {
        let Some(nqn) = nqn_of(&entry.subsystem_nqn) else {
            return Err("a discovery log page with a name that is none".into());
        };
        let service = String::from_utf8_lossy(&entry.service);
        let service = service.trim_end_matches([' ', '\0']).to_owned();
        // The same one may be at several addresses.
        if found.iter().all(|(other, _)| other != nqn) {
            found.push((nqn.to_owned(), service));
        }
    }
    Ok(found)
}

fn log(association: &mut Association, offset: u64, bytes: usize) -> Result<Vec<u8>, String> {
    let get = GetLogPage {
        page: LogPageId(DISCOVERY_LOG),
        namespace: NamespaceId::new(0),
        specific: 0,
        specific_id: 0,
        command_set: 0,
        retain_event: true,
        dwords: bytes as u64 / 4,
        offset,
        data: DataPointer::NONE,
    };
    let name = "the discovery log page";
    let mut page = ask(association, name, AdminCommand::GetLogPage(get), bytes)?;
    page.resize(bytes, 0);
    Ok(page)
}

fn connect(
    association: &mut Association,
    host_id: [u8; 16],
    (queue, entries): (u16, u16),
) -> Result<CompletionEntry, String> {
    // It may forget a host that it has not heard of for twice as long as it is told.
    let keep_alive = match queue {
        0 => association.options.keep_alive.as_millis() * 2,
        _ => 0,
    };
    let keep_alive = u32::try_from(keep_alive).unwrap_or(u32::MAX);
    let command = ConnectCommand::new(queue, entries, keep_alive);
    let options = &association.options;
    let data = ConnectData::new(
        host_id,
        &options.host_nqn,
        &association.nqn,
        association.controller,
    );
    let data = data.as_bytes().to_vec();
    let (completion, _) = association.call(queue, command.entry(), (data, 0))?;
    let what = format!("Connect of queue {queue} to {}", association.nqn);
    match fabrics_status::name(completion.status()) {
        Some(name) => {
            let name_at = connect_error(offset_of!(ConnectData, subsystem_nqn), true);
            let is_parameter =
                completion.status().code() == fabrics_status::INVALID_PARAMETERS.code();
            let is_host = completion.status().code() == fabrics_status::INVALID_HOST.code();
            let hint = if is_host {
                " (it admits only hosts that it was told of: `bitline serve --host` takes this name, and `host_nqn` or \
                 BITLINE_HOST_NQN say another)"
            } else if is_parameter && completion.dw0.get() == name_at {
                " (is there a drive of that name? Without a name in the address the target is asked)"
            } else {
                ""
            };
            let host = &association.options.host_nqn;
            Err(format!("{what} by host {host}: {name}{hint}"))
        }
        None => check(&what, completion),
    }
}

fn property(association: &mut Association, property: Property) -> Result<u64, String> {
    let entry = PropertyGet::new(property).entry();
    let (completion, _) = association.call(0, entry, (Vec::new(), 0))?;
    let completion = check("Property Get", completion)?;
    let low = u64::from(completion.dw0.get());
    Ok(match property.bytes() {
        8 => low | u64::from(completion.dw1.get()) << 32,
        _ => low,
    })
}

/// Enables the controller, and waits until it is ready.
fn enable(association: &mut Association, told: u64) -> Result<(), String> {
    /// CAP.TO: units of 500 ms.
    const HALF: Duration = Duration::from_millis(500);
    let has = |sets: u64| told & sets != 0;
    let sets = match has(capabilities::COMMAND_SETS_IDENTIFIED) {
        true => configuration::ALL_COMMAND_SETS,
        false if has(capabilities::NO_COMMAND_SET) => configuration::ADMIN_COMMANDS_ONLY,
        false => configuration::NVM_COMMAND_SET,
    };
    let sets = sets << configuration::COMMAND_SET_SHIFT;
    let value = configuration::ENABLE | configuration::ENTRY_SIZES | sets;
    let entry = PropertySet::new(Property::Configuration, value.into()).entry();
    let (completion, _) = association.call(0, entry, (Vec::new(), 0))?;
    check("Property Set", completion)?;
    let patience = HALF * (told >> 24 & 0xFF) as u32;
    let until = Instant::now() + patience.max(HALF).min(association.options.timeout);
    loop {
        let status = property(association, Property::Status)? as u32;
        if status & state::FATAL != 0 {
            return Err("the controller has a fatal error (CSTS.CFS)".into());
        }
        if status & state::READY != 0 {
            return Ok(());
        }
        if Instant::now() > until {
            return Err("the controller does not become ready (CSTS.RDY)".into());
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// As many I/O queues as the controller gives.
fn number_of_queues(association: &mut Association) -> Result<u16, String> {
    const MANY: u32 = 0xFFFE;
    let set = SetFeatures {
        feature: FeatureId::NUMBER_OF_QUEUES,
        save: false,
        namespace: NamespaceId::new(0),
        cdw11: MANY | MANY << 16,
        cdw12: 0,
        data: DataPointer::NONE,
    };
    let entry = AdminCommand::SetFeatures(set).encode(CommandId::new(0));
    let (completion, _) = association.call(0, entry, (Vec::new(), 0))?;
    let given = check("Set Features, Number of Queues", completion)?
        .dw0
        .get();
    let least = (given & 0xFFFF).min(given >> 16);
    Ok((least as u16).saturating_add(1))
}

fn ask(
    association: &mut Association,
    name: &str,
    command: AdminCommand,
    bytes: usize,
) -> Result<Vec<u8>, String> {
    let entry = command.encode(CommandId::new(0));
    let (completion, data) = association.call(0, entry, (Vec::new(), bytes as u32))?;
    check(name, completion)?;
    Ok(data)
}

fn check(what: &str, completion: CompletionEntry) -> Result<CompletionEntry, String> {
    match completion.status() {
        status if status.is_success() => Ok(completion),
        status => Err(format!("{what}: {status}")),
    }
}
