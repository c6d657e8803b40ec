//! What the parts of a drive have to do for a route, added up: a bound on its time that needs no simulation, and almost that
//! time where there is much to do.

use media::nand::{Geometry, ProgramMode};
use sim::{Energy, Span};

use super::classes::Class;
use super::job::{Plans, commands_of};
use super::plan::{Computation, Plan};
use crate::cost::{Command, CostModel};
use crate::energy::of_power;

/// What one die has of the chunks of a class.
#[derive(Clone, Copy, Debug)]
struct Share {
    die: u32,
    batches: u64,
    pages: u64,
}

/// How the chunks of a class are shared out over the dies of each site.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    of_sites: Vec<Vec<Share>>,
    chunks: u64,
}

impl Shares {
    /// The shares of a class.
    pub(super) fn of(class: &Class, geometry: &Geometry) -> Shares {
        let of_site = |site| {
            let shares = class.shares(geometry, site).into_iter();
            let share = |share: super::classes::DieShare| Share {
                die: share.die.0,
                batches: share.batches.len() as u64,
                pages: share.batches.iter().map(|batch| batch.len() as u64).sum(),
            };
            shares.map(share).collect()
        };
        Shares {
            of_sites: (0..class.sites()).map(of_site).collect(),
            chunks: class.len() as u64,
        }
    }

    /// Batches of a die of a site that has the most, pages of it, pages of the busiest channel, and chunks.
    pub(super) fn extent(&self, geometry: &Geometry) -> Extent {
        let mut extent = Extent {
            chunks: self.chunks,
            ..Extent::default()
        };
        for shares in &self.of_sites {
            let mut channels = vec![0; geometry.channels as usize];
            for share in shares {
                extent.batches = extent.batches.max(share.batches);
                extent.pages_of_die = extent.pages_of_die.max(share.pages);
                channels[(share.die / geometry.dies_per_channel()) as usize] += share.pages;
            }
            let busiest = channels.into_iter().max().unwrap_or(0);
            extent.pages_of_channel = extent.pages_of_channel.max(busiest);
        }
        extent
    }

    /// Batches of a site.
    fn batches(&self, site: usize) -> u64 {
        self.of_sites[site].iter().map(|share| share.batches).sum()
    }
}

/// How much of everything a page for each chunk is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent {
    /// Batches of the busiest die.
    pub(super) batches: u64,
    /// Pages of the busiest die.
    pub(super) pages_of_die: u64,
    /// Pages of the busiest channel.
    pub(super) pages_of_channel: u64,
    /// Chunks.
    pub(super) chunks: u64,
}

/// What the parts have to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    /// The busiest die.
    pub(super) die: Span,
    /// The busiest channel.
    pub(super) channel: Span,
    /// The accelerator.
    pub(super) accelerator: Span,
    /// The link.
    pub(super) link: Span,
    /// Before the first page of a result is there, one chunk by itself: the die and the channel.
    pub(super) first: Span,
    /// What is spent, but for what the controller draws all the time.
    pub(super) energy: Energy,
    /// Fetches of pages by dies.
    pub(super) fetches: u64,
}

/// Adds up what a route has the parts do.
struct Adding<'a> {
    class: &'a Class,
    shares: &'a Shares,
    model: &'a CostModel,
    /// By die.
    dies: Vec<Span>,
    /// By channel.
    channels: Vec<Span>,
    operands: u64,
    load: Load,
}

impl Load {
    /// What `plans` have the parts do for the chunks of `class`.
    pub(super) fn of(
        class: &Class,
        shares: &Shares,
        plans: Plans<'_>,
        count_only: bool,
        model: &CostModel,
    ) -> Load {
        let geometry = &model.nand.geometry;
        let mut adding = Adding {
            class,
            shares,
            model,
            dies: vec![Span::ZERO; geometry.dies() as usize],
            channels: vec![Span::ZERO; geometry.channels as usize],
            operands: u64::from(count_only),
            load: Load::default(),
        };
        for brought in plans.brought {
            adding.plan(brought, plans.site);
            adding.programs(plans.site);
        }
        adding.plan(plans.plan, plans.site);
        adding.sum(count_only)
    }

    /// It takes no less than this.
    pub(super) fn least(&self) -> Span {
        let parts = [self.die, self.channel, self.accelerator, self.link];
        parts.into_iter().max().unwrap_or_default()
    }

    /// It takes about this where there is much to do: what comes before the busiest part is fully at work comes on top.
    pub(super) fn about(&self) -> Span {
        let after = self.channel.max(self.accelerator).max(self.link);
        self.die.max(self.first + after)
    }

    /// It spends no less than this.
    pub(super) fn least_energy(&self, model: &CostModel) -> Energy {
        self.energy + of_power(model.active_milliwatts, self.least())
    }

