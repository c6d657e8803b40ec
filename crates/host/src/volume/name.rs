//! What objects may be called.

use super::error::VolumeError;

/// The most bytes of a name, in UTF-8.
pub const NAME_BYTES_MAX: usize = 255;

/// Names are UTF-8 of 1 to [`NAME_BYTES_MAX`] bytes without control characters, and are compared byte by byte:
/// nothing is normalized, and case counts.
pub fn check(name: &str) -> Result<(), VolumeError> {
    let reason = if name.is_empty() {
        "it is empty; a name has 1 to 255 bytes"
    } else if name.len() > NAME_BYTES_MAX {
        "it is longer than 255 bytes of UTF-8"
    } else if name.chars().any(char::is_control) {
        "it has a control character, such as a line feed or NUL; leave that out"
    } else {
        return Ok(());
    };
    let name = name.chars().take(40).collect();
    Err(VolumeError::Name { name, reason })
}
