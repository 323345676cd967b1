//! The APIs: their requests, their answers, and where their errors differ from those of other clouds.

pub(crate) mod barbican;
mod errors;
mod fields;
mod lists;
pub(crate) mod neutron;
pub(crate) mod octavia;
pub(crate) mod ports;
mod revision;
pub(crate) mod routers;
pub(crate) mod servers;

pub(crate) use self::errors::is_octavia_at_work;
pub(crate) use self::lists::PAGE;

use aerostat_sdk::http::Client;

/// The name of the endpoint of Nova.
pub(crate) const COMPUTE: &str = "compute";
/// The name of the endpoint of Neutron.
pub(crate) const NETWORK: &str = "network";
/// The name of the endpoint of Octavia.
pub(crate) const LOAD_BALANCER: &str = "load-balancer";
/// The name of the endpoint of Barbican.
pub(crate) const KEY_MANAGER: &str = "key-manager";

/// The header by which Nova is told what to show, and how.
pub(crate) const MICROVERSION: &str = "openstack-api-version";

/// Nova. Its errors are named by what went wrong: `{"itemNotFound": {"code": 404, "message": "…"}}`.
pub(crate) const NOVA: Client<'_> = Client::new(COMPUTE).refusals(errors::nova).not_found(errors::is_novas_404);

/// Neutron: `{"NeutronError": {"type": "…", "message": "…", "detail": ""}}`.
pub(crate) const NEUTRON: Client<'_> = Client::new(NETWORK)
    .words(&["NeutronError", "message"])
    .refusals(errors::neutron)
    .not_found(errors::is_neutrons_404)
    .busy(|response| response.status() == 412);

/// Octavia: `{"faultcode": "Client", "faultstring": "…", "debuginfo": null}`.
pub(crate) const OCTAVIA: Client<'_> = Client::new(LOAD_BALANCER)
    .words(&["faultstring"])
    .refusals(errors::octavia)
    .not_found(errors::is_octavias_404)
    .busy(errors::is_octavia_at_work);

/// Barbican: `{"code": 404, "title": "Not Found", "description": "…"}`.
pub(crate) const BARBICAN: Client<'_> = Client::new(KEY_MANAGER).words(&["description"]);
