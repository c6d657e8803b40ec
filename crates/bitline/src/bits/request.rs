//! What is asked of an expression: who evaluates it, what the host is told, and whether it is checked.

use host::bits::Request as DriveRequest;
use nvme::Expression;
use nvme::command::Engine;
use serde::{Deserialize, Serialize};

use super::located::Located;
use super::outside::Keep;
use super::received::{Received, check_room};
use crate::error::Error;
use crate::host_end::Host;
use crate::platforms::Platform;

/// What the host is told of an expression's result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Answer {
    /// The number of ones, counted where the expression is evaluated ([`crate::Query::count`]).
    #[default]
    Count,
    /// The same, counted by the host as the result arrives ([`crate::Query::count_in_host`]).
    CountByHost,
    /// The result as a whole ([`crate::Query::read`]).
    Read,
    /// The result batch by batch, each dropped when it has arrived ([`crate::Query::stream`]).
    Stream,
}

impl Answer {
    /// Its name, as in workload files.
    pub const fn name(self) -> &'static str {
        match self {
            Answer::Count => "count",
            Answer::CountByHost => "count_by_host",
            Answer::Read => "read",
            Answer::Stream => "stream",
        }
    }
}

/// An expression, and how it is to be evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// Over vectors.
    pub expression: Expression,
    /// Who evaluates it.
    pub platform: Platform,
    /// What the host is told.
    pub answer: Answer,
    /// Whether the drive evaluates it a second time by another plan, which senses every wordline by itself, and compares
    /// the results: of [`Answer::Read`] and [`Answer::Count`], on platforms inside the drive.
    pub check: bool,
}

impl Request {
    /// To count what [`Platform::Fastest`] gives.
    pub fn new(expression: &Expression) -> Request {
        Request {
            expression: expression.clone(),
            platform: Platform::Fastest,
            answer: Answer::Count,
            check: false,
        }
    }

    /// Evaluated by this platform.
    #[must_use]
    pub fn on(mut self, platform: Platform) -> Request {
        self.platform = platform;
        self
    }

    /// Told to the host like this.
    #[must_use]
    pub fn answered_by(mut self, answer: Answer) -> Request {
        self.answer = answer;
        self
    }
}

/// What the host was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply {
    /// The result, bit i in bit i mod 8 of byte i / 8, of [`Answer::Read`]: all of it zeroes if the drive keeps no data.
    pub bits: Vec<u8>,
    /// Its number of ones, of [`Answer::Count`] and [`Answer::CountByHost`]; zero if the drive keeps no data.
    pub ones: u64,
    /// Of a check: in how many bits a second plan's result differs; `u32::MAX` stands for so many and more.
    pub differing_bits: u32,
}

impl Host {
    /// Evaluates an expression over vectors, which stay where they are meanwhile. The engines of the drive count in the
    /// controller, so that only the number crosses the link; the host counts as the result arrives in batches
    /// (Flash-Cosmos 7: the bit count of the bitmap index).
    ///
    /// # Errors
    /// [`Error::NoVector`], [`Error::Lengths`]; a check that cannot be; what the drive reports.
    pub async fn ask(&self, request: &Request) -> Result<Reply, Error> {
        if request.answer == Answer::Read {
            let received = self.receive(request).await?;
            return Ok(Reply {
                differing_bits: received.differing_bits,
                bits: received.into_vec()?,
                ..Reply::default()
            });
        }
        request.may_check()?;
        let located = self.locate(&request.expression).await?;
        let mut reply = Reply::default();
        let Some(engine) = self.engine_for(request, &located)? else {
            let keep = match request.answer {
                Answer::Stream => Keep::Nothing,
                _ => Keep::Ones(&mut reply.ones),
            };
            self.evaluate_here(&located, keep).await?;
            return Ok(reply);
        };
        let asked = DriveRequest {
            check: request.check,
            ..DriveRequest::new(&located.expression, engine, located.bits)
        };
        match request.answer {
            Answer::Count => {
                let counted = self.bits.count(asked).await?;
                (reply.ones, reply.differing_bits) = (counted.result, counted.differing_bits);
            }
            _ => {
                let counting = request.answer == Answer::CountByHost;
                reply.ones = self.stream_from_drive(&located, engine, counting).await?;
            }
        }
        Ok(reply)
    }

    /// Evaluates an expression as [`Host::ask`] does of [`Answer::Read`], whatever answer is asked for, and leaves the
    /// result where it arrived.
    ///
    /// # Errors
    /// As [`Host::ask`].
    pub async fn receive(&self, request: &Request) -> Result<Received, Error> {
        let read = Request {
            answer: Answer::Read,
            ..request.clone()
        };
        read.may_check()?;
        let located = self.locate(&read.expression).await?;
        let bytes = located.bits.div_ceil(8);
        let Some(engine) = self.engine_for(&read, &located)? else {
            let mut result = Vec::new();
            self.evaluate_here(&located, Keep::Bytes(&mut result))
                .await?;
            result.resize(bytes as usize, 0);
            return Ok(Received::own(result));
        };
        if bytes > self.informant.transfer_max(&self.block) && !read.check {
            // Of several commands, as one moves no more.
            let mut result = Vec::new();
            let add = async |_, arrived: Vec<u8>| result.extend(arrived);
            self.each_from_drive(&located, engine, add).await?;
            result.resize(bytes as usize, 0);
            return Ok(Received::own(result));
        }
        let asked = DriveRequest {
            check: read.check,
            ..DriveRequest::new(&located.expression, engine, located.bits)
        };
        let memory = host::Transport::memory(self.block.transport()).clone();
        let buffer = host::Buffer::new(&memory, bytes)?;
        let differing_bits = self.bits.evaluate_into(asked, &buffer).await?;
        self.computer.receive(bytes);
        Ok(match self.stores_data {
            true => Received::in_memory(buffer, bytes, differing_bits),
            false => Received::zeroes(bytes),
        })
    }

    /// As [`Host::receive`], if the result has `room` bytes.
    pub(super) async fn receive_as_much(
        &self,
        request: &Request,
        room: u64,
    ) -> Result<Received, Error> {
        // Before time passes: nothing is evaluated in vain.
        let bits = self.locate(&request.expression).await?.bits;
        check_room(room, bits.div_ceil(8))?;
        self.receive(request).await
    }

    /// The engine of the drive that answers; none if the host does.
    fn engine_for(
        &self,
        request: &Request,
        located: &Located<'_>,
    ) -> Result<Option<Engine>, Error> {
        // Only the drive can check itself.
        if request.check {
            return Ok(request.platform.engine());
        }
        let (expression, bits) = (&located.expression, located.bits);
        let count_only = request.answer == Answer::Count;
        self.outlooks
            .engine(request.platform, expression, (bits, bits), count_only)
    }
}

impl Request {
    /// Whether what is asked for can be checked, if it is to be.
    fn may_check(&self) -> Result<(), host::Error> {
        if !self.check {
            return Ok(());
        }
        if self.platform.engine().is_none() {
            let platform = self.platform;
            return Err(host::Error::Usage(format!(
                "a check is a second evaluation inside the drive, and platform {platform} has none there: \
                 choose in-storage, parabit, flash-cosmos, fastest or thriftiest"
            )));
        }
        if matches!(self.answer, Answer::Read | Answer::Count) {
            return Ok(());
        }
        let name = self.answer.name();
        Err(host::Error::Usage(format!(
            "a check compares results inside the drive, and {name} streams them to the host: read or count"
        )))
    }
}
