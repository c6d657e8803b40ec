//! Presets are complete and what their sources say; wrong configurations are
//! refused with a message that helps.

use bitline::{Config, ConfigBuilder, Drive};
use media::nand::ProgramMode;

/// What a preset's source states: dies, planes of a die, blocks of a plane, pages
/// of a block in the mode of ordinary data, bytes of a page, and the capacity that
/// the source gives or that follows, in gigabytes (10^9).
const STATED: [(&str, [u64; 5], f64); 7] = [
    ("flash-cosmos", [64, 2, 2048, 4 * 48 * 3, 16384], 2474.0), // "2 TB" of 2.25 TiB of flash
    ("anvil-ssd-a", [64, 2, 2048, 196, 16384], 841.8),
    ("anvil-ssd-b", [16, 2, 2048, 96, 16384], 103.1),
    ("txisc", [16, 1, 547, 512, 16384], 73.4),
    ("th-issd", [64, 2, 1024, 512, 16384], 1099.5),
    ("conduit", [64, 2, 2048, 4 * 48 * 3, 16384], 2474.0),
    ("mqsim-default", [64, 2, 2048, 256, 8192], 549.8),
];

fn message(text: &str) -> String {
    Config::from_toml(text)
        .expect_err("a wrong configuration")
        .to_string()
}

fn message_of_override(key: &str, value: &str) -> String {
    let preset = Config::preset("flash-cosmos").expect("a preset");
    preset
        .with([(key, value)])
        .expect_err("a wrong override")
        .to_string()
}

#[test]
fn every_preset_says_what_its_source_says() {
    assert_eq!(Config::preset_names(), STATED.map(|(name, ..)| name));
    for (name, [dies, planes, blocks, pages, bytes], gigabytes) in STATED {
        let config = Config::preset(name).expect(name);
        assert_eq!(config.name, name);
        let (geometry, mode) = (&config.device.nand.geometry, config.device.ftl.mode);
        let found: [u64; 5] = [
            geometry.dies().into(),
            geometry.planes_per_die.into(),
            geometry.blocks_per_plane.into(),
            geometry.pages_per_block(mode).into(),
            geometry.page_bytes.into(),
        ];
        assert_eq!(found, [dies, planes, blocks, pages, bytes], "{name}");
        let raw = (dies * planes * blocks * pages * bytes) as f64;
        assert!((raw / 1e9 - gigabytes).abs() < 0.1, "{name}: {raw}");
    }
}

#[test]
fn the_host_is_given_what_overprovisioning_and_computing_leave() {
    for (name, [dies, planes, blocks, pages, bytes], _) in STATED {
        let config = Config::preset(name).expect(name);
        let capacity = config.device.validate().expect(name);
        let kept = f64::from(config.device.bits.compute_blocks_percent) / 100.0;
        let share = (1.0 - config.device.ftl.overprovisioning) * (1.0 - kept);
        let expected = (dies * planes * blocks * pages) as f64 * share;
        let found = f64::from(capacity.data_pages);
        assert!(
            (found / expected - 1.0).abs() < 0.002,
            "{name}: {found} pages of {bytes} bytes, not {expected}"
        );
    }
}

#[test]
fn txisc_holds_what_its_backing_memory_holds() {
    // Table I: two DIMMs of 32 GB are the storage.
    let capacity = Config::preset("txisc")
        .expect("a preset")
        .device
        .validate()
        .expect("a valid preset");
    let gib = f64::from(capacity.logical_pages) * 16384.0 / f64::from(1 << 30);
    assert!((gib - 64.0).abs() < 1.0, "{gib} GiB");
}

#[test]
fn names_of_anvils_native_size_fit_a_string() {
    // Two cells a bit, and the valid bit (ANVIL 4.1).
    for (name, bits) in [("anvil-ssd-a", 97), ("anvil-ssd-b", 47)] {
        let config = Config::preset(name).expect(name);
        let cells = config.device.nand.geometry.cells_per_string;
        assert_eq!(cells / 2 - 1, bits, "{name}");
        assert_eq!(config.device.ftl.mode, ProgramMode::Slc);
    }
}

#[test]
fn every_preset_survives_being_written_and_read() {
    for name in Config::preset_names() {
        let config = Config::preset(&name).expect("a preset");
        let text = config
            .to_toml()
            .expect("a configuration that can be written");
        assert_eq!(Config::from_toml(&text).expect("what was written"), config);
    }
}

