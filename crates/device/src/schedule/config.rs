//! How transactions are ordered, as configured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::policy::{Chooser, Policy};

/// How transactions are ordered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleConfig {
    /// Which waiting transaction of a unit goes next.
    pub policy: Policy,
    /// Whether transactions for the same page offset in different planes of a
    /// die become one multi-plane command.
    pub multi_plane: bool,
    /// What works on its own: each die, or each chip as a whole. Set in `[compatibility]`.
    #[serde(skip)]
    pub interleave: Interleave,
    /// How many transactions may go before the one that has waited longest; 0: any number, so
    /// that reads without end keep a program waiting without end. `first_come` lets none.
    pub bypass_max: u32,
    /// A computation lets go of its die at the first border of its steps after which the next step
    /// would end later than so long after it began, in microseconds, if the policy has other work go
    /// first. At least one step is done.
    pub piece_max_us: u64,
    /// The part of each die's time that streams and tasks have at least while they wait, under `priority_aware`, in percent.
    pub isp_share_percent: u32,
    /// Shares of the priorities high, medium and low under `priority_classes`.
    pub priority_weights: [u32; 3],
    /// What of a page crosses the channel to be programmed. Set in `[compatibility]`.
    #[serde(skip)]
    pub program_transfer: ProgramTransfer,
    /// Programs and erases that step back for reads.
    pub suspend: SuspendConfig,
}

/// What of a page crosses the channel to be programmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProgramTransfer {
    /// All of it: a register has to be filled, whatever was written.
    #[default]
    Page,
    /// As much as was written, though the die gets all of it. As MQSim.
    Written,
}

/// What takes commands independently of the others of its channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interleave {
    /// Each die; whoever comes first has the channel, commands before data.
    #[default]
    Die,
    /// Each chip: its dies never overlap, and the chips of a channel take turns. As MQSim.
    Chip,
}

/// Programs and erases that step back for reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuspendConfig {
    /// Whether programs do.
    pub programs: bool,
    /// Whether erases do.
    pub erases: bool,
    /// How often one of them may be suspended.
    pub times_max: u32,
    /// What must be left of a program to suspend it, in nanoseconds.
    pub program_remaining_min_ns: u64,
    /// What must be left of an erase to suspend it, in nanoseconds.
    pub erase_remaining_min_ns: u64,
}

/// A schedule that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleConfigError {
    /// Reads are not to overtake, and yet to suspend.
    #[error(
        "schedule.policy = \"first_come\" and schedule.suspend.{kind} = true cannot be together; reads overtake nothing under first_come"
    )]
    FirstComeSuspends {
        /// `programs` or `erases`.
        kind: &'static str,
    },
    /// A number out of range.
    #[error("schedule.{key} = {value} is out of range; it must be {allowed}")]
    Range {
        /// The key.
        key: &'static str,
        /// What was given.
        value: u64,
        /// What would be right.
        allowed: &'static str,
    },
}

impl ScheduleConfig {
    /// Checks everything.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), ScheduleConfigError> {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let suspend = &self.suspend;
        let suspends = [("programs", suspend.programs), ("erases", suspend.erases)];
        let first = suspends.into_iter().find(|(_, is_on)| *is_on);
        if let (Policy::FirstCome, Some((kind, _))) = (self.policy, first) {
            return Err(ScheduleConfigError::FirstComeSuspends { kind });
        }
        let [high, medium, low] = self.priority_weights.map(u64::from);
        let weights = "1 to 64";
        let ranges = [
            ("priority_weights[0]", high, 1, 64, weights),
            ("priority_weights[1]", medium, 1, 64, weights),
            ("priority_weights[2]", low, 1, 64, weights),
            (
                "piece_max_us",
                self.piece_max_us,
                1,
                1_000_000,
                "1 to 1000000 (a second)",
            ),
            (
                "isp_share_percent",
                self.isp_share_percent.into(),
                0,
                90,
                "0 to 90",
            ),
            (
                "suspend.times_max",
                suspend.times_max.into(),
                1,
                65535,
                "1 to 65535",
            ),
            (
                "suspend.program_remaining_min_ns",
                suspend.program_remaining_min_ns,
                0,
                HOUR_NS,
                "0 to 3600000000000 (an hour)",
            ),
            (
                "suspend.erase_remaining_min_ns",
                suspend.erase_remaining_min_ns,
                0,
                HOUR_NS,
                "0 to 3600000000000 (an hour)",
            ),
        ];
        for (key, value, least, most, allowed) in ranges {
            if !(least..=most).contains(&value) {
                return Err(ScheduleConfigError::Range {
                    key,
                    value,
                    allowed,
                });
            }
        }
        Ok(())
    }

    /// The policy at work on one unit.
    pub(super) fn chooser(&self) -> Chooser {
        Chooser::new(self)
    }
}
