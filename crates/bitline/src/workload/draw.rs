//! Draws: each run on a drive has random numbers of its own, so that a second one does not go where the first has been.

use sim::{Random, Sim};

use crate::Drive;

/// Draws that one opening of a drive is good for, before those of the next begin.
const PER_OPENING: u64 = 1 << 32;

/// The random numbers of a part of a workload in one draw. The first draw's are those of the part's name alone.
pub(super) fn stream(sim: &Sim, part: &str, draw: u64) -> Random {
    match draw {
        0 => sim.random(part),
        _ => sim.random(&format!("{part}, draw {draw}")),
    }
}

impl Drive {
    /// The number of the next draw: runs since the drive was opened, on from where earlier openings of its image
    /// leave room.
    pub(super) fn next_draw(&mut self) -> u64 {
        let run = self.runs;
        self.runs += 1;
        self.opened_before * PER_OPENING + run
    }
}
