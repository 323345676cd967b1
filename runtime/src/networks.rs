//! The cluster's networks, for the egress: no provider reaches the API server, and Services, pods and nodes only if the
//! operator names them.

mod of_nodes;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use controllers::{ClusterFacts, Nodes};
use egress::{ApiServerAddress, Egress, KnownNetworks};
use http::Uri;
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::ServiceCIDR;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use tokio::net::lookup_host;
use tokio::sync::watch;
use tokio::time::sleep;
use tracing::warn;

use self::of_nodes::{Published, of_nodes};
use crate::config::ClusterNetworks;

/// How often the API server's Service and the Services' networks are read again.
const CLUSTER: Duration = Duration::from_secs(300);

/// The first pause between two attempts at start, and the longest: the first doubles.
const PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How often the nodes are read.
const NODES: Duration = Duration::from_secs(10);

/// Where the egress's knowledge comes from.
pub(crate) struct Watcher {
    pub(crate) client: Client,
    /// The API server's address as aerostat itself uses it.
    pub(crate) url: Uri,
    pub(crate) nodes: Nodes,
    /// The networks that the operator names.
    pub(crate) networks: ClusterNetworks,
    /// The receiver of the cluster's facts: the operator's, and those that are learned.
    pub(crate) facts: watch::Sender<ClusterFacts>,
    pub(crate) said: ClusterFacts,
    pub(crate) egress: Egress,
}

/// The most sentences about Nodes that are not believed, in one pass over the nodes.
const WARNINGS: usize = 16;

/// The networks that change rarely.
#[derive(Clone, Default)]
struct ClusterAddresses {
    /// By the URL of this process.
    api_servers: Vec<ApiServerAddress>,
    /// By the ClusterIPs of its Service.
    api_service: Vec<IpAddr>,
    /// By the endpoints of its Service.
    endpoints: Vec<SocketAddr>,
    /// Why these are not known.
    unknown: Option<String>,
    services: Vec<IpNet>,
}

impl ClusterAddresses {
    /// The same for the controllers, beside what the operator says.
    fn facts(&self, said: &ClusterFacts) -> ClusterFacts {
        let mut facts = said.clone();
        facts.services.extend(self.services.iter().filter(|it| !said.services.contains(it)));
        facts.api_service.extend(&self.api_service);
        // On loopback is no node and no load balancer.
        let by_url = self.api_servers.iter().filter_map(|server| match server {
            ApiServerAddress::Address(ip) => Some(*ip),
            ApiServerAddress::Socket(_) => None,
        });
        let addresses = by_url.chain(self.endpoints.iter().map(SocketAddr::ip)).map(|it| it.to_canonical());
        let addresses: BTreeSet<_> = addresses.filter(|it| !self.api_service.contains(it)).collect();
        facts.api_servers.extend(addresses);
        facts
    }

    /// The same for the egress. A machine with an endpoint may serve other things, so there it is one port.
    fn for_egress(&self) -> Vec<ApiServerAddress> {
        let service = self.api_service.iter().copied().map(ApiServerAddress::Address);
        let endpoints = self.endpoints.iter().copied().map(ApiServerAddress::Socket);
        self.api_servers.iter().cloned().chain(service).chain(endpoints).collect()
    }

    /// Warns where the endpoints are not known, and were so `before` for another reason.
    fn warn(&self, before: Option<&Self>) {
        if let Some(cause) = self.unknown.as_ref().filter(|it| before.and_then(|it| it.unknown.as_ref()) != Some(*it)) {
            warn!(
                "the endpoints of the API server are not known, and a provider's answer that names one is not refused: {cause}; \
                 asked again every {} s",
                CLUSTER.as_secs()
            );
        }
    }
}

