//! The APIs: their requests, their answers, and where their errors differ from those of other clouds.

pub(crate) mod barbican;
mod errors;
pub(crate) mod neutron;
pub(crate) mod octavia;
pub(crate) mod ports;
mod revision;
pub(crate) mod routers;
pub(crate) mod servers;

pub(crate) use self::errors::is_octavia_at_work;
pub(crate) use openstack_api::lists::PAGE;
pub(crate) use openstack_api::{COMPUTE, MICROVERSION, NETWORK};

use aerostat_sdk::http::Client;

/// The name of the endpoint of Octavia.
pub(crate) const LOAD_BALANCER: &str = "load-balancer";
/// The name of the endpoint of Barbican.
pub(crate) const KEY_MANAGER: &str = "key-manager";

/// Octavia: `{"faultcode": "Client", "faultstring": "…", "debuginfo": null}`.
pub(crate) const OCTAVIA: Client<'_> = Client::new(LOAD_BALANCER)
    .words(&["faultstring"])
    .refusals(errors::octavia)
    .not_found(errors::is_octavias_404)
    .busy(errors::is_octavia_at_work);

/// Barbican: `{"code": 404, "title": "Not Found", "description": "…"}`.
pub(crate) const BARBICAN: Client<'_> = Client::new(KEY_MANAGER).words(&["description"]);
