//! Rows, banks, refreshes and buses, to the picosecond.

use super::*;
use crate::dram::{DramTiming, Interleave};

/// LPDDR4-1866 on a bus of 32 bits: 1024 bytes take 137.192 ns.
fn config() -> DramConfig {
    DramConfig {
        timing: DramTiming::Banks,
        capacity_bytes: 1 << 31,
        channels: 1,
        ranks: 1,
        banks: 8,
        row_bytes: 8192,
        interleave: Interleave::Banks,
        row_policy: RowPolicy::Open,
        clock_megahertz: 1000,
        transfer_bytes: 4,
        burst_transfers: 16,
        t_rcd_ns: 18,
        t_cl_ns: 17,
        t_rp_ns: 19,
        t_ras_ns: 42,
        t_refi_ns: 0,
        t_rfc_ns: 0,
        activate_pj: 0,
        read_pj_per_byte: 0,
        write_pj_per_byte: 0,
        refresh_pj: 0,
    }
}

const ROW: u64 = 8192;

fn at(nanoseconds: u64) -> Time {
    Time::from_ps(1000 * nanoseconds)
}

/// The ends of accesses (when, where, bytes), in nanoseconds.
fn ends<const N: usize>(config: &DramConfig, accesses: [(u64, u64, u64); N]) -> [u64; N] {
    let mut banks = Banks::new(config);
    accesses.map(|(when, address, bytes)| {
        let end = banks.access(at(when), address, bytes, |_| {}).as_ps();
        assert_eq!(end % 1000, 0);
        end / 1000
    })
}

#[test]
fn rows_that_are_open_are_spared_the_activation() {
    // Opened, 64 bytes in 8 ns; then a hit; then another row of the bank.
    let eight = 8 * ROW;
    let served = ends(&config(), [(0, 0, 64), (100, 64, 64), (200, eight, 64)]);
    assert_eq!(served, [18 + 17 + 8, 100 + 17 + 8, 200 + 19 + 18 + 17 + 8]);
}

#[test]
fn a_row_is_closed_no_sooner_than_t_ras_and_its_data_allow() {
    let eight = 8 * ROW;
    // Data has moved at 43, tRAS is over at 42.
    let served = ends(&config(), [(0, 0, 64), (0, eight, 64)]);
    assert_eq!(served, [43, 43 + 19 + 18 + 17 + 8]);
    let mut slow = config();
    slow.t_ras_ns = 60;
    assert_eq!(ends(&slow, [(0, 0, 64), (0, eight, 64)])[1], 60 + 62);
    slow.row_policy = RowPolicy::Closed;
    let served = ends(&slow, [(0, 0, 64), (70, 0, 64), (200, 0, 64)]);
    assert_eq!(served, [43, 60 + 19 + 43, 243], "closed at once, in time");
}

#[test]
fn banks_prepare_their_rows_while_the_bus_is_busy() {
    let data = 1024; // 8192 bytes
    let two = [(0, 0, ROW), (0, ROW, ROW)];
    assert_eq!(ends(&config(), two), [35 + data, 35 + 2 * data]);
    let mut filled = config();
    filled.interleave = Interleave::Rows;
    // Both in one bank: the second waits for the first to be closed.
    assert_eq!(ends(&filled, two)[1], 35 + data + 19 + 35 + data);
    let mut channels = config();
    channels.channels = 2;
    assert_eq!(ends(&channels, two), [35 + data, 35 + data]);
}

#[test]
fn an_access_takes_whole_bursts_and_goes_row_after_row() {
    assert_eq!(ends(&config(), [(0, 10, 1)]), [35 + 8]);
    assert_eq!(ends(&config(), [(0, 60, 8)]), [35 + 16], "two bursts");
    assert_eq!(ends(&config(), [(0, ROW - 64, 128)]), [35 + 16], "two rows");
    let mut banks = Banks::new(&config());
    banks.access(at(0), 0, 4 * ROW, |_| {});
    assert_eq!(
        (banks.activations(), banks.busy()),
        (4, Span::from_ns(4096))
    );
}

#[test]
fn an_access_waits_for_a_refresh_and_finds_rows_closed() {
    let mut config = config();
    (config.t_refi_ns, config.t_rfc_ns) = (3_900, 280);
    let served = ends(&config, [(3_000, 0, 64), (3_899, 64, 64), (3_901, 0, 64)]);
    // The second was there before the refresh fell due, which waits for it.
    assert_eq!(served[..2], [3_043, 3_899 + 25]);
    assert_eq!(served[2], 3_924 + 19 + 280 + 35 + 8);
    assert_eq!(ends(&config, [(4_000, 0, 64)]), [4_180 + 43], "in time");
    assert_eq!(ends(&config, [(4_500, 0, 64)]), [4_543], "over");
}

#[test]
fn reading_on_and_on_gets_the_bandwidth_that_refreshes_leave() {
    let mut config = config();
    (config.t_refi_ns, config.t_rfc_ns) = (3_900, 280);
    let mut banks = Banks::new(&config);
    let rows = 50_000;
    let ends = (0..rows).map(|row| banks.access(Time::ZERO, row * ROW, ROW, |_| {}));
    let last = ends.last().expect("rows were read");
    let rate = (rows * ROW) as f64 / last.as_seconds();
    // Of each interval a refresh takes tRFC, and closing and opening a row around it.
    let share = 1.0 - f64::from(280 + 19 + 35) / 3_900.0;
    let expected = 8e9 * share;
    assert!((rate / expected - 1.0).abs() < 0.005, "{rate} {expected}");
}

#[test]
fn every_row_has_one_place() {
    for interleave in [Interleave::Banks, Interleave::Rows] {
        let small = DramConfig {
            capacity_bytes: 2 * 2 * 4 * 16 * ROW,
            channels: 2,
            ranks: 2,
            banks: 4,
            interleave,
            ..config()
        };
        let rows = (0..256).map(|row| small.row_of(row * ROW + 5));
        let places: std::collections::HashSet<_> = rows.collect();
        assert_eq!(places.len(), 256);
        for place in places {
            assert!(place.channel < 2 && place.rank < 2 && place.bank < 4 && place.row < 16);
        }
    }
}
