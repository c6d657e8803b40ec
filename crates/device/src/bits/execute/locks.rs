//! Who may do what with a group's strings: several read, one writes, and nobody else is there when
//! they are erased.

use sim::resource::{self, RangeGuard, RangeLock};

/// What is done with a group while its lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Its vectors are sensed.
    Read,
    /// A vector is added.
    Write,
    /// Vectors are deleted or strings erased.
    Exclusive,
}

/// Claims `groups` of `locks`, all at once. Of each group two numbers can be locked: its vectors, and the turn to
/// add one, so that writes wait for each other and not for reads.
pub(super) async fn lock(
    locks: &RangeLock,
    groups: impl IntoIterator<Item = u32>,
    access: Access,
) -> RangeGuard<'_> {
    use resource::Access::{Exclusive, Shared};
    let claims = groups.into_iter().flat_map(|group| {
        let (vectors, turn) = (u64::from(group) * 2, u64::from(group) * 2 + 1);
        let (of_vectors, of_turn) = match access {
            Access::Read => (Shared, None),
            Access::Write => (Shared, Some(Exclusive)),
            Access::Exclusive => (Exclusive, Some(Exclusive)),
        };
        let turn = of_turn.map(|access| (turn..turn + 1, access));
        [(vectors..vectors + 1, of_vectors)].into_iter().chain(turn)
    });
    locks.lock_all(claims).await
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use sim::{Simulation, Span};

    use super::*;

    /// Tasks that each hold a lock for 10 ns; when each began.
    fn begins(claims: &[(&[u32], Access)]) -> Vec<u64> {
        let simulation = Simulation::new(1);
        let sim = simulation.handle();
        let locks = Rc::new(RangeLock::new(&sim));
        let tasks: Vec<_> = claims
            .iter()
            .map(|&(groups, access)| {
                let (sim, locks, groups) = (sim.clone(), locks.clone(), groups.to_vec());
                simulation.handle().spawn(async move {
                    let _lock = lock(&locks, groups, access).await;
                    let began = sim.now();
                    sim.sleep(Span::from_ns(10)).await;
                    began.as_ps() / 1000
                })
            })
            .collect();
        simulation.run();
        let finished = tasks.iter().map(|task| task.take().expect("nothing hangs"));
        finished.collect()
    }

    #[test]
    fn claims_are_served_in_order_as_far_as_they_exclude_each_other() {
        use Access::{Exclusive, Read, Write};
        assert_eq!(begins(&[(&[1], Read), (&[1], Read), (&[1], Write)]), [0; 3]);
        assert_eq!(
            begins(&[(&[1], Write), (&[1], Write), (&[2], Write)]),
            [0, 10, 0]
        );
        assert_eq!(
            begins(&[
                (&[1, 2], Read),
                (&[2], Exclusive),
                (&[1, 2], Read),
                (&[1], Read)
            ]),
            [0, 10, 20, 0]
        );
    }
}
