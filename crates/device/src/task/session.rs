//! One run of a task: it computes, in the simulator's own time, until it asks for something or its quantum is over; then the
//! time that it took passes, what it asks for is done, and it goes on.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;

use wasmtime::{Result, Store};

use super::check::{INITIALIZE, MAIN};
use super::costs::TENTHS;
use super::errno;
use super::files::{FileError, Files};
use super::hatch::{Answer, Hatch, Request};
use super::inside::Inside;
use super::program::Program;
use super::tickets::{Outcome, Tickets};
use super::trap;
use super::{Ended, Limits, Run, Tasks};
use crate::schedule::Origin;

/// A run, from outside of the task.
pub(super) struct Session<'a> {
    tasks: &'a Tasks,
    files: Rc<dyn Files>,
    limits: Limits,
    origin: Origin,
    hatch: Hatch,
    tickets: Tickets,
    quantum_cycles: u64,
    /// Tenths of cycles that the task took, at least.
    taken_tenths: u64,
    /// Cycles that it had a core for.
    charged: u64,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        tasks: &'a Tasks,
        files: Rc<dyn Files>,
        limits: Limits,
        origin: Origin,
    ) -> Session<'a> {
        Session {
            tasks,
            files,
            limits,
            origin,
            hatch: Hatch::default(),
            tickets: Tickets::new(&tasks.sim, limits.tickets, limits.memory_bytes),
            quantum_cycles: tasks.cores.cycles_in(tasks.config.quantum_us),
            taken_tenths: 0,
            charged: 0,
        }
    }

    fn quantum_tenths(&self) -> u64 {
        self.quantum_cycles * TENTHS
    }

    /// Runs the program from its beginning to its end.
    pub(super) async fn run(mut self, program: &Program, arguments: &[u8]) -> Run {
        let mut store = match self.store(program, arguments) {
            Ok(store) => store,
            Err(error) => return Run::rejected(error.root_cause().to_string()),
        };
        let main = Box::pin(main(program, &mut store));
        let over = self.live(main).await;
        // Nothing of the task is left but what it has in its store.
        let left = store.get_fuel().unwrap_or(0);
        let inside = store.into_data();
        self.taken_tenths = inside.taken(left);
        self.charge(self.taken_tenths.div_ceil(TENTHS)).await;
        let settled = self.tickets.settle().await;
        let ended = match (over, settled) {
            (Ok(Ok(0)), Ok(())) => Ended::Returned(inside.returned),
            (Ok(Ok(0)), Err(error)) | (Err(error), _) => Ended::File(error),
            (Ok(Ok(code)), _) => Ended::Failed { code },
            (Ok(Err(error)), _) => Ended::Trapped {
                reason: trap::reason(&error, &self.limits, &self.tasks.config),
            },
        };
        Run {
            ended,
            log: text_of(&inside.log),
            cycles: self.charged,
            memory_bytes: inside.memory_bytes,
        }
    }

    /// What the task will have.
    fn store(&self, program: &Program, arguments: &[u8]) -> Result<Store<Inside>> {
        let bounds = (&self.tasks.config, self.quantum_tenths());
        let files = &*self.files;
        let hatch = self.hatch.clone();
        let has_accelerators = self.tasks.accelerators.is_some();
        let inside = Inside::new(
            hatch,
            files,
            arguments,
            self.limits,
            bounds,
            has_accelerators,
        );
        let fuel = inside.fuel();
        let mut store = Store::try_new(program.pre().module().engine(), inside)?;
        store.limiter(|inside| inside);
        store.set_fuel(fuel)?;
        store.fuel_async_yield_interval(Some(self.quantum_tenths()))?;
        Ok(store)
    }

    /// Lets the task compute and does what it asks for, in turn, until it is over.
    ///
    /// # Errors
    /// A call that cannot be carried out.
    async fn live(
        &mut self,
        mut main: Pin<Box<impl Future<Output = Result<i32>>>>,
    ) -> std::result::Result<Result<i32>, FileError> {
        loop {
            let poll = poll_fn(|context| Poll::Ready(main.as_mut().poll(context)));
            if let Poll::Ready(over) = pin!(poll).await {
                return Ok(over);
            }
            let Some((tenths, request)) = self.hatch.asked() else {
                // It has computed for a quantum since it was last heard of, or longer.
                self.taken_tenths += self.quantum_tenths();
                self.charge(self.taken_tenths / TENTHS).await;
                continue;
            };
            self.taken_tenths = tenths;
            self.charge(tenths / TENTHS).await;
            let answer = match self.serve(request).await {
                Err(FileError::Refused { number }) => Answer::Refused(number),
                answer => answer?,
            };
            self.hatch.answer(answer);
        }
    }

    /// Has the task have a core for what it took until it had `cycles` in all, a quantum at a time.
    async fn charge(&mut self, cycles: u64) {
        while self.charged < cycles {
            let quantum = (cycles - self.charged).min(self.quantum_cycles);
            self.tasks.cores.run_task(self.origin, quantum).await;
            self.charged += quantum;
        }
    }

    /// Does what the task asks for.
    async fn serve(&mut self, request: Request) -> std::result::Result<Answer, FileError> {
        let (files, mover, origin) = (&*self.files, &self.tasks.mover, self.origin);
        match request {
            Request::Charge => Ok(Answer::Done),
            Request::Read {
                file,
                offset,
                bytes,
            } => mover
                .read(files, origin, (file, offset, bytes))
                .await
                .map(Answer::Data),
            Request::Write { file, offset, data } => {
                let written = mover.write(files, origin, (file, offset, data)).await?;
                Ok(Answer::Count(written.into()))
            }
            Request::SubmitRead {
                file,
                offset,
                bytes,
            } => {
                let (files, mover) = (self.files.clone(), mover.clone());
                self.submit(bytes, async move {
                    let part = (file, offset, bytes);
                    mover.read(&*files, origin, part).await.map(Outcome::Read)
                })
            }
            Request::SubmitWrite { file, offset, data } => {
                let (files, mover) = (self.files.clone(), mover.clone());
                self.submit(data.bytes(), async move {
                    let part = (file, offset, data);
                    let written = mover.write(&*files, origin, part).await;
                    written.map(Outcome::Written)
                })
            }
            Request::Wait { ticket } => match self.tickets.wait(ticket).await {
                Some(answer) => answer,
                None => Ok(Answer::Refused(errno::EINVAL)),
            },
            Request::Evaluate {
                expression,
                bits,
                to,
            } => {
                let value = files.evaluate(expression, bits, to).await;
                value.map(Answer::Count)
            }
            Request::NextPiece { capacity } => files.next_piece(capacity).await.map(Answer::Piece),
            Request::Operate { operator, has_bias } => match &self.tasks.accelerators {
                Some(accelerators) => {
                    let span = accelerators.compute(origin, &operator, has_bias).await;
                    Ok(Answer::Count(self.tasks.cores.cycles_of(span) * TENTHS))
                }
                None => Ok(Answer::Refused(errno::ENODEV)),
            },
            Request::Emit { data } => files.emit(data).await.map(|()| Answer::Done),
            Request::LookUp {
                store,
                name,
                capacity,
            } => {
                let found = mover.look_up(files, origin, (store, name), capacity);
                let found = found.await;
                found.map(Answer::Value)
            }
        }
    }

    fn submit(
        &mut self,
        bytes: u32,
        work: impl Future<Output = std::result::Result<Outcome, FileError>> + 'static,
    ) -> std::result::Result<Answer, FileError> {
        Ok(match self.tickets.has_room(bytes.into()) {
            true => Answer::Ticket(self.tickets.submit(bytes.into(), work)),
            false => Answer::Refused(errno::EAGAIN),
        })
    }
}

/// What a task logged, in no more bytes than these: what stands for bytes that are no UTF-8 may push out the end.
fn text_of(log: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(log).into_owned();
    text.truncate(text.floor_char_boundary(log.len()));
    text
}

/// What the engine does: makes an instance of the program and calls its functions.
async fn main(program: &Program, store: &mut Store<Inside>) -> Result<i32> {
    let instance = program.pre().instantiate_async(&mut *store).await?;
    if program.initializes() {
        let initialize = instance.get_typed_func::<(), ()>(&mut *store, INITIALIZE)?;
        initialize.call_async(&mut *store, ()).await?;
    }
    let main = instance.get_typed_func::<(), i32>(&mut *store, MAIN)?;
    main.call_async(&mut *store, ()).await
}
