//! Tasks in simulated time: programs loaded once, objects held while a run works on them.

use host::tasks::{Loading, TaskDevice, TaskError};
use host::volume::{Content, Kind, Object, VolumeError};
use nvme::task::{
    Limits, Outcome, ProgramLimits, ProgramList, ProgramRecord, ProgramState, Request,
};
use nvme::{RegionId, Status};
use sim::resource::Permit;

use super::{Program, TaskFile, TaskRun};
use crate::driver::Queue;
use crate::error::Error;
use crate::host_end::{Absent, DriveVolume, Holder, Host, Using};
use crate::placed::Placed;
use crate::volume::not_found;

/// Bytes of a value that a run may return which asks for no limit.
pub(super) const RETURN_BYTES: u32 = 64 << 10;
/// Bytes of a log, likewise.
pub(super) const LOG_BYTES: u32 = 16 << 10;

/// What a run works on.
#[derive(Default)]
pub(crate) struct Used {
    pub(crate) files: Vec<Object>,
    pub(crate) stores: Vec<RegionId>,
}

/// That what a run works on stays where it is until this is dropped.
#[must_use = "objects are used as long as this is held"]
#[derive(Default)]
pub(crate) struct Taken<'a> {
    _objects: Option<Using<'a>>,
    /// That the volume takes no blocks of placed files.
    _placed: Vec<Permit<'a>>,
}

impl Host {
    /// The programs of the drive: of its compute namespace, or of the first if it has none.
    async fn task_device(&self) -> Result<TaskDevice<Queue>, Error> {
        let owner = self.program_owner().await?;
        Ok(TaskDevice::new(self.block.clone()).with_programs_of(owner))
    }

    /// As [`super::Tasks::list`].
    ///
    /// # Errors
    /// As [`super::Tasks::list`].
    pub async fn programs(&self) -> Result<ProgramList, Error> {
        let list = self.task_device().await?.list().await?;
        *self.programs.limits.borrow_mut() = Some(list.limits);
        Ok(list)
    }

    /// As [`super::Tasks::load`].
    ///
    /// # Errors
    /// As [`super::Tasks::load`].
    pub async fn load_program(&self, module: &[u8], loading: Loading) -> Result<Program, Error> {
        let digest = ProgramRecord::digest_of(module);
        let identifier = match loading.identifier {
            0 => u64::from_le_bytes(*digest.first_chunk().expect("half of it")),
            given => given,
        };
        let _turn = self.programs.turn.acquire(1).await;
        let device = self.task_device().await?;
        let list = self.programs().await?;
        let mut there = list.programs.iter().filter(|program| {
            let same = program.digest == digest && program.identifier.get() == identifier;
            let kept = program.persistent != 0 || !loading.persistent;
            let here = loading
                .index
                .is_none_or(|index| index == program.index.get());
            same && kept && here && program.state() != Some(ProgramState::Loading)
        });
        let index = match there.next() {
            Some(program) => program.index.get(),
            None => {
                let loading = Loading {
                    identifier,
                    ..loading
                };
                device.load(module, loading).await?
            }
        };
        // What was there under this index is gone.
        self.programs
            .active
            .borrow_mut()
            .retain(|_, of| of.index != index);
        if let Err(error) = device.activate(index).await {
            if matches!(error, TaskError::Module(_)) {
                // Nobody can ever run it. That it is there is told by the error; whether it goes changes nothing.
                let _ = device.unload(index).await;
            }
            return Err(error.into());
        }
        let program = Program { index, identifier };
        self.programs.active.borrow_mut().insert(digest, program);
        Ok(program)
    }

    /// As [`super::Tasks::unload`].
    ///
    /// # Errors
    /// As [`super::Tasks::unload`].
    pub async fn unload_program(&self, index: u16) -> Result<(), Error> {
        let _turn = self.programs.turn.acquire(1).await;
        self.task_device().await?.unload(index).await?;
        self.programs
            .active
            .borrow_mut()
            .retain(|_, of| of.index != index);
        Ok(())
    }

