//! An instance of a stream's task: what it sees of the drive.

use std::cell::RefCell;
use std::rc::Rc;

use sim::{Requester, Time};

use super::input::Taken;
use super::pipeline::Pipeline;
use crate::task::{Data, FileError, Files, LocalBoxFuture, Piece, errno};

/// What an element is at.
#[derive(Clone, Debug)]
enum At {
    /// It has taken no piece.
    Nothing,
    /// A piece, of which the task has had so many bytes, since when it has any.
    Piece { taken: Taken, had: u32, since: Time },
    /// There are no more.
    End,
}

/// A task's side of a stream.
pub(super) struct Element {
    pipeline: Rc<Pipeline>,
    /// The files of the stream's request.
    files: Rc<dyn Files>,
    number: u32,
    requester: Requester,
    at: RefCell<At>,
}

impl Element {
    pub(super) fn new(
        pipeline: Rc<Pipeline>,
        files: Rc<dyn Files>,
        number: u32,
        requester: Requester,
    ) -> Element {
        Element {
            pipeline,
            files,
            number,
            requester,
            at: RefCell::new(At::Nothing),
        }
    }

    /// What it emits is a part of this.
    fn emits_to(&self) -> Option<u64> {
        match &*self.at.borrow() {
            At::Nothing => None,
            At::Piece { taken, .. } => Some(taken.index),
            At::End => Some(super::output::Output::last_words(self.number)),
        }
    }

    /// Its task is over: nothing more comes of what it was at.
    pub(super) fn over(&self) {
        if let At::Piece { taken, had, since } = &*self.at.borrow() {
            self.computed(taken, *since);
            let left = taken.data.bytes() - had;
            self.pipeline.input.release(left.into());
        }
        let last_words = super::output::Output::last_words(self.number);
        self.pipeline.output.done(last_words);
    }

    /// It is through with a piece.
    fn computed(&self, taken: &Taken, since: Time) {
        self.pipeline.output.done(taken.index);
        let bytes = taken.data.bytes();
        self.pipeline.notes.computed(self.number, since, bytes);
    }

    /// The next part of the piece that the task has, or of the next one.
    async fn next(&self, capacity: u32) -> Option<Piece> {
        let has_more = match &*self.at.borrow() {
            At::Piece { taken, had, .. } => *had < taken.data.bytes(),
            At::Nothing => false,
            At::End => return None,
        };
        if !has_more {
            if let At::Piece { taken, since, .. } = &*self.at.borrow() {
                self.computed(taken, *since);
            }
            self.at.replace(At::Nothing);
            let waiting = self.pipeline.rest.wait();
            let taken = self.pipeline.input.take().await;
            drop(waiting);
            match taken {
                Some(taken) => self.at.replace(At::Piece {
                    taken,
                    had: 0,
                    since: self.pipeline.notes.now(),
                }),
                None => {
                    self.at.replace(At::End);
                    return None;
                }
            };
        }
        let piece = self.part(capacity)?;
        let bytes = piece.data.bytes();
        self.pipeline.bring_in(self.requester, bytes).await;
        self.pipeline.input.release(bytes.into());
        Some(piece)
    }

    /// So many bytes at most of what the task has not had of its piece.
    fn part(&self, capacity: u32) -> Option<Piece> {
        let mut at = self.at.borrow_mut();
        let At::Piece { taken, had, .. } = &mut *at else {
            return None;
        };
        let bytes = capacity.min(taken.data.bytes() - *had);
        let range = *had as usize..(*had + bytes) as usize;
        let piece = Piece {
            offset: taken.offset + u64::from(*had),
            begins: *had == 0,
            data: match &mut taken.data {
                Data::Bytes(all) if range.len() == all.len() => {
                    // The task has all of it: nobody looks at it again but for its length.
                    let whole = std::mem::take(all);
                    taken.data = Data::Untold(bytes);
                    Data::Bytes(whole)
                }
                Data::Bytes(all) => Data::Bytes(all[range].to_vec()),
                Data::Untold(_) => Data::Untold(bytes),
            },
        };
        *had += bytes;
        Some(piece)
    }
}

impl Files for Element {
    fn count(&self) -> u32 {
        self.files.count()
    }

    fn bytes(&self, file: u32) -> Option<u64> {
        self.files.bytes(file)
    }

    fn writable(&self, file: u32) -> bool {
        self.files.writable(file) && !self.pipeline.writes_to(file)
    }

    fn has_data(&self) -> bool {
        self.files.has_data()
    }

    fn read<'a>(
        &'a self,
        file: u32,
        offset: u64,
        bytes: u32,
    ) -> LocalBoxFuture<'a, Result<Data, FileError>> {
        self.files.read(file, offset, bytes)
    }

    fn write<'a>(
        &'a self,
        file: u32,
        offset: u64,
        data: Data,
    ) -> LocalBoxFuture<'a, Result<(), FileError>> {
        self.files.write(file, offset, data)
    }

    fn evaluate<'a>(
        &'a self,
        expression: Vec<u8>,
        bits: u64,
        to: Option<u32>,
    ) -> LocalBoxFuture<'a, Result<u64, FileError>> {
        self.files.evaluate(expression, bits, to)
    }

    fn look_up<'a>(
        &'a self,
        store: u32,
        name: Vec<u8>,
    ) -> LocalBoxFuture<'a, Result<Option<Vec<u8>>, FileError>> {
        self.files.look_up(store, name)
    }

    fn next_piece<'a>(
        &'a self,
        capacity: u32,
    ) -> LocalBoxFuture<'a, Result<Option<Piece>, FileError>> {
        Box::pin(async move { Ok(self.next(capacity).await) })
    }

    fn emit<'a>(&'a self, data: Data) -> LocalBoxFuture<'a, Result<(), FileError>> {
        Box::pin(async move {
            let index = self.emits_to().ok_or(FileError::refused(errno::EINVAL))?;
            if u64::from(data.bytes()) > self.pipeline.output.at_once() {
                return Err(FileError::refused(errno::EFBIG));
            }
            self.pipeline.bring_out(self.requester, data.bytes()).await;
            let waiting = self.pipeline.rest.wait();
            self.pipeline.output.emit(index, data).await;
            drop(waiting);
            Ok(())
        })
    }
}
