//! A droplet as an instance of the contract.

use aerostat_sdk::{Address, Instance, Result, State, events, provider_id};

use crate::api::{Droplet, DropletAddress, Scope};

/// The beginning of provider ids; the droplet's id, a number, follows. Nodes keep it for as long as they exist: it must not
/// change.
pub(crate) const PREFIX: &str = "digitalocean://";

/// The id of the droplet with this provider id.
///
/// # Errors
///
/// `invalid`, if it is of another cloud, or no droplet has such an id.
pub(crate) fn id(provider_id: &str) -> Result<u64> {
    provider_id::parse(PREFIX, provider_id, "the droplet's id, a number")
}

/// The instance for a droplet, with a warning if its node will have no InternalIP.
pub(crate) fn instance(droplet: Droplet) -> Instance {
    let (provider_id, hostname) = (provider_id::join(PREFIX, droplet.id), node_name(&droplet));
    let private = address(&droplet.networks.v4, &Scope::Private);
    let public = address(&droplet.networks.v4, &Scope::Public);
    let public_v6 = address(&droplet.networks.v6, &Scope::Public);
    if private.is_none() {
        events::warning(
            Some(&hostname),
            "NoPrivateAddress",
            &format!(
                "droplet {} ({}) has no private IPv4 address, so its node has no InternalIP; put it into a VPC",
                droplet.id, droplet.name,
            ),
        );
    }
    let addresses = [
        Some(Address::hostname(&*hostname)),
        private.map(Address::internal_ip),
        public.map(Address::external_ip),
        public_v6.map(Address::external_ip),
    ];
    Instance::new(hostname, provider_id)
        .state(state(&droplet.status))
        .machine_type(droplet.size_slug)
        .region(droplet.region.slug)
        .addresses(addresses.into_iter().flatten())
}

/// The name that a droplet's kubelet registers: kubelets write the host name in lower case.
pub(crate) fn node_name(droplet: &Droplet) -> String {
    droplet.name.to_ascii_lowercase()
}

fn address<'a>(networks: &'a [DropletAddress], scope: &Scope) -> Option<&'a str> {
    networks.iter().find(|it| it.scope == *scope).map(|it| it.ip_address.as_str())
}

/// An unknown status counts as running: a stopped node loses its pods.
fn state(status: &str) -> State {
    match status {
        "off" | "archive" => State::Stopped,
        _ => State::Running,
    }
}
