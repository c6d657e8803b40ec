//! A connection, which is a queue: how it begins (TCP 3.1.2), a thread that reads what comes, and what is written.

use std::io::{ErrorKind, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use nvme::SubmissionEntry;
use nvme::fabrics::KEEP_ALIVE_OPCODE;
use nvme::fabrics::pdu::{
    CommonHeader, Digests, Initialize, InitializeResponse, PDU_FORMAT_VERSION, PduError, PduType,
    check,
};
use nvme::{CommandId, NamespaceId};
use zerocopy::{FromBytes, IntoBytes};

use super::pdu::{self, Agreed, Pdu, ReadError};
use super::stream::{Peer, Stream};

/// The identifier of Keep Alive commands, which no other command has: queues have fewer entries.
pub(super) const KEEP_ALIVE_COMMAND: u16 = 0xFFFE;
/// The least MAXH2CDATA (TCP 3.6.2.3).
const DATA_MAX_LEAST: u32 = 4096;

/// What has come on a connection: which queue's, of which association, and what. After an error nothing comes any more.
pub(super) struct Event {
    pub(super) association: u64,
    pub(super) queue: u16,
    pub(super) pdu: Result<Pdu, ReadError>,
}

/// When something was last heard of the controller.
pub(super) type Heard = Arc<Mutex<Instant>>;

/// One queue's connection. Dropping it closes it, and its thread ends.
pub(super) struct Connection {
    stream: Stream,
    writer: Arc<Mutex<Stream>>,
    agreed: Agreed,
}

/// Whose a connection is, and who hears of what comes.
pub(super) struct Owner {
    pub(super) association: u64,
    pub(super) queue: u16,
    pub(super) events: Sender<Event>,
    pub(super) heard: Heard,
}

impl Connection {
    /// Connects, and agrees on digests, alignment and the size of PDUs.
    ///
    /// # Errors
    /// In words, what is wrong.
    pub(super) fn open(
        peer: &Peer,
        timeout: Duration,
        digests: Digests,
        owner: Owner,
    ) -> Result<Connection, String> {
        let mut stream = peer.connect(timeout)?;
        let agreed = initialize(&mut stream, digests)?;
        // From here on the thread waits as long as it takes.
        let reader = stream
            .wait_at_most(None)
            .and_then(|()| Ok((stream.twin()?, stream.twin()?)));
        let (reader, writer) = reader.map_err(|error| format!("the socket: {error}"))?;
        let spawned = thread::Builder::new()
            .name(format!("nvme+tcp queue {}", owner.queue))
            .spawn(move || read_all(reader, agreed.digests, &owner));
        spawned.map_err(|error| format!("no thread for a connection: {error}"))?;
        Ok(Connection {
            stream,
            writer: Arc::new(Mutex::new(writer)),
            agreed,
        })
    }

    /// Writes a command, with what it takes along in its capsule.
    pub(super) fn command(&self, entry: SubmissionEntry, data: &[u8]) -> Result<(), String> {
        let written = pdu::write_command(&mut *lock(&self.writer), self.agreed, entry, data);
        written.map_err(|error| broken(&error))
    }

    /// Writes data that an R2T asked for.
    pub(super) fn data(&self, of: (u16, u16), (offset, data): (u64, &[u8])) -> Result<(), String> {
        let written = pdu::write_data(&mut *lock(&self.writer), self.agreed, of, (offset, data));
        written.map_err(|error| broken(&error))
    }

    /// Tells the controller why the connection ends.
    pub(super) fn end(&self, error: PduError) {
        // It is closed either way.
        let _ = pdu::write_end(&mut *lock(&self.writer), error);
    }

    /// Tells the controller now and then, from a thread of its own, that this host is there, until the connection is closed.
    ///
    /// # Errors
    /// No thread.
    pub(super) fn keep_alive(&self, every: Duration) -> Result<(), String> {
        let (writer, agreed) = (Arc::downgrade(&self.writer), self.agreed);
        let spawned = thread::Builder::new()
            .name("nvme+tcp keep alive".into())
            .spawn(move || {
                let command = CommandId::new(KEEP_ALIVE_COMMAND);
                let mut entry =
                    SubmissionEntry::new(KEEP_ALIVE_OPCODE, command, NamespaceId::new(0));
                nvme::fabrics::Sgl::Transport { length: 0 }.encode_into(&mut entry);
                loop {
                    thread::sleep(every);
                    let Some(writer) = writer.upgrade() else {
                        return;
                    };
                    if pdu::write_command(&mut *lock(&writer), agreed, entry, &[]).is_err() {
                        // Who reads hears of it.
                        return;
                    }
                }
            });
        spawned.map_err(|error| format!("no thread: {error}"))?;
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // One that is closed already is as well.
        let _ = self.stream.close();
    }
}

/// A thread that panicked while it wrote has left half a PDU, which the controller will say.
fn lock(writer: &Mutex<Stream>) -> std::sync::MutexGuard<'_, Stream> {
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}

