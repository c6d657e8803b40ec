//! Wrong configurations are refused with a message that helps.

use bitline::{Config, ConfigBuilder, Drive};

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
            "plc",
            "ftl.mode = \"plc\" cannot be: it must be one of `slc`, `esp`, `mlc`, `tlc`, `qlc`",
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
            "ftl.mode = 3 cannot be: it must be one of `slc`, `esp`, `mlc`, `tlc`, `qlc`",
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
fn no_message_speaks_of_rusts_types() {
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
            "ftl.mapping_unit_bytes",
            "3000",
            "ftl.mapping_unit_bytes = 3000 cannot be with nand.geometry.page_bytes = 16384; it must be 0, for a flash page, or a page divided by 1, 2, 4, 8 or 16",
        ),
        (
            "ftl.mapping_unit_bytes",
            "2048",
            "ftl.mapping_unit_bytes = 2048 and frontend.block_bytes = 4096 cannot be together; a page must be a multiple of a block",
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
            "schedule.isp_share_percent",
            "91",
            "schedule.isp_share_percent = 91 is out of range; it must be 0 to 90",
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
