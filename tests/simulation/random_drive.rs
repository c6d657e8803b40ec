//! The drive of a seed: small, and different in everything that firmware can be told to do.

use bitline::Config;
use sim::Random;

/// A drive so small that everything happens often, different for each seed.
pub fn config(seed: u64, random: &mut Random) -> Config {
    let mode = ["slc", "mlc", "tlc"][random.below(3) as usize];
    let policy = ["first_come", "read_priority", "priority_classes"][random.below(3) as usize];
    let ranks = Random::named(seed, "life: ranks").below(4) == 0;
    let policy = if ranks { "priority_aware" } else { policy };
    let isp_share = [0, 10, 90][Random::named(seed, "life: share").below(3) as usize];
    let interleave = ["die", "chip"][random.below(2) as usize];
    // Under first_come nothing overtakes, so nothing steps back.
    let mut suspends = |chance| policy != "first_come" && random.chance(chance);
    let (programs_suspend, erases_suspend) = (suspends(0.5), suspends(0.5));
    let order = ["CWDP", "PDWC", "DPCW", "WCPD"][random.below(4) as usize];
    let collectors = [
        "greedy",
        "rga",
        "d_choices",
        "fifo",
        "cost_benefit",
        "random",
    ];
    let collector = collectors[random.below(collectors.len() as u64) as usize];
    let pace = ["refill", "per_block"][random.below(2) as usize];
    let arbitration = ["round_robin", "weighted_round_robin"][random.below(2) as usize];
    let kind = ["ideal", "cached"][random.below(2) as usize];
    let interval = if random.chance(0.4) {
        0
    } else {
        10 + random.below(600)
    };
    let failures = |random: &mut Random, most| {
        if random.chance(0.5) {
            0
        } else {
            random.below(most)
        }
    };
    let (programs, erases) = (failures(random, 2000), failures(random, 4000));
    let number = |value: u64| value.to_string();
    let cache_mode = ["off", "read", "write", "read_write"][random.below(4) as usize];
    let write_back = ["eager", "lazy", "hot_cold"][random.below(3) as usize];
    let pieces = [1, 30, 100][Random::named(seed, "life: pieces").below(3) as usize];
    // One logical page a flash page, two, or four.
    let unit = 2048 >> Random::named(seed, "life: unit").below(3);
    let keys = [
        ("seed", number(seed)),
        ("nand.geometry.channels", number(1 + random.below(2))),
        (
            "nand.geometry.chips_per_channel",
            number(1 + u64::from(random.chance(0.2))),
        ),
        ("nand.geometry.dies_per_chip", number(1 + random.below(2))),
        ("nand.geometry.planes_per_die", number(1 + random.below(2))),
        (
            "nand.geometry.blocks_per_plane",
            number(20 + random.below(8)),
        ),
        (
            "nand.geometry.strings_per_block",
            number(1 + random.below(3)),
        ),
        ("nand.geometry.cells_per_string", "4".into()),
        ("nand.geometry.page_bytes", "2048".into()),
        // So few that leaked pages are read again, and so many that none is given up.
        ("nand.ecc.correctable_bits", "48".into()),
        ("nand.geometry.spare_bytes", "64".into()),
        ("ftl.mapping_unit_bytes", number(unit)),
        (
            "frontend.block_bytes",
            number((512 << random.below(3)).min(unit)),
        ),
        ("frontend.commands_in_flight", number(1 + random.below(16))),
        ("cache.mode", cache_mode.into()),
        ("cache.capacity_bytes", number(2048 * (1 + random.below(8)))),
        ("cache.write_back", write_back.into()),
        ("cache.capacitor", random.chance(0.5).to_string()),
        ("cache.back_pressure_pages", number(1 + random.below(8))),
        ("ftl.mode", mode.into()),
        ("ftl.overprovisioning", "0.25".into()),
        ("ftl.plane_allocation", order.into()),
        ("ftl.gc.policy", collector.into()),
        ("compatibility.gc_pace", pace.into()),
        ("ftl.gc.preemptible", random.chance(0.5).to_string()),
        ("ftl.mapping.kind", kind.into()),
        ("ftl.mapping.cache_entries", number(1 + random.below(60))),
        ("ftl.mapping.entry_bytes", number(4 + random.below(80))),
        ("ftl.checkpoint.interval_pages", number(interval)),
        ("ftl.gc.threshold_blocks", "4".into()),
        ("ftl.gc.hard_threshold_blocks", number(2 + random.below(2))),
        ("ftl.gc.concurrent_blocks", number(1 + random.below(4))),
        ("ftl.gc.concurrent_copies", number(1 + random.below(20))),
        ("ftl.wear_levelling.dynamic", random.chance(0.5).to_string()),
        ("schedule.policy", policy.into()),
        ("schedule.multi_plane", random.chance(0.5).to_string()),
        (
            "ftl.wear_levelling.static_threshold",
            number(random.below(4)),
        ),
        (
            "faults.factory_bad_blocks_per_million",
            number(random.below(2) * 50_000),
        ),
        ("compatibility.interleave", interleave.into()),
        (
            "compatibility.program_transfer",
            ["page", "written"][random.below(2) as usize].into(),
        ),
        (
            "compatibility.frontiers",
            ["on_demand", "ahead"][random.below(2) as usize].into(),
        ),
        (
            "compatibility.static_rule",
            ["erases", "numbers"][random.below(2) as usize].into(),
        ),
        (
            "schedule.bypass_max",
            number([0, 1, 16][random.below(3) as usize]),
        ),
        ("schedule.piece_max_us", number(pieces)),
        ("schedule.isp_share_percent", number(isp_share)),
        ("schedule.suspend.programs", programs_suspend.to_string()),
        ("schedule.suspend.erases", erases_suspend.to_string()),
        ("schedule.suspend.times_max", number(1 + random.below(4))),
        ("bits.compute_blocks_percent", "30".into()),
        ("faults.program_failures_per_million", number(programs)),
        ("faults.erase_failures_per_million", number(erases)),
        ("host.queue_pairs", "3".into()),
        ("host.queue_entries", number(2 + random.below(12))),
        ("frontend.arbitration", arbitration.into()),
        (
            "frontend.fetch_limit_per_queue",
            number(1 + random.below(8)),
        ),
        (
            "host.queue_priorities",
            "[\"urgent\", \"medium\", \"low\"]".into(),
        ),
    ];
    let preset = Config::preset("flash-cosmos").expect("the preset exists");
    let (copies, controller) = (copies(seed, mode), controller(seed));
    let with = |namespaces: &str, copies: &[(&str, String)]| {
        let pairs = keys.iter().chain(&controller).chain(copies);
        let pairs = pairs.map(|(key, value)| (*key, value.as_str()));
        preset.with(pairs.chain([("frontend.namespaces", namespaces)]))
    };
    // The smallest drives have no room for several namespaces, nor for an SLC cache.
    // With small units the mapping takes more of them.
    let mut plain = copies[..1].to_vec();
    plain.push(("ftl.mapping_unit_bytes", "0".into()));
    with(&namespaces(random, unit), &copies)
        .or_else(|_| with("[]", &copies))
        .or_else(|_| with("[]", &copies[..1]))
        .or_else(|_| with("[]", &plain))
        .expect("every such drive is possible")
}

