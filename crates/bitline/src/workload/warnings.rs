//! What of a measurement is not to be taken at its face: a drive that was as new, a run that was still changing, a
//! range that is small beside the drive, a load that was too much.

use sim::Span;

use super::facts::{Facts, Offered, Room, Warning, WarningKind};
use super::report::Report;
use super::series::{Interval, Series};
use crate::sentences::{counted, thousands};

/// Shares of the namespace below which a range is small.
const RANGE_SHARE_MIN: f64 = 0.1;
/// An open loop is overloaded if it takes so much longer than its requests take to arrive,
const OVERTIME_MAX: f64 = 1.1;
/// and so many of its requests are in flight when the last one arrives, or had to wait until they were sent.
const BACKLOG_MAX: f64 = 0.05;
/// A die is what a load was too much for if it was busy for so much of the run, and all for so much less on average.
const BUSY_MIN: f64 = 0.9;
const LONELY_MAX: f64 = 0.5;
/// A drive with so many of its blocks in use was filled before.
const FILLED_MIN: f64 = 0.5;
/// Steady state by SNIA's Performance Test Specification (Enterprise 2.0, definition 2.1.24): over so many rounds
/// the figure keeps within so much of its mean, and so does the line fitted to it.
const ROUNDS: usize = 5;
const EXCURSION_MAX: f64 = 0.2;
const SLOPE_MAX: f64 = 0.1;
/// Fewer requests in a round say nothing of rates.
const ROUND_REQUESTS_MIN: u64 = 200;

/// All doubts about a run, which left the drive so much room.
pub(super) fn warnings(facts: &[Facts], report: &Report, room: Room) -> Vec<Warning> {
    let mut found = Vec::new();
    let mut warn = |kind, workload: Option<&Facts>, message| {
        found.push(Warning {
            kind,
            workload: workload.map(|facts| facts.name.clone()),
            message,
        });
    };
    for (number, facts) in facts.iter().enumerate() {
        let overloaded = facts.offered.and_then(|offered| {
            let arriving = offered.last.since(offered.begin);
            let load = Load {
                served: served_until(&report.series, number, arriving),
                dies: &report.utilization.dies,
            };
            overload(offered, facts.elapsed, load)
        });
        if let Some(message) = overloaded {
            warn(WarningKind::Overloaded, Some(facts), message);
        }
        if let Some(message) = small(facts) {
            warn(WarningKind::SmallRange, Some(facts), message);
        }
        if facts.is_closed
            && let Some(message) = changing_rate(&report.series, number, facts.elapsed)
        {
            warn(WarningKind::NotSteady, Some(facts), message);
        }
    }
    if report.written_bytes > 0 && report.gc_blocks == 0 {
        let message = nothing_collected(report.written_bytes, room);
        warn(WarningKind::NothingCollected, None, message);
    } else if let Some(message) = changing_amplification(&report.series) {
        warn(WarningKind::NotSteady, None, message);
    }
    found
}

fn nothing_collected(written_bytes: u64, room: Room) -> String {
    let megabytes = |bytes: u64| thousands(bytes as f64 / 1e6, 1);
    let written = megabytes(written_bytes);
    // Little was there before: what the drive lacks is a past.
    if room.used < FILLED_MIN {
        return format!(
            "nothing was collected: {written} MB written found room without it, so write amplification and latencies \
             are those of a drive not yet full; precondition the drive, or write more"
        );
    }
    format!(
        "nothing was collected: {written} MB written went to blocks that were free, and the run was shorter than these \
         last, so write amplification and latencies are those of the time before collection; write more, {} MB at most",
        megabytes(room.bytes.max(1))
    )
}

/// What was served of an open loop while its requests came, and by whom.
#[derive(Clone, Copy)]
struct Load<'a> {
    /// Requests completed a second while they came, if the series can tell.
    served: Option<f64>,
    /// The share of the run in which each die was busy.
    dies: &'a [f64],
}

/// Requests of a workload that completed in a second, over the intervals in the first `arriving` of a run.
fn served_until(series: &Series, number: usize, arriving: Span) -> Option<f64> {
    let intervals = series.intervals.iter();
    let within = intervals.take_while(|interval| interval.end_ns <= arriving.as_ns());
    let (mut requests, mut end_ns) = (0, 0.0);
    for interval in within {
        requests += interval.workloads[number].requests;
        end_ns = interval.end_ns;
    }
    (end_ns > 0.0).then(|| requests as f64 / end_ns * 1e9)
}

