//! `aerostat provider`, but for its conformance: each command is a file of its own.

pub(super) mod build;
pub(super) mod call;
pub(super) mod check;
mod checked;
pub(super) mod describe;
mod missing_yaml;
mod module_file;
