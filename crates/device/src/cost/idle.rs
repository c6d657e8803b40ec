//! A drive with nothing in it, in a simulation of its own, on which jobs are lived through.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use media::channel::Channel;
use media::core::{Cores, Work};
use media::link::{Link, READ_REQUEST_BYTES};
use media::nand::{Command as NandCommand, PageAddress, PlaneId, ProgramMode};
use nvme::{CompletionEntry, SubmissionEntry};
use sim::resource::{OneshotReceiver, OneshotSender, Priority, Semaphore, Server, oneshot};
use sim::{Energy, JoinHandle, Ledger, Sim, Simulation, Span, Tenant, Time, join_all};

use super::{Account, BatchJob, Command, Cost, CostModel, DieJob, Job, Op, Sink, StageJob};
use crate::energy::{ActiveTime, of_power};
use crate::port::DOORBELL_BYTES;

const ENTRY_BYTES: u64 = size_of::<SubmissionEntry>() as u64;
const COMPLETION_BYTES: u64 = CompletionEntry::BYTES as u64;
/// For whom nothing is counted.
const NOBODY: Tenant = Tenant(0);

/// A page that waits to be programmed.
struct Waiting {
    plane: u32,
    page: u32,
    end: OneshotSender<()>,
}

/// An idle drive, as far as operations pass through it.
pub struct IdleDrive {
    sim: Sim,
    model: CostModel,
    /// Time and energy so far; time is taken at the end.
    cost: RefCell<Cost>,
    dies: Vec<Server>,
    /// Pages that wait to be programmed, by die.
    waiting: Vec<RefCell<VecDeque<Waiting>>>,
    /// How long each die worked.
    worked: Vec<Cell<Span>>,
    channels: Vec<Rc<Channel>>,
    cores: Cores,
    accelerator: Server,
    room: Semaphore,
    link: Rc<Link>,
    active: ActiveTime,
    /// Programming a batch of pages: what a program of one plane takes, and of each plane more.
    programs: Vec<Command>,
}

impl IdleDrive {
    /// A drive of this model in `sim`.
    pub fn new(sim: &Sim, model: &CostModel) -> Rc<IdleDrive> {
        let geometry = &model.nand.geometry;
        let channels = 0..geometry.channels as usize;
        Rc::new(IdleDrive {
            sim: sim.clone(),
            cost: RefCell::default(),
            dies: (0..geometry.dies()).map(|_| Server::new(sim)).collect(),
            waiting: (0..geometry.dies()).map(|_| RefCell::default()).collect(),
            worked: (0..geometry.dies()).map(|_| Cell::default()).collect(),
            channels: channels
                .map(|number| Channel::new(sim, &model.channel, number))
                .collect(),
            cores: Cores::new(&model.cores),
            accelerator: Server::new(sim),
            room: Semaphore::new(sim, model.accelerator.pages),
            link: Link::new(sim, &model.link, &Ledger::default()),
            active: ActiveTime::default(),
            programs: programs(model),
            model: model.clone(),
        })
    }

    /// What one job takes on an idle drive.
    pub fn live(job: Job, model: &CostModel) -> Cost {
        let simulation = Simulation::new(0);
        let drive = IdleDrive::new(&simulation.handle(), model);
        simulation
            .handle()
            .spawn_detached(drive.clone().carry_out(job));
        simulation.run();
        drive.cost()
    }

    /// What was done until now.
    pub fn cost(&self) -> Cost {
        let now = self.sim.now();
        let (time, active) = (now.since(Time::ZERO), self.active.span(now));
        let channels = self.channels.iter().map(|channel| channel.busy());
        let mut cost = Cost {
            time,
            active,
            array: self.worked.iter().map(Cell::get).max().unwrap_or_default(),
            channel: channels.max().unwrap_or_default(),
            accelerator: self.accelerator.busy(),
            link: self.link.up.busy(),
            cores: self.cores.busy(),
            ..*self.cost.borrow()
        };
        let channels = self.channels.iter().map(|channel| channel.energy().0);
        cost.spend(Account::Channel, channels.fold(Energy::ZERO, |a, b| a + b));
        let drawn = of_power(self.model.active_milliwatts, active);
        cost.spend(Account::Active, drawn);
        cost.spend(Account::Cores, self.cores.energy(time));
        cost
    }

