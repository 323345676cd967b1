//! The APIs of Cinder and Nova, as far as volumes of claims need them.

mod errors;
pub(crate) mod servers;
pub(crate) mod volumes;

use aerostat_sdk::http::Client;

/// The name of the endpoint of Cinder.
pub(crate) const VOLUME: &str = "volume";

/// Cinder. Its errors have the form of Nova's.
const CINDER: Client<'_> = Client::new(VOLUME).refusals(errors::cinder).not_found(openstack_api::errors::is_novas_404);
