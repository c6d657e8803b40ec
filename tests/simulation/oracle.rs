//! What the drive should hold: for each block and fact the value that was
//! acknowledged, and those that may have taken its place since.

use std::collections::BTreeMap;

use sim::Random;

/// A value of a logical block; zero stands for "nothing".
pub type Value = u64;

/// Something that holds a value, and may be in flux.
#[derive(Clone, Debug, Default)]
struct Cell {
    acknowledged: Value,
    /// Values written and not acknowledged.
    pending: Vec<Value>,
    /// Values that others took the place of, each with when that was. A drive with a volatile
    /// cache may come back with one of them: no flush has made what followed durable.
    earlier: Vec<(Value, u64)>,
    busy: bool,
}

/// What a block holds that cannot be read.
pub const UNCORRECTABLE: Value = Value::MAX;

/// The blocks of a namespace.
#[derive(Debug, Default)]
struct Space {
    block_bytes: u32,
    /// Its size, which formats do not change: blocks may leave a rest.
    bytes: u64,
    /// Bytes behind them that are not the oracle's.
    beyond: u64,
    /// Formats asked for and not acknowledged.
    pending_formats: Vec<u32>,
    blocks: Vec<Cell>,
}

/// The oracle. Blocks are numbered, in numbered namespaces, facts by key.
#[derive(Debug, Default)]
pub struct Oracle {
    spaces: Vec<Space>,
    facts: BTreeMap<u32, Cell>,
    next_value: Value,
    /// Values that a copy made: the block and the value that they look like.
    copies: BTreeMap<Value, (u64, Value)>,
    /// Whether the drive has a volatile write cache.
    volatile: bool,
    /// Rises with every acknowledgement and every flush.
    clock: u64,
}

impl Oracle {
    /// Of namespaces of so many bytes a block, and so many blocks.
    pub fn new(spaces: &[(u32, u64)], volatile: bool) -> Oracle {
        let space = |(block_bytes, blocks): &(u32, u64)| Space {
            block_bytes: *block_bytes,
            bytes: blocks * u64::from(*block_bytes),
            beyond: 0,
            pending_formats: Vec::new(),
            blocks: vec![Cell::default(); *blocks as usize],
        };
        Oracle {
            spaces: spaces.iter().map(space).collect(),
            volatile,
            ..Oracle::default()
        }
    }

    /// Leaves the last bytes of a namespace, whole pages, to others; gives the first of them.
    pub fn leave(&mut self, space: usize, bytes: u64) -> u64 {
        let space = &mut self.spaces[space];
        space.beyond = bytes;
        space.bytes -= bytes;
        space
            .blocks
            .truncate((space.bytes / u64::from(space.block_bytes)) as usize);
        space.bytes
    }

    /// Blocks of a namespace, with those that it leaves to others.
    pub fn all_blocks_of(&self, space: usize) -> u64 {
        let space = &self.spaces[space];
        (space.bytes + space.beyond) / u64::from(space.block_bytes)
    }

    pub fn fresh_value(&mut self) -> Value {
        self.next_value += 1;
        self.next_value
    }

    /// A value that looks like `value` of block `lba`.
    pub fn copied_value(&mut self, lba: u64, value: Value) -> Value {
        if value == 0 {
            return 0;
        }
        let origin = self.copies.get(&value).copied().unwrap_or((lba, value));
        let copy = self.fresh_value();
        self.copies.insert(copy, origin);
        copy
    }

    pub fn spaces(&self) -> usize {
        self.spaces.len()
    }

    pub fn blocks(&self, space: usize) -> u64 {
        self.spaces[space].blocks.len() as u64
    }

    pub fn block_bytes(&self, space: usize) -> u32 {
        self.spaces[space].block_bytes
    }

    fn range(&mut self, space: usize, lba: u64, count: u64) -> &mut [Cell] {
        &mut self.spaces[space].blocks[lba as usize..(lba + count) as usize]
    }

    /// Claims blocks for one client; false if one of them is another's.
    pub fn claim(&mut self, space: usize, lba: u64, count: u64) -> bool {
        let range = self.range(space, lba, count);
        let free = range.iter().all(|block| !block.busy);
        if free {
            range.iter_mut().for_each(|block| block.busy = true);
        }
        free
    }

    pub fn release(&mut self, space: usize, lba: u64, count: u64) {
        let range = self.range(space, lba, count);
        range.iter_mut().for_each(|block| block.busy = false);
    }