    /// One job, from the host's doorbell to its completion.
    pub async fn carry_out(self: Rc<IdleDrive>, job: Job) {
        let sim = &self.sim;
        self.receive(DOORBELL_BYTES).await;
        self.fetch_from_host(ENTRY_BYTES).await;
        self.active.begin(sim.now());
        for work in job.firmware {
            self.firmware(work).await;
        }
        self.fetch_from_host(job.fetched_bytes).await;
        let dies: Vec<JoinHandle<()>> = job
            .dies
            .into_iter()
            .map(|die| sim.spawn(self.clone().die(die)))
            .collect();
        for die in dies {
            die.await;
        }
        self.firmware(Work::Complete).await;
        if job.answer_bytes > 0 {
            self.send(job.answer_bytes);
        }
        let arrives = self.send(COMPLETION_BYTES);
        self.active.end(sim.now());
        sim.sleep_until(arrives).await;
        // The host says that it has taken the completion; nothing waits for that.
        self.spend_on_link(Account::Down, DOORBELL_BYTES);
    }

    async fn fetch_from_host(&self, bytes: u64) {
        self.spend_on_link(Account::Up, READ_REQUEST_BYTES);
        self.link.up.transfer(NOBODY, READ_REQUEST_BYTES).await;
        self.receive(bytes).await;
    }

    async fn receive(&self, bytes: u64) {
        self.spend_on_link(Account::Down, bytes);
        self.link.down.transfer(NOBODY, bytes).await;
    }

    /// Sends a message to the host behind those before it; gives the instant of its arrival.
    fn send(&self, bytes: u64) -> Time {
        self.spend_on_link(Account::Up, bytes);
        self.link.up.post(NOBODY, bytes)
    }

    fn spend_on_link(&self, account: Account, bytes: u64) {
        let link = &self.model.link;
        let energy = link.wire_bytes(bytes) * u64::from(link.transfer_pj_per_byte);
        let spent = Energy::from_pj(energy);
        self.cost.borrow_mut().spend(account, spent);
    }

    async fn firmware(&self, work: Work) {
        let cycles = self.model.cores.work.cycles(work);
        if cycles > 0 {
            let done = self.cores.run(NOBODY, self.sim.now(), cycles);
            self.sim.sleep_until(done).await;
        }
    }

    async fn accelerate(&self, pages: u64) {
        if pages == 0 {
            return;
        }
        let (span, energy) = self.model.accelerator.of(pages * self.model.page_bytes());
        self.cost.borrow_mut().spend(Account::Accelerator, energy);
        self.accelerator.serve(Priority(0), span).await;
    }

    async fn die(self: Rc<IdleDrive>, die: DieJob) {
        for (stage, batches) in die.stages {
            self.clone().stage(stage, batches).await;
        }
    }

    /// The batches of one die.
    async fn stage(self: Rc<IdleDrive>, stage: Rc<StageJob>, batches: Vec<BatchJob>) {
        let batches: Rc<[BatchJob]> = batches.into();
        let each = stage.fetches.len();
        let mut fetches = (0..batches.len()).flat_map(|batch| (0..each).map(move |at| (batch, at)));
        let mut flying: VecDeque<JoinHandle<()>> = VecDeque::with_capacity(stage.ahead);
        let mut top_up = |flying: &mut VecDeque<JoinHandle<()>>| {
            while flying.len() < stage.ahead
                && let Some((batch, at)) = fetches.next()
            {
                let (drive, stage, batches) = (self.clone(), stage.clone(), batches.clone());
                let fetch = async move { drive.fetch(&stage, at, &batches[batch].asked[at]).await };
                flying.push_back(self.sim.spawn(fetch));
            }
        };
        let mut sent = Time::ZERO;
        let mut programming: Option<JoinHandle<()>> = None;
        for batch in batches.iter() {
            let pages = u64::from(batch.pages);
            for op in &stage.ops {
                match *op {
                    Op::Fetched { operand } => {
                        top_up(&mut flying);
                        let fetch = flying.pop_front();
                        fetch.expect("there are as many as are waited for").await;
                        top_up(&mut flying);
                        if operand {
                            self.accelerate(pages).await;
                            self.room.release(pages);
                        }
                    }
                    Op::Accelerate(due) => self.accelerate(due * pages).await,
                }
            }
            match stage.sink {
                Sink::Nowhere => {}
                Sink::Host => {
                    self.sim.sleep_until(sent).await;
                    sent = self.send(batch.bytes);
                }
                Sink::Die => {
                    if let Some(before) = programming.take() {
                        before.await;
                    }
                    let program = self.clone().program(batch.die, &batch.programmed);
                    programming = Some(self.sim.spawn(program));
                }
            }
        }
        if let Some(last) = programming {
            last.await;
        }
    }