fn broken(error: &std::io::Error) -> String {
    format!("the connection broke: {error}")
}

/// ICReq, and what ICResp says to it.
fn initialize(stream: &mut Stream, digests: Digests) -> Result<Agreed, String> {
    let request = Initialize::new(digests);
    stream
        .write_all(request.as_bytes())
        .map_err(|error| broken(&error))?;
    let mut bytes = [0; size_of::<InitializeResponse>()];
    let (common, rest) = bytes.split_at_mut(CommonHeader::BYTES);
    let silent = |error: std::io::Error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            "no answer to what begins a connection: who listens there may be no drive".to_owned()
        }
        _ => format!("no answer to what begins a connection: {error}"),
    };
    stream.read_exact(common).map_err(silent)?;
    let wrong = |what: String| format!("an answer that no NVMe/TCP controller gives: {what}");
    let head: [u8; CommonHeader::BYTES] = common.try_into().map_err(|_| wrong("short".into()))?;
    let kind = check(&CommonHeader::of(head), false, Digests::default(), 4);
    match kind {
        Ok((PduType::InitializeResponse, 0)) => {}
        Ok((kind, _)) => return Err(wrong(format!("{kind:?} before ICResp"))),
        Err(error) => return Err(wrong(error.to_string())),
    }
    stream.read_exact(rest).map_err(silent)?;
    let response = InitializeResponse::read_from_bytes(&bytes)
        .map_err(|_| wrong("an ICResp of another size".into()))?;
    let (version, data_max) = (response.version.get(), response.max_data.get());
    if version != PDU_FORMAT_VERSION {
        return Err(wrong(format!("PDU format version {version}, not 0")));
    }
    if data_max < DATA_MAX_LEAST {
        return Err(wrong(format!("MAXH2CDATA {data_max}, not 4096 or more")));
    }
    let agreed = Digests::of(response.digests);
    if (agreed.header && !digests.header) || (agreed.data && !digests.data) {
        return Err(wrong("digests that were not asked for".into()));
    }
    let alignment = response.alignment_bytes();
    let alignment = alignment.ok_or_else(|| wrong("CPDA beyond 31".into()))?;
    Ok(Agreed {
        digests: agreed,
        alignment,
        // The parts of data begin at dwords.
        data_max: data_max / 4 * 4,
    })
}

/// Hands on whatever comes, until nothing does.
fn read_all(stream: Stream, digests: Digests, owner: &Owner) {
    let mut stream = std::io::BufReader::with_capacity(1 << 16, stream);
    loop {
        let pdu = pdu::read(&mut stream, digests);
        let is_over = pdu.is_err();
        *owner.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        if let Ok(Pdu::Response(entry)) = &pdu
            && owner.queue == 0
            && entry.command().get() == KEEP_ALIVE_COMMAND
        {
            continue;
        }
        let event = Event {
            association: owner.association,
            queue: owner.queue,
            pdu,
        };
        if owner.events.send(event).is_err() || is_over {
            return;
        }
    }
}