    /// A command that makes blocks `value` is on its way.
    pub fn begin(&mut self, space: usize, lba: u64, count: u64, value: Value) {
        for block in self.range(space, lba, count) {
            block.pending.push(value);
        }
    }

    /// It was acknowledged; `durable` if no power cut may take it back.
    pub fn acknowledge(&mut self, space: usize, lba: u64, count: u64, value: Value, durable: bool) {
        self.clock += 1;
        let now = self.volatile.then_some(self.clock);
        for block in self.range(space, lba, count) {
            // A mark goes only when what takes its place is on flash.
            let durable = durable || block.acknowledged == UNCORRECTABLE;
            block.replace(value, now);
            if durable {
                block.earlier.clear();
            }
        }
    }

    /// A flush begins; gives what [`Oracle::flushed`] is to be told.
    pub fn flush_begins(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// The flush of a namespace that began then is over: what was acknowledged before is durable.
    pub fn flushed(&mut self, space: usize, began: u64) {
        for block in &mut self.spaces[space].blocks {
            block.earlier.retain(|(_, replaced)| *replaced > began);
        }
    }

    /// The power is cut: unless a flush came between, blocks may hold earlier values.
    pub fn power_cut(&mut self) {
        for block in self.all_blocks() {
            let earlier = block.earlier.drain(..).map(|(value, _)| value);
            block.pending.extend(earlier);
        }
    }

    /// Everything was observed since power-up: what the drive came back with is on its media.
    pub fn recovered(&mut self) {
        self.all_blocks().for_each(|block| block.earlier.clear());
    }

    fn all_blocks(&mut self) -> impl Iterator<Item = &mut Cell> {
        self.spaces.iter_mut().flat_map(|space| &mut space.blocks)
    }

    /// The values of blocks that nobody is changing.
    pub fn settled(&mut self, space: usize, lba: u64, count: u64) -> Option<Vec<Value>> {
        let blocks = self.range(space, lba, count).iter();
        blocks
            .map(|block| block.pending.is_empty().then_some(block.acknowledged))
            .collect()
    }

    /// A format of a whole namespace, which the client has claimed, is on its way.
    pub fn begin_format(&mut self, space: usize, block_bytes: u32) {
        let space = &mut self.spaces[space];
        space.pending_formats.push(block_bytes);
        for block in &mut space.blocks {
            block.pending.push(0);
        }
    }

    /// The namespace is seen to have this format. If it is a new one, all blocks are zero.
    ///
    /// # Errors
    /// If it was never asked for.
    pub fn observe_format(&mut self, space: usize, block_bytes: u32) -> Result<(), String> {
        let it = &mut self.spaces[space];
        if block_bytes == it.block_bytes {
            return Ok(());
        }
        if !it.pending_formats.contains(&block_bytes) {
            return Err(format!(
                "namespace {} has blocks of {block_bytes} bytes, expected {} or one of {:?}",
                space + 1,
                it.block_bytes,
                it.pending_formats
            ));
        }
        self.acknowledge_format(space, block_bytes);
        Ok(())
    }

    /// A format was acknowledged: all blocks are zero.
    pub fn acknowledge_format(&mut self, space: usize, block_bytes: u32) {
        let it = &mut self.spaces[space];
        it.block_bytes = block_bytes;
        it.pending_formats.clear();
        it.blocks = vec![Cell::default(); (it.bytes / u64::from(block_bytes)) as usize];
    }

    /// Checks what was read of a block (`None`: it cannot be read), and holds the drive to it from
    /// now on.
    pub fn observe(&mut self, space: usize, lba: u64, seen: Option<&[u8]>) -> Result<(), String> {
        let matches = |value: &Value| match seen {
            None => *value == UNCORRECTABLE,
            Some(bytes) => {
                *value != UNCORRECTABLE && self.content(lba, *value, bytes.len()) == bytes
            }
        };
        let block = &self.spaces[space].blocks[lba as usize];
        let Some(value) = block.values().find(matches) else {
            let what = seen.map_or("cannot be read".to_owned(), |bytes| {
                format!("holds {:02x?}...", &bytes[..8])
            });
            return Err(format!(
                "block {lba} of namespace {} {what}, expected one of {block:?}",
                space + 1
            ));
        };
        self.acknowledge(space, lba, 1, value, false);
        Ok(())
    }

    /// The bytes of a block that holds `value`: zeroes for nothing.
    pub fn content(&self, lba: u64, value: Value, bytes: usize) -> Vec<u8> {
        let (lba, value) = self.copies.get(&value).copied().unwrap_or((lba, value));
        filled(value, lba.wrapping_mul(0x9E37_79B9_7F4A_7C15), bytes)
    }

    /// All that blocks hold is to go.
    pub fn begin_sanitize(&mut self) {
        let blocks = self.spaces.iter_mut().flat_map(|space| &mut space.blocks);
        blocks.for_each(|cell| cell.pending.push(0));
    }

    /// A sanitize operation began: nothing comes back any more, whatever happens to it.
    pub fn acknowledge_sanitize(&mut self) {
        let blocks = self.spaces.iter_mut().flat_map(|space| &mut space.blocks);
        for cell in blocks {
            (cell.acknowledged, cell.pending, cell.earlier) = (0, Vec::new(), Vec::new());
        }
    }

    /// After a power cut nobody claims anything.
    pub fn release_all(&mut self) {
        for space in &mut self.spaces {
            space.blocks.iter_mut().for_each(|block| block.busy = false);
        }
    }
}

/// Facts of the firmware.
impl Oracle {
    /// Facts are to take this value together.
    pub fn begin_facts(&mut self, keys: &[u32], value: Value) {
        for key in keys {
            let fact = self.facts.entry(*key).or_default();
            fact.pending.push(value);
        }
    }

