//! How fast simulated time passes.

use std::fmt;
use std::str::FromStr;

/// How fast simulated time passes beside the wall clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As fast as the simulator can, and not at all while nothing is asked of the drive.
    None,
    /// So many simulated seconds in a second: 1 is real time, 10 ten times as fast.
    Real(f64),
}

/// A pace that there is none of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "pace {0:?}: it is \"none\", \"real\", or a factor such as \"10x\" or \"0.5x\", from 0.000001x to 1000000x"
)]
pub struct PaceError(String);

/// Factors that make sense: beyond them an instant or an hour of the wall clock is not to be told from none.
const FACTORS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

impl FromStr for Pace {
    type Err = PaceError;

    fn from_str(text: &str) -> Result<Pace, PaceError> {
        let unknown = || PaceError(text.into());
        match text {
            "none" => Ok(Pace::None),
            "real" => Ok(Pace::Real(1.0)),
            _ => {
                let factor = text.strip_suffix('x').ok_or_else(unknown)?;
                let factor: f64 = factor.parse().map_err(|_| unknown())?;
                let factor = Some(factor).filter(|factor| FACTORS.contains(factor));
                factor.map(Pace::Real).ok_or_else(unknown)
            }
        }
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pace::None => formatter.write_str("none"),
            Pace::Real(1.0) => formatter.write_str("real"),
            Pace::Real(factor) => write!(formatter, "{factor}x"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paces_are_read_as_they_are_written() {
        for (text, pace) in [
            ("none", Pace::None),
            ("real", Pace::Real(1.0)),
            ("10x", Pace::Real(10.0)),
            ("0.5x", Pace::Real(0.5)),
        ] {
            assert_eq!(text.parse(), Ok(pace));
            assert_eq!(pace.to_string(), text);
        }
        for text in ["", "x", "fast", "-1x", "0x", "NaNx", "infx", "1e9x", "2"] {
            let refused = text.parse::<Pace>().expect_err("no pace");
            assert!(refused.to_string().contains(&format!("{text:?}")));
        }
    }
}
