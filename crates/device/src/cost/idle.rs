//! A drive with nothing in it, in a simulation of its own, on which demands are lived through.

use std::cell::{OnceCell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use media::core::{Cores, Work};
use media::dram::{Dram, ScatteredAccess, Toward};
use media::link::{Carries, Link, READ_REQUEST_BYTES};
use nvme::{CompletionEntry, SubmissionEntry};
use sim::resource::{Priority, Semaphore, Server};
use sim::{JoinHandle, Ledger, Sim, Simulation, Time};

use super::array::{Array, AskedPages, NOBODY};
use super::{
    ACCOUNTS, Account, AskedOfDies, BatchDemand, Cost, CostModel, Demand, Destination, DieDemand,
    Op, StageDemand,
};
use crate::energy::ActiveTime;
use crate::memory::Partition;
use crate::port::{DOORBELL_BYTES, fetch_over, post_fetch};
use crate::schedule::Ticket;

const ENTRY_BYTES: u64 = size_of::<SubmissionEntry>() as u64;
const COMPLETION_BYTES: u64 = CompletionEntry::BYTES as u64;

/// What was asked for and is on its way.
struct Asked<'a> {
    of_dies: Ticket<'a>,
    /// When what the DRAM has of it is here.
    of_dram: Option<Time>,
}

/// An idle drive, as far as operations pass through it.
pub struct IdleDrive {
    sim: Sim,
    model: CostModel,
    /// What was spent so far, but for what its parts know themselves.
    cost: RefCell<Cost>,
    array: Rc<Array>,
    /// Room in the controller's memory.
    buffers: Semaphore,
    cores: Cores,
    /// The DRAM, and what it spends; there from its first use on.
    dram: OnceCell<(Rc<Dram>, Ledger)>,
    accelerator: Server,
    /// Pages of the accelerator's buffer that are free.
    room: Rc<Semaphore>,
    link: Rc<Link>,
    /// Whose entry is fetched, or will be when its doorbell has arrived: one at a time.
    lead: Semaphore,
    active: ActiveTime,
}

impl IdleDrive {
    /// A drive of this model in `sim`.
    pub fn new(sim: &Sim, model: &CostModel) -> Rc<IdleDrive> {
        let room = Rc::new(Semaphore::new(sim, model.accelerator.pages));
        Rc::new(IdleDrive {
            sim: sim.clone(),
            cost: RefCell::default(),
            array: Array::new(sim, model, &room),
            buffers: Semaphore::new(sim, model.page_buffers.into()),
            cores: Cores::new(&model.cores),
            dram: OnceCell::new(),
            accelerator: Server::new(sim),
            room,
            link: Link::new(sim, &model.link, &Ledger::default()),
            lead: Semaphore::new(sim, 1),
            active: ActiveTime::default(),
            model: model.clone(),
        })
    }

    /// What one demand takes on an idle drive.
    pub fn live(demand: Demand, model: &CostModel) -> Cost {
        IdleDrive::live_in_turn(vec![demand], model)
    }

    /// What several take of which the host sends each when it has the completion of the one before.
    pub fn live_in_turn(demands: Vec<Demand>, model: &CostModel) -> Cost {
        let simulation = Simulation::new(0);
        let drive = IdleDrive::new(&simulation.handle(), model);
        let host = drive.clone();
        simulation.handle().spawn_detached(async move {
            for demand in demands {
                host.clone().carry_out(demand).await;
            }
        });
        simulation.run();
        drive.cost()
    }

    /// What was done until now.
    pub fn cost(&self) -> Cost {
        let now = self.sim.now();
        let (time, active) = (now.since(Time::ZERO), self.active.span(now));
        let mut cost = Cost {
            time,
            active,
            accelerator: self.accelerator.busy(),
            link: self.link.up.busy(),
            cores: self.cores.busy(),
            ..*self.cost.borrow()
        };
        self.array.add_to(&mut cost);
        let drawn = self.model.drawn(active);
        cost.spend(Account::Active, drawn);
        cost.spend(Account::Cores, self.cores.energy(time));
        self.add_dram_to(&mut cost);
        cost
    }

