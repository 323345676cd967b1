//! Simulated clouds for whoever tries a provider: plain HTTP on loopback, with the routes of [`conformance::protocol`].
//!
//! The program `simulator` serves one of them; tests serve them in their own process.

pub mod acme;
pub mod acme_async;
pub mod alibaba;
pub mod aws;
pub mod azure;
mod cloud;
pub mod digitalocean;
pub mod gcp;
pub mod hetzner;
pub mod ibm;
pub mod openstack;
pub mod rancher;
mod routes;

use conformance::protocol::Setup;

use crate::simulator::{Cloud, Simulator};

pub use self::cloud::Published;
use self::routes::Routes;

/// A simulator that is served to whoever tries a provider, and its URL.
pub struct Served<C: Cloud> {
    /// `http://127.0.0.1:` and the port.
    pub url: String,
    /// It ends with this.
    pub simulator: Simulator<C>,
}

/// Serves a cloud on a port of loopback, or on a free one with 0. `setup` is what an operator does for its provider.
async fn serve<C: Published>(mut simulator: Simulator<C>, port: u16, setup: Setup) -> anyhow::Result<Served<C>> {
    let url = simulator.open(port, |control| Routes::of(control, setup)).await?;
    Ok(Served { url, simulator })
}

/// The setting with which a provider makes volumes of claims.
const WITH_VOLUMES: &[(&str, &str)] = &[("volumes", "true")];

/// The number at the end of a machine's name; one that no other has for a name without.
fn number(name: &str) -> u64 {
    let digits = name.rsplit('-').next().unwrap_or_default();
    digits.parse().unwrap_or(99)
}

/// Settings by name and value.
fn settings<'a>(all: impl IntoIterator<Item = &'a (&'a str, &'a str)>) -> std::collections::BTreeMap<String, String> {
    all.into_iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
