//! The priority that the application gives a command: `A` of TH-iSSD 3.3, Equation 1.
//!
//! It is CDW3 of any command of an I/O queue. The NVM command set has the upper bits of tags of protection information there
//! (NVM 3.3.4, 3.3.6), which namespaces without such information do not look at; hosts that know nothing of it leave zeroes. A
//! Simple Lookup has its mask there, and no priority.

use crate::command::opcode;
use crate::entry::SubmissionEntry;

impl SubmissionEntry {
    /// The priority that the application gives it; 0 if it gives none.
    #[inline]
    pub fn given_priority(&self) -> u32 {
        match self.has_priority() {
            true => self.cdw2[1].get(),
            false => 0,
        }
    }

    /// Gives it a priority, if it can have one.
    #[inline]
    pub fn give_priority(&mut self, priority: u32) {
        if self.has_priority() {
            self.cdw2[1].set(priority);
        }
    }

    #[inline]
    fn has_priority(&self) -> bool {
        self.opcode != opcode::SIMPLE_LOOKUP
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identifier::{CommandId, NamespaceId};

    #[test]
    fn a_priority_is_the_fourth_dword_of_all_commands_but_one() {
        for opcode in 0..=u8::MAX {
            let mut entry = SubmissionEntry::new(opcode, CommandId::new(1), NamespaceId::new(1));
            let before = entry.to_bytes();
            assert_eq!(entry.given_priority(), 0);
            entry.give_priority(0x0102_0304);
            let mut expected = before;
            if opcode == opcode::SIMPLE_LOOKUP {
                // Bytes 8 to 23 are the mask of the name.
                assert_eq!(entry.to_bytes(), before);
                entry.cdw2[1].set(9);
                assert_eq!(entry.given_priority(), 0);
                continue;
            }
            expected[12..16].copy_from_slice(&[4, 3, 2, 1]);
            assert_eq!(entry.to_bytes(), expected);
            assert_eq!(entry.given_priority(), 0x0102_0304);
        }
    }
}
