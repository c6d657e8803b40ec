//! Logical blocks of a drive out of what a file system tells of a file, or why the drive cannot work on them.

use bitline::Extent;

use super::map::Piece;

/// What a drive's blocks are, of which a file system has some.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    /// Bytes of one.
    pub(super) bytes: u64,
    /// Bytes of the drive before the file system.
    pub(super) offset: u64,
}

/// Why, and what would be right.
pub(super) type Refusal = (String, String);

/// Flags of pieces with which the drive does not see the bytes that the host sees (linux/fiemap.h), and what would be right.
const FLAGS: [(u32, &str, &str); 8] = [
    (
        0x0200,
        "lie inside its inode",
        "make it longer than an inode holds, or make the file system without inline data",
    ),
    (
        0x0004,
        "have no place on the drive yet, though the file was synchronized",
        "somebody goes on writing it: wait until that is over",
    ),
    (
        0x0002,
        "have a place that the file system does not tell",
        "copy the file",
    ),
    (
        0x0008 | 0x0080,
        "are compressed or encrypted by the file system",
        "copy it to a folder without compression and encryption",
    ),
    (
        0x2000,
        "are shared with another file or a snapshot, which would change with it",
        "give it blocks of its own: cp --reflink=never",
    ),
    (
        0x0800,
        "are set aside and not written: the file system shows zeroes, whatever the drive puts there",
        "write them: preallocated files are made by Mounted::create, or by dd conv=notrunc,fsync",
    ),
    (
        0x0400,
        "share a block with the end of another file",
        "mount the file system without tail packing",
    ),
    (
        0x0100,
        "do not begin or end with a block",
        "copy the file, or make the file system with blocks of 4 KiB or more",
    ),
];

/// The logical blocks of a file of so many bytes, in its order; pieces that follow one another are one extent.
pub(super) fn extents(
    pieces: &[Piece],
    file_bytes: u64,
    blocks: Blocks,
) -> Result<Vec<Extent>, Refusal> {
    let end = file_bytes.next_multiple_of(blocks.bytes);
    let (mut found, mut at) = (Vec::<Extent>::new(), 0);
    for piece in pieces.iter().filter(|piece| piece.logical < end) {
        if piece.logical > at {
            return Err(hole(at, piece.logical));
        }
        let until = (piece.logical + piece.bytes).min(end);
        if let Some((_, why, instead)) = FLAGS.iter().find(|(flag, ..)| piece.flags & flag != 0) {
            let why = format!("its bytes {} to {} {why}", piece.logical, until);
            return Err((why, (*instead).to_owned()));
        }
        let physical = piece.physical + blocks.offset;
        let is_whole = |place: u64| place.is_multiple_of(blocks.bytes);
        if !is_whole(physical) || !is_whole(piece.logical) || !is_whole(until) {
            let why = format!(
                "its bytes {} to {until} lie {physical} bytes into the drive, whose blocks have {} bytes",
                piece.logical, blocks.bytes
            );
            let instead = format!(
                "make the file system with blocks of {} bytes or more, on a partition that begins with a block",
                blocks.bytes
            );
            return Err((why, instead));
        }
        let next = Extent {
            first: physical / blocks.bytes,
            blocks: (until - piece.logical) / blocks.bytes,
        };
        match found.last_mut() {
            Some(last) if last.first + last.blocks == next.first => last.blocks += next.blocks,
            _ => found.push(next),
        }
        at = until;
    }
    match at < end {
        true => Err(hole(at, end)),
        false => Ok(found),
    }
}

fn hole(from: u64, to: u64) -> Refusal {
    (
        format!("its bytes {from} to {to} are a hole, which has no place on the drive"),
        "fill it: cp --sparse=never".to_owned(),
    )
}

/// The logical blocks of a file, in its order.
fn places(extents: &[Extent]) -> impl Iterator<Item = u64> {
    let all = extents.iter();
    all.flat_map(|extent| extent.first..extent.first + extent.blocks)
}

/// The bytes of a file that lie elsewhere than before; `None` if all lie where they lay.
pub(super) fn moved(before: &[Extent], now: &[Extent], block_bytes: u64) -> Option<(u64, u64)> {
    let (mut before, mut now) = (places(before), places(now));
    let (mut first, mut last, mut at) = (None, 0, 0);
    loop {
        let (old, new) = (before.next(), now.next());
        if old.is_none() && new.is_none() {
            return first.map(|first: u64| (first * block_bytes, (last + 1) * block_bytes));
        }
        if old != new {
            first = first.or(Some(at));
            last = at;
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: Blocks = Blocks {
        bytes: 4096,
        offset: 1 << 20,
    };

    fn extent(first: u64, blocks: u64) -> Extent {
        Extent { first, blocks }
    }

    #[test]
    fn pieces_become_blocks_behind_the_offset() {
        let pieces = [
            Piece::new(0, 40960, 8192, 0),
            Piece::new(8192, 49152, 4096, 0x1000),
            Piece::new(12288, 4096, 65536, 1),
        ];
        let found = extents(&pieces, 12289, BLOCKS).expect("they are whole blocks");
        assert_eq!(found, [extent(266, 3), extent(257, 1)]);
        assert_eq!(extents(&[], 0, BLOCKS).expect("nothing"), []);
    }

    #[test]
    fn what_the_drive_does_not_see_is_refused() {
        let of = |flags| extents(&[Piece::new(0, 4096, 4096, flags)], 4096, BLOCKS);
        for (flag, word) in [
            (0x200, "inode"),
            (0x4, "no place"),
            (0x2, "does not tell"),
            (0x8, "compressed"),
            (0x80, "encrypted"),
            (0x2000, "reflink=never"),
            (0x800, "not written"),
            (0x400, "another file"),
            (0x100, "begin or end"),
        ] {
            let (why, instead) = of(flag | 1).expect_err("it is refused");
            assert!(
                format!("{why}; {instead}").contains(word),
                "{flag:x}: {why}"
            );
        }
        assert!(of(0x1001).is_ok());
    }

    #[test]
    fn holes_are_refused_wherever_they_are() {
        let piece = |logical| Piece::new(logical, 40960, 4096, 0);
        for (pieces, bytes, range) in [
            (vec![], 1, "0 to 4096"),
            (vec![piece(4096)], 8192, "0 to 4096"),
            (vec![piece(0)], 8192, "4096 to 8192"),
            (vec![piece(0), piece(8192)], 12288, "4096 to 8192"),
        ] {
            let (why, _) = extents(&pieces, bytes, BLOCKS).expect_err("there is a hole");
            assert!(why.contains(range), "{why}");
        }
    }

    #[test]
    fn places_are_whole_blocks() {
        for piece in [Piece::new(0, 1024, 4096, 0), Piece::new(0, 4096, 1024, 0)] {
            let (why, _) = extents(&[piece], 4096, BLOCKS).expect_err("no whole block");
            assert!(why.contains("blocks have 4096 bytes"), "{why}");
        }
    }

    #[test]
    fn what_has_moved_is_told_in_bytes() {
        let before = [extent(10, 4), extent(30, 2)];
        assert_eq!(moved(&before, &before, 4096), None);
        let same = [extent(10, 1), extent(11, 3), extent(30, 2)];
        assert_eq!(moved(&before, &same, 4096), None);
        let other = [extent(10, 2), extent(50, 2), extent(30, 2)];
        assert_eq!(moved(&before, &other, 4096), Some((8192, 16384)));
        assert_eq!(moved(&before, &before[..1], 4096), Some((16384, 24576)));
    }
}
