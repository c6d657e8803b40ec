//! What the parts of an idle drive have to do for an operation, added up: a bound on its time and energy that needs no
//! simulation, and about that time where there is much to do. In the unit prices of the cost model.

use arrayvec::ArrayVec;
use media::core::Work;
use media::nand::{PLANES_PER_DIE_MAX, ReadCosts};
use sim::{Energy, Span};

use super::{Command, CostModel, PageRead};

/// Something that a die does in several planes at once, some times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// The die.
    pub die: u32,
    /// In how many planes at once.
    pub planes: u32,
    /// How often.
    pub times: u64,
}

/// What the parts have to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// Firmware before the dies do anything.
    pub firmware: Span,
    /// The busiest die, its data on the channel included.
    pub die: Span,
    /// The busiest channel.
    pub channel: Span,
    /// The accelerator.
    pub accelerator: Span,
    /// The room in the accelerator's buffer, which pages keep from when they are on the channel until they are taken in.
    pub room: Span,
    /// The link.
    pub link: Span,
    /// The busiest die, if programs of different classes do not go together, nor reads but those that follow one another.
    pub die_apart: Span,
    /// Before the first page is on a channel: a die.
    pub begin: Span,
    /// That page on the channel.
    pub page: Span,
    /// Before the first page of a result is there, one chunk by itself: the die and the channel.
    pub first: Span,
    /// Of what the link has to do, what may be on its way when the command is done as far as the controller is concerned.
    pub posted: Span,
    /// What all of that spends; not, what the controller draws all the time.
    pub energy: Energy,
    /// Fetches of pages by dies.
    pub fetches: u64,
}

impl Bound {
    /// It takes no less than this.
    pub fn least(&self) -> Span {
        let inside = [self.die, self.channel, self.accelerator, self.room];
        let parts = inside.into_iter().chain([self.link]);
        self.firmware + parts.max().unwrap_or_default()
    }

    /// It takes about this: what comes before the busiest part is fully at work comes on top. Exact where one part has much
    /// to do; what the parts wait for one another it does not know (`routes/tests/bounds.rs` has the margins).
    pub fn about(&self) -> Span {
        let after = |before: Span, part: Span| match part {
            Span::ZERO => Span::ZERO,
            part => before + part,
        };
        let parts = [
            self.die_apart,
            after(self.begin, self.channel.max(self.room)),
            after(self.begin + self.page, self.accelerator),
            after(self.first, self.link),
        ];
        self.firmware + parts.into_iter().max().unwrap_or_default()
    }

    /// It spends no less than this.
    pub fn least_energy(&self, model: &CostModel) -> Energy {
        let link = Span::from_ps(self.link.as_ps() - self.posted.as_ps());
        let parts = [self.die, self.channel, self.accelerator, self.room, link];
        let active = self.firmware + parts.into_iter().max().unwrap_or_default();
        self.energy + model.drawn(active)
    }

    /// It spends about this.
    pub fn about_energy(&self, model: &CostModel) -> Energy {
        self.energy + model.drawn(self.about())
    }

    /// Whether no part has more to do than for another.
    pub fn is_within(&self, other: &Bound) -> bool {
        self.die <= other.die
            && self.channel <= other.channel
            && self.accelerator <= other.accelerator
            && self.room <= other.room
            && self.link <= other.link
            && self.first <= other.first
            && self.energy <= other.energy
            && self.fetches <= other.fetches
    }
}

/// Programs of a die.
#[derive(Clone, Copy, Debug, Default)]
struct Programs {
    pages: u64,
    /// Commands of what is added now.
    commands: u64,
    /// The most commands of anything that was added.
    most: u64,
    /// Those of all that was added.
    all: u64,
}

/// Reads of pages of a plane.
#[derive(Clone, Copy, Debug, Default)]
struct PlaneReads {
    /// How long they take the array.
    array: Span,
    reads: u64,
}

/// Reads of a die that follow one another and go together in a command.
#[derive(Clone, Copy, Debug, Default)]
struct MultiPlaneRead {
    /// The number of their page, and whether its complement is wanted.
    page: (u32, bool),
    /// Their planes, a bit each.
    planes: u32,
    array: Span,
}