    /// As [`super::Tasks::run`].
    ///
    /// # Errors
    /// As [`super::Tasks::run`].
    pub async fn run_program(&self, program: &Program, run: &TaskRun) -> Result<Outcome, Error> {
        let (used, _using) = self.use_objects(run).await?;
        self.run_over(&used, program, run).await
    }

    /// Runs a program over objects, which stay where they are meanwhile.
    async fn run_over(
        &self,
        used: &Used,
        program: &Program,
        run: &TaskRun,
    ) -> Result<Outcome, Error> {
        let request = self.request_of(program, run, used).await?;
        let owner = self.program_owner().await?;
        let block = self.block.clone().with_priority(run.priority);
        let device = TaskDevice::new(block).with_programs_of(owner);
        let mut outcome = device.run(program.index, &request).await?;
        outcome.reason = named(&outcome.reason, &run.files);
        Ok(outcome)
    }

    /// As [`super::Tasks::run_module`].
    ///
    /// # Errors
    /// As [`super::Tasks::run_module`].
    pub async fn run_module(&self, module: &[u8], run: &TaskRun) -> Result<Outcome, Error> {
        // Before it is loaded: whoever comes later to change what it works on waits.
        let (used, _using) = self.use_objects(run).await?;
        let digest = ProgramRecord::digest_of(module);
        let known = self.programs.active.borrow().get(&digest).copied();
        if let Some(program) = known {
            let outcome = self.run_over(&used, &program, run).await;
            match outcome {
                Err(Error::Host(host::Error::Status(error))) if is_gone(error.status) => {}
                other => return other,
            }
        }
        let program = self.load_program(module, Loading::default()).await?;
        self.run_over(&used, &program, run).await
    }

    /// What the drive is asked to run over objects.
    pub(crate) async fn request_of(
        &self,
        program: &Program,
        run: &TaskRun,
        used: &Used,
    ) -> Result<Request, Error> {
        let files = used.files.iter().zip(&run.files);
        let files = files.map(|(object, file)| self.file_in_drive(object, file.writable));
        Ok(Request {
            identifier: program.identifier,
            isolation: run.isolation,
            retries: run.retries,
            limits: self.limits_of(&run.limits).await?,
            files: files.collect::<Result<_, Error>>()?,
            stores: used.stores.clone(),
            arguments: run.arguments.clone(),
        })
    }

    /// The objects of a run, which stay where they are until the second of both is dropped. All are taken at once, so that
    /// nobody who has one of them waits for another.
    pub(crate) async fn use_objects(&self, run: &TaskRun) -> Result<(Used, Taken<'_>), Error> {
        let named = run.files.iter().filter(|file| file.placed.is_none());
        let named = named.map(|file| &file.name);
        let Some(first) = named.chain(&run.stores).next() else {
            let files = run.files.iter().filter_map(placed_of).collect();
            let used = Used {
                files,
                ..Used::default()
            };
            let taken = self.take(run, &used, None).await?;
            return Ok((used, taken));
        };
        loop {
            let look = async |volume: &mut DriveVolume| {
                let file = |file: &TaskFile| {
                    placed_of(file).map_or_else(|| object_of(volume, &file.name), Ok)
                };
                let files = run.files.iter().map(file);
                let files = files.collect::<Result<Vec<_>, VolumeError>>()?;
                let stores = run.stores.iter().map(|name| store_of(volume, name));
                let (stores, regions): (Vec<_>, Vec<_>) = stores
                    .collect::<Result<Vec<_>, VolumeError>>()?
                    .into_iter()
                    .unzip();
                let numbers = files.iter().chain(&stores);
                let numbers = numbers.filter(|object| !object.is_placed());
                let using = self
                    .mount
                    .uses
                    .begin(numbers.map(|object| object.id.get()).collect());
                let used = Used {
                    files,
                    stores: regions,
                };
                Ok(using.map(|using| (used, using)))
            };
            match self.mount.with(self, Absent::Leave, look).await? {
                Some(Some((used, using))) => {
                    let taken = self.take(run, &used, Some(using)).await?;
                    return Ok((used, taken));
                }
                Some(None) => self.mount.uses.changed().await,
                None => return Err(not_found(first).into()),
            }
        }
    }

