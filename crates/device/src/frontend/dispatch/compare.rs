//! Compare and Verify: blocks are read, and no data goes to the host.

use media::link::Carries;
use nvme::Status;
use nvme::command::{BlockCommand, ReadWrite};

use crate::frontend::Controller;
use crate::frontend::answer::Answer;
use crate::frontend::namespace::Namespace;
use crate::schedule::Origin;

impl Controller {
    /// Compares blocks with host memory (NVM 3.3.1). A drive that keeps no data finds them equal.
    pub(in crate::frontend) async fn compare(
        &self,
        namespace: &Namespace,
        compare: &ReadWrite,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let range = namespace.byte_range(&compare.blocks)?;
        let bytes = range.end - range.start;
        self.check_transfer(bytes)?;
        let segments = self.port.locate(origin, &compare.data, bytes).await?;
        self.port.fetch_bytes(origin, Carries::Data, bytes).await;
        let mut expected = vec![0; bytes as usize];
        if self.buffers.stores_data() {
            segments.read(&*self.host.memory.borrow(), &mut expected)?;
        }
        let mut equal = true;
        let pages = self.read_pages(namespace, &range, origin, |piece, buffer| {
            let wanted = &expected[piece.offset as usize..][..piece.bytes as usize];
            let seen = piece.place();
            let same = self.buffers.with(buffer, |page| page[seen] == *wanted);
            equal &= same.unwrap_or(true);
            Ok(())
        });
        pages.await?;
        self.health.read(bytes);
        if equal {
            Ok(Answer::DONE)
        } else {
            Err(Status::COMPARE_FAILURE)
        }
    }

    /// Reads blocks to see that they can be read (NVM 3.3.5).
    pub(in crate::frontend) async fn verify(
        &self,
        namespace: &Namespace,
        verify: &BlockCommand,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let range = namespace.byte_range(&verify.blocks)?;
        self.read_pages(namespace, &range, origin, |_, _| Ok(()))
            .await?;
        self.health.read(range.end - range.start);
        Ok(Answer::DONE)
    }
}
