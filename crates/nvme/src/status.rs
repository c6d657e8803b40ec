//! The status of a completed command: code type, code and the retry bits (Base 4.2.3).

use std::fmt;

/// Which table a status code is read in (SCT; Base 4.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatusType {
    /// Generic Command Status, common to all commands.
    Generic,
    /// Command Specific Status.
    CommandSpecific,
    /// Media and Data Integrity Errors.
    MediaAndDataIntegrity,
    /// Path Related Status.
    PathRelated,
    /// A reserved type, with its code (4 to 6).
    Reserved(u8),
    /// Vendor Specific; Bitline's statuses of in-flash computing live here.
    VendorSpecific,
}

impl StatusType {
    const fn code(self) -> u16 {
        match self {
            StatusType::Generic => 0,
            StatusType::CommandSpecific => 1,
            StatusType::MediaAndDataIntegrity => 2,
            StatusType::PathRelated => 3,
            StatusType::Reserved(code) => code as u16 & 7,
            StatusType::VendorSpecific => 7,
        }
    }

    const fn from_code(code: u16) -> StatusType {
        match code & 7 {
            0 => StatusType::Generic,
            1 => StatusType::CommandSpecific,
            2 => StatusType::MediaAndDataIntegrity,
            3 => StatusType::PathRelated,
            7 => StatusType::VendorSpecific,
            other => StatusType::Reserved(other as u8),
        }
    }
}

/// The 15-bit status field of a completion (Base 4.2.3): code in bits 7:0, type in 10:8, command
/// retry delay in 12:11, More in 13, Do Not Retry in 14.
///
/// The named constants carry neither More nor Do Not Retry; compare with [`Status::is`] where those
/// bits may be set.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status(u16);

const CODE_AND_TYPE: u16 = 0x07FF;
const RETRY_DELAY_SHIFT: u32 = 11;
const MORE: u16 = 1 << 13;
const DO_NOT_RETRY: u16 = 1 << 14;
const FIELD: u16 = 0x7FFF;

impl Status {
    /// The status of this type and code, its other bits clear.
    pub const fn new(status_type: StatusType, code: u8) -> Status {
        Status((status_type.code() << 8) | code as u16)
    }

    /// The status held in the low 15 bits of `field`; the top bit is ignored.
    pub const fn from_field(field: u16) -> Status {
        Status(field & FIELD)
    }

    /// The 15-bit status field, without the phase tag.
    pub const fn field(self) -> u16 {
        self.0
    }

    /// The status code (SC).
    pub const fn code(self) -> u8 {
        self.0 as u8
    }

    /// The status code type (SCT).
    pub const fn status_type(self) -> StatusType {
        StatusType::from_code(self.0 >> 8)
    }

    /// Whether the command succeeded.
    pub const fn is_success(self) -> bool {
        self.0 & CODE_AND_TYPE == 0
    }

    /// Whether type and code equal those of `other`, whatever the retry bits say.
    pub const fn is(self, other: Status) -> bool {
        self.0 & CODE_AND_TYPE == other.0 & CODE_AND_TYPE
    }

    /// Whether the same command would fail again (DNR).
    pub const fn do_not_retry(self) -> bool {
        self.0 & DO_NOT_RETRY != 0
    }

    /// Whether the Error Information log page says more (M).
    pub const fn more(self) -> bool {
        self.0 & MORE != 0
    }

    /// Which of the controller's retry delay times applies, 0 to 3 (CRD); 0 means none.
    pub const fn retry_delay(self) -> u8 {
        (self.0 >> RETRY_DELAY_SHIFT) as u8 & 3
    }

    /// The same status with Do Not Retry set.
    #[must_use]
    pub const fn with_do_not_retry(self) -> Status {
        Status(self.0 | DO_NOT_RETRY)
    }

    /// The same status with More set.
    #[must_use]
    pub const fn with_more(self) -> Status {
        Status(self.0 | MORE)
    }
}

