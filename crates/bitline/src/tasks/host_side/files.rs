//! Files of the drive as a program of the host has them open: pages in memory, read ahead, written behind.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use device::task::{Data, FileError, Files, LocalBoxFuture};
use host::block::BlockDevice;
use host::volume::{Object, VolumeError};
use sim::resource::Broadcast;
use sim::{JoinHandle, Sim};

use super::page_cache::PageCache;
use crate::driver::Queue;
use crate::host_end::HostMachine;

/// Files that are open.
pub(super) struct HostFiles {
    files: Vec<Rc<OpenFile>>,
    block: BlockDevice<Queue>,
    sim: Sim,
    /// Requests to the drive that were sent, and may not be over.
    requests: RefCell<Vec<Sent>>,
}

struct OpenFile {
    object: Object,
    writable: bool,
    machine: Rc<HostMachine>,
    block: BlockDevice<Queue>,
    cache: RefCell<PageCache>,
    /// First pages of runs that are being written to the drive.
    leaving: RefCell<BTreeSet<u64>>,
    /// A request is over.
    over: Broadcast,
    /// What the drive refused to write.
    failed: Cell<Option<FileError>>,
}

/// Dropping it stops it.
struct Sent(JoinHandle<()>);

impl Drop for Sent {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl HostFiles {
    /// Opens objects, each of which may be written or not. None of them is in memory.
    pub(super) fn open(
        machine: Rc<HostMachine>,
        block: &BlockDevice<Queue>,
        objects: impl Iterator<Item = (Object, bool)>,
    ) -> HostFiles {
        let page_bytes = machine.config().page_bytes;
        let open = |(object, writable): (Object, bool)| {
            let bytes = object.content.bytes();
            let cache = PageCache::new(bytes, page_bytes, block.keeps_data());
            Rc::new(OpenFile {
                object,
                writable,
                machine: machine.clone(),
                block: block.clone(),
                cache: RefCell::new(cache),
                leaving: RefCell::default(),
                over: Broadcast::new(machine.sim()),
                failed: Cell::default(),
            })
        };
        HostFiles {
            files: objects.map(open).collect(),
            block: block.clone(),
            sim: machine.sim().clone(),
            requests: RefCell::default(),
        }
    }

    /// Writes to the drive what it does not have yet, and has it make that durable.
    ///
    /// # Errors
    /// What the drive reports.
    pub(super) async fn close(&self) -> Result<(), FileError> {
        let mut is_written = false;
        for file in &self.files {
            is_written |= file.writable;
            self.written_behind(file).await;
            let most = file.stretch_pages();
            let all = file.cache.borrow().all();
            let runs = file.cache.borrow_mut().clean(all, most);
            for run in runs {
                self.send_out(file, run).await;
            }
        }
        for file in &self.files {
            self.written_behind(file).await;
            if let Some(error) = file.failed.take() {
                return Err(error);
            }
        }
        if is_written {
            let flushed = self.block.flush().await;
            flushed.map_err(|error| failure(&error.into()))?;
        }
        Ok(())
    }

    /// Waits until nothing of a file is being written behind.
    async fn written_behind(&self, file: &OpenFile) {
        while !file.leaving.borrow().is_empty() {
            file.over.next().await;
        }
    }

    /// Has pages that are in memory written to the drive, while the program goes on.
    async fn send_out(&self, file: &Rc<OpenFile>, pages: Range<u64>) {
        let first = pages.start;
        let bytes = file.cache.borrow().bytes_of(pages);
        let data = match file.cache.borrow().look(bytes.clone()) {
            Some(data) => data.to_vec(),
            None => vec![0; (bytes.end - bytes.start) as usize],
        };
        file.leaving.borrow_mut().insert(first);
        file.machine.kernel(file.machine.config().request_ns).await;
        let of = file.clone();
        self.send(async move {
            of.machine.memory_moves(data.len() as u64);
            let written = of.object.write(&of.block, bytes.start, &data).await;
            if let Err(error) = written {
                of.failed.set(Some(failure(&error)));
            }
            of.leaving.borrow_mut().remove(&first);
            of.over.announce();
        });
    }

    /// Has pages read from the drive.
    async fn send_for(&self, file: &Rc<OpenFile>, pages: Range<u64>) {
        file.machine.kernel(file.machine.config().request_ns).await;
        let of = file.clone();
        self.send(async move {
            let bytes = of.cache.borrow().bytes_of(pages.clone());
            let count = bytes.end - bytes.start;
            of.machine.memory_moves(count);
            match of.object.read(&of.block, bytes.start, count).await {
                Ok(data) => of.cache.borrow_mut().came(pages, &data),
                Err(error) => {
                    of.cache.borrow_mut().lost(pages);
                    of.failed.set(Some(failure(&error)));
                }
            }
            of.over.announce();
        });
    }

    fn send(&self, request: impl Future<Output = ()> + 'static) {
        let mut requests = self.requests.borrow_mut();
        requests.retain(|sent| !sent.0.is_finished());
        requests.push(Sent(self.sim.spawn(request)));
    }