#[test]
fn every_number_of_a_preset_has_a_source() {
    for name in Config::preset_names() {
        let text = Config::preset_text(&name).expect("a preset");
        let unsourced: Vec<&str> = text
            .lines()
            .skip_while(|line| !line.starts_with('['))
            .filter(|line| line.contains('=') && !line.contains('#'))
            .collect();
        assert!(unsourced.is_empty(), "{name}: {unsourced:?}");
    }
}

#[test]
fn every_preset_opens_writes_and_reads_back() {
    for name in Config::preset_names() {
        let config = Config::preset(&name).expect("a preset");
        let mut drive = Drive::open(config).expect("a drive");
        let block = drive.block_bytes().expect("power") as usize;
        let data: Vec<u8> = (0..9 * block).map(|byte| (byte / 7) as u8).collect();
        let last = drive.blocks().expect("power") - 9;
        for lba in [3, last] {
            drive.write(lba, &data).expect("a write");
            assert_eq!(drive.read(lba, 9).expect("a read"), data, "{name}");
        }
    }
}

#[test]
fn a_file_changes_single_keys_of_the_preset_it_names() {
    let text = "preset = \"mqsim-default\"\nseed = 7\n[ftl]\noverprovisioning = 0.25\n[ftl.gc]\n";
    let config = Config::from_toml(text).expect("a configuration");
    let mut expected = Config::preset("mqsim-default").expect("a preset");
    expected.seed = 7;
    expected.device.ftl.overprovisioning = 0.25;
    assert_eq!(config, expected);
    let without = Config::from_toml("seed = 7").expect("a configuration");
    assert_eq!(without.name, bitline::DEFAULT_PRESET);
}

#[test]
fn overrides_take_toml_or_bare_strings() {
    let mut builder = ConfigBuilder::preset("flash-cosmos").expect("a preset");
    for pair in [
        "data.storage=none",
        "ftl.mode = \"slc\"",
        "ftl.overprovisioning=0",
        "nand.mws.power_percent=[100, 110, 120, 130]",
        "schedule.multi_plane = false",
        "seed=1_000",
    ] {
        builder.set_pair(pair).expect(pair);
    }
    let config = builder.build().expect("a configuration");
    assert_eq!(config.data.storage, bitline::StorageKind::None);
    assert_eq!(config.device.ftl.mode, ProgramMode::Slc);
    assert_eq!(config.device.ftl.overprovisioning, 0.0);
    assert_eq!(config.device.nand.mws.power_percent, [100, 110, 120, 130]);
    assert!(!config.device.schedule.multi_plane);
    assert_eq!(config.seed, 1000);
}

#[test]
fn unknown_keys_name_the_nearest() {
    for (text, expected) in [
        (
            "[nand.geometry]\nchanels = 4",
            r#"there is no key "nand.geometry.chanels"; did you mean "nand.geometry.channels"?"#,
        ),
        (
            "[nand.geometri]\nchannels = 4",
            r#"there is no key "nand.geometri.channels"; did you mean "nand.geometry.channels"?"#,
        ),
        (
            "overprovisioning = 0.1",
            r#"there is no key "overprovisioning"; did you mean "ftl.overprovisioning"?"#,
        ),
        (
            "[schedul]",
            r#"there is no key "schedul"; did you mean "schedule"?"#,
        ),
        (
            "seed.x = 1",
            r#"there is no key "seed.x"; did you mean "seed"?"#,
        ),
        (
            "qqqqqqqq = 1",
            r#"there is no key "qqqqqqqq"; `bitline show` lists all"#,
        ),
    ] {
        assert_eq!(message(text), expected);
    }
    assert_eq!(
        message_of_override("ftl.gc.treshold_blocks", "9"),
        r#"there is no key "ftl.gc.treshold_blocks"; did you mean "ftl.gc.threshold_blocks"?"#
    );
}

#[test]
fn unknown_presets_name_the_nearest_and_all() {
    let text = message("preset = \"mqsim\"");
    assert!(
        text.starts_with("there is no preset \"mqsim\"; the presets are flash-cosmos, anvil-ssd-a"),
        "{text}"
    );
    let text = message("preset = \"flash_cosmos\"");
    assert!(
        text.starts_with("there is no preset \"flash_cosmos\"; did you mean \"flash-cosmos\"?"),
        "{text}"
    );
    assert_eq!(
        message("preset = 3"),
        "preset = 3 cannot be: a preset is named by a string"
    );
}

