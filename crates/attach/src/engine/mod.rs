//! One drive, one simulation thread, which is handed jobs over a channel and takes requests from a source.

mod clock;
mod doorbell;
mod drift;
mod figures;
mod format;
mod pace;
mod run;
mod served;
mod source;
mod trace;

use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use bitline::Drive;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

pub(crate) use doorbell::Doorbell;
pub use drift::Drift;
pub use figures::{Kind, KindFigures, Latencies, Snapshot};
pub use pace::{Pace, PaceError};
pub(crate) use served::Kept;
pub use served::Served;
pub(crate) use source::{Await, Source};
pub(crate) use trace::TraceFile;

/// Why a drive is not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// It cannot be opened, or not closed in order.
    #[error(transparent)]
    Drive(#[from] bitline::Error),
    /// Its thread has ended: the drive was closed, or Bitline has a bug, of which the thread has told.
    #[error("the drive is no longer served: it was closed, or its thread ended by a panic")]
    Gone,
    /// Its trace cannot be written.
    #[error("{}: cannot write the trace: {source}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// What the operating system or the drive says.
        source: Box<bitline::Error>,
    },
    /// The operating system gives no thread.
    #[error("no thread for the drive: {0}")]
    Thread(#[from] std::io::Error),
}

/// A drive that is served on a thread of its own. Dropping it without [`Engine::close`] closes it as well, and
/// tells nobody of an image that could not be written.
pub struct Engine {
    handle: Handle,
    thread: Option<JoinHandle<Result<(), EngineError>>>,
}

/// Who hands jobs to a served drive. Cheap to clone, and may be sent to other threads.
#[derive(Clone)]
pub struct Handle {
    orders: Sender<Order>,
    doorbell: Doorbell,
}

/// What somebody outside wants of the drive: it is called on the drive's thread, where it may look at the drive and have work
/// begin on it ([`Served::spawn`]). It lets no simulated time pass by itself.
type Job = Box<dyn FnOnce(&mut Drive, &Served) + Send>;

/// What comes over the channel.
enum Order {
    Do(Job),
    /// Take requests from there, too.
    TakeFrom(Box<dyn FnOnce() -> Box<dyn Source> + Send>),
    Close,
}

impl Engine {
    /// Has a thread open a drive and serve it from then on.
    ///
    /// # Errors
    /// What `open` reports; no thread.
    pub fn start(
        open: impl FnOnce() -> Result<Drive, bitline::Error> + Send + 'static,
        pace: Pace,
    ) -> Result<Engine, EngineError> {
        let (give, orders) = unbounded();
        let (opened, is_open) = bounded(1);
        let doorbell = Doorbell::new()?;
        let own = doorbell.clone();
        let thread = thread::Builder::new()
            .name("bitline drive".into())
            .spawn(move || serve(open, pace, &own, &orders, &opened))?;
        let handle = Handle {
            orders: give,
            doorbell,
        };
        match is_open.recv() {
            Ok(()) => Ok(Engine {
                handle,
                thread: Some(thread),
            }),
            // It has ended without opening, and says why.
            Err(_) => match thread.join() {
                Ok(Err(error)) => Err(error),
                _ => Err(EngineError::Gone),
            },
        }
    }

    /// Who hands jobs to it.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Whether its thread is still there.
    pub fn is_serving(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }

    /// Lets what is in flight finish, writes back what is cached, makes the image durable and lets go of it.
    ///
    /// # Errors
    /// What flash or the image file do not take; [`EngineError::Gone`].
    pub fn close(mut self) -> Result<(), EngineError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), EngineError> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        // A thread that has ended takes no orders: joining it says why.
        let _ = self.handle.order(Order::Close);
        thread.join().unwrap_or(Err(EngineError::Gone))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Who wants to hear of it calls `close`.
        let _ = self.end();
    }
}

impl Handle {
    /// Hands it a job, which may look at the drive and have work begin on it ([`Served::spawn`]), and lets no simulated time pass by
    /// itself; what becomes of that the job tells.
    ///
    /// # Errors
    /// [`EngineError::Gone`].
    pub fn submit(
        &self,
        job: impl FnOnce(&mut Drive, &Served) + Send + 'static,
    ) -> Result<(), EngineError> {
        self.order(Order::Do(Box::new(job)))
    }

    /// Has it take requests from there as well, and no more from where it took them before.
    ///
    /// # Errors
    /// [`EngineError::Gone`].
    pub(crate) fn take_from<S: Source + 'static>(
        &self,
        source: impl FnOnce() -> S + Send + 'static,
    ) -> Result<(), EngineError> {
        self.order(Order::TakeFrom(Box::new(|| Box::new(source()))))
    }

    fn order(&self, order: Order) -> Result<(), EngineError> {
        self.orders.send(order).map_err(|_| EngineError::Gone)?;
        self.doorbell.ring();
        Ok(())
    }

    /// What wakes its thread.
    pub(crate) fn doorbell(&self) -> &Doorbell {
        &self.doorbell
    }

    /// Has something looked at on the drive's thread, and waits for what comes of it.
    ///
    /// # Errors
    /// [`EngineError::Gone`].
    pub fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Drive, &Served) -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        let (tell, told) = bounded(1);
        self.submit(move |drive, served| {
            // Who asked may have gone meanwhile.
            let _ = tell.send(question(drive, served));
        })?;
        told.recv().map_err(|_| EngineError::Gone)
    }

    /// Has work done on the drive's thread, in simulated time, and waits for what comes of it.
    ///
    /// # Errors
    /// [`EngineError::Gone`].
    pub fn run<T: Send + 'static, F>(
        &self,
        work: impl FnOnce(Served) -> F + Send + 'static,
    ) -> Result<T, EngineError>
    where
        F: Future<Output = T> + 'static,
    {
        let (tell, told) = bounded(1);
        self.submit(move |_, served| {
            let work = work(served.clone());
            served.spawn(async move {
                // As above.
                let _ = tell.send(work.await);
            });
        })?;
        told.recv().map_err(|_| EngineError::Gone)
    }

    /// What the drive has done so far, and how long requests took.
    ///
    /// # Errors
    /// [`EngineError::Gone`]; statistics of a drive without power.
    pub fn snapshot(&self) -> Result<Snapshot, EngineError> {
        let snapshot = self.ask(|drive, served| served.snapshot(drive))?;
        Ok(snapshot?)
    }
}