    /// One demand, from the host's doorbell to its completion.
    pub async fn carry_out(self: Rc<IdleDrive>, demand: Demand) {
        let sim = &self.sim;
        let rung = self.ring();
        self.fetch_entry(rung).await;
        self.active.begin(sim.now());
        for work in demand.firmware {
            self.firmware(work, 1).await;
        }
        if demand.fetched_bytes > 0 {
            self.fetch_from_host(demand.fetched_bytes).await;
        }
        let dies: Vec<JoinHandle<()>> = demand
            .dies
            .into_iter()
            .map(|die| sim.spawn(self.clone().die(die)))
            .collect();
        for die in dies {
            die.await;
        }
        self.firmware(Work::Complete, 1).await;
        if demand.answer_bytes > 0 {
            self.send(demand.answer_bytes);
        }
        let arrives = self.send(COMPLETION_BYTES);
        self.active.end(sim.now());
        sim.sleep_until(arrives).await;
        // The host says that it has taken the completion; nothing waits for that.
        self.ring();
    }

    /// The host rings a doorbell; gives the instant at which that has crossed the link.
    fn ring(&self) -> Time {
        self.spend_on_link(Account::Down, DOORBELL_BYTES);
        self.link
            .down
            .post(NOBODY, Carries::Doorbell, DOORBELL_BYTES)
    }

    /// Fetches the queue entry that a doorbell announces which arrives at `rung`. As the front end does, which is at
    /// rest while no entry is to be fetched: then the fetch is put on the link with the doorbell, if it is idle.
    async fn fetch_entry(&self, rung: Time) {
        let at_rest = self.lead.try_acquire(1);
        if let Some(_lead) = at_rest.filter(|_| self.link.up.is_idle()) {
            self.spend_on_fetch(ENTRY_BYTES);
            let fetch = post_fetch(&self.link, NOBODY, rung, ENTRY_BYTES);
            self.sim.sleep_until(fetch.arrives).await;
            return;
        }
        let _lead = self.lead.acquire(1).await;
        self.sim.sleep_until(rung).await;
        self.fetch_from_host(ENTRY_BYTES).await;
    }

    async fn fetch_from_host(&self, bytes: u64) {
        self.spend_on_fetch(bytes);
        fetch_over(&self.link, &self.sim, NOBODY.into(), Carries::Data, bytes).await;
    }

    fn spend_on_fetch(&self, bytes: u64) {
        self.spend_on_link(Account::Up, READ_REQUEST_BYTES);
        self.spend_on_link(Account::Down, bytes);
    }

    /// Sends a message to the host behind those before it; gives the instant of its arrival.
    fn send(&self, bytes: u64) -> Time {
        self.spend_on_link(Account::Up, bytes);
        self.link.up.post(NOBODY, Carries::Data, bytes)
    }

    fn spend_on_link(&self, account: Account, bytes: u64) {
        let spent = self.model.sent(bytes).energy;
        self.cost.borrow_mut().spend(account, spent);
    }

    /// A core does a kind of work so often, in one go.
    async fn firmware(&self, work: Work, often: u64) {
        let cycles = self.model.cores.work.cycles(work).saturating_mul(often);
        if cycles > 0 {
            let done = self.cores.run(NOBODY, self.sim.now(), cycles);
            self.sim.sleep_until(done).await;
        }
    }

    async fn accelerate(&self, pages: u64) {
        if pages == 0 {
            return;
        }
        let taken = self.model.accelerated(pages);
        let energy = taken.energy;
        self.cost.borrow_mut().spend(Account::Accelerator, energy);
        self.accelerator.serve(Priority(0), taken.span).await;
    }

    async fn die(self: Rc<IdleDrive>, die: DieDemand) {
        for (stage, batches) in die.stages {
            self.stage(stage, batches).await;
        }
    }

