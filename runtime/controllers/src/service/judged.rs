//! Holding the addresses of an answer against the cluster: looking up whose they are, and saying what is refused.

use std::net::IpAddr;

use cloud_provider::{Error as CloudError, Event, EventKind, Ingress};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Service;
use tracing::warn;

use crate::cluster_facts::{Holders, NodeHolder};
use crate::error::chain;
use crate::events::reference;
use crate::service::error::Error;
use crate::service::status;
use crate::service::syncer::Syncer;

impl Syncer {
    /// These places as a Service's status may show them, or why it must not.
    pub(super) fn judged(&self, key: &str, service: &Service, places: Vec<Ingress>) -> Result<Vec<Ingress>, Error> {
        let shown: Vec<IpAddr> = status::current(service).iter().filter_map(ip).collect();
        let described = self.shared.cluster.description.now().ingress;
        let facts = self.facts.borrow();
        let judged = facts.ingress(places, described, |ip| self.holders(key, service, ip, shown.contains(&ip)));
        judged.map_err(|because| {
            Error::Ensure(CloudError::Invalid(format!(
                "the provider's answer about Service {key} cannot be its status: {because}. Its addresses stay as they \
                 are, and its memo is kept: look at its load balancer in the cloud, and at the provider"
            )))
        })
    }

    /// These places, or none of them if one is refused, which an event says. For answers after which another one comes.
    pub(super) fn usable(&self, key: &str, service: &Service, places: Vec<Ingress>) -> Vec<Ingress> {
        self.judged(key, service, places).unwrap_or_else(|error| {
            warn!(service = key, "the provider's addresses are not shown: {}", chain(&error));
            let (reason, message) = error.event();
            let event = Event { about: None, kind: EventKind::Warning, reason: reason.to_owned(), message };
            self.record_provider_events(&reference(service), vec![event]);
            Vec::new()
        })
    }

    fn holders(&self, key: &str, service: &Service, ip: IpAddr, is_shown: bool) -> Holders {
        let confirmed = self.nodes.confirmed_at(ip);
        let is_confirmed = confirmed.is_some();
        let node = confirmed.or_else(|| self.nodes.at(ip).into_iter().next());
        let node = node.map(|name| NodeHolder { name, is_confirmed });
        let (cluster_ip, ingress) = self
            .shared
            .services
            .addresses(|it| (it.cluster_ip(ip).map(str::to_owned), it.reached_at(ip, key).map(str::to_owned)));
        // Of two answers at once neither is seen in the watch yet.
        let ingress = ingress.or_else(|| if is_shown { None } else { self.about_to_be_at(service, ip) });
        let pods = self.nodes.pods_at(ip).map(|(node, cidr)| (node, IpNet::from(cidr)));
        Holders { cluster_ip, ingress, node, pods, is_shown }
    }

    /// Another Service than this one that was answered with this address.
    fn about_to_be_at(&self, service: &Service, ip: IpAddr) -> Option<String> {
        let uid = service.metadata.uid.as_deref().unwrap_or_default();
        let has_it = |places: &[Ingress]| places.iter().filter_map(self::ip).any(|it| it == ip);
        self.shared.states.all(|states| {
            let mut others = states.iter().filter(|(_, it)| it.uid != uid);
            let other = others.find(|(_, it)| {
                has_it(&it.work.current) || it.work.unwritten.as_ref().is_some_and(|it| has_it(&it.status.ingress))
            });
            other.map(|(key, _)| key.to_owned())
        })
    }
}

fn ip(place: &Ingress) -> Option<IpAddr> {
    place.ip.as_deref()?.parse().ok()
}
