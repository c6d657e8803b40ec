//! What goes first where requests are ranked: TH-iSSD 3.3, Equation 1.

use std::fmt;

/// The priority of a request: `A + 1 / B`, `A` what the application gives it, `B` the size of all of it in units of 2^30
/// bytes (TH-iSSD 3.3, Equation 1). Kept as a number of seven decimal digits, so that beside an `A` of ten million sizes no
/// longer count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(u32);

/// The unit of `B`.
const GIB: f64 = (1u64 << 30) as f64;

impl Rank {
    /// Behind everything that has a size: nobody waits for it.
    pub const BACKGROUND: Rank = Rank(0);
    /// As a request of a page of 16 KiB: what the firmware writes and reads for itself, and is not in the background.
    pub const PAGE: Rank = Rank::of(0, 16 << 10);
    /// Before all requests: commands wait for it, whatever their ranks.
    pub const FIRST: Rank = Rank(f32::INFINITY.to_bits());

    /// Of a request of so many bytes that was given `a`. One that reads nothing counts as a byte.
    #[inline]
    pub const fn of(a: u32, bytes: u64) -> Rank {
        Rank::number(a as f64, bytes)
    }

    /// Of a request that was given `a`, of whose size nothing is known: as if it had no end.
    #[inline]
    pub const fn given(a: u32) -> Rank {
        Rank::of(a, u64::MAX)
    }

    /// The same request, of so many bytes.
    #[inline]
    pub const fn sized(self, bytes: u64) -> Rank {
        Rank::number(self.value() as f64, bytes)
    }

    #[inline]
    const fn number(a: f64, bytes: u64) -> Rank {
        let bytes = if bytes == 0 { 1 } else { bytes };
        // Numbers that are not negative are in the order of their bits.
        Rank(((a + GIB / bytes as f64) as f32).to_bits())
    }

    /// The number.
    pub const fn value(self) -> f32 {
        f32::from_bits(self.0)
    }
}

impl fmt::Debug for Rank {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_the_paper() {
        let (compute, write, read) = (
            Rank::of(0, 3 << 30),
            Rank::of(0, 1 << 20),
            Rank::of(2000, 2 << 20),
        );
        assert_eq!(format!("{:.2}", compute.value()), "0.33");
        assert_eq!((write.value(), read.value()), (1024.0, 2512.0));
        assert!(compute < write && write < read);
    }

    #[test]
    fn ranks_are_in_the_order_of_their_numbers() {
        let sizes = [u64::MAX, 1 << 40, 1 << 30, 1 << 20, 4096, 512, 0];
        let ranks: Vec<_> = sizes.map(|bytes| Rank::of(0, bytes)).into();
        assert!(ranks.is_sorted() && ranks[0] > Rank::BACKGROUND);
        assert!(ranks[6] < Rank::of(u32::MAX, u64::MAX));
        assert!(Rank::of(u32::MAX, 0) < Rank::FIRST);
        assert_eq!(Rank::given(2000).sized(2 << 20), Rank::of(2000, 2 << 20));
        assert_eq!(Rank::given(0).sized(4096), Rank::of(0, 4096));
        assert!(Rank::of(1, u64::MAX) > Rank::of(0, (1 << 30) + (1 << 20)));
    }
}
