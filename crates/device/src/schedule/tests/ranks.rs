//! Requests in the order of their ranks (TH-iSSD 3.3), what they may not overtake, and for how long.

use sim::{Keep, Random};

use super::*;

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

fn ranking() -> ScheduleConfig {
    ScheduleConfig {
        policy: Policy::PriorityAware,
        piece_max_us: 1,
        ..config()
    }
}

/// A request of so many bytes that was given `a`.
fn request(a: u32, bytes: u64) -> Origin {
    user(Priority::High).ranked(Rank::of(a, bytes))
}

fn stream(bytes: u64) -> Origin {
    user(Priority::High)
        .ranked(Rank::given(0))
        .in_storage(bytes)
}

fn compute_of(bench: &Bench, block: u32, senses: usize, origin: Origin) -> Compute {
    Compute {
        origin,
        ..bench.compute(block, senses, Priority::High)
    }
}

/// What a die's track shows: names of slices and their ends, in nanoseconds, in order.
fn track(bench: &Bench, die: u32) -> Vec<(String, u64)> {
    let sim = bench.simulation.handle();
    let mut json = Vec::new();
    sim.trace()
        .write_json(sim.now(), &mut json)
        .expect("a trace");
    let json = String::from_utf8(json).expect("text");
    let field = |event: &str, key: &str| {
        let value = event.split(&format!("\"{key}\":")).nth(1)?;
        let value = value.split([',', '}']).next()?;
        Some(value.trim_matches('"').to_owned())
    };
    // The name of a thread is an object of its own.
    let events: Vec<&str> = json.split("{\"name\":").skip(1).collect();
    let mut pairs = events.windows(2);
    let named = pairs.find(|pair| {
        pair[0].starts_with("\"thread_name\"") && pair[1].starts_with(&format!("\"die {die}\""))
    });
    let thread = named.expect("the die has a track")[0];
    let place = |event: &str| (field(event, "pid"), field(event, "tid"));
    let slices = events
        .iter()
        .filter(|event| event.contains("\"ph\":\"X\"") && place(event) == place(thread));
    let ns = |event: &str, key| {
        let us: f64 = field(event, key)?.parse().ok()?;
        Some(us * 1000.0)
    };
    let mut slices: Vec<_> = slices
        .map(|event| {
            let name = event.split('"').nth(1).expect("a name").to_owned();
            let end = ns(event, "ts").zip(ns(event, "dur"));
            let (begin, span) = end.expect("a slice has both");
            (name, (begin + span).round() as u64)
        })
        .collect();
    slices.sort_by_key(|(_, end)| *end);
    slices
}

#[test]
fn the_three_requests_of_figure_5_go_in_its_order() {
    let bench = Bench::new(&ranking());
    let sim = bench.simulation.handle();
    sim.trace().start(sim.now(), Keep::All);
    let [compute, write, read] = [request(0, 3 * GIB), request(0, MIB), request(2000, 2 * MIB)];
    // Step 1: the compute request is divided over dies, and that of a die into three parts.
    let parts = [0, DIE].map(|block| {
        let part = compute_of(&bench, block, 3, compute);
        bench.at(0, block, part)
    });
    // Steps 2 and 3: both come while the first part is under way.
    let program = bench.program(1, 0, write);
    let written = bench.at(1_000, 1, program);
    let read = bench.at(2_000, 3, bench.read(3, 0, read));
    bench.run();
    let names = |die| track(&bench, die).into_iter().map(|(name, _)| name);
    let order: Vec<String> = names(0).collect();
    // P0; the read, as soon as that is over; the write; P1 and P2. Latches are moved between.
    let work = order
        .iter()
        .map(String::as_str)
        .filter(|name| ["read", "program"].contains(name));
    assert_eq!(
        work.collect::<Vec<_>>(),
        ["read", "read", "program", "read", "read"],
        "{order:?}"
    );
    let ends: Vec<u64> = track(&bench, 0)
        .into_iter()
        .filter(|(name, _)| name == "program")
        .map(|(_, end)| end)
        .collect();
    assert!(ended(&read) < ended(&written) && ends == [ended(&written)]);
    assert!(ended(&written) < ended(&parts[0]));
    // The other die does what it would without them.
    assert_eq!(names(1).collect::<Vec<_>>(), ["read"; 3]);
    assert!(ended(&parts[1]) < ended(&parts[0]));
    assert_eq!(bench.schedule.counts().computations_interrupted, 1);
}

