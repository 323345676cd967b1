//! A server as an instance of the contract.

use aerostat_sdk::{Error, Instance, Result, State};

use crate::addresses::{AddressRules, node_addresses};
use crate::api::servers::NovaServer;
use crate::attached::Attached;
use crate::label;
use crate::machine;
use crate::settings::ServerSettings;

/// The settings by which servers are shown.
pub(crate) struct ServerRules {
    region: String,
    is_regional: bool,
    addresses: AddressRules,
}

impl ServerRules {
    /// Those that the operator wrote.
    pub(crate) fn of(settings: &ServerSettings) -> Self {
        let addresses = AddressRules::of(settings);
        Self { region: settings.region.clone(), is_regional: settings.regional_ids, addresses }
    }

    /// The cluster's region.
    pub(crate) fn region(&self) -> &str {
        &self.region
    }
}

/// The instance for a server. `machine_type` is the label for its flavour. One that does not run has no addresses where none of its
/// ports is active, and its node keeps those that it has.
///
/// # Errors
///
/// `unavailable`, if it runs and none of its ports is active.
pub(crate) fn instance(
    server: &NovaServer,
    attached: &Attached,
    machine_type: Option<String>,
    rules: &ServerRules,
) -> Result<Instance> {
    let ports = attached.ports_of(&server.id);
    let is_reached = ports.iter().any(|it| it.is_active() && !it.fixed_ips.is_empty());
    if !is_reached && runs(&server.status) {
        return Err(Error::unavailable(format_args!(
            "server {} ({}) has {} ports, and none that is ACTIVE and has an address: its addresses are not known",
            server.name,
            server.id,
            ports.len()
        )));
    }
    let addresses = match is_reached {
        true => node_addresses(server, ports, &attached.sub_ports_of(ports), &rules.addresses),
        false => Vec::new(),
    };
    let region = rules.is_regional.then_some(&*rules.region);
    let instance = Instance::new(node_name(server), machine::provider_id(&server.id, region))
        .state(state(&server.status))
        .region(&*rules.region)
        .addresses(addresses);
    let zone = zone(server);
    Ok(Instance { machine_type, zone, ..instance })
}

/// The name that its kubelet registers: kubelets write the host name in lower case.
pub(crate) fn node_name(server: &NovaServer) -> String {
    server.name.to_ascii_lowercase()
}

/// Its zone, as the nodes' label says it.
pub(crate) fn zone(server: &NovaServer) -> Option<String> {
    server.zone.as_deref().and_then(label::sanitised)
}

/// Whether it was shut down, or taken off its host. An unknown status counts as running: a stopped node loses its pods.
fn state(status: &str) -> State {
    match status {
        "SHUTOFF" | "SUSPENDED" | "PAUSED" | "SHELVED" | "SHELVED_OFFLOADED" => State::Stopped,
        _ => State::Running,
    }
}

/// Whether it runs, or is about to: then its ports are active, or will be.
fn runs(status: &str) -> bool {
    matches!(status, "ACTIVE" | "BUILD")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_005_to_008_states_of_servers_are_sorted() {
        for status in ["SHUTOFF", "SUSPENDED", "PAUSED", "SHELVED", "SHELVED_OFFLOADED"] {
            assert_eq!(state(status), State::Stopped, "{status}");
        }
        let running = [
            "ACTIVE",
            "BUILD",
            "ERROR",
            "HARD_REBOOT",
            "MIGRATING",
            "PASSWORD",
            "REBOOT",
            "REBUILD",
            "RESCUE",
            "RESIZE",
            "REVERT_RESIZE",
            "UNKNOWN",
            "VERIFY_RESIZE",
            "A_NEW_ONE",
        ];
        for status in running {
            assert_eq!(state(status), State::Running, "{status}");
        }
    }
}
