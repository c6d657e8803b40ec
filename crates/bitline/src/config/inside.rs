//! What of a configuration is the drive's, for who looks inside.

use device::DeviceConfig;

use super::Config;

/// What is inside of a [`Config`]: the sections of the drive's parts, which change when these do. Not stable; keys are, for
/// [`Config::value`] and [`Config::with`].
pub trait InsideConfig {
    /// Everything that makes the drive.
    fn device(&self) -> &DeviceConfig;
}

impl InsideConfig for Config {
    fn device(&self) -> &DeviceConfig {
        &self.device
    }
}