/// How pages are copied, and whether there is an SLC cache to copy them from.
fn copies(seed: u64, mode: &str) -> Vec<(&'static str, String)> {
    let random = &mut Random::named(seed, "life: copies");
    let blocks = 1 + random.below(3);
    let copyback = ("ftl.gc.copyback", random.chance(0.5).to_string());
    let cache = [
        ("ftl.slc_cache.blocks_per_plane", blocks.to_string()),
        (
            "ftl.slc_cache.fold_threshold_blocks",
            (1 + random.below(blocks)).to_string(),
        ),
    ];
    let cached = mode != "slc" && random.chance(0.5);
    let cache = cache.into_iter().filter(|_| cached);
    [copyback].into_iter().chain(cache).collect()
}

/// Page buffers, often so few that everybody waits for one; cores that take their time, or none; what
/// DRAM does with its rows.
fn controller(seed: u64) -> Vec<(&'static str, String)> {
    let random = &mut Random::named(seed, "life: controller");
    // The fewest with which a drive of two planes a die can be.
    let fewest = 10;
    let buffers = match random.below(4) {
        0 => fewest,
        1 => fewest + random.below(24),
        _ => 32_768,
    };
    let busy = random.chance(0.3);
    let cycles = |random: &mut Random| match busy {
        true => random.below(30_000).to_string(),
        false => "0".to_owned(),
    };
    let policy = ["open", "closed"][random.below(2) as usize];
    vec![
        ("memory.page_buffers", buffers.to_string()),
        ("cores.count", (1 + random.below(4)).to_string()),
        ("cores.work.fetch_cycles", cycles(random)),
        ("cores.work.read_page_cycles", cycles(random)),
        ("cores.work.write_page_cycles", cycles(random)),
        ("cores.work.plan_cycles", cycles(random)),
        ("cores.work.complete_cycles", cycles(random)),
        ("cores.work.mapping_miss_cycles", cycles(random)),
        ("cores.work.collect_page_cycles", cycles(random)),
        ("dram.row_policy", policy.to_owned()),
    ]
}

/// One namespace, or a few that share the drive.
fn namespaces(random: &mut Random, unit: u64) -> String {
    let format = |random: &mut Random| (512 << random.below(3)).min(unit);
    match random.below(3) {
        0 => "[]".into(),
        1 => format!(
            "[{{ share = 0.6, block_bytes = {} }}, {{ share = 0.4, block_bytes = {} }}]",
            format(random),
            format(random)
        ),
        _ => {
            let tiny = format!("{{ blocks = 9, block_bytes = {} }}", format(random));
            let large = format!("{{ share = 0.7, block_bytes = {} }}", format(random));
            format!("[{tiny}, {large}, {tiny}, {tiny}]")
        }
    }
}