    /// Pages of a batch, from the dies that have them.
    async fn fetch(&self, stage: &StageJob, at: usize, asked: &[(u32, u32)]) {
        match asked {
            [(die, planes)] => self.fetch_from(stage, at, *die, *planes).await,
            asked => {
                let dies = asked.iter();
                join_all(dies.map(|&(die, planes)| self.fetch_from(stage, at, die, planes))).await;
            }
        }
    }

    async fn fetch_from(&self, stage: &StageJob, at: usize, die: u32, planes: u32) {
        let channel = self.channel_of(die);
        let held = self.dies[die as usize].acquire(Priority(0)).await;
        for command in &stage.fetches[at].commands[planes as usize - 1] {
            channel.command(command.cycles).await;
            self.sim.sleep(command.array).await;
            self.charge(die, command, planes);
        }
        if stage.through_accelerator {
            self.room.acquire(planes.into()).await.keep();
        }
        let setup = Span::from_ns(self.model.nand.bus.t_rr_ns);
        for _ in 0..planes {
            let page_bytes = self.model.page_bytes();
            channel.data(NOBODY, setup, page_bytes).await;
        }
        drop(held);
    }

    /// Has pages programmed, those together that a multi-plane command can reach, whoever asked for them.
    fn program(
        self: Rc<IdleDrive>,
        die: u32,
        pages: &[(u32, u32)],
    ) -> impl Future<Output = ()> + use<> {
        let ends: Vec<OneshotReceiver<()>> = pages
            .iter()
            .map(|&(plane, page)| {
                let (end, over) = oneshot(&self.sim);
                let waiting = Waiting { plane, page, end };
                self.waiting[die as usize].borrow_mut().push_back(waiting);
                self.sim.spawn_detached(self.clone().program_next(die));
                over
            })
            .collect();
        async move {
            for end in ends {
                end.await;
            }
        }
    }

    /// Programs the page that has waited longest, and what goes with it.
    async fn program_next(self: Rc<IdleDrive>, die: u32) {
        // Where reads go first, computing goes before programs.
        let turn = Priority(u8::from(self.model.reads_first));
        let held = self.dies[die as usize].acquire(turn).await;
        let together = take_together(&mut self.waiting[die as usize].borrow_mut());
        if together.is_empty() {
            return;
        }
        let planes = together.len() as u32;
        let command = self.programs[planes as usize - 1];
        let pages = (0..planes).map(|_| (NOBODY, self.model.page_bytes()));
        self.channel_of(die).program(command.cycles, pages).await;
        self.sim.sleep(command.array).await;
        self.charge(die, &command, planes);
        together
            .into_iter()
            .for_each(|waiting| waiting.end.send(()));
        drop(held);
    }

    fn channel_of(&self, die: u32) -> &Channel {
        &self.channels[(die / self.model.nand.geometry.dies_per_channel()) as usize]
    }

    fn charge(&self, die: u32, command: &Command, planes: u32) {
        let worked = &self.worked[die as usize];
        worked.set(worked.get() + command.array);
        let energy = command.energy * u64::from(planes);
        self.cost.borrow_mut().spend(command.account, energy);
    }
}

/// The page that has waited longest, and those with its number in other planes.
fn take_together(waiting: &mut VecDeque<Waiting>) -> Vec<Waiting> {
    let Some(leader) = waiting.pop_front() else {
        return Vec::new();
    };
    let mut together = vec![leader];
    let mut at = 0;
    while let Some(next) = waiting.get(at) {
        let joins =
            next.page == together[0].page && together.iter().all(|other| other.plane != next.plane);
        if joins {
            together.extend(waiting.remove(at));
        } else {
            at += 1;
        }
    }
    together
}

/// Programs in computing's mode of one plane, of two, and so on.
fn programs(model: &CostModel) -> Vec<Command> {
    let geometry = &model.nand.geometry;
    let busy = model.nand.longest_program(ProgramMode::Esp);
    let of = |planes: u32| {
        let page = |plane| PageAddress {
            block: geometry.block_of_plane(PlaneId(plane), 0),
            page: 0,
        };
        let program = NandCommand::Program {
            pages: (0..planes).map(page).collect(),
            mode: ProgramMode::Esp,
        };
        Command {
            cycles: model.nand.command_span(&program),
            array: busy.span,
            energy: busy.energy,
            account: Account::Program,
        }
    };
    (1..=geometry.planes_per_die).map(of).collect()
}
