//! Commands as values and as bus cycles are the same thing.

use super::*;
use command::{BusCycle, CycleError};
use proptest::prelude::*;

fn a_geometry() -> impl Strategy<Value = Geometry> {
    prop_oneof![
        Just(small().geometry),
        Just(flash_cosmos().geometry),
        Just(Geometry {
            planes_per_die: 4,
            dies_per_chip: 3,
            cells_per_string: 196,
            strings_per_block: 1,
            ..small().geometry
        }),
    ]
}

/// Any command that is well formed for the chip of a die, legal or not.
fn a_command(geometry: Geometry, die: u32) -> BoxedStrategy<Command> {
    let first = geometry.first_block_of_chip(DieId(die));
    let blocks = first..first + geometry.dies_per_chip * geometry.blocks_per_die();
    let block = blocks.prop_map(BlockId);
    let page = (block.clone(), 0..geometry.pages_per_block_max())
        .prop_map(|(block, page)| PageAddress { block, page });
    let pages = prop::collection::vec(page, 1..=4).prop_map(PageSet::from_iter);
    let mode = prop::sample::select(ProgramMode::ALL.to_vec());
    let planes = any::<u8>().prop_map(PlaneMask);
    let layers = prop::collection::vec(0..geometry.cells_per_string, 0..60);
    let slot = (block.clone(), 0..geometry.strings_per_block, layers).prop_map(
        |(block, string, layers)| MwsSlot {
            block,
            string,
            wordlines: layers.into_iter().collect(),
        },
    );
    let part = prop::collection::vec(slot, 1..=4).prop_map(|slots| MwsPlane {
        slots: slots.into_iter().collect(),
    });
    let iscm = (0u8..16).prop_map(|byte| Iscm::from_byte(byte).expect("four bits"));
    prop_oneof![
        (pages.clone(), any::<bool>())
            .prop_map(|(pages, inverse)| Command::Read { pages, inverse }),
        pages.clone().prop_map(|pages| Command::CacheRead { pages }),
        pages
            .clone()
            .prop_map(|pages| Command::CopybackRead { pages }),
        (pages.clone(), mode.clone()).prop_map(|(pages, mode)| Command::Program { pages, mode }),
        (pages.clone(), mode.clone())
            .prop_map(|(pages, mode)| Command::ProgramComplement { pages, mode }),
        pages.clone().prop_map(|pages| Command::Raise { pages }),
        (pages, mode).prop_map(|(pages, mode)| Command::CopybackProgram { pages, mode }),
        prop::collection::vec(block, 1..=4).prop_map(|blocks| Command::Erase {
            blocks: blocks.into_iter().collect()
        }),
        (iscm, 0..=RAISE_MAX, prop::collection::vec(part, 1..=4)).prop_map(
            |(iscm, raise, parts)| {
                Command::mws(iscm, parts.into_iter().collect()).raised(raise)
            }
        ),
        planes
            .clone()
            .prop_map(|planes| Command::CacheReadEnd { planes }),
        planes.clone().prop_map(|planes| Command::Xor { planes }),
        planes
            .clone()
            .prop_map(|planes| Command::LatchTransfer { planes }),
        planes.prop_map(|planes| Command::LatchLoad { planes }),
        (
            prop::sample::select(vec![Feature::EspEffort, Feature::ReadReference]),
            any::<u32>()
        )
            .prop_map(|(feature, value)| Command::SetFeature { feature, value }),
        prop::sample::select(vec![
            Command::Suspend,
            Command::Resume,
            Command::Reset,
            Command::ReadStatus
        ]),
    ]
    .boxed()
}

fn a_case() -> impl Strategy<Value = (Geometry, u32, Command)> {
    a_geometry()
        .prop_flat_map(|geometry| {
            let dies = geometry.dies();
            (Just(geometry), 0..dies)
        })
        .prop_flat_map(|(geometry, die)| {
            let command = a_command(geometry.clone(), die);
            (Just(geometry), Just(die), command)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn cycles_decode_to_the_command_they_encode((geometry, die, command) in a_case()) {
        let mut cycles = Vec::new();
        command.encode(&geometry, DieId(die), &mut cycles);
        prop_assert_eq!(cycles.len(), command.cycle_count(&geometry));
        prop_assert_eq!(Command::decode(&cycles, &geometry, DieId(die)), Ok(command));
        // No command is the beginning of another, nor is one followed by anything.
        let truncated = Command::decode(&cycles[..cycles.len() - 1], &geometry, DieId(die));
        prop_assert_eq!(truncated, Err(CycleError::Truncated { at: cycles.len() - 1 }));
        cycles.push(BusCycle::Command(0));
        prop_assert!(Command::decode(&cycles, &geometry, DieId(die)).is_err());
    }

    #[test]
    fn any_cycles_decode_or_are_refused(
        cycles in prop::collection::vec((any::<bool>(), any::<u8>()), 0..40)
    ) {
        let cycles: Vec<_> = cycles
            .into_iter()
            .map(|(command, byte)| if command { BusCycle::Command(byte) } else { BusCycle::Address(byte) })
            .collect();
        let geometry = small().geometry;
        if let Ok(command) = Command::decode(&cycles, &geometry, DieId(1)) {
            prop_assert_eq!(command.cycle_count(&geometry), cycles.len());
        }
    }
}

#[test]
fn a_sense_has_the_slots_of_figure_15() {
    use BusCycle::{Address, Command as Code};
    let geometry = flash_cosmos().geometry;
    let command = mws(flags("isc"), &[(3, 2, &[0, 1, 47]), (2048, 0, &[8])]);
    let mut cycles = Vec::new();
    command.encode(&geometry, DieId(0), &mut cycles);
    let mut expected = vec![Code(0xC0), Address(0b0111)];
    expected.extend([3, 0].map(Address)); // 4096 blocks a chip: two bytes
    expected.extend([2, 0b11, 0, 0, 0, 0, 0x80].map(Address));
    expected.push(Code(0xC1)); // CONT
    expected.extend([0, 8].map(Address));
    expected.extend([0, 0, 1, 0, 0, 0, 0].map(Address));
    expected.push(Code(0xC3)); // CONF
    assert_eq!(cycles, expected);
    // The raise is above the flags.
    let mut raised = Vec::new();
    command.raised(11).encode(&geometry, DieId(0), &mut raised);
    expected[1] = Address(0b1011_0111);
    assert_eq!(raised, expected);
}

#[test]
fn a_plain_read_has_the_cycles_of_onfi() {
    let geometry = flash_cosmos().geometry;
    let mut cycles = Vec::new();
    Command::read(page(1, 2)).encode(&geometry, DieId(0), &mut cycles);
    let row = 576 + 2;
    let mut expected = vec![BusCycle::Command(0x00)];
    expected.extend([0, 0, row as u8, (row >> 8) as u8, 0].map(BusCycle::Address));
    expected.push(BusCycle::Command(0x30));
    assert_eq!(cycles, expected);
}

#[test]
fn a_command_is_small_enough_to_pass_around() {
    assert!(size_of::<Command>() <= 48, "{}", size_of::<Command>());
}
