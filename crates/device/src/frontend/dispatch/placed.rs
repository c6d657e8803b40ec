//! Writes that name a placement handle.

use nvme::Status;
use nvme::command::PlacedWrite;

use super::bits::status_of;
use crate::bits::PlacedRows;
use crate::frontend::Controller;
use crate::frontend::answer::Answer;
use crate::frontend::namespace::Namespace;
use crate::schedule::Origin;

impl Controller {
    /// Writes whole chunks of logical pages with a placement handle, past the data cache.
    pub(in crate::frontend) async fn write_placed(
        &self,
        namespace: &Namespace,
        placed: &PlacedWrite,
        origin: Origin,
    ) -> Result<Answer, Status> {
        let blocks = &placed.write.blocks;
        let bytes = namespace.byte_range(blocks)?;
        let whole = self.unit.touched(&bytes) == self.unit.covered(&bytes);
        let pages = self.pages(namespace, &bytes);
        let handle = self.handle(namespace, placed.handle);
        let handle = handle.filter(|handle| whole && handle.is_whole(&pages));
        let handle = handle.ok_or(Status::INVALID_FIELD)?;
        let length = bytes.end - bytes.start;
        self.check_transfer(length)?;
        let segments = self.port.locate(origin, &placed.write.data, length).await?;
        // Before the lock: whoever has room waits for locks, so nobody may have it the other way.
        let room = self.bits.room_to_write().await;
        let lock = self.ftl.lock(pages.clone()).await;
        let rows = PlacedRows {
            handle,
            pages: pages.clone(),
            inverse: placed.inverse,
            origin,
            segments,
        };
        let written = self
            .cache
            .write_past(&lock, pages, self.bits.write(rows, &lock, &room))
            .await;
        written.map_err(|error| status_of(&error))?;
        self.health.wrote(length);
        self.clear_marks(&lock, namespace, bytes).await?;
        self.health.write_over();
        Ok(Answer::DONE)
    }
}
