//! The checksum of a file (Listing 1 of TxISC, DATE 2025), as examples/tasks/checksum.c: CRC-32, read a piece ahead.
//! `cargo build --release --target wasm32-unknown-unknown --example checksum`, in the folder of this crate.

use isc::{Error, File};

/// How much of the file is in memory at a time, twice.
const PIECE_BYTES: usize = 64 << 10;

fn checksum() -> Result<(), Error> {
    let [input, output] = file_numbers()?;
    let mut crc = !0;
    let mut offset = 0;
    let mut ahead = input.submit_read(vec![0; PIECE_BYTES], 0)?;
    let mut spare = vec![0; PIECE_BYTES];
    loop {
        let (got, piece) = ahead.wait()?;
        if got == 0 {
            break;
        }
        offset += got as u64;
        ahead = input.submit_read(spare, offset)?;
        crc = piece[..got].iter().fold(crc, |crc, byte| add(crc, *byte));
        spare = piece;
    }
    let sum = (!crc).to_le_bytes();
    output.write(&sum, 0)?;
    isc::put_ret(&sum)
}

/// The arguments: numbers of the input and the output file, 2 x i32.
fn file_numbers() -> Result<[File; 2], Error> {
    let args: [u8; 8] = isc::args().try_into().map_err(|_| Error::INVALID)?;
    let [a, b, c, d, e, f, g, h] = args;
    Ok([
        File(i32::from_le_bytes([a, b, c, d])),
        File(i32::from_le_bytes([e, f, g, h])),
    ])
}

fn add(crc: u32, byte: u8) -> u32 {
    let shift = |rest: u32, _| rest >> 1 ^ if rest & 1 == 1 { 0xedb8_8320 } else { 0 };
    (0..8).fold(crc ^ u32::from(byte), shift)
}

isc::task!(checksum);
