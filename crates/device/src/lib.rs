//! The firmware of the drive.
