//! The records of a catalogue, as bytes. All numbers are little-endian.
//!
//! A record is a byte that says what it does, the object's number and, if it puts one there, the object as it is from
//! then on: kind, name, attributes, runs of pages. Bytes are read from a drive, so anything may stand in them.

use nvme::RegionId;

use super::extent::Run;
use super::object::{Array, Content, Entry, Group, ObjectId, Store, Vector};
use crate::search::{NameField, NameKind};

const PUT: u8 = 1;
const REMOVE: u8 = 2;

const GROUP: u8 = 1;
const VECTOR: u8 = 2;
/// Bytes of a vector's record at least, without its name.
pub(super) const VECTOR_BYTES_MIN: u64 = 26;
const ARRAY: u8 = 3;
const FILE: u8 = 4;
const TABLE: u8 = 5;
const STORE: u8 = 6;

/// One step of a commit: the object as it is from then on, or none any more.
pub(super) type Record = (ObjectId, Option<Entry>);

/// Appends a record to `bytes`.
pub(super) fn encode(id: ObjectId, entry: Option<&Entry>, bytes: &mut Vec<u8>) {
    bytes.push(if entry.is_some() { PUT } else { REMOVE });
    bytes.extend(id.0.to_le_bytes());
    let Some(entry) = entry else { return };
    encode_content(&entry.content, bytes);
    put_text(&entry.name, bytes);
    bytes.extend((entry.runs.len() as u16).to_le_bytes());
    for run in &entry.runs {
        bytes.extend(run.first.to_le_bytes());
        bytes.extend(run.pages.to_le_bytes());
    }
}

/// A text of at most 255 bytes, as names and types were checked to be.
fn put_text(text: &str, bytes: &mut Vec<u8>) {
    bytes.push(text.len() as u8);
    bytes.extend(text.as_bytes());
}

fn encode_content(content: &Content, bytes: &mut Vec<u8>) {
    match content {
        Content::Group(group) => {
            bytes.push(GROUP);
            bytes.extend(group.handle.to_le_bytes());
            bytes.extend(group.anchor.to_le_bytes());
            bytes.extend(group.pitch.to_le_bytes());
            bytes.extend(group.first_die.to_le_bytes());
            bytes.extend(group.dies.to_le_bytes());
            bytes.extend(group.bits.to_le_bytes());
        }
        Content::Vector(vector) => {
            bytes.push(VECTOR);
            bytes.extend(vector.group.0.to_le_bytes());
            bytes.extend(vector.number.to_le_bytes());
            bytes.push(u8::from(vector.inverse));
            bytes.extend(vector.bits.to_le_bytes());
        }
        Content::Array(array) => {
            bytes.push(ARRAY);
            put_text(&array.dtype, bytes);
            bytes.push(array.shape.len() as u8);
            let dimensions = array.shape.iter();
            bytes.extend(dimensions.flat_map(|size| size.to_le_bytes()));
            bytes.extend(array.bytes.to_le_bytes());
        }
        Content::File { bytes: length } => {
            bytes.push(FILE);
            bytes.extend(length.to_le_bytes());
        }
        Content::Table {
            schema,
            bytes: length,
        } => {
            bytes.push(TABLE);
            bytes.extend((schema.len() as u16).to_le_bytes());
            bytes.extend(schema);
            bytes.extend(length.to_le_bytes());
        }
        Content::Store(store) => {
            bytes.push(STORE);
            bytes.push(store.names.len() as u8);
            for name in &store.names {
                bytes.extend(name.region.get().to_le_bytes());
                bytes.extend((name.kind.bits as u16).to_le_bytes());
                bytes.push(u8::from(name.kind.ternary));
            }
            bytes.extend(store.entries.to_le_bytes());
            bytes.extend(store.value_bytes.to_le_bytes());
            bytes.extend(store.bytes.to_le_bytes());
            bytes.extend((store.schema.len() as u16).to_le_bytes());
            bytes.extend(&store.schema);
        }
    }
}

