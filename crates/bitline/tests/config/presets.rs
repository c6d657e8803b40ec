//! Presets are complete and what their sources say.

use bitline::inside::InsideConfig;
use bitline::{Config, ConfigBuilder, Drive};
use media::nand::ProgramMode;

/// What a preset's source states: dies, planes of a die, blocks of a plane, pages
/// of a block in the mode of ordinary data, bytes of a page, and the capacity that
/// the source gives or that follows, in gigabytes (10^9).
const STATED: [(&str, [u64; 5], f64); 8] = [
    ("flash-cosmos", [64, 2, 2048, 4 * 48 * 3, 16384], 2474.0), // "2 TB" of 2.25 TiB of flash
    ("anvil-ssd-a", [64, 2, 2048, 196, 16384], 841.8),
    ("anvil-ssd-b", [16, 2, 2048, 96, 16384], 103.1),
    ("txisc", [16, 1, 547, 512, 16384], 73.4),
    ("th-issd", [64, 2, 1024, 512, 16384], 1099.5),
    ("th-issd-edge", [64, 2, 1024, 512, 16384], 1099.5),
    ("conduit", [64, 2, 2048, 4 * 48 * 3, 16384], 2474.0),
    ("mqsim-default", [64, 2, 2048, 256, 8192], 549.8),
];

#[test]
fn every_preset_says_what_its_source_says() {
    assert_eq!(Config::preset_names(), STATED.map(|(name, ..)| name));
    for (name, [dies, planes, blocks, pages, bytes], gigabytes) in STATED {
        let config = Config::preset(name).expect(name);
        assert_eq!(config.name, name);
        let (geometry, mode) = (&config.device().nand.geometry, config.device().ftl.mode);
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
        let capacity = config.device().validate().expect(name);
        let kept = f64::from(config.device().bits.compute_blocks_percent) / 100.0;
        let share = (1.0 - config.device().ftl.overprovisioning) * (1.0 - kept);
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
        .device()
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
        let cells = config.device().nand.geometry.cells_per_string;
        assert_eq!(cells / 2 - 1, bits, "{name}");
        assert_eq!(config.device().ftl.mode, ProgramMode::Slc);
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
