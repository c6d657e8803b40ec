//! Times and counts against closed forms of the configuration.

use arrayvec::ArrayVec;
use bitline::inside::InsideConfig;
use bitline::{Drive, Expression, Platform, VectorId};
use media::nand::{BlockId, Command, Iscm, MwsPlane, MwsSlot, Nand, Storage, WordlineBitmap};
use sim::Span;

use crate::numbered::Numbered;
use crate::{Random, open, small};

const PAGE_BITS: u64 = 512 * 8;

/// Picoseconds of `bytes` at so many megabytes (10^6) per second.
fn transfer(bytes: u64, megabytes_per_second: f64) -> u64 {
    (bytes as f64 * 1e6 / megabytes_per_second).ceil() as u64
}

/// What one AND of a whole string takes on a drive that does nothing else.
#[test]
fn one_sense_takes_what_the_configuration_says() {
    let mut drive = open(&[]);
    let mut random = Random(1);
    let vectors: Vec<VectorId> = (0..4).map(|number| VectorId::new(5, number)).collect();
    for &id in &vectors {
        let data = random.vector(PAGE_BITS);
        drive
            .write_vector(id, PAGE_BITS, false, &data)
            .expect("room");
    }
    let expression = Expression::all(vectors.iter().copied()).expect("operands");
    // The doorbell of the last completion is still on its way.
    let pause = drive.run(|host| async move { host.sim().sleep(Span::from_us(1)).await });
    pause.expect("nothing hangs");
    let begin = drive.now();
    drive
        .evaluate(&expression, Platform::FlashCosmos)
        .expect("the vectors are there");
    let took = drive.now().since(begin).as_ps();

    let config = small(&[]).device().clone();
    let link = |bytes: u64| {
        let packets = bytes.div_ceil(u64::from(config.link.packet_payload_bytes));
        let wire = bytes + packets * u64::from(config.link.packet_overhead_bytes);
        let lane = config.link.megabytes_per_second_per_lane;
        transfer(wire, f64::from(config.link.lanes) * f64::from(lane))
    };
    let sense = Command::mws(
        Iscm::READ,
        ArrayVec::from_iter([MwsPlane {
            slots: ArrayVec::from_iter([MwsSlot {
                block: BlockId(0),
                string: 0,
                wordlines: WordlineBitmap::first(4),
            }]),
        }]),
    );
    let nand = Nand::open(&config.nand, Storage::None).expect("legal");
    let encoded = expression.encode().expect("a legal expression").len() as u64;
    let (doorbell, request, entry, completion) = (link(4), link(32), link(64), link(16));
    let command = doorbell + request + entry + request + link(encoded);
    let array = nand.command_span(&sense).as_ps() + config.nand.latency.mws_ns * 1000;
    let out = config.nand.bus.t_rr_ns * 1000 + transfer(512, config.channel.megabytes_per_second);
    assert_eq!(took, command + array + out + link(512) + completion);
}

/// Senses of one page while `run` does something.
fn senses(drive: &mut Drive, expression: &Expression, platform: Platform) -> u64 {
    let before = drive.statistics().expect("power").flash.senses;
    drive
        .count_ones(expression, platform)
        .expect("the vectors are there");
    drive.statistics().expect("power").flash.senses - before
}

/// Flash-Cosmos 4.1, 6.1: one sense for the wordlines of a string, or for four blocks.
#[test]
fn senses_of_1_to_200_operands() {
    let mut drive = open(&[
        ("nand.geometry.channels", "1"),
        ("nand.geometry.chips_per_channel", "1"),
        ("nand.geometry.planes_per_die", "1"),
        ("nand.geometry.strings_per_block", "1"),
        ("nand.geometry.cells_per_string", "48"),
        ("nand.geometry.blocks_per_plane", "300"),
        ("bits.compute_blocks_percent", "80"),
    ]);
    let data = Random(1).vector(PAGE_BITS);
    let mut write = |id, inverse| {
        let written = drive.write_vector(id, PAGE_BITS, inverse, &data);
        written.expect("there is room");
    };
    // Group 0 holds vectors as they are, group 1 their inverses, groups from 2 on one vector each.
    for number in 0..200 {
        write(VectorId::new(0, number), false);
        write(VectorId::new(1, number), true);
        write(VectorId::new(2 + number, 0), false);
    }
    let ids = |group: u32, count: u32| (0..count).map(move |n| VectorId::new(group, n));
    for count in 1..=200u32 {
        let n = u64::from(count);
        let all = Expression::all(ids(0, count)).expect("operands");
        let any = Expression::any(ids(1, count)).expect("operands");
        let apart = (0..count).map(|n| VectorId::new(2 + n, 0));
        let apart = Expression::any(apart).expect("operands");
        assert_eq!(
            senses(&mut drive, &all, Platform::FlashCosmos),
            n.div_ceil(48)
        );
        assert_eq!(
            senses(&mut drive, &any, Platform::FlashCosmos),
            n.div_ceil(48)
        );
        assert_eq!(
            senses(&mut drive, &apart, Platform::FlashCosmos),
            n.div_ceil(4)
        );
        assert_eq!(senses(&mut drive, &all, Platform::ParaBit), n);
        assert_eq!(senses(&mut drive, &all, Platform::InStorage), n);
        assert_eq!(senses(&mut drive, &apart, Platform::ParaBit), n);
    }
}

