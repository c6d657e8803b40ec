//! Accesses through the whole part: MQSim's times, several addresses, energy.

use sim::Simulation;

use super::*;

/// Whose the memory itself is, and two who use it.
const DRIVE: Tenant = Tenant(0);
const USER: Tenant = Tenant(3);
const OTHER: Tenant = Tenant(5);

/// The DRAM of MQSim's default configuration.
fn mqsim_config() -> DramConfig {
    DramConfig {
        timing: DramTiming::Mqsim,
        capacity_bytes: 1 << 29,
        channels: 1,
        ranks: 1,
        banks: 1,
        row_bytes: 8192,
        interleave: Interleave::Banks,
        row_policy: RowPolicy::Closed,
        clock_megahertz: 100,
        transfer_bytes: 1,
        burst_transfers: 1,
        t_rcd_ns: 13,
        t_cl_ns: 13,
        t_rp_ns: 13,
        t_ras_ns: 0,
        t_refi_ns: 0,
        t_rfc_ns: 0,
        activate_pj: 900,
        read_pj_per_byte: 40,
        write_pj_per_byte: 50,
        refresh_pj: 7,
    }
}

fn dram(config: &DramConfig) -> (Rc<Dram>, Ledger, Simulation) {
    let (simulation, ledger) = (Simulation::new(1), Ledger::default());
    (
        Dram::new(&simulation.handle(), config, &ledger, DRIVE),
        ledger,
        simulation,
    )
}

fn ns(time: Time) -> f64 {
    time.as_ns()
}

#[test]
fn one_bank_closed_and_never_refreshed_is_the_simple_memory() {
    // Each row opened, moved and closed in turn: what MQSim means within a row, and beyond it does not.
    for timing in [DramTiming::Banks, DramTiming::Mqsim] {
        for (bytes, data) in [(512, 2_560.0), (4096, 20_480.0), (8192, 40_960.0)] {
            let config = DramConfig {
                timing,
                ..mqsim_config()
            };
            let (dram, _ledger, _sim) = dram(&config);
            assert_eq!(ns(dram.post(USER, 0, bytes, Toward::Reader)), 26.0 + data);
        }
    }
    let config = DramConfig {
        timing: DramTiming::Banks,
        ..mqsim_config()
    };
    let (dram, _ledger, _sim) = dram(&config);
    let row = 26.0 + 40_960.0;
    assert_eq!(
        ns(dram.post(USER, 0, 16_384, Toward::Reader)),
        row + 13.0 + row
    );
}

#[test]
fn mqsim_counts_every_other_row_and_serves_one_access_at_a_time() {
    for (bytes, takes) in [
        (16_384, 40_973.0 + 52.0),
        (131_072, 8.0 * 40_973.0 + 52.0),
        (12_288, 52.0 + 409.0),
    ] {
        let (dram, _ledger, _sim) = dram(&mqsim_config());
        assert_eq!(ns(dram.post(USER, 5, bytes, Toward::Reader)), takes);
        let second = dram.post(USER, 1 << 20, 512, Toward::Cells);
        assert_eq!(ns(second), takes + 2_586.0);
        assert_eq!(dram.busy().as_ns(), takes + 2_586.0);
    }
}

#[test]
fn scattered_accesses_are_one_access_for_mqsim_and_rows_apart_for_banks() {
    let mut config = mqsim_config();
    let (serial, _ledger, _sim) = dram(&config);
    let mut access = ScatteredAccess::default();
    serial.add(&mut access, USER, 0, 4096, Toward::Cells);
    serial.add(&mut access, USER, 1 << 20, 8192, Toward::Cells);
    assert_eq!(serial.post_scattered(access).map(ns), Some(52.0 + 409.0));
    assert_eq!(serial.post_scattered(ScatteredAccess::default()), None);
    (config.timing, config.banks) = (DramTiming::Banks, 8);
    let (banks, _ledger, _sim) = dram(&config);
    let mut access = ScatteredAccess::default();
    banks.add(&mut access, USER, 0, 4096, Toward::Cells);
    banks.add(&mut access, USER, 8192, 8192, Toward::Cells);
    let expected = 26.0 + 20_480.0 + 40_960.0;
    assert_eq!(banks.post_scattered(access).map(ns), Some(expected));
}

#[test]
fn energy_is_booked_for_data_rows_and_refreshes() {
    let config = DramConfig {
        timing: DramTiming::Banks,
        row_policy: RowPolicy::Open,
        t_refi_ns: 3_900,
        t_rfc_ns: 280,
        ranks: 2,
        ..mqsim_config()
    };
    let (dram, ledger, simulation) = dram(&config);
    let sim = simulation.handle();
    dram.post(USER, 0, 100, Toward::Reader);
    let last = dram.post(OTHER, 0, 10, Toward::Cells);
    simulation.run_until(last + Span::from_ns(39_000));
    let accounts: Vec<_> = ledger
        .accounts()
        .iter()
        .map(|account| (account.cause, account.energy.as_pj(), account.events))
        .collect();
    let refreshes = 2 * (sim.now().as_ps() / 3_900_000);
    let expected = [
        ("data", 100 * 40 + 10 * 50, 2),
        ("activation", 900, 1),
        ("refresh", 7 * refreshes, refreshes),
    ];
    assert_eq!(accounts, expected);
    assert_eq!(refreshes, 20);
    // Each pays what it moves, whoever opens a row the row, and the drive that it is refreshed.
    let spent = [USER, OTHER, DRIVE].map(|tenant| ledger.spent_for(tenant).as_pj());
    assert_eq!(spent, [100 * 40 + 900, 10 * 50, 7 * refreshes]);
    assert_eq!(ledger.total().as_pj(), spent.iter().sum::<u64>());
}

#[test]
fn numbers_that_make_no_memory_are_refused_by_name() {
    type Change = fn(&mut DramConfig);
    let wrong: [(&str, Change); 5] = [
        ("banks = 0 is", |config| config.banks = 0),
        ("t_rfc_ns = 2000 is", |config| {
            (config.t_refi_ns, config.t_rfc_ns) = (3_900, 2_000);
        }),
        ("row_bytes = 8192 is", |config| config.burst_transfers = 24),
        ("capacity_bytes = 536870912 is", |config| config.banks = 7),
        ("capacity_bytes = 0 is", |config| config.capacity_bytes = 0),
    ];
    assert_eq!(mqsim_config().validate(), Ok(()));
    for (message, change) in wrong {
        let mut config = mqsim_config();
        change(&mut config);
        let refused = config.validate().expect_err(message).to_string();
        assert!(refused.starts_with(message), "{refused}");
    }
}