impl Watcher {
    /// Gives the egress the cluster's networks, before anything may pass through it.
    ///
    /// Returns only once all of it is known: an egress that does not know the cluster would let a provider into it.
    pub(crate) async fn learn(&self) -> Learned {
        let (mut pause, mut published) = (PAUSE, String::new());
        loop {
            match self.read().await {
                Ok(cluster) => {
                    cluster.warn(None);
                    self.nodes.synced().await;
                    let refused = self.tell(&cluster, &BTreeSet::new());
                    return Learned { cluster, refused };
                }
                Err(cause) => {
                    if cause != published {
                        warn!(
                            "cannot find out what providers must not reach: {cause}; trying again with growing pauses"
                        );
                        published = cause;
                    }
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Keeps the egress's knowledge up to date.
    pub(crate) async fn follow(self, Learned { mut cluster, mut refused }: Learned) -> Infallible {
        let looks = CLUSTER.as_secs() / NODES.as_secs();
        loop {
            for _ in 0..looks {
                sleep(NODES).await;
                refused = self.tell(&cluster, &refused);
            }
            match self.read().await {
                Ok(now) => {
                    now.warn(Some(&cluster));
                    cluster = now;
                }
                Err(cause) => warn!("cannot find out what providers must not reach: {cause}; keeping what is known"),
            }
        }
    }

    /// Gives the egress the networks. Returns what was not believed, and warns about what of it was not among `before`.
    fn tell(&self, cluster: &ClusterAddresses, before: &BTreeSet<String>) -> BTreeSet<String> {
        let nodes = self.nodes.all();
        let nodes: Vec<_> = nodes.into_iter().map(|node| (self.nodes.confirmed(&node), node)).collect();
        let Published { networks: of_nodes, refused } =
            of_nodes(nodes.iter().map(|(confirmed, node)| (node.as_ref(), confirmed.as_deref())));
        refused.difference(before).take(WARNINGS).for_each(|it| warn!("{it}"));
        self.facts.send_if_modified(|known| {
            let facts = cluster.facts(&self.said);
            let is_new = *known != facts;
            *known = facts;
            is_new
        });
        let (api_servers, services) = (cluster.for_egress(), cluster.services.clone());
        let ClusterNetworks { pods, nodes } = self.networks.clone();
        self.egress.set_networks(KnownNetworks { api_servers, services, pods, nodes, of_nodes });
        refused
    }

    async fn read(&self) -> Result<ClusterAddresses, String> {
        let api_servers = resolve(&self.url).await?;
        let service = Api::<Service>::namespaced(self.client.clone(), "default")
            .get_opt("kubernetes")
            .await
            .map_err(|error| needs("get services/kubernetes in the namespace default", &error))?;
        let api_service = service.iter().flat_map(cluster_ips).collect();
        // The API server itself writes this one. Others with its Service's label might be anybody's.
        let slices: Api<EndpointSlice> = Api::namespaced(self.client.clone(), "default");
        let (endpoints, unknown) = match slices.get_opt("kubernetes").await {
            Ok(slice) => (slice.iter().flat_map(sockets).collect(), None),
            Err(error) => {
                let cause = needs("get endpointslices.discovery.k8s.io/kubernetes in the namespace default", &error);
                match error {
                    // An older role lacks this right: that stops nothing.
                    kube::Error::Api(status) if status.code == 403 => (Vec::new(), Some(cause)),
                    _ => return Err(cause),
                }
            }
        };
        let cidrs = match Api::<ServiceCIDR>::all(self.client.clone()).list(&ListParams::default()).await {
            Ok(list) => list.items,
            // An API server older than 1.33 has no such objects.
            Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
            Err(error) => return Err(needs("list servicecidrs.networking.k8s.io", &error)),
        };
        let services = cidrs.iter().flat_map(networks).collect();
        Ok(ClusterAddresses { api_servers, api_service, endpoints, unknown, services })
    }
}

/// The state that [`Watcher::learn`] found, and [`Watcher::follow`] begins with.
pub(crate) struct Learned {
    cluster: ClusterAddresses,
    /// The networks and addresses of Nodes that are not believed, and were logged.
    refused: BTreeSet<String>,
}

fn needs(right: &str, error: &kube::Error) -> String {
    format!("{}; aerostat's identity needs the right to {right}", controllers::chain(error))
}

/// Where the API server is. On loopback other things live too, so there it is one port.
pub(crate) async fn resolve(url: &Uri) -> Result<Vec<ApiServerAddress>, String> {
    let host = url.host().unwrap_or_default();
    let port = url.port_u16().unwrap_or(if url.scheme_str() == Some("http") { 80 } else { 443 });
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let addresses: Vec<SocketAddr> = match literal {
        Ok(address) => vec![SocketAddr::new(address, port)],
        Err(_) => lookup_host((host, port))
            .await
            .map_err(|error| format!("cannot resolve the API server's name {host}: {error}"))?
            .collect(),
    };
    Ok(addresses
        .into_iter()
        .map(|it| if it.ip().is_loopback() { ApiServerAddress::Socket(it) } else { ApiServerAddress::Address(it.ip()) })
        .collect())
}

fn cluster_ips(service: &Service) -> Vec<IpAddr> {
    let Some(spec) = &service.spec else { return Vec::new() };
    spec.cluster_ips.iter().flatten().chain(&spec.cluster_ip).filter_map(|it| it.parse().ok()).collect()
}

/// Where the endpoints of a Service are, whether they are ready or not.
fn sockets(slice: &EndpointSlice) -> Vec<SocketAddr> {
    let ips = slice.endpoints.iter().flatten().flat_map(|it| &it.addresses).filter_map(|it| it.parse::<IpAddr>().ok());
    let ports = slice.ports.iter().flatten().filter_map(|it| u16::try_from(it.port?).ok());
    let ports: Vec<_> = ports.collect();
    ips.flat_map(|ip| ports.iter().map(move |port| SocketAddr::new(ip, *port))).collect()
}

fn networks(cidr: &ServiceCIDR) -> Vec<IpNet> {
    let cidrs = cidr.spec.as_ref().and_then(|it| it.cidrs.as_deref()).unwrap_or_default();
    cidrs
        .iter()
        .filter_map(|it| it.parse().map_err(|_| warn!("ServiceCIDR {} has {it}, no network", cidr.name_any())).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[tokio::test]
    async fn on_loopback_the_api_server_is_one_port() {
        let socket = "127.0.0.1:6443".parse().unwrap();
        assert_eq!(
            resolve(&"https://127.0.0.1:6443".parse().unwrap()).await,
            Ok(vec![ApiServerAddress::Socket(socket)])
        );
        let address = "fd00::1".parse().unwrap();
        assert_eq!(resolve(&"https://[fd00::1]".parse().unwrap()).await, Ok(vec![ApiServerAddress::Address(address)]));
    }

    #[test]
    fn adv_150_controllers_know_where_the_api_server_is() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let network = |text: &str| text.parse::<IpNet>().unwrap();
        let cluster = ClusterAddresses {
            api_servers: vec![
                ApiServerAddress::Address(ip("10.96.0.1")),
                ApiServerAddress::Address(ip("203.0.113.1")),
                ApiServerAddress::Socket("127.0.0.1:6443".parse().unwrap()),
            ],
            api_service: vec![ip("10.96.0.1")],
            endpoints: ["10.0.0.5:6443", "10.0.0.6:6443", "203.0.113.1:6443"].map(|it| it.parse().unwrap()).into(),
            unknown: None,
            services: vec![network("10.96.0.0/12"), network("fd01::/112")],
        };
        let said = ClusterFacts { services: vec![network("10.96.0.0/12")], ..ClusterFacts::default() };
        let expected = ClusterFacts {
            services: cluster.services.clone(),
            api_service: cluster.api_service.clone(),
            api_servers: vec![ip("10.0.0.5"), ip("10.0.0.6"), ip("203.0.113.1")],
            ..ClusterFacts::default()
        };
        assert_eq!(cluster.facts(&said), expected);
        let egress = cluster.for_egress();
        assert_eq!(egress.len(), 7, "{egress:?}");
        assert!(egress.contains(&ApiServerAddress::Socket("10.0.0.5:6443".parse().unwrap())), "one port: {egress:?}");
    }

    #[test]
    fn services_tell_of_themselves() {
        let service = from_value(json!({ "spec": { "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "fd00::1"] } }));
        let expected: Vec<IpAddr> = ["10.0.0.1", "fd00::1", "10.0.0.1"].map(|it| it.parse().unwrap()).into();
        assert_eq!(cluster_ips(&service.unwrap()), expected);
        let headless = from_value(json!({ "spec": { "clusterIP": "None" } })).unwrap();
        assert!(cluster_ips(&headless).is_empty());
        let slice = from_value(json!({
            "addressType": "IPv4",
            "endpoints": [
                { "addresses": ["10.0.0.5"], "conditions": { "ready": true } },
                { "addresses": ["10.0.0.6", "kubernetes.example.com"], "conditions": { "ready": false } },
            ],
            "ports": [{ "name": "https", "port": 6443 }, { "name": "all" }],
        }));
        let expected: Vec<SocketAddr> = ["10.0.0.5:6443", "10.0.0.6:6443"].map(|it| it.parse().unwrap()).into();
        assert_eq!(sockets(&slice.unwrap()), expected);
        let cidr = from_value(json!({ "metadata": { "name": "kubernetes" }, "spec": { "cidrs": ["10.0.0.0/16"] } }));
        assert_eq!(networks(&cidr.unwrap()), ["10.0.0.0/16".parse::<IpNet>().unwrap()]);
    }
}
