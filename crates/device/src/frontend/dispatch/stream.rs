//! Commands of streams.

use std::cell::RefCell;
use std::rc::Rc;

use media::core::Work;
use media::link::Carries;
use nvme::Status;
use nvme::command::{StreamClose, StreamCommand, StreamOpen, StreamRead, StreamWrite};
use nvme::task::{Outcome, Request};

use super::program::owner_of;
use crate::frontend::Controller;
use crate::frontend::answer::Answer;
use crate::frontend::namespace::Namespace;
use crate::frontend::transport::Source;
use crate::programs::ProgramId;
use crate::schedule::Origin;
use crate::stream::{CollectorId, GiveUp, StreamId, StreamRequest};
use crate::task::Data;

/// Stream reads under way, and the commands that ask for them.
#[derive(Default)]
pub(in crate::frontend) struct Fetching(RefCell<Vec<(Source, Rc<GiveUp>)>>);

/// A stream read that is under way, until this is dropped.
struct Fetch<'a> {
    fetching: &'a Fetching,
    give_up: Rc<GiveUp>,
}

impl Drop for Fetch<'_> {
    fn drop(&mut self) {
        let mut fetches = self.fetching.0.borrow_mut();
        fetches.retain(|(_, give_up)| !Rc::ptr_eq(give_up, &self.give_up));
        self.give_up.end(false);
    }
}

impl Controller {
    pub(super) async fn serve_stream(
        &self,
        namespace: &Namespace,
        command: &StreamCommand,
        source: Source,
        origin: Origin,
    ) -> Result<Answer, Status> {
        self.charge(origin, Work::Plan).await;
        match command {
            StreamCommand::Open(open) => self.open_stream(namespace, open, origin).await,
            StreamCommand::Read(read) => self.read_stream(namespace, read, source, origin).await,
            StreamCommand::Write(write) => self.write_stream(namespace, write, origin).await,
            StreamCommand::Close(close) => self.close_stream(namespace, close).await,
            StreamCommand::CollectorOpen(open) => {
                self.open_collector(namespace, open, origin).await
            }
            StreamCommand::CollectorExtend(extend) => {
                self.extend_collector(namespace, extend, origin).await
            }
            StreamCommand::CollectorClose(close) => self.close_collector(namespace, close).await,
        }
    }

    async fn open_stream(
        &self,
        namespace: &Namespace,
        open: &StreamOpen,
        origin: Origin,
    ) -> Result<Answer, Status> {
        self.check_transfer(open.request_bytes.into())?;
        let bytes = open.request_bytes.into();
        let request = self.fetch_parameters(&open.data, bytes, Carries::Parameters, origin);
        let request = Request::decode(&request.await?)?;
        // What the host sends has no end that is known.
        let input = open
            .input
            .and_then(|input| request.files.get(input as usize));
        let origin = origin.in_storage(input.map_or(u64::MAX, |input| input.bytes));
        let asked = StreamRequest {
            run: self.asked(namespace, request)?,
            input: open.input,
            is_collected: open.collector.is_some(),
            output: open.output,
            piece_bytes: open.piece_bytes,
            elements: open.elements.into(),
            is_ordered: !open.unordered,
        };
        let program = ProgramId {
            namespace: owner_of(namespace, open.program_namespace),
            index: open.program,
        };
        let _owner = self.admit_to_programs(program.namespace)?;
        let place = (program, namespace.id);
        let number = self.streams.open(place, asked, origin)?;
        if let Some(port) = open.collector {
            let stream = StreamId {
                namespace: namespace.id,
                number,
            };
            let collector = CollectorId {
                namespace: namespace.id,
                port: port.into(),
            };
            if let Err(refused) = self.collectors.tap(collector, stream) {
                self.streams.close(stream).await?;
                return Err(refused);
            }
        }
        Ok(Answer {
            dw0: number,
            ..Answer::DONE
        })
    }

    async fn read_stream(
        &self,
        namespace: &Namespace,
        read: &StreamRead,
        source: Source,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let most = u64::from(read.bytes);
        self.check_transfer(most)?;
        let segments = self.port.locate(origin, &read.data, most).await?;
        self.port.check(&segments)?;
        let id = StreamId {
            namespace: namespace.id,
            number: read.stream,
        };
        let take = async |offset: u64, data: Data| {
            let bytes = u64::from(data.bytes());
            self.streams.give_to_host(origin, bytes).await;
            self.port.post_bytes(origin, bytes);
            match data {
                Data::Bytes(bytes) => self.port.write_at(&segments, offset, &bytes),
                Data::Untold(_) => Ok(()),
            }
        };
        let fetch = Fetch {
            fetching: &self.fetching,
            give_up: Rc::new(GiveUp::new(&self.sim)),
        };
        let give_up = &fetch.give_up;
        let entry = (source, give_up.clone());
        self.fetching.0.borrow_mut().push(entry);
        let fetched = self.streams.fetch(id, most, give_up, take).await;
        give_up.end(fetched == Err(Status::ABORT_REQUESTED));
        let (fetched, over) = fetched?;
        let Some(outcome) = over else {
            return Ok(Answer {
                dw0: fetched as u32,
                ..Answer::DONE
            });
        };
        let told = told(outcome, most);
        self.port.write(&segments, &told)?;
        Ok(Answer {
            dw0: told.len() as u32,
            dw1: 1,
            data_bytes: told.len() as u64,
            ..Answer::DONE
        })
    }

    /// Has a stream read end that waits for output, and waits until it is over; whether it was ended by that.
    pub(in crate::frontend) async fn abort_fetch(&self, source: Source) -> bool {
        let found = {
            let fetches = self.fetching.0.borrow();
            let found = fetches.iter().find(|(of, _)| of.is(&source));
            found.map(|(_, give_up)| give_up.clone())
        };
        match found {
            Some(give_up) => give_up.ask().await,
            None => false,
        }
    }

    async fn write_stream(
        &self,
        namespace: &Namespace,
        write: &StreamWrite,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let bytes = u64::from(write.bytes);
        self.check_transfer(bytes)?;
        let sent = self
            .fetch_parameters(&write.data, bytes, Carries::Data, origin)
            .await?;
        let data = match self.buffers.stores_data() {
            true => Data::Bytes(sent),
            false => Data::Untold(write.bytes),
        };
        let id = StreamId {
            namespace: namespace.id,
            number: write.stream,
        };
        let (taken, over) = self.streams.send(id, data, write.end, origin).await?;
        Ok(Answer {
            dw0: taken,
            dw1: over.is_some().into(),
            ..Answer::DONE
        })
    }

    async fn close_stream(
        &self,
        namespace: &Namespace,
        close: &StreamClose,
    ) -> Result<Answer, Status> {
        let id = StreamId {
            namespace: namespace.id,
            number: close.stream,
        };
        let outcome = self.streams.close(id).await?;
        Ok(Answer {
            dw0: outcome.ended.code().into(),
            ..Answer::DONE
        })
    }
}

/// What became of a stream in no more bytes than there is room for: the log and the value are left out first.
fn told(mut outcome: Outcome, most: u64) -> Vec<u8> {
    let whole = outcome.encode();
    if whole.len() as u64 <= most {
        return whole;
    }
    outcome.log.clear();
    outcome.value.clear();
    let mut told = outcome.encode();
    if told.len() as u64 > most {
        outcome.reason.clear();
        told = outcome.encode();
    }
    told.truncate(most as usize);
    told
}
