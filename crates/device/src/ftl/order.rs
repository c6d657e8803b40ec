//! Plane allocation orders: which plane's turn a logical page is.

use std::fmt;
use std::str::FromStr;

use media::nand::{DieId, Geometry, PlaneId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A permutation of the letters C (channel), W (way, that is chip), D (die) and
/// P (plane). The first varies fastest over consecutive logical pages, as in
/// MQSim's `Plane_Allocation_Scheme`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct AllocationOrder([Level; 4]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Channel,
    Way,
    Die,
    Plane,
}

/// Not a permutation of the four letters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "plane_allocation = {0:?} is not an order; it must be a permutation of the letters CWDP, such as \"CWDP\""
)]
pub struct OrderError(String);

impl AllocationOrder {
    /// Every plane of the drive, in the order in which logical pages visit them.
    pub fn planes(&self, geometry: &Geometry) -> Vec<PlaneId> {
        let size = |level| match level {
            Level::Channel => geometry.channels,
            Level::Way => geometry.chips_per_channel,
            Level::Die => geometry.dies_per_chip,
            Level::Plane => geometry.planes_per_die,
        };
        (0..geometry.planes())
            .map(|number| {
                let mut rest = number;
                let (mut channel, mut way, mut die, mut plane) = (0, 0, 0, 0);
                for level in self.0 {
                    let digit = rest % size(level);
                    rest /= size(level);
                    match level {
                        Level::Channel => channel = digit,
                        Level::Way => way = digit,
                        Level::Die => die = digit,
                        Level::Plane => plane = digit,
                    }
                }
                let chip = channel * geometry.chips_per_channel + way;
                geometry.plane_of_die(DieId(chip * geometry.dies_per_chip + die), plane)
            })
            .collect()
    }
}

impl FromStr for AllocationOrder {
    type Err = OrderError;

    fn from_str(text: &str) -> Result<AllocationOrder, OrderError> {
        let wrong = || OrderError(text.to_owned());
        let levels: Vec<Level> = text
            .chars()
            .map(|letter| match letter.to_ascii_uppercase() {
                'C' => Ok(Level::Channel),
                'W' => Ok(Level::Way),
                'D' => Ok(Level::Die),
                'P' => Ok(Level::Plane),
                _ => Err(wrong()),
            })
            .collect::<Result<_, _>>()?;
        let order: [Level; 4] = levels.try_into().map_err(|_| wrong())?;
        let distinct = (0..4).all(|index| !order[..index].contains(&order[index]));
        if distinct {
            Ok(AllocationOrder(order))
        } else {
            Err(wrong())
        }
    }
}

impl fmt::Display for AllocationOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|level| {
            f.write_str(match level {
                Level::Channel => "C",
                Level::Way => "W",
                Level::Die => "D",
                Level::Plane => "P",
            })
        })
    }
}

impl TryFrom<String> for AllocationOrder {
    type Error = OrderError;

    fn try_from(text: String) -> Result<AllocationOrder, OrderError> {
        text.parse()
    }
}

impl From<AllocationOrder> for String {
    fn from(order: AllocationOrder) -> String {
        order.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: Geometry = Geometry {
        channels: 3,
        chips_per_channel: 2,
        dies_per_chip: 2,
        planes_per_die: 2,
        blocks_per_plane: 8,
        strings_per_block: 1,
        cells_per_string: 4,
        page_bytes: 64,
        spare_bytes: 32,
        bits_per_cell_max: 3,
    };

    #[test]
    fn the_first_letter_varies_fastest() {
        let place = |order: &str, number: usize| {
            let order: AllocationOrder = order.parse().expect("a permutation");
            let place = GEOMETRY.plane_place(order.planes(&GEOMETRY)[number]);
            (place.channel, place.chip, place.die, place.plane)
        };
        assert_eq!(place("CWDP", 1), (1, 0, 0, 0));
        assert_eq!(place("CWDP", 3), (0, 1, 0, 0));
        assert_eq!(place("PDWC", 1), (0, 0, 0, 1));
        assert_eq!(place("PDWC", 8), (1, 0, 0, 0));
    }

    #[test]
    fn every_order_visits_every_plane_once() {
        for order in ["CWDP", "DPCW", "WPDC", "PCDW"] {
            let order: AllocationOrder = order.parse().expect("a permutation");
            let mut planes = order.planes(&GEOMETRY);
            planes.sort();
            assert_eq!(planes, (0..24).map(PlaneId).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_is_no_permutation_is_refused() {
        for wrong in ["", "CWD", "CCDP", "CWDPX", "abcd"] {
            assert!(wrong.parse::<AllocationOrder>().is_err(), "{wrong}");
        }
    }
}
