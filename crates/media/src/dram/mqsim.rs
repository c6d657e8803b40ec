//! How long an access takes in MQSim (`estimate_dram_access_time`), to compare with it.

use sim::Span;

use super::DramConfig;

/// How long an access of `bytes` takes.
pub(super) fn span_of(config: &DramConfig, bytes: u64) -> Span {
    let row_bytes = u64::from(config.row_bytes);
    if bytes <= row_bytes {
        return config.opening() + config.span_of_data(bytes);
    }
    let (rows, rest) = (bytes / row_bytes, bytes % row_bytes);
    let whole = (config.span_of_data(row_bytes) + config.closing()) * (rows / 2);
    let period_ns = 1e3 / f64::from(config.clock_megahertz);
    let rest_ns = rest as f64 / (f64::from(config.transfer_bytes) * period_ns);
    whole + config.opening() * 2 + Span::from_ns(rest_ns as u64)
}
