//! Advice on where to put vectors, for the drive of a configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::ops::ControlFlow;

pub use device::bits::advise::{Advice, Asked, Given, Member, PageCost, Placed, Replacing};
use device::bits::advise::{
    Outside as AdviceOutside, Strings, advise as advise_for, alike, demand_of_vector,
};
use device::bits::demand::Question;
use device::bits::plan::{Limits, Weights};
use device::cost::CostModel;
use host::volume::{Extent, NAME_BYTES_MAX};
use media::nand::ProgramMode;
use nvme::command::Home;
use nvme::{Expression, VectorId};
use sim::{Energy, Span};

use crate::config::Config;
use crate::drive::Drive;
use crate::error::Error;
use crate::platforms::{Batch, Outside};
use crate::volume::{GroupInfo, Move, Rows, Vector, usage};

/// Proposes groups and inversions for expressions that are asked so and so often, on a drive like
/// `config`'s. Vectors that `given` does not place are, before, in one further group, as they are.
///
/// # Errors
/// [`Error::Expression`]: one that no command can carry; vectors longer than the flash has room for.
pub fn advise(
    config: &Config,
    asked: &[Asked],
    given: &BTreeMap<VectorId, Given>,
) -> Result<Advice, Error> {
    advise_watched(config, asked, given, &|| ControlFlow::Continue(()))
}

/// The same, with somebody who may break it off.
///
/// # Errors
/// As [`advise`]; [`Error::Interrupted`].
pub fn advise_watched(
    config: &Config,
    asked: &[Asked],
    given: &BTreeMap<VectorId, Given>,
    watch: &dyn Fn() -> ControlFlow<()>,
) -> Result<Advice, Error> {
    advise_on(config, asked, given, &|_| 1, watch)
}

/// The same of vectors that lie, together, in as many runs of pages as `runs` tells.
fn advise_on(
    config: &Config,
    asked: &[Asked],
    given: &BTreeMap<VectorId, Given>,
    runs: &dyn Fn(&[VectorId]) -> u64,
    watch: &dyn Fn() -> ControlFlow<()>,
) -> Result<Advice, Error> {
    let geometry = &config.device.nand.geometry;
    let pages = geometry.blocks() * geometry.pages_per_block(ProgramMode::Slc);
    let most = u64::from(pages) * u64::from(geometry.page_bytes) * 8;
    for asked in asked {
        asked.expression.encode()?;
        if let Some(bits) = asked.bits.filter(|bits| !(1..=most).contains(bits)) {
            return usage(format!(
                "vectors of {bits} bits: the flash of the drive has room for 1 to {most}"
            ));
        }
    }
    let nand = &config.device.nand;
    let strings = Strings {
        limits: Limits {
            blocks_max: nand.mws.blocks_max as usize,
            weights: Weights::SENSES_FIRST,
        },
        cells_per_string: nand.geometry.cells_per_string,
        ordinary: config.device.ftl.mode,
    };
    let model = config.device.cost_model();
    let host = AdvisedHost {
        outside: Outside::of(config),
        model: &model,
        runs,
    };
    let advice = advise_for(asked, given, &strings, &model, &host, watch);
    advice.ok_or(Error::Interrupted)
}

impl Drive {
    /// As [`advise`], for expressions over vectors of this drive: where these lie, and how long they are, is what it knows
    /// of them. Vectors of a group that is longer than a string are in a group for each of its strings, before.
    ///
    /// # Errors
    /// [`Error::NoVector`], [`Error::Lengths`]; a group that lies on dies of its own; [`Error::Expression`];
    /// [`Error::Interrupted`].
    pub fn advise(&mut self, asked: &[Asked]) -> Result<Advice, Error> {
        let groups = self.groups()?;
        let stored = self.stored_vectors(&groups)?;
        let elsewhere = groups.iter().filter(|group| group.home != Home::ALL);
        let elsewhere: BTreeSet<&str> = elsewhere.map(|group| group.name.as_str()).collect();
        let cells = self.config().device.nand.geometry.cells_per_string;
        let mut strings: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let mut given = BTreeMap::new();
        let mut asked = asked.to_vec();
        for asked in &mut asked {
            asked.bits = None;
            for id in asked.expression.vectors() {
                let vector = stored.get(&id).ok_or(Error::NoVector(id))?;
                if elsewhere.contains(vector.group.as_str()) {
                    return usage(format!(
                        "group {:?} lies on dies of its own; there is advice for groups on all dies, from the first on",
                        vector.group
                    ));
                }
                let others = *asked.bits.get_or_insert(vector.bits);
                if others != vector.bits {
                    let found = vector.bits;
                    return Err(Error::Lengths { others, found });
                }
                let next = strings.len() as u32;
                let string = (id.group, vector.number / cells);
                let string = *strings.entry(string).or_insert(next);
                given.insert(id, Given::new(string, vector.inverse));
            }
        }
        let watch = self.watch();
        let runs = |moved: &[VectorId]| runs(moved.iter().flat_map(|id| &stored[id].extents));
        advise_on(self.config(), &asked, &given, &runs, &*watch)
    }