#[test]
fn values_of_the_wrong_kind_name_key_value_and_reason() {
    for (key, value, expected) in [
        (
            "nand.geometry.channels",
            "many",
            "nand.geometry.channels = \"many\" cannot be: it must be a whole number from 0 to 4294967295",
        ),
        (
            "nand.geometry.channels",
            "-1",
            "nand.geometry.channels = -1 cannot be: it must be a whole number from 0 to 4294967295",
        ),
        (
            "ftl.mode",
            "qlc",
            "ftl.mode = \"qlc\" cannot be: it must be one of `slc`, `esp`, `mlc`, `tlc`",
        ),
        (
            "ftl.gc",
            "greedy",
            "ftl.gc = \"greedy\" cannot be: it is a table of keys, not a value",
        ),
        (
            "nand.mws.power_percent",
            "[100]",
            "nand.mws.power_percent = [100] cannot be: it must be a list of 4 values",
        ),
        (
            "nand.mws.power_percent",
            "[100, 110, 120, true]",
            "nand.mws.power_percent = [100, 110, 120, true] cannot be: each of its values must be a whole number from 0 to 9223372036854775807",
        ),
        (
            "nand.geometry.channels",
            "99999999999999999999999",
            "nand.geometry.channels = 99999999999999999999999 cannot be: it must be a whole number from 0 to 4294967295",
        ),
        (
            "seed",
            "-1",
            "seed = -1 cannot be: it must be a whole number from 0 to 9223372036854775807",
        ),
        (
            "seed",
            "18446744073709551615",
            "seed = 18446744073709551615 cannot be: it must be a whole number from 0 to 9223372036854775807",
        ),
        (
            "host.queue_pairs",
            "65536",
            "host.queue_pairs = 65536 cannot be: it must be a whole number from 0 to 65535",
        ),
        (
            "schedule.multi_plane",
            "yes",
            "schedule.multi_plane = \"yes\" cannot be: it must be true or false",
        ),
        ("name", "3", "name = 3 cannot be: it must be a text"),
        (
            "ftl.mode",
            "3",
            "ftl.mode = 3 cannot be: it must be one of `slc`, `esp`, `mlc`, `tlc`",
        ),
        (
            "seed",
            "[1]",
            "seed = [1] cannot be: it must be a whole number from 0 to 9223372036854775807",
        ),
    ] {
        assert_eq!(message_of_override(key, value), expected);
    }
    let text = message_of_override("ftl.plane_allocation", "CCDP");
    assert!(
        text.starts_with("ftl.plane_allocation = \"CCDP\" cannot be: ")
            && text.contains("permutation of the letters CWDP"),
        "{text}"
    );
}

#[test]
fn no_message_speaks_of_the_programs_own_types() {
    let text = Config::preset("flash-cosmos")
        .and_then(|preset| preset.to_toml())
        .expect("a preset as text");
    let table: toml::Table = text.parse().expect("a table");
    let mut messages = 0;
    for key in leaves(&table, "") {
        for value in [
            "abc",
            "-1",
            "0.5",
            "true",
            "[]",
            "[{}]",
            "{}",
            "1979-05-27",
            "9".repeat(30).as_str(),
        ] {
            let mut builder = ConfigBuilder::preset("flash-cosmos").expect("a preset");
            let Err(error) = builder.set(&key, value) else {
                continue;
            };
            let error = error.to_string();
            let rest = error.strip_prefix(&format!("{key} = ")).expect(&error);
            for word in [
                "expected", "invalid", "variant", "u16", "u32", "u64", "f64", "element", "integer",
                "map", "sequence", "struct",
            ] {
                assert!(!rest.contains(word), "{error}");
            }
            messages += 1;
        }
    }
    assert!(messages > 300, "{messages}");
}

/// The dotted names of all values of `table`.
fn leaves(table: &toml::Table, above: &str) -> Vec<String> {
    let below = table.iter().map(|(key, value)| match value {
        toml::Value::Table(inner) => leaves(inner, &format!("{above}{key}.")),
        _ => vec![format!("{above}{key}")],
    });
    below.flatten().collect()
}

