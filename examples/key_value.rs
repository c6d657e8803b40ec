//! A map of names to values, whose names the drive finds itself: put, get, prefixes, ranges, a power cut.
//!
//! `cargo run --release --example key_value`

use std::ops::Bound;

use bitline::{Config, Drive, Error, KeyValueOptions};

fn main() -> Result<(), Error> {
    let mut drive = Drive::open(Config::preset("flash-cosmos")?)?;
    let options = KeyValueOptions {
        entries: 10_000,
        value_bytes: 32,
        name_bytes: 100,
    };
    let mut map = drive.key_value("stars", &options)?;
    for (name, distance) in [
        ("sirius", "8.6"),
        ("vega", "25"),
        ("procyon", "11.5"),
        ("alpha centauri a", "4.3"),
        ("alpha centauri b", "4.3"),
        ("altair", "16.7"),
    ] {
        map.put(name.as_bytes(), distance.as_bytes())?;
    }
    assert_eq!(map.get(b"vega")?, Some(b"25".to_vec()));
    assert_eq!(map.get(b"the sun")?, None);

    // The drive compares names with don't cares: a prefix is one lookup, a range a few prefixes.
    println!("{} begin with al", map.prefix(b"al")?.len());
    let range = map.range(Bound::Included(b"p"), Bound::Excluded(b"t"))?;
    let names: Vec<_> = range
        .iter()
        .map(|(name, _)| String::from_utf8_lossy(name))
        .collect();
    println!("from p to t: {}", names.join(", "));
    assert_eq!(names, ["procyon", "sirius"]);

    // A put is done or undone when the power goes, and done when it has returned.
    assert!(map.put(b"vega", b"25.04")?);
    assert!(map.delete(b"altair")?);
    drive.power_cut()?;
    drive.power_up()?;
    let mut map = drive.key_value("stars", &options)?;
    assert_eq!(map.get(b"vega")?, Some(b"25.04".to_vec()));
    println!("{} stars after a power cut", map.len()?);
    assert_eq!(map.len()?, 5);
    println!("{:.1} passed in the drive", drive.now());
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn runs() -> Result<(), super::Error> {
        super::main()
    }
}
