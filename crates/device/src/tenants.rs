//! For whom a drive does what it does: its namespaces, and the firmware's own work by its kind.
//!
//! The tenant of a host command is its namespace, whichever queue it came through: a namespace is what
//! NVMe gives to one of several users of a drive, and a write-back long after its command still knows
//! it. Admin commands, queue entries, doorbells, notes and the controller's own power are the drive's.

use sim::Tenant;

/// What is done for no one in particular.
pub const DRIVE: Tenant = Tenant(0);
/// The host computer's own work, where a ledger holds it.
pub const HOST: Tenant = Tenant(1);
/// The mapping's own pages.
pub const MAPPING: Tenant = Tenant(2);
/// Garbage collection, folding of an SLC cache, and blocks that computing gives back.
pub const COLLECTION: Tenant = Tenant(3);
/// Static wear levelling.
pub const WEAR_LEVELLING: Tenant = Tenant(4);
/// Reading the media at power-up.
pub const RECOVERY: Tenant = Tenant(5);
/// Tenants before those of namespaces.
const OWN: u16 = 6;

/// The tenant that the namespace of a number, from 0, is.
#[inline]
pub fn namespace(number: usize) -> Tenant {
    Tenant(OWN + number as u16)
}

/// Every tenant of a drive with so many namespaces.
pub fn all(namespaces: usize) -> impl Iterator<Item = Tenant> {
    (0..OWN + namespaces as u16).map(Tenant)
}

/// Its name in statistics.
pub fn name(tenant: Tenant) -> String {
    match tenant {
        DRIVE => "drive".to_owned(),
        HOST => "host".to_owned(),
        MAPPING => "mapping".to_owned(),
        COLLECTION => "collection".to_owned(),
        WEAR_LEVELLING => "wear levelling".to_owned(),
        RECOVERY => "recovery".to_owned(),
        Tenant(number) => format!("namespace {}", number - OWN + 1),
    }
}