#[test]
fn what_waits_goes_by_rank_and_equals_as_they_came() {
    let mut config = ranking();
    config.multi_plane = false;
    let bench = Bench::new(&config);
    bench.read_at(0, 0, 0);
    let sizes = [GIB, 4096, 2 * GIB, MIB, 4096, GIB, 65536, MIB];
    let reads: Vec<_> = (0..)
        .zip(sizes)
        .map(|(number, bytes)| {
            let read = bench.read(1 + number as u32 % 4, 0, request(0, bytes));
            (bytes, number, bench.at(100 + number, 1, read))
        })
        .collect();
    bench.run();
    let mut order: Vec<_> = reads
        .iter()
        .map(|(bytes, number, read)| (ended(read), *bytes, *number))
        .collect();
    order.sort_unstable();
    let order = order.into_iter().map(|(_, bytes, number)| (bytes, number));
    assert!(order.is_sorted());
}

#[test]
fn a_computation_gives_way_to_higher_ranks_only_and_goes_on_before_its_equals() {
    for (bytes, first) in [(4096, true), (GIB, false), (2 * GIB, false)] {
        let bench = Bench::new(&ranking());
        let one = compute_of(&bench, 0, 8, request(0, GIB));
        let equal = compute_of(&bench, 1, 8, request(0, GIB));
        let one = bench.at(0, 0, one);
        let equal = bench.at(1, 0, equal);
        let read = bench.at(60_000, 3, bench.read(3, 0, request(0, bytes)));
        bench.run();
        assert_eq!(ended(&read) < ended(&one), first, "{bytes} bytes");
        assert!(ended(&one) < ended(&equal));
        let interrupted = bench.schedule.counts().computations_interrupted;
        assert_eq!(interrupted, u64::from(first));
    }
}

#[test]
fn a_computation_of_a_higher_rank_goes_between_the_pieces_of_another() {
    for (early, late) in [(0, 1), (1, 0), (1, 1)] {
        let bench = Bench::new(&ranking());
        let [one, other] = [early, late].map(|a| compute_of(&bench, 0, 8, request(a, GIB)));
        let (one, other) = (bench.at(0, 0, one), bench.at(1, 0, other));
        bench.run();
        assert_eq!(ended(&other) < ended(&one), late > early);
    }
}

#[test]
fn a_computation_that_has_room_goes_before_those_that_wait_for_it() {
    for policy in [Policy::PriorityAware, Policy::PriorityClasses] {
        let mut config = ranking();
        config.policy = policy;
        has_room(&config);
    }
}

fn has_room(config: &ScheduleConfig) {
    let bench = Bench::new(config);
    let room = Rc::new(sim::resource::Semaphore::new(&bench.simulation.handle(), 0));
    let compute = |a: u32| Compute {
        room: Some(room.clone()),
        origin: user(Priority::ALL[3 - a as usize]).ranked(Rank::of(a, GIB)),
        ..compute_of(&bench, 0, 2, request(a, GIB))
    };
    let low = bench.at(0, 0, compute(0));
    // Both come when the first has done its steps and waits for room.
    let high = bench.at(READ * 4, 0, compute(3));
    let middle = bench.at(READ * 4, 0, compute(1));
    bench.run();
    for over in [&low, &high, &middle] {
        assert_eq!(over.get(), None, "there is no room");
        room.release(1);
        bench.run();
        ended(over);
    }
}

#[test]
fn programs_of_a_block_stay_in_order_whatever_their_ranks() {
    let bench = Bench::new(&ranking());
    // Something in the way, so that all wait together.
    bench.read_at(0, 4, 0);
    let sizes = [4 * GIB, MIB, GIB, 4096].into_iter();
    let programs = (0..).zip(sizes).flat_map(|(page, bytes)| {
        // Blocks of both planes, whose programs go together.
        [0, 8].map(|block| {
            let program = bench.program(block, page, request(0, bytes));
            (block, bench.at(100 + u64::from(page), block, program))
        })
    });
    let programs: Vec<_> = programs.collect();
    bench.run();
    for block in [0, 8] {
        let of_block = programs.iter().filter(|(of, _)| *of == block);
        let ends: Vec<_> = of_block.map(|(_, program)| ended(program)).collect();
        assert!(ends.is_sorted(), "{ends:?}");
    }
    assert_eq!(bench.schedule.counts().multi_plane_programs, 4);
}

#[test]
fn an_erase_overtakes_nothing_of_its_block_whatever_the_ranks() {
    for urgent in [false, true] {
        let bench = Bench::new(&ranking());
        let programmed = bench.at(0, 0, bench.program(0, 0, Origin::default()));
        bench.run();
        let begin = ended(&programmed);
        bench.schedule.set_collection_urgent(PlaneId(0), urgent);
        bench.read_at(begin, 4, 0);
        let low = bench.at(begin + 1, 0, bench.read(0, 0, request(0, 4 * GIB)));
        let copy = Copyback {
            from: address(0, 0),
            to: address(1, 0),
            mode: ProgramMode::Slc,
            spare: SpareBytes::new().into(),
            origin: Origin::own(tenants::COLLECTION),
        };
        let copied = bench.at(begin + 2, 0, copy);
        let erased = bench.at(begin + 3, 0, erase(0));
        let later = bench.at(begin + 4, 5, bench.read(5, 0, request(0, 4 * GIB)));
        bench.run();
        let before = ended(&low).max(ended(&copied));
        assert!(before < ended(&erased), "urgent: {urgent}");
        assert_eq!(ended(&erased) < ended(&later), urgent);
    }
}

