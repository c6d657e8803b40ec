//! Tests of the flash packages, and what they share: two configurations and a driver.

mod ageing;
mod commands;
mod complements;
mod failures;
mod image;
mod latches;
mod leases;
mod legality;
mod lookups;
mod raising;
mod search;
mod sensing;
mod timing;

use super::*;

/// A geometry small enough to enumerate: 2 channels of 2 dies of 2 planes, blocks of 2 strings of 4 cells.
pub(super) fn small() -> NandConfig {
    let mut config = flash_cosmos();
    config.geometry = Geometry {
        channels: 2,
        chips_per_channel: 1,
        dies_per_chip: 2,
        planes_per_die: 2,
        blocks_per_plane: 6,
        strings_per_block: 2,
        cells_per_string: 4,
        page_bytes: 32,
        spare_bytes: 40,
        bits_per_cell_max: 4,
    };
    config
}

/// Flash-Cosmos Table 1, energies of Conduit Table 2; what both are silent about is a round number.
pub(super) fn flash_cosmos() -> NandConfig {
    toml::from_str(
        "
        [geometry]
        channels = 8
        chips_per_channel = 8
        dies_per_chip = 1
        planes_per_die = 2
        blocks_per_plane = 2048
        strings_per_block = 4
        cells_per_string = 48
        page_bytes = 16384
        spare_bytes = 1024
        [latency]
        read_slc_ns = 22500
        read_mlc_ns = [40000, 40000]
        read_tlc_ns = [60000, 60000, 60000]
        read_qlc_ns = [140000, 140000, 140000, 140000]
        mws_ns = 25000
        program_slc_ns = 200000
        program_esp_ns = 400000
        program_mlc_ns = [500000, 500000]
        program_tlc_ns = [700000, 700000, 700000]
        program_qlc_ns = [2700000, 2700000, 2700000, 2700000]
        erase_ns = 3500000
        latch_transfer_ns = 20
        xor_ns = 30
        set_feature_ns = 1000
        suspend_ns = 20000
        resume_ns = 5000
        reset_ns = 10000
        [bus]
        command_cycle_ns = 25
        t_wb_ns = 100
        t_adl_ns = 70
        t_rr_ns = 20
        [mws]
        blocks_max = 4
        time = 'stated'
        power_percent = [100, 134, 157, 180]
        raise_step_mv = 100
        precharge = { bitlines_ppm = 110000, block_ppm = 13750, wordline_ppm = 702 }
        [energy]
        read_pj = 20500000
        latch_transfer_pj_per_kib = 10000
        and_or_pj_per_kib = 10000
        xor_pj_per_kib = 20000
        program_power_percent = 150
        erase_power_percent = 190
        [cells]
        errors = 'modelled'
        erased_mv = -1500.0
        erased_sigma_mv = 340.0
        block_spread_percent = 3.0
        [cells.states]
        slc_mv = 1000.0
        slc_sigma_mv = 412.0
        mlc_mv = [500.0, 1700.0, 2900.0]
        mlc_sigma_mv = 197.0
        tlc_mv = [0.0, 700.0, 1400.0, 2100.0, 2800.0, 3500.0, 4200.0]
        tlc_sigma_mv = 95.0
        qlc_mv = [-100.0, 230.0, 560.0, 890.0, 1220.0, 1550.0, 1880.0, 2210.0, 2540.0, 2870.0, 3200.0, 3530.0, 3860.0, 4190.0, 4520.0]
        qlc_sigma_mv = 50.0
        [cells.esp]
        raise_mv = 3500.0
        narrowing_percent = 70.0
        half_percent = 76.0
        steepness = 8.0
        [cells.wear]
        widening_percent = 6.5
        exponent = 0.6
        [cells.retention]
        fresh_loss_ppm = 1059.0
        worn_loss_ppm = 3530.0
        hours = 1.0
        spread_percent = 30.0
        activation_ev = 1.1
        reference_celsius = 30.0
        [cells.disturb]
        raise_mv_per_million_reads = 100.0
        [cells.interference]
        slc_percent = 6.03
        multi_level_percent = 3.88
        qlc_percent = 1.5
        randomized_percent = 30.0
        [ecc]
        codeword_bytes = 1024
        correctable_bits = 72
        retries_max = 8
        retry_step_mv = 40
        ",
    )
    .expect("the text above has every key")
}

