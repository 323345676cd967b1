//! Packs a release from what was compiled. Pure but for reading and writing files: the same files make the same bytes, whoever packs
//! them, wherever and whenever.
//!
//! ```text
//! programs ─► image ───┐
//! modules, described ──┼─► ■ Layout ─► aerostat-bundle.tar
//! deploy/chart ─► tgz ─┤       ▲
//! wit ─► package of WIT┘       │
//! SBOMs, provenance ───────────┘
//! ```

#![forbid(unsafe_code)]

mod archive;
mod authorities;
mod chart;
mod compiled;
mod contract;
mod image;
mod manifest;
mod module;
mod provenance;
mod release;

pub use crate::compiled::CompiledRelease;
pub use crate::release::{PackedFile, pack};
