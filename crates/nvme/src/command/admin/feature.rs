//! Get Features and Set Features (Base 5.1.11, 5.1.25).

use crate::command::bit;
use crate::data_pointer::DataPointer;
use crate::entry::SubmissionEntry;
use crate::identifier::NamespaceId;
use crate::status::Status;

/// Names a feature (FID; Base 5.1.25).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeatureId(pub u8);

impl FeatureId {
    /// Arbitration burst and weights.
    pub const ARBITRATION: FeatureId = FeatureId(0x01);
    /// Power state.
    pub const POWER_MANAGEMENT: FeatureId = FeatureId(0x02);
    /// Temperature threshold.
    pub const TEMPERATURE_THRESHOLD: FeatureId = FeatureId(0x04);
    /// Error recovery: time limit and the error for deallocated blocks.
    pub const ERROR_RECOVERY: FeatureId = FeatureId(0x05);
    /// Volatile write cache enable.
    pub const VOLATILE_WRITE_CACHE: FeatureId = FeatureId(0x06);
    /// Number of I/O queues.
    pub const NUMBER_OF_QUEUES: FeatureId = FeatureId(0x07);
    /// Interrupt coalescing.
    pub const INTERRUPT_COALESCING: FeatureId = FeatureId(0x08);
    /// Interrupt vector configuration.
    pub const INTERRUPT_VECTOR: FeatureId = FeatureId(0x09);
    /// Write atomicity.
    pub const WRITE_ATOMICITY: FeatureId = FeatureId(0x0A);
    /// Asynchronous event configuration.
    pub const ASYNC_EVENT_CONFIGURATION: FeatureId = FeatureId(0x0B);
    /// Timestamp.
    pub const TIMESTAMP: FeatureId = FeatureId(0x0E);
    /// Keep alive timer.
    pub const KEEP_ALIVE_TIMER: FeatureId = FeatureId(0x0F);
    /// Host behavior support.
    pub const HOST_BEHAVIOR: FeatureId = FeatureId(0x16);
    /// I/O command set profile.
    pub const COMMAND_SET_PROFILE: FeatureId = FeatureId(0x19);
}

/// Which value of a feature is asked for (SEL; Base 5.1.11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FeatureSelect {
    /// The value in force.
    #[default]
    Current,
    /// The value after a reset of a new drive.
    Default,
    /// The value after a reset.
    Saved,
    /// What can be done with the feature.
    SupportedCapabilities,
}

impl FeatureSelect {
    fn from_code(code: u32) -> Option<FeatureSelect> {
        match code {
            0 => Some(FeatureSelect::Current),
            1 => Some(FeatureSelect::Default),
            2 => Some(FeatureSelect::Saved),
            3 => Some(FeatureSelect::SupportedCapabilities),
            _ => None,
        }
    }
}

/// Get Features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GetFeatures {
    /// Which feature.
    pub feature: FeatureId,
    /// Which value of it.
    pub select: FeatureSelect,
    /// The namespace it is about, for features of namespaces.
    pub namespace: NamespaceId,
    /// CDW11, specific to the feature.
    pub cdw11: u32,
    /// Where its data structure goes, for features that have one.
    pub data: DataPointer,
}

impl GetFeatures {
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<GetFeatures, Status> {
        let cdw10 = entry.cdw10.get();
        Ok(GetFeatures {
            feature: FeatureId(cdw10 as u8),
            select: FeatureSelect::from_code(cdw10 >> 8 & 7).ok_or(Status::INVALID_FIELD)?,
            namespace: entry.namespace(),
            cdw11: entry.cdw11.get(),
            data: DataPointer::decode(entry)?,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        let select = self.select as u32;
        entry.cdw10.set(u32::from(self.feature.0) | select << 8);
        entry.cdw11.set(self.cdw11);
        self.data.encode_into(&mut entry);
        entry
    }
}

/// Set Features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetFeatures {
    /// Which feature.
    pub feature: FeatureId,
    /// Keep the value through resets (SV).
    pub save: bool,
    /// The namespace it is about, for features of namespaces.
    pub namespace: NamespaceId,
    /// CDW11, the value.
    pub cdw11: u32,
    /// CDW12, more of the value.
    pub cdw12: u32,
    /// Where its data structure lies, for features that have one.
    pub data: DataPointer,
}

impl SetFeatures {
    pub(super) fn decode(entry: &SubmissionEntry) -> Result<SetFeatures, Status> {
        let cdw10 = entry.cdw10.get();
        Ok(SetFeatures {
            feature: FeatureId(cdw10 as u8),
            save: bit(cdw10, 31),
            namespace: entry.namespace(),
            cdw11: entry.cdw11.get(),
            cdw12: entry.cdw12.get(),
            data: DataPointer::decode(entry)?,
        })
    }

    pub(super) fn encode(&self, mut entry: SubmissionEntry) -> SubmissionEntry {
        let save = u32::from(self.save);
        entry.cdw10.set(u32::from(self.feature.0) | save << 31);
        entry.cdw11.set(self.cdw11);
        entry.cdw12.set(self.cdw12);
        self.data.encode_into(&mut entry);
        entry
    }
}