/// The records in `bytes`.
///
/// # Errors
/// What is wrong with the first that makes no sense.
pub(super) fn decode_all(bytes: &[u8]) -> Result<Vec<Record>, String> {
    let mut reader = Reader(bytes);
    let mut records = Vec::new();
    while !reader.0.is_empty() {
        let number = records.len();
        let record = decode(&mut reader).map_err(|error| format!("record {number}: {error}"))?;
        records.push(record);
    }
    Ok(records)
}

fn decode(reader: &mut Reader<'_>) -> Result<Record, String> {
    let action = reader.u8()?;
    let id = ObjectId(reader.u32()?);
    if id == ObjectId::ROOT {
        return Err("object 0, which does not exist".into());
    }
    match action {
        REMOVE => Ok((id, None)),
        PUT => Ok((id, Some(decode_entry(reader)?))),
        other => Err(format!("action {other}, which does not exist")),
    }
}

fn decode_entry(reader: &mut Reader<'_>) -> Result<Entry, String> {
    let content = decode_content(reader)?;
    let name = reader.text()?;
    super::name::check(&name).map_err(|error| error.to_string())?;
    content
        .check()
        .map_err(|error| format!("{name:?}: {error}"))?;
    let count = usize::from(reader.u16()?);
    // Taken before they are parsed, so that a count costs no more memory than there are bytes.
    let runs = reader.take(count * 8)?.chunks_exact(8).map(|run| {
        let mut run = Reader(run);
        Ok(Run {
            first: run.u32()?,
            pages: run.u32()?,
        })
    });
    Ok(Entry {
        name,
        content,
        runs: runs.collect::<Result<_, String>>()?,
    })
}

fn decode_content(reader: &mut Reader<'_>) -> Result<Content, String> {
    Ok(match reader.u8()? {
        GROUP => Content::Group(Group {
            handle: reader.u16()?,
            anchor: reader.u64()?,
            pitch: reader.u64()?,
            first_die: reader.u16()?,
            dies: reader.u16()?,
            bits: reader.u64()?,
        }),
        VECTOR => Content::Vector(Vector {
            group: ObjectId(reader.u32()?),
            number: reader.u32()?,
            inverse: reader.u8()? != 0,
            bits: reader.u64()?,
        }),
        ARRAY => {
            let dtype = reader.text()?;
            let dimensions = usize::from(reader.u8()?);
            let shape = (0..dimensions).map(|_| reader.u64());
            Content::Array(Array {
                shape: shape.collect::<Result<_, _>>()?,
                dtype,
                bytes: reader.u64()?,
            })
        }
        FILE => Content::File {
            bytes: reader.u64()?,
        },
        TABLE => {
            let length = usize::from(reader.u16()?);
            Content::Table {
                schema: reader.take(length)?.to_vec(),
                bytes: reader.u64()?,
            }
        }
        STORE => {
            let count = reader.u8()?;
            let names = (0..count).map(|_| decode_name(reader));
            let names = names.collect::<Result<_, String>>()?;
            let (entries, value_bytes, bytes) = (reader.u32()?, reader.u32()?, reader.u64()?);
            let length = usize::from(reader.u16()?);
            Content::Store(Store {
                names,
                entries,
                value_bytes,
                bytes,
                schema: reader.take(length)?.to_vec(),
            })
        }
        other => return Err(format!("kind {other} of object, which does not exist")),
    })
}

fn decode_name(reader: &mut Reader<'_>) -> Result<NameField, String> {
    Ok(NameField {
        region: RegionId::new(reader.u16()?),
        kind: NameKind {
            bits: reader.u16()?.into(),
            ternary: reader.u8()? != 0,
        },
    })
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .ok_or_else(|| format!("it ends {} bytes early", length - self.0.len()))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    fn u8(&mut self) -> Result<u8, String> {
        Ok(self.array::<1>()?[0])
    }

    fn u16(&mut self) -> Result<u16, String> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, String> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn text(&mut self) -> Result<String, String> {
        let length = usize::from(self.u8()?);
        let text = std::str::from_utf8(self.take(length)?);
        Ok(text.map_err(|_| "a text that is no UTF-8")?.to_owned())
    }
}
