//! The script's load balancers.

use aerostat_sdk::{
    Deletion, Error, Ingress, IpMode, LoadBalancer, LoadBalancerStatus, LoadBalancers, Node, Progress, Result, http,
};
use serde::{Deserialize, Serialize};

use crate::{Answer, ENDPOINT, Scripted};

impl LoadBalancers for Scripted {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        let request = http::put(ENDPOINT, path(desired)).json(&Desired::of(desired));
        match request.send()?.json::<Answer<Progressed>>()?.told()? {
            Progressed::Ready { ingress } => {
                let ingress = ingress.into_iter().map(Place::ingress).collect::<Result<Vec<_>>>()?;
                Ok(Progress::Ready(LoadBalancerStatus::new(ingress)))
            }
            Progressed::Elsewhere => Ok(Progress::NotManaged),
        }
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        let Removed::Gone = http::delete(ENDPOINT, path(unwanted)).send()?.json::<Answer<_>>()?.told()?;
        Ok(Deletion::Done)
    }
}

fn path(load_balancer: &LoadBalancer) -> [&str; 3] {
    ["load-balancers", &load_balancer.owner.namespace, &load_balancer.owner.name]
}

/// The load balancer as the script is told of it.
#[derive(Serialize)]
struct Desired<'a> {
    cluster: &'a str,
    nodes: Vec<&'a str>,
    /// All the rest, to be compared.
    rest: String,
}

impl Desired<'_> {
    fn of(desired: &LoadBalancer) -> Desired<'_> {
        let nodes = desired.nodes.iter().map(|Node { name, .. }| name.as_str()).collect();
        // Where things stand is no part of what is desired.
        let rest = LoadBalancer { nodes: Vec::new(), memo: None, current_ingress: Vec::new(), ..desired.clone() };
        Desired { cluster: &desired.owner.cluster, nodes, rest: format!("{rest:?}") }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Progressed {
    Ready { ingress: Vec<Place> },
    Elsewhere,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Removed {
    Gone,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    ip: Option<String>,
    hostname: Option<String>,
    ip_mode: Option<String>,
}

impl Place {
    fn ingress(self) -> Result<Ingress> {
        let ip_mode = match self.ip_mode.as_deref() {
            None => None,
            Some("VIP") => Some(IpMode::Vip),
            Some("Proxy") => Some(IpMode::Proxy),
            Some(other) => return Err(Error::invalid(format_args!("the script has the ipMode {other}"))),
        };
        Ok(Ingress { ip: self.ip, hostname: self.hostname, ip_mode, extra: Vec::new() })
    }
}
