//! The API: its requests, its answers, and where its errors differ from those of other clouds.

mod errors;
pub(crate) mod fields;
pub(crate) mod instances;
pub(crate) mod objects;
pub(crate) mod operations;
pub(crate) mod projects;
pub(crate) mod routes;
pub(crate) mod writes;

pub(crate) use self::errors::{COMPUTE, NETWORK};

use aerostat_sdk::http::Client;

/// Items that a page is asked for: the most that the API takes.
pub(crate) const PAGE: u32 = 500;

/// Compute Engine in the machines' project, which `baseUrl` names:
/// `{"error": {"code": 404, "message": "…", "errors": [{"reason": "notFound", …}]}}`.
pub(crate) const API: Client<'_> =
    Client::new(COMPUTE).refusals(errors::compute_refusal).not_found(errors::is_not_found);
/// Compute Engine in the network's project, where firewalls and routes are.
pub(crate) const NETWORK_API: Client<'_> =
    Client::new(NETWORK).refusals(errors::network_refusal).not_found(errors::is_not_found);