    /// Has pages in memory: `wanted` are asked for, and those of them that are `needed` are waited for.
    async fn have(
        &self,
        file: &Rc<OpenFile>,
        wanted: Range<u64>,
        needed: Range<u64>,
    ) -> Result<(), FileError> {
        let most = file.window_pages();
        let runs = file.cache.borrow_mut().fetch(wanted, most);
        for run in runs {
            self.send_for(file, run).await;
        }
        let mut has_waited = false;
        while file.cache.borrow().awaits(needed.clone()) {
            has_waited = true;
            file.over.next().await;
        }
        if has_waited {
            file.machine.kernel(file.machine.config().wake_ns).await;
        }
        match file.failed.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    async fn read_bytes(&self, file: &Rc<OpenFile>, bytes: Range<u64>) -> Result<Data, FileError> {
        let machine = &file.machine;
        machine.kernel(machine.config().call_ns).await;
        let window = file.window_pages();
        let wanted = file.cache.borrow_mut().wanted(bytes.clone(), window);
        let needed = file.cache.borrow().touched(bytes.clone());
        self.have(file, wanted, needed).await?;
        let count = bytes.end - bytes.start;
        machine.memory_moves(2 * count);
        machine.kernel(machine.copy_ns(count)).await;
        Ok(match file.cache.borrow().look(bytes) {
            Some(data) => Data::Bytes(data.to_vec()),
            None => Data::Untold(count as u32),
        })
    }

    async fn write_bytes(
        &self,
        file: &Rc<OpenFile>,
        offset: u64,
        data: Data,
    ) -> Result<(), FileError> {
        let machine = &file.machine;
        machine.kernel(machine.config().call_ns).await;
        let count = u64::from(data.bytes());
        let bytes = offset..offset + count;
        let ends = file.cache.borrow().partly_written(bytes.clone());
        for part in ends {
            self.have(file, part.clone(), part).await?;
        }
        machine.memory_moves(2 * count);
        machine.kernel(machine.copy_ns(count)).await;
        let known = data.known();
        file.cache.borrow_mut().write(bytes.clone(), known);
        self.write_behind(file, bytes).await;
        Ok(())
    }

    /// Sends the stretches to the drive that are written as a whole now that these bytes were, but for the page within which
    /// they end: more of it may follow. A stretch that is still on its way from an earlier time stays for later, so that versions
    /// do not overtake each other.
    async fn write_behind(&self, file: &Rc<OpenFile>, bytes: Range<u64>) {
        let pages = file.stretch_pages();
        let touched = file.cache.borrow().touched(bytes.clone());
        let [_, open] = file.cache.borrow().partly_written(bytes);
        for stretch in touched.start / pages..touched.end.div_ceil(pages) {
            let begin = stretch * pages;
            let all = file.cache.borrow().all().end;
            let stretch_pages = begin..(begin + pages).min(all);
            let is_whole = file.cache.borrow().is_dirty(stretch_pages.clone());
            let is_open = stretch_pages.contains(&open.start) && !open.is_empty();
            if is_whole && !is_open && !file.leaving.borrow().contains(&begin) {
                let runs = file.cache.borrow_mut().clean(stretch_pages, pages);
                for run in runs {
                    self.send_out(file, run).await;
                }
            }
        }
    }
}

impl OpenFile {
    /// Pages that are read ahead at a time.
    fn window_pages(&self) -> u64 {
        let config = self.machine.config();
        config.read_ahead_bytes / u64::from(config.page_bytes)
    }

    /// Pages that are written behind at a time.
    fn stretch_pages(&self) -> u64 {
        let config = self.machine.config();
        config.write_behind_bytes / u64::from(config.page_bytes)
    }
}

impl Files for HostFiles {
    fn count(&self) -> u32 {
        self.files.len() as u32
    }

    fn bytes(&self, file: u32) -> Option<u64> {
        let file = self.files.get(file as usize)?;
        Some(file.cache.borrow().file_bytes())
    }

    fn writable(&self, file: u32) -> bool {
        let file = self.files.get(file as usize);
        file.is_some_and(|file| file.writable)
    }

    fn has_data(&self) -> bool {
        self.block.keeps_data()
    }

    fn read<'a>(
        &'a self,
        file: u32,
        offset: u64,
        bytes: u32,
    ) -> LocalBoxFuture<'a, Result<Data, FileError>> {
        let file = &self.files[file as usize];
        Box::pin(self.read_bytes(file, offset..offset + u64::from(bytes)))
    }

    fn write<'a>(
        &'a self,
        file: u32,
        offset: u64,
        data: Data,
    ) -> LocalBoxFuture<'a, Result<(), FileError>> {
        let file = &self.files[file as usize];
        Box::pin(self.write_bytes(file, offset, data))
    }
}

fn failure(error: &VolumeError) -> FileError {
    FileError::Device {
        reason: error.to_string(),
    }
}
