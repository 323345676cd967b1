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
mod addresses;
mod audit;
mod base_url;
mod body;
mod budget;
mod canonical;
mod catalog;
mod cause;
mod check;
mod client_certificate;
mod content;
mod credentials;
mod destination;
mod effect;
mod egress;
mod endpoint;
mod error;
mod fetch;
mod glob;
mod key_service;
mod list_reads;
mod location;
mod metrics;
mod operation;
mod outcome;
mod outside;

mod policy;
mod proxy;
mod reach;
mod reads;
mod reports;
mod request;
mod resolve;
mod response;
mod seen;
mod sender;
mod settings;
mod transfer;
mod validity;
mod watched;
mod ways;
mod wire;
mod write_counts;
mod writes;

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use budgets::{WriteAges, WriteLimits};

pub use crate::address::{ApiServerAddress, KnownNetworks, NodeNetwork, NodeNetworkKind};
pub use crate::addresses::AllowedAddresses;
pub use crate::audit::CallId;
pub use crate::base_url::{BaseUrl, Origin};
pub use crate::canonical::PathPattern;
pub use crate::catalog::{CatalogPath, CatalogPlace};
pub use crate::client_certificate::ClientCertificate;
pub use crate::content::RuleContent;
pub use crate::credentials::{
    Acs3Keys, Acs3Settings, ApplicationCredentialName, AssumeRole, AzureCloud, CredentialError, CredentialKind,
    CredentialSettings, Credentials, EntraClientName, EntraLogin, EntraProof, EntraSettings, EntraTenant, EntraWord,
    GoogleSettings, GoogleTokens, IbmIamSettings, IbmProfile, IbmProfileWord, IbmTokens, IdentityHeader,
    IdentityService, KeySource, KeystoneDomain, KeystoneLogin, KeystoneName, KeystoneSettings, ManagedIdentity, RamArn,
    RamRoleTaken, RoleArn, Secrets, Sigv4Settings, Sts,
};
pub use crate::effect::Effect;
pub use crate::egress::{Egress, EgressCall, JudgedRequest};
pub use crate::endpoint::{
    AcsVersion, Endpoint, EndpointLimits, EndpointPlace, RegionName, Requirement, Rule, Signing,
};
pub use crate::error::EgressError;
pub use crate::fetch::{Fetch, FetchAnswer, FetchError, FetchRequest, FetchSettings};
pub use crate::key_service::KeyServiceUrl;
pub use crate::list_reads::ListReads;
pub use crate::metrics::Metrics;
pub use crate::operation::{OperationPattern, OperationPlace};
pub use crate::policy::Mode;
pub use crate::proxy::{Proxy, ProxyLogin, ProxyUrl};
pub use crate::reach::Unreached;
pub use crate::reports::{Report, Reports};
pub use crate::request::{Body, GuestRequest, GuestResponse, Method, RequestLocation, SendError};
pub use crate::resolve::Resolve;
pub use crate::seen::{Ending, Seen, SeenRequest};
pub use crate::settings::{EgressSettings, Fence};
pub use crate::transfer::Transfer;
pub use crate::watched::{LeavingRequest, RequestWatcher, WatchedRequest};
pub use crate::write_counts::{StoredCounts, WriteCounts, WriteRecord};
pub use crate::writes::Demands;
