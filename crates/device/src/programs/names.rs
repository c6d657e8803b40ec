//! Names that tasks look up in the search regions registered for them.

use std::rc::Rc;

use media::core::Work;
use nvme::{NamespaceId, RegionId, Status};

use crate::cores::Cores;
use crate::schedule::Origin;
use crate::search::{Looked, Mark, Search, SearchError};
use crate::task::{FileError, errno};
use crate::tx::Transaction;

/// The search regions of a run.
#[derive(Clone)]
pub(super) struct Names {
    transaction: Rc<Transaction>,
    search: Rc<Search>,
    cores: Rc<Cores>,
    namespace: NamespaceId,
    origin: Origin,
    stores: Rc<[Store]>,
}

/// A search region, and what was in it when the run began if it is to see that.
struct Store {
    region: RegionId,
    mark: Option<Mark>,
}

impl Names {
    /// These regions of a namespace, as they are now: what is put in later is not for a run that is a transaction.
    ///
    /// # Errors
    /// Invalid Search Region.
    pub(super) fn new(
        transaction: &Rc<Transaction>,
        (search, cores): (&Rc<Search>, &Rc<Cores>),
        (namespace, regions): (NamespaceId, &[RegionId]),
        origin: Origin,
    ) -> Result<Names, Status> {
        let marked = transaction.isolation().is_transaction();
        let store = |&region: &RegionId| {
            let mark = search.mark(namespace, region)?;
            Ok::<_, Status>(Store {
                region,
                mark: marked.then_some(mark),
            })
        };
        Ok(Names {
            transaction: transaction.clone(),
            stores: regions.iter().map(store).collect::<Result<_, _>>()?,
            search: search.clone(),
            cores: cores.clone(),
            namespace,
            origin,
        })
    }

    /// Looks a name up, as [`crate::task::Files::look_up`] has it.
    ///
    /// # Errors
    /// What the task is told that asks for what cannot be; why its run cannot go on.
    pub(super) async fn look_up(
        &self,
        number: u32,
        name: &[u8],
    ) -> Result<Option<Vec<u8>>, FileError> {
        let store = self.stores.get(number as usize);
        let store = store.ok_or(FileError::refused(errno::EBADF))?;
        let name_bytes = self.search.name_bytes(self.namespace, store.region);
        if name_bytes.is_ok_and(|bytes| bytes != name.len()) {
            return Err(FileError::refused(errno::EINVAL));
        }
        // The array is not left in the middle of it, even if the run is stopped.
        let (names, name, running) = (self.clone(), name.to_vec(), self.transaction.run_on());
        let looked_up = self.cores.sim().spawn(async move {
            let _running = running;
            names.carry_out(number, &name).await
        });
        looked_up.await
    }

    async fn carry_out(&self, number: u32, name: &[u8]) -> Result<Option<Vec<u8>>, FileError> {
        let store = &self.stores[number as usize];
        let of = (self.namespace, store.region);
        self.cores.work(self.origin, Work::Plan).await;
        let mark = store.mark.as_ref();
        let looked = self.search.look_up_within(of, name, mark, self.origin);
        match looked.await {
            Ok(Looked::Found(value)) => Ok(Some(value)),
            Ok(Looked::Nothing) => Ok(None),
            Ok(Looked::Changed) => Err(FileError::Conflict {
                reason: format!(
                    "entries of store {number} were deleted or updated by somebody else since the transaction began"
                ),
            }),
            Err(SearchError::Query(_)) => Err(FileError::refused(errno::EINVAL)),
            Err(error) => Err(FileError::Device {
                reason: format!("a name of store {number} could not be looked up: {error}"),
            }),
        }
    }
}
