//! Vectors that are there from the beginning: they are set up at once, as earlier writes would have left them ("the data set
//! is initially stored in the SSD", Flash-Cosmos 7).

use std::ops::ControlFlow;

use device::ftl::AtOnce;
use device::region::Shape;
use host::volume::{Content, Group};
use nvme::VectorId;

use super::information::{Rows, Vector, handle_of};
use super::moved::removed;
use super::vectors::{group_in, row_name};
use crate::drive::Drive;
use crate::error::{Error, PlaceError};
use crate::host_end::Absent;
use crate::host_end::DriveVolume;
use crate::host_end::Host;
use crate::host_end::id_of;

impl Drive {
    /// As [`super::Group::place`].
    pub(super) fn place_rows(
        &mut self,
        name: &str,
        what: &Rows,
        count: u32,
        mut observe: impl FnMut(u32) -> ControlFlow<()>,
    ) -> Result<Vec<Vector>, Error> {
        let (name, what) = (name.to_owned(), what.clone());
        let inverse = what.inverse;
        let add = {
            let name = name.clone();
            move |host: Host| async move { host.add_rows(&name, &what, count).await }
        };
        let (group, mut vectors) = self.run(add)??;
        let (mut placed, mut result) = (0, Ok(()));
        for vector in &vectors {
            result = self.set_up_row(&group, vector, inverse);
            if result.is_err() {
                break;
            }
            placed += 1;
            if observe(placed).is_break() {
                break;
            }
        }
        let rest: Vec<u32> = vectors
            .drain(placed as usize..)
            .map(|row| row.number)
            .collect();
        if !rest.is_empty() {
            self.run(|host| async move { host.remove_rows(&name, &rest).await })??;
        }
        result.map(|()| vectors)
    }

    fn set_up_row(&self, group: &Group, vector: &Vector, inverse: bool) -> Result<(), Error> {
        let ftl = &self.device_for("vectors to be set up at once")?.ftl;
        let pages = self.first_namespace()?;
        let handle = handle_of(group);
        let shape = Shape {
            anchor: pages.touched(handle.anchor..handle.anchor).start,
            pitch: (handle.pitch / pages.blocks()) as u32,
            home: handle.home,
            scope: pages.all(),
        };
        ftl.open_handle(handle.number, shape)
            .map_err(PlaceError::Home)?;
        let handle = ftl.handle(handle.number).expect("it was opened just now");
        let go_on = |_| ControlFlow::Continue(());
        for extent in &vector.extents {
            let lpns = pages.touched(extent.first..extent.first + extent.blocks);
            let set_up = ftl.place_at_once(&handle, lpns, inverse, go_on);
            if let AtOnce::Full(plane) = set_up.map_err(PlaceError::Media)? {
                return Err(PlaceError::OutOfBlocks {
                    group: vector.group.clone(),
                    plane: plane.0,
                }
                .into());
            }
        }
        Ok(())
    }
}

impl Host {
    /// Makes `count` vectors, whose blocks are not written.
    async fn add_rows(
        &self,
        name: &str,
        what: &Rows,
        count: u32,
    ) -> Result<(Group, Vec<Vector>), Error> {
        what.check(count as usize)?;
        let add = async |volume: &mut DriveVolume| {
            let content = self.group_to_write(volume, name, what)?;
            let mut change = volume.change()?;
            change.check_room(count)?;
            let group = group_in(&mut change, name, &content)?;
            let mut vectors = Vec::with_capacity(count as usize);
            for index in 0..count as usize {
                let name = row_name(change.volume(), group, what, index);
                vectors.push(change.create_vector(group, &name, what.inverse)?);
            }
            change.commit().await?;
            Ok((content, self.learned(volume, group, &vectors)))
        };
        let added = self.mount.with(self, Absent::Create, add).await?;
        Ok(added.expect("a volume is made where there is none"))
    }

    /// Removes vectors that were made and could not be set up; the group, too, if it has no others.
    async fn remove_rows(&self, name: &str, numbers: &[u32]) -> Result<(), Error> {
        let find = |volume: &DriveVolume| -> Vec<VectorId> {
            let group = volume.named(name);
            let group = group.filter(|group| matches!(group.content, Content::Group(_)));
            group.map_or_else(Vec::new, |group| {
                let rows = numbers.iter();
                let rows = rows.filter_map(|number| volume.numbered(group.id, *number));
                rows.map(|row| id_of(row.id, group.id)).collect()
            })
        };
        let mine = |volume: &DriveVolume| Ok(find(volume).iter().map(|row| row.vector).collect());
        let remove = async |volume: &mut DriveVolume| {
            let rows = find(volume);
            if rows.is_empty() {
                return Ok(());
            }
            let mut change = volume.change()?;
            let emptied = removed(&mut change, &rows)?;
            change.commit().await?;
            self.mount.learn(|index| {
                rows.iter().for_each(|row| index.forget(*row));
                emptied.iter().for_each(|group| index.forget_group(*group));
            });
            Ok(())
        };
        self.mount.alone_with(self, mine, remove).await?;
        Ok(())
    }
}
