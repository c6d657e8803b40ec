//! What placing vectors anew takes, of a page in every plane, and after how many questions that has paid back.

use media::nand::ProgramMode;
use sim::{Energy, Span};

use super::lived::Lived;
use super::{Asked, Member, Placed, Total};
use crate::cost::{CostModel, Price};

/// Catalogue pages that a commit reads, to see that nobody else has changed it: the last, and the next, which is on no flash
/// yet.
const CATALOGUE_PAGES_READ: u64 = 2;

/// What it takes to place vectors anew, and after how many questions that has paid back: as often asked as was said, in
/// proportion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replacing {
    /// Vectors that are to be written anew.
    pub vectors: u64,
    /// Calls that write them: one for those of a group that follow one another and are stored alike.
    pub writes: u64,
    /// About how long reading and writing these takes, of a page in every plane, one after another.
    pub time: Span,
    /// About what that spends.
    pub energy: Energy,
    /// Questions after which time is won; none if none is.
    pub questions_for_time: Option<u64>,
    /// Questions after which energy is won; none if none is.
    pub questions_for_energy: Option<u64>,
}

impl Replacing {
    /// What following advice takes.
    pub(super) fn of(
        asked: &[Asked],
        (before, after): (&Placed, &Placed),
        lived: &Lived<'_>,
        ordinary: ProgramMode,
    ) -> Replacing {
        let there: Vec<Vec<Member>> = before.groups.iter().map(|group| sorted(group)).collect();
        let is_new = |group: &&Vec<Member>| !there.contains(&sorted(group));
        let new: Vec<&Vec<Member>> = after.groups.iter().filter(is_new).collect();
        let alike = |one: &Member, next: &Member| one.inverse == next.inverse;
        let vectors = new.iter().map(|group| group.len() as u64).sum();
        let writes = new.iter().map(|group| group.chunk_by(alike).count() as u64);
        let writes = writes.sum();
        let read = lived.of_reading();
        let (write, commit) = (
            of_writing(lived.model()),
            of_commit(lived.model(), ordinary),
        );
        let time = (read.span + write.span) * vectors + commit.span * writes;
        let energy = (read.energy + write.energy) * vectors + commit.energy * writes;
        let of = |placed: &Placed| Total::of(asked, &placed.costs);
        let (before, after) = (of(before), of(after));
        let questions: u128 = asked.iter().map(|asked| u128::from(asked.frequency)).sum();
        let pays_back = |spent: u64, before: u128, after: u128| {
            let won = before.checked_sub(after)?;
            let needed = (u128::from(spent) * questions).checked_div(won)?;
            u64::try_from(needed + 1).ok()
        };
        Replacing {
            vectors,
            writes,
            time,
            energy,
            questions_for_time: pays_back(time.as_ps(), before.time, after.time),
            questions_for_energy: pays_back(energy.as_pj(), before.energy, after.energy),
        }
    }
}

/// The members of a group, in whatever order they are to be written.
fn sorted(group: &[Member]) -> Vec<Member> {
    let mut sorted = group.to_vec();
    sorted.sort_by_key(|member| member.vector);
    sorted
}

/// What it takes and spends to write a vector: die by die its pages come over the link, then over the die's channel, and are
/// programmed meanwhile.
fn of_writing(model: &CostModel) -> Price {
    let geometry = &model.nand.geometry;
    let (planes, pages) = (geometry.planes_per_die, u64::from(geometry.planes()));
    let (command, page) = (model.program(planes), model.page_in());
    let share = model.sent(u64::from(planes) * model.page_bytes());
    let moved = command.cycles + page.span * u64::from(planes);
    let mut channels = vec![Span::ZERO; geometry.channels as usize];
    for die in 0..geometry.dies() {
        let channel = &mut channels[(die % geometry.channels) as usize];
        *channel = (*channel).max(share.span * u64::from(die + 1)) + moved;
    }
    let last = channels.into_iter().max().unwrap_or_default();
    let span = last + command.array;
    let energy = (command.energy + page.energy) * pages + share.energy * model.dies();
    Price {
        span,
        energy: energy + model.drawn(span),
    }
}

/// What it takes and spends to commit the names of vectors: the end of the catalogue is read, and a page is written behind it.
fn of_commit(model: &CostModel, mode: ProgramMode) -> Price {
    let (out, page) = (model.page_out(), model.page_in());
    let (read, program) = (
        model.nand.longest_read(mode),
        model.nand.longest_program(mode),
    );
    let found = model.sent(CATALOGUE_PAGES_READ * model.page_bytes());
    let sent = model.sent(model.page_bytes());
    let read_span = model.read_cycles(1) + read.span + out.span + found.span;
    let span = read_span + sent.span + page.span + program.span;
    let of_flash = read.energy + out.energy + page.energy + program.energy;
    let energy = of_flash + found.energy + sent.energy;
    Price {
        span,
        energy: energy + model.drawn(span),
    }
}
