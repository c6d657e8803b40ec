//! PDUs on a stream: written, and read whatever comes.

use std::io::{self, Read, Write};

use nvme::fabrics::pdu::{
    C2hData, CapsuleCommand, CapsuleResponse, CommonHeader, DIGEST_BYTES, Digests, FatalError,
    H2cData, PduError, PduType, ReadyToTransfer, Terminate, check, digest, flag,
};
use nvme::{CompletionEntry, SubmissionEntry};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Bytes of data for which room is made before any of them has come.
const ROOM: usize = 1 << 20;

/// What a controller sends once a connection is there.
#[derive(Debug)]
pub(super) enum Pdu {
    Response(CompletionEntry),
    Data {
        command: u16,
        offset: u64,
        data: Vec<u8>,
        is_last: bool,
        is_success: bool,
    },
    Ready {
        command: u16,
        tag: u16,
        offset: u64,
        length: u64,
    },
    /// It ends the connection, and why.
    Terminated(u16),
}

/// What cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    #[error("a PDU that makes no sense: {0}")]
    Wrong(#[from] PduError),
    #[error("a digest that does not fit: the network has changed what was sent")]
    Digest,
}

/// What was agreed on of data to the controller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Agreed {
    pub(super) digests: Digests,
    /// What data is aligned to, bytes.
    pub(super) alignment: u32,
    /// The most data of a PDU.
    pub(super) data_max: u32,
}

/// Writes a command with what it takes along in its capsule.
pub(super) fn write_command(
    out: &mut impl Write,
    agreed: Agreed,
    entry: SubmissionEntry,
    data: &[u8],
) -> io::Result<()> {
    let (kind, length) = (PduType::Command, data.len() as u32);
    let header = CommonHeader::with_data(kind, agreed.digests, length, agreed.alignment);
    let capsule = CapsuleCommand { header, entry };
    write(out, agreed.digests, &capsule, header, data)
}

/// Writes data that was asked for, in as many PDUs as that takes.
pub(super) fn write_data(
    out: &mut impl Write,
    agreed: Agreed,
    (command, tag): (u16, u16),
    (offset, data): (u64, &[u8]),
) -> io::Result<()> {
    let mut at = offset as u32;
    let mut parts = data.chunks(agreed.data_max as usize).peekable();
    while let Some(part) = parts.next() {
        let (kind, length) = (PduType::H2cData, part.len() as u32);
        let mut header = CommonHeader::with_data(kind, agreed.digests, length, agreed.alignment);
        if parts.peek().is_none() {
            header.flags |= flag::LAST;
        }
        let transfer = H2cData {
            header,
            command_id: command.into(),
            tag: tag.into(),
            offset: at.into(),
            length: length.into(),
            ..H2cData::default()
        };
        write(out, agreed.digests, &transfer, header, part)?;
        at += length;
    }
    Ok(())
}

/// Tells why the connection ends.
pub(super) fn write_end(out: &mut impl Write, error: PduError) -> io::Result<()> {
    let end = Terminate::by_host(error.error, error.information, 0);
    out.write_all(end.as_bytes())
}

fn write(
    out: &mut impl Write,
    digests: Digests,
    pdu: &(impl IntoBytes + Immutable),
    header: CommonHeader,
    data: &[u8],
) -> io::Result<()> {
    let mut head = pdu.as_bytes().to_vec();
    if digests.header {
        head.extend(digest(pdu.as_bytes()));
    }
    if !data.is_empty() {
        head.resize(header.data_offset.into(), 0);
    }
    out.write_all(&head)?;
    out.write_all(data)?;
    if digests.data && !data.is_empty() {
        out.write_all(&digest(data))?;
    }
    Ok(())
}

/// Reads the next PDU.
///
/// # Errors
/// A stream that ends, or has something else.
pub(super) fn read(from: &mut impl Read, digests: Digests) -> Result<Pdu, ReadError> {
    let mut common = [0; CommonHeader::BYTES];
    from.read_exact(&mut common)?;
    let header = CommonHeader::of(common);
    let (kind, data_bytes) = check(&header, false, digests, 4)?;
    if kind == PduType::InitializeResponse {
        return Err(PduError::SEQUENCE.into());
    }
    // The check has seen that it is 24 for all others.
    let mut head = [0; size_of::<C2hData>()];
    head[..CommonHeader::BYTES].copy_from_slice(&common);
    from.read_exact(&mut head[CommonHeader::BYTES..])?;
    let digests = digests.on(kind);
    let mut read = head.len() as u32;
    if digests.header {
        let mut came = [0; DIGEST_BYTES];
        from.read_exact(&mut came)?;
        read += DIGEST_BYTES as u32;
        if came != digest(&head) {
            return Err(ReadError::Digest);
        }
    }
    let data = match data_bytes {
        0 => Vec::new(),
        bytes => {
            let offset = match kind.is_without_digests() {
                true => read,
                false => header.data_offset.into(),
            };
            let gap = u64::from(offset.saturating_sub(read));
            io::copy(&mut from.take(gap), &mut io::sink())?;
            read_data(from, bytes as usize, digests)?
        }
    };
    Ok(decode(kind, &header, &head, data)?)
}

fn read_data(from: &mut impl Read, bytes: usize, digests: Digests) -> Result<Vec<u8>, ReadError> {
    let mut data = Vec::with_capacity(bytes.min(ROOM));
    from.take(bytes as u64).read_to_end(&mut data)?;
    if data.len() < bytes {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    if digests.data {
        let mut came = [0; DIGEST_BYTES];
        from.read_exact(&mut came)?;
        if came != digest(&data) {
            return Err(ReadError::Digest);
        }
    }
    Ok(data)
}

fn decode(
    kind: PduType,
    header: &CommonHeader,
    head: &[u8],
    data: Vec<u8>,
) -> Result<Pdu, PduError> {
    /// Where the length of data is told.
    const LENGTH: u32 = 16;
    fn of<P: FromBytes>(head: &[u8]) -> Result<P, PduError> {
        P::read_from_bytes(head).map_err(|_| PduError::SEQUENCE)
    }
    match kind {
        PduType::Response => {
            let response: CapsuleResponse = of(head)?;
            Ok(Pdu::Response(response.entry))
        }
        PduType::C2hData => {
            let told: C2hData = of(head)?;
            if told.length.get() as usize != data.len() {
                return Err(PduError::field(LENGTH));
            }
            let has = |bit| header.flags & bit != 0;
            if has(flag::SUCCESS) && !has(flag::LAST) {
                return Err(PduError::field(1));
            }
            Ok(Pdu::Data {
                command: told.command_id.get(),
                offset: told.offset.get().into(),
                data,
                is_last: has(flag::LAST),
                is_success: has(flag::SUCCESS),
            })
        }
        PduType::ReadyToTransfer => {
            let ready: ReadyToTransfer = of(head)?;
            Ok(Pdu::Ready {
                command: ready.command_id.get(),
                tag: ready.tag.get(),
                offset: ready.offset.get().into(),
                length: ready.length.get().into(),
            })
        }
        PduType::ControllerTerminate => {
            let end: Terminate = of(head)?;
            Ok(Pdu::Terminated(end.status.get()))
        }
        _ => Err(PduError::SEQUENCE),
    }
}

/// Why a controller ended a connection (FES).
pub(super) fn reason_of(status: u16) -> String {
    let mut all = FatalError::ALL.into_iter();
    match all.find(|error| *error as u16 == status) {
        Some(error) => format!("{error:?}"),
        None => format!("reason {status}"),
    }
}
