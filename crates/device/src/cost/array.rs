//! The dies of an idle drive and their channels: dies take from their queues what a drive's would take, pass commands and
//! data over the channels, and otherwise only let time pass.
//!
//! Not lived through is what one evaluation by itself hardly ever meets: a long computation that stands back, for reads of
//! another class of its chunks or because a program was overtaken `bypass_max` times, and what saving its latches takes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use media::channel::Channel;
use media::nand::{BlockId, PageAddress, PlaneId, ProgramMode, ReadCosts};
use sim::resource::{Permit, Semaphore};
use sim::{Energy, Sim, Span, Tenant};

use super::{Account, Command, Cost, CostModel, PageRead, StageDemand};
use crate::schedule::{LoneQueue, LoneRead, Next, Notify, Ticket, Tickets, Together, Waiting};

/// For whom nothing is counted.
pub(super) const NOBODY: Tenant = Tenant(0);

/// All dies and channels.
pub(super) struct Array {
    sim: Sim,
    model: CostModel,
    dies: Vec<Die>,
    channels: Vec<Rc<Channel>>,
    tickets: Tickets,
    /// Room in the accelerator's buffer.
    room: Rc<Semaphore>,
    /// Programming pages together: of one plane, of two, and so on.
    programs: Vec<Command>,
    /// Command phases of reads of one page, two, and so on.
    read_cycles: Vec<Span>,
    read_costs: ReadCosts,
    /// How the blocks are programmed of which something is read.
    modes: RefCell<BTreeMap<BlockId, ProgramMode>>,
    /// The energy of the dies' work.
    spent: RefCell<Cost>,
}

/// A die.
#[derive(Default)]
struct Die {
    /// What waits for it; none before the first.
    queue: RefCell<Option<LoneQueue<AskedPages>>>,
    /// Its task is there: as long as something may go.
    is_serving: Cell<bool>,
    worked: Cell<Span>,
}

/// Pages that are asked for.
pub(super) struct AskedPages {
    stage: Rc<StageDemand>,
    /// The number of the fetch.
    at: usize,
    planes: u32,
    /// All commands are done; the next time there is room for the way out.
    is_over: bool,
}

impl AskedPages {
    /// The pages of a fetch in some planes of a die.
    pub(super) fn new(stage: &Rc<StageDemand>, at: usize, planes: u32) -> AskedPages {
        AskedPages {
            stage: stage.clone(),
            at,
            planes,
            is_over: false,
        }
    }

    fn commands(&self) -> &[Command] {
        &self.stage.fetches[self.at].commands[self.planes as usize - 1]
    }
}

impl Array {
    /// Idle dies; pages that go to the accelerator take `room` in its buffer.
    pub(super) fn new(sim: &Sim, model: &CostModel, room: &Rc<Semaphore>) -> Rc<Array> {
        let geometry = &model.nand.geometry;
        let channels = 0..geometry.channels as usize;
        Rc::new(Array {
            sim: sim.clone(),
            dies: (0..geometry.dies()).map(|_| Die::default()).collect(),
            channels: channels
                .map(|number| Channel::new(sim, &model.channel, number))
                .collect(),
            tickets: Tickets::new(sim),
            room: room.clone(),
            programs: (1..=geometry.planes_per_die)
                .map(|planes| model.program(planes))
                .collect(),
            read_cycles: (1..=geometry.planes_per_die)
                .map(|planes| model.read_cycles(planes))
                .collect(),
            read_costs: model.nand.read_costs(),
            modes: RefCell::default(),
            spent: RefCell::default(),
            model: model.clone(),
        })
    }

