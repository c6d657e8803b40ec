//! One life of a drive: commands, a power cut, recovery, a check; again and again.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::{AddAssign, ControlFlow};
use std::rc::Rc;

use bitline::inside::{InsideConfig, InsideDrive, InsideHost};
use bitline::{Ageing, Config, Drive, Error, Watch};
use device::ftl::Ftl;
use device::journal::FactKind;
use media::nand::{BlockCondition, BlockId, PlaneId};
use nvme::{NamespaceId, Status};
use sim::{Random, Span};

use crate::clients::{Client, Shared, observe};
use crate::inventory::Inventory;
use crate::names::NameLife;
use crate::oracle::{Oracle, fact_content};
use crate::random_drive::config;
use nvme::log::sanitize_state;

/// Rows of names take longer to fill.
const EVENTS_WITH_NAMES: u64 = 6;

/// What happened in one or many lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cuts {
    pub cuts: u64,
    pub commands: u64,
    /// Commands in flight when the power went.
    pub in_flight: u64,
    pub collected: u64,
    pub program_failures: u64,
    pub erase_failures_or_retired: u64,
    pub computed: u64,
    /// Pages read again, since the cells had leaked.
    pub retried: u64,
    /// Sanitize operations that ended.
    pub sanitized: u64,
    /// Lives that ended early: too few blocks were left for the drive to be used.
    pub worn_out: u64,
    /// Power cuts that they did not come to.
    pub forgone: u64,
}

impl AddAssign for Cuts {
    fn add_assign(&mut self, other: Cuts) {
        self.cuts += other.cuts;
        self.commands += other.commands;
        self.in_flight += other.in_flight;
        self.collected += other.collected;
        self.program_failures += other.program_failures;
        self.erase_failures_or_retired += other.erase_failures_or_retired;
        self.computed += other.computed;
        self.retried += other.retried;
        self.sanitized += other.sanitized;
        self.worn_out += other.worn_out;
        self.forgone += other.forgone;
    }
}

impl fmt::Display for Cuts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} power cuts, {} commands ({} in flight at a cut), {} blocks collected, {} failed programs, \
             {} blocks retired, {} expressions computed, {} pages read again, {} sanitized, {} drives worn out",
            self.cuts,
            self.commands,
            self.in_flight,
            self.collected,
            self.program_failures,
            self.erase_failures_or_retired,
            self.computed,
            self.retried,
            self.sanitized,
            self.worn_out
        )
    }
}

/// Block size and blocks of each namespace.
fn spaces(drive: &mut Drive) -> Result<Vec<(u32, u64)>, String> {
    let spaces = drive.run(|host| async move {
        let mut spaces = Vec::new();
        for id in host.admin().namespaces().await? {
            let device = host.namespace(0, id).await?;
            spaces.push((device.block_bytes(), device.blocks()));
        }
        Ok::<_, host::Error>(spaces)
    });
    let spaces = spaces.map_err(|error| error.to_string())?;
    spaces.map_err(|error| error.to_string())
}

/// Lives the life of `seed` through `cuts` power cuts.
///
/// # Errors
/// What was lost, or went wrong.
pub fn live(seed: u64, cuts: u32) -> Result<Cuts, String> {
    let mut random = Random::named(seed, "life");
    let config = config(seed, &mut random);
    live_on(config, (seed, cuts), random, None)
}

