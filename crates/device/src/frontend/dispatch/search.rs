//! The family `search`: name-value lookup.

use media::core::Work;
use media::link::Carries;
use nvme::command::{
    Append, Delete, RegionAllocate, RegionDeallocate, RegionRecord, RegionReport, Returned,
    SimpleLookup, Update,
};
use nvme::{DataPointer, NamespaceId, RegionId, SearchCommand, Status};
use zerocopy::IntoBytes;

use crate::frontend::Controller;
use crate::frontend::answer::{self, Answer};
use crate::frontend::namespace::Namespace;
use crate::schedule::Origin;
use crate::search::{Done, Nearness, SearchError, Wanted};

/// The status that tells the host why a command was not carried out.
fn status_of(error: SearchError, reading: bool) -> Status {
    match error {
        SearchError::Query(error) => error.into(),
        SearchError::Refused(status) => status,
        SearchError::Ftl(error) => answer::status_of(error, reading),
        SearchError::Flash(fault) => answer::status_of(fault.into(), reading),
    }
}

/// What a change that failed tells the host.
pub(in crate::frontend) fn wrote<T>(outcome: Result<T, SearchError>) -> Result<T, Status> {
    outcome.map_err(|error| status_of(error, false))
}

fn read<T>(outcome: Result<T, SearchError>) -> Result<T, Status> {
    outcome.map_err(|error| status_of(error, true))
}

impl Controller {
    pub(super) async fn serve_search(
        &self,
        namespace: &Namespace,
        command: &SearchCommand,
        origin: Origin,
    ) -> Result<Answer, Status> {
        if let SearchCommand::SimpleLookup(lookup) = command {
            let (region, name) = (lookup.region, &lookup.name);
            self.search.prefetch(region, name, Nearness::Here);
        }
        self.charge(origin, Work::Plan).await;
        match command {
            // By far the most frequent one, which is to take no more memory than it needs.
            SearchCommand::SimpleLookup(lookup) => {
                Box::pin(self.look_up_simply(namespace, lookup, origin)).await
            }
            other => Box::pin(self.serve_rarer_search(namespace, other, origin)).await,
        }
    }

    async fn look_up_simply(
        &self,
        namespace: &Namespace,
        lookup: &SimpleLookup,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let of = (lookup.namespace, lookup.region);
        self.check_lookup(namespace, of, lookup.buffer_bytes, lookup.returned)?;
        let done = self.search.look_up_simply(lookup, origin).await;
        Ok(self.answer_lookup(read(done)?))
    }

    async fn serve_rarer_search(
        &self,
        namespace: &Namespace,
        command: &SearchCommand,
        origin: Origin,
    ) -> Result<Answer, Status> {
        match command {
            SearchCommand::Allocate(command) => {
                self.allocate_region(namespace, command, origin).await
            }
            SearchCommand::Deallocate(command) => self.deallocate_region(command).await,
            SearchCommand::Append(command) => self.append(command, origin).await,
            SearchCommand::Update(command) => self.update(command, origin).await,
            SearchCommand::SimpleLookup(lookup) => {
                self.look_up_simply(namespace, lookup, origin).await
            }
            SearchCommand::Lookup(lookup) => {
                let of = (lookup.namespace, lookup.region);
                self.check_lookup(namespace, of, lookup.buffer_bytes, lookup.returned)?;
                let done = self.search.look_up(lookup, origin).await;
                Ok(self.answer_lookup(read(done)?))
            }
            SearchCommand::LookupContinue(lookup) => {
                let of = (lookup.namespace, lookup.region);
                self.check_lookup(namespace, of, lookup.buffer_bytes, Returned::default())?;
                let done = self.search.look_up_more(lookup, origin).await;
                Ok(self.answer_lookup(read(done)?))
            }
            SearchCommand::Delete(command) => self.delete(command, origin).await,
            SearchCommand::Report(command) => self.report_regions(command, origin).await,
        }
    }

    /// # Errors
    /// Invalid Field for more records than a command may return; Unrecovered Read Error if blocks of the values are marked.
    pub(super) fn check_lookup(
        &self,
        namespace: &Namespace,
        (id, region): (NamespaceId, RegionId),
        buffer_bytes: u32,
        returned: Returned,
    ) -> Result<(), Status> {
        self.check_transfer(buffer_bytes.into())?;
        if namespace.plain.get() || returned.count_only {
            return Ok(());
        }
        let pages = self.search.values_of(id, region)?;
        let first = namespace.pages().start;
        let bytes = self.unit.start(pages.start - first)..self.unit.start(pages.end - first);
        self.check_marks(namespace, bytes)
    }