    /// A ticket to ask for things with.
    pub(super) fn ticket(&self) -> Ticket<'_> {
        self.tickets.issue()
    }

    /// Asks a die for pages.
    pub(super) fn ask(self: &Rc<Array>, die: u32, asked: AskedPages, ticket: &Ticket<'_>) {
        self.tickets.count(ticket.id());
        let (notify, now) = (ticket.id().into(), self.sim.now());
        self.with_queue(die, |queue| queue.push_compute(asked, notify, now));
    }

    /// Has a die read a page.
    pub(super) fn read(self: &Rc<Array>, read: &PageRead, ticket: &Ticket<'_>) {
        self.tickets.count(ticket.id());
        let &PageRead {
            page,
            mode,
            bytes,
            inverse,
        } = read;
        self.modes.borrow_mut().insert(page.block, mode);
        let read = LoneRead {
            page,
            bytes,
            inverse,
            notify: ticket.id().into(),
        };
        let die = self.model.nand.geometry.die_of_block(page.block);
        let now = self.sim.now();
        self.with_queue(die.0, |queue| queue.push_read(read, now));
    }

    /// Has a die program a page of a plane.
    pub(super) fn program(
        self: &Rc<Array>,
        die: u32,
        (plane, page): (u32, u32),
        ticket: &Ticket<'_>,
    ) {
        self.tickets.count(ticket.id());
        let block = self.model.nand.geometry.block_of_plane(PlaneId(plane), 0);
        let page = PageAddress { block, page };
        let (notify, now) = (ticket.id().into(), self.sim.now());
        self.with_queue(die, |queue| queue.push_program(page, notify, now));
    }

    /// Adds how long dies and channels worked, and what they spent.
    pub(super) fn add_to(&self, cost: &mut Cost) {
        let worked = self.dies.iter().map(|die| die.worked.get());
        cost.array = worked.max().unwrap_or_default();
        let busy = self.channels.iter().map(|channel| channel.busy());
        cost.channel = busy.max().unwrap_or_default();
        let spent = self.spent.borrow().energy;
        for (of_account, energy) in cost.energy.iter_mut().zip(spent) {
            *of_account += energy;
        }
        for channel in &self.channels {
            cost.spend(Account::Channel, channel.energy().0);
        }
    }

    /// Changes what waits for a die, which goes on with that.
    fn with_queue(self: &Rc<Array>, die: u32, change: impl FnOnce(&mut LoneQueue<AskedPages>)) {
        let state = &self.dies[die as usize];
        let (geometry, config) = (&self.model.nand.geometry, &self.model.schedule);
        let queue = &mut *state.queue.borrow_mut();
        change(queue.get_or_insert_with(|| LoneQueue::new(die, geometry, config)));
        if !state.is_serving.replace(true) {
            self.sim.spawn_detached(self.clone().serve(die));
        }
    }

    /// Serves a die's queue until nothing may go.
    async fn serve(self: Rc<Array>, die: u32) {
        while let Some(next) = self.next_of(die) {
            match next {
                Next::Compute(waiting) => self.compute(die, waiting).await,
                Next::Read(waiting) => self.read_together(die, &waiting).await,
                Next::Program(waiting) => self.program_together(die, &waiting).await,
            }
        }
        self.dies[die as usize].is_serving.set(false);
    }

    /// Takes what goes next from a die's queue.
    fn next_of(&self, die: u32) -> Option<Next<AskedPages>> {
        let mut queue = self.dies[die as usize].queue.borrow_mut();
        queue.as_mut()?.next(&self.model.nand.geometry)
    }

    async fn compute(self: &Rc<Array>, die: u32, mut waiting: Waiting<AskedPages>) {
        let asked = &mut waiting.operation;
        if !asked.is_over {
            for command in asked.commands() {
                self.command(die, command, asked.planes).await;
            }
            asked.is_over = true;
            if !self.take_room(asked) {
                return self.park(die, waiting);
            }
        }
        let (channel, page_bytes) = (self.channel_of(die), self.model.page_bytes());
        let setup = self.model.data_out_setup();
        for _ in 0..asked.planes {
            channel.data(NOBODY, setup, page_bytes).await;
        }
        self.settle(waiting.notify);
    }

    /// Takes room for pages in the accelerator's buffer, if they need any and there is some now; whether they may go.
    fn take_room(&self, asked: &AskedPages) -> bool {
        if !asked.stage.through_accelerator {
            return true;
        }
        let taken = self.room.try_acquire(asked.planes.into());
        taken.map(Permit::keep).is_some()
    }

    /// Has pages that were computed wait for room in their latches.
    fn park(self: &Rc<Array>, die: u32, waiting: Waiting<AskedPages>) {
        let queue = &mut *self.dies[die as usize].queue.borrow_mut();
        if let Some(queue) = queue {
            queue.park();
        }
        let room = self.room.reserve(waiting.operation.planes.into());
        let array = self.clone();
        self.sim.spawn_detached(async move {
            room.await;
            array.with_queue(die, |queue| queue.unpark(waiting));
        });
    }

    /// A command without data to the die; the array's part follows in one wait where the channel is idle.
    async fn command(&self, die: u32, command: &Command, planes: u32) {
        let channel = self.channel_of(die);
        let begin = match channel.post_command(command.cycles) {
            Some(begin) => begin,
            None => {
                channel.command(command.cycles).await;
                self.sim.now()
            }
        };
        self.sim.sleep_until(begin + command.array).await;
        self.charge(die, command, planes);
    }

    /// Senses pages together, and moves what is wanted of each.
    async fn read_together(&self, die: u32, waiting: &Together<LoneRead>) {
        let (mut span, mut energy) = (Span::ZERO, Energy::ZERO);
        for read in waiting {
            let mode = self.modes.borrow()[&read.page.block];
            let busy = self.read_costs.of(mode, read.page.page);
            (span, energy) = (span.max(busy.span), energy + busy.energy);
        }
        let command = Command {
            cycles: self.read_cycles[waiting.len() - 1],
            array: span,
            energy,
            account: Account::Read,
        };
        self.command(die, &command, 1).await;
        let (channel, setup) = (self.channel_of(die), self.model.data_out_setup());
        for read in waiting {
            let bytes = read.bytes.into();
            match channel.post_data(NOBODY, setup, bytes) {
                Some(end) => self.sim.sleep_until(end).await,
                None => channel.data(NOBODY, setup, bytes).await,
            }
            self.settle(read.notify);
        }
    }

    async fn program_together(&self, die: u32, waiting: &Together<Notify>) {
        let planes = waiting.len();
        let (command, channel) = (self.programs[planes - 1], self.channel_of(die));
        let pages = (0..planes).map(|_| (NOBODY, self.model.page_bytes()));
        let begin = match channel.post_program(command.cycles, pages.clone()) {
            Some(begin) => begin,
            None => {
                channel.program(command.cycles, pages).await;
                self.sim.now()
            }
        };
        self.sim.sleep_until(begin + command.array).await;
        self.charge(die, &command, planes as u32);
        waiting.iter().for_each(|notify| self.settle(*notify));
    }

    fn settle(&self, notify: Notify) {
        if let Notify::Ticket(ticket) = notify {
            self.tickets.settle(ticket, None);
        }
    }

    fn charge(&self, die: u32, command: &Command, planes: u32) {
        let worked = &self.dies[die as usize].worked;
        worked.set(worked.get() + command.array);
        let energy = command.energy * u64::from(planes);
        self.spent.borrow_mut().spend(command.account, energy);
    }

    fn channel_of(&self, die: u32) -> &Channel {
        &self.channels[(die / self.model.nand.geometry.dies_per_channel()) as usize]
    }
}