fn overload(offered: Offered, elapsed: Span, load: Load) -> Option<String> {
    let arriving = offered.last.since(offered.begin).as_seconds();
    let requests = offered.requests as f64;
    let is_behind = elapsed.as_seconds() > arriving * OVERTIME_MAX;
    let waits = |count: u64| count as f64 > requests * BACKLOG_MAX;
    if arriving == 0.0 || !is_behind || !(waits(offered.in_flight) || waits(offered.held)) {
        return None;
    }
    let came = requests / arriving;
    let served = load.served.unwrap_or(requests / elapsed.as_seconds());
    let most = load.dies.iter().copied().enumerate();
    let (die, most) = most.fold((0, 0.0), |a, b| if b.1 > a.1 { b } else { a });
    let mean = load.dies.iter().sum::<f64>() / load.dies.len().max(1) as f64;
    let one_die = match most >= BUSY_MIN && mean <= most * LONELY_MAX {
        true => format!(
            "die {die} was busy for {} of the run, all dies for {} on average, so it is that die that was too slow: \
             spread the addresses, or ask for less",
            percent(most),
            percent(mean)
        ),
        false => "ask for less".to_owned(),
    };
    Some(format!(
        "overloaded: {} requests a second came and {} were served meanwhile; {} of them had to wait until they were \
         sent, and {} were in flight when the last one was, so latencies depend on how long the run is; {one_die}",
        thousands(came, 0),
        thousands(served, 0),
        percent(offered.held as f64 / requests),
        thousands(offered.in_flight as f64, 0),
    ))
}

fn small(facts: &Facts) -> Option<String> {
    let range = facts.range?;
    if range.pages < range.planes {
        return Some(format!(
            "a range of {} keeps at most as many of the {} busy",
            counted(range.pages, "logical page"),
            counted(range.planes, "plane")
        ));
    }
    let share = range.blocks as f64 / range.namespace_blocks as f64;
    if share >= RANGE_SHARE_MIN || !(range.is_cached || facts.written_bytes > 0) {
        return None;
    }
    Some(format!(
        "its range is {} of the namespace: write amplification, wear and hits in caches are those of so small a range",
        percent(share)
    ))
}

/// A share, with as many digits as it needs to be told from nothing.
fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "none".to_owned(),
        percent if percent >= 0.1 => format!("{percent:.1} %"),
        percent if percent >= 0.001 => format!("{percent:.3} %"),
        _ => "less than 0.001 %".to_owned(),
    }
}

/// What five rounds of a figure in the second half of a run were like.
fn unsteady(rounds: &[f64; ROUNDS]) -> bool {
    let mean = rounds.iter().sum::<f64>() / ROUNDS as f64;
    let most = rounds.iter().copied().fold(f64::MIN, f64::max);
    let least = rounds.iter().copied().fold(f64::MAX, f64::min);
    // The line of least squares, whose abscissae are -2, -1, 0, 1, 2: from one end to the other.
    let slope: f64 = rounds
        .iter()
        .zip(-2i32..)
        .map(|(y, x)| y * f64::from(x))
        .sum::<f64>()
        / 10.0;
    let rise = (slope * (ROUNDS - 1) as f64).abs();
    most - least > mean * EXCURSION_MAX || rise > mean * SLOPE_MAX
}

/// The intervals of each round, the second half of the first `elapsed` of a run; none if there are too few.
fn rounds(series: &Series, elapsed: Span) -> Option<[Vec<&Interval>; ROUNDS]> {
    let elapsed = elapsed.as_ns();
    let mut rounds: [Vec<&Interval>; ROUNDS] = Default::default();
    for interval in &series.intervals {
        let middle = f64::midpoint(interval.begin_ns, interval.end_ns);
        let place = (middle / elapsed - 0.5) * 2.0 * ROUNDS as f64;
        let is_whole = interval.end_ns - interval.begin_ns >= series.interval_ns * 0.999
            && interval.end_ns <= elapsed;
        if (0.0..ROUNDS as f64).contains(&place) && is_whole {
            rounds[place as usize].push(interval);
        }
    }
    rounds
        .iter()
        .all(|round| !round.is_empty())
        .then_some(rounds)
}

fn changing_rate(series: &Series, number: usize, elapsed: Span) -> Option<String> {
    let rounds = rounds(series, elapsed)?;
    let mut rates = [0.0; ROUNDS];
    for (rate, round) in rates.iter_mut().zip(&rounds) {
        let requests: u64 = round
            .iter()
            .map(|interval| interval.workloads[number].requests)
            .sum();
        if requests < ROUND_REQUESTS_MIN {
            return None;
        }
        let ns: f64 = round
            .iter()
            .map(|interval| interval.end_ns - interval.begin_ns)
            .sum();
        *rate = requests as f64 / ns * 1e9;
    }
    unsteady(&rates).then(|| changing("requests a second were", &rates, 0))
}

fn changing_amplification(series: &Series) -> Option<String> {
    let end = series.intervals.last()?.end_ns;
    let writes = |intervals: &mut dyn Iterator<Item = &Interval>| -> u64 {
        let workloads = intervals.flat_map(|interval| &interval.workloads);
        let writes = workloads.filter_map(|workload| workload.write.map(|write| write.count));
        writes.sum()
    };
    let all = writes(&mut series.intervals.iter());
    let least = 2 * ROUNDS as u64 * ROUND_REQUESTS_MIN;
    if all > 0 && all < least {
        return Some(format!(
            "too short to tell whether it came to a steady state: {all} writes, of which {least} would say something"
        ));
    }
    let rounds = rounds(series, Span::from_ns(end as u64))?;
    let mut amplifications = [0.0; ROUNDS];
    for (amplification, round) in amplifications.iter_mut().zip(&rounds) {
        let sum =
            |of: &dyn Fn(&Interval) -> f64| round.iter().map(|interval| of(interval)).sum::<f64>();
        if writes(&mut round.iter().copied()) < ROUND_REQUESTS_MIN / 2 {
            return None;
        }
        // Programmed is what was written times the amplification.
        let programmed =
            |interval: &Interval| written(interval) * interval.write_amplification.unwrap_or(0.0);
        *amplification = sum(&programmed) / sum(&written);
    }
    unsteady(&amplifications).then(|| changing("write amplification was", &amplifications, 2))
}

