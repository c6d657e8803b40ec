//! Files of a mounted file system, as the drive that it lies on is to work on them. Needs root, loop devices and mkfs; what is not there is
//! said, and the test is skipped.

mod connected;
mod files;
mod killed;
mod live;
mod place;
mod refused;
