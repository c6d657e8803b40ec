//! What the journal keeps of a program: what it is, and its module.

use nvme::NamespaceId;

use super::ProgramId;
use super::record::Chunk;
use crate::journal::{FactKey, FactKind};

/// Programs, by namespace and index.
pub(super) const PROGRAMS: FactKind = FactKind::PROGRAMS;

const VERSION: u8 = 1;
/// Bytes before the module: version, type, what its owner calls it.
const HEAD_BYTES: usize = 10;

/// The key of a program. There are at most 1024 namespaces.
pub(super) fn key(id: ProgramId) -> FactKey {
    PROGRAMS.key(id.namespace.get() << 16 | u32::from(id.index))
}

/// The fact of a program.
pub(super) fn encode(program: &Chunk, module: &[u8]) -> Vec<u8> {
    let mut fact = Vec::with_capacity(HEAD_BYTES + module.len());
    fact.extend([VERSION, program.program_type]);
    fact.extend(program.identifier.to_le_bytes());
    fact.extend(module);
    fact
}

/// The program that a fact is, if it is one.
pub(super) fn decode(key: u32, fact: &[u8]) -> Option<(ProgramId, Chunk, Vec<u8>)> {
    let (head, module) = fact.split_at_checked(HEAD_BYTES)?;
    let id = ProgramId {
        namespace: NamespaceId::new(key >> 16),
        index: key as u16,
    };
    let chunk = Chunk {
        program_type: head[1],
        persistent: true,
        program_bytes: u32::try_from(module.len()).ok()?,
        identifier: u64::from_le_bytes(*head.last_chunk()?),
        offset: 0,
    };
    (head[0] == VERSION).then(|| (id, chunk, module.to_vec()))
}
