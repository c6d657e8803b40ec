//! In-flash bulk bitwise computing: vectors are written once, in groups that
//! meet in one sense, and expressions over them are evaluated inside the drive
//! (Flash-Cosmos 6.3: `fc_write` and `fc_read`).

use nvme::command::{Engine, FcDelete, FcList, FcRead, FcWrite, Home, VectorRecord};
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
    /// The dies its group lies on.
    pub home: Home,
}

/// What an evaluation that checked itself gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked<R> {
    /// The result, by the plan that is asked for.
    pub result: R,
    /// Bits in which a second plan's result differs from it; `u32::MAX` stands for so many and more.
    pub differing_bits: u32,
}

/// How an expression is to be evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Asked {
    engine: Engine,
    bits: u64,
    /// The first page of a part of so many bits.
    part: Option<u32>,
    count_only: bool,
    check: bool,
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
        self.write_at(Home::ALL, vector, bits, inverse, data).await
    }

    /// As [`BitsDevice::write`], to a group that lies on some dies of the drive.
    ///
    /// # Errors
    /// As [`BitsDevice::write`]; also Vector Group Home Mismatch if the group lies elsewhere, and
    /// Invalid Field if the drive has no such dies.
    pub async fn write_at(
        &self,
        home: Home,
        vector: VectorId,
        bits: u64,
        inverse: bool,
        data: &[u8],
    ) -> Result<(), Error> {
        check_length(bits, data)?;
        let buffer = Buffer::holding(self.transport.memory(), data)?;
        self.send_write(home, vector, bits, inverse, &buffer).await
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
        self.send_write(Home::ALL, vector, bits, inverse, data)
            .await
    }

    async fn send_write(
        &self,
        home: Home,
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
            home,
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
        let asked = Asked {
            engine,
            bits,
            ..Asked::default()
        };
        let pointer = result.pointer(transfer_bytes(bits)?);
        self.fc_read(expression, asked, pointer).await.map(|_| ())
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
        let asked = Asked {
            engine,
            bits: part.bits,
            part: Some(part.page),
            ..Asked::default()
        };
        let pointer = result.pointer(transfer_bytes(part.bits)?);
        self.fc_read(expression, asked, pointer).await.map(|_| ())
    }

    /// As [`BitsDevice::evaluate`], and has the drive evaluate the expression a second time by
    /// another plan, which senses every wordline by itself, and compare the results.
    ///
    /// # Errors
    /// As [`BitsDevice::evaluate`]. Results that differ are no error here.
    pub async fn evaluate_checked(
        &self,
        expression: &Expression,
        engine: Engine,
        bits: u64,
    ) -> Result<Checked<Vec<u8>>, Error> {
        let bytes = transfer_bytes(bits)?;
        let result = Buffer::new(self.transport.memory(), u64::from(bytes))?;
        let asked = Asked {
            engine,
            bits,
            check: true,
            ..Asked::default()
        };
        let differing_bits = self
            .fc_read(expression, asked, result.pointer(bytes))
            .await?;
        Ok(Checked {
            result: result.to_vec()?,
            differing_bits,
        })
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
        let asked = Asked {
            engine,
            bits,
            count_only: true,
            ..Asked::default()
        };
        Ok(self.counted(expression, asked).await?.result)
    }

    /// As [`BitsDevice::count`], checked as by [`BitsDevice::evaluate_checked`].
    ///
    /// # Errors
    /// As [`BitsDevice::evaluate`].
    pub async fn count_checked(
        &self,
        expression: &Expression,
        engine: Engine,
        bits: u64,
    ) -> Result<Checked<u64>, Error> {
        let asked = Asked {
            engine,
            bits,
            count_only: true,
            check: true,
            ..Asked::default()
        };
        self.counted(expression, asked).await
    }

    async fn counted(&self, expression: &Expression, asked: Asked) -> Result<Checked<u64>, Error> {
        let buffer = Buffer::new(self.transport.memory(), 8)?;
        let differing_bits = self.fc_read(expression, asked, buffer.pointer(8)).await?;
        let mut bytes = [0; 8];
        buffer.copy_to(&mut bytes)?;
        Ok(Checked {
            result: u64::from_le_bytes(bytes),
            differing_bits,
        })
    }

    /// Gives the completion's DW0.
    async fn fc_read(
        &self,
        expression: &Expression,
        asked: Asked,
        data: nvme::DataPointer,
    ) -> Result<u32, Error> {
        let encoded = expression
            .encode()
            .map_err(|error| Error::Usage(error.to_string()))?;
        let code = Buffer::holding(self.transport.memory(), &encoded)?;
        let command = FcRead {
            namespace: self.namespace,
            expression_address: code.address(),
            expression_bytes: encoded.len() as u32,
            engine: asked.engine,
            bits: asked.bits,
            part: asked.part,
            count_only: asked.count_only,
            check: asked.check,
            data,
        };
        self.send("fc_read", VendorCommand::FcRead(command)).await
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
                home: record.home(),
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

fn check_length(bits: u64, data: &[u8]) -> Result<(), Error> {
    if data.len() as u64 == bits.div_ceil(8) && bits > 0 {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{} bytes for a vector of {bits} bits: {} would be right",
        data.len(),
        bits.div_ceil(8).max(1)
    )))
}

/// Bytes that a vector of `bits` takes in one transfer.
fn transfer_bytes(bits: u64) -> Result<u32, Error> {
    u32::try_from(bits.div_ceil(8)).map_err(|_| {
        Error::Usage(format!(
            "a vector of {bits} bits does not fit one transfer, which moves at most 4 GiB"
        ))
    })
}