#[test]
fn an_image_of_another_preset_names_both() {
    let path = std::env::temp_dir().join(format!("bitline-config-{}.img", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let open = |preset: &str, overrides: &[(&str, &str)]| {
        let config = Config::preset(preset).expect("a preset");
        let config = config.with(overrides.iter().copied()).expect("overrides");
        Drive::open_image(config, &path).map(drop)
    };
    open("flash-cosmos", &[]).expect("a new image");
    let other =
        open("conduit", &[("bits.compute_blocks_percent", "0")]).expect_err("another preset");
    let same =
        open("flash-cosmos", &[("bits.compute_blocks_percent", "0")]).expect_err("another value");
    std::fs::remove_file(&path).expect("the image is there");
    let mismatch = format!(
        "bits.compute_blocks_percent = 0 does not fit the image {}, which was made with 10",
        path.display()
    );
    assert_eq!(same.to_string(), mismatch);
    assert_eq!(
        other.to_string(),
        format!("the image was made for flash-cosmos, this configuration is conduit: {mismatch}")
    );
}

#[test]
fn the_wrong_one_of_several_keys_is_blamed() {
    let text = "seed = 3\n[ftl]\nmode = \"slc\"\noverprovisioning = \"much\"\n";
    assert_eq!(
        message(text),
        "ftl.overprovisioning = \"much\" cannot be: it must be a number"
    );
}

#[test]
fn values_out_of_range_name_the_range() {
    for (key, value, expected) in [
        (
            "nand.geometry.channels",
            "0",
            "nand.geometry.channels = 0 is not possible; it must be 1 to 65536",
        ),
        (
            "nand.mws.blocks_max",
            "5",
            "nand.mws.blocks_max = 5 is out of range; it must be 1 to 4",
        ),
        (
            "nand.latency.erase_ns",
            "0",
            "nand.latency.erase_ns = 0 is out of range; it must be 1 to 3600000000000 (an hour)",
        ),
        (
            "nand.bus.t_rr_ns",
            "9000000000000000000",
            "nand.bus.t_rr_ns = 9000000000000000000 is out of range; it must be 0 to 3600000000000 (an hour)",
        ),
        (
            "frontend.block_bytes",
            "3000",
            "frontend.block_bytes = 3000 is out of range; it must be 512, 1024, 2048 or 4096",
        ),
        (
            "nand.geometry.page_bytes",
            "1000",
            "nand.geometry.page_bytes = 1000 and frontend.block_bytes = 4096 cannot be together; a page must be a multiple of a block",
        ),
        (
            "ftl.overprovisioning",
            "30000000000000000000",
            "ftl.overprovisioning = 30000000000000000000 is out of range; it must be at least 0 and less than 1",
        ),
        (
            "ftl.overprovisioning",
            "1",
            "ftl.overprovisioning = 1 is out of range; it must be at least 0 and less than 1",
        ),
        (
            "ftl.gc.threshold_blocks",
            "1",
            "ftl.gc.threshold_blocks = 1 is out of range; it must be 3 to 922, a half of the plane's data blocks",
        ),
        (
            "channel.megabytes_per_second",
            "0",
            "channel.megabytes_per_second = 0 is out of range; it must be 1 to 1000000",
        ),
        (
            "link.lanes",
            "65",
            "link.lanes = 65 is out of range; it must be 1 to 64",
        ),
        (
            "schedule.suspend.times_max",
            "0",
            "schedule.suspend.times_max = 0 is out of range; it must be 1 to 65535",
        ),
        (
            "schedule.priority_weights",
            "[4, 2, 0]",
            "schedule.priority_weights[2] = 0 is out of range; it must be 1 to 64",
        ),
        (
            "host.queue_pairs",
            "65",
            "host.queue_pairs = 65 is out of range; it must be 1 to 64",
        ),
        (
            "host.queue_entries",
            "1",
            "host.queue_entries = 1 is out of range; it must be 2 to 4096",
        ),
        (
            "faults.erase_failures_per_million",
            "1000001",
            "faults.erase_failures_per_million = 1000001 is out of range; it must be 0 to 1000000",
        ),
    ] {
        assert_eq!(message_of_override(key, value), expected);
    }
    let too_many = message_of_override("nand.geometry.blocks_per_plane", "16777216");
    assert!(
        too_many.contains("a page address has 32 bits"),
        "{too_many}"
    );
}

#[test]
fn what_is_no_toml_and_no_override_is_said_so() {
    assert!(message("seed = ").starts_with("this is no TOML: "));
    let mut builder = ConfigBuilder::preset("flash-cosmos").expect("a preset");
    for pair in ["seed", "=3"] {
        let error = builder.set_pair(pair).map(|_| ()).expect_err("no override");
        assert_eq!(
            error.to_string(),
            format!(
                "{pair:?} is no override; it must be KEY=VALUE, such as ftl.overprovisioning=0.1"
            )
        );
    }
}

#[test]
fn a_wrong_change_leaves_the_builder_as_it_was() {
    let mut builder = ConfigBuilder::preset("flash-cosmos").expect("a preset");
    assert!(builder.set("seed", "x").is_err());
    assert!(builder.set("sed", "1").is_err());
    let config = builder.build().expect("the preset");
    assert_eq!(config, Config::preset("flash-cosmos").expect("a preset"));
}

#[test]
fn every_key_says_what_it_means_and_where_its_value_comes_from() {
    for name in Config::preset_names() {
        let config = Config::preset(&name).expect("a preset");
        let keys = config.keys().expect("keys of a preset");
        let silent: Vec<&str> = keys
            .iter()
            .filter(|key| key.meaning.is_empty() || key.source.is_empty())
            .map(|key| key.key.as_str())
            .collect();
        assert!(silent.is_empty(), "{name}: {silent:?}");
        let all = ConfigBuilder::preset(&name).expect("a preset").leaves();
        assert_eq!(
            keys.len() + 2,
            all.len(),
            "{name}: all but name and description"
        );
    }
}

#[test]
fn a_configuration_with_comments_reads_back_as_the_same() {
    for name in Config::preset_names() {
        let config = Config::preset(&name).expect("a preset");
        let config = config
            .with([("ftl.overprovisioning", "0.125"), ("seed", "7")])
            .expect("a valid configuration");
        let text = config.to_annotated_toml().expect("a text");
        assert_eq!(Config::from_toml(&text).expect("what was written"), config);
        let line = text
            .lines()
            .position(|line| line == "overprovisioning = 0.125");
        let above = text
            .lines()
            .take(line.expect("the key"))
            .collect::<Vec<_>>();
        assert!(
            above[above.len() - 2..].concat().contains("set here"),
            "{name}: {:?}",
            above.last()
        );
        let mut comments = text.lines().filter(|line| line.starts_with('#'));
        let wide = comments.find(|line| line.len() > 80);
        assert_eq!(wide, None, "{name}");
    }
}

#[test]
fn presets_say_only_what_their_source_does_otherwise_or_states() {
    let base = ConfigBuilder::preset("flash-cosmos").expect("a preset");
    for name in Config::preset_names() {
        let text = Config::preset_text(&name).expect("a preset");
        let own: toml::Table = text.parse().expect("a file of keys");
        assert_eq!(own["inherits"].as_str(), Some("base"), "{name}");
        let lines = text.lines().filter(|line| line.contains(" = ")).count();
        assert!(lines < base.leaves().len() / 2, "{name}: {lines} keys");
    }
}

/// `BITLINE_BLESS=1 cargo test -p bitline --test config reference` writes the page anew.
#[test]
fn the_reference_page_of_keys_is_current() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/configuration.md"
    );
    let page = bitline::reference_of_keys().expect("the base is complete");
    if std::env::var_os("BITLINE_BLESS").is_some() {
        std::fs::write(path, &page).expect("the page can be written");
    }
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        stored == page,
        "{path} is stale: write it anew with BITLINE_BLESS=1"
    );
}

#[test]
fn memory_that_cannot_be_is_refused_with_its_figures() {
    let preset = Config::preset("flash-cosmos").expect("a preset");
    let refused = |changes: &[(&str, &str)]| {
        let error = preset.with(changes.iter().copied()).expect_err("nonsense");
        error.to_string()
    };
    let small = refused(&[("dram.capacity_bytes", "1073741824")]);
    for part in [
        "dram.capacity_bytes = 1073741824 is too small",
        "the page buffers 536870912",
        "in all",
    ] {
        assert!(small.contains(part), "{small}");
    }
    let few = refused(&[("memory.page_buffers", "9")]);
    assert!(
        few.contains("memory.page_buffers = 9 is out of range; it must be 10 to"),
        "{few}"
    );
    let none = refused(&[("cores.count", "0")]);
    assert!(
        none.contains("cores.count = 0 is out of range; it must be 1 to"),
        "{none}"
    );
    let odd = refused(&[("dram.banks", "7")]);
    assert!(
        odd.contains("dram.capacity_bytes") && odd.contains("a row of each bank"),
        "{odd}"
    );
}
