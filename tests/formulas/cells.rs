//! The cells of the presets against what Flash-Cosmos states of its 160 chips (3.2, 5.1 and 5.2).

use bitline::inside::InsideConfig;
use bitline::{BlockQuality, Condition, Config, DEFAULT_PRESET, ProgramMode};

/// Cycles and retention times of Figure 8, as far as the text tells: up to 10,000 and a year.
const CYCLES: [f64; 6] = [0.0, 1000.0, 2000.0, 3000.0, 5000.0, 10_000.0];
const HOURS: [f64; 6] = [0.0, 168.0, 720.0, 2160.0, 4320.0, 8760.0];

fn config() -> Config {
    Config::preset(DEFAULT_PRESET).expect("it is there")
}

/// Cells after so many cycles and then hours.
fn worn(cycles: f64, hours: f64) -> Condition {
    Condition::FRESH.after_cycles(cycles).after_hours(hours)
}

/// Rates over all conditions, those of equal cycles together.
fn rates(config: &Config, mode: ProgramMode, randomized: bool) -> Vec<f64> {
    let at = |(cycles, hours)| {
        let condition = worn(cycles, hours).randomized(randomized);
        config.raw_bit_error_rate(mode, &condition, BlockQuality::Average)
    };
    let conditions = CYCLES
        .iter()
        .flat_map(|&cycles| HOURS.map(|hours| (cycles, hours)));
    conditions.map(at).collect()
}

fn mean_ratio(above: &[f64], below: &[f64]) -> f64 {
    let ratios = above.iter().zip(below).map(|(above, below)| above / below);
    ratios.sum::<f64>() / above.len() as f64
}

fn least_and_most(rates: &[f64]) -> (f64, f64) {
    let least = rates.iter().copied().fold(f64::MAX, f64::min);
    (least, rates.iter().copied().fold(0.0, f64::max))
}

/// `value` is within `percent` of what was published.
fn close(value: f64, published: f64, percent: f64) -> bool {
    (value / published - 1.0).abs() <= percent / 100.0
}

#[test]
fn single_and_multi_level_cells_err_as_figure_8_states() {
    let config = config();
    let of = |mode, randomized| rates(&config, mode, randomized);
    let (slc, slc_plain) = (of(ProgramMode::Slc, true), of(ProgramMode::Slc, false));
    let (mlc, mlc_plain) = (of(ProgramMode::Mlc, true), of(ProgramMode::Mlc, false));

    // "around 12 orders of magnitude" above a UBER of 1e-15 to 1e-16
    let orders = |rate: f64| [(rate / 1e-15).log10(), (rate / 1e-16).log10()];
    for rate in &slc {
        let [low, high] = orders(*rate);
        assert!(
            (11.0..13.0).contains(&low) && (12.0..14.0).contains(&high),
            "{rate}"
        );
    }
    let without = mean_ratio(&slc_plain, &slc);
    assert!(
        close(without, 1.91, 2.0),
        "SLC without randomization: {without}"
    );
    let without = mean_ratio(&mlc_plain, &mlc);
    assert!(
        close(without, 4.92, 2.0),
        "MLC without randomization: {without}"
    );
    let times = mlc.iter().zip(&slc).map(|(mlc, slc)| mlc / slc);
    let times: Vec<f64> = times.collect();
    assert!(
        close(least_and_most(&times).1, 4.0, 3.0),
        "up to 4 times SLC: {times:?}"
    );
    let (least, _) = least_and_most(&mlc);
    let (_, most) = least_and_most(&mlc_plain);
    assert!(
        close(least, 8.6e-4, 2.0) && close(most, 1.6e-2, 2.0),
        "{least} to {most}"
    );
}

/// The worst conditions of 5.1: a year at 30 degrees, 10,000 cycles, no randomization.
fn esp(config: &Config, effort: f64, block: BlockQuality) -> f64 {
    let condition = worn(10_000.0, 8760.0).randomized(false);
    let condition = condition.with_effort(effort);
    config.raw_bit_error_rate(ProgramMode::Esp, &condition, block)
}

#[test]
fn more_programming_steps_leave_as_few_errors_as_figure_11_states() {
    let config = config();
    let median = |effort| esp(&config, effort, BlockQuality::Median);
    let tenfold = median(1.0) / median(1.6);
    assert!(
        (9.0..12.0).contains(&tenfold),
        "an order of magnitude at +60 %: {tenfold}"
    );
    // "zero bit errors in ... more than 4.83e11 bits" at +90 % and above
    for effort in [1.9, 1.95, 2.0, 2.5, 10.0] {
        let expected = esp(&config, effort, BlockQuality::Average) * 4.83e11;
        assert!(expected < 0.05, "{expected} errors at {effort}");
        assert!(esp(&config, effort, BlockQuality::Worst) < 2.07e-12);
    }
    // Not yet at +80 %: the range would not be stated as it is.
    assert!(esp(&config, 1.7, BlockQuality::Average) * 4.83e11 > 1000.0);
    for effort in [1.0, 1.3, 1.6, 1.9] {
        let of = |block| esp(&config, effort, block);
        assert!(of(BlockQuality::Best) < of(BlockQuality::Median));
        assert!(of(BlockQuality::Median) < of(BlockQuality::Worst));
    }
    // Without additional steps it is what plain SLC is.
    let slc = worn(10_000.0, 8760.0).randomized(false);
    let slc = config.raw_bit_error_rate(ProgramMode::Slc, &slc, BlockQuality::Median);
    assert!(close(median(1.0), slc, 3.0));
}

/// Denser cells are worse, and QLC is for fewer cycles: after a thousand and a year its code is still enough.
#[test]
fn qlc_is_worse_than_tlc_and_corrected_for_a_year_after_a_thousand_cycles() {
    let config = config();
    let rate = |mode, cycles, hours| {
        config.raw_bit_error_rate(mode, &worn(cycles, hours), BlockQuality::Median)
    };
    for (cycles, hours) in [(0.0, 0.0), (1000.0, 8760.0), (3000.0, 8760.0)] {
        let [tlc, qlc] = [ProgramMode::Tlc, ProgramMode::Qlc].map(|mode| rate(mode, cycles, hours));
        assert!(qlc > tlc, "{cycles}, {hours}: {qlc:.1e}, {tlc:.1e}");
    }
    let ecc = &config.device().nand.ecc;
    let limit = f64::from(ecc.correctable_bits) / (8.0 * f64::from(ecc.codeword_bytes));
    assert!(rate(ProgramMode::Qlc, 1000.0, 8760.0) < limit);
    assert!(rate(ProgramMode::Qlc, 10_000.0, 8760.0) > limit);
    assert!(rate(ProgramMode::Tlc, 3000.0, 8760.0) < limit);
}

#[test]
fn every_preset_with_errors_has_the_same_cells_and_reads_fresh_pages_at_once() {
    for name in Config::preset_names() {
        let other = Config::preset(&name).expect("it is there");
        let cells = &other.device().nand.cells;
        if cells.errors == media::nand::cells::CellErrors::None {
            continue;
        }
        assert_eq!(cells, &config().device().nand.cells, "{name}");
        let worn = worn(3000.0, 0.0);
        let rate = other.raw_bit_error_rate(ProgramMode::Tlc, &worn, BlockQuality::Worst);
        let codeword = f64::from(other.device().nand.ecc.codeword_bytes) * 8.0;
        assert!(rate * codeword < f64::from(other.device().nand.ecc.correctable_bits) / 2.0);
    }
}
