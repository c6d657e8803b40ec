//! Configurations: presets, files and overrides, what every key says, and messages.

mod messages;
mod presets;

use bitline::inside::InsideConfig;
use bitline::{Config, ConfigBuilder};
use media::nand::ProgramMode;

#[test]
fn a_file_changes_single_keys_of_the_preset_it_names() {
    let text = "preset = \"mqsim-default\"\nseed = 7\n[ftl]\noverprovisioning = 0.25\n[ftl.gc]\n";
    let config = Config::from_toml(text).expect("a configuration");
    let preset = Config::preset("mqsim-default").expect("a preset");
    let expected = preset.with([("seed", "7"), ("ftl.overprovisioning", "0.25")]);
    assert_eq!(Ok(&config), expected.as_ref());
    let value = |key| config.value(key).map(|value| value.to_string());
    assert_eq!(value("ftl.overprovisioning").expect("a key"), "0.25");
    let values = config.value("ftl.gc").expect("a table");
    assert!(values.get("threshold_blocks").is_some(), "{values}");
    let unknown = value("ftl.overprovisionin").expect_err("there is none");
    let expected =
        "there is no key \"ftl.overprovisionin\"; did you mean \"ftl.overprovisioning\"?";
    assert!(unknown.to_string().starts_with(expected), "{unknown}");
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
    assert_eq!(config.device().ftl.mode, ProgramMode::Slc);
    assert_eq!(config.device().ftl.overprovisioning, 0.0);
    assert_eq!(config.device().nand.mws.power_percent, [100, 110, 120, 130]);
    assert!(!config.device().schedule.multi_plane);
    assert_eq!(config.seed, 1000);
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