#[test]
fn nothing_of_a_low_rank_is_overtaken_more_often_than_allowed() {
    for (bypass_max, overtaking) in [(0, 60), (3, 3), (10, 10)] {
        let mut config = ranking();
        config.bypass_max = bypass_max;
        let bench = Bench::new(&config);
        bench.read_at(0, 0, 0);
        // In the same queue as what overtakes it.
        let low = bench.at(1, 0, bench.read(3, 1, request(0, GIB)));
        let high: Vec<_> = (0..60)
            .map(|number| {
                let read = bench.read(3, 0, request(0, 4096));
                bench.at(2 + number * READ / 2, 0, read)
            })
            .collect();
        bench.run();
        let over = ended(&low);
        let before = high.iter().filter(|read| ended(read) < over).count();
        assert_eq!(before, overtaking, "bypass_max = {bypass_max}");
    }
}

#[test]
fn a_computation_that_stands_back_goes_on_when_it_was_overtaken_often_enough() {
    let mut config = ranking();
    config.bypass_max = 4;
    let bench = Bench::new(&config);
    let compute = compute_of(&bench, 0, 4, request(0, GIB));
    let computed = bench.at(0, 0, compute);
    let reads: Vec<_> = (0..60)
        .map(|number| {
            // Of the other plane, so that latches stay where they are.
            let read = bench.read(11, 0, request(0, 4096));
            bench.at(1 + number, 0, read)
        })
        .collect();
    bench.run();
    let over = ended(&computed);
    let before = reads.iter().filter(|read| ended(read) < over).count();
    assert_eq!(before, 3 * 4, "between its four pieces");
}

#[test]
fn streams_have_the_share_of_a_die_that_they_are_guaranteed() {
    for percent in [0, 10, 25, 50] {
        let mut config = ranking();
        (config.isp_share_percent, config.multi_plane) = (percent, false);
        let bench = Bench::new(&config);
        let host: Vec<_> = (0..400)
            .map(|number| {
                let read = bench.read(number as u32 % 16, 0, request(0, 4096));
                bench.at(number * READ / 2, 0, read)
            })
            .collect();
        let stream: Vec<_> = (0..800)
            .map(|number| {
                let read = bench.read(number as u32 % 16, 0, stream(GIB));
                bench.at(1, 0, read)
            })
            .collect();
        bench.run();
        // While both wait: the host asks for twice what the die can give.
        let last = host.iter().map(ended).max().expect("there are some");
        let beside = stream.iter().filter(|read| ended(read) < last).count() as f64;
        let share = beside / (beside + 400.0);
        let expected = f64::from(percent) / 100.0;
        assert!((share - expected).abs() < 0.01, "{percent} %: {share}");
    }
}

#[test]
fn nothing_is_owed_to_streams_for_a_time_in_which_they_asked_for_nothing() {
    let mut config = ranking();
    (config.isp_share_percent, config.multi_plane) = (50, false);
    let bench = Bench::new(&config);
    let host: Vec<_> = (0..100)
        .map(|number| bench.at(number, 0, bench.read(3, 0, request(0, 4096))))
        .collect();
    let stream: Vec<_> = (0..100)
        .map(|_| bench.at(50 * READ, 0, bench.read(4, 0, stream(GIB))))
        .collect();
    bench.run();
    let last = host.iter().map(ended).max().expect("there are some");
    let beside = stream.iter().filter(|read| ended(read) < last).count();
    assert!(
        (48..=50).contains(&beside),
        "half of what was left: {beside}"
    );
}

#[test]
fn what_streams_had_alone_is_held_against_them_for_a_millisecond_of_it() {
    // Before the host comes they have the die for themselves, for half a millisecond or for ten.
    for (alone, owed) in [(500_000, 500_000), (10_000_000, 1_000_000)] {
        let mut config = ranking();
        (config.isp_share_percent, config.multi_plane) = (50, false);
        let bench = Bench::new(&config);
        let stream: Vec<_> = (0..1_000)
            .map(|_| bench.at(0, 0, bench.read(4, 0, stream(GIB))))
            .collect();
        let host: Vec<_> = (0..200)
            .map(|_| bench.at(alone, 0, bench.read(3, 0, request(0, 4096))))
            .collect();
        bench.run();
        // With half of the time each, the host has as much before the first of theirs.
        let next = stream
            .iter()
            .map(ended)
            .filter(|end| *end > alone + 2 * READ);
        let next = next.min().expect("they go on");
        let before = host.iter().filter(|read| ended(read) < next).count() as u64;
        let expected = owed / READ;
        assert!(
            before.abs_diff(expected) <= 2,
            "{alone}: {before}, {expected}"
        );
    }
}

