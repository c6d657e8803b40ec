//! Style and architecture as tests: what ARCHITECTURE.md promises about the shape
//! of the code, held against the code.

mod arrows;
mod commands;
mod docs;
mod interface;
mod layers;
mod lengths;
mod licences;
mod metadata;
mod python;
mod rust;
mod tree;
