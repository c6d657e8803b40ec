//! What is on the drive while entries are sent to it: namespaces, placement handles, search regions, and the host memory
//! that entries may name.

use bitline::Drive;
use bitline::inside::{InsideDrive, InsideHost};
use device::port::Wiring;
use device::stream::StreamId;
use host::bits::BitsDevice;
use host::{Buffer, Memory};
use nvme::command::RegionRecord;
use nvme::{Dma, Expression, Lba, MEMORY_PAGE_BYTES, NamespaceId, RegionId};
use sim::Random;

/// Size of the buffer for data, in logical blocks of 512 bytes.
const SCRATCH_BLOCKS: u32 = 4096;
/// Bytes of the buffer for what commands read from host memory before they do anything: expressions,
/// lists of ranges, PRP lists.
const LISTS_BYTES: u64 = 4 << 20;
/// Logical blocks of the first namespace that no entry may change.
pub(crate) const KEPT_BLOCKS: u64 = 64;

/// Numbers of handles that entries name: most are open.
pub(crate) const HANDLES: u64 = 8;
/// Bytes of a logical page of the drive, and of a flash page.
pub(crate) const PAGE_BYTES: u64 = 2048;

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

    pub(crate) fn blocks_per_page(&self) -> u64 {
        PAGE_BYTES / self.block_bytes
    }
}

/// What is there, and where in host memory entries may point.
///
/// The lists lie below the data: what a command writes beyond the end of the data buffer is nobody's.
pub(crate) struct World {
    pub(crate) spaces: Vec<Space>,
    /// Open handles, each with its namespace.
    handles: Vec<(Space, u16)>,
    /// Search regions, each with its namespace.
    pub(super) regions: Vec<(Space, RegionRecord)>,
    /// Lookups that can be gone on with: namespace, search region, cursor.
    pub(super) cursors: Vec<(Space, RegionId, u32)>,
    /// Streams that are open, each with its namespace.
    pub(super) streams: Vec<(Space, u32)>,
    /// Collections, those that are over included, each with its namespace.
    pub(super) collectors: Vec<(Space, u16)>,
    memory: Memory,
    lists: Buffer,
    lists_used: u64,
    /// Of the lists, the last one that may be anything.
    last_list: std::ops::Range<u64>,
    pub(crate) scratch: Buffer,
}

/// Ports that have wires.
pub(super) const PORTS: u32 = 4;

const WIRING: Wiring = Wiring {
    bytes_per_second: 100_000_000,
    packet_bytes: 1000,
    overhead_bytes: 20,
};

impl World {
    pub(crate) fn new(drive: &Drive) -> World {
        let host = drive.host().expect("it has power");
        let memory = host::Transport::memory(host.block().transport()).clone();
        let lists = Buffer::new(&memory, LISTS_BYTES).expect("host memory has room");
        let scratch = host.block().buffer(SCRATCH_BLOCKS);
        World {
            spaces: Vec::new(),
            handles: Vec::new(),
            regions: Vec::new(),
            cursors: Vec::new(),
            streams: Vec::new(),
            collectors: Vec::new(),
            memory,
            lists,
            lists_used: 0,
            last_list: 0..0,
            scratch: scratch.expect("host memory has room"),
        }
    }

