//! Which namespaces a command can name together: Reachability Groups and Reachability Associations (Base 5.1.12.1.25,
//! 5.1.12.1.26, 8.1.19).

use crate::identifier::NamespaceId;

/// Characteristic of an association: its namespaces reach each other, and nothing is said of how fast.
const REACHABLE: u8 = 1;
/// RGO and RAO: descriptors come without what they list.
const WITHOUT_LISTS: u8 = 1;
/// Bytes before the descriptors of either page.
const HEAD_BYTES: usize = 16;

/// Namespaces that reach the same others.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReachabilityGroup {
    /// Its identifier (RGID).
    pub group: u32,
    /// Its namespaces.
    pub namespaces: Vec<NamespaceId>,
}

/// Groups whose namespaces reach each other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReachabilityAssociation {
    /// Its identifier (RASID).
    pub association: u32,
    /// Its groups.
    pub groups: Vec<u32>,
}

impl ReachabilityGroup {
    /// A group of these namespaces.
    pub fn new(group: u32, namespaces: Vec<NamespaceId>) -> ReachabilityGroup {
        ReachabilityGroup { group, namespaces }
    }

    /// The page of these groups, with what the log specific parameter (LSP) asks for.
    pub fn encode(groups: &[ReachabilityGroup], specific: u8) -> Vec<u8> {
        let mut page = head(groups.len());
        for of in groups {
            let namespaces = of.namespaces.iter().map(|namespace| namespace.get());
            descriptor(&mut page, of.group, 0, namespaces, specific);
        }
        page
    }
}

impl ReachabilityAssociation {
    /// An association of these groups.
    pub fn new(association: u32, groups: Vec<u32>) -> ReachabilityAssociation {
        ReachabilityAssociation {
            association,
            groups,
        }
    }

    /// The page of these associations, with what the log specific parameter (LSP) asks for.
    pub fn encode(associations: &[ReachabilityAssociation], specific: u8) -> Vec<u8> {
        let mut page = head(associations.len());
        for of in associations {
            let groups = of.groups.iter().copied();
            descriptor(&mut page, of.association, REACHABLE, groups, specific);
        }
        page
    }
}

/// A change count of 0, as nothing of this ever changes, and the number of descriptors.
fn head(count: usize) -> Vec<u8> {
    let mut page = vec![0; HEAD_BYTES];
    page[8..10].copy_from_slice(&(count as u16).to_le_bytes());
    page
}

/// An identifier, how many it lists, a change count that is not told, the characteristic, and the list.
fn descriptor(
    page: &mut Vec<u8>,
    id: u32,
    characteristic: u8,
    list: impl ExactSizeIterator<Item = u32>,
    specific: u8,
) {
    page.extend(id.to_le_bytes());
    page.extend((list.len() as u32).to_le_bytes());
    page.extend([0; 8]);
    page.push(characteristic);
    page.extend([0; 15]);
    if specific & WITHOUT_LISTS == 0 {
        page.extend(list.flat_map(u32::to_le_bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_follow_one_another() {
        let groups = [
            ReachabilityGroup::new(1, vec![NamespaceId::new(1), NamespaceId::new(2)]),
            ReachabilityGroup::new(2, vec![NamespaceId::new(3)]),
        ];
        let page = ReachabilityGroup::encode(&groups, 0);
        assert_eq!(page[8..10], [2, 0]);
        assert_eq!(page[16..24], [1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(page[48..56], [1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(page[56..64], [2, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(page.len(), 16 + 2 * 32 + 3 * 4);
        assert_eq!(ReachabilityGroup::encode(&groups, 1).len(), 16 + 2 * 32);
        let associations = [ReachabilityAssociation::new(9, vec![1, 2])];
        let page = ReachabilityAssociation::encode(&associations, 0);
        assert_eq!(page[16..20], [9, 0, 0, 0]);
        assert_eq!(page[32], REACHABLE);
        assert_eq!(page[48..], [1, 0, 0, 0, 2, 0, 0, 0]);
    }
}
