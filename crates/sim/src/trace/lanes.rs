//! Lanes: slices that overlap, side by side, so that in each lane one begins when another is over.

use crate::quantity::Time;

/// The lane of each of `spans`, which are in the order of their begins, and how many lanes that takes.
pub(super) fn assign(spans: impl Iterator<Item = (Time, Time)>) -> (Vec<usize>, usize) {
    let mut ends: Vec<Time> = Vec::new();
    let lanes = spans
        .map(|(begin, end)| {
            let free = ends.iter().position(|until| *until <= begin);
            let lane = free.unwrap_or_else(|| {
                ends.push(Time::ZERO);
                ends.len() - 1
            });
            ends[lane] = end;
            lane
        })
        .collect();
    (lanes, ends.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_goes_to_the_first_lane_that_is_free() {
        let spans = [(0, 10), (2, 5), (3, 4), (5, 8), (9, 12), (10, 11)];
        let spans = spans.map(|(begin, end)| (Time::from_ps(begin), Time::from_ps(end)));
        let (lanes, count) = assign(spans.into_iter());
        assert_eq!((lanes, count), (vec![0, 1, 2, 1, 1, 0], 3));
    }
}