/// Runs commands one after the other.
pub(super) struct Driver {
    pub(super) nand: Nand,
    pub(super) now: Time,
}

impl Driver {
    pub(super) fn new(config: &NandConfig, storage: Storage) -> Driver {
        Driver {
            nand: Nand::open(config, storage).expect("the configuration is legal"),
            now: Time::ZERO,
        }
    }

    pub(super) fn run(&mut self, die: u32, command: &Command) -> Result<Outcome, NandError> {
        let busy = self.nand.begin(DieId(die), command, self.now)?;
        if *command == Command::ReadStatus {
            return Ok(Outcome::Done);
        }
        self.now += busy.span;
        self.nand.finish(DieId(die), self.now)
    }

    pub(super) fn must(&mut self, die: u32, command: &Command) -> Outcome {
        self.run(die, command)
            .unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    /// Programs bytes and spare bytes into a page.
    pub(super) fn program(
        &mut self,
        page: PageAddress,
        mode: ProgramMode,
        bytes: &[u8],
        spare: &[u8],
    ) -> Outcome {
        let plane = self.nand.geometry().plane_of_block(page.block);
        let die = self.nand.geometry().die_of_block(page.block).0;
        self.nand.data_in(plane, 0, bytes).expect("the die is idle");
        self.nand.set_spare(plane, spare).expect("the die is idle");
        self.must(die, &Command::program(page, mode))
    }

    /// Reads the page register.
    pub(super) fn register(&self, plane: u32) -> Vec<u8> {
        let mut bytes = vec![0; self.nand.geometry().page_bytes as usize];
        self.nand
            .data_out(PlaneId(plane), 0, &mut bytes)
            .expect("the die is idle");
        bytes
    }

    /// Reads a page; its bytes, or `None` if it is uncorrectable.
    pub(super) fn read(&mut self, page: PageAddress) -> Option<Vec<u8>> {
        let plane = self.nand.geometry().plane_of_block(page.block);
        let die = self.nand.geometry().die_of_block(page.block).0;
        self.must(die, &Command::read(page));
        let status = self.nand.page_status(plane).expect("the die is idle");
        (status == PageStatus::Ok).then(|| self.register(plane.0))
    }
}

pub(super) fn page(block: u32, page: u32) -> PageAddress {
    PageAddress {
        block: BlockId(block),
        page,
    }
}

/// A sense of one plane: slots of (block, string, layers).
pub(super) fn mws(iscm: Iscm, slots: &[(u32, u32, &[u32])]) -> Command {
    let slots = slots
        .iter()
        .map(|&(block, string, layers)| MwsSlot {
            block: BlockId(block),
            string,
            wordlines: layers.iter().copied().collect(),
        })
        .collect();
    Command::mws(iscm, [MwsPlane { slots }].into_iter().collect())
}

/// Flags from a string such as "isct": inverse, init S, init C, transfer.
pub(super) fn flags(letters: &str) -> Iscm {
    Iscm {
        inverse: letters.contains('i'),
        init_s: letters.contains('s'),
        init_c: letters.contains('c'),
        transfer: letters.contains('t'),
    }
}

/// Asserts that a refusal has a message with all of these parts.
#[track_caller]
pub(super) fn refused<T: std::fmt::Debug>(result: Result<T, NandError>, parts: &[&str]) {
    let message = result.expect_err("it is illegal").to_string();
    for part in parts {
        assert!(message.contains(part), "{message:?} lacks {part:?}");
    }
}

mod geometry {
    //! Addresses: conversions and their text.

    use super::*;

