//! `cargo bench -p bitline-device --bench tasks`: how fast tasks start and call.

fn main() {}
