//! In-flash bulk bitwise computing: rows of chunks of NPWG blocks are written with a placement handle, so that they
//! meet in one sense, and expressions over logical blocks are evaluated inside the drive
//! (Flash-Cosmos 6.3: `fc_write` and `fc_read`).

use nvme::command::{
    BlockRange, DirectiveOperation, DirectiveQuery, DirectiveReceive, DirectiveSend, Engine,
    FcRead, HandleAttributes, HandleRecord, Home, PlacedWrite, ReadWrite,
};
use nvme::{
    AdminCommand, BitsCommand, CommandId, DataPointer, Expression, IoCommand, Lba, NamespaceId,
};
use zerocopy::IntoBytes;

use crate::block::{BlockDevice, commands};
use crate::buffer::Buffer;
use crate::error::Error;
use crate::transport::Transport;

/// Open handles that one command lists at most.
const HANDLES_MAX: u64 = 0x8000;

/// What an evaluation that checked itself gave.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked<R> {
    /// The result, by the plan that is asked for.
    pub result: R,
    /// Bits in which a second plan's result differs from it, 0 if there was none; `u32::MAX` stands for so many and more.
    pub differing_bits: u32,
}

impl<R> Checked<R> {
    /// A result, and in how many bits a second one differs from it.
    pub fn new(result: R, differing_bits: u32) -> Checked<R> {
        Checked {
            result,
            differing_bits,
        }
    }
}

/// A placement handle: rows of logical blocks that are to meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementHandle {
    /// Its number, at most [`nvme::command::HANDLE_MAX`].
    pub number: u16,
    /// The first block of row 0, which begins a chunk of NPWG blocks.
    pub anchor: u64,
    /// From row to row, in logical blocks: whole chunks of NPWG blocks.
    pub pitch: u64,
    /// The dies over which a row is spread.
    pub home: Home,
}

/// A request to evaluate an expression over vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Over the logical blocks that vectors begin with.
    pub expression: &'a Expression<Lba>,
    /// Which machinery of the drive evaluates it.
    pub engine: Engine,
    /// Length of the vectors, bits.
    pub bits: u64,
    /// Whether the drive evaluates it a second time by another plan, which senses every wordline by itself, and compares
    /// the results.
    pub check: bool,
}

impl<'a> Request<'a> {
    /// To evaluate it once.
    pub fn new(expression: &'a Expression<Lba>, engine: Engine, bits: u64) -> Request<'a> {
        Request {
            expression,
            engine,
            bits,
            check: false,
        }
    }
}

/// The computing interface of a namespace. Operands of expressions are the logical blocks that vectors begin with, each the
/// first of a chunk of NPWG blocks (Identify Namespace), a flash page.
#[derive(Clone)]
pub struct BitsDevice<T> {
    block: BlockDevice<T>,
}

impl<T: Transport> BitsDevice<T> {
    /// The computing interface of the namespace of `block`.
    pub fn new(block: BlockDevice<T>) -> BitsDevice<T> {
        BitsDevice { block }
    }

    /// The same namespace as a block device.
    pub fn block(&self) -> &BlockDevice<T> {
        &self.block
    }

    fn transport(&self) -> &T {
        self.block.transport()
    }

    fn namespace(&self) -> NamespaceId {
        self.block.namespace()
    }

    /// Opens a placement handle, or gives an open one other attributes for later writes. Handles close when the power goes.
    ///
    /// # Errors
    /// Invalid Field for dies that the drive has not, or an anchor or pitch that is no whole number of chunks of NPWG blocks.
    pub async fn open_handle(&self, handle: &PlacementHandle) -> Result<(), Error> {
        let anchor = Lba::new(handle.anchor);
        let attributes = HandleAttributes::new(anchor, handle.pitch, handle.home);
        let buffer = Buffer::holding(self.transport().memory(), attributes.as_bytes())?;
        let pointer = buffer.pointer(HandleAttributes::BYTES as u32);
        self.send_directive(DirectiveOperation::Open, handle.number, pointer)
            .await
    }

    /// Releases a handle; what was written with it stays as it is.
    ///
    /// # Errors
    /// Invalid Field if it is not open.
    pub async fn release_handle(&self, number: u16) -> Result<(), Error> {
        self.send_directive(DirectiveOperation::Release, number, DataPointer::NONE)
            .await
    }

    async fn send_directive(
        &self,
        operation: DirectiveOperation,
        handle: u16,
        data: DataPointer,
    ) -> Result<(), Error> {
        let send = DirectiveSend {
            namespace: self.namespace(),
            operation,
            handle,
            data,
        };
        let entry = AdminCommand::DirectiveSend(send).encode(CommandId::new(0));
        let completion = self.transport().admin(&entry).await?;
        Error::check("directive send", completion.status())
    }

    /// The open handles, each with how many flash blocks hold pages written with it.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn handles(&self) -> Result<Vec<(PlacementHandle, u32)>, Error> {
        let bytes = HANDLES_MAX * HandleRecord::BYTES as u64;
        let buffer = Buffer::new(self.transport().memory(), bytes)?;
        let receive = DirectiveReceive {
            namespace: self.namespace(),
            query: DirectiveQuery::Handles,
            dwords: bytes / 4,
            data: buffer.pointer(bytes as u32),
        };
        let entry = AdminCommand::DirectiveReceive(receive).encode(CommandId::new(0));
        let completion = self.transport().admin(&entry).await?;
        Error::check("directive receive", completion.status())?;
        let bytes = buffer.to_vec()?;
        let records = HandleRecord::parse(&bytes).iter();
        Ok(records
            .take(completion.dw0.get() as usize)
            .map(|record| {
                let handle = PlacementHandle {
                    number: record.handle.get(),
                    anchor: record.anchor.get(),
                    pitch: record.pitch.get(),
                    home: Home {
                        first: record.home_first.get(),
                        dies: record.home_dies.get(),
                    },
                };
                (handle, record.flash_blocks.get())
            })
            .collect())
    }