fn serve(
    open: impl FnOnce() -> Result<Drive, bitline::Error>,
    pace: Pace,
    doorbell: &Doorbell,
    orders: &Receiver<Order>,
    opened: &Sender<()>,
) -> Result<(), EngineError> {
    let mut drive = open()?;
    let served = Served::new(&drive, pace)?;
    // Who started it waits for this.
    let _ = opened.send(());
    run::until_closed(&mut drive, &served, orders, doorbell)?;
    served.forget_kept();
    drop(served);
    drive.close().map_err(|unclosed| unclosed.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use bitline::{Config, Span};

    use super::*;

    /// A drive of the default preset, in memory.
    fn small() -> Result<Drive, bitline::Error> {
        Drive::open(Config::preset(bitline::DEFAULT_PRESET)?)
    }

    async fn write_and_read(served: Served, lba: u64) -> Vec<u8> {
        let begun = served.begin(Kind::Write);
        let block = vec![lba as u8; served.host().block_bytes() as usize];
        served.host().write(lba, &block).await.expect("it fits");
        begun.end(block.len() as u64, true);
        let begun = served.begin(Kind::Read);
        let read = served.host().read(lba, 1).await.expect("it is there");
        begun.end(read.len() as u64, true);
        read
    }

    #[test]
    fn threads_share_a_drive() {
        let engine = Engine::start(small, Pace::None).expect("a drive");
        let threads: Vec<_> = (0..8_u64)
            .map(|number| {
                let handle = engine.handle();
                thread::spawn(move || {
                    for round in 0..20 {
                        let lba = number * 20 + round;
                        let read = handle.run(move |served| write_and_read(served, lba));
                        let read = read.expect("it is served");
                        assert!(read.iter().all(|byte| *byte == lba as u8));
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("no thread fails");
        }
        let snapshot = engine.handle().snapshot().expect("it is served");
        let reads = snapshot.kinds[Kind::Read as usize];
        assert_eq!((reads.requests, reads.failed), (160, 0));
        assert_eq!(reads.bytes, 160 * 4096);
        assert!(reads.latency.p50_us > 0.0 && reads.latency.p50_us <= reads.latency.max_us);
        assert_eq!(snapshot.in_flight, 0);
        assert!(snapshot.drift.max_us == 0.0);
        let handle = engine.handle();
        engine.close().expect("it has no image");
        assert!(matches!(handle.snapshot(), Err(EngineError::Gone)));
    }

    /// At a thousandth of real time, what takes some microseconds takes some milliseconds.
    #[test]
    fn completions_wait_for_their_time() {
        let engine = Engine::start(small, Pace::Real(0.001)).expect("a drive");
        let began = std::time::Instant::now();
        let handle = engine.handle();
        handle
            .run(|served| write_and_read(served, 1))
            .expect("it is served");
        let took = began.elapsed();
        let snapshot = handle.snapshot().expect("it is served");
        let simulated: f64 = [Kind::Read, Kind::Write]
            .iter()
            .map(|kind| snapshot.kinds[*kind as usize].latency.max_us)
            .sum();
        assert!(simulated > 1.0);
        // The wall clock never runs ahead of what is told; how late it is depends on the machine.
        assert!(took.as_secs_f64() * 1e6 >= simulated * 1000.0 * 0.999);
        assert!(snapshot.simulated_s * 1000.0 <= snapshot.wall_s * 1.01);
        assert!(snapshot.drift.max_us > 0.0);
    }

    /// With nothing to do, and with a pace that has the next event far in the future.
    #[test]
    fn a_drive_that_sleeps_is_closed_at_once() {
        for pace in [Pace::None, Pace::Real(1e-9)] {
            let engine = Engine::start(small, pace).expect("a drive");
            let asleep = engine.handle().submit(|_, served| {
                let sim = served.sim().clone();
                served.spawn(async move { sim.sleep(Span::from_us(1)).await });
            });
            asleep.expect("it is served");
            thread::sleep(std::time::Duration::from_millis(50));
            let began = std::time::Instant::now();
            engine.close().expect("it has no image");
            assert!(began.elapsed().as_secs() < 5, "{pace:?}");
        }
    }

    #[test]
    fn what_cannot_be_opened_says_why() {
        let open = || Drive::open_existing_image(std::path::Path::new("/nothing/here.img"));
        let refused = Engine::start(open, Pace::None).err().expect("no image");
        assert!(refused.to_string().contains("here.img"), "{refused}");
    }
}
