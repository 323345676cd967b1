//! Runs a provider where it can reach nothing but the cloud that it serves.
//!
//! ```text
//! Source ──► Module ──► Provider::load ──► Provider ──► Cloud { instances, … }
//!   bytes whose digest      imports and        │
//!   was compared            exports checked    ▼ one call, one store
//!                                            guest ──► egress::Egress ──► cloud
//! ```
//!
//! A guest keeps nothing between calls, sees no credential, and is not believed: its answers are checked, its text is
//! cut and escaped, and whatever it does, its call ends.

mod bindings;
mod call;
mod compile;
mod compile_limits;
mod convert;
mod engine;
mod error;
mod interfaces;
mod meter;
mod metrics;
mod provider;
mod source;
mod ticker;
mod untrusted;

pub use crate::call::CallLimits;
pub use crate::compile::{COMMAND as COMPILE_COMMAND, compile_for_another};
pub use crate::compile_limits::CompileLimits;
pub use crate::engine::Sandbox;
pub use crate::error::LoadError;
pub use crate::interfaces::Interfaces;
pub use crate::metrics::Metrics;
pub use crate::provider::{Candidate, ProbeError, Provider, ProviderSettings, Swapped};
pub use crate::source::{ConfigMaps, Module, Source, SourceError};
pub use sha256::{Digest, InvalidDigest};
