//! Questions: an expression over vectors, and how it is to be answered.

use host::bits::Checked;
use nvme::Expression;

use crate::bits::{Answer, Received, Reply, Request};
use crate::drive::Drive;
use crate::error::Error;
use crate::platforms::Platform;

/// An expression that a drive is to evaluate; by [`Platform::Fastest`], unless something else is said.
///
/// ```
/// use bitline::{Config, Drive, Expression, Platform};
///
/// let mut drive = Drive::open(Config::preset("flash-cosmos")?)?;
/// let rows = [[0b0011_u8, 1], [0b0101, 3]];
/// let columns = drive.group("columns")?.write(16, rows)?;
/// let both = Expression::all(&columns)?;
/// assert_eq!(drive.query(&both).count()?, 2);
/// assert_eq!(drive.query(&both).on(Platform::Host).read()?, [0b0001, 1]);
/// # Ok::<(), bitline::Error>(())
/// ```
#[must_use = "nothing happens before it is read or counted"]
pub struct Query<'d> {
    pub(crate) drive: &'d mut Drive,
    pub(crate) expression: Expression,
    pub(crate) platform: Platform,
}

impl Drive {
    /// A question to this drive; nothing happens before it is read or counted.
    pub fn query(&mut self, expression: &Expression) -> Query<'_> {
        Query {
            drive: self,
            expression: expression.clone(),
            platform: Platform::default(),
        }
    }
}

impl Query<'_> {
    /// Answered by this platform.
    pub fn on(mut self, platform: Platform) -> Self {
        self.platform = platform;
        self
    }

    /// The result, bit i in bit i mod 8 of byte i / 8; zeroes if the drive keeps no data.
    ///
    /// # Errors
    /// [`Error::NoVector`], [`Error::Lengths`]; what the drive reports.
    pub fn read(self) -> Result<Vec<u8>, Error> {
        Ok(self.ask(Answer::Read, false)?.bits)
    }

    /// As [`Query::read`], and leaves the result where it arrived in the host's memory.
    ///
    /// # Errors
    /// As [`Query::read`].
    pub fn receive(self) -> Result<Received, Error> {
        let (drive, request) = self.request(Answer::Read, false);
        drive.run(move |host| async move { host.receive(&request).await })?
    }

    /// As [`Query::read`], into memory that has room for exactly the result.
    ///
    /// # Errors
    /// As [`Query::read`]; before anything is evaluated, if `into` is longer or shorter than the result.
    pub fn read_into(self, into: &mut [u8]) -> Result<(), Error> {
        let room = into.len() as u64;
        let (drive, request) = self.request(Answer::Read, false);
        let received =
            drive.run(move |host| async move { host.receive_as_much(&request, room).await })??;
        received.copy_to(into)
    }

    /// The number of ones of the result.
    ///
    /// # Errors
    /// As [`Query::read`].
    pub fn count(self) -> Result<u64, Error> {
        Ok(self.ask(Answer::Count, false)?.ones)
    }

    /// The number of ones of the result, counted by the host batch by batch as it arrives (Flash-Cosmos 7).
    ///
    /// # Errors
    /// As [`Query::read`].
    pub fn count_in_host(self) -> Result<u64, Error> {
        Ok(self.ask(Answer::CountByHost, false)?.ones)
    }

    /// As [`Query::read`], and has the drive evaluate it a second time by another plan and compare.
    ///
    /// # Errors
    /// As [`Query::read`]; also for [`Platform::Host`].
    pub fn read_checked(self) -> Result<Checked<Vec<u8>>, Error> {
        let reply = self.ask(Answer::Read, true)?;
        Ok(Checked::new(reply.bits, reply.differing_bits))
    }

    /// As [`Query::count`], checked as by [`Query::read_checked`].
    ///
    /// # Errors
    /// As [`Query::read_checked`].
    pub fn count_checked(self) -> Result<Checked<u64>, Error> {
        let reply = self.ask(Answer::Count, true)?;
        Ok(Checked::new(reply.ones, reply.differing_bits))
    }

    /// Has the result sent to the host batch by batch, where it is dropped: for its time.
    ///
    /// # Errors
    /// As [`Query::read`].
    pub fn stream(self) -> Result<(), Error> {
        self.ask(Answer::Stream, false).map(drop)
    }

    fn ask(self, answer: Answer, check: bool) -> Result<Reply, Error> {
        let (drive, request) = self.request(answer, check);
        drive.run(move |host| async move { host.ask(&request).await })?
    }
}

impl<'d> Query<'d> {
    fn request(self, answer: Answer, check: bool) -> (&'d mut Drive, Request) {
        let request = Request {
            expression: self.expression,
            platform: self.platform,
            answer,
            check,
        };
        (self.drive, request)
    }
}
