//! A transaction as the files that a task sees.

use std::rc::Rc;

use super::ends::told;
use super::names::Names;
use super::vectors::Vectors;
use crate::task::{Data, FileError, Files, LocalBoxFuture};
use crate::tx::Transaction;

/// The files of a transaction, and what else its task can ask of the drive.
pub(super) struct TransactionFiles {
    pub(super) transaction: Rc<Transaction>,
    pub(super) vectors: Vectors,
    pub(super) names: Names,
    /// Whether the drive keeps data, or only time.
    pub(super) has_data: bool,
}

impl Files for TransactionFiles {
    fn count(&self) -> u32 {
        self.transaction.files().len() as u32
    }

    fn bytes(&self, file: u32) -> Option<u64> {
        let found = self.transaction.files().get(file as usize);
        found.map(|found| found.bytes())
    }

    fn writable(&self, file: u32) -> bool {
        let found = self.transaction.files().get(file as usize);
        found.is_some_and(|found| found.is_writable())
    }

    fn has_data(&self) -> bool {
        self.has_data
    }

    fn read<'a>(
        &'a self,
        file: u32,
        offset: u64,
        bytes: u32,
    ) -> LocalBoxFuture<'a, Result<Data, FileError>> {
        Box::pin(async move {
            let read = self.transaction.read(file, offset, bytes).await;
            let read = read.map_err(|error| told(&error, &self.transaction))?;
            Ok(match self.has_data {
                true => Data::Bytes(read),
                false => Data::Untold(read.len() as u32),
            })
        })
    }

    fn write<'a>(
        &'a self,
        file: u32,
        offset: u64,
        data: Data,
    ) -> LocalBoxFuture<'a, Result<(), FileError>> {
        Box::pin(async move {
            let bytes = data.bytes();
            let known = data.known();
            let written = self.transaction.write(file, offset, bytes, known).await;
            written.map_err(|error| told(&error, &self.transaction))
        })
    }

    fn evaluate<'a>(
        &'a self,
        expression: Vec<u8>,
        bits: u64,
        to: Option<u32>,
    ) -> LocalBoxFuture<'a, Result<u64, FileError>> {
        Box::pin(async move { self.vectors.evaluate(&expression, bits, to).await })
    }

    fn look_up<'a>(
        &'a self,
        store: u32,
        name: Vec<u8>,
    ) -> LocalBoxFuture<'a, Result<Option<Vec<u8>>, FileError>> {
        Box::pin(async move { self.names.look_up(store, &name).await })
    }
}
