//! Groups of vectors by name.

use std::ops::ControlFlow;

use host::volume::check_name;
use nvme::command::Home;

use super::information::{Rows, Vector, content};
use crate::drive::Drive;
use crate::error::Error;

/// A group of a drive, by name. It is made with the first vector.
pub struct Group<'d> {
    drive: &'d mut Drive,
    name: String,
}

impl<'d> Group<'d> {
    pub(super) fn open(drive: &'d mut Drive, name: &str) -> Result<Group<'d>, Error> {
        check_name(name)?;
        let name = name.to_owned();
        let asked = name.clone();
        let found = drive.run(|host| async move { host.object(&asked).await })??;
        if let Some(object) = found {
            content(&object)?;
        }
        Ok(Group { drive, name })
    }

    /// As its vectors are written unless something else is said.
    pub fn writer(self) -> Writer<'d> {
        Writer {
            group: self,
            rows: Rows::default(),
        }
    }

    /// For vectors on some dies of the drive.
    pub fn at(self, home: Home) -> Writer<'d> {
        self.writer().at(home)
    }

    /// For vectors whose inverse is stored, which suits ORs.
    pub fn inverse(self) -> Writer<'d> {
        self.writer().inverse()
    }

    /// For vectors with names of their own.
    pub fn named<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Writer<'d> {
        self.writer().named(names)
    }

    /// As [`Writer::write`].
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn write<R: Into<Vec<u8>>>(
        self,
        bits: u64,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<Vec<Vector>, Error> {
        self.writer().write(bits, rows)
    }

    /// As [`Writer::place`].
    ///
    /// # Errors
    /// As [`Writer::place`].
    pub fn place(
        self,
        bits: u64,
        count: u32,
        observe: impl FnMut(u32) -> ControlFlow<()>,
    ) -> Result<Vec<Vector>, Error> {
        self.writer().place(bits, count, observe)
    }

    /// A home for it, written in one way only: all dies of the drive are zero dies.
    ///
    /// # Errors
    /// Dies that the drive has not.
    pub fn home(&self, home: Home) -> Result<Home, Error> {
        self.drive.host()?.canonical(home)
    }

    /// Its vectors, by number.
    ///
    /// # Errors
    /// What the drive reports; a damaged volume.
    pub fn vectors(&mut self) -> Result<Vec<Vector>, Error> {
        let name = self.name.clone();
        self.drive
            .run(|host| async move { host.group_vectors(&name).await })?
    }

    /// Gives a vector other bits, as [`crate::Host::overwrite_vector`].
    ///
    /// # Errors
    /// [`crate::VolumeError::NotFound`]; as [`Writer::write`].
    pub fn overwrite(&mut self, vector: &str, bits: &[u8]) -> Result<Vector, Error> {
        let (name, vector, data) = (self.name.clone(), vector.to_owned(), bits.to_vec());
        self.drive.run(|host| async move {
            let vector = host.vector(&name, &vector).await?;
            host.overwrite_vector(vector.id, None, &data).await
        })?
    }

    /// Gives it another name.
    ///
    /// # Errors
    /// As [`super::Volume::rename`].
    pub fn rename(&mut self, name: &str) -> Result<(), Error> {
        self.drive.volume().rename(&self.name, name)?;
        name.clone_into(&mut self.name);
        Ok(())
    }

    /// Deletes it with all of its vectors.
    ///
    /// # Errors
    /// [`crate::VolumeError::NotFound`]; what the drive reports.
    pub fn delete(self) -> Result<(), Error> {
        self.drive.volume().remove(&self.name)
    }

    /// Deletes one vector.
    ///
    /// # Errors
    /// [`crate::VolumeError::NotFound`]; what the drive reports.
    pub fn delete_vector(&mut self, vector: &str) -> Result<(), Error> {
        let (name, vector) = (self.name.clone(), vector.to_owned());
        self.drive.run(|host| async move {
            let vector = host.vector(&name, &vector).await?;
            host.delete_vector(vector.id).await
        })?
    }
}

/// How vectors of a group are to be written.
#[must_use = "nothing happens before they are written or placed"]
pub struct Writer<'d> {
    group: Group<'d>,
    rows: Rows,
}

impl<'d> Writer<'d> {
    /// On some dies of the drive.
    pub fn at(mut self, home: Home) -> Writer<'d> {
        self.rows.home = Some(home);
        self
    }

    /// With the inverse of each vector stored, which suits ORs.
    pub fn inverse(mut self) -> Writer<'d> {
        self.rows.inverse = true;
        self
    }

    /// With these names.
    pub fn named<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Writer<'d> {
        self.rows.names = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Writes vectors of `bits` bits, bit i in bit i mod 8 of byte i / 8, under the next free numbers: all of them, or
    /// none.
    ///
    /// # Errors
    /// As [`crate::Host::write_vectors`].
    pub fn write<R: Into<Vec<u8>>>(
        self,
        bits: u64,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<Vec<Vector>, Error> {
        let rows: Vec<Vec<u8>> = rows.into_iter().map(Into::into).collect();
        let (name, what) = (self.group.name, Rows { bits, ..self.rows });
        let drive = self.group.drive;
        drive.run(|host| async move { host.write_vectors(&name, &what, &rows).await })?
    }

    /// Sets up `count` vectors of `bits` zeroes as if they had been written, all of them or none: they are where writing
    /// would put them, a power cut loses none, and it takes no time but the catalogue's. `observe` is told how many there
    /// are, and may break off; those are stored then.
    ///
    /// # Errors
    /// As [`crate::Host::write_vectors`]; [`Error::Place`] if they do not fit.
    pub fn place(
        self,
        bits: u64,
        count: u32,
        observe: impl FnMut(u32) -> ControlFlow<()>,
    ) -> Result<Vec<Vector>, Error> {
        let rows = Rows { bits, ..self.rows };
        let Group { drive, name } = self.group;
        drive.place_rows(&name, &rows, count, observe)
    }
}
