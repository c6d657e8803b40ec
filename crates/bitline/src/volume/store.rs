//! Where the bits of vectors are: the one place that knows. Today the drive keeps them by group and number, written by
//! its own commands, and the catalogue names them.

use host::StatusError;
use nvme::command::Home;
use nvme::{Status, VectorId};

use crate::drive::Host;

/// Numbers of groups that have names are from here on; those below are free for commands by number.
const NAMED: u32 = 1 << 31;

/// The number of the group that has a placement handle.
pub(crate) fn group_number(handle: u16) -> u32 {
    NAMED | u32::from(handle)
}

/// The placement handle of a group that has a name.
pub(crate) fn handle(group: u32) -> Option<u16> {
    group
        .checked_sub(NAMED)
        .and_then(|handle| u16::try_from(handle).ok())
}

/// What a vector is called in expressions.
pub(crate) fn leaf(handle: u16, number: u32) -> VectorId {
    VectorId::new(group_number(handle), number)
}

/// What a vector is, beside its bits.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) id: VectorId,
    pub(crate) home: Home,
    pub(crate) bits: u64,
    pub(crate) inverse: bool,
}

/// Writes a vector's bits.
pub(crate) async fn write(host: &Host, shape: Shape, data: &[u8]) -> Result<(), host::Error> {
    let Shape {
        id,
        home,
        bits,
        inverse,
    } = shape;
    host.bits().write_at(home, id, bits, inverse, data).await
}

/// Deletes the bits of a vector, or of a whole group; that there are none is no error.
pub(crate) async fn delete(
    host: &Host,
    group: u32,
    vector: Option<u32>,
) -> Result<(), host::Error> {
    match host.bits().delete(group, vector).await {
        Err(host::Error::Status(StatusError {
            status: Status::VECTOR_NOT_FOUND,
            ..
        })) => Ok(()),
        deleted => deleted,
    }
}