/// Declares the named statuses, and the names by which they are displayed.
macro_rules! statuses {
    ($($constant:ident = $status_type:ident, $code:literal, $name:literal;)*) => {
        impl Status {
            $(
                #[doc = concat!($name, ".")]
                pub const $constant: Status = Status::new(StatusType::$status_type, $code);
            )*

            /// Every status this crate names.
            pub const NAMED: &'static [Status] = &[$(Status::$constant),*];

            /// The standard's name of type and code, if this crate knows it.
            pub const fn name(self) -> Option<&'static str> {
                match (self.status_type(), self.code()) {
                    $((StatusType::$status_type, $code) => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

statuses! {
    SUCCESS = Generic, 0x00, "Successful Completion";
    INVALID_OPCODE = Generic, 0x01, "Invalid Command Opcode";
    INVALID_FIELD = Generic, 0x02, "Invalid Field in Command";
    COMMAND_ID_CONFLICT = Generic, 0x03, "Command ID Conflict";
    DATA_TRANSFER_ERROR = Generic, 0x04, "Data Transfer Error";
    ABORTED_POWER_LOSS = Generic, 0x05, "Commands Aborted due to Power Loss Notification";
    INTERNAL_ERROR = Generic, 0x06, "Internal Error";
    ABORT_REQUESTED = Generic, 0x07, "Command Abort Requested";
    ABORTED_QUEUE_DELETION = Generic, 0x08, "Command Aborted due to SQ Deletion";
    ABORTED_FAILED_FUSED = Generic, 0x09, "Command Aborted due to Failed Fused Command";
    ABORTED_MISSING_FUSED = Generic, 0x0A, "Command Aborted due to Missing Fused Command";
    INVALID_NAMESPACE_OR_FORMAT = Generic, 0x0B, "Invalid Namespace or Format";
    COMMAND_SEQUENCE_ERROR = Generic, 0x0C, "Command Sequence Error";
    INVALID_SGL_SEGMENT = Generic, 0x0D, "Invalid SGL Segment Descriptor";
    INVALID_SGL_COUNT = Generic, 0x0E, "Invalid Number of SGL Descriptors";
    DATA_SGL_LENGTH_INVALID = Generic, 0x0F, "Data SGL Length Invalid";
    METADATA_SGL_LENGTH_INVALID = Generic, 0x10, "Metadata SGL Length Invalid";
    SGL_TYPE_INVALID = Generic, 0x11, "SGL Descriptor Type Invalid";
    INVALID_PRP_OFFSET = Generic, 0x13, "PRP Offset Invalid";
    ATOMIC_WRITE_UNIT_EXCEEDED = Generic, 0x14, "Atomic Write Unit Exceeded";
    OPERATION_DENIED = Generic, 0x15, "Operation Denied";
    SGL_OFFSET_INVALID = Generic, 0x16, "SGL Offset Invalid";
    KEEP_ALIVE_EXPIRED = Generic, 0x19, "Keep Alive Timeout Expired";
    SANITIZE_FAILED = Generic, 0x1C, "Sanitize Failed";
    SANITIZE_IN_PROGRESS = Generic, 0x1D, "Sanitize In Progress";
    NAMESPACE_WRITE_PROTECTED = Generic, 0x20, "Namespace is Write Protected";
    COMMAND_INTERRUPTED = Generic, 0x21, "Command Interrupted";
    TRANSIENT_TRANSPORT_ERROR = Generic, 0x22, "Transient Transport Error";
    ADMIN_MEDIA_NOT_READY = Generic, 0x24, "Admin Command Media Not Ready";
    LBA_OUT_OF_RANGE = Generic, 0x80, "LBA Out of Range";
    CAPACITY_EXCEEDED = Generic, 0x81, "Capacity Exceeded";
    NAMESPACE_NOT_READY = Generic, 0x82, "Namespace Not Ready";
    RESERVATION_CONFLICT = Generic, 0x83, "Reservation Conflict";
    FORMAT_IN_PROGRESS = Generic, 0x84, "Format In Progress";

    INVALID_COMPLETION_QUEUE = CommandSpecific, 0x00, "Completion Queue Invalid";
    INVALID_QUEUE_IDENTIFIER = CommandSpecific, 0x01, "Invalid Queue Identifier";
    INVALID_QUEUE_SIZE = CommandSpecific, 0x02, "Invalid Queue Size";
    ABORT_LIMIT_EXCEEDED = CommandSpecific, 0x03, "Abort Command Limit Exceeded";
    ASYNC_EVENT_LIMIT_EXCEEDED = CommandSpecific, 0x05, "Asynchronous Event Request Limit Exceeded";
    INVALID_INTERRUPT_VECTOR = CommandSpecific, 0x08, "Invalid Interrupt Vector";
    INVALID_LOG_PAGE = CommandSpecific, 0x09, "Invalid Log Page";
    INVALID_FORMAT = CommandSpecific, 0x0A, "Invalid Format";
    INVALID_QUEUE_DELETION = CommandSpecific, 0x0C, "Invalid Queue Deletion";
    FEATURE_NOT_SAVEABLE = CommandSpecific, 0x0D, "Feature Identifier Not Saveable";
    FEATURE_NOT_CHANGEABLE = CommandSpecific, 0x0E, "Feature Not Changeable";
    FEATURE_NOT_NAMESPACE_SPECIFIC = CommandSpecific, 0x0F, "Feature Not Namespace Specific";
    INVALID_CONTROLLER_IDENTIFIER = CommandSpecific, 0x1F, "Invalid Controller Identifier";
    COMMAND_SET_NOT_SUPPORTED = CommandSpecific, 0x29, "I/O Command Set Not Supported";
    COMMAND_SET_COMBINATION_REJECTED = CommandSpecific, 0x2B, "I/O Command Set Combination Rejected";
    INVALID_COMMAND_SET = CommandSpecific, 0x2C, "Invalid I/O Command Set";
    CONFLICTING_ATTRIBUTES = CommandSpecific, 0x80, "Conflicting Attributes";
    INVALID_PROTECTION_INFORMATION = CommandSpecific, 0x81, "Invalid Protection Information";
    WRITE_TO_READ_ONLY = CommandSpecific, 0x82, "Attempted Write to Read Only Range";
    COMMAND_SIZE_LIMIT_EXCEEDED = CommandSpecific, 0x83, "Command Size Limit Exceeded";
    INCOMPATIBLE_NAMESPACE_OR_FORMAT = CommandSpecific, 0x85, "Incompatible Namespace or Format";
    FAST_COPY_NOT_POSSIBLE = CommandSpecific, 0x86, "Fast Copy Not Possible";
    OVERLAPPING_IO_RANGE = CommandSpecific, 0x87, "Overlapping I/O Range";
    NAMESPACE_NOT_REACHABLE = CommandSpecific, 0x88, "Namespace Not Reachable";
    INSUFFICIENT_PROGRAM_RESOURCES = CommandSpecific, 0x8A, "Insufficient Program Resources";
    INVALID_MEMORY_NAMESPACE = CommandSpecific, 0x8B, "Invalid Memory Namespace";
    INVALID_MEMORY_RANGE_SET = CommandSpecific, 0x8C, "Invalid Memory Range Set";
    INVALID_MEMORY_RANGE_SET_IDENTIFIER = CommandSpecific, 0x8D, "Invalid Memory Range Set Identifier";
    INVALID_PROGRAM_DATA = CommandSpecific, 0x8E, "Invalid Program Data";
    INVALID_PROGRAM_INDEX = CommandSpecific, 0x8F, "Invalid Program Index";
    INVALID_PROGRAM_TYPE = CommandSpecific, 0x90, "Invalid Program Type";
    MAXIMUM_MEMORY_RANGES_EXCEEDED = CommandSpecific, 0x91, "Maximum Memory Ranges Exceeded";
    MAXIMUM_MEMORY_RANGE_SETS_EXCEEDED = CommandSpecific, 0x92, "Maximum Memory Range Sets Exceeded";
    MAXIMUM_PROGRAMS_ACTIVATED = CommandSpecific, 0x93, "Maximum Programs Activated";
    MAXIMUM_PROGRAM_BYTES_EXCEEDED = CommandSpecific, 0x94, "Maximum Program Bytes Exceeded";
    MEMORY_RANGE_SET_IN_USE = CommandSpecific, 0x95, "Memory Range Set In Use";
    NO_PROGRAM = CommandSpecific, 0x96, "No Program";
    OVERLAPPING_MEMORY_RANGES = CommandSpecific, 0x97, "Overlapping Memory Ranges";
    PROGRAM_NOT_ACTIVATED = CommandSpecific, 0x98, "Program Not Activated";
    PROGRAM_IN_USE = CommandSpecific, 0x99, "Program In Use";
    PROGRAM_TOO_BIG = CommandSpecific, 0x9B, "Program Too Big";

    WRITE_FAULT = MediaAndDataIntegrity, 0x80, "Write Fault";
    UNRECOVERED_READ_ERROR = MediaAndDataIntegrity, 0x81, "Unrecovered Read Error";
    GUARD_CHECK_ERROR = MediaAndDataIntegrity, 0x82, "End-to-end Guard Check Error";
    COMPARE_FAILURE = MediaAndDataIntegrity, 0x85, "Compare Failure";
    ACCESS_DENIED = MediaAndDataIntegrity, 0x86, "Access Denied";
    DEALLOCATED_BLOCK = MediaAndDataIntegrity, 0x87, "Deallocated or Unwritten Logical Block";

    INTERNAL_PATH_ERROR = PathRelated, 0x00, "Internal Path Error";
    HOST_PATH_ERROR = PathRelated, 0x70, "Host Pathing Error";
    ABORTED_BY_HOST = PathRelated, 0x71, "Command Aborted By Host";

    INVALID_EXPRESSION = VendorSpecific, 0x01, "Invalid Expression";
    GROUP_FULL = VendorSpecific, 0x06, "Vector Group Full";
    INVALID_REGION = VendorSpecific, 0x10, "Invalid Search Region";
    INVALID_QUERY = VendorSpecific, 0x11, "Invalid Query";
    REGION_FULL = VendorSpecific, 0x12, "Search Region Full";
    REGION_LIMIT_EXCEEDED = VendorSpecific, 0x13, "Search Region Limit Exceeded";
    REGION_OVERLAP = VendorSpecific, 0x14, "Data Region Overlap";
    CURSOR_EXPIRED = VendorSpecific, 0x15, "Lookup Cursor Expired";
    WILDCARD_NOT_STORABLE = VendorSpecific, 0x16, "Don't Care Not Storable";
    NAMES_EXCEED_BUFFER = VendorSpecific, 0x17, "Names Exceed Buffer";
    LINK_TABLE_FULL = VendorSpecific, 0x18, "Link Table Full";
    NO_SUCH_STREAM = VendorSpecific, 0x20, "No Such Stream";
    STREAM_LIMIT_REACHED = VendorSpecific, 0x21, "Stream Limit Reached";
    NO_SUCH_COLLECTOR = VendorSpecific, 0x22, "No Such Collector";
    COLLECTOR_IN_USE = VendorSpecific, 0x23, "Collector In Use";
    COLLECTOR_LIMIT_REACHED = VendorSpecific, 0x24, "Collector Limit Reached";
    PROGRAM_FAILED = VendorSpecific, 0x30, "Program Failed";
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => formatter.write_str(name)?,
            None => write!(
                formatter,
                "status type {}h code {:02X}h",
                self.status_type().code(),
                self.code()
            )?,
        }
        if self.do_not_retry() {
            formatter.write_str(" (do not retry)")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Status({self}, {:#06x})", self.0)
    }
}

impl std::error::Error for Status {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn fields_sit_where_the_standard_puts_them() {
        // Base 4.2.3: SC 7:0, SCT 10:8, CRD 12:11, M 13, DNR 14.
        assert_eq!(Status::UNRECOVERED_READ_ERROR.field(), 0x281);
        assert_eq!(Status::LBA_OUT_OF_RANGE.with_do_not_retry().field(), 0x4080);
        assert_eq!(Status::INVALID_QUEUE_SIZE.with_more().field(), 0x2102);
        assert_eq!(Status::INVALID_EXPRESSION.field(), 0x701);
        assert_eq!(Status::from_field(0x1880).retry_delay(), 3);
    }

    #[test]
    fn every_field_value_survives() {
        for field in 0..=0x7FFF {
            let status = Status::from_field(field);
            assert_eq!(status.field(), field);
            let mut rebuilt = Status::new(status.status_type(), status.code()).field();
            rebuilt |= u16::from(status.retry_delay()) << 11;
            rebuilt |= u16::from(status.more()) << 13 | u16::from(status.do_not_retry()) << 14;
            assert_eq!(rebuilt, field);
        }
        assert_eq!(Status::from_field(0xFFFF).field(), 0x7FFF);
    }

    #[test]
    fn named_statuses_are_distinct_and_named() {
        let distinct: BTreeSet<u16> = Status::NAMED.iter().map(|status| status.field()).collect();
        assert_eq!(distinct.len(), Status::NAMED.len());
        assert!(Status::NAMED.iter().all(|status| status.name().is_some()));
        assert!(
            Status::NAMED
                .iter()
                .filter(|status| status.is_success())
                .count()
                == 1
        );
    }

    #[test]
    fn displays_the_standards_name() {
        assert_eq!(Status::COMPARE_FAILURE.to_string(), "Compare Failure");
        assert_eq!(
            Status::INVALID_OPCODE.with_do_not_retry().to_string(),
            "Invalid Command Opcode (do not retry)"
        );
        assert_eq!(
            Status::from_field(0x4FF).to_string(),
            "status type 4h code FFh"
        );
        assert!(
            Status::INVALID_OPCODE
                .with_do_not_retry()
                .is(Status::INVALID_OPCODE)
        );
        assert!(!Status::INVALID_OPCODE.is(Status::INVALID_FIELD));
    }
}
