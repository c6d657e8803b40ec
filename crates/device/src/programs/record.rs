//! What a chunk of a program says of the program, and where it lies in it.

/// A chunk of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// What the program is written in.
    pub program_type: u8,
    /// The drive keeps it through power cycles.
    pub persistent: bool,
    /// Bytes of all of it.
    pub program_bytes: u32,
    /// What its owner calls it.
    pub identifier: u64,
    /// Where the chunk begins.
    pub offset: u32,
}

impl Chunk {
    /// Whether both say the same of the program.
    pub(super) fn is_of(&self, first: &Chunk) -> bool {
        let program = |chunk: &Chunk| Chunk {
            offset: 0,
            ..*chunk
        };
        program(self) == program(first)
    }
}
