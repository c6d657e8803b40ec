//! Where the bits of vectors are: the one place that knows. They are logical blocks of the volume, written with their
//! group's placement handle.

use std::ops::Range;

use host::bits::Handle;
use host::volume::{Content, Extent, Group, Object, Volume, VolumeError};
use nvme::VectorId;
use nvme::command::Home;

use crate::bits::{NAMED, Named};
use crate::drive::Host;
use crate::driver::Queue;

/// The number of the group that has a placement handle.
pub(crate) fn group_number(handle: u16) -> u32 {
    NAMED | u32::from(handle)
}

/// The placement handle of a group that has a name.
pub(crate) fn handle(group: u32) -> Option<u16> {
    let handle = group.checked_sub(NAMED)?;
    u16::try_from(handle).ok()
}

/// What a vector is called in expressions.
pub(crate) fn leaf(handle: u16, number: u32) -> VectorId {
    VectorId::new(group_number(handle), number)
}

/// A group as the drive knows it.
pub(crate) fn handle_of(group: &Group) -> Handle {
    Handle {
        number: group.handle,
        anchor: group.anchor,
        pitch: group.pitch,
        home: home_of(group),
    }
}

/// The dies that a group lies on.
pub(crate) fn home_of(group: &Group) -> Home {
    Home {
        first: group.first_die,
        dies: group.dies,
    }
}

/// The logical blocks of a vector, which is one run of them.
pub(crate) fn row(extents: &[Extent]) -> Range<u64> {
    let first = extents.first().map_or(0, |extent| extent.first);
    let blocks: u64 = extents.iter().map(|extent| extent.blocks).sum();
    first..first + blocks
}

/// Writes a vector's bits, of which the last byte may have some too many.
pub(crate) async fn write(
    host: &Host,
    group: &Group,
    inverse: bool,
    row: Range<u64>,
    data: &[u8],
) -> Result<(), host::Error> {
    let (bits, right) = (group.bits, group.bits.div_ceil(8));
    if data.len() as u64 != right {
        let message = format!(
            "{} bytes for a vector of {bits} bits: {right} would be right",
            data.len()
        );
        return Err(host::Error::Usage(message));
    }
    let device = host.bits().device();
    let shape = (group.anchor, group.pitch, home_of(group));
    let open = host
        .volume
        .open_handles
        .borrow()
        .get(&group.handle)
        .copied();
    if open != Some(shape) {
        device.open_handle(&handle_of(group)).await?;
        let open_handles = &mut *host.volume.open_handles.borrow_mut();
        open_handles.insert(group.handle, shape);
    }
    let mut padded = data.to_vec();
    if let (Some(last), used @ 1..) = (padded.last_mut(), bits % 8) {
        *last &= (1 << used) - 1;
    }
    let bytes = (row.end - row.start) * u64::from(host.block().block_bytes());
    padded.resize(bytes as usize, 0);
    device
        .write(group.handle, inverse, row.start, &padded)
        .await
}

/// Whether a volume may be made: not where vectors lie that were written by number.
pub(crate) fn check_free(host: &Host) -> Result<(), VolumeError> {
    if !host.table().borrow().has_numbered() {
        return Ok(());
    }
    let message =
        "this drive has vectors that were written by number: names need a drive without them";
    Err(host::Error::Usage(message.into()).into())
}

/// Tells those who evaluate expressions where the vectors of a volume are.
pub(crate) fn tell(host: &Host, volume: &Volume<Queue>) {
    let page = u64::from(host.block().blocks_per_page());
    let vectors = |(id, group): (_, Group)| {
        let named = move |vector: Object| match vector.content {
            Content::Vector(content) => Some(Named {
                id: leaf(group.handle, content.number),
                handle: group.handle,
                home: home_of(&group),
                page: row(&vector.extents).start / page,
                bits: content.bits,
                inverse: content.inverse,
            }),
            _ => None,
        };
        volume.vectors(id).filter_map(named)
    };
    let group = |object: Object| match object.content {
        Content::Group(group) => Some((object.id, group)),
        _ => None,
    };
    let table = &mut *host.table().borrow_mut();
    table.name(volume.objects().filter_map(group).flat_map(vectors));
    table.has_volume = true;
}
