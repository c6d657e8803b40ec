//! Energies by a power that is stated relative to that of a read.

use sim::Energy;

/// The energy of `time` at `percent` of the power of a read that spends `read_pj` in `read_time`,
/// both in the same unit.
pub(super) fn energy_of(read_pj: u64, read_time: u64, time: u64, percent: u64) -> Energy {
    let picojoules = u128::from(read_pj) * u128::from(time) * u128::from(percent)
        / (u128::from(read_time) * 100);
    Energy::from_pj(picojoules as u64)
}
