//! The networks of a router, and the ports in them.

use std::net::IpAddr;

use aerostat_sdk::{Error, Result, SortedSet};

use crate::api::ports::{self, NeutronPort};
use crate::api::routers::NeutronRouter;

/// A router's place: its own addresses, its subnets, and the ports that have the next hops of a call.
#[derive(Clone, Debug)]
pub(super) struct RouterPlace {
    own: Vec<NeutronPort>,
    pub(super) ports: Vec<NeutronPort>,
}

impl RouterPlace {
    /// Reads the router's own ports, and those with these addresses in its networks.
    pub(super) fn of(router: &NeutronRouter, addresses: &SortedSet<&str>) -> Result<Self> {
        if addresses.is_empty() {
            return Ok(Self { own: Vec::new(), ports: Vec::new() });
        }
        let own = ports::of_router(&router.id)?;
        let networks: SortedSet<&str> = own.iter().map(|it| it.network_id.as_str()).collect();
        let addresses: Vec<&str> = addresses.iter().copied().collect();
        let networks: Vec<&str> = networks.into_iter().collect();
        let ports = ports::at(&networks, &addresses)?;
        Ok(Self { own, ports })
    }

    /// Reads the router's own ports, and all in its networks.
    pub(super) fn whole(router: &NeutronRouter) -> Result<Self> {
        let own = ports::of_router(&router.id)?;
        let networks: SortedSet<&str> = own.iter().map(|it| it.network_id.as_str()).collect();
        let ports = ports::in_networks(&networks.into_iter().collect::<Vec<_>>())?;
        Ok(Self { own, ports })
    }

    /// The position of the port with this address.
    pub(super) fn position(&self, address: &str) -> Option<usize> {
        let address: IpAddr = address.parse().ok()?;
        self.ports.iter().position(|it| has(it, address))
    }

    /// The port with this address.
    pub(super) fn port_at(&self, address: &str) -> Option<&NeutronPort> {
        self.position(address).map(|it| &self.ports[it])
    }

    /// Checks that a route can lead to this address: Neutron would refuse it, and all others of the same request.
    ///
    /// # Errors
    ///
    /// `invalid`, with the reason.
    pub(super) fn check(&self, router: &NeutronRouter, address: &str) -> Result<()> {
        let why =
            |why: &str| Err(Error::invalid(format_args!("no route of router {} leads to {address}: {why}", router.id)));
        let Some(port) = self.port_at(address) else { return why("no port in its networks has this address") };
        let parsed: Option<IpAddr> = address.parse().ok();
        if parsed.is_some_and(|it| self.own.iter().any(|own| has(own, it))) {
            return why("it is the router's own");
        }
        let subnets = || self.own.iter().flat_map(|it| &it.fixed_ips).map(|it| &it.subnet_id);
        let in_subnet = port
            .fixed_ips
            .iter()
            .filter(|it| it.ip_address.parse().ok() == parsed)
            .any(|it| it.subnet_id.is_empty() || subnets().any(|subnet| *subnet == it.subnet_id));
        if in_subnet { Ok(()) } else { why("the router is not connected with its subnet") }
    }
}

fn has(port: &NeutronPort, address: IpAddr) -> bool {
    port.addresses().any(|it| it.parse() == Ok(address))
}