/// Adds up what parts have to do.
pub struct Adding<'a> {
    model: &'a CostModel,
    read_costs: ReadCosts,
    /// By plane.
    reads: Vec<PlaneReads>,
    /// By die: the reads that came last.
    last_reads: Vec<MultiPlaneRead>,
    /// By die: its reads, if no more of them go together than follow one another.
    reads_apart: Vec<Span>,
    /// By die.
    dies: Vec<Span>,
    /// By channel.
    channels: Vec<Span>,
    /// By die.
    programs: Vec<Programs>,
    /// Pages that the accelerator takes in.
    operands: u64,
    /// How long pages keep room in the accelerator's buffer, all of them together, in picoseconds.
    kept: u128,
    /// Bytes of the result that are sent.
    sent: u64,
    /// Those of the last batch of each die.
    last: u64,
    /// Before the first page of what is added now is there.
    first: Span,
    bound: Bound,
}

impl<'a> Adding<'a> {
    /// Nothing yet but what firmware does for any evaluation.
    pub fn new(model: &'a CostModel) -> Adding<'a> {
        let geometry = &model.nand.geometry;
        Adding {
            model,
            read_costs: model.nand.read_costs(),
            reads: vec![PlaneReads::default(); geometry.planes() as usize],
            last_reads: vec![MultiPlaneRead::default(); geometry.dies() as usize],
            reads_apart: vec![Span::ZERO; geometry.dies() as usize],
            dies: vec![Span::ZERO; geometry.dies() as usize],
            channels: vec![Span::ZERO; geometry.channels as usize],
            programs: vec![Programs::default(); geometry.dies() as usize],
            operands: 0,
            kept: 0,
            sent: 0,
            last: 0,
            first: Span::ZERO,
            bound: Bound {
                firmware: model.firmware(Work::Fetch) + model.firmware(Work::Plan),
                ..Bound::default()
            },
        }
    }

    /// Pages that dies bring by the same commands, `of` giving these for a number of planes. They wait for the accelerator
    /// in its buffer, or not.
    pub fn fetch(
        &mut self,
        fetched: &[Repeated],
        through_accelerator: bool,
        of: impl Fn(u32) -> Command,
    ) {
        let mut known: ArrayVec<Option<Command>, PLANES_PER_DIE_MAX> = ArrayVec::new();
        let page = self.model.page_out();
        for (number, repeated) in fetched.iter().enumerate() {
            let at = repeated.planes as usize - 1;
            while known.len() <= at {
                known.push(None);
            }
            let command = *known[at].get_or_insert_with(|| of(repeated.planes));
            let &Repeated { die, planes, times } = repeated;
            let pages = times * u64::from(planes);
            let moved = command.cycles * times + page.span * pages;
            self.keep(die as usize, command.array * times, moved);
            self.bound.energy += (command.energy + page.energy) * pages;
            self.bound.fetches += times;
            if through_accelerator {
                let each =
                    page.span * u64::from(planes) + self.model.accelerated(planes.into()).span;
                self.kept += u128::from((each * pages).as_ps());
            }
            if number == 0 {
                self.begin_with(command.cycles + command.array, page.span);
            }
        }
    }

    /// Pages that are read each for itself.
    pub fn read<'b>(&mut self, reads: impl Iterator<Item = &'b PageRead>) {
        let (model, geometry) = (self.model, &self.model.nand.geometry);
        for (number, read) in reads.enumerate() {
            let plane = geometry.plane_of_block(read.page.block);
            let busy = self.read_costs.of(read.mode, read.page.page);
            let moved = model.bytes_out(read.bytes.into());
            let of_plane = &mut self.reads[plane.0 as usize];
            of_plane.array += busy.span;
            of_plane.reads += 1;
            self.bound.energy += busy.energy + moved.energy;
            self.bound.fetches += 1;
            if number == 0 {
                let begin = model.read_cycles(1) + busy.span;
                self.begin_with(begin, moved.span);
            }
            let die = geometry.die_of_plane(plane).0 as usize;
            self.keep(die, Span::ZERO, moved.span);
            self.join_reads(die, 1 << geometry.plane_in_die(plane), read, busy.span);
        }
    }

    /// A read in a plane of a die goes with those before it, or begins another last.
    fn join_reads(&mut self, die: usize, plane: u32, read: &PageRead, array: Span) {
        let page = (read.page.page, read.inverse);
        let last = &mut self.last_reads[die];
        if last.page == page && last.planes & plane == 0 && last.planes != 0 {
            last.planes |= plane;
            self.reads_apart[die] += array.max(last.array) - last.array;
            last.array = array.max(last.array);
        } else {
            *last = MultiPlaneRead {
                page,
                planes: plane,
                array,
            };
            self.reads_apart[die] += self.model.read_cycles(1) + array;
        }
    }