    /// Writes whole chunks of NPWG blocks from `lba` on with a handle that is open, or their inverse if that serves the
    /// operations to come better; what is read is the data either way. Takes as many commands as it needs, one after another, so that
    /// rows share layers.
    ///
    /// # Errors
    /// Invalid Field for an unknown handle, or if `data` is no whole number of chunks of NPWG blocks; Vector Group
    /// Full if the share of the drive that is for computing is used up; what else a write may report.
    pub async fn write(
        &self,
        handle: u16,
        inverse: bool,
        lba: u64,
        data: &[u8],
    ) -> Result<(), Error> {
        let buffer = Buffer::holding(self.transport().memory(), data)?;
        self.write_from(handle, inverse, lba, &buffer).await
    }

    /// As [`BitsDevice::write`], from a buffer that already holds the data.
    ///
    /// # Errors
    /// As [`BitsDevice::write`].
    pub async fn write_from(
        &self,
        handle: u16,
        inverse: bool,
        lba: u64,
        data: &Buffer,
    ) -> Result<(), Error> {
        let block_bytes = u64::from(self.block.block_bytes());
        let blocks = data.bytes().div_ceil(block_bytes);
        let page = self.block.preferred_write_blocks();
        let most = (self.block.blocks_per_command() / page).max(1) * page;
        for (first, count) in commands(lba, blocks, most) {
            let offset = (first - lba) * block_bytes;
            let write = ReadWrite {
                namespace: self.namespace(),
                blocks: BlockRange::new(Lba::new(first), count),
                force_unit_access: false,
                limited_retry: false,
                data: data.pointer_at(offset, count * self.block.block_bytes()),
            };
            let placed = PlacedWrite {
                write,
                handle,
                inverse,
            };
            self.send("fc_write", IoCommand::WritePlaced(placed))
                .await?;
        }
        Ok(())
    }

    /// Evaluates an expression; gives the result's bytes.
    ///
    /// # Errors
    /// What the drive reports, such as LBA Out of Range. Results of a check that differ are no error here.
    pub async fn evaluate(&self, request: Request<'_>) -> Result<Checked<Vec<u8>>, Error> {
        let bytes = u64::from(transfer_bytes(request.bits)?);
        let buffer = Buffer::new(self.transport().memory(), bytes)?;
        let differing_bits = self.evaluate_into(request, &buffer).await?;
        let result = match self.block.keeps_data() {
            true => buffer.to_vec()?,
            // Nothing was transferred: the buffer still has what was in that memory before.
            false => vec![0; bytes as usize],
        };
        Ok(Checked {
            result,
            differing_bits,
        })
    }

    /// As [`BitsDevice::evaluate`], into the beginning of a buffer; gives in how many bits a check has differed.
    ///
    /// # Errors
    /// As [`BitsDevice::evaluate`].
    pub async fn evaluate_into(&self, request: Request<'_>, result: &Buffer) -> Result<u32, Error> {
        let pointer = result.pointer(transfer_bytes(request.bits)?);
        self.fc_read(request, false, pointer).await
    }

    /// Evaluates an expression and gives only the number of bits set; the result does not leave the drive.
    ///
    /// # Errors
    /// As [`BitsDevice::evaluate`].
    pub async fn count(&self, request: Request<'_>) -> Result<Checked<u64>, Error> {
        let buffer = Buffer::new(self.transport().memory(), 8)?;
        let differing_bits = self.fc_read(request, true, buffer.pointer(8)).await?;
        let mut bytes = [0; 8];
        if self.block.keeps_data() {
            buffer.copy_to(&mut bytes)?;
        }
        Ok(Checked {
            result: u64::from_le_bytes(bytes),
            differing_bits,
        })
    }

    /// Gives the completion's DW0.
    async fn fc_read(
        &self,
        request: Request<'_>,
        count_only: bool,
        data: DataPointer,
    ) -> Result<u32, Error> {
        let encoded = request
            .expression
            .encode()
            .map_err(|error| Error::Usage(error.to_string()))?;
        let code = Buffer::holding(self.transport().memory(), &encoded)?;
        let command = FcRead {
            namespace: self.namespace(),
            expression_address: code.address(),
            expression_bytes: encoded.len() as u32,
            engine: request.engine,
            bits: request.bits,
            count_only,
            check: request.check,
            data,
        };
        let command = IoCommand::Bits(BitsCommand::FcRead(command));
        self.send("fc_read", command).await
    }

    async fn send(&self, name: &'static str, command: IoCommand) -> Result<u32, Error> {
        let entry = command.encode(CommandId::new(0));
        let completion = self.transport().io(&entry).await?;
        Error::check(name, completion.status())?;
        Ok(completion.dw0.get())
    }
}

/// Bytes that a vector of `bits` takes in one transfer.
fn transfer_bytes(bits: u64) -> Result<u32, Error> {
    u32::try_from(bits.div_ceil(8)).map_err(|_| {
        Error::Usage(format!(
            "a vector of {bits} bits does not fit one transfer, which moves at most 4 GiB"
        ))
    })
}
