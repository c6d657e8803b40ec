//! Where a server listens, who may connect, and how much of everything there may be.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

pub use nvme::fabrics::NVME_TCP_PORT;
use nvme::fabrics::{DISCOVERY_NQN, NQN_BYTES_MAX};

use crate::engine::EngineError;

/// The name of a drive's subsystem, unless it is given another.
pub const SUBSYSTEM_NQN: &str = "nqn.2026-11.io.bitline:drive";

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Listen {
    /// At a TCP address. Port 0 is any that is free.
    Tcp(SocketAddr),
    /// At a Unix-domain socket of this path, with the same protocol. One that is left over from a server that is gone is replaced.
    Unix(PathBuf),
}

/// How a drive is served over NVMe/TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Where to listen: at least one place. The loopback address unless told otherwise: there is no encryption (TLS), and no
    /// proof of who a host is.
    pub listen: Vec<Listen>,
    /// The name of the drive's subsystem.
    pub subsystem_nqn: String,
    /// The drive's serial number for hosts, up to 20 ASCII characters; one made of the subsystem's name if there is none.
    pub serial_number: Option<String>,
    /// The names of hosts that may connect; all of them if there is no list.
    pub allowed_hosts: Option<Vec<String>>,
    /// Connections at one time.
    pub connections_max: usize,
    /// Controllers at one time: one for each host that is connected, and each discovery.
    pub controllers_max: usize,
    /// I/O queues of a controller.
    pub io_queues: u16,
    /// Entries of a queue.
    pub queue_entries: u16,
    /// The most data of one command, log2 of 4096 bytes (MDTS).
    pub transfer_exponent: u8,
    /// Bytes of commands' data at one time, of all connections.
    pub buffered_bytes_max: u64,
    /// Bytes of commands' data at one time, of one connection.
    pub connection_bytes_max: u64,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            listen: vec![Listen::Tcp(SocketAddr::new(
                IpAddr::V4(Ipv4Addr::LOCALHOST),
                NVME_TCP_PORT,
            ))],
            subsystem_nqn: SUBSYSTEM_NQN.into(),
            serial_number: None,
            allowed_hosts: None,
            connections_max: 2048,
            controllers_max: 512,
            io_queues: 16,
            queue_entries: 1024,
            transfer_exponent: 10,
            buffered_bytes_max: 256 << 20,
            connection_bytes_max: 32 << 20,
        }
    }
}

/// Why a drive is not served over NVMe/TCP.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// An option is wrong.
    #[error("{key} = {value}: {right}")]
    Option {
        /// Which.
        key: &'static str,
        /// What it is.
        value: String,
        /// What would be right.
        right: String,
    },
    /// It cannot listen there.
    #[error("cannot listen at {place}: {error}")]
    Listen {
        /// Where.
        place: String,
        /// Why.
        error: std::io::Error,
    },
    /// The operating system gives no thread, or no means to wait for connections.
    #[error("cannot serve connections: {0}")]
    System(#[from] std::io::Error),
    /// The drive is not served.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The drive does not answer.
    #[error("the drive cannot be asked: {0}")]
    Drive(String),
}

impl ServerOptions {
    /// The defaults, but for where it listens.
    pub fn listening_at(places: Vec<Listen>) -> ServerOptions {
        ServerOptions {
            listen: places,
            ..ServerOptions::default()
        }
    }

    /// Bytes of one command's data, at most.
    pub(crate) fn transfer_bytes(&self) -> u32 {
        4096 << self.transfer_exponent
    }

    /// Whether all of it can be.
    pub(crate) fn validate(&self) -> Result<(), ServerError> {
        let wrong = |key, value: String, right: &str| {
            let right = right.to_owned();
            Err(ServerError::Option { key, value, right })
        };
        let is_within =
            |key, value: u64, least: u64, most: u64| match (least..=most).contains(&value) {
                true => Ok(()),
                false => wrong(key, value.to_string(), &format!("from {least} to {most}")),
            };
        if self.listen.is_empty() {
            return wrong("listen", "[]".into(), "at least one place to listen at");
        }
        check_nqn("subsystem_nqn", &self.subsystem_nqn)?;
        if self.subsystem_nqn == DISCOVERY_NQN {
            let right = "any other name: this one is every discovery subsystem's";
            return wrong("subsystem_nqn", self.subsystem_nqn.clone(), right);
        }
        for host in self.allowed_hosts.iter().flatten() {
            check_nqn("allowed_hosts", host)?;
        }
        if let Some(serial) = &self.serial_number
            && (serial.is_empty()
                || serial.len() > 20
                || !serial.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            let right = "1 to 20 printable ASCII characters, none of them a space";
            return wrong("serial_number", serial.clone(), right);
        }
        is_within("connections_max", self.connections_max as u64, 1, 1 << 16)?;
        is_within("controllers_max", self.controllers_max as u64, 1, 65519)?;
        is_within("io_queues", self.io_queues.into(), 1, 1024)?;
        is_within("queue_entries", self.queue_entries.into(), 2, 4096)?;
        is_within("transfer_exponent", self.transfer_exponent.into(), 1, 14)?;
        is_within(
            "buffered_bytes_max",
            self.buffered_bytes_max,
            1 << 20,
            u64::MAX,
        )?;
        is_within(
            "connection_bytes_max",
            self.connection_bytes_max,
            1 << 17,
            u64::MAX,
        )
    }
}

/// Names as Base 4.5 has them: `nqn.`, and no longer than 223 bytes.
pub(crate) fn check_nqn(key: &'static str, name: &str) -> Result<(), ServerError> {
    if name.starts_with("nqn.") && name.len() <= NQN_BYTES_MAX && !name.contains('\0') {
        return Ok(());
    }
    Err(ServerError::Option {
        key,
        value: format!("{name:?}"),
        right: format!(
            "an NVMe qualified name, such as {SUBSYSTEM_NQN:?}: it begins with \"nqn.\" and has at most {NQN_BYTES_MAX} bytes"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_cannot_be_say_why() {
        assert!(ServerOptions::default().validate().is_ok());
        let told = |change: fn(&mut ServerOptions)| {
            let mut options = ServerOptions::default();
            change(&mut options);
            options.validate().expect_err("it cannot be").to_string()
        };
        assert!(told(|options| options.listen.clear()).starts_with("listen"));
        assert!(told(|options| options.subsystem_nqn = "drive".into()).contains("nqn."));
        assert!(told(|options| options.subsystem_nqn = DISCOVERY_NQN.into()).contains("discovery"));
        assert!(told(|options| options.queue_entries = 1).contains("from 2 to 4096"));
        assert!(told(|options| options.serial_number = Some("a b".into())).contains("a b"));
        let hosts = told(|options| options.allowed_hosts = Some(vec!["me".into()]));
        assert!(hosts.starts_with("allowed_hosts = \"me\""), "{hosts}");
    }
}