    /// That nobody holds what a run is to write.
    async fn take<'a>(
        &'a self,
        run: &TaskRun,
        used: &Used,
        objects: Option<Using<'a>>,
    ) -> Result<Taken<'a>, Error> {
        let mut placed = Vec::new();
        let written = run.files.iter().zip(&used.files);
        for (_, object) in written.filter(|(file, _)| file.writable) {
            self.mount.uses.check(object, Holder::collects)?;
            if object.is_placed() {
                placed.extend(self.may_write_placed(object).await?);
            }
        }
        Ok(Taken {
            _objects: objects,
            _placed: placed,
        })
    }

    /// The object of a name as it is now, if there is one.
    pub(crate) async fn object_now(&self, name: &str) -> Result<Option<Object>, Error> {
        let look = async |volume: &mut DriveVolume| Ok(object_of(volume, name).ok());
        Ok(self.mount.with(self, Absent::Leave, look).await?.flatten())
    }

    /// The limits of a run: what it asks for, or what is usual.
    pub(crate) async fn limits_of(&self, asked: &Limits) -> Result<Limits, Error> {
        let known = *self.programs.limits.borrow();
        let most: ProgramLimits = match known {
            Some(limits) => limits,
            None => self.programs().await?.limits,
        };
        let (log, value) = (most.log_bytes_max.get(), most.return_bytes_max.get());
        Ok(Limits {
            log_bytes: or_usual(asked.log_bytes, LOG_BYTES, log),
            return_bytes: or_usual(asked.return_bytes, RETURN_BYTES, value),
            ..*asked
        })
    }
}

/// What a run has that asks for so much, where 0 is as much as is usual.
pub(super) fn or_usual(asked: u32, usual: u32, most: u32) -> u32 {
    match asked {
        0 => usual.min(most),
        asked => asked,
    }
}

/// A run's file that is no object of the volume.
fn placed_of(file: &TaskFile) -> Option<Object> {
    let placed: &Placed = file.placed.as_ref()?;
    Some(placed.object(&file.name))
}

/// The object of a run's file; of `group/vector`, if nothing is called so, the vector of this name or number.
fn object_of(volume: &DriveVolume, name: &str) -> Result<Object, VolumeError> {
    let vector = || {
        let (group, vector) = name.split_once('/')?;
        let of = volume.named(group)?;
        let numbered = || volume.numbered(of.id, vector.parse().ok()?);
        volume.vector(of.id, vector).or_else(numbered)
    };
    let found = volume.named(name).or_else(vector);
    let object = found.ok_or_else(|| not_found(name))?;
    match object.content.kind() {
        found @ (Kind::Group | Kind::Store) => Err(VolumeError::WrongKind {
            name: name.to_owned(),
            found,
            wanted: Kind::File,
        }),
        _ => Ok(object),
    }
}

/// The store of a run, and the search region that is meant of it.
fn store_of(volume: &DriveVolume, name: &str) -> Result<(Object, RegionId), VolumeError> {
    let numbered = || {
        let (store, number) = name.rsplit_once('/')?;
        Some((volume.named(store)?, number.parse().ok()?))
    };
    let found = volume.named(name).map(|store| (store, 0));
    let (object, number): (Object, usize) =
        found.or_else(numbered).ok_or_else(|| not_found(name))?;
    let Content::Store(store) = &object.content else {
        return Err(VolumeError::WrongKind {
            name: name.to_owned(),
            found: object.content.kind(),
            wanted: Kind::Store,
        });
    };
    let field = store.names.get(number).ok_or_else(|| not_found(name))?;
    let region = field.region;
    Ok((object, region))
}

/// A reason that ends with a file of the run, which only the host can call by its name.
fn named(reason: &str, files: &[TaskFile]) -> String {
    let number = reason.rsplit_once(" of file ").map(|(_, number)| number);
    let file = number.and_then(|number| files.get(number.parse::<usize>().ok()?));
    match file {
        Some(file) => format!("{reason} ({:?})", file.name),
        None => reason.to_owned(),
    }
}

/// Whether a program is not there any more, or not ready to run.
fn is_gone(status: Status) -> bool {
    status.is(Status::NO_PROGRAM) || status.is(Status::PROGRAM_NOT_ACTIVATED)
}
