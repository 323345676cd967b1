//! Services that several modules ask.

use aerostat_sdk::http::Client;

use crate::errors;

/// The name of the endpoint of Nova.
pub const COMPUTE: &str = "compute";
/// The name of the endpoint of Neutron.
pub const NETWORK: &str = "network";

/// The header by which Nova and Cinder are told what to show, and how: the name of the service, and a version.
pub const MICROVERSION: &str = "openstack-api-version";

/// Nova. Its errors are named by what went wrong: `{"itemNotFound": {"code": 404, "message": "…"}}`.
pub const NOVA: Client<'_> = Client::new(COMPUTE).refusals(errors::nova).not_found(errors::is_novas_404);

/// Neutron: `{"NeutronError": {"type": "…", "message": "…", "detail": ""}}`.
pub const NEUTRON: Client<'_> = Client::new(NETWORK)
    .words(&["NeutronError", "message"])
    .refusals(errors::neutron)
    .not_found(errors::is_neutrons_404)
    .busy(|response| response.status() == 412);
