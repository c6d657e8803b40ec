//! Looks a person up in an index of a table, and then what the mapping of bytes to bytes has of them.
//!
//! Store 0 is the index of a table by `(born, number)`: 12 bits from the year 1000 on, and 32 that may be null. Store 1 has
//! values by key. The arguments are the year and the number, 4 bytes each, and the key. Returns the row, 16 bytes at most,
//! with its length before it (4 bytes), and the value.

fn task() -> Result<(), isc::Error> {
    let arguments = isc::args();
    let (numbers, key) = arguments.split_at_checked(8).ok_or(isc::Error::INVALID)?;
    let number = |at: usize| {
        let bytes = [0, 1, 2, 3].map(|byte| numbers[at + byte]);
        u64::from(u32::from_le_bytes(bytes))
    };
    let mut row = [0; 16];
    let mut name = isc::Name::default();
    name.add(number(0) - 1000, 12).add(1, 1).add(number(4), 32);
    let got = name.look_up(0, &mut row)?;
    isc::put_ret(&(got as u32).to_le_bytes())?;
    isc::put_ret(&row[..got.min(row.len())])?;
    isc::put_ret(&isc::look_up_key(1, 29, key, 100)?)
}

isc::task!(task);
