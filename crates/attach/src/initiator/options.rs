//! How a host behaves.

use std::time::Duration;

use nvme::fabrics::pdu::Digests;

/// How to connect to a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Digests that are asked for; the controller may want fewer.
    pub digests: Digests,
    /// How long connecting, and each step of it, may take; and how long nothing may be heard of a drive that is waited for.
    pub timeout: Duration,
    /// How often the drive is told that this host is still there (Keep Alive, Base 5.1.14); it may forget a host that it has not
    /// heard of for twice as long.
    pub keep_alive: Duration,
    /// Who this host is.
    pub host_nqn: String,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            digests: Digests::default(),
            timeout: Duration::from_secs(20),
            keep_alive: Duration::from_secs(5),
            host_nqn: format!("nqn.2026-11.io.bitline:host-{}", std::process::id()),
        }
    }
}
