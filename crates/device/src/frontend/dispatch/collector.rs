//! Commands of collections.

use std::rc::Rc;

use media::link::Carries;
use nvme::command::{CollectorClose, CollectorExtend, CollectorOpen};
use nvme::task::Request;
use nvme::{AsyncEvent, DataPointer, Status};

use crate::frontend::Controller;
use crate::frontend::answer::Answer;
use crate::frontend::namespace::Namespace;
use crate::programs::RunRequest;
use crate::schedule::Origin;
use crate::stream::CollectorId;
use crate::stream::collect::CollectRequest;

impl Controller {
    /// Has the host told when there is little room left for a collection.
    pub(in crate::frontend) fn watch_collectors(self: &Rc<Controller>) {
        let weak = Rc::downgrade(self);
        self.collectors.on_low_room(Rc::new(move || {
            if let Some(controller) = weak.upgrade() {
                controller.raise(AsyncEvent::COLLECTOR_LOW_ROOM);
            }
        }));
    }

    pub(super) async fn open_collector(
        &self,
        namespace: &Namespace,
        open: &CollectorOpen,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let data = (&open.data, open.request_bytes);
        let mut asked = self.files_asked(namespace, data, origin).await?;
        if asked.files.len() > 1 {
            return Err(Status::INVALID_FIELD);
        }
        let request = CollectRequest {
            identifier: asked.identifier,
            file: asked.files.pop(),
            policy: open.policy,
            share_bytes: open.share_bytes.into(),
            low_bytes: open.low_bytes.into(),
            goes_on: open.goes_on,
        };
        let id = CollectorId {
            namespace: namespace.id,
            port: open.port.into(),
        };
        let begin = self.collectors.open(id, request, origin).await?;
        Ok(Answer {
            dw0: begin as u32,
            dw1: (begin >> 32) as u32,
            ..Answer::DONE
        })
    }

    pub(super) async fn extend_collector(
        &self,
        namespace: &Namespace,
        extend: &CollectorExtend,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let data = (&extend.data, extend.request_bytes);
        let mut asked = self.files_asked(namespace, data, origin).await?;
        let (Some(file), true) = (asked.files.pop(), asked.files.is_empty()) else {
            return Err(Status::INVALID_FIELD);
        };
        let id = CollectorId {
            namespace: namespace.id,
            port: extend.port.into(),
        };
        self.collectors.extend(id, file, origin).await?;
        Ok(Answer::DONE)
    }

    pub(super) async fn close_collector(
        &self,
        namespace: &Namespace,
        close: &CollectorClose,
    ) -> Result<Answer, Status> {
        let id = CollectorId {
            namespace: namespace.id,
            port: close.port.into(),
        };
        let collected = self.collectors.close(id).await?;
        Ok(Answer {
            dw0: collected.bytes as u32,
            dw1: (collected.bytes >> 32) as u32,
            ..Answer::DONE
        })
    }

    /// The request of a command that lies in host memory: what it is called, and files.
    async fn files_asked(
        &self,
        namespace: &Namespace,
        (data, bytes): (&DataPointer, u32),
        origin: Origin,
    ) -> Result<RunRequest, Status> {
        self.check_transfer(bytes.into())?;
        let request = self.fetch_parameters(data, bytes.into(), Carries::Parameters, origin);
        let request = Request::decode(&request.await?)?;
        let files_only = Request {
            identifier: request.identifier,
            files: request.files.clone(),
            ..Request::default()
        };
        if request != files_only {
            return Err(Status::INVALID_FIELD);
        }
        self.asked(namespace, request)
    }
}