#[test]
fn only_a_read_of_a_higher_rank_suspends() {
    for (bytes, suspended) in [(4096, 1), (MIB, 0), (GIB, 0)] {
        let mut config = ranking();
        config.suspend.programs = true;
        let bench = Bench::new(&config);
        let program = bench.program(0, 0, request(0, MIB));
        let programmed = bench.at(0, 0, program);
        let read = bench.at(50_000, 3, bench.read(3, 0, request(0, bytes)));
        bench.run();
        assert_eq!(bench.schedule.counts().program_suspensions, suspended);
        assert_eq!(ended(&read) < ended(&programmed), suspended == 1);
    }
}

#[test]
fn collection_is_behind_everything_and_before_it_while_urgent() {
    for urgent in [false, true] {
        let mut config = ranking();
        config.multi_plane = false;
        let bench = Bench::new(&config);
        bench.schedule.set_collection_urgent(PlaneId(1), urgent);
        bench.read_at(0, 0, 0);
        let own = |tenant| bench.read(2, 2, Origin::own(tenant));
        let collection = bench.at(100, 2, own(tenants::COLLECTION));
        let slow = bench.at(100, 1, bench.read(1, 1, request(0, 1 << 50)));
        let mapping = bench.at(100, 2, own(tenants::MAPPING));
        bench.run();
        let order = [&mapping, &slow, &collection].map(ended);
        assert_eq!(order.is_sorted(), !urgent, "{order:?}");
        assert_eq!(ended(&collection) < ended(&slow), urgent);
    }
}

/// What waits, in the plainest way: kind of work, rank and arrival.
struct Oracle {
    waiting: Vec<(Rank, u64, usize)>,
    bypass_max: u32,
    overtaken: (u64, u32),
}

impl Oracle {
    fn next(&mut self) -> usize {
        let place = |(rank, arrival, _): &(Rank, u64, usize)| (*rank, std::cmp::Reverse(*arrival));
        let best = *self
            .waiting
            .iter()
            .max_by_key(|one| place(one))
            .expect("some wait");
        let oldest = *self
            .waiting
            .iter()
            .min_by_key(|one| one.1)
            .expect("some wait");
        let mut chosen = best;
        if self.bypass_max > 0 && best.1 != oldest.1 {
            let times = match self.overtaken.0 == oldest.1 {
                true => self.overtaken.1,
                false => 0,
            };
            match times >= self.bypass_max {
                true => chosen = oldest,
                false => self.overtaken = (oldest.1, times + 1),
            }
        }
        self.waiting.retain(|one| one.1 != chosen.1);
        chosen.2
    }
}

#[test]
fn random_requests_go_as_in_the_plainest_list() {
    for seed in 0..40 {
        let simulation = Simulation::new(seed);
        let mut random: Random = simulation.handle().random("ranks");
        let mut config = ranking();
        config.multi_plane = false;
        config.bypass_max = [0, 1, 5][seed as usize % 3];
        let bench = Bench::new(&config);
        // All wait behind the first.
        bench.read_at(0, 0, 0);
        let mut oracle = Oracle {
            waiting: Vec::new(),
            bypass_max: config.bypass_max,
            overtaken: (u64::MAX, 0),
        };
        let outcomes: Vec<_> = (0..50usize)
            .map(|number| {
                let origin = match random.below(4) {
                    0 => stream(GIB << random.below(3)),
                    _ => request(random.below(3) as u32, MIB << random.below(12)),
                };
                let at = 100 + number as u64;
                oracle.waiting.push((origin.rank, at, number));
                match random.below(3) {
                    0 => {
                        let block = number as u32 % 7;
                        bench.at(at, 0, bench.read(8 + block, 0, origin))
                    }
                    1 if number < 12 => {
                        let compute = compute_of(&bench, 1, 1, origin);
                        bench.at(at, 0, compute)
                    }
                    _ => bench.at(at, 0, bench.read(1, 1, origin)),
                }
            })
            .collect();
        bench.run();
        let mut order: Vec<usize> = (0..outcomes.len()).collect();
        order.sort_by_key(|number| ended(&outcomes[*number]));
        let expected: Vec<usize> = outcomes.iter().map(|_| oracle.next()).collect();
        assert_eq!(order, expected, "seed {seed}");
    }
}
