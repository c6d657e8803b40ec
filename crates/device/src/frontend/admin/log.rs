//! Get Log Page (NVMe Base 2.1, 5.1.12).

use std::rc::Rc;

use nvme::collector::CollectorList;
use nvme::command::{GetLogPage, LogPageId};
use nvme::identify::NamespaceList;
use nvme::log::{CommandEffects, ErrorEntry, FirmwareSlots, SupportedLogs};
use nvme::{BROADCAST_NAMESPACE, NamespaceId, Status};
use zerocopy::IntoBytes;

use super::health::ERROR_ENTRIES;
use crate::frontend::answer::Answer;
use crate::frontend::{Controller, FIRMWARE_REVISION};
use crate::tenants;

const PAGES: [LogPageId; 9] = [
    LogPageId::SUPPORTED,
    LogPageId::ERROR,
    LogPageId::HEALTH,
    LogPageId::FIRMWARE_SLOT,
    LogPageId::CHANGED_NAMESPACES,
    LogPageId::COMMANDS_SUPPORTED,
    LogPageId::SANITIZE_STATUS,
    LogPageId::PROGRAM_LIST,
    LogPageId::COLLECTORS,
];

impl Controller {
    /// Sends the part of a page that is asked for; past its end nothing is sent.
    pub(in crate::frontend) async fn get_log(
        self: &Rc<Controller>,
        get: &GetLogPage,
    ) -> Result<Answer, Status> {
        let page = self.log_page(get)?;
        if get.offset > page.len() as u64 {
            return Err(Status::INVALID_FIELD);
        }
        let rest = &page[get.offset as usize..];
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

    fn log_page(&self, get: &GetLogPage) -> Result<Vec<u8>, Status> {
        let page = match get.page {
            LogPageId::SUPPORTED => SupportedLogs::new(&PAGES).as_bytes().to_vec(),
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
            LogPageId::COMMANDS_SUPPORTED => CommandEffects::of_table().as_bytes().to_vec(),
            LogPageId::SANITIZE_STATUS => self.sanitize.log().as_bytes().to_vec(),
            LogPageId::PROGRAM_LIST => self.program_log(get)?,
            LogPageId::COLLECTORS => {
                let namespace = self.namespaces.get(get.namespace)?;
                let records = self.collectors.list(namespace.id);
                CollectorList { records }.encode()
            }
            _ => return Err(Status::INVALID_LOG_PAGE),
        };
        Ok(page)
    }
}