    fn answer_lookup(&self, done: Done) -> Answer {
        self.health.read(done.data_bytes);
        Answer {
            dw0: done.dw0,
            dw1: done.dw1,
            data_bytes: done.data_bytes,
            ..Answer::DONE
        }
    }

    /// Records of a command, fetched from host memory.
    async fn fetch_records(
        &self,
        data: &DataPointer,
        bytes: u64,
        origin: Origin,
    ) -> Result<Vec<u8>, Status> {
        self.check_transfer(bytes)?;
        if bytes > 1 << 30 {
            return Err(Status::INVALID_FIELD);
        }
        self.fetch_parameters(data, bytes, Carries::Data, origin)
            .await
    }

    pub(in crate::frontend) async fn fetch_parameters(
        &self,
        data: &DataPointer,
        bytes: u64,
        carries: Carries,
        origin: Origin,
    ) -> Result<Vec<u8>, Status> {
        if bytes == 0 {
            return Ok(Vec::new());
        }
        let segments = self.port.locate(origin, data, bytes).await?;
        self.port.fetch_bytes(origin, carries, bytes).await;
        let mut fetched = vec![0; bytes as usize];
        segments.read(&*self.host.memory.borrow(), &mut fetched)?;
        Ok(fetched)
    }

    async fn allocate_region(
        &self,
        namespace: &Namespace,
        allocate: &RegionAllocate,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let first = namespace.chunk_of(allocate.start, self.unit)?;
        let wanted = Wanted {
            allocate: *allocate,
            first,
            pages: namespace.pages().end - first.0,
        };
        let bytes = self.search.initial_bytes(allocate)?;
        let records = self.fetch_records(&allocate.data, bytes, origin).await?;
        let allocated = self.search.allocate(&wanted, &records, origin).await;
        let region = wrote(allocated)?;
        self.wrote_records(bytes);
        Ok(Answer {
            dw0: region.into(),
            ..Answer::DONE
        })
    }

    async fn deallocate_region(&self, command: &RegionDeallocate) -> Result<Answer, Status> {
        let deallocated = self.search.deallocate(command.namespace, command.region);
        wrote(deallocated.await)?;
        Ok(Answer::DONE)
    }

    async fn append(&self, append: &Append, origin: Origin) -> Result<Answer, Status> {
        let of = (append.namespace, append.region);
        let bytes = self.search.record_bytes(of.0, of.1, append.records)?;
        let records = self.fetch_records(&append.data, bytes, origin).await?;
        let appended = self.search.append(of, append.records, &records, origin);
        let dw0 = wrote(appended.await)?;
        self.wrote_records(bytes);
        Ok(Answer {
            dw0,
            ..Answer::DONE
        })
    }

    async fn update(&self, update: &Update, origin: Origin) -> Result<Answer, Status> {
        let append = &update.append;
        let of = (append.namespace, append.region);
        let bytes = self.search.record_bytes(of.0, of.1, append.records)?;
        let query = match update.query_bytes {
            0 => None,
            bytes => {
                let fetched = self.search.fetch_query(update.query_address, bytes, origin);
                Some(read(fetched.await)?)
            }
        };
        let records = self.fetch_records(&append.data, bytes, origin).await?;
        let records = (append.records, &records[..]);
        let updated = self.search.update(of, query.as_ref(), records, origin);
        let done = wrote(updated.await)?;
        self.wrote_records(bytes);
        Ok(Answer {
            dw0: done.dw0,
            dw1: done.dw1,
            ..Answer::DONE
        })
    }

    fn wrote_records(&self, bytes: u64) {
        if bytes > 0 {
            self.health.wrote(bytes);
            self.health.write_over();
        }
    }

    async fn delete(&self, delete: &Delete, origin: Origin) -> Result<Answer, Status> {
        let bytes = delete.query_bytes.into();
        let query = self
            .fetch_parameters(&delete.data, bytes, Carries::Parameters, origin)
            .await?;
        let query = nvme::query::Query::decode(&query)?;
        let of = (delete.namespace, delete.region);
        let deleted = self.search.delete(of, &query, origin).await;
        Ok(Answer {
            dw0: wrote(deleted)?,
            ..Answer::DONE
        })
    }

    async fn report_regions(
        &self,
        report: &RegionReport,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let records = self.search.report(report.namespace);
        let room = u64::from(report.records) * RegionRecord::BYTES as u64;
        self.check_transfer(room)?;
        let segments = self.port.locate(origin, &report.data, room).await?;
        let told = &records[..records.len().min(report.records as usize)];
        self.port.write(&segments, told.as_bytes())?;
        Ok(Answer {
            dw0: records.len() as u32,
            data_bytes: told.as_bytes().len() as u64,
            ..Answer::DONE
        })
    }
}
