//! How drives that are served are opened, as Python says it.

use std::path::PathBuf;

use crate::config::Config;

/// What opens a drive on its own thread: of the configuration, in the image if one is given; or the one in an existing image.
pub(crate) fn opening(
    config: Option<&Config>,
    image: Option<PathBuf>,
) -> impl FnOnce() -> Result<bitline::Drive, bitline::Error> + Send + use<> {
    let config = config.map(|config| config.0.clone());
    move || match (config, image) {
        (None, Some(path)) => bitline::Drive::open_existing_image(&path),
        (None, None) => bitline::Drive::open(bitline::Config::preset(bitline::DEFAULT_PRESET)?),
        (Some(config), Some(path)) => bitline::Drive::open_image(config, &path),
        (Some(config), None) => bitline::Drive::open(config),
    }
}
