//! Questions: an expression over vectors, and how it is to be answered.

use std::collections::BTreeMap;

use host::bits::Checked;
use nvme::{Expression, VectorId};

use crate::bits::Platform;
use crate::drive::{Drive, Host};
use crate::error::Error;
use crate::explain::Explanation;

/// What people call vectors.
pub type Labels = BTreeMap<VectorId, String>;

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
    drive: &'d mut Drive,
    expression: Expression,
    platform: Platform,
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
        self.run(async |host, query, platform| host.evaluate(&query, platform).await)
    }

    /// The number of ones of the result.
    ///
    /// # Errors
    /// As [`Query::read`].
    pub fn count(self) -> Result<u64, Error> {
        self.run(async |host, query, platform| host.count_ones(&query, platform).await)
    }

    /// The number of ones of the result, counted by the host batch by batch as it arrives (Flash-Cosmos 7).
    ///
    /// # Errors
    /// As [`Query::read`].
    pub fn count_in_host(self) -> Result<u64, Error> {
        self.run(async |host, query, platform| host.count_ones_here(&query, platform).await)
    }

    /// As [`Query::read`], and has the drive evaluate it a second time by another plan and compare.
    ///
    /// # Errors
    /// As [`Query::read`]; also for [`Platform::Host`].
    pub fn read_checked(self) -> Result<Checked<Vec<u8>>, Error> {
        self.run(async |host, query, platform| host.evaluate_checked(&query, platform).await)
    }

    /// As [`Query::count`], checked as by [`Query::read_checked`].
    ///
    /// # Errors
    /// As [`Query::read_checked`].
    pub fn count_checked(self) -> Result<Checked<u64>, Error> {
        self.run(async |host, query, platform| host.count_ones_checked(&query, platform).await)
    }

    /// Has the result sent to the host batch by batch, where it is dropped: for its time.
    ///
    /// # Errors
    /// As [`Query::read`].
    pub fn stream(self) -> Result<(), Error> {
        self.run(async |host, query, platform| host.stream(&query, platform).await)
    }

    /// How it would be answered, in words: the senses of the array and the combinations of the controller, for every
    /// page alike. Nothing is carried out.
    ///
    /// # Errors
    /// [`Error::NoVector`], [`Error::Lengths`].
    pub fn explain(self) -> Result<String, Error> {
        self.drive.explain(&self.expression, self.platform)
    }

    /// How it would be answered, and estimates of what that would take; nothing is carried out. Vectors are taken to be
    /// `bits` bits long, or as long as they are; the answer is only counted, or it is read.
    ///
    /// # Errors
    /// As [`Query::explain`]; a length of no bits.
    pub fn explanation(self, bits: Option<u64>, count_only: bool) -> Result<Explanation, Error> {
        self.explanation_called(bits, count_only, &Labels::new())
    }

    /// As [`Query::explanation`], with these names of vectors instead of `group:vector`.
    ///
    /// # Errors
    /// As [`Query::explanation`].
    pub fn explanation_called(
        self,
        bits: Option<u64>,
        count_only: bool,
        labels: &Labels,
    ) -> Result<Explanation, Error> {
        let what = (bits, count_only);
        self.drive
            .explanation(&self.expression, self.platform, what, labels)
    }

    fn run<T: 'static>(
        self,
        ask: impl AsyncFnOnce(Host, Expression, Platform) -> Result<T, Error> + 'static,
    ) -> Result<T, Error> {
        let (expression, platform) = (self.expression, self.platform);
        self.drive
            .run(move |host| async move { ask(host, expression, platform).await })?
    }
}