    /// Whether no part has more to do than for another.
    pub(super) fn is_within(&self, other: &Load) -> bool {
        self.die <= other.die
            && self.channel <= other.channel
            && self.accelerator <= other.accelerator
            && self.link <= other.link
            && self.first <= other.first
            && self.energy <= other.energy
            && self.fetches <= other.fetches
    }
}

impl Extent {
    /// That of vectors of so many pages on all dies.
    pub(in crate::bits) fn of_pages(chunks: u64, geometry: &Geometry) -> Extent {
        let planes = u64::from(geometry.planes());
        let batches = chunks.div_ceil(planes);
        let of_channel = chunks.div_ceil(geometry.channels.into());
        Extent {
            batches,
            pages_of_die: of_channel.min(batches * u64::from(geometry.planes_per_die)),
            pages_of_channel: of_channel,
            chunks,
        }
    }
}

impl Load {
    /// What a plan has the parts do where all its operands are on all dies, if its result is not sent.
    pub(in crate::bits) fn of_plan(
        plan: &Plan,
        extent: &Extent,
        operands: u64,
        model: &CostModel,
    ) -> Load {
        let mut load = Load::default();
        let planes = model.nand.geometry.planes_per_die;
        let (data, moved) = page_cost(model);
        for computation in &plan.computations {
            let Some(command) = commands_of(computation, planes, model).reduce(Command::then)
            else {
                continue;
            };
            let of_die = (command.cycles + command.array) * extent.batches;
            load.die += of_die + data * extent.pages_of_die;
            load.channel += command.cycles * extent.batches + data * extent.pages_of_channel;
            load.first += command.cycles + command.array + data;
            load.energy += (command.energy + moved) * extent.chunks;
        }
        let bytes = extent.chunks * model.page_bytes();
        let (accelerator, spent) = model
            .accelerator
            .of((plan.root.operand_pages() + operands) * bytes);
        load.accelerator = accelerator;
        load.energy += spent;
        load
    }
}

/// How long a page crosses a channel, and what that spends.
fn page_cost(model: &CostModel) -> (Span, Energy) {
    let bytes = model.page_bytes();
    let data = Span::from_ns(model.nand.bus.t_rr_ns) + model.channel.span_of(bytes);
    let moved = bytes * u64::from(model.channel.transfer_pj_per_byte);
    (data, Energy::from_pj(moved))
}

impl Adding<'_> {
    fn plan(&mut self, plan: &Plan, site: usize) {
        self.operands += plan.root.operand_pages();
        for computation in &plan.computations {
            self.page(computation, site);
        }
    }

    /// A page for each chunk.
    fn page(&mut self, computation: &Computation, site: usize) {
        let model = self.model;
        let planes = model.nand.geometry.planes_per_die;
        let commands = commands_of(computation, planes, model);
        let Some(command) = commands.reduce(Command::then) else {
            return;
        };
        let site = match computation.first_row_set() {
            Some(row_set) if self.class.is_elsewhere(computation, site) => {
                self.class.site_of(row_set)
            }
            _ => site,
        };
        let (data, moved) = page_cost(model);
        self.add(site, command, data);
        self.load.first += command.cycles + command.array + data;
        self.load.fetches += self.shares.batches(site);
        self.load.energy += moved * self.shares.chunks;
    }

    /// Programs of a page of each chunk at a site.
    fn programs(&mut self, site: usize) {
        let model = self.model;
        let busy = model.nand.longest_program(ProgramMode::Esp);
        let program = Command {
            cycles: Span::ZERO,
            array: busy.span,
            energy: busy.energy,
            account: crate::cost::Account::Program,
        };
        self.add(site, program, model.channel.span_of(model.page_bytes()));
        self.load.first += program.array;
    }

    /// A command for each batch at a site, and data of each page.
    fn add(&mut self, site: usize, command: Command, data: Span) {
        for share in &self.shares.of_sites[site] {
            let channel = share.die / self.model.nand.geometry.dies_per_channel();
            let moved = command.cycles * share.batches + data * share.pages;
            self.dies[share.die as usize] += command.array * share.batches + moved;
            self.channels[channel as usize] += moved;
        }
        self.load.energy += command.energy * self.shares.chunks;
    }

    fn sum(self, count_only: bool) -> Load {
        let (model, chunks) = (self.model, self.shares.chunks);
        let bytes = chunks * model.page_bytes();
        let (accelerator, spent) = model.accelerator.of(self.operands * bytes);
        let wire = model.link.wire_bytes(bytes);
        let longest = |spans: Vec<Span>| spans.into_iter().max().unwrap_or_default();
        let mut load = Load {
            die: longest(self.dies),
            channel: longest(self.channels),
            accelerator,
            ..self.load
        };
        load.energy += spent;
        if !count_only {
            load.link = model.link.span_of_wire(wire);
            let on_link = wire * u64::from(model.link.transfer_pj_per_byte);
            load.energy += Energy::from_pj(on_link);
        }
        load
    }
}