/// Lives the life of a seed on this drive, which has somebody with names or nobody.
///
/// # Errors
/// What was lost, or went wrong.
pub fn live_on(
    config: Config,
    (seed, cuts): (u64, u32),
    mut random: Random,
    mut names: Option<&mut NameLife>,
) -> Result<Cuts, String> {
    let left = Rc::new(Cell::new(u64::MAX));
    let looks = left.clone();
    let watch: Watch = Rc::new(move || match looks.get().checked_sub(1) {
        Some(fewer) => {
            looks.set(fewer);
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    });
    let drive = Drive::open_watched(config, None, watch);
    let mut drive = drive.map_err(|error| error.to_string())?;
    let identity = drive.identify().map_err(|error| error.to_string())?;
    let oracle = Oracle::new(&spaces(&mut drive)?, identity.volatile_write_cache);
    let oracle = Rc::new(RefCell::new(oracle));
    if let Some(names) = &mut names {
        names.move_in(&mut drive, &mut oracle.borrow_mut())?;
    }
    let mut total = Cuts::default();
    let mut ageing = Random::named(seed, "life: ageing");
    let mut breaks = Random::named(seed, "life: power-ups that are broken off");
    for round in 0..cuts {
        let of = (seed, round);
        let shared = run_until_cut(&mut drive, &oracle, of, &mut random, names.as_deref())?;
        let statistics = drive.statistics().map_err(|error| error.to_string())?;
        if let Some(names) = &names {
            names.count(&statistics.search);
        }
        total += Cuts {
            cuts: 1,
            commands: statistics.frontend.commands,
            in_flight: shared.in_flight(),
            collected: statistics.ftl.gc_blocks,
            program_failures: statistics.ftl.program_failures,
            erase_failures_or_retired: statistics.ftl.blocks_retired,
            retried: statistics.flash.pages_retried,
            sanitized: shared.sanitized(),
            computed: shared.computed(),
            ..Cuts::default()
        };
        drive.power_cut().map_err(|error| error.to_string())?;
        drop(shared);
        oracle.borrow_mut().power_cut();
        grow_older(&mut drive, &mut ageing)?;
        // A sanitize operation goes on while the drive powers up.
        let before = Inventory::take(&drive.nand().borrow());
        power_up(&mut drive, &left, &mut breaks)
            .map_err(|error| format!("round {round}: power-up: {error}"))?;
        total.sanitized += u64::from(end_sanitize(&mut drive, &before)?);
        if is_unusable(&mut drive)? && has_too_few_blocks(&drive)? {
            total.worn_out += 1;
            total.forgone += u64::from(cuts - round - 1);
            return Ok(total);
        }
        oracle.borrow_mut().release_all();
        check(&mut drive, &oracle).map_err(|loss| format!("after cut {round}: {loss}"))?;
        if let Some(names) = &mut names {
            let checked = names.check(&mut drive);
            checked.map_err(|loss| format!("after cut {round}: {loss}"))?;
        }
        oracle.borrow_mut().recovered();
    }
    Ok(total)
}

/// Powers up, often only after the power was cut again, and again, while the drive was recovering. The drive is broken off
/// after so many looks as are `left`.
fn power_up(drive: &mut Drive, left: &Cell<u64>, random: &mut Random) -> Result<(), Error> {
    while random.chance(0.4) {
        let most = 1 << random.below(11);
        left.set(random.below(most));
        match drive.power_up() {
            Err(Error::Interrupted) => {}
            Err(other) => return Err(other),
            // It was quicker.
            Ok(()) => drive.power_cut()?,
        }
    }
    left.set(u64::MAX);
    drive.power_up()
}

/// Lets a drive lie about without power now and then, but never so long that pages are lost for good.
fn grow_older(drive: &mut Drive, random: &mut Random) -> Result<(), String> {
    let age = drive.age().expect("it is here");
    if !random.chance(0.3) || age.hours > 8000.0 {
        return Ok(());
    }
    let hours = random.below(1000) as f64;
    let ageing = Ageing::new(hours, 30.0).after_cycles(random.below(500) as u32);
    let older = drive.grow_older(&ageing);
    older.map(|_| ()).map_err(|error| error.to_string())
}

/// Lets a sanitize operation end that the power interrupted, and looks at the flash; whether there was one.
fn end_sanitize(drive: &mut Drive, before: &Inventory) -> Result<bool, String> {
    let ended = drive.run(|host| async move {
        let mut ended = false;
        loop {
            let page = host.admin().sanitize_status().await?;
            if !page.is_in_progress() {
                return Ok::<_, host::Error>(
                    ended && page.state.get() == sanitize_state::COMPLETED,
                );
            }
            ended = true;
            host.sim().sleep(Span::from_us(100)).await;
        }
    });
    let ended = ended.map_err(|error| error.to_string())?;
    let ended = ended.map_err(|error| error.to_string())?;
    if ended {
        before.check_erased(&drive.nand().borrow())?;
    }
    Ok(ended)
}

/// Whether a namespace says that it is not ready, since a format that the power interrupted cannot end; or
/// the drive, since a sanitize operation cannot.
fn is_unusable(drive: &mut Drive) -> Result<bool, String> {
    let answers = drive.run(|host| async move {
        let mut unusable = false;
        for id in host.admin().namespaces().await? {
            let read = host.namespace(0, id).await?.read(0, 1).await;
            unusable |= matches!(
                read,
                Err(host::Error::Status(error))
                    if error.status.is(Status::NAMESPACE_NOT_READY)
                        || error.status.is(Status::SANITIZE_FAILED)
            );
        }
        Ok::<_, host::Error>(unusable)
    });
    let unusable = answers.map_err(|error| error.to_string())?;
    unusable.map_err(|error| error.to_string())
}

/// Whether more blocks of a plane are bad than it can do without: then there may be no space left.
fn has_too_few_blocks(drive: &Drive) -> Result<bool, String> {
    let capacity = drive.config().device().validate();
    let spare = capacity
        .map_err(|error| error.to_string())?
        .spare_blocks_per_plane;
    let nand = drive.nand().borrow();
    let geometry = nand.geometry();
    let is_bad = |block: &u32| nand.block_state(BlockId(*block)).condition == BlockCondition::Bad;
    let bad = |plane| geometry.blocks_of_plane(plane).filter(is_bad).count() as u32;
    Ok((0..geometry.planes())
        .map(PlaneId)
        .any(|plane| bad(plane) > spare))
}

/// Lets clients work for a random number of events.
fn run_until_cut(
    drive: &mut Drive,
    oracle: &Rc<RefCell<Oracle>>,
    (seed, round): (u64, u32),
    random: &mut Random,
    names: Option<&NameLife>,
) -> Result<Rc<Shared>, String> {
    let host = drive.host().map_err(|error| error.to_string())?;
    let unit = drive
        .device()
        .map_err(|error| error.to_string())?
        .ftl
        .unit();
    let block_bytes_max = unit.bytes();
    let shared = Shared::new(
        host.clone(),
        oracle.clone(),
        drive.nand().clone(),
        names.map_or_else(Rc::default, NameLife::slots),
        block_bytes_max,
    );
    for number in 0..4 {
        let stream = Random::named(seed, &format!("round {round} client {number}"));
        host.sim()
            .spawn_detached(Client::new(shared.clone(), stream).run());
    }
    let mut events = 200 + random.below(4000);
    if let Some(names) = names {
        names.spawn(&shared, (seed, round));
        events *= EVENTS_WITH_NAMES;
    }
    let ftl = drive.device().map_err(|error| error.to_string())?;
    let stream = Random::named(seed, &format!("round {round} notes"));
    let notes = keep_facts(ftl.ftl.clone(), shared.clone(), oracle.clone(), stream);
    host.sim().spawn_detached(notes);
    let simulation = drive.simulation().map_err(|error| error.to_string())?;
    for _ in 0..events {
        if !simulation.step() {
            return Err(format!(
                "round {round}: the drive hangs at {}",
                simulation.now()
            ));
        }
        shared.complaint()?;
    }
    Ok(shared)
}

/// A part of the firmware that nobody else is.
const FACTS: FactKind = FactKind(0xF000);

/// Keeps facts for ever, as a part of the firmware would.
async fn keep_facts(
    ftl: Rc<Ftl>,
    shared: Rc<Shared>,
    oracle: Rc<RefCell<Oracle>>,
    mut random: Random,
) {
    loop {
        let wait = Span::from_us(100 + random.below(5000));
        shared.sim().sleep(wait).await;
        // One fact, or two that come into force together.
        let first = random.below(6) as u32;
        let keys = [first, (first + 1) % 6];
        let keys = &keys[..1 + usize::from(random.chance(0.3))];
        let value = match random.chance(0.1) {
            true => 0,
            false => oracle.borrow_mut().fresh_value(),
        };
        let change = |key: &u32| {
            let fact = (value != 0).then(|| fact_content(*key, value).into());
            (FACTS.key(*key), fact)
        };
        let changes = keys.iter().map(change).collect();
        oracle.borrow_mut().begin_facts(keys, value);
        if ftl.put_facts(changes).await.is_ok() {
            oracle.borrow_mut().acknowledge_facts(keys, value);
        }
    }
}

/// Reads everything and compares.
fn check(drive: &mut Drive, oracle: &Rc<RefCell<Oracle>>) -> Result<(), String> {
    for (space, (block_bytes, blocks)) in spaces(drive)?.into_iter().enumerate() {
        oracle.borrow_mut().observe_format(space, block_bytes)?;
        if oracle.borrow().all_blocks_of(space) != blocks {
            return Err(format!("namespace {} has {blocks} blocks", space + 1));
        }
        let blocks = oracle.borrow().blocks(space);
        let oracle = oracle.clone();
        let checked = drive.run(move |host| async move {
            let id = NamespaceId::new(space as u32 + 1);
            let device = host.namespace(0, id).await;
            let device = device.map_err(|error| error.to_string())?;
            observe(&device, &oracle, space, 0, blocks).await
        });
        checked.map_err(|error| error.to_string())??;
    }
    let device = drive.device().map_err(|error| error.to_string())?;
    oracle
        .borrow_mut()
        .observe_facts(|key| device.ftl.fact(FACTS.key(key)))
}
