//! Computing in the flash: a question over a bitmap index, its plan, four platforms, and what
//! weakly programmed cells do to the answer.
//!
//! `cargo run --release --example in_flash`

use bitline::{Ageing, Config, Drive, Error, Expression, Platform};

/// Rows of the table; two stripes over all planes.
const ROWS: u64 = 2_000_000;
/// Customers come from these regions, and ordered in these months.
const REGIONS: u32 = 5;
const MONTHS: u32 = 12;

/// The region and the month of a row: any fixed numbers that look random do.
fn row(number: u64) -> (u32, u32) {
    let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    (mixed as u32 % REGIONS, (mixed >> 16) as u32 % MONTHS)
}

/// The rows that `holds` picks, as bits: row i in bit i mod 8 of byte i / 8.
fn bitmap(holds: impl Fn(u32, u32) -> bool) -> Vec<u8> {
    let mut bits = vec![0; ROWS.div_ceil(8) as usize];
    for number in 0..ROWS {
        let (region, month) = row(number);
        bits[number as usize / 8] |= u8::from(holds(region, month)) << (number % 8);
    }
    bits
}

/// A drive with one bitmap a region and a month, and who ordered in the last quarter, from region 1 or 3. They are
/// stored inverted, since they will be ORed: an OR of inverted vectors is one sense.
fn indexed(config: Config) -> Result<(Drive, Expression), Error> {
    let mut drive = Drive::open(config)?;
    let regions = (0..REGIONS).map(|wanted| bitmap(|region, _| region == wanted));
    let regions = drive.group("regions")?.inverse().write(ROWS, regions)?;
    let months = (0..MONTHS).map(|wanted| bitmap(|_, month| month == wanted));
    let months = drive.group("months")?.inverse().write(ROWS, months)?;
    let question = Expression::any([&regions[1], &regions[3]])? & Expression::any(&months[9..])?;
    Ok((drive, question))
}

fn main() -> Result<(), Error> {
    let expected = (0..ROWS).filter(|&number| {
        let (region, month) = row(number);
        [1, 3].contains(&region) && month >= 9
    });
    let expected = expected.count() as u64;

    let (mut drive, question) = indexed(Config::preset("flash-cosmos")?)?;
    println!("{}", drive.query(&question).explain()?);
    for platform in Platform::NAMED {
        let (before, begin) = (drive.statistics()?, drive.now());
        assert_eq!(drive.query(&question).on(platform).count()?, expected);
        let after = drive.statistics()?;
        println!(
            "{platform:12} {:>9.1} {:4} senses {:6} uJ",
            drive.now().since(begin),
            after.flash.senses - before.flash.senses,
            (after.energy_pj - before.energy_pj) / 1_000_000,
        );
    }

    // The same index, programmed as plain SLC, after a year on a worn drive: wrong bits reach the
    // answer. Twice the programming time keeps it right.
    let year = Ageing::new(8760.0, 30.0).after_cycles(10_000);
    drive.grow_older(&year)?;
    assert_eq!(drive.query(&question).count()?, expected);
    let plain = [("nand.latency.program_esp_ns", "200000")];
    let (mut weak, question) = indexed(Config::preset("flash-cosmos")?.with(plain)?)?;
    weak.grow_older(&year)?;
    let found = weak.query(&question).count()?;
    println!("{expected} rows; {found} if programmed as SLC, after a year and 10,000 cycles");
    assert_ne!(found, expected);
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn runs() -> Result<(), super::Error> {
        super::main()
    }
}