/// What saturates: the channels under the accelerator, the link under the host.
#[test]
fn operands_stream_at_the_rate_of_channels_and_link() {
    let mut drive = open(&[
        ("data.storage", "none"),
        ("nand.geometry.page_bytes", "16384"),
        ("bits.accelerator_buffer_bytes", "262144"),
        ("nand.geometry.chips_per_channel", "8"),
        ("nand.geometry.cells_per_string", "48"),
    ]);
    let bits = 16384 * 8 * 32 * 8;
    let (operands, bytes) = (16, bits / 8);
    let data = vec![0; bytes as usize];
    for number in 0..operands {
        let id = VectorId::new(0, number);
        drive.write_vector(id, bits, false, &data).expect("room");
    }
    let all = (0..operands).map(|number| VectorId::new(0, number));
    let all = Expression::all(all).expect("operands");
    let mut took = |platform| {
        let begin = drive.now();
        drive.evaluate(&all, platform).expect("exists");
        drive.now().since(begin).as_ps() as f64
    };
    let moved = u64::from(operands) * bytes;
    let channels = transfer(moved, 2.0 * 1200.0) as f64;
    let ratio = took(Platform::InStorage) / channels;
    assert!(
        (1.0..1.05).contains(&ratio),
        "in-storage: {ratio} of the channels' time"
    );
    // The host's operands cross the channels, too, which are slower here than the link.
    let ratio = took(Platform::Host) / channels;
    assert!(
        (1.0..1.05).contains(&ratio),
        "host: {ratio} of the channels' time"
    );
}

/// Energy of the host and of the controller: powers times times, and bytes that enter memory or are
/// read from it.
#[test]
fn host_and_controller_spend_what_the_configuration_says() {
    let mut drive = open(&[
        ("data.storage", "none"),
        ("host.stream_megabytes_per_second", "20000"),
        ("host.active_milliwatts", "30000"),
        ("host.memory_pj_per_byte", "100"),
        ("frontend.active_milliwatts", "5000"),
    ]);
    let bits = PAGE_BITS * 40;
    let bytes = bits / 8;
    drive
        .place_vectors(0, 3, bits, false)
        .expect("there is room");
    let three = Expression::all((0..3).map(|n| VectorId::new(0, n))).expect("operands");
    let spent = |drive: &Drive| {
        let energy = drive.statistics().expect("power").energy;
        move |component: &str, cause: &str| {
            let is_it = |entry: &&bitline::EnergyEntry| {
                entry.component == component && entry.cause == cause
            };
            energy.iter().find(is_it).map_or(0, |entry| entry.energy_pj)
        }
    };
    // A loop takes 50 ps for each byte that it reads or writes, and 30 W for that.
    let busy_ps = |traffic: u64| traffic * 50;
    for (platform, combined) in [(Platform::Host, 2), (Platform::FlashCosmos, 0)] {
        let before = spent(&drive);
        let begin = drive.now();
        let count = drive.ask(&three).on(platform).count_in_host();
        count.expect("the vectors are there");
        let elapsed = drive.now().since(begin).as_ps();
        let after = spent(&drive);
        let of = |component, cause| after(component, cause) - before(component, cause);
        // Two operands read and the result written for each that is combined, then the result read.
        let traffic = (3 * combined + 1) * bytes;
        let arrived = (1 + combined) * bytes;
        assert_eq!(of("host", "compute"), busy_ps(traffic) * 30, "{platform}");
        assert_eq!(of("host", "memory"), (traffic + arrived) * 100);
        // The controller rests only while the host works on the last batch, and around entries.
        let most = elapsed * 5;
        let least = (elapsed - busy_ps(4 * bytes) - 1_000_000) * 5;
        let active = of("controller", "active");
        assert!((least..=most).contains(&active), "{least} {active} {most}");
    }
}
