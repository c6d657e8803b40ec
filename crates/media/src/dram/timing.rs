//! How long an access to the DRAM takes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::Span;

use super::DramConfig;

/// How the time of an access is computed. Within one row, both say
/// tRCD + tCL + bytes / (2 · transfer size) · clock period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DramTiming {
    /// Row after row: each is opened, read or written, and closed (tRP) before the next.
    RowByRow,
    /// As MQSim computes it, to compare with it: of an access of several rows it counts
    /// every other whole row, and what is left over as good as not at all.
    Mqsim,
}

impl DramTiming {
    /// How long an access of `bytes` takes.
    pub(super) fn access(self, config: &DramConfig, bytes: u64) -> Span {
        let row_bytes = u64::from(config.row_bytes);
        let open = Span::from_ns(u64::from(config.t_rcd_ns) + u64::from(config.t_cl_ns));
        let close = Span::from_ns(u64::from(config.t_rp_ns));
        if bytes <= row_bytes {
            return open + transfer(config, bytes);
        }
        let (rows, rest) = (bytes / row_bytes, bytes % row_bytes);
        match self {
            DramTiming::RowByRow => {
                let whole = (open + transfer(config, row_bytes) + close) * rows;
                if rest == 0 {
                    whole.saturating_sub(close)
                } else {
                    whole + open + transfer(config, rest)
                }
            }
            DramTiming::Mqsim => {
                let whole = (transfer(config, row_bytes) + close) * (rows / 2);
                let period_ns = 1e3 / f64::from(config.clock_megahertz);
                let rest_ns = rest as f64 / (f64::from(config.transfer_bytes) * period_ns);
                whole + open * 2 + Span::from_ns(rest_ns as u64)
            }
        }
    }
}

/// The data's part of an access: two transfers in a clock cycle.
fn transfer(config: &DramConfig, bytes: u64) -> Span {
    let cycles = bytes.div_ceil(2 * u64::from(config.transfer_bytes));
    Span::from_ps(cycles * 1_000_000 / u64::from(config.clock_megahertz))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The DRAM of MQSim's default configuration.
    fn config(timing: DramTiming) -> DramConfig {
        DramConfig {
            timing,
            row_bytes: 8192,
            clock_megahertz: 100,
            transfer_bytes: 1,
            t_rcd_ns: 13,
            t_cl_ns: 13,
            t_rp_ns: 13,
            transfer_pj_per_byte: 0,
        }
    }

    fn access_ns(timing: DramTiming, bytes: u64) -> f64 {
        timing.access(&config(timing), bytes).as_ns()
    }

    #[test]
    fn within_a_row_both_timings_agree() {
        for timing in [DramTiming::RowByRow, DramTiming::Mqsim] {
            assert_eq!(access_ns(timing, 512), 26.0 + 2_560.0);
            assert_eq!(access_ns(timing, 4096), 26.0 + 20_480.0);
            assert_eq!(access_ns(timing, 8192), 26.0 + 40_960.0);
        }
    }

    #[test]
    fn rows_are_opened_and_closed_in_turn() {
        let row = 26.0 + 40_960.0;
        assert_eq!(access_ns(DramTiming::RowByRow, 16_384), row + 13.0 + row);
        assert_eq!(
            access_ns(DramTiming::RowByRow, 8192 + 512),
            row + 13.0 + 26.0 + 2_560.0
        );
    }

    #[test]
    fn mqsim_counts_every_other_row() {
        assert_eq!(access_ns(DramTiming::Mqsim, 16_384), 40_973.0 + 52.0);
        assert_eq!(access_ns(DramTiming::Mqsim, 131_072), 8.0 * 40_973.0 + 52.0);
        assert_eq!(access_ns(DramTiming::Mqsim, 12_288), 52.0 + 409.0);
    }
}