    /// The first page of a fetch, which is so long on the channel, is there at the earliest after a die was at work for
    /// `begin`.
    fn begin_with(&mut self, begin: Span, page: Span) {
        self.bound.begin = match self.bound.begin {
            Span::ZERO => begin,
            known => known.min(begin),
        };
        self.bound.page = page;
        self.first += begin + page;
    }

    /// Programs of pages that were brought.
    pub fn program(&mut self, programmed: &[Repeated]) {
        for repeated in programmed {
            let programs = &mut self.programs[repeated.die as usize];
            programs.commands += repeated.times;
            programs.pages += repeated.times * u64::from(repeated.planes);
        }
        if !programmed.is_empty() {
            self.first += self.model.program(1).array;
        }
    }

    /// Pages that the accelerator takes in.
    pub fn accelerate(&mut self, pages: u64) {
        self.operands += pages;
    }

    /// Bytes of the result that are sent, the last of each die among them.
    pub fn send(&mut self, bytes: u64, last: u64) {
        self.sent += bytes;
        self.last += last;
    }

    /// What is added from now on is done beside what was added until now.
    pub fn beside(&mut self) {
        self.bound.first = self.bound.first.max(self.first);
        self.first = Span::ZERO;
        for programs in &mut self.programs {
            let commands = std::mem::take(&mut programs.commands);
            programs.most = programs.most.max(commands);
            programs.all += commands;
        }
    }

    /// Adds the programs: a die does those together that wait at once, of different planes, if they are not of one share of
    /// a stage.
    fn add_programs(&mut self) {
        let planes = self.model.nand.geometry.planes_per_die;
        let (command, page) = (self.model.program(1), self.model.page_in());
        for die in 0..self.programs.len() {
            let Programs {
                pages, most, all, ..
            } = self.programs[die];
            let commands = most.max(pages.div_ceil(planes.into()));
            let moved = command.cycles * commands + page.span * pages;
            self.keep(die, command.array * commands, moved);
            let apart = (command.cycles + command.array) * (all - commands);
            let apart = apart + self.reads_apart[die];
            let busiest = self.bound.die_apart.max(self.dies[die] + apart);
            self.bound.die_apart = busiest;
            self.bound.energy += (command.energy + page.energy) * pages;
        }
    }

    /// Adds the senses of the pages that are read: a die does those of its planes together that wait at once, and as many
    /// as those of its busiest plane at least.
    fn add_reads(&mut self) {
        let planes = self.model.nand.geometry.planes_per_die as usize;
        let cycles = self.model.read_cycles(1);
        let reads = std::mem::take(&mut self.reads);
        for (die, of_planes) in reads.chunks(planes).enumerate() {
            let array = of_planes.iter().map(|of| of.array).max();
            let commands = of_planes.iter().map(|of| of.reads).max();
            let moved = cycles * commands.unwrap_or(0);
            let array = array.unwrap_or_default();
            self.keep(die, array, moved);
            let apart = &mut self.reads_apart[die];
            *apart = Span::from_ps(apart.as_ps().saturating_sub((array + moved).as_ps()));
        }
    }

    /// What all parts have to do.
    pub fn sum(mut self) -> Bound {
        self.beside();
        self.add_reads();
        self.add_programs();
        let accelerated = self.model.accelerated(self.operands);
        let sent = self.model.sent(self.sent);
        let longest = |spans: Vec<Span>| spans.into_iter().max().unwrap_or_default();
        Bound {
            die: longest(self.dies),
            channel: longest(self.channels),
            accelerator: accelerated.span,
            // So many at a time.
            room: Span::from_ps((self.kept / u128::from(self.model.accelerator.pages)) as u64),
            link: sent.span,
            posted: self.model.sent(self.last).span.min(sent.span),
            energy: self.bound.energy + accelerated.energy + sent.energy,
            ..self.bound
        }
    }

    /// Keeps a die, and its channel for a part of that.
    fn keep(&mut self, die: usize, array: Span, moved: Span) {
        let per_channel = self.model.nand.geometry.dies_per_channel() as usize;
        self.dies[die] += array + moved;
        self.channels[die / per_channel] += moved;
    }
}