    /// The batches of one die.
    async fn stage(&self, stage: Rc<StageDemand>, batches: Vec<BatchDemand>) {
        let buffers = stage.buffers.min(self.model.page_buffers);
        let _buffers = self.buffers.acquire(buffers.into()).await;
        let each = stage.fetches.len();
        let mut fetches = (0..batches.len()).flat_map(|batch| (0..each).map(move |at| (batch, at)));
        let mut flying: VecDeque<Asked<'_>> = VecDeque::with_capacity(stage.ahead);
        let mut top_up = |flying: &mut VecDeque<_>| {
            while flying.len() < stage.ahead
                && let Some((batch, at)) = fetches.next()
            {
                flying.push_back(self.fetch(&stage, at, &batches[batch].asked[at]));
            }
        };
        let mut sent = Time::ZERO;
        let mut programming: Option<Ticket<'_>> = None;
        for batch in &batches {
            let pages = u64::from(batch.pages);
            for op in &stage.ops {
                match *op {
                    Op::Fetched { operand } => {
                        top_up(&mut flying);
                        let fetch = flying.pop_front();
                        self.all_here(fetch).await;
                        if !stage.keeps {
                            top_up(&mut flying);
                        }
                        if operand {
                            self.accelerate(pages).await;
                            self.room.release(pages);
                        }
                    }
                    Op::Accelerate(due) => self.accelerate(due * pages).await,
                    Op::Dram(place, toward) => self.pass(&place, batch.bytes, toward).await,
                    Op::Work(work) => self.firmware(work, batch.works).await,
                }
            }
            match stage.destination {
                Destination::Nowhere => {}
                Destination::Host => {
                    self.sim.sleep_until(sent).await;
                    sent = self.send(batch.bytes);
                }
                Destination::Die => {
                    over(programming.take()).await;
                    programming = Some(self.program(batch.die, &batch.programmed));
                }
            }
        }
        over(programming).await;
    }

    /// Asks the dies that have them for the pages of a batch.
    fn fetch(&self, stage: &Rc<StageDemand>, at: usize, asked: &AskedOfDies) -> Asked<'_> {
        let ticket = self.array.ticket();
        let mut of_dram = None;
        match asked {
            AskedOfDies::Commands(dies) => {
                for &(die, planes) in dies {
                    self.array
                        .ask(die, AskedPages::new(stage, at, planes), &ticket);
                }
            }
            AskedOfDies::Reads { reads, cached } => {
                reads.iter().for_each(|read| self.array.read(read, &ticket));
                of_dram = self.post_cached(cached);
            }
        }
        Asked {
            of_dies: ticket,
            of_dram,
        }
    }

    /// Waits until all that was asked for is here.
    async fn all_here(&self, asked: Option<Asked<'_>>) {
        if let Some(asked) = asked {
            over(Some(asked.of_dies)).await;
            if let Some(arrives) = asked.of_dram {
                self.sim.sleep_until(arrives).await;
            }
        }
    }

    fn dram(&self) -> &Dram {
        let (dram, _) = self.dram.get_or_init(|| {
            let ledger = Ledger::default();
            let dram = Dram::new(&self.sim, &self.model.dram, &ledger, NOBODY);
            (dram, ledger)
        });
        dram
    }

    /// Has parts leave the DRAM together; gives when they have.
    fn post_cached(&self, parts: &[(u64, u64)]) -> Option<Time> {
        let mut access = ScatteredAccess::default();
        for &(address, bytes) in parts {
            self.dram()
                .add(&mut access, NOBODY, address, bytes, Toward::Reader);
        }
        match parts {
            [] => None,
            _ => self.dram().post_scattered(access),
        }
    }

    /// Moves bytes into or out of a part of the DRAM.
    async fn pass(&self, place: &Partition, bytes: u64, toward: Toward) {
        if bytes > 0
            && let Some(over) = place.post(self.dram(), NOBODY.into(), bytes, toward)
        {
            self.sim.sleep_until(over).await;
        }
    }

    /// Adds how long the DRAM moved data, and what that spent: its refreshes come whatever is done.
    fn add_dram_to(&self, cost: &mut Cost) {
        let Some((dram, ledger)) = self.dram.get() else {
            return;
        };
        cost.dram = dram.busy();
        for account in [Account::DramData, Account::DramRows] {
            let of_account = ledger.accounts().into_iter();
            let named = ACCOUNTS[account as usize];
            let of_account = of_account.filter(|of| (of.component, of.cause) == named);
            cost.spend(account, of_account.map(|of| of.energy).sum());
        }
    }

    /// Has pages programmed.
    fn program(&self, die: u32, pages: &[(u32, u32)]) -> Ticket<'_> {
        let ticket = self.array.ticket();
        for &page in pages {
            self.array.program(die, page, &ticket);
        }
        ticket
    }
}

/// Waits for what was asked of dies; on this drive nothing fails.
async fn over(ticket: Option<Ticket<'_>>) {
    if let Some(ticket) = ticket {
        let ended = ticket.await;
        debug_assert!(ended.is_ok(), "{ended:?} on a drive without faults");
    }
}
