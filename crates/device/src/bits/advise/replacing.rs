//! What placing vectors anew takes, of one length, and after how many questions that has paid back.

use media::nand::ProgramMode;
use sim::{Energy, Span};

use super::lived::Lived;
use super::{Asked, Member, Placed, Total};
use crate::cost::{CostModel, Price};
use crate::region::Layout;

/// Catalogue pages that a commit reads, to see that nobody else has changed it: the last, and the next, which is on no flash
/// yet.
const CATALOGUE_PAGES_READ: u64 = 2;
/// Pages that a commit programs: the catalogue's next.
const CATALOGUE_PAGES: u64 = 1;

/// Stripes of a long vector whose writing is gone through; an even number.
const STRIPES_WRITTEN: u64 = 64;

/// What it takes to place vectors anew, and after how many questions that has paid back: as often asked as was said, in
/// proportion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replacing {
    /// Vectors that are to be written anew.
    pub vectors: u64,
    /// About how long reading and writing these takes, one after another.
    pub time: Span,
    /// About what that spends, but for erasing blocks that are empty then.
    pub energy: Energy,
    /// Questions after which time is won; none if none is.
    pub questions_for_time: Option<u64>,
    /// Questions after which energy is won; none if none is.
    pub questions_for_energy: Option<u64>,
}

impl Replacing {
    /// What reading and writing takes that follows advice.
    pub(super) fn of((before, after): (&Placed, &Placed), lived: &Lived<'_>) -> Replacing {
        let vectors = new_groups(before, after).map(|group| group.len() as u64);
        let vectors = vectors.sum();
        let (read, write) = (lived.of_reading(), of_writing(lived.model(), lived.bits()));
        Replacing {
            vectors,
            time: (read.span + write.span) * vectors,
            energy: (read.energy + write.energy) * vectors,
            ..Replacing::default()
        }
    }

    /// Both, one after the other.
    pub(super) fn and(self, other: &Replacing) -> Replacing {
        Replacing {
            vectors: self.vectors + other.vectors,
            time: self.time + other.time,
            energy: self.energy + other.energy,
            ..self
        }
    }

    /// With what naming them takes, once for all, and deallocating so many runs of pages in which they were.
    pub(super) fn named(self, model: &CostModel, ordinary: ProgramMode, runs: u64) -> Replacing {
        if self.vectors == 0 {
            return self;
        }
        let commit = of_commit(model, ordinary, runs);
        Replacing {
            time: self.time + commit.span,
            energy: self.energy + commit.energy,
            ..self
        }
    }

    /// After how many questions it has paid back.
    pub(super) fn paid_back(self, asked: &[Asked], before: Total, after: Total) -> Replacing {
        let questions: u128 = asked.iter().map(|asked| u128::from(asked.frequency)).sum();
        let pays_back = |spent: u64, before: u128, after: u128| {
            let won = before.checked_sub(after)?;
            let needed = (u128::from(spent) * questions).checked_div(won)?;
            u64::try_from(needed + 1).ok()
        };
        Replacing {
            questions_for_time: pays_back(self.time.as_ps(), before.time, after.time),
            questions_for_energy: pays_back(self.energy.as_pj(), before.energy, after.energy),
            ..self
        }
    }
}

/// The groups after that were none before, in whatever order their vectors are to be written.
pub(super) fn new_groups<'a>(
    before: &Placed,
    after: &'a Placed,
) -> impl Iterator<Item = &'a [Member]> {
    let there: Vec<Vec<Member>> = before.groups.iter().map(|group| sorted(group)).collect();
    let groups = after.groups.iter().map(Vec::as_slice);
    groups.filter(move |group| !there.contains(&sorted(group)))
}

/// The parts of a group that one call writes: vectors that follow one another and are stored alike.
pub fn alike(group: &[Member]) -> impl Iterator<Item = &[Member]> {
    group.chunk_by(|one, next| one.inverse == next.inverse)
}

/// The members of a group, in whatever order they are to be written.
fn sorted(group: &[Member]) -> Vec<Member> {
    let mut sorted = group.to_vec();
    sorted.sort_by_key(|member| member.vector);
    sorted
}

/// What it takes and spends to write a vector of `bits` bits; a long one goes on as it began.
fn of_writing(model: &CostModel, bits: u64) -> Price {
    let (stripe, stripes) = (model.stripe_bits(), bits / model.stripe_bits());
    if stripes <= STRIPES_WRITTEN {
        return of_stripes(model, bits);
    }
    let half = STRIPES_WRITTEN / 2;
    let of = |stripes| of_stripes(model, stripes * stripe + bits % stripe);
    let (begun, before) = (of(STRIPES_WRITTEN), of(half));
    let extended = |begun: u64, before: u64| {
        let more = u128::from(begun - before) * u128::from(stripes - STRIPES_WRITTEN);
        u64::try_from(u128::from(begun) + more / u128::from(half)).unwrap_or(u64::MAX)
    };
    Price {
        span: Span::from_ps(extended(begun.span.as_ps(), before.span.as_ps())),
        energy: Energy::from_pj(extended(begun.energy.as_pj(), before.energy.as_pj())),
    }
}

/// The same, stripe by stripe and die by die: pages come over the link, then over the die's channel, and are programmed
/// meanwhile.
fn of_stripes(model: &CostModel, bits: u64) -> Price {
    let layout = Layout::new(model.nand.geometry.clone());
    let page = model.page_in();
    let mut channels = vec![Span::ZERO; layout.geometry().channels as usize];
    let mut dies = vec![Span::ZERO; layout.dies() as usize];
    let (mut arrived, mut energy) = (Span::ZERO, Energy::ZERO);
    for batch in layout.die_batches(layout.chunks(bits)) {
        let planes = batch.len() as u32;
        let command = model.program(planes);
        let share = model.sent(u64::from(planes) * model.page_bytes());
        let place = layout.geometry().plane_place(layout.plane(batch[0]));
        let die = &mut dies[layout.geometry().die_of_plane(layout.plane(batch[0])).0 as usize];
        let channel = &mut channels[place.channel as usize];
        arrived += share.span;
        *channel =
            (*channel).max(arrived).max(*die) + command.cycles + page.span * u64::from(planes);
        *die = *channel + command.array;
        energy +=
            command.energy * u64::from(planes) + page.energy * u64::from(planes) + share.energy;
    }
    let span = dies.into_iter().max().unwrap_or_default();
    Price {
        span,
        energy: energy + model.drawn(span),
    }
}

/// What it takes and spends to commit the names of vectors: the end of the catalogue is read, and a page is written behind it;
/// then the runs of pages where they were are deallocated, which is a page for each, one after the other.
fn of_commit(model: &CostModel, mode: ProgramMode, runs: u64) -> Price {
    let (out, page) = (model.page_out(), model.page_in());
    let (read, program) = (
        model.nand.longest_read(mode),
        model.nand.longest_program(mode),
    );
    let found = model.sent(CATALOGUE_PAGES_READ * model.page_bytes());
    let sent = model.sent(model.page_bytes());
    let read_span = model.read_cycles(1) + read.span + out.span + found.span;
    let pages = CATALOGUE_PAGES + runs;
    let span = read_span + sent.span + (page.span + program.span) * pages;
    let written = (page.energy + program.energy) * pages;
    let energy = read.energy + out.energy + written + found.energy + sent.energy;
    Price {
        span,
        energy: energy + model.drawn(span),
    }
}
