//! How a host behaves.

use std::fs;
use std::time::Duration;

use nvme::fabrics::pdu::Digests;
use sha2::{Digest, Sha256};

use crate::tcp::{ServerError, check_nqn};

/// Where systemd and others keep what tells machines apart.
const MACHINE_ID: &str = "/etc/machine-id";
/// Bytes of the machine's digest in a host's name.
const MACHINE_BYTES: usize = 8;

/// How to connect to a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Digests that are asked for; the controller may want fewer.
    pub digests: Digests,
    /// How long connecting, and each step of it, may take; and how long nothing may be heard of a drive that is waited for.
    pub timeout: Duration,
    /// How often the drive is told that this host is still there (Keep Alive, Base 5.1.14), at least; it may forget a host that it has
    /// not heard of for twice as long. As its answers tell that it is there, it is told three times within `timeout`.
    pub keep_alive: Duration,
    /// Who this host is: an NVMe qualified name. Unless it is given, it is made of the machine and the process.
    pub host_nqn: String,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            digests: Digests::default(),
            timeout: Duration::from_secs(20),
            keep_alive: Duration::from_secs(5),
            host_nqn: host_nqn(&fs::read(MACHINE_ID).unwrap_or_default()),
        }
    }
}

impl Options {
    /// How often Keep Alive is sent.
    pub(super) fn keep_alive_every(&self) -> Duration {
        self.keep_alive.min(self.timeout / 3)
    }

    /// HOSTID: of the name, so that all connections of a host have the same one (a UUID of version 8, RFC 9562).
    pub(super) fn host_id(&self) -> [u8; 16] {
        let mut id = [0_u8; 16];
        id.copy_from_slice(&Sha256::digest(self.host_nqn.as_bytes())[..16]);
        id[6] = 0x80 | id[6] & 0x0F;
        id[8] = 0x80 | id[8] & 0x3F;
        id
    }

    /// # Errors
    /// What is wrong, in words.
    pub(super) fn validate(&self) -> Result<(), String> {
        /// The unit in which controllers are told of Keep Alive.
        const LEAST: Duration = Duration::from_millis(1);
        for (key, value) in [("timeout", self.timeout), ("keep_alive", self.keep_alive)] {
            if value < LEAST {
                let seconds = value.as_secs_f64();
                return Err(format!(
                    "{key} = {seconds} s: it must be a millisecond or more"
                ));
            }
        }
        check_nqn("host_nqn", &self.host_nqn).map_err(|error: ServerError| error.to_string())
    }
}

/// The name of this process's host. The machine's own identifier is not to be told to others, a digest of it is
/// (machine-id(5)).
fn host_nqn(machine: &[u8]) -> String {
    let process = std::process::id();
    if machine.is_empty() {
        return format!("nqn.2026-11.io.bitline:host-{process}");
    }
    let digest = Sha256::new()
        .chain_update(b"io.bitline host ")
        .chain_update(machine)
        .finalize();
    let hex = digest[..MACHINE_BYTES].iter();
    let hex: String = hex.map(|byte| format!("{byte:02x}")).collect();
    format!("nqn.2026-11.io.bitline:host-{hex}-{process}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_several_machines_have_several_names() {
        let (one, other) = (host_nqn(b"one"), host_nqn(b"other"));
        assert_ne!(one, other);
        assert_eq!(one, host_nqn(b"one"));
        let named = |nqn: &str| Options {
            host_nqn: nqn.into(),
            ..Options::default()
        };
        assert_ne!(named(&one).host_id(), named(&other).host_id());
        assert_eq!(named(&one).host_id()[6] >> 4, 8);
        assert!(named(&one).validate().is_ok());
        let refused = named("me").validate().expect_err("no name");
        assert!(refused.contains("host_nqn"), "{refused}");
    }

    #[test]
    fn keep_alive_goes_more_often_than_silence_is_noticed() {
        let mut options = Options::default();
        assert_eq!(options.keep_alive_every(), Duration::from_secs(5));
        options.timeout = Duration::from_secs(3);
        assert_eq!(options.keep_alive_every(), Duration::from_secs(1));
        options.keep_alive = Duration::ZERO;
        let refused = options.validate().expect_err("never");
        assert!(refused.starts_with("keep_alive"), "{refused}");
        options.timeout = Duration::ZERO;
        let refused = options.validate().expect_err("at once");
        assert!(refused.starts_with("timeout"), "{refused}");
    }
}
