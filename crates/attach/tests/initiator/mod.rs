//! A small NVMe/TCP host for tests: one thread, blocking sockets, one command at a time unless a test sends PDUs by itself.
#![allow(dead_code, reason = "each test uses some of it")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use nvme::command::opcode;
use nvme::fabrics::pdu::{
    self, C2hData, CapsuleCommand, CapsuleResponse, CommonHeader, Digests, H2cData, Initialize,
    InitializeResponse, PduType, ReadyToTransfer, Terminate, flag,
};
use nvme::fabrics::{
    ConnectCommand, ConnectData, DYNAMIC_CONTROLLER, Property, PropertyGet, PropertySet, Sgl,
};
use nvme::{CommandId, CompletionEntry, NamespaceId, Status, SubmissionEntry};
use zerocopy::{FromBytes, IntoBytes};

/// Who the tests say to be.
pub(crate) const HOST_NQN: &str =
    "nqn.2014-08.org.nvmexpress:uuid:00000000-0000-0000-0000-0000000000aa";
/// CC that enables a controller.
pub(crate) const ENABLED: u64 = 0x0046_0001;

/// A socket of either kind.
pub(crate) trait Socket: Read + Write + Send {}
impl<S: Read + Write + Send> Socket for S {}

/// A connection: a queue once it is connected.
pub(crate) struct Connection {
    pub(crate) socket: Box<dyn Socket>,
    pub(crate) digests: Digests,
    max_data: u32,
    next_id: u16,
}

/// What has come.
#[derive(Debug)]
pub(crate) enum Pdu {
    Response(CompletionEntry),
    Data(C2hData, Vec<u8>),
    Ready(ReadyToTransfer),
    Terminated(Terminate),
}

/// A completed command.
#[derive(Debug)]
pub(crate) struct Completed {
    pub(crate) entry: CompletionEntry,
    pub(crate) data: Vec<u8>,
}

impl Completed {
    pub(crate) fn status(&self) -> Status {
        self.entry.status()
    }
}

/// An entry of this opcode for a namespace.
pub(crate) fn entry(opcode: u8, namespace: u32) -> SubmissionEntry {
    SubmissionEntry::new(opcode, CommandId::new(0), NamespaceId::new(namespace))
}

/// A Read or a Write of blocks.
pub(crate) fn blocks(opcode: u8, first: u64, count: u32) -> SubmissionEntry {
    let mut command = entry(opcode, 1);
    command.cdw10.set(first as u32);
    command.cdw11.set((first >> 32) as u32);
    command.cdw12.set(count - 1);
    command
}

impl Connection {
    pub(crate) fn tcp(address: SocketAddr) -> Connection {
        let socket = TcpStream::connect(address).expect("somebody listens");
        socket.set_nodelay(true).expect("a socket");
        let patience = Some(Duration::from_secs(20));
        socket.set_read_timeout(patience).expect("a socket");
        Connection::over(Box::new(socket))
    }

    pub(crate) fn over(socket: Box<dyn Socket>) -> Connection {
        Connection {
            socket,
            digests: Digests::default(),
            max_data: 4096,
            next_id: 0,
        }
    }

