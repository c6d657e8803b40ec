//! Questions: an expression over vectors, and how it is to be answered.

use host::bits::Checked;
use nvme::Expression;

use crate::bits::Platform;
use crate::drive::{Drive, Host};
use crate::error::Error;

/// An expression that a drive is to evaluate; by [`Platform::FlashCosmos`], unless something else is said.
///
/// ```
/// use bitline::{Config, Drive, Expression, Platform};
///
/// let mut drive = Drive::open(Config::preset("flash-cosmos")?)?;
/// let rows = [[0b0011_u8, 1], [0b0101, 3]];
/// let columns = drive.group("columns").write(16, rows)?;
/// let both = Expression::all(&columns)?;
/// assert_eq!(drive.query(&both).on(Platform::FlashCosmos).count()?, 2);
/// assert_eq!(drive.query(&both).on(Platform::Host).read()?, [0b0001, 1]);
/// # Ok::<(), bitline::Error>(())
/// ```
#[must_use = "nothing happens before it is read or counted"]
pub struct Query<'d> {
    drive: &'d mut Drive,
    expression: Expression,
    platform: Platform,
    bits: Option<u64>,
    in_host: bool,
}

impl Drive {
    /// A question to this drive; nothing happens before it is read or counted.
    pub fn query(&mut self, expression: &Expression) -> Query<'_> {
        Query {
            drive: self,
            expression: expression.clone(),
            platform: Platform::FlashCosmos,
            bits: None,
            in_host: false,
        }
    }
}

impl Query<'_> {
    /// Answered by this platform.
    pub fn on(mut self, platform: Platform) -> Self {
        self.platform = platform;
        self
    }

    /// Of vectors of so many bits, which need not be told of those that have names.
    pub fn bits(mut self, bits: u64) -> Self {
        self.bits = Some(bits);
        self
    }

    /// Counted by the host, batch by batch as the result arrives (Flash-Cosmos 7).
    pub fn counted_by_host(mut self) -> Self {
        self.in_host = true;
        self
    }

    /// The result, bit i in bit i mod 8 of byte i / 8; zeroes if the drive keeps no data.
    ///
    /// # Errors
    /// What the drive reports, such as Vector Not Found; vectors without names whose length was not told.
    pub fn read(self) -> Result<Vec<u8>, Error> {
        let (expression, platform) = (self.expression, self.platform);
        self.drive.run(move |host| async move {
            let bits = host.length_of(&expression, self.bits).await?;
            Ok(host.evaluate(&expression, platform, bits).await?)
        })?
    }

    /// The number of ones of the result.
    ///
    /// # Errors
    /// As [`Query::read`].
    pub fn count(self) -> Result<u64, Error> {
        let (expression, platform, in_host) = (self.expression, self.platform, self.in_host);
        self.drive.run(move |host| async move {
            let bits = host.length_of(&expression, self.bits).await?;
            Ok(match in_host {
                true => host.count_ones_here(&expression, platform, bits).await?,
                false => host.count_ones(&expression, platform, bits).await?,
            })
        })?
    }

    /// As [`Query::read`], and has the drive evaluate it a second time by another plan and compare.
    ///
    /// # Errors
    /// As [`Query::read`]; also for [`Platform::Host`].
    pub fn read_checked(self) -> Result<Checked<Vec<u8>>, Error> {
        let (expression, platform) = (self.expression, self.platform);
        self.drive.run(move |host| async move {
            let bits = host.length_of(&expression, self.bits).await?;
            Ok(host.evaluate_checked(&expression, platform, bits).await?)
        })?
    }

    /// As [`Query::count`], checked as by [`Query::read_checked`].
    ///
    /// # Errors
    /// As [`Query::read_checked`].
    pub fn count_checked(self) -> Result<Checked<u64>, Error> {
        let (expression, platform) = (self.expression, self.platform);
        self.drive.run(move |host| async move {
            let bits = host.length_of(&expression, self.bits).await?;
            Ok(host.count_ones_checked(&expression, platform, bits).await?)
        })?
    }

    /// Has the result sent to the host batch by batch, where it is dropped: for its time.
    ///
    /// # Errors
    /// As [`Query::read`].
    pub fn stream(self) -> Result<(), Error> {
        let (expression, platform) = (self.expression, self.platform);
        self.drive.run(move |host| async move {
            let bits = host.length_of(&expression, self.bits).await?;
            Ok(host.stream(&expression, platform, bits).await?)
        })?
    }
}

impl Host {
    /// The length of an expression's vectors, bits: as it was told, or as the catalogue says.
    async fn length_of(&self, expression: &Expression, told: Option<u64>) -> Result<u64, Error> {
        self.know_names().await?;
        let first = expression.vectors().first().copied();
        let known = match (told, first) {
            (Some(bits), _) => return Ok(bits),
            (None, Some(id)) => self.bits_of(id).await?,
            (None, None) => None,
        };
        known.ok_or_else(|| {
            let message = format!(
                "the drive has no name for a vector of {expression}: tell how many bits its vectors have"
            );
            host::Error::Usage(message).into()
        })
    }
}
