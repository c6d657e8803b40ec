//! Get Log Page (NVMe Base 2.1, 5.1.12).

use std::rc::Rc;

use nvme::command::{GetLogPage, LogPageId, opcode};
use nvme::identify::NamespaceList;
use nvme::log::{CommandEffects, ErrorEntry, FirmwareSlots, SupportedLogs, effect};
use nvme::{BROADCAST_NAMESPACE, NamespaceId, Status};
use zerocopy::IntoBytes;

use super::health::ERROR_ENTRIES;
use super::slot::Answer;
use super::{Controller, FIRMWARE_REVISION};
use crate::tenants;

const PAGES: [LogPageId; 7] = [
    LogPageId::SUPPORTED,
    LogPageId::ERROR,
    LogPageId::HEALTH,
    LogPageId::FIRMWARE_SLOT,
    LogPageId::CHANGED_NAMESPACES,
    LogPageId::COMMANDS_SUPPORTED,
    LogPageId::SANITIZE_STATUS,
];

impl Controller {
    /// Sends the part of a page that is asked for; past its end nothing is sent.
    pub(super) async fn get_log(self: &Rc<Controller>, get: &GetLogPage) -> Result<Answer, Status> {
        let page = self.log_page(get)?;
        if get.offset > page.len() as u64 {
            return Err(Status::INVALID_FIELD);
        }
        let part = &page[get.offset as usize..];
        let bytes = get.data_bytes().min(part.len() as u64);
        let segments = self.port.locate(tenants::DRIVE, &get.data, bytes).await?;
        self.port.write(&segments, &part[..bytes as usize])?;
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
            LogPageId::COMMANDS_SUPPORTED => effects().as_bytes().to_vec(),
            LogPageId::SANITIZE_STATUS => self.sanitize.log().as_bytes().to_vec(),
            _ => return Err(Status::INVALID_LOG_PAGE),
        };
        Ok(page)
    }
}

/// What the drive can do, and what that does.
fn effects() -> CommandEffects {
    use opcode::*;
    let reformats = effect::CHANGES_BLOCKS | effect::CHANGES_NAMESPACE | effect::ALONE_IN_NAMESPACE;
    let admin = [
        (DELETE_SUBMISSION_QUEUE, 0),
        (CREATE_SUBMISSION_QUEUE, 0),
        (GET_LOG_PAGE, 0),
        (DELETE_COMPLETION_QUEUE, 0),
        (CREATE_COMPLETION_QUEUE, 0),
        (IDENTIFY, 0),
        (ABORT, 0),
        (SET_FEATURES, 0),
        (GET_FEATURES, 0),
        (ASYNC_EVENT_REQUEST, 0),
        (DIRECTIVE_SEND, 0),
        (DIRECTIVE_RECEIVE, 0),
        (FORMAT_NVM, reformats),
        (SANITIZE, effect::CHANGES_BLOCKS | effect::ALONE),
    ];
    let io = [
        (FLUSH, 0),
        (WRITE, effect::CHANGES_BLOCKS),
        (READ, 0),
        (WRITE_UNCORRECTABLE, effect::CHANGES_BLOCKS),
        (COMPARE, 0),
        (WRITE_ZEROES, effect::CHANGES_BLOCKS),
        (DATASET_MANAGEMENT, effect::CHANGES_BLOCKS),
        (VERIFY, 0),
        (COPY, effect::CHANGES_BLOCKS),
        (FC_READ, 0),
    ];
    CommandEffects::new(&admin, &io)
}
