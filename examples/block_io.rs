//! Logical blocks: write, read, many requests in flight, deallocate, a power cut.
//!
//! `cargo run --release --example block_io`

use bitline::{Config, Drive, Error};

fn main() -> Result<(), Error> {
    let mut drive = Drive::open(Config::preset("flash-cosmos")?)?;
    let block = drive.block_bytes()? as usize;
    println!("{} blocks of {block} bytes", drive.blocks()?);

    // One call after the other; simulated time passes in each.
    let text = b"what is written is read back".repeat(300);
    let mut data = text[..2 * block].to_vec();
    drive.write(100, &data)?;
    assert_eq!(drive.read(100, 2)?, data);
    println!("{:.1} after a write and a read", drive.now());

    // Eight reads in flight: an async function that runs in simulated time.
    let took = drive.run(|host| async move {
        let begin = host.sim().now();
        let reads: Vec<_> = (0..8)
            .map(|_| {
                let reader = host.clone();
                host.sim().spawn(async move { reader.read(100, 2).await })
            })
            .collect();
        for read in reads {
            read.await?;
        }
        Ok::<_, Error>(host.sim().now().since(begin))
    })??;
    println!("{took:.1} for eight reads of the same page at once");

    // What was acknowledged survives; what was deallocated stays away.
    drive.deallocate(0, 4)?;
    drive.power_cut()?;
    assert!(matches!(drive.read(100, 1), Err(Error::NoPower)));
    drive.power_up()?;
    assert_eq!(drive.read(100, 2)?, data);
    data.fill(0);
    assert_eq!(drive.read(0, 2)?, data);

    let statistics = drive.statistics()?;
    println!(
        "since power-up: {} commands, {} page reads, {} nJ",
        statistics.frontend.commands,
        statistics.flash.page_reads,
        statistics.energy_pj / 1000
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn runs() -> Result<(), super::Error> {
        super::main()
    }
}
