//! Estimates against what the simulation then takes and spends.

use bitline::{Drive, Expression, Platform, VectorId};
use sim::Span;

use crate::open;

/// Drives that are bound by different parts: stripes of few and of many dies, pages small and large,
/// an accelerator that is fast, slow or short of room.
const DRIVES: [&[(&str, &str)]; 4] = [
    &[("data.storage", "none")],
    &[
        ("data.storage", "none"),
        ("nand.geometry.channels", "8"),
        ("nand.geometry.chips_per_channel", "8"),
        ("nand.geometry.page_bytes", "16384"),
        ("nand.geometry.strings_per_block", "4"),
        ("nand.geometry.cells_per_string", "48"),
        ("bits.accelerator_buffer_bytes", "262144"),
    ],
    &[
        ("data.storage", "none"),
        ("nand.geometry.page_bytes", "16384"),
        ("nand.geometry.cells_per_string", "16"),
        ("nand.mws.time", "measured"),
        ("bits.accelerator_buffer_bytes", "262144"),
        ("bits.accelerator_megabytes_per_second", "1500"),
    ],
    &[
        ("data.storage", "none"),
        ("nand.geometry.page_bytes", "4096"),
        ("nand.geometry.planes_per_die", "1"),
        ("nand.geometry.cells_per_string", "16"),
        ("bits.accelerator_buffer_bytes", "65536"),
        ("link.lanes", "1"),
    ],
];

fn vector(group: u32, number: u32) -> Expression {
    VectorId::new(group, number).into()
}

fn all(group: u32, count: u32) -> Expression {
    Expression::all((0..count).map(|number| VectorId::new(group, number))).expect("operands")
}

/// Plans of one sense and of many, of one page and of several.
fn expressions() -> Vec<Expression> {
    let any = |group, count| {
        Expression::any((0..count).map(|number| VectorId::new(group, number))).expect("operands")
    };
    let parity = (0..4).map(|number| VectorId::new(0, number));
    vec![
        vector(0, 0),
        !vector(0, 0),
        all(0, 4),
        any(1, 4),
        any(0, 4),
        all(0, 2) | all(1, 2) | vector(2, 0),
        Expression::parity(parity).expect("operands"),
        (vector(0, 0) ^ vector(0, 1)) & (vector(0, 0) ^ vector(0, 2)),
        (vector(0, 0) ^ vector(1, 1))
            & (vector(2, 0) ^ vector(0, 2))
            & (vector(1, 0) ^ vector(2, 1)),
    ]
}

fn drive_with_vectors(drive: usize, bits: u64) -> Drive {
    let mut drive = open(DRIVES[drive]);
    let data = vec![0; bits.div_ceil(8) as usize];
    for group in 0..3 {
        for number in 0..4 {
            let id = VectorId::new(group, number);
            let written = drive.write_vector(id, bits, group == 1, &data);
            written.expect("there is room");
        }
    }
    drive
}

/// Lets what is on its way arrive.
fn settle(drive: &mut Drive) {
    let pause = drive.run(|host| async move { host.sim().sleep(Span::from_us(1)).await });
    pause.expect("nothing hangs");
}

fn spent(drive: &Drive) -> Vec<(String, String, u64)> {
    let statistics = drive.statistics().expect("power");
    let entries = statistics.energy.into_iter();
    entries
        .map(|entry| (entry.component, entry.cause, entry.energy_pj))
        .collect()
}

#[test]
fn estimates_are_what_the_simulation_takes() {
    let mut worst = 1.0f64;
    for number in 0..DRIVES.len() {
        let geometry = open(DRIVES[number]).config().device.nand.geometry.clone();
        let page_bits = u64::from(geometry.page_bytes) * 8;
        let planes = u64::from(geometry.planes());
        for chunks in [1, 3, planes, planes + 3, 4 * planes] {
            let bits = chunks * page_bits - 19;
            let mut drive = drive_with_vectors(number, bits);
            for expression in expressions() {
                for platform in Platform::ALL {
                    for count in [false, true] {
                        let told = drive.explanation(&expression, platform, None, count);
                        let told = told.expect("the vectors are there").estimate;
                        settle(&mut drive);
                        let (before, begin) = (spent(&drive), drive.now());
                        if count {
                            drive
                                .count_ones(&expression, platform, bits)
                                .expect("there");
                        } else {
                            drive.evaluate(&expression, platform, bits).expect("there");
                        }
                        let took = drive.now().since(begin).as_ns();
                        settle(&mut drive);
                        let after = spent(&drive);
                        let case = format!(
                            "drive {number}, {chunks} chunks, {platform}, count {count}: {expression}"
                        );
                        for (component, cause, energy) in after {
                            let known = before
                                .iter()
                                .find(|(a, b, _)| (a, b) == (&component, &cause));
                            let energy = energy - known.map_or(0, |(.., energy)| *energy);
                            let entry = told.energy.iter().find(|entry| {
                                (&entry.component, &entry.cause) == (&component, &cause)
                            });
                            let estimated = entry.map_or(0, |entry| entry.energy_pj);
                            if estimated != energy {
                                println!("{case}: {component}, {cause}: {estimated} {energy}");
                            }
                        }
                        let ratio = told.time_ns / took;
                        worst = worst.max(ratio).max(1.0 / ratio);
                        if !(0.97..1.03).contains(&ratio) {
                            println!("{case}: {} {took} {ratio:.3} {}", told.time_ns, told.bound);
                        }
                    }
                }
            }
        }
    }
    println!("worst {worst}");
}
