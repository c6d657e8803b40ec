//! Opening a drive: its bits in memory, nowhere, or in an image file.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use device::memory::Dumped;
use device::{CONTENT_VERSION, MediaState};
use media::nand::{Image, ImageCheck, MediaError, Nand, Storage};
use sim::Time;

use super::{Drive, InsideDrive, Watch, unwatched};
use crate::config::{Config, StorageKind};
use crate::error::Error;
use crate::footprint::memory_limit;
use crate::host_end::Kept;

impl Drive {
    /// Opens a drive with its bits in memory, or nowhere, as the configuration says.
    ///
    /// # Errors
    /// If the configuration wants an image file, or makes no drive.
    pub fn open(config: Config) -> Result<Drive, Error> {
        Drive::open_watched(config, None, unwatched())
    }

    /// As [`Drive::open`], or with a path as [`Drive::open_image`]; `watch` looks on from the first
    /// event on, at this call and all later ones.
    ///
    /// # Errors
    /// As these; [`Error::Interrupted`].
    pub fn open_watched(
        config: Config,
        image: Option<&Path>,
        watch: Watch,
    ) -> Result<Drive, Error> {
        config.check_memory(memory_limit())?;
        match image {
            Some(path) => Drive::in_image(config, path, watch),
            None => Drive::in_memory(config, watch),
        }
    }

    fn in_memory(config: Config, watch: Watch) -> Result<Drive, Error> {
        let storage = match config.data.storage {
            StorageKind::Memory => Storage::Memory,
            StorageKind::None => Storage::None,
            StorageKind::Image => {
                return Err(crate::ConfigError::Value {
                    key: "data.storage".into(),
                    value: "image".into(),
                    reason: "an image needs a path: open the drive with one".into(),
                }
                .into());
            }
        };
        Drive::on(config, storage, MediaState::Blank, None, watch)
    }

    /// Opens the drive whose bits are in the image file at `path`, or makes a blank
    /// one there. What an earlier process left is recovered.
    ///
    /// # Errors
    /// A file that is no image, damaged, open elsewhere, or made with a
    /// configuration whose layout differs; it is left as it was.
    pub fn open_image(config: Config, path: &Path) -> Result<Drive, Error> {
        Drive::open_watched(config, Some(path), unwatched())
    }

    fn in_image(config: Config, path: &Path, watch: Watch) -> Result<Drive, Error> {
        if !path.exists() {
            let geometry = &config.device.nand.geometry;
            let image = Image::create(path, geometry, CONTENT_VERSION, &config.to_toml()?)
                .map_err(MediaError::from)?;
            return Drive::on(
                config,
                Storage::Image(image),
                MediaState::Blank,
                Some(path.to_owned()),
                watch,
            );
        }
        let image = Image::open(path, CONTENT_VERSION).map_err(MediaError::from)?;
        config.check_image(&Config::from_complete_toml(image.text())?, path)?;
        Drive::on(
            config,
            Storage::Image(image),
            MediaState::Used,
            Some(path.to_owned()),
            watch,
        )
    }

    /// Opens the drive in an existing image file, with the configuration it was
    /// made with.
    ///
    /// # Errors
    /// As [`Drive::open_image`]; also if there is no file.
    pub fn open_existing_image(path: &Path) -> Result<Drive, Error> {
        Drive::open_existing_image_watched(path, unwatched())
    }

    /// As [`Drive::open_existing_image`], under a watch.
    ///
    /// # Errors
    /// As [`Drive::open_existing_image`]; [`Error::Interrupted`].
    pub fn open_existing_image_watched(path: &Path, watch: Watch) -> Result<Drive, Error> {
        let image = Image::open(path, CONTENT_VERSION).map_err(MediaError::from)?;
        Drive::on_existing(image, watch)
    }

    /// Opens the drive in an existing image file to look at it: the file is not written. What the drive
    /// does, its recovery included, is kept in memory and gone when it is closed. Several may look
    /// at an image at once.
    ///
    /// # Errors
    /// As [`Drive::open_existing_image`].
    pub fn open_image_read_only(path: &Path) -> Result<Drive, Error> {
        Drive::open_image_read_only_watched(path, unwatched())
    }

    /// As [`Drive::open_image_read_only`], under a watch.
    ///
    /// # Errors
    /// As [`Drive::open_existing_image`]; [`Error::Interrupted`].
    pub fn open_image_read_only_watched(path: &Path, watch: Watch) -> Result<Drive, Error> {
        let image = Image::open_read_only(path, CONTENT_VERSION).map_err(MediaError::from)?;
        Drive::on_existing(image, watch)
    }

    /// Looks through an image without opening the drive in it and without writing the file: its records,
    /// and the data of all programmed pages if `data` is set.
    ///
    /// # Errors
    /// As [`Drive::open_existing_image`].
    pub fn check_image(path: &Path, data: bool) -> Result<ImageCheck, Error> {
        let checked = Image::check(path, CONTENT_VERSION, data);
        Ok(checked.map_err(MediaError::from)?)
    }

    fn on_existing(image: Image, watch: Watch) -> Result<Drive, Error> {
        let config = Config::from_complete_toml(image.text())?;
        config.check_memory(memory_limit())?;
        let path = Some(image.path().to_owned());
        Drive::on(config, Storage::Image(image), MediaState::Used, path, watch)
    }

    fn on(
        config: Config,
        storage: Storage,
        media: MediaState,
        image: Option<PathBuf>,
        watch: Watch,
    ) -> Result<Drive, Error> {
        let nand = Nand::open(&config.device.nand, storage)?;
        let mut drive = Drive {
            nand: Some(Rc::new(RefCell::new(nand))),
            powered: None,
            off_since: Time::ZERO,
            dumped: Dumped::default(),
            image,
            identity: Rc::default(),
            watch,
            process: std::process::id(),
            lives: 0,
            opened_before: 0,
            runs: 0,
            kept: Kept::default(),
            priority: Rc::default(),
            traced: None,
            config,
        };
        drive.power_up_on(media, None)?;
        // The health page counts this one, too.
        drive.opened_before = u64::from(drive.device()?.controller.power_cycles()) - 1;
        Ok(drive)
    }
}
