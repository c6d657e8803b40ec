//! In-flash bulk bitwise computing: vectors are written once, in groups that
//! meet in one sense, and expressions over them are evaluated inside the drive
//! (Flash-Cosmos 6.3: `fc_write` and `fc_read`).

use nvme::command::{Engine, FcDelete, FcList, FcRead, FcWrite, VectorRecord};
use nvme::{CommandId, Expression, IoCommand, NamespaceId, VectorId, VendorCommand};

use crate::buffer::Buffer;
use crate::error::Error;
use crate::transport::Transport;

/// Bytes of the list that one command asks for.
const LIST_BYTES: u32 = 64 * 1024;

/// A vector that the drive holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredVector {
    /// Its name.
    pub id: VectorId,
    /// Its length in bits.
    pub bits: u64,
    /// Whether its inverse is what is stored.
    pub inverse: bool,
}

/// A part of vectors, and of what is computed from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its first page; pages are as long as the preferred write granularity.
    pub page: u32,
    /// Its length in bits.
    pub bits: u64,
}

/// The computing interface of a namespace.
#[derive(Clone)]
pub struct BitsDevice<T> {
    transport: T,
    namespace: NamespaceId,
}

impl<T: Transport> BitsDevice<T> {
    /// The computing interface of `namespace`.
    pub fn new(transport: T, namespace: NamespaceId) -> BitsDevice<T> {
        BitsDevice {
            transport,
            namespace,
        }
    }

    /// Writes a vector of `bits` bits, bit i in bit i mod 8 of byte i / 8 of `data`,
    /// or its inverse if that serves the operations to come better.
    ///
    /// # Errors
    /// If `data` is not as long as `bits` says; what the drive reports, such as
    /// Group Full or Vector Length Mismatch.
    pub async fn write(
        &self,
        vector: VectorId,
        bits: u64,
        inverse: bool,
        data: &[u8],
    ) -> Result<(), Error> {
        if data.len() as u64 != bits.div_ceil(8) || bits == 0 {
            return Err(Error::Usage(format!(
                "{} bytes for a vector of {bits} bits: {} would be right",
                data.len(),
                bits.div_ceil(8).max(1)
            )));
        }
        let buffer = Buffer::holding(self.transport.memory(), data)?;
        self.write_from(vector, bits, inverse, &buffer).await
    }

    /// As [`BitsDevice::write`], from a buffer that already holds the data.
    ///
    /// # Errors
    /// As [`BitsDevice::write`].
    pub async fn write_from(
        &self,
        vector: VectorId,
        bits: u64,
        inverse: bool,
        data: &Buffer,
    ) -> Result<(), Error> {
        let bytes = transfer_bytes(bits)?;
        let command = FcWrite {
            namespace: self.namespace,
            vector,
            bits,
            store_inverse: inverse,
            data: data.pointer(bytes),
        };
        self.send("fc_write", VendorCommand::FcWrite(command))
            .await
            .map(|_| ())
    }

    /// Evaluates an expression over vectors of `bits` bits; gives the result's bytes.
    ///
    /// # Errors
    /// What the drive reports, such as Vector Not Found.
    pub async fn evaluate(
        &self,
        expression: &Expression,
        engine: Engine,
        bits: u64,
    ) -> Result<Vec<u8>, Error> {
        let result = Buffer::new(self.transport.memory(), u64::from(transfer_bytes(bits)?))?;
        self.evaluate_into(expression, engine, bits, &result)
            .await?;
        result.to_vec()
    }

    /// As [`BitsDevice::evaluate`], into the beginning of a buffer.
    ///
    /// # Errors
    /// As [`BitsDevice::evaluate`].
    pub async fn evaluate_into(
        &self,
        expression: &Expression,
        engine: Engine,
        bits: u64,
        result: &Buffer,
    ) -> Result<(), Error> {
        let pointer = result.pointer(transfer_bytes(bits)?);
        let whole = (bits, None);
        self.fc_read(expression, engine, whole, false, pointer)
            .await
    }

    /// As [`BitsDevice::evaluate_into`], for a part of the vectors.
    ///
    /// # Errors
    /// As [`BitsDevice::evaluate`].
    pub async fn evaluate_part_into(
        &self,
        expression: &Expression,
        engine: Engine,
        part: Part,
        result: &Buffer,
    ) -> Result<(), Error> {
        let pointer = result.pointer(transfer_bytes(part.bits)?);
        let part = (part.bits, Some(part.page));
        self.fc_read(expression, engine, part, false, pointer).await
    }

    /// Evaluates an expression and gives only the number of bits set; the result
    /// does not leave the drive.
    ///
    /// # Errors
    /// As [`BitsDevice::evaluate`].
    pub async fn count(
        &self,
        expression: &Expression,
        engine: Engine,
        bits: u64,
    ) -> Result<u64, Error> {
        let result = Buffer::new(self.transport.memory(), 8)?;
        let pointer = result.pointer(8);
        self.fc_read(expression, engine, (bits, None), true, pointer)
            .await?;
        let mut bytes = [0; 8];
        result.copy_to(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    async fn fc_read(
        &self,
        expression: &Expression,
        engine: Engine,
        (bits, part): (u64, Option<u32>),
        count_only: bool,
        data: nvme::DataPointer,
    ) -> Result<(), Error> {
        let encoded = expression
            .encode()
            .map_err(|error| Error::Usage(error.to_string()))?;
        let code = Buffer::holding(self.transport.memory(), &encoded)?;
        let command = FcRead {
            namespace: self.namespace,
            expression_address: code.address(),
            expression_bytes: encoded.len() as u32,
            engine,
            bits,
            part,
            count_only,
            data,
        };
        self.send("fc_read", VendorCommand::FcRead(command))
            .await
            .map(|_| ())
    }

    /// Deletes one vector of a group, or the whole group.
    ///
    /// # Errors
    /// What the drive reports, such as Vector Not Found.
    pub async fn delete(&self, group: u32, vector: Option<u32>) -> Result<(), Error> {
        let command = FcDelete {
            namespace: self.namespace,
            group,
            vector,
        };
        self.send("fc_delete", VendorCommand::FcDelete(command))
            .await
            .map(|_| ())
    }

    /// The vectors of a group, or of all groups, by group and vector number.
    ///
    /// # Errors
    /// What the drive reports.
    pub async fn list(&self, group: Option<u32>) -> Result<Vec<StoredVector>, Error> {
        let buffer = Buffer::new(self.transport.memory(), u64::from(LIST_BYTES))?;
        let mut vectors = Vec::new();
        loop {
            let command = FcList {
                namespace: self.namespace,
                group,
                buffer_bytes: LIST_BYTES,
                start: vectors.len() as u32,
                data: buffer.pointer(LIST_BYTES),
            };
            let found = self.send("fc_list", VendorCommand::FcList(command)).await? as usize;
            let bytes = buffer.to_vec()?;
            let records = VectorRecord::parse(&bytes);
            vectors.extend(records.iter().take(found).map(|record| StoredVector {
                id: record.id(),
                bits: record.bits.get(),
                inverse: record.inverse != 0,
            }));
            if found < records.len() {
                return Ok(vectors);
            }
        }
    }

    async fn send(&self, name: &'static str, command: VendorCommand) -> Result<u32, Error> {
        let entry = IoCommand::Vendor(command).encode(CommandId::new(0));
        let completion = self.transport.io(&entry).await?;
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
