//! Streams: a file of the volume as a program of the drive makes it, read while it is being made; or what the host writes, on its
//! way through a program into a file (TH-iSSD 3.4).
//!
//! ```
//! use bitline::{Config, Content, Drive, Loading, StreamRun, TaskFile, TaskRun};
//!
//! # let module = r#"(module
//! #   (import "isc" "stream_next" (func $next (param i32 i32 i32) (result i64)))
//! #   (import "isc" "stream_emit" (func $emit (param i32 i32) (result i64)))
//! #   (memory (export "memory") 2)
//! #   (func (export "isc_main") (result i32) (local $bytes i32) (local $at i32)
//! #     (loop $pieces
//! #       (local.set $bytes (i32.wrap_i64 (call $next (i32.const 1024) (i32.const 65536) (i32.const 0))))
//! #       (if (i32.eqz (local.get $bytes)) (then (return (i32.const 0))))
//! #       (local.set $at (i32.const 0))
//! #       (loop $bytes
//! #         (i32.store8 (i32.add (i32.const 1024) (local.get $at))
//! #           (i32.xor (i32.const 32) (i32.load8_u (i32.add (i32.const 1024) (local.get $at)))))
//! #         (br_if $bytes (i32.lt_u
//! #           (local.tee $at (i32.add (local.get $at) (i32.const 1))) (local.get $bytes))))
//! #       (drop (call $emit (i32.const 1024) (local.get $bytes)))
//! #       (br $pieces))
//! #     (i32.const 0)))"#;
//! # let module = wat::parse_str(module).expect("a module");
//! let mut drive = Drive::open(Config::preset("flash-cosmos")?)?;
//! drive.volume().write("letters", Content::File { bytes: 8 }, b"abcdefgh")?;
//! // A module that makes lower case of upper case and the other way round.
//! let program = drive.tasks().load(&module, Loading::default())?;
//! let run = TaskRun::of(vec![TaskFile::read("letters")]);
//! let mut stream = drive.streams().open(&program, &StreamRun::of(run).from_file(0))?;
//! assert_eq!(drive.streams().read(&mut stream, 100)?, b"ABCDEFGH");
//! assert_eq!(drive.streams().read(&mut stream, 100)?, b"");
//! drive.streams().close(stream)?;
//! # Ok::<(), bitline::Error>(())
//! ```

mod in_drive;
mod on_card;
mod operations;

pub use host::streams::Shape as StreamShape;
use nvme::task::Outcome;

use crate::drive::Drive;
use crate::error::Error;
use crate::host_end::{Host, Program};
use crate::tasks::TaskRun;
pub use operations::Stream;

/// What a stream is asked to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamRun {
    /// The program's files, arguments and limits; of the cycles, each piece may take the limit.
    pub run: TaskRun,
    /// What of its files is input and output, and how it is cut.
    pub shape: StreamShape,
}

impl StreamRun {
    /// A stream that the host feeds and fetches from, over these files.
    pub fn of(run: TaskRun) -> StreamRun {
        StreamRun {
            run,
            shape: StreamShape::default(),
        }
    }

    /// Its input is a file of the run.
    pub fn from_file(mut self, number: u32) -> StreamRun {
        self.shape.input = Some(number);
        self
    }

    /// Its input is what the collector of a port sends, from now on.
    pub fn from_collector(mut self, port: u16) -> StreamRun {
        self.shape.collector = Some(port);
        self
    }

    /// Its output goes to a file of the run.
    pub fn into_file(mut self, number: u32) -> StreamRun {
        self.shape.output = Some(number);
        self
    }

    /// Bytes of a piece; 0 is the drive's choice.
    pub fn piece_bytes(mut self, bytes: u32) -> StreamRun {
        self.shape.piece_bytes = bytes;
        self
    }

    /// Instances of the program; 0 is the drive's choice.
    pub fn elements(mut self, elements: u16) -> StreamRun {
        self.shape.elements = elements;
        self
    }

    /// Output comes in the order in which it is emitted, and not of the pieces.
    pub fn unordered(mut self) -> StreamRun {
        self.shape.unordered = true;
        self
    }
}

/// The streams of a drive.
pub struct Streams<'a>(&'a mut Drive);

impl Drive {
    /// The streams of this drive.
    pub fn streams(&mut self) -> Streams<'_> {
        Streams(self)
    }
}

