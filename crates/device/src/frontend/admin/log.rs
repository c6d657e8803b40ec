//! Get Log Page (NVMe Base 2.1, 5.1.12).

use std::rc::Rc;

use nvme::collector::CollectorList;
use nvme::command::{GetLogPage, LogPageId};
use nvme::identify::NamespaceList;
use nvme::log::{CommandEffects, ErrorEntry, FirmwareSlots, ProgramDescriptor, SupportedLogs};
use nvme::{BROADCAST_NAMESPACE, CommandSet, NamespaceId, Status};
use zerocopy::IntoBytes;

use super::health::ERROR_ENTRIES;
use crate::frontend::answer::Answer;
use crate::frontend::{Controller, FIRMWARE_REVISION};
use crate::tenants;

/// Pages of a drive without memory and compute namespace.
const PAGES: [LogPageId; 13] = [
    LogPageId::SUPPORTED,
    LogPageId::ERROR,
    LogPageId::HEALTH,
    LogPageId::FIRMWARE_SLOT,
    LogPageId::CHANGED_NAMESPACES,
    LogPageId::COMMANDS_SUPPORTED,
    LogPageId::SANITIZE_STATUS,
    LogPageId::PROGRAM_LIST,
    LogPageId::PROGRAM_TYPES,
    LogPageId::PROGRAM_DETAILS,
    LogPageId::COLLECTORS,
    LogPageId::DRIVE,
    LogPageId::HOLDING,
];

/// Further pages of one that has them.
const LOCAL_PAGES: [LogPageId; 3] = [
    LogPageId::REACHABILITY_GROUPS,
    LogPageId::REACHABILITY_ASSOCIATIONS,
    LogPageId::MEMORY_RANGE_SETS,
];

impl Controller {
    /// Sends the part of a page that is asked for; past its end nothing is sent.
    pub(in crate::frontend) async fn get_log(
        self: &Rc<Controller>,
        get: &GetLogPage,
    ) -> Result<Answer, Status> {
        let rest = self.log_from(get)?;
        let bytes = get.data_bytes().min(rest.len() as u64);
        let segments = self.port.locate(tenants::DRIVE, &get.data, bytes).await?;
        self.port.write(&segments, &rest[..bytes as usize])?;
        if !get.retain_event {
            if get.page == LogPageId::CHANGED_NAMESPACES {
                self.changed_namespaces.borrow_mut().clear();
            }
            self.clear_events(get.page);
        }
        Ok(Answer {
            data_bytes: bytes,
            ..Answer::DONE
        })
    }

    /// What a page has from an offset on: as much as is asked for, or more.
    fn log_from(&self, get: &GetLogPage) -> Result<Vec<u8>, Status> {
        if get.page == LogPageId::HOLDING {
            // Of a large drive, as long as it is read: only the part.
            return self.holding(get.namespace, get.offset, get.data_bytes());
        }
        let mut page = self.log_page(get)?;
        if get.offset > page.len() as u64 {
            return Err(Status::INVALID_FIELD);
        }
        Ok(page.split_off(get.offset as usize))
    }

    fn log_page(&self, get: &GetLogPage) -> Result<Vec<u8>, Status> {
        let page = match get.page {
            LogPageId::SUPPORTED => self.supported_logs().as_bytes().to_vec(),
            LogPageId::ERROR => {
                let mut entries = self.health.errors();
                entries.resize(usize::from(ERROR_ENTRIES), ErrorEntry::NONE);
                entries.as_bytes().to_vec()
            }
            LogPageId::HEALTH => {
                // Only of the drive as a whole: LPA says so.
                let whole = [NamespaceId::new(0), BROADCAST_NAMESPACE];
                if !whole.contains(&get.namespace) {
                    return Err(Status::INVALID_FIELD);
                }
                self.health_log().as_bytes().to_vec()
            }
            LogPageId::FIRMWARE_SLOT => FirmwareSlots::one(FIRMWARE_REVISION).as_bytes().to_vec(),
            LogPageId::CHANGED_NAMESPACES => {
                let changed = self.changed_namespaces.borrow();
                let list = NamespaceList::new(changed.iter().copied(), NamespaceId::new(0));
                list.as_bytes().to_vec()
            }
            LogPageId::COMMANDS_SUPPORTED => {
                let set = self.command_set(get.command_set)?;
                CommandEffects::of_table(set).as_bytes().to_vec()
            }
            LogPageId::SANITIZE_STATUS => self.sanitize.log().as_bytes().to_vec(),
            LogPageId::PROGRAM_LIST => {
                let namespace = self.programs_of(get.namespace)?;
                ProgramDescriptor::encode_list(&self.programs.descriptors(namespace))
            }
            LogPageId::PROGRAM_TYPES => self.program_types_log(get)?,
            LogPageId::MEMORY_RANGE_SETS => self.range_sets_log(get)?,
            LogPageId::REACHABILITY_GROUPS => self.groups_log(get)?,
            LogPageId::REACHABILITY_ASSOCIATIONS => self.associations_log(get)?,
            LogPageId::PROGRAM_DETAILS => self.program_log(get)?,
            LogPageId::COLLECTORS => {
                let namespace = self.namespaces.get(get.namespace)?;
                let records = self.collectors.list(namespace.id);
                CollectorList { records }.encode()
            }
            LogPageId::DRIVE => self.drive_log(get.namespace)?.as_bytes().to_vec(),
            told => {
                let page = self.told.page(told, self.sim.now());
                page.ok_or(Status::INVALID_LOG_PAGE)?
            }
        };
        Ok(page)
    }

    fn supported_logs(&self) -> SupportedLogs {
        let mut pages = PAGES.to_vec();
        if self.local.is_some() {
            pages.extend(LOCAL_PAGES);
        }
        pages.extend(self.told.pages());
        SupportedLogs::new(&pages)
    }

    /// The I/O command set of an identifier.
    ///
    /// # Errors
    /// Invalid Field for one that the drive does not have.
    pub(super) fn command_set(&self, csi: u8) -> Result<CommandSet, Status> {
        let found = CommandSet::ALL
            .into_iter()
            .find(|set| set.csi() == Some(csi));
        let found = found.filter(|set| *set == CommandSet::Nvm || self.local.is_some());
        found.ok_or(Status::INVALID_FIELD)
    }
}
