//! Who may do what with a group's strings: several read, one writes, and nobody else is there when
//! they are erased.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::Poll;

use sim::{Sim, TaskId};

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

impl Access {
    fn excludes(self, other: Access) -> bool {
        use Access::{Exclusive, Write};
        matches!(
            (self, other),
            (Exclusive, _) | (_, Exclusive) | (Write, Write)
        )
    }
}

struct Claim {
    id: u64,
    groups: Box<[u32]>,
    access: Access,
    task: TaskId,
}

/// Claims on groups, held or waited for, in the order of arrival. Few commands are in flight at a
/// time, so a list serves better than a table.
pub(super) struct GroupLocks {
    sim: Sim,
    claims: RefCell<Vec<Claim>>,
    next_id: Cell<u64>,
}

/// Groups held; dropping it lets the next claim have them.
pub(super) struct GroupLock<'a> {
    locks: &'a GroupLocks,
    id: u64,
}

impl GroupLocks {
    pub(super) fn new(sim: &Sim) -> GroupLocks {
        GroupLocks {
            sim: sim.clone(),
            claims: RefCell::default(),
            next_id: Cell::new(0),
        }
    }

    /// Waits until no earlier claim on any of `groups` excludes `access`, and holds them all.
    pub(super) async fn lock(
        &self,
        groups: impl IntoIterator<Item = u32>,
        access: Access,
    ) -> GroupLock<'_> {
        let id = self.next_id.replace(self.next_id.get() + 1);
        self.claims.borrow_mut().push(Claim {
            id,
            groups: groups.into_iter().collect(),
            access,
            task: self.sim.current(),
        });
        // From here on, dropping this future takes the claim back.
        let lock = GroupLock { locks: self, id };
        poll_fn(|_| {
            if self.is_granted(id) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        lock
    }

    fn is_granted(&self, id: u64) -> bool {
        let claims = self.claims.borrow();
        let Some(place) = claims.iter().position(|claim| claim.id == id) else {
            return false;
        };
        let wanted = &claims[place];
        !claims[..place].iter().any(|earlier| earlier.bars(wanted))
    }
}

impl Claim {
    fn bars(&self, other: &Claim) -> bool {
        self.access.excludes(other.access)
            && self.groups.iter().any(|group| other.groups.contains(group))
    }
}

impl Drop for GroupLock<'_> {
    fn drop(&mut self) {
        let mut claims = self.locks.claims.borrow_mut();
        let Some(place) = claims.iter().position(|claim| claim.id == self.id) else {
            return;
        };
        let released = claims.remove(place);
        for later in &claims[place..] {
            if released.bars(later) {
                self.locks.sim.wake(later.task);
            }
        }
    }
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
        let locks = Rc::new(GroupLocks::new(&sim));
        let tasks: Vec<_> = claims
            .iter()
            .map(|&(groups, access)| {
                let (sim, locks, groups) = (sim.clone(), locks.clone(), groups.to_vec());
                simulation.handle().spawn(async move {
                    let _lock = locks.lock(groups, access).await;
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
