//! Asynchronous events: what completes an Asynchronous Event Request (Base 5.1.2).

use crate::command::LogPageId;

/// An event, as dword 0 of the completion says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsyncEvent {
    /// Type: see the constants.
    pub kind: u8,
    /// Information, specific to the type.
    pub information: u8,
    /// The log page to read, which also clears the event.
    pub log_page: LogPageId,
}

impl AsyncEvent {
    /// Type 0: error status.
    pub const ERROR: u8 = 0;
    /// Type 1: SMART / health status.
    pub const HEALTH: u8 = 1;
    /// Type 2: notice.
    pub const NOTICE: u8 = 2;
    /// Type 6: specific to the I/O command set.
    pub const COMMAND_SET: u8 = 6;

    /// Type 7: vendor specific.
    pub const VENDOR: u8 = 7;

    /// There is little room left for a collection.
    pub const COLLECTOR_LOW_ROOM: AsyncEvent =
        AsyncEvent::new(AsyncEvent::VENDOR, 0x00, LogPageId::COLLECTORS);
    /// A doorbell of no queue was written.
    pub const INVALID_DOORBELL: AsyncEvent =
        AsyncEvent::new(AsyncEvent::ERROR, 0x00, LogPageId::ERROR);
    /// A doorbell got a value that cannot be.
    pub const INVALID_DOORBELL_VALUE: AsyncEvent =
        AsyncEvent::new(AsyncEvent::ERROR, 0x01, LogPageId::ERROR);
    /// The subsystem's reliability is compromised.
    pub const RELIABILITY: AsyncEvent =
        AsyncEvent::new(AsyncEvent::HEALTH, 0x00, LogPageId::HEALTH);
    /// A temperature is beyond its threshold.
    pub const TEMPERATURE: AsyncEvent =
        AsyncEvent::new(AsyncEvent::HEALTH, 0x01, LogPageId::HEALTH);
    /// The available spare is below its threshold.
    pub const SPARE: AsyncEvent = AsyncEvent::new(AsyncEvent::HEALTH, 0x02, LogPageId::HEALTH);
    /// The attributes of a namespace changed.
    pub const NAMESPACE_CHANGED: AsyncEvent =
        AsyncEvent::new(AsyncEvent::NOTICE, 0x00, LogPageId::CHANGED_NAMESPACES);
    /// A sanitize operation is over.
    pub const SANITIZE_COMPLETED: AsyncEvent =
        AsyncEvent::new(AsyncEvent::COMMAND_SET, 0x01, LogPageId::SANITIZE_STATUS);

    const fn new(kind: u8, information: u8, log_page: LogPageId) -> AsyncEvent {
        AsyncEvent {
            kind,
            information,
            log_page,
        }
    }

    /// The event of a completion's dword 0.
    pub const fn from_dword(dword: u32) -> AsyncEvent {
        AsyncEvent::new(
            dword as u8 & 7,
            (dword >> 8) as u8,
            LogPageId((dword >> 16) as u8),
        )
    }

    /// Dword 0 of the completion: type in bits 2:0, information in 15:8, page in 23:16.
    pub const fn dword(self) -> u32 {
        self.kind as u32 | (self.information as u32) << 8 | (self.log_page.0 as u32) << 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_its_dword() {
        assert_eq!(AsyncEvent::SPARE.dword(), 0x02_0201);
        assert_eq!(AsyncEvent::SANITIZE_COMPLETED.dword(), 0x81_0106);
        let event = AsyncEvent::NAMESPACE_CHANGED;
        assert_eq!(AsyncEvent::from_dword(event.dword()), event);
    }
}
