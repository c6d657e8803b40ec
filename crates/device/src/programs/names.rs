//! Names that tasks look up in the search regions registered for them.

use std::rc::Rc;

use media::core::Work;
use nvme::{NamespaceId, RegionId, Status};

use crate::cores::Cores;
use crate::schedule::Origin;
use crate::search::{Looked, Mark, Search, SearchError};
use crate::task::{FileError, errno};

/// The search regions of a run.
pub(super) struct Names {
    search: Rc<Search>,
    cores: Rc<Cores>,
    namespace: NamespaceId,
    origin: Origin,
    stores: Vec<Store>,
}

/// A search region, and what was in it when the run began if it is to see that.
struct Store {
    region: RegionId,
    mark: Option<Mark>,
}

impl Names {
    /// These regions of a namespace, as they are now: `marked` for a run that is to see nothing else.
    ///
    /// # Errors
    /// Invalid Search Region.
    pub(super) fn new(
        (search, cores): (&Rc<Search>, &Rc<Cores>),
        namespace: NamespaceId,
        regions: &[RegionId],
        marked: bool,
        origin: Origin,
    ) -> Result<Names, Status> {
        let store = |&region: &RegionId| {
            let mark = search.mark(namespace, region)?;
            Ok::<_, Status>(Store {
                region,
                mark: marked.then_some(mark),
            })
        };
        Ok(Names {
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
        let of = (self.namespace, store.region);
        let name_bytes = self.search.name_bytes(of.0, of.1);
        if name_bytes.is_ok_and(|bytes| bytes != name.len()) {
            return Err(FileError::refused(errno::EINVAL));
        }
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