impl Streams<'_> {
    /// Opens a stream of a program, which begins to run. It sees its files as they are now.
    ///
    /// # Errors
    /// No object of that name; as [`Streams::check`]; what the drive reports: No Program, Stream Limit Reached.
    pub fn open(&mut self, program: &Program, asked: &StreamRun) -> Result<Stream, Error> {
        self.check(asked)?;
        let (program, mut asked) = (*program, asked.clone());
        asked.run = asked.run.prioritized(self.0);
        self.run_host(|host| async move { host.open_stream(&program, &asked).await })
    }

    /// Opens a stream whose program a card in the host runs, to compare with (`host.card`): the host reads the input from the drive
    /// and sends it to the card, fetches what that makes of it, and hands it out or writes it to the drive. Every byte crosses
    /// both links (TH-iSSD, Figure 2(a)). Nothing of it is a transaction: what was written counts.
    ///
    /// # Errors
    /// As [`Streams::open`]; [`TaskError::Usage`](host::tasks::TaskError::Usage) for files besides input and output, for
    /// stores and collectors, which a card does not have.
    pub fn open_on_card(&mut self, module: &[u8], asked: &StreamRun) -> Result<Stream, Error> {
        let (module, mut asked) = (module.to_vec(), asked.clone());
        asked.run = asked.run.prioritized(self.0);
        self.run_host(|host| async move { host.open_stream_on_card(&module, &asked).await })
    }

    /// Reads what comes next: as many bytes as asked for, unless the end comes first, or more is to be written before; none at the end.
    ///
    /// # Errors
    /// [`Error::Stream`] if the stream has failed, with what became of it; [`Error::StaleStream`] if an object of its was removed,
    /// moved or resized meanwhile, and it is closed.
    pub fn read(&mut self, stream: &mut Stream, bytes: u64) -> Result<Vec<u8>, Error> {
        let mut inside = stream.clone();
        self.run_host(|host| async move { host.read_stream(&mut inside, bytes).await })
    }

    /// Sends what the stream is to take next.
    ///
    /// # Errors
    /// As [`Streams::read`]; Command Sequence Error where its input is a file.
    pub fn write(&mut self, stream: &mut Stream, data: &[u8]) -> Result<(), Error> {
        let (mut inside, data) = (stream.clone(), data.to_vec());
        self.run_host(|host| async move { host.write_stream(&mut inside, &data, false).await })
    }

    /// Says that no more will be sent. If the output goes to a file, this returns when it is all there, for good.
    ///
    /// # Errors
    /// As [`Streams::write`].
    pub fn finish(&mut self, stream: &mut Stream) -> Result<(), Error> {
        let mut inside = stream.clone();
        self.run_host(|host| async move { host.write_stream(&mut inside, &[], true).await })
    }

    /// What became of a stream, once it is over: waits for one whose output goes to a file.
    ///
    /// # Errors
    /// As [`Streams::read`].
    pub fn outcome(&mut self, stream: &mut Stream) -> Result<Outcome, Error> {
        let mut inside = stream.clone();
        self.run_host(|host| async move { host.stream_outcome(&mut inside).await })
    }

    /// Closes a stream; one that is not over is stopped, and what it wrote is rolled back. Without power there is none left.
    ///
    /// # Errors
    /// What the drive reports.
    pub fn close(&mut self, stream: Stream) -> Result<(), Error> {
        match self.run_host(|host| async move { host.close_stream(stream).await }) {
            Err(Error::NoPower) => Ok(()),
            closed => closed,
        }
    }

    /// That the drive has streams of such a shape.
    ///
    /// # Errors
    /// [`TaskError::Usage`](host::tasks::TaskError::Usage) for a piece or elements beyond what it allows.
    pub fn check(&self, asked: &StreamRun) -> Result<(), Error> {
        let (config, shape) = (&self.0.config().device.stream, asked.shape);
        let (piece, elements) = (config.piece_bytes_max(), config.elements_max);
        let refused = |text: String| Err(Error::usage(text));
        if u64::from(shape.piece_bytes) > piece {
            return refused(format!(
                "pieces of {} bytes: the most is {piece}, an eighth of a stream's share of stream.buffer_bytes",
                shape.piece_bytes
            ));
        }
        if u32::from(shape.elements) > elements {
            return refused(format!(
                "{} elements of {elements} (stream.elements_max)",
                shape.elements
            ));
        }
        Ok(())
    }

    fn run_host<T: 'static, F>(&mut self, function: impl FnOnce(Host) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>> + 'static,
    {
        self.0.run(function)?
    }
}
