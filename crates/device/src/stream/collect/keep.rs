//! Has the journal keep how far collections have come: when one has come far enough, and for all of them after a while.

use std::rc::Rc;

use sim::Span;

use super::Collectors;
use super::collection::Collection;
use super::position::{self, Position};
use crate::planted::{Bug, is_planted};

impl Collectors {
    /// Bytes of a collection are on flash: keeps that it has come further, if it has come far enough.
    pub(super) fn positions_moved(self: &Rc<Collectors>, collection: &Collection) {
        let ahead = collection.written.get() - collection.durable.get();
        let is_far = ahead >= self.config.position_bytes.max(self.page_bytes.into());
        let collectors = self.clone();
        if is_far && !self.keeping.get() {
            self.sim
                .spawn_detached(async move { collectors.keep_positions().await });
        } else if ahead > 0 && !self.is_due.replace(true) {
            let wait = Span::from_us(self.config.position_us);
            self.sim.spawn_detached(async move {
                collectors.sim.sleep(wait).await;
                collectors.is_due.set(false);
                collectors.keep_positions().await;
            });
        }
    }

    /// Makes it durable how far all collections have come.
    pub(super) async fn keep_positions(&self) {
        while self.keeping.get() {
            self.kept.next().await;
        }
        self.keeping.set(true);
        let moved = self.moved();
        if !moved.is_empty() {
            let changes = moved.iter().map(|(collection, bytes)| {
                let position = Position {
                    identifier: collection.identifier,
                    bytes: *bytes,
                };
                let fact = position::encode(position).into();
                (position::key(collection.id), Some(fact))
            });
            match self.ftl.put_facts(changes.collect()).await {
                Ok(()) => {
                    for (collection, bytes) in &moved {
                        collection.durable.set(*bytes);
                        collection.changed.announce();
                    }
                }
                Err(error) => {
                    for (collection, _) in &moved {
                        collection.fail(error.to_string());
                    }
                }
            }
        }
        self.keeping.set(false);
        self.kept.announce();
    }

    /// The collections that have come further than is durable, and how far.
    fn moved(&self) -> Vec<(Rc<Collection>, u64)> {
        let open = self.open.borrow();
        open.values()
            .filter(|collection| collection.written.get() > collection.durable.get())
            .map(|collection| {
                let untrue = u64::from(is_planted(Bug::CollectorTellsTooMuch));
                let told = collection.written.get() + untrue * u64::from(self.page_bytes);
                (collection.clone(), told)
            })
            .collect()
    }
}
