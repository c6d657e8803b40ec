//! Directives (Base 8.1.8): placement handles are opened, released and told.

use media::link::Carries;
use nvme::command::{
    DirectiveOperation, DirectiveQuery, DirectiveReceive, DirectiveSend, HandleAttributes,
    HandleRecord, IDENTIFY_DIRECTIVE, PLACEMENT_DIRECTIVE,
};
use nvme::{Lba, Status};
use zerocopy::{FromBytes, IntoBytes};

use crate::frontend::Controller;
use crate::frontend::answer::Answer;
use crate::frontend::namespace::Namespace;
use crate::region::{Handle, Shape};
use crate::tenants;

/// Bytes of the Identify directive's parameters.
const PARAMETERS_BYTES: usize = 4096;
/// Where the directives enabled are told in them, after those supported.
const ENABLED: usize = 32;

impl Controller {
    /// A handle that is open for a namespace.
    pub(in crate::frontend) fn handle(&self, namespace: &Namespace, number: u16) -> Option<Handle> {
        let handle = self.ftl.handle(number)?;
        (handle.shape().scope == namespace.pages()).then_some(handle)
    }

    pub(in crate::frontend) async fn send_directive(
        &self,
        send: &DirectiveSend,
    ) -> Result<Answer, Status> {
        let namespace = self.namespaces.get(send.namespace)?;
        match send.operation {
            DirectiveOperation::Release => {
                let open = self.handle(namespace, send.handle).is_some();
                if !open || !self.ftl.release_handle(send.handle) {
                    return Err(Status::INVALID_FIELD);
                }
            }
            DirectiveOperation::Open => {
                let length = HandleAttributes::BYTES as u64;
                let segments = self.port.locate(tenants::DRIVE, &send.data, length).await?;
                self.port
                    .fetch_bytes(tenants::DRIVE, Carries::Parameters, length)
                    .await;
                let mut bytes = [0; HandleAttributes::BYTES];
                segments.read(&*self.host.memory.borrow(), &mut bytes)?;
                let attributes = HandleAttributes::read_from_bytes(&bytes)
                    .expect("there are as many bytes as attributes have");
                let shape = self.shape(namespace, &attributes)?;
                let opened = self.ftl.open_handle(send.handle, shape);
                opened.map_err(|_| Status::INVALID_FIELD)?;
            }
        }
        Ok(Answer::DONE)
    }

    /// What attributes say, in logical pages.
    fn shape(&self, namespace: &Namespace, attributes: &HandleAttributes) -> Result<Shape, Status> {
        let anchor = namespace.chunk_of(Lba::new(attributes.anchor.get()), self.unit)?;
        let per_page = self.unit.blocks(namespace.block_bytes());
        let pitch = attributes.pitch.get();
        if !pitch.is_multiple_of(per_page) {
            return Err(Status::INVALID_FIELD);
        }
        Ok(Shape {
            anchor: anchor.0,
            pitch: u32::try_from(pitch / per_page).map_err(|_| Status::INVALID_FIELD)?,
            home: attributes.home(),
            scope: namespace.pages(),
        })
    }

    pub(in crate::frontend) async fn receive_directive(
        &self,
        receive: &DirectiveReceive,
    ) -> Result<Answer, Status> {
        let namespace = self.namespaces.get(receive.namespace)?;
        let (bytes, dw0) = match receive.query {
            DirectiveQuery::Parameters => (directives(), 0),
            DirectiveQuery::Handles => {
                let records = self.handle_records(namespace);
                (records.as_bytes().to_vec(), records.len() as u32)
            }
        };
        let length = bytes.len().min(receive.dwords as usize * 4);
        let segments = self
            .port
            .locate(tenants::DRIVE, &receive.data, length as u64)
            .await?;
        self.port.write(&segments, &bytes[..length])?;
        Ok(Answer {
            dw0,
            data_bytes: length as u64,
            ..Answer::DONE
        })
    }

    fn handle_records(&self, namespace: &Namespace) -> Vec<HandleRecord> {
        let per_page = self.unit.blocks(namespace.block_bytes());
        let scope = namespace.pages();
        let handles = self.ftl.handles().into_iter();
        handles
            .filter(|(handle, _)| handle.shape().scope == scope)
            .map(|(handle, blocks)| {
                let shape = handle.shape();
                let anchor = Lba::new(u64::from(shape.anchor - scope.start) * per_page);
                let pitch = u64::from(shape.pitch) * per_page;
                let attributes = HandleAttributes::new(anchor, pitch, shape.home);
                HandleRecord::new(handle.number(), &attributes, blocks)
            })
            .collect()
    }
}

/// The parameters of the Identify directive (Base 8.1.8.2.1): a bit for each directive supported, then for each enabled.
fn directives() -> Vec<u8> {
    let mut page = vec![0; PARAMETERS_BYTES];
    for kind in [IDENTIFY_DIRECTIVE, PLACEMENT_DIRECTIVE] {
        let (byte, bit) = (usize::from(kind / 8), 1 << (kind % 8));
        page[byte] |= bit;
        page[ENABLED + byte] |= bit;
    }
    page
}