    /// Follows advice about vectors of this drive: those of every new group are moved to one, with the inverse stored where
    /// that was proposed. The groups are called `advised_1` and so on, and vectors as before; where two would have the same
    /// name, each is `GROUP:VECTOR` from then on, if that is free.
    ///
    /// Gives what vectors that were moved have become. All are moved at once, as by [`crate::Host::move_vectors`].
    ///
    /// # Errors
    /// [`Error::NoVector`]; what the drive reports, such as Vector Group Full.
    pub fn apply(&mut self, advice: &Advice) -> Result<BTreeMap<VectorId, Vector>, Error> {
        let groups = self.groups()?;
        let stored = self.stored_vectors(&groups)?;
        let mut free = self.free_groups()?;
        let mut moves = Vec::new();
        for members in advice.new_groups() {
            let vector = |member: &Member| {
                let found = stored.get(&member.vector);
                found.ok_or(Error::NoVector(member.vector))
            };
            let vectors = members.iter().map(vector).collect::<Result<Vec<_>, _>>()?;
            let (names, group) = (names(&vectors), free.next().expect("some number is free"));
            for alike in alike(members) {
                let ids: Vec<VectorId> = alike.iter().map(|member| member.vector).collect();
                let rows = Rows {
                    inverse: alike[0].inverse,
                    names: Some(ids.iter().map(|id| names[id].clone()).collect()),
                    ..Rows::new(stored[&ids[0]].bits)
                };
                moves.push(Move::new(ids, &group, rows));
            }
        }
        let moved: Vec<VectorId> = moves.iter().flat_map(|of| of.vectors.clone()).collect();
        if moved.is_empty() {
            return Ok(BTreeMap::new());
        }
        let became = self.run(|host| async move { host.move_vectors(&moves).await })??;
        Ok(moved.into_iter().zip(became).collect())
    }

    /// The vectors of groups.
    fn stored_vectors(
        &mut self,
        groups: &[GroupInfo],
    ) -> Result<BTreeMap<VectorId, Vector>, Error> {
        let mut stored = BTreeMap::new();
        for group in groups {
            let vectors = self.group(&group.name)?.vectors()?;
            stored.extend(vectors.into_iter().map(|vector| (vector.id, vector)));
        }
        Ok(stored)
    }

    /// Names for new groups that nothing has.
    fn free_groups(&mut self) -> Result<impl Iterator<Item = String> + use<>, Error> {
        let taken = self.volume().objects()?.into_iter();
        let taken: BTreeSet<String> = taken.map(|object| object.name).collect();
        let names = (1_u64..).map(|number| format!("advised_{number}"));
        Ok(names.filter(move |name| !taken.contains(name)))
    }
}

/// The names of vectors that are to share a group: their own, with that of their group before it where others are called so,
/// or their number there where that is no name, or another's.
fn names(vectors: &[&Vector]) -> BTreeMap<VectorId, String> {
    let own: BTreeSet<&str> = vectors.iter().map(|vector| vector.name.as_str()).collect();
    let mut taken = BTreeSet::new();
    let mut name = |vector: &&Vector| {
        let same = |other: &&&Vector| other.name == vector.name;
        if vectors.iter().filter(same).count() == 1 {
            return (vector.id, vector.name.clone());
        }
        let with_group = format!("{}:{}", vector.group, vector.name);
        let numbers = (1..).map(|number| format!("{number}:{}", vector.number));
        let mut names = iter::once(with_group).chain(numbers);
        let free = names.find(|name| {
            name.len() <= NAME_BYTES_MAX
                && !own.contains(name.as_str())
                && taken.insert(name.clone())
        });
        (vector.id, free.expect("some number is free"))
    };
    vectors.iter().map(&mut name).collect()
}

/// In how many runs extents lie.
fn runs<'a>(extents: impl Iterator<Item = &'a Extent>) -> u64 {
    let mut extents: Vec<&Extent> = extents.collect();
    extents.sort_unstable_by_key(|extent| extent.first);
    let runs = extents.chunk_by(|one, next| one.first + one.blocks == next.first);
    runs.count() as u64
}

/// The host of a drive of this model.
struct AdvisedHost<'a> {
    outside: Outside,
    model: &'a CostModel,
    /// In how many runs of pages some vectors lie.
    runs: &'a dyn Fn(&[VectorId]) -> u64,
}

/// A question about vectors of `bits` bits, whose expression the host keeps to itself.
fn question(bits: u64, count_only: bool) -> Question {
    Question {
        bits,
        expression_bytes: 0,
        count_only,
    }
}

impl AdviceOutside for AdvisedHost<'_> {
    fn counted(&self, expression: &Expression, bits: u64, than: Span) -> Option<(Span, Energy)> {
        let question = question(bits, true);
        if self.outside.least(expression, question) >= than {
            return None;
        }
        let demand_of = |_, batch: Batch| Ok(demand_of_vector(self.model, batch.page, batch.bits));
        let told = (self.outside).estimate(expression, question, &demand_of, false);
        let told = told.expect("what vectors have the drive do is known");
        let time = Span::from_ps((told.time_ns * 1000.0).round() as u64);
        Some((time, Energy::from_pj(told.energy_pj))).filter(|(time, _)| *time < than)
    }

    fn runs(&self, vectors: &[VectorId]) -> u64 {
        (self.runs)(vectors)
    }

    fn received(&self, bits: u64) -> Energy {
        self.outside.received(question(bits, false))
    }
}