    #[test]
    fn numbers_and_places_agree_over_the_whole_drive() {
        let mut geometry = small().geometry;
        geometry.chips_per_channel = 3;
        let mut block = 0;
        for (channel, chip, die, plane, index) in every_block(&geometry) {
            let place = geometry.block_place(BlockId(block));
            assert_eq!(
                (
                    place.plane.channel,
                    place.plane.chip,
                    place.plane.die,
                    place.plane.plane,
                    place.block
                ),
                (channel, chip, die, plane, index)
            );
            let plane = geometry.plane_of_block(BlockId(block));
            let die = geometry.die_of_block(BlockId(block));
            assert_eq!(geometry.die_of_plane(plane), die);
            assert_eq!(geometry.channel_of_die(die).0, channel);
            assert_eq!(geometry.block_of_plane(plane, index).0, block);
            assert_eq!(
                geometry.plane_of_die(die, geometry.plane_in_die(plane)),
                plane
            );
            assert!(geometry.blocks_of_plane(plane).contains(&block));
            block += 1;
        }
        assert_eq!(block, geometry.blocks());
    }

    /// (channel, chip, die, plane, block) in nested loops, the numbering's definition.
    fn every_block(geometry: &Geometry) -> Vec<(u32, u32, u32, u32, u32)> {
        let mut all = Vec::new();
        for channel in 0..geometry.channels {
            for chip in 0..geometry.chips_per_channel {
                for die in 0..geometry.dies_per_chip {
                    for plane in 0..geometry.planes_per_die {
                        for block in 0..geometry.blocks_per_plane {
                            all.push((channel, chip, die, plane, block));
                        }
                    }
                }
            }
        }
        all
    }

    #[test]
    fn pages_fill_the_strings_layer_by_layer() {
        let geometry = small().geometry;
        for mode in ProgramMode::ALL {
            let mut page_index = 0;
            for layer in 0..geometry.cells_per_string {
                for string in 0..geometry.strings_per_block {
                    for bit in 0..mode.bits_per_cell() {
                        let cells = Wordline { string, layer, bit };
                        assert_eq!(geometry.wordline(mode, page_index), cells);
                        assert_eq!(geometry.page(mode, cells), page_index);
                        let address = page(7, page_index);
                        assert_eq!(geometry.page_address(geometry.ppa(address)), address);
                        page_index += 1;
                    }
                }
            }
            assert_eq!(page_index, geometry.pages_per_block(mode));
        }
    }

    #[test]
    fn a_place_is_told_in_the_words_of_the_field() {
        let geometry = flash_cosmos().geometry;
        let address = page((3 * 8 + 1) * 2 * 2048 + 2048 + 17, 5);
        assert_eq!(
            geometry.page_place(address, ProgramMode::Slc).to_string(),
            "channel 3 chip 1 die 0 plane 1 block 17 page 5 (string 1, layer 1)"
        );
    }

    #[test]
    fn impossible_geometries_name_the_key_and_its_range() {
        let with = |change: fn(&mut Geometry)| {
            let mut geometry = small().geometry;
            change(&mut geometry);
            geometry
                .validate()
                .expect_err("it is impossible")
                .to_string()
        };
        assert!(with(|g| g.channels = 0).contains("channels = 0"));
        assert!(with(|g| g.planes_per_die = 5).contains("1 to 4"));
        assert!(with(|g| g.cells_per_string = 257).contains("cells_per_string = 257"));
        assert!(with(|g| g.page_bytes = 4100).contains("multiple of 8"));
        assert!(with(|g| g.spare_bytes = 70_000).contains("0 to 65535"));
        assert!(with(|g| g.bits_per_cell_max = 5).contains("3 to 4"));
        assert!(with(|g| (g.channels, g.blocks_per_plane) = (4, 1 << 24)).contains("32 bits"));
        assert!(with(|g| (g.strings_per_block, g.cells_per_string) = (256, 256)).contains("65535"));
        assert!(small().geometry.validate().is_ok() && flash_cosmos().validate().is_ok());
    }

    #[test]
    fn unknown_and_missing_keys_are_errors() {
        let mut small = small();
        let text = toml::to_string(&small).expect("it is plain data");
        // No key, but what follows from the mode that a drive programs.
        small.geometry.bits_per_cell_max = 3;
        let read = toml::from_str::<NandConfig>(&text).expect("its own text");
        assert_eq!(read, small);
        let unknown = text.replace("[bus]", "[bus]\nt_wbb_ns = 1");
        let missing = text.replace("xor_ns", "#");
        for text in [unknown, missing] {
            assert!(toml::from_str::<NandConfig>(&text).is_err());
        }
    }
}
