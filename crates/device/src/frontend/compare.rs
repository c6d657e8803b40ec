//! Compare and Verify: blocks are read, and no data goes to the host.

use nvme::Status;
use nvme::command::{BlockCommand, ReadWrite};

use super::Controller;
use super::namespace::Namespace;
use super::slot::Answer;
use crate::schedule::Priority;

impl Controller {
    /// Compares blocks with host memory (NVM 3.3.1). A drive that keeps no data finds them equal.
    pub(super) async fn compare(
        &self,
        namespace: &Namespace,
        compare: &ReadWrite,
        priority: Priority,
    ) -> Result<Answer, Status> {
        namespace.check_range(&compare.blocks)?;
        let bytes = namespace.bytes_of(&compare.blocks);
        self.check_transfer(bytes)?;
        let segments = self.port.locate(&compare.data, bytes).await?;
        self.port.fetch_bytes(bytes).await;
        let pages = self
            .read_pages(namespace, &compare.blocks, priority)
            .await?;
        self.health.read(bytes);
        if !self.buffers.stores_data() {
            return Ok(Answer::DONE);
        }
        let mut expected = vec![0; bytes as usize];
        segments.read(&*self.host.memory.borrow(), &mut expected)?;
        let equal = pages.iter().all(|(piece, buffer)| {
            let wanted = &expected[piece.offset as usize..][..piece.bytes as usize];
            let seen = piece.column as usize..(piece.column + piece.bytes) as usize;
            let same = self.buffers.with(buffer.id(), |page| page[seen] == *wanted);
            same.unwrap_or(true)
        });
        if equal {
            Ok(Answer::DONE)
        } else {
            Err(Status::COMPARE_FAILURE)
        }
    }

    /// Reads blocks to see that they can be read (NVM 3.3.5).
    pub(super) async fn verify(
        &self,
        namespace: &Namespace,
        verify: &BlockCommand,
        priority: Priority,
    ) -> Result<Answer, Status> {
        namespace.check_range(&verify.blocks)?;
        self.read_pages(namespace, &verify.blocks, priority).await?;
        self.health.read(namespace.bytes_of(&verify.blocks));
        Ok(Answer::DONE)
    }
}
