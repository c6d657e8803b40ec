//! What is on the drive while entries are sent to it: namespaces, vectors, and the host memory that
//! entries may name.

use bitline::{Drive, StoredVector};
use host::{Buffer, Memory};
use nvme::{Dma, Expression, Lba, MEMORY_PAGE_BYTES, NamespaceId};
use sim::Random;

/// Size of the buffer for data, in logical blocks of 512 bytes.
const SCRATCH_BLOCKS: u32 = 4096;
/// Bytes of the buffer for what commands read from host memory before they do anything: expressions,
/// lists of ranges, PRP lists.
const LISTS_BYTES: u64 = 4 << 20;
/// Logical blocks of the first namespace that no entry may change.
pub(crate) const KEPT_BLOCKS: u64 = 64;

/// A namespace as it is formatted now.
#[derive(Clone, Copy)]
pub(crate) struct Space {
    pub(crate) id: NamespaceId,
    pub(crate) blocks: u64,
    pub(crate) block_bytes: u64,
}

impl Space {
    /// The first block that entries may change.
    pub(crate) fn first_free(&self) -> u64 {
        if self.id.get() == 1 { KEPT_BLOCKS } else { 0 }
    }
}

/// What is there, and where in host memory entries may point.
///
/// The lists lie below the data: what a command writes beyond the end of the data buffer is nobody's.
pub(crate) struct World {
    pub(crate) spaces: Vec<Space>,
    pub(crate) vectors: Vec<StoredVector>,
    memory: Memory,
    lists: Buffer,
    lists_used: u64,
    /// Of the lists, the last one that may be anything.
    last_list: std::ops::Range<u64>,
    pub(crate) scratch: Buffer,
}

impl World {
    pub(crate) fn new(drive: &Drive) -> World {
        let host = drive.host().expect("it has power");
        let memory = host::Transport::memory(host.block().transport()).clone();
        let lists = Buffer::new(&memory, LISTS_BYTES).expect("host memory has room");
        let scratch = host.block().buffer(SCRATCH_BLOCKS);
        World {
            spaces: Vec::new(),
            vectors: Vec::new(),
            memory,
            lists,
            lists_used: 0,
            last_list: 0..0,
            scratch: scratch.expect("host memory has room"),
        }
    }

    /// Asks the drive what it holds; lists of earlier entries are used up.
    pub(crate) fn look(&mut self, drive: &mut Drive) {
        self.lists_used = 0;
        self.last_list = 0..0;
        self.vectors = drive.vectors(None).expect("they can be listed");
        let spaces = drive.run(|host| async move {
            let mut spaces = Vec::new();
            for id in host.admin().namespaces().await? {
                let block = host.namespace(0, id).await?;
                spaces.push(Space {
                    id,
                    blocks: block.blocks(),
                    block_bytes: block.block_bytes().into(),
                });
            }
            Ok::<_, bitline::HostError>(spaces)
        });
        self.spaces = spaces.expect("it has power").expect("Identify works");
    }

    /// An entry is drawn: what is garbled from now on is a list of its own, not that of a legal one before it.
    pub(crate) fn begin_entry(&mut self) {
        self.last_list = 0..0;
    }

    pub(crate) fn space(&self, random: &mut Random) -> Space {
        self.spaces[random.below(self.spaces.len() as u64) as usize]
    }

    /// Puts what a command is to read into host memory of its own; gives its address.
    pub(crate) fn list(&mut self, bytes: &[u8]) -> u64 {
        let address = self.page_list(bytes);
        self.last_list = address..address + bytes.len() as u64;
        address
    }

    /// The same of a PRP list, which is not garbled: with one bit changed, an address may be that of the
    /// host's own queues.
    pub(crate) fn page_list(&mut self, bytes: &[u8]) -> u64 {
        let place = self.lists_used.next_multiple_of(MEMORY_PAGE_BYTES);
        self.lists_used = place + bytes.len() as u64;
        assert!(self.lists_used <= LISTS_BYTES, "a batch has too long lists");
        let address = self.lists.address() + place;
        let written = self.memory.borrow_mut().write(address, bytes);
        written.expect("it lies in the buffer");
        address
    }

    /// Changes a byte of the list that was made last.
    pub(crate) fn garble(&self, random: &mut Random) {
        let std::ops::Range { start, end } = self.last_list;
        if start == end {
            return;
        }
        let address = start + random.below(end - start);
        let mut memory = self.memory.borrow_mut();
        let written = memory.write(address, &[random.bits() as u8]);
        written.expect("it lies in the buffer");
    }

    /// An address for `bytes` of data, at a page of the scratch buffer.
    pub(crate) fn data(&self, random: &mut Random, bytes: u64) -> u64 {
        let room = self.scratch.bytes().saturating_sub(bytes) / MEMORY_PAGE_BYTES;
        self.scratch.address() + random.below(room + 1) * MEMORY_PAGE_BYTES
    }

    /// An address where data are not: the ends of all addresses, of host memory, of the buffer.
    pub(crate) fn end(&self, random: &mut Random) -> u64 {
        let near = |random: &mut Random| match random.below(3) {
            0 => random.below(64),
            1 => random.below(4) * MEMORY_PAGE_BYTES,
            _ => random.below(1 << 20),
        };
        // The arena is one stretch of addresses from its first page on.
        let memory = MEMORY_PAGE_BYTES + self.memory.borrow().reserved_bytes();
        match random.below(6) {
            0 => near(random).min(MEMORY_PAGE_BYTES - 1),
            1 => u64::MAX - near(random),
            2 => random.bits() | 1 << 63,
            3 => memory - near(random),
            4 => self.scratch.address() + self.scratch.bytes() - near(random),
            _ => memory + near(random),
        }
    }

    /// Blocks of a namespace: the kept ones among them only if they are read.
    pub(crate) fn blocks(&self, random: &mut Random, space: Space, read: bool) -> (Lba, u64) {
        let first = if read { 0 } else { space.first_free() };
        let start = first + random.below((space.blocks - first).max(1));
        let most = (space.blocks - start).clamp(1, 40);
        (Lba::new(start), 1 + random.below(most))
    }

    /// An expression over vectors that are equally long, and their length; none without vectors.
    pub(crate) fn expression(&self, random: &mut Random) -> Option<(Expression, u64)> {
        let count = self.vectors.len() as u64;
        let bits = self.vectors[random.below(count.max(1)) as usize..]
            .first()?
            .bits;
        let alike: Vec<&StoredVector> = self
            .vectors
            .iter()
            .filter(|vector| vector.bits == bits)
            .collect();
        let leaves = match random.below(20) {
            0 => 1 + random.below(24),
            _ => 1 + random.below(5),
        };
        let mut parts: Vec<Expression> = (0..leaves)
            .map(|_| alike[random.below(alike.len() as u64) as usize].id.into())
            .collect();
        while parts.len() > 1 {
            let taken = 2 + random.below(parts.len() as u64 - 1) as usize;
            let operands = parts.split_off(parts.len() - taken);
            let joined = match random.below(3) {
                0 => Expression::all(operands),
                1 => Expression::any(operands),
                _ => Expression::parity(operands),
            };
            let joined = joined.expect("it has operands");
            parts.push(if random.chance(0.2) { !joined } else { joined });
        }
        parts.pop().map(|expression| (expression, bits))
    }
}
