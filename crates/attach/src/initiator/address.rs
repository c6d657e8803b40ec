//! Where a drive is: `nvme+tcp://HOST[:PORT][/NQN]` or `nvme+unix://PATH[?NQN]`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use nvme::fabrics::NVME_TCP_PORT;

/// What addresses begin with.
const TCP: &str = "nvme+tcp://";
const UNIX: &str = "nvme+unix://";

/// The address of a drive, or of a discovery controller that names one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Address {
    /// Where it is reached.
    pub place: Place,
    /// The subsystem's qualified name; none to ask the discovery subsystem for the only one, or at a socket for what Bitline calls it.
    pub nqn: Option<String>,
}

/// Where somebody is reached who speaks NVMe/TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// Over a network.
    Network {
        /// A name or an IP address; one of version 6 without its brackets.
        host: String,
        /// The port.
        port: u16,
    },
    /// At a Unix-domain socket of this machine.
    Socket(PathBuf),
}

/// An address that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no address of a drive: {reason}; it is nvme+tcp://HOST, nvme+tcp://HOST:PORT, nvme+tcp://HOST:PORT/NQN, or nvme+unix://PATH \
     of a socket"
)]
pub struct AddressError {
    text: String,
    reason: &'static str,
}

impl Address {
    /// Whether a text is meant as an address, and not as the path of an image.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(TCP) || text.starts_with(UNIX)
    }

    /// That of the drive of Bitline's that is served at a socket.
    pub fn of_socket(path: impl Into<PathBuf>) -> Address {
        Address {
            place: Place::Socket(path.into()),
            nqn: None,
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        let parsed = match (text.strip_prefix(TCP), text.strip_prefix(UNIX)) {
            (Some(rest), _) => on_network(rest),
            (None, Some(rest)) => at_socket(rest),
            (None, None) => Err("it begins with neither nvme+tcp:// nor nvme+unix://"),
        };
        let (place, nqn) = parsed.map_err(|reason| AddressError {
            text: text.into(),
            reason,
        })?;
        let nqn = nqn.filter(|nqn| !nqn.is_empty());
        if nqn.is_some_and(|nqn| nqn.len() > nvme::fabrics::NQN_BYTES_MAX) {
            return Err(AddressError {
                text: text.into(),
                reason: "its NQN has more than 223 bytes",
            });
        }
        Ok(Address {
            place,
            nqn: nqn.map(str::to_owned),
        })
    }
}

fn at_socket(text: &str) -> Result<(Place, Option<&str>), &'static str> {
    let (path, nqn) = match text.split_once('?') {
        Some((path, nqn)) => (path, Some(nqn)),
        None => (text, None),
    };
    match path {
        "" => Err("it names no socket"),
        path => Ok((Place::Socket(path.into()), nqn)),
    }
}

fn on_network(text: &str) -> Result<(Place, Option<&str>), &'static str> {
    let (place, nqn) = match text.split_once('/') {
        Some((place, nqn)) => (place, Some(nqn)),
        None => (text, None),
    };
    let (host, port) = match place.strip_prefix('[') {
        Some(bracketed) => {
            let (host, rest) = bracketed.split_once(']').ok_or("a bracket is not closed")?;
            let port = match rest {
                "" => None,
                rest => Some(
                    rest.strip_prefix(':')
                        .ok_or("a bracket is followed by no port")?,
                ),
            };
            (host, port)
        }
        None => match place.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        },
    };
    if host.is_empty() {
        return Err("it names no host");
    }
    let port = match port.map(str::parse) {
        None => NVME_TCP_PORT,
        Some(Ok(0) | Err(_)) => return Err("its port is no number from 1 to 65535"),
        Some(Ok(port)) => port,
    };
    let host = host.to_owned();
    Ok((Place::Network { host, port }, nqn))
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Network { host, port } if host.contains(':') => {
                write!(formatter, "{TCP}[{host}]:{port}")
            }
            Place::Network { host, port } => write!(formatter, "{TCP}{host}:{port}"),
            Place::Socket(path) => write!(formatter, "{UNIX}{}", path.display()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.place {
            Place::Network { .. } => '/',
            Place::Socket(_) => '?',
        };
        match &self.nqn {
            Some(nqn) => write!(formatter, "{}{mark}{nqn}", self.place),
            None => self.place.fmt(formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for (text, host, port, nqn) in [
            ("nvme+tcp://drive:4421", "drive", 4421, None),
            ("nvme+tcp://10.0.0.1:1/nqn.x", "10.0.0.1", 1, Some("nqn.x")),
            ("nvme+tcp://[::1]:4420", "::1", 4420, None),
        ] {
            let address: Address = text.parse().expect("an address");
            let host = host.to_owned();
            assert_eq!(address.place, Place::Network { host, port });
            assert_eq!(address.nqn.as_deref(), nqn);
            assert_eq!(address.to_string(), text);
        }
        let short: Address = "nvme+tcp://drive/".parse().expect("an address");
        let host = "drive".to_owned();
        let port = NVME_TCP_PORT;
        assert_eq!(short.place, Place::Network { host, port });
        assert_eq!(short.nqn, None);
        for (text, nqn) in [
            ("nvme+unix:///a/b", None),
            ("nvme+unix://b?nqn.x", Some("nqn.x")),
        ] {
            let address: Address = text.parse().expect("an address");
            assert!(matches!(&address.place, Place::Socket(path) if path.ends_with("b")));
            assert_eq!(address.nqn.as_deref(), nqn);
            assert_eq!(address.to_string(), text);
        }
        for text in [
            "drive",
            "nvme+tcp://",
            "nvme+tcp://:4420",
            "nvme+tcp://a:0",
            "nvme+tcp://a:x",
            "nvme+tcp://[::1",
            "nvme+tcp://[::1]x",
            "nvme+unix://",
        ] {
            let refused = text.parse::<Address>().expect_err("none");
            assert!(refused.to_string().contains("HOST:PORT"), "{refused}");
        }
    }
}