fn written(interval: &Interval) -> f64 {
    let workloads = interval.workloads.iter();
    workloads
        .map(|workload| workload.written_bytes as f64)
        .sum()
}

fn changing(what: &str, rounds: &[f64; ROUNDS], digits: usize) -> String {
    let told: Vec<String> = rounds
        .iter()
        .map(|round| thousands(*round, digits))
        .collect();
    format!(
        "no steady state: in five rounds of the run's second half, {what} {}; SNIA's is within 20 % with a slope \
         within 10 %. Precondition the drive, or run longer",
        told.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::facts::RangeFacts;
    use sim::Time;

    #[test]
    fn steady_is_what_snia_says() {
        // Means of 100, so that shares are what the numbers say.
        assert!(!unsteady(&[100.0, 91.0, 109.0, 91.0, 100.0]));
        assert!(unsteady(&[89.0, 111.0, 100.0, 111.0, 89.0]), "22 % apart");
        assert!(
            !unsteady(&[95.5, 97.75, 100.0, 102.25, 104.5]),
            "rises by 9 %"
        );
        assert!(
            unsteady(&[94.0, 97.0, 100.0, 103.0, 106.0]),
            "rises by 12 %"
        );
    }

    #[test]
    fn overload_is_a_queue_that_grows() {
        let offered = |in_flight, held| Offered {
            begin: Time::ZERO,
            requests: 1000,
            last: Time::from_ps(1_000_000_000_000),
            in_flight,
            held,
        };
        let elapsed = |seconds: f64| Span::from_ps((seconds * 1e12) as u64);
        let load = Load {
            served: None,
            dies: &[0.5, 0.6],
        };
        let overload = |offered, elapsed| overload(offered, elapsed, load);
        assert!(overload(offered(500, 0), elapsed(2.0)).is_some());
        assert!(overload(offered(10, 400), elapsed(2.0)).is_some());
        assert!(
            overload(offered(500, 0), elapsed(1.05)).is_none(),
            "a burst at the end"
        );
        assert!(
            overload(offered(10, 0), elapsed(2.0)).is_none(),
            "one slow request"
        );
    }

    #[test]
    fn overload_tells_what_was_seen() {
        let offered = Offered {
            begin: Time::ZERO,
            requests: 20_000,
            last: Time::from_ps(1_000_000_000_000),
            in_flight: 64,
            held: 10_000,
        };
        let told = |dies: &[f64]| {
            let load = Load {
                served: Some(1234.0),
                dies,
            };
            overload(offered, Span::from_ps(2_000_000_000_000), load).expect("it is")
        };
        let even = told(&[0.95, 0.94]);
        let start = "overloaded: 20,000 requests a second came and 1,234 were served meanwhile; 50.0 % of them had to \
                     wait until they were sent, and 64 were in flight";
        assert!(even.starts_with(start), "{even}");
        assert!(even.ends_with("; ask for less"), "{even}");
        let one = told(&[0.01, 0.97, 0.0, 0.02]);
        assert!(
            one.contains("die 1 was busy for 97.0 % of the run"),
            "{one}"
        );
        assert!(one.contains("all dies for 25.0 % on average"), "{one}");
    }

    #[test]
    fn a_range_of_few_pages_is_told_in_words() {
        let range = RangeFacts {
            blocks: 8,
            namespace_blocks: 100,
            pages: 1,
            planes: 128,
            is_cached: false,
        };
        let facts = |pages| Facts {
            name: String::new(),
            range: Some(RangeFacts { pages, ..range }),
            is_closed: true,
            offered: None,
            elapsed: Span::ZERO,
            written_bytes: 0,
        };
        let told = small(&facts(1)).expect("one of 128");
        assert!(
            told.starts_with("a range of 1 logical page keeps"),
            "{told}"
        );
        let told = small(&facts(127)).expect("one too few");
        assert!(told.contains("127 logical pages keeps"), "{told}");
        assert_eq!(small(&facts(128)), None);
    }

    #[test]
    fn a_drive_that_was_filled_is_not_told_to_be_filled() {
        let room = |used| Room {
            used,
            bytes: 5_000_000_000,
        };
        assert!(nothing_collected(1_000_000, room(0.1)).contains("precondition the drive"));
        let filled = nothing_collected(1_000_000, room(0.9));
        assert!(!filled.contains("precondition"), "{filled}");
        assert!(
            filled.ends_with("write more, 5,000.0 MB at most"),
            "{filled}"
        );
    }
}