    /// Agrees on how to talk.
    pub(crate) fn initialize(mut self, digests: Digests) -> Connection {
        self.send(Initialize::new(digests).as_bytes());
        let mut bytes = [0; 128];
        self.socket.read_exact(&mut bytes).expect("an ICResp");
        let response = InitializeResponse::read_from_bytes(&bytes).expect("128 bytes");
        assert_eq!(
            response.header.pdu_type(),
            Some(PduType::InitializeResponse)
        );
        self.digests = Digests::of(response.digests);
        self.max_data = response.max_data.get();
        self
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).expect("somebody listens");
    }

    /// Connects to a queue; gives the controller.
    pub(crate) fn connect(
        &mut self,
        subsystem: &str,
        host: &str,
        controller: u16,
        queue: u16,
        entries: u16,
    ) -> Result<u16, (Status, u32)> {
        let mut command = ConnectCommand::new(queue, entries, 0);
        command.attributes = ConnectCommand::NO_FLOW_CONTROL;
        let data = ConnectData::new([9; 16], host, subsystem, controller);
        let done = self.command(command.entry(), data.as_bytes(), 0);
        match done.status().is_success() {
            true => Ok(done.entry.dw0.get() as u16),
            false => Err((done.status(), done.entry.dw0.get())),
        }
    }

    /// Carries a command out: `out` goes to the controller, up to `length` bytes come back.
    pub(crate) fn command(
        &mut self,
        mut command: SubmissionEntry,
        out: &[u8],
        length: u32,
    ) -> Completed {
        let id = self.take_id();
        command.command_id.set(id);
        let is_two_way = !out.is_empty() && length > 0;
        let in_capsule = !out.is_empty() && out.len() <= 8192 && !is_two_way;
        match in_capsule {
            true => Sgl::InCapsule {
                offset: 0,
                length: out.len() as u32,
            },
            false => Sgl::Transport {
                length: length.max(if is_two_way { 0 } else { out.len() as u32 }),
            },
        }
        .encode_into(&mut command);
        self.send_command(&command, if in_capsule { out } else { &[] });
        let mut data = vec![0; length as usize];
        loop {
            match self.receive().expect("an answer") {
                Pdu::Response(entry) => {
                    assert_eq!(entry.command_id.get(), id);
                    return Completed { entry, data };
                }
                Pdu::Data(header, bytes) => {
                    let at = header.offset.get() as usize;
                    data[at..at + bytes.len()].copy_from_slice(&bytes);
                    if header.header.flags & flag::SUCCESS != 0 {
                        let entry = CompletionEntry::default();
                        return Completed { entry, data };
                    }
                }
                Pdu::Ready(ready) => self.send_asked(&ready, out),
                Pdu::Terminated(terminate) => panic!("{:?}", terminate.error()),
            }
        }
    }

    pub(crate) fn take_id(&mut self) -> u16 {
        self.next_id = self.next_id % 30_000 + 1;
        self.next_id
    }

    /// Sends a capsule.
    pub(crate) fn send_command(&mut self, command: &SubmissionEntry, data: &[u8]) {
        let header = CommonHeader::with_data(PduType::Command, self.digests, data.len() as u32, 4);
        let capsule = CapsuleCommand {
            header,
            entry: *command,
        };
        self.send_pdu(capsule.as_bytes(), data);
    }

    /// Sends the data that an R2T asks for.
    pub(crate) fn send_asked(&mut self, ready: &ReadyToTransfer, out: &[u8]) {
        let (mut at, length) = (ready.offset.get() as usize, ready.length.get() as usize);
        let end = at + length;
        while at < end {
            let bytes = (end - at).min(self.max_data as usize);
            self.send_data(ready, at as u32, &out[at..at + bytes], at + bytes == end);
            at += bytes;
        }
    }

    pub(crate) fn send_data(
        &mut self,
        ready: &ReadyToTransfer,
        offset: u32,
        data: &[u8],
        is_last: bool,
    ) {
        let mut header =
            CommonHeader::with_data(PduType::H2cData, self.digests, data.len() as u32, 4);
        header.flags |= if is_last { flag::LAST } else { 0 };
        let pdu = H2cData {
            header,
            command_id: ready.command_id,
            tag: ready.tag,
            offset: offset.into(),
            length: (data.len() as u32).into(),
            ..H2cData::default()
        };
        self.send_pdu(pdu.as_bytes(), data);
    }

    pub(crate) fn send_pdu(&mut self, header: &[u8], data: &[u8]) {
        let mut bytes = header.to_vec();
        if self.digests.header {
            bytes.extend(pdu::digest(header));
        }
        bytes.extend(data);
        if self.digests.data && !data.is_empty() {
            bytes.extend(pdu::digest(data));
        }
        self.send(&bytes);
    }

    /// The next PDU; none if the connection is closed.
    pub(crate) fn receive(&mut self) -> Option<Pdu> {
        let mut header = [0; 128];
        self.socket.read_exact(&mut header[..8]).ok()?;
        let common = CommonHeader::of(*header.first_chunk().expect("8 bytes"));
        let kind = common.pdu_type().expect("a type");
        let (kind, data_bytes) = pdu::check(&common, false, self.digests, 4)
            .unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        let length = usize::from(common.header_bytes);
        self.socket.read_exact(&mut header[8..length]).ok()?;
        let digests = self.digests.on(kind);
        if digests.header {
            let mut told = [0; 4];
            self.socket.read_exact(&mut told).ok()?;
            assert_eq!(told, pdu::digest(&header[..length]), "the header's digest");
        }
        if data_bytes > 0 && !kind.is_without_digests() {
            let padding =
                usize::from(common.data_offset) - length - digests.header_bytes() as usize;
            self.socket.read_exact(&mut [0; 128][..padding]).ok()?;
        }
        let mut data = vec![0; data_bytes as usize];
        self.socket.read_exact(&mut data).ok()?;
        if digests.data && data_bytes > 0 {
            let mut told = [0; 4];
            self.socket.read_exact(&mut told).ok()?;
            assert_eq!(told, pdu::digest(&data), "the data's digest");
        }
        Some(match kind {
            PduType::Response => Pdu::Response(of::<CapsuleResponse>(&header).entry),
            PduType::C2hData => Pdu::Data(of(&header), data),
            PduType::ReadyToTransfer => Pdu::Ready(of(&header)),
            PduType::ControllerTerminate => Pdu::Terminated(of(&header)),
            other => panic!("{other:?} from a controller"),
        })
    }

    pub(crate) fn property(&mut self, property: Property) -> u64 {
        let done = self.command(PropertyGet::new(property).entry(), &[], 0);
        assert!(done.status().is_success(), "{}", done.status());
        u64::from(done.entry.dw0.get()) | u64::from(done.entry.dw1.get()) << 32
    }

    pub(crate) fn set_property(&mut self, property: Property, value: u64) {
        let done = self.command(PropertySet::new(property, value).entry(), &[], 0);
        assert!(done.status().is_success(), "{}", done.status());
    }

    pub(crate) fn read(&mut self, first: u64, count: u32) -> Vec<u8> {
        let done = self.command(blocks(opcode::READ, first, count), &[], count * 4096);
        assert!(done.status().is_success(), "{}", done.status());
        done.data
    }

    pub(crate) fn write(&mut self, first: u64, data: &[u8]) {
        let count = (data.len() / 4096) as u32;
        let done = self.command(blocks(opcode::WRITE, first, count), data, 0);
        assert!(done.status().is_success(), "{}", done.status());
    }
}

fn of<H: FromBytes>(header: &[u8; 128]) -> H {
    H::read_from_prefix(header).expect("no header is longer").0
}

/// A host that is connected: its admin queue and one I/O queue.
pub(crate) struct Host {
    pub(crate) admin: Connection,
    pub(crate) io: Connection,
    pub(crate) controller: u16,
}

impl Host {
    pub(crate) fn connect(address: SocketAddr, subsystem: &str, digests: Digests) -> Host {
        let connection = || Connection::tcp(address).initialize(digests);
        Host::over(connection, subsystem)
    }

    pub(crate) fn over(connection: impl Fn() -> Connection, subsystem: &str) -> Host {
        let mut admin = connection();
        let controller = admin
            .connect(subsystem, HOST_NQN, DYNAMIC_CONTROLLER, 0, 32)
            .expect("a controller");
        admin.set_property(Property::Configuration, ENABLED);
        assert_eq!(admin.property(Property::Status), 1);
        let mut io = connection();
        let joined = io.connect(subsystem, HOST_NQN, controller, 1, 128);
        assert_eq!(joined, Ok(controller));
        Host {
            admin,
            io,
            controller,
        }
    }
}