    pub fn acknowledge_facts(&mut self, keys: &[u32], value: Value) {
        for key in keys {
            let fact = self.facts.entry(*key).or_default();
            fact.acknowledged = value;
            fact.pending.clear();
        }
    }

    /// Checks all facts, and holds the drive to what it says from now on.
    ///
    /// # Errors
    /// One that is neither what was acknowledged nor what it was to become, or one of two that were to come
    /// into force together.
    pub fn observe_facts(&mut self, read: impl Fn(u32) -> Option<Vec<u8>>) -> Result<(), String> {
        let mut taken = Vec::new();
        for (key, fact) in &mut self.facts {
            let seen = read(*key);
            let is_seen = |value: &Value| match &seen {
                None => *value == 0,
                Some(bytes) => *value != 0 && fact_content(*key, *value) == *bytes,
            };
            let Some(value) = fact.values().find(is_seen) else {
                let length = seen.map(|bytes| bytes.len());
                return Err(format!(
                    "fact {key} has {length:?} bytes, expected one of {fact:?}"
                ));
            };
            let before = std::mem::replace(&mut fact.acknowledged, value);
            let pending = std::mem::take(&mut fact.pending);
            // Two values may have the same bytes, such as none.
            let looks = |value: Value| (value != 0).then(|| fact_content(*key, value));
            // Only one put is under way at a time.
            let new = pending.last().filter(|new| **new != 0);
            let new = new.filter(|new| looks(**new) != looks(before));
            taken.extend(new.map(|new| (*new, *new == value)));
        }
        for (new, came) in &taken {
            if taken.iter().any(|(other, too)| other == new && too != came) {
                return Err(format!("value {new} came into force in part"));
            }
        }
        Ok(())
    }
}

impl Cell {
    /// The value is now `value`; `replaced` says when, if what it was, or was to be, may come back.
    fn replace(&mut self, value: Value, replaced: Option<u64>) {
        let before = std::mem::replace(&mut self.acknowledged, value);
        let others = self.pending.drain(..).chain([before]);
        if let Some(now) = replaced {
            let others = others.filter(|other| *other != value);
            self.earlier.extend(others.map(|other| (other, now)));
        }
    }

    fn values(&self) -> impl Iterator<Item = Value> + '_ {
        self.pending.iter().copied().chain([self.acknowledged])
    }
}

/// The bytes of a fact: none, a few, or several pages.
pub fn fact_content(key: u32, value: Value) -> Vec<u8> {
    let bytes = match value % 7 {
        0 => value % 9,
        1..=4 => value % 300,
        5 => value % 2500,
        _ => value % 7000,
    };
    filled(value, u64::from(key) << 48, bytes as usize)
}

fn filled(value: Value, salt: u64, bytes: usize) -> Vec<u8> {
    let mut content = vec![0; bytes];
    if value != 0 {
        Random::named(value ^ salt, "content").fill(&mut content);
    }
    content
}
