//! The two APIs, and how their answers are to be understood.

use aerostat_sdk::Method;
use aerostat_sdk::http::{Client, Request};

use super::errors;
use super::names::{COMPUTE, NETWORK};
use crate::id::ResourceId;

/// One of the two APIs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AzureApi {
    /// Machines, scale sets and disks.
    Compute,
    /// Load balancers, addresses, interfaces, security groups and routes.
    Network,
}

/// The name of a parameter that every request has.
pub(crate) const VERSION: &str = "api-version";

impl AzureApi {
    /// The name of its endpoint.
    pub(crate) const fn endpoint(self) -> &'static str {
        match self {
            Self::Compute => COMPUTE,
            Self::Network => NETWORK,
        }
    }

    /// The version that its requests name.
    pub(crate) const fn version(self) -> &'static str {
        match self {
            Self::Compute => "2025-04-01",
            Self::Network => "2025-05-01",
        }
    }

    /// The endpoint, and how its answers are to be understood: `{"error": {"code": "ResourceNotFound", "message": "…"}}`.
    const fn client(self) -> Client<'static> {
        let client = Client::new(self.endpoint()).not_found(errors::is_not_found).busy(errors::is_busy);
        match self {
            Self::Compute => client.refusals(errors::compute_refusal),
            Self::Network => client.refusals(errors::network_refusal),
        }
    }

    /// A request by any method for an object or a list.
    pub(crate) fn request(self, method: Method, id: &ResourceId) -> Request {
        self.at(method, id.path())
    }

    /// A GET of an object or a list.
    pub(crate) fn get(self, id: &ResourceId) -> Request {
        self.request(Method::Get, id)
    }

    /// A request for any path.
    pub(crate) fn at(self, method: Method, path: Vec<String>) -> Request {
        self.client().request(method, path).query(VERSION, self.version())
    }
}
