//! The administration of a drive: its log pages, features, events, and what erases it.

use nvme::command::{
    Abort, FeatureId, FeatureSelect, FormatNvm, GetFeatures, GetLogPage, LogPageId, Sanitize,
    SecureErase, SetFeatures,
};
use nvme::identify::{Cns, IDENTIFY_BYTES, NamespaceList, format_index};
use nvme::log::{ErrorEntry, HealthLog, SanitizeLog};
use nvme::{
    AdminCommand, AsyncEvent, BROADCAST_NAMESPACE, CommandId, CompletionEntry, DataPointer,
    NamespaceId, QueueId,
};
use zerocopy::FromBytes;

use crate::buffer::Buffer;
use crate::error::Error;
use crate::identify::identify;
use crate::transport::Transport;

/// Entries of the error log that are asked for.
const ERROR_ENTRIES: usize = 64;

/// The admin commands of a drive.
#[derive(Clone)]
pub struct Admin<T> {
    transport: T,
}

impl<T: Transport> Admin<T> {
    /// The administration of the drive behind `transport`.
    pub fn new(transport: T) -> Admin<T> {
        Admin { transport }
    }

    /// `bytes` bytes of a log page from `offset` on, both multiples of four. Unless `retain` says
    /// otherwise, the events that the page answers can be told again.
    ///
    /// # Errors
    /// What the drive reports, such as Invalid Log Page.
    pub async fn log_page(
        &self,
        page: LogPageId,
        offset: u64,
        bytes: usize,
        retain: bool,
    ) -> Result<Vec<u8>, Error> {
        let buffer = Buffer::holding(self.transport.memory(), &vec![0; bytes])?;
        let get = GetLogPage {
            page,
            namespace: BROADCAST_NAMESPACE,
            specific: 0,
            specific_id: 0,
            retain_event: retain,
            dwords: bytes as u64 / 4,
            offset,
            data: buffer.pointer(bytes as u32),
        };
        self.send("get log page", AdminCommand::GetLogPage(get))
            .await?;
        buffer.to_vec()
    }

    /// The SMART / health page.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn health(&self) -> Result<HealthLog, Error> {
        self.whole_page(LogPageId::HEALTH).await
    }

    /// How far a sanitize operation is.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn sanitize_status(&self) -> Result<SanitizeLog, Error> {
        self.whole_page(LogPageId::SANITIZE_STATUS).await
    }

    /// The errors that the drive remembers, newest first.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn errors(&self) -> Result<Vec<ErrorEntry>, Error> {
        let page: [ErrorEntry; ERROR_ENTRIES] = self.whole_page(LogPageId::ERROR).await?;
        let entries = page.into_iter();
        Ok(entries.take_while(|entry| entry.count.get() != 0).collect())
    }

    /// The namespaces that changed since this was last asked.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn changed_namespaces(&self) -> Result<Vec<NamespaceId>, Error> {
        let page: NamespaceList = self.whole_page(LogPageId::CHANGED_NAMESPACES).await?;
        Ok(page.iter().collect())
    }

    async fn whole_page<P: FromBytes>(&self, page: LogPageId) -> Result<P, Error> {
        let bytes = self.log_page(page, 0, size_of::<P>(), false).await?;
        P::read_from_bytes(&bytes).map_err(|_| Error::Protocol("a log page of another size".into()))
    }

    /// All namespaces, ascending.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn namespaces(&self) -> Result<Vec<NamespaceId>, Error> {
        let mut all: Vec<NamespaceId> = Vec::new();
        loop {
            let after = all.last().copied().unwrap_or(NamespaceId::new(0));
            let page = identify(&self.transport, Cns::ActiveNamespaces, after).await?;
            let page = NamespaceList::read_from_bytes(&page)
                .map_err(|_| Error::Protocol("an identify page of another size".into()))?;
            let before = all.len();
            all.extend(page.iter());
            // A list that is not full is the last one.
            if all.len() - before < IDENTIFY_BYTES / size_of::<u32>() {
                return Ok(all);
            }
        }
    }

    /// A value of a feature. `cdw11` says which one, for features that have several.
    ///
    /// # Errors
    /// What the drive reports, such as Invalid Field if there is no such feature.
    pub async fn feature(
        &self,
        feature: FeatureId,
        select: FeatureSelect,
        cdw11: u32,
    ) -> Result<u32, Error> {
        let get = GetFeatures {
            feature,
            select,
            namespace: NamespaceId::new(0),
            cdw11,
            data: NO_DATA,
        };
        let done = self.send("get features", AdminCommand::GetFeatures(get));
        Ok(done.await?.dw0.get())
    }

    /// Sets a feature, for good if `save`; gives what the drive answers.
    ///
    /// # Errors
    /// What the drive reports, such as Feature Identifier Not Saveable.
    pub async fn set_feature(
        &self,
        feature: FeatureId,
        cdw11: u32,
        save: bool,
    ) -> Result<u32, Error> {
        let set = SetFeatures {
            feature,
            save,
            namespace: NamespaceId::new(0),
            cdw11,
            cdw12: 0,
            data: NO_DATA,
        };
        let done = self.send("set features", AdminCommand::SetFeatures(set));
        Ok(done.await?.dw0.get())
    }

    /// Gives a namespace, or all of them ([`BROADCAST_NAMESPACE`]), blocks of `block_bytes` and
    /// erases it.
    ///
    /// # Errors
    /// A block size that is no format; what the drive reports, such as Invalid Format.
    pub async fn format(&self, namespace: NamespaceId, block_bytes: u32) -> Result<(), Error> {
        let format = format_index(block_bytes).ok_or_else(|| {
            Error::Usage(format!(
                "a format of {block_bytes} bytes: it must be 512, 1024, 2048 or 4096"
            ))
        })?;
        let format = FormatNvm {
            namespace,
            format,
            metadata_inline: false,
            protection: 0,
            secure_erase: SecureErase::UserData,
        };
        self.send("format", AdminCommand::FormatNvm(format)).await?;
        Ok(())
    }

    /// Begins to erase everything on the drive; [`Admin::sanitize_status`] tells when it is done.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn sanitize(&self) -> Result<(), Error> {
        let sanitize = Sanitize::block_erase();
        self.send("sanitize", AdminCommand::Sanitize(sanitize))
            .await?;
        Ok(())
    }

    /// Asks that a command be aborted; true if it was.
    ///
    /// # Errors
    /// What the drive reports, such as Abort Command Limit Exceeded.
    pub async fn abort(&self, queue: QueueId, command: CommandId) -> Result<bool, Error> {
        let abort = AdminCommand::Abort(Abort { queue, command });
        let done = self.send("abort", abort).await?;
        Ok(done.dw0.get() & 1 == 0)
    }

    /// Waits for something that the drive wants to tell.
    ///
    /// # Errors
    /// What the drive reports, such as Asynchronous Event Request Limit Exceeded.
    pub async fn next_event(&self) -> Result<AsyncEvent, Error> {
        let done = self.send(
            "asynchronous event request",
            AdminCommand::AsyncEventRequest,
        );
        Ok(AsyncEvent::from_dword(done.await?.dw0.get()))
    }

    async fn send(
        &self,
        name: &'static str,
        command: AdminCommand,
    ) -> Result<CompletionEntry, Error> {
        let entry = command.encode(CommandId::new(0));
        let completion = self.transport.admin(&entry).await?;
        Error::check(name, completion.status())?;
        Ok(completion)
    }
}

/// The data pointer of a command without data.
const NO_DATA: DataPointer = DataPointer::Prp { prp1: 0, prp2: 0 };
