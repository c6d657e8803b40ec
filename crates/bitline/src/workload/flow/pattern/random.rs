//! Uniformly among all places.

use sim::Random;

pub(in crate::workload::flow) struct Uniform {
    places: u64,
    random: Random,
}

impl Uniform {
    pub(super) fn new(places: u64, random: Random) -> Uniform {
        Uniform { places, random }
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        self.random.below(self.places)
    }
}
