//! What a target knows of its drive, which does not change while it is served.

use nvme::{CommandSet, NamespaceId, SubmissionEntry};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DriveFacts {
    /// What it acknowledges is in an image file, after a flush only.
    pub(super) has_image: bool,
    /// It keeps no data, but only time: what is read is not put into buffers.
    pub(super) is_without_data: bool,
    /// Its namespaces of other command sets than NVM.
    pub(super) others: Vec<(NamespaceId, CommandSet)>,
}

impl DriveFacts {
    /// The command set of what comes over an admin queue or an I/O queue.
    pub(super) fn set_of(&self, is_admin: bool, entry: &SubmissionEntry) -> CommandSet {
        if is_admin {
            return CommandSet::Admin;
        }
        let mut others = self.others.iter();
        let known = others.find(|(other, _)| *other == entry.namespace());
        known.map_or(CommandSet::Nvm, |(_, set)| *set)
    }
}
