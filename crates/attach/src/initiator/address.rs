//! Where a drive is: `nvme+tcp://HOST[:PORT][/NQN]`.

use std::fmt;
use std::str::FromStr;

/// What addresses begin with.
const SCHEME: &str = "nvme+tcp://";
/// The port of NVMe/TCP (TCP 3.1.1; IANA).
const PORT: u16 = 4420;

/// The address of a drive, or of a discovery controller that names one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Address {
    /// A name or an IP address; one of version 6 without its brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The subsystem's qualified name; none to ask the discovery subsystem for the only one.
    pub nqn: Option<String>,
}

/// An address that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no address of a drive: {reason}; it is nvme+tcp://HOST, nvme+tcp://HOST:PORT or nvme+tcp://HOST:PORT/NQN"
)]
pub struct AddressError {
    text: String,
    reason: &'static str,
}

impl Address {
    /// Whether a text is meant as an address, and not as the path of an image.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(SCHEME)
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        let wrong = |reason| AddressError {
            text: text.into(),
            reason,
        };
        let rest = text
            .strip_prefix(SCHEME)
            .ok_or_else(|| wrong("it does not begin with nvme+tcp://"))?;
        let (place, nqn) = match rest.split_once('/') {
            Some((place, nqn)) => (place, Some(nqn).filter(|nqn| !nqn.is_empty())),
            None => (rest, None),
        };
        let (host, port) = match place.strip_prefix('[') {
            Some(bracketed) => {
                let closed = bracketed.split_once(']');
                let (host, rest) = closed.ok_or_else(|| wrong("a bracket is not closed"))?;
                match rest {
                    "" => (host, None),
                    rest => {
                        let port = rest.strip_prefix(':');
                        (
                            host,
                            Some(port.ok_or_else(|| wrong("a bracket is followed by no port"))?),
                        )
                    }
                }
            }
            None => match place.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (place, None),
            },
        };
        if host.is_empty() {
            return Err(wrong("it names no host"));
        }
        let port = match port.map(str::parse) {
            None => PORT,
            Some(Ok(0) | Err(_)) => return Err(wrong("its port is no number from 1 to 65535")),
            Some(Ok(port)) => port,
        };
        if nqn.is_some_and(|nqn| nqn.len() > nvme::fabrics::NQN_BYTES_MAX) {
            return Err(wrong("its NQN has more than 223 bytes"));
        }
        Ok(Address {
            host: host.into(),
            port,
            nqn: nqn.map(str::to_owned),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(formatter, "{SCHEME}[{}]:{}", self.host, self.port)?,
            false => write!(formatter, "{SCHEME}{}:{}", self.host, self.port)?,
        }
        match &self.nqn {
            Some(nqn) => write!(formatter, "/{nqn}"),
            None => Ok(()),
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
            assert_eq!((&*address.host, address.port), (host, port));
            assert_eq!(address.nqn.as_deref(), nqn);
            assert_eq!(address.to_string(), text);
        }
        let short: Address = "nvme+tcp://drive/".parse().expect("an address");
        assert_eq!((short.port, short.nqn), (4420, None));
        for text in [
            "drive",
            "nvme+tcp://",
            "nvme+tcp://:4420",
            "nvme+tcp://a:0",
            "nvme+tcp://a:x",
            "nvme+tcp://[::1",
            "nvme+tcp://[::1]x",
        ] {
            let refused = text.parse::<Address>().expect_err("none");
            assert!(refused.to_string().contains("HOST:PORT"), "{refused}");
        }
    }
}
