//! The ports of servers, read together for many servers.

use aerostat_sdk::{Result, SortedMap, SortedSet};

use crate::addresses::SubPortAddress;
use crate::api::ports::{self, NeutronPort};
use crate::api::servers::NovaServer;

/// So many servers are asked about by their ids. If there are more, all ports of the project are read.
const BY_ID: usize = 40;

/// The ports of some servers, and what hangs on these.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attached {
    by_server: SortedMap<String, Vec<NeutronPort>>,
    /// Ports that hang on ports of servers, by their ids.
    sub_ports: SortedMap<String, NeutronPort>,
    /// The names of these ports' networks, by ids.
    networks: SortedMap<String, String>,
}

impl Attached {
    /// Reads the ports of these servers: of few by their ids, of many by the lists of their projects, which are the same for each page of
    /// servers. `is_page` says that more servers come before these.
    pub(crate) fn of(servers: &[&NovaServer], is_page: bool) -> Result<Self> {
        if servers.is_empty() {
            return Ok(Self::default());
        }
        let ids: Vec<&str> = servers.iter().map(|it| it.id.as_str()).collect();
        let found = match ids.len() <= BY_ID && !is_page {
            true => ports::of_devices(&ids)?,
            false => ports::of_projects(&servers.iter().filter_map(|it| it.tenant_id.as_deref()).collect())?,
        };
        Self::sorted(found, &ids.into_iter().collect())
    }

    /// Sorts ports by these servers; others are left out.
    fn sorted(found: Vec<NeutronPort>, servers: &SortedSet<&str>) -> Result<Self> {
        let (of_servers, others): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|it| servers.contains(it.device_id.as_str()));
        let hanging: SortedSet<String> = of_servers.iter().flat_map(|it| it.sub_ports.iter().cloned()).collect();
        let mut by_server: SortedMap<String, Vec<NeutronPort>> =
            servers.iter().map(|it| ((*it).to_owned(), Vec::new())).collect();
        for port in of_servers {
            if let Some(ports) = by_server.get_mut(&port.device_id) {
                ports.push(port);
            }
        }
        let known: SortedMap<String, NeutronPort> =
            others.into_iter().filter(|it| hanging.contains(&it.id)).map(|it| (it.id.clone(), it)).collect();
        let mut all = Self { by_server, sub_ports: known, networks: SortedMap::new() };
        all.read_hanging(&hanging)?;
        Ok(all)
    }

    /// Reads those of the ports that hang on servers' ports which the lists have not shown, and the names of their networks.
    fn read_hanging(&mut self, hanging: &SortedSet<String>) -> Result<()> {
        let unknown: Vec<&str> =
            hanging.iter().map(String::as_str).filter(|it| !self.sub_ports.contains_key(*it)).collect();
        for port in ports::by_ids(&unknown)? {
            self.sub_ports.insert(port.id.clone(), port);
        }
        let networks: SortedSet<&str> = self.sub_ports.values().map(|it| it.network_id.as_str()).collect();
        self.networks = ports::network_names(&networks.into_iter().collect::<Vec<_>>())?;
        Ok(())
    }

    /// The ports of a server, in the order of Neutron.
    pub(crate) fn ports_of(&self, server: &str) -> &[NeutronPort] {
        self.by_server.get(server).map_or(&[], Vec::as_slice)
    }

    /// The addresses of the ports that hang on these.
    pub(crate) fn sub_ports_of(&self, ports: &[NeutronPort]) -> Vec<SubPortAddress> {
        let hanging = ports.iter().flat_map(|it| &it.sub_ports).filter_map(|it| self.sub_ports.get(it));
        let addresses = |port: &NeutronPort| -> Vec<SubPortAddress> {
            let network = self.networks.get(&port.network_id).cloned().unwrap_or_default();
            let address = |it: &str| SubPortAddress { network: network.clone(), address: it.to_owned() };
            port.addresses().map(address).collect()
        };
        hanging.flat_map(addresses).collect()
    }
}
