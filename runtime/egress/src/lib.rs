//! The one way out of the host to a cloud: policy, then credentials, then wire.
//!
//! ```text
//! GuestRequest ─policy─► Permitted ─credentials─► Authenticated ─wire─► resolve ► address filter ► dial ► TLS
//!               └ Denied                                          ◄─ capped, scrubbed, no redirect followed
//! ```
//!
//! It knows neither WebAssembly nor Kubernetes: what a guest asks for comes as plain values, and so does what is known
//! of the cluster.

#![forbid(unsafe_code)]

mod address;
mod audit;
mod base_url;
mod budget;
mod canonical;
mod check;
mod credentials;
mod endpoint;
mod error;
mod gate;
mod metrics;
mod outcome;
mod policy;
mod reads;
mod request;
mod resolve;
mod response;
mod wire;
mod writes;

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use crate::address::{ApiServer, Networks, NodeNetwork, NodeNetworkKind};
pub use crate::audit::CallId;
pub use crate::base_url::{BaseUrl, Origin};
pub use crate::canonical::PathPattern;
pub use crate::credentials::{CredentialError, CredentialKind, CredentialSettings, Credentials};
pub use crate::endpoint::{Addresses, Endpoint, EndpointLimits, Rule};
pub use crate::error::GateError;
pub use crate::gate::{Fence, Gate, GateCall, GateSettings};
pub use crate::metrics::Metrics;
pub use crate::policy::Mode;
pub use crate::request::{GuestRequest, GuestResponse, Method, SendError};
pub use crate::resolve::Resolve;
pub use crate::writes::{Demands, Withheld, WriteLimits};
