//! The administration of a drive: its log pages, features, events, and what erases it.

use std::ops::Range;

use nvme::command::{
    Abort, FeatureId, FeatureSelect, FormatNvm, GetFeatures, GetLogPage, LogPageId, Sanitize,
    SecureErase, SetFeatures,
};
use nvme::identify::{Cns, IDENTIFY_BYTES, NVM_COMMAND_SET, NamespaceList, format_index};
use nvme::log::{DriveLog, ErrorEntry, HealthLog, SanitizeLog, TextLog};
use nvme::{
    AdminCommand, AsyncEvent, BROADCAST_NAMESPACE, CommandId, CompletionEntry, DataPointer,
    NamespaceId, QueueId,
};
use zerocopy::FromBytes;

use crate::buffer::Buffer;
use crate::error::Error;
use crate::identify::identify_in;
use crate::transport::Transport;

/// Bytes of the page of pages that hold data that one command reads.
const HOLDING_BYTES: u64 = 1 << 17;
/// Bytes of a page of text that are asked for at first, and at most.
const TEXT_BYTES: usize = 1 << 15;
const TEXT_BYTES_MAX: usize = 1 << 26;
/// How often a page of text is asked for that grows meanwhile.
const TEXT_TRIES: u32 = 4;

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
        self.log_part((page, BROADCAST_NAMESPACE), offset, bytes, retain)
            .await
    }

    /// As [`Admin::log_page`], of a page about a namespace.
    async fn log_part(
        &self,
        (page, namespace): (LogPageId, NamespaceId),
        offset: u64,
        bytes: usize,
        retain: bool,
    ) -> Result<Vec<u8>, Error> {
        let buffer = Buffer::holding(self.transport.memory(), &vec![0; bytes])?;
        let get = GetLogPage {
            page,
            namespace,
            specific: 0,
            specific_id: 0,
            command_set: 0,
            retain_event: retain,
            dwords: bytes as u64 / 4,
            offset,
            data: buffer.pointer(bytes as u32),
        };
        self.send("get log page", AdminCommand::GetLogPage(get))
            .await?;
        buffer.to_vec()
    }

    /// How the drive is laid out for a namespace, and its clock (a page of Bitline's own).
    ///
    /// # Errors
    /// What the drive reports: Invalid Log Page if it is none of Bitline's.
    pub async fn drive(&self, namespace: NamespaceId) -> Result<DriveLog, Error> {
        let of = (LogPageId::DRIVE, namespace);
        let page = self.log_part(of, 0, size_of::<DriveLog>(), true).await?;
        DriveLog::read_from_bytes(&page)
            .map_err(|_| Error::Protocol("a log page of another size".into()))
    }

    /// Which of some logical pages of a namespace, counted from its first, hold data (a page of Bitline's own).
    ///
    /// # Errors
    /// As [`Admin::drive`].
    pub async fn holding(
        &self,
        namespace: NamespaceId,
        pages: Range<u32>,
    ) -> Result<Vec<u32>, Error> {
        let mut holding = Vec::new();
        let (end, of) = (
            u64::from(pages.end).div_ceil(8),
            (LogPageId::HOLDING, namespace),
        );
        let mut offset = u64::from(pages.start) / 32 * 4;
        while offset < end {
            let bytes = (end - offset).next_multiple_of(4).min(HOLDING_BYTES);
            let part = self.log_part(of, offset, bytes as usize, true).await?;
            let bits = part.iter().zip(offset..).flat_map(|(bits, byte)| {
                let set = (0..8).filter(move |bit| bits >> bit & 1 != 0);
                set.map(move |bit| (byte * 8 + bit) as u32)
            });
            holding.extend(bits.filter(|page| pages.contains(page)));
            offset += bytes;
        }
        Ok(holding)
    }

    /// A page of text (pages of Bitline's own): its configuration, its statistics.
    ///
    /// # Errors
    /// As [`Admin::drive`]; a page that is no text.
    pub async fn text(&self, page: LogPageId) -> Result<String, Error> {
        let damaged = || Error::Protocol(format!("log page {:#04x} is no text", page.0));
        let mut bytes = TEXT_BYTES;
        for _ in 0..TEXT_TRIES {
            let read = self.log_page(page, 0, bytes, true).await?;
            let all = TextLog::page_bytes(&read).ok_or_else(damaged)?;
            if all <= bytes as u64 {
                return TextLog::decode(&read)
                    .map(str::to_owned)
                    .ok_or_else(damaged);
            }
            // What it tells may grow from one command to the next.
            bytes = usize::try_from(all)
                .ok()
                .filter(|all| *all <= TEXT_BYTES_MAX)
                .ok_or_else(damaged)?;
        }
        Err(damaged())
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

    /// All namespaces of blocks, ascending.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn namespaces(&self) -> Result<Vec<NamespaceId>, Error> {
        self.namespaces_of(NVM_COMMAND_SET).await
    }

    /// All namespaces of a command set, ascending.
    ///
    /// # Errors
    /// What the drive reports, such as Invalid Field for a command set that it does not have.
    pub async fn namespaces_of(&self, command_set: u8) -> Result<Vec<NamespaceId>, Error> {
        let mut all: Vec<NamespaceId> = Vec::new();
        loop {
            let after = all.last().copied().unwrap_or(NamespaceId::new(0));
            let cns = Cns::CommandSetActiveNamespaces;
            let page = identify_in(&self.transport, cns, after, command_set).await?;
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
            data: DataPointer::NONE,
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
            data: DataPointer::NONE,
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
