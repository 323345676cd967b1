//! The addresses of a server, in the order in which the vendor's controller shows them.

use std::net::IpAddr;

use aerostat_sdk::{Address, AddressKind, sorted};

use crate::api::ports::NeutronPort;
use crate::api::servers::NovaServer;
use crate::net::NetworkRange;
use crate::settings::ServerSettings;

/// Which addresses of a server its node gets, and in which order.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressRules {
    /// Whether IPv6 is left out.
    pub(crate) no_ipv6: bool,
    /// Names of networks whose addresses are external.
    pub(crate) public_networks: Vec<String>,
    /// Names of those whose addresses are internal; empty for all others.
    pub(crate) internal_networks: Vec<String>,
    /// Networks whose addresses come first.
    pub(crate) order: Vec<NetworkRange>,
}

/// The address that a port has which hangs on one of a server's ports.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct SubPortAddress {
    /// The name of its network.
    pub(crate) network: String,
    pub(crate) address: String,
}

impl AddressRules {
    /// Those that the operator wrote.
    pub(crate) fn of(settings: &ServerSettings) -> Self {
        Self {
            no_ipv6: settings.ipv6_disabled,
            public_networks: settings.public_networks.clone(),
            internal_networks: settings.internal_networks.clone(),
            order: settings.address_order.iter().filter_map(|it| NetworkRange::parse(it)).collect(),
        }
    }

    fn is_public(&self, network: &str) -> bool {
        self.public_networks.iter().any(|it| it == network)
    }

    fn is_internal(&self, network: &str) -> bool {
        self.internal_networks.is_empty() || self.internal_networks.iter().any(|it| it == network)
    }
}

/// Addresses without repetition.
struct ShownAddresses<'a> {
    rules: &'a AddressRules,
    found: Vec<Address>,
}

impl ShownAddresses<'_> {
    fn add(&mut self, address: Address) {
        let is_left_out = self.rules.no_ipv6 && address.value.parse().is_ok_and(|it: IpAddr| it.is_ipv6());
        if !is_left_out && !self.found.contains(&address) {
            self.found.push(address);
        }
    }

    fn remove(&mut self, address: &str) {
        self.found.retain(|it| it.value != address);
    }
}

/// The addresses of a server with these ports, and with what hangs on them: first those of its active ports, then its access addresses,
/// its host name, and what Nova shows of its networks, sorted by their names. A fixed address of a port that is not active is left out,
/// also where Nova shows it.
pub(crate) fn node_addresses(
    server: &NovaServer,
    ports: &[NeutronPort],
    sub_ports: &[SubPortAddress],
    rules: &AddressRules,
) -> Vec<Address> {
    let mut list = ShownAddresses { rules, found: Vec::new() };
    let active = ports.iter().filter(|it| it.is_active()).flat_map(|it| it.addresses());
    active.clone().for_each(|it| list.add(Address::internal_ip(it)));
    let access = [&server.access_ipv4, &server.access_ipv6];
    access.into_iter().flatten().for_each(|it| list.add(Address::external_ip(it)));
    server.hostname.iter().for_each(|it| list.add(Address::hostname(it)));

    let is_down = |address: &str| {
        let mut down = ports.iter().filter(|it| !it.is_active()).flat_map(|it| it.addresses());
        down.any(|it| it == address) && active.clone().all(|it| it != address)
    };
    let of_nova = server.addresses.iter().flat_map(|(network, addresses)| {
        addresses.iter().map(move |it| (network.as_str(), it.address.as_str(), it.is_floating))
    });
    let of_sub_ports = sub_ports.iter().map(|it| (it.network.as_str(), it.address.as_str(), false));
    let mut in_networks: Vec<_> = of_nova.chain(of_sub_ports).collect();
    sorted::sort_by(&mut in_networks, |(one, ..), (other, ..)| one.cmp(other));
    for (network, address, is_floating) in in_networks {
        if is_floating {
            list.add(Address::external_ip(address));
        } else if is_down(address) {
            list.remove(address);
        } else if rules.is_public(network) {
            list.remove(address);
            list.add(Address::external_ip(address));
        } else if rules.is_internal(network) {
            list.add(Address::internal_ip(address));
        } else {
            list.remove(address);
        }
    }
    ordered(list.found, &rules.order)
}

/// Those in the first of these networks come first, and so on; all others keep their order.
fn ordered(mut addresses: Vec<Address>, order: &[NetworkRange]) -> Vec<Address> {
    let place = |address: &Address| {
        let is_name =
            matches!(address.kind, AddressKind::Hostname | AddressKind::InternalDns | AddressKind::ExternalDns);
        let ip = address.value.parse().ok().filter(|_| !is_name).map(NetworkRange::of);
        ip.and_then(|ip| order.iter().position(|it| it.contains(ip))).unwrap_or(order.len())
    };
    if !order.is_empty() {
        sorted::sort_by(&mut addresses, |one, other| place(one).cmp(&place(other)));
    }
    addresses
}
