//! Format NVM (NVMe Base 2.1, 5.1.10): a namespace gets a format, and everything in it goes.
//!
//! That a format is under way is noted first, and that it is over last, so that after a power cut
//! between the two it is done again before the drive takes commands. Between the two nothing else is
//! admitted to the namespace. Its search regions go with what is in it. A secure erase also erases every block in which something
//! of the namespace is left.

use std::rc::Rc;

use nvme::command::{FormatNvm, SecureErase};
use nvme::identify::LBA_FORMAT_BYTES;
use nvme::{AsyncEvent, BROADCAST_NAMESPACE, Status};

use crate::frontend::answer::Answer;
use crate::frontend::answer::status_of;
use crate::frontend::dispatch::search::wrote;
use crate::frontend::namespace::{Namespace, PAGES_AT_ONCE};
use crate::frontend::{Controller, note};
use crate::ftl::WithoutSpace;
use crate::planted::{Bug, is_planted};
use crate::schedule::Origin;

/// Bit of a namespace's note while it is being formatted.
const UNDER_WAY: u64 = 1 << 8;
/// Bit of it while what was stored is to be erased, too.
const ERASES: u64 = 1 << 9;
/// Steps in which a namespace is emptied at least, so that progress can be told.
const STEPS: u32 = 16;

impl Controller {
    pub(in crate::frontend) async fn format(
        self: &Rc<Controller>,
        format: &FormatNvm,
    ) -> Result<Answer, Status> {
        if self.sanitize.is_under_way() {
            return Err(Status::SANITIZE_IN_PROGRESS);
        }
        if format.secure_erase == SecureErase::Cryptographic {
            return Err(Status::INVALID_FIELD);
        }
        if let Some(local) = self
            .local
            .as_ref()
            .and_then(|local| local.named(format.namespace))
        {
            return self
                .format_local(local, format)
                .await
                .map(|()| Answer::DONE);
        }
        let index = usize::from(format.format);
        let block_bytes = LBA_FORMAT_BYTES.get(index).copied();
        let fits = |bytes: &u32| self.unit.bytes().is_multiple_of(*bytes);
        let block_bytes = block_bytes.filter(fits).ok_or(Status::INVALID_FORMAT)?;
        if format.metadata_inline || format.protection != 0 {
            return Err(Status::INVALID_FORMAT);
        }
        let namespaces: Vec<&Namespace> = match format.namespace {
            BROADCAST_NAMESPACE => self.namespaces.iter().collect(),
            one => vec![self.namespaces.get(one)?],
        };
        let mut all = self.namespaces.iter();
        if all.any(|namespace| namespace.format_left.get() > 0) {
            return Err(Status::FORMAT_IN_PROGRESS);
        }
        for namespace in &namespaces {
            namespace.format_left.set(100);
        }
        self.look_for_obstacles();
        let mut formatted = Ok(());
        for namespace in &namespaces {
            if formatted.is_ok() {
                let erases = format.secure_erase == SecureErase::UserData;
                formatted = self.format_namespace(namespace, block_bytes, erases).await;
            }
            namespace.format_left.set(0);
        }
        self.look_for_obstacles();
        if formatted.is_ok() && format.namespace == BROADCAST_NAMESPACE {
            // They have one format, whatever that of blocks is.
            let only = FormatNvm {
                format: 0,
                ..*format
            };
            for namespace in self.local_namespaces() {
                self.format_local(namespace, &only).await?;
            }
        }
        formatted.map(|()| Answer::DONE)
    }

    async fn format_namespace(
        self: &Rc<Controller>,
        namespace: &Namespace,
        block_bytes: u32,
        erases: bool,
    ) -> Result<(), Status> {
        let key = note::format(namespace.id.get() as usize - 1);
        let index = nvme::identify::format_index(block_bytes).map_or(0, u64::from);
        let durable = !is_planted(Bug::FormatIsNotDurable);
        if durable {
            let how = if erases { ERASES } else { 0 };
            self.keep(key, index | UNDER_WAY | how).await?;
        }
        namespace.failed.set(true);
        self.end_programs(Some(namespace)).await?;
        wrote(self.search.forget_namespace(Some(namespace.id)).await)?;
        self.empty_namespace(namespace).await?;
        if erases {
            let mut purge = self.ftl.begin_purge_of(namespace.pages());
            self.erase_blocks(&mut purge, |_, _| {}).await?;
            // Names that waited for their row to be full were facts.
            let purge = self.ftl.begin_purge_of_facts().await;
            let mut purge = purge.map_err(|error| status_of(error, false))?;
            self.erase_blocks(&mut purge, |_, _| {}).await?;
        }
        if durable {
            self.keep(key, index).await?;
        }
        namespace.set_block_bytes(block_bytes);
        namespace.failed.set(false);
        self.changed_namespaces.borrow_mut().insert(namespace.id);
        self.raise(AsyncEvent::NAMESPACE_CHANGED);
        Ok(())
    }

    /// Deallocates everything in a namespace, its marks included.
    pub(in crate::frontend) async fn empty_namespace(
        &self,
        namespace: &Namespace,
    ) -> Result<(), Status> {
        let pages = namespace.pages();
        let lock = self.ftl.lock(pages.clone()).await;
        let origin = Origin::own(self.tenant_of_namespace(namespace.id));
        let all = pages.end - pages.start;
        let steps = STEPS.max(all.div_ceil(PAGES_AT_ONCE));
        let step = all.div_ceil(steps);
        for number in 0..steps {
            let first = (pages.start + number * step).min(pages.end);
            let end = (first + step).min(pages.end);
            // That the namespace is to be emptied has been noted.
            let emptied = self
                .cache
                .deallocate(&lock, first..end, WithoutSpace::Forget, origin)
                .await;
            emptied.map_err(|error| status_of(error, false))?;
            self.sim.yield_now().await;
            let left = 100 - (number + 1) * 100 / steps;
            if namespace.format_left.get() > 0 {
                namespace.format_left.set(left.max(1) as u8);
            }
        }
        self.clear_marks(&lock, namespace, 0..namespace.capacity_bytes())
            .await
    }

    /// Gives namespaces the formats of an earlier life, and ends what that one began.
    pub(in crate::frontend) async fn restore_formats(self: &Rc<Controller>) {
        for (number, namespace) in self.namespaces.iter().enumerate() {
            let Some(value) = self.kept(note::format(number)) else {
                continue;
            };
            let block_bytes = LBA_FORMAT_BYTES[value as usize & 3];
            if value & UNDER_WAY == 0 {
                namespace.set_block_bytes(block_bytes);
            } else {
                // If there is no space for it, the namespace stays unusable, and says so.
                namespace.failed.set(true);
                self.look_for_obstacles();
                let erases = value & ERASES != 0;
                let _ = self.format_namespace(namespace, block_bytes, erases).await;
            }
        }
    }
}
