//! What crosses between host and drive, as bytes.