    /// Asks the drive what it holds; lists of earlier entries are used up.
    pub(crate) fn look(&mut self, drive: &mut Drive) {
        // An entry that is spoiled may have the drive read past the end of its list: nothing is there that looks like an
        // address.
        let nothing = vec![0; self.lists_used as usize];
        let cleared = self
            .memory
            .borrow_mut()
            .write(self.lists.address(), &nothing);
        cleared.expect("it lies in the buffer");
        self.lists_used = 0;
        self.last_list = 0..0;
        let found = drive.run(|host| async move {
            let (mut spaces, mut handles) = (Vec::new(), Vec::new());
            for id in host.admin().namespaces().await? {
                let block = host.namespace(0, id).await?;
                let space = Space {
                    id,
                    blocks: block.blocks(),
                    block_bytes: block.block_bytes().into(),
                };
                let open = BitsDevice::new(block).handles().await?.into_iter();
                handles.extend(open.map(|(handle, _)| (space, handle.number)));
                spaces.push(space);
            }
            Ok::<_, bitline::HostError>((spaces, handles))
        });
        let found = found.expect("it has power");
        (self.spaces, self.handles) = found.expect("Identify and Directive Receive work");
        let open = drive.device().expect("it has power").streams.open_streams();
        let spaces = &self.spaces;
        let with_space = |id: StreamId| {
            let space = spaces.iter().find(|space| space.id == id.namespace)?;
            Some((*space, id.number))
        };
        self.streams = open.into_iter().filter_map(with_space).collect();
        let ports = &drive.device().expect("it has power").collectors;
        for port in 0..PORTS {
            ports.plug(port, WIRING).expect("a port of the drive");
        }
        let of = |space: &Space| {
            let records = ports.list(space.id).into_iter();
            let space = *space;
            records.map(move |record| (space, record.port.get() as u16))
        };
        self.collectors = self.spaces.iter().flat_map(of).collect();
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

    /// The same, for what may be taken for a PRP list: not where the drive has put data, for an entry of such a list
    /// could be an address of the host's own queues.
    pub(crate) fn end_of_list(&self, random: &mut Random) -> u64 {
        let end = self.end(random);
        let data = self.lists.address()..self.scratch.address() + self.scratch.bytes();
        if data.contains(&end) { !end } else { end }
    }

    /// Blocks of a namespace: the kept ones among them only if they are read.
    pub(crate) fn blocks(&self, random: &mut Random, space: Space, read: bool) -> (Lba, u64) {
        let first = if read { 0 } else { space.first_free() };
        let start = first + random.below((space.blocks - first).max(1));
        let most = (space.blocks - start).clamp(1, 40);
        (Lba::new(start), 1 + random.below(most))
    }

    /// A handle and its namespace; some number if none is open.
    pub(crate) fn handle(&self, random: &mut Random) -> (Space, u16) {
        match self.handles.len() as u64 {
            0 => (self.space(random), 0),
            open => self.handles[random.below(open) as usize],
        }
    }

    /// Whole logical pages of a namespace, behind the blocks that are kept, as blocks.
    pub(crate) fn pages(&self, random: &mut Random, space: Space) -> (Lba, u64) {
        let per_page = space.blocks_per_page();
        let first = space.first_free() / per_page;
        let pages = (space.blocks / per_page - first).max(1);
        // Half of the traffic goes to a few pages, so that there is something to compute with.
        let few = if random.chance(0.5) { 12 } else { pages };
        let start = random.below(few.min(pages));
        let count = 1 + random.below((pages - start).min(8));
        (Lba::new((first + start) * per_page), count * per_page)
    }

    /// An expression over pages of a namespace, and the length of its operands in bits.
    pub(crate) fn expression(&self, random: &mut Random) -> (Space, Expression<Lba>, u64) {
        let space = self.space(random);
        let bits = [7, 2048 * 8, 2048 * 8 * 3 + 5, 1000][random.below(4) as usize];
        let bits = bits.min(space.blocks * space.block_bytes * 8);
        let leaves = match random.below(20) {
            0 => 1 + random.below(24),
            _ => 1 + random.below(5),
        };
        let last = space.blocks - (bits.div_ceil(8)).div_ceil(space.block_bytes);
        let mut parts: Vec<Expression<Lba>> = (0..leaves)
            .map(|_| {
                let (start, _) = self.pages(random, space);
                let latest = last / space.blocks_per_page() * space.blocks_per_page();
                start.min(Lba::new(latest)).into()
            })
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
        let expression = parts.pop().expect("there is one leaf at least");
        (space, expression, bits)
    }
}
