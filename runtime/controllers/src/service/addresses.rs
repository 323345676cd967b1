//! Which Services have which addresses: as their ClusterIP, and in their status. No client, no clock, no log.

use std::collections::HashMap;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::Service;

/// The addresses of all Services, by the watch.
#[derive(Debug, Default)]
pub(super) struct ServiceAddresses {
    cluster_ips: HashMap<IpAddr, Vec<String>>,
    ingress: HashMap<IpAddr, Vec<String>>,
}

impl ServiceAddresses {
    /// Takes note of the Service under this key as it was, if it was known, and as it is, if it still is.
    pub(super) fn apply(&mut self, key: &str, before: Option<&Service>, after: Option<&Service>) {
        change(&mut self.cluster_ips, key, before.map(cluster_ips), after.map(cluster_ips));
        change(&mut self.ingress, key, before.map(ingress), after.map(ingress));
    }

    /// The Service with this ClusterIP.
    pub(super) fn cluster_ip(&self, ip: IpAddr) -> Option<&str> {
        self.cluster_ips.get(&ip)?.first().map(String::as_str)
    }

    /// A Service that is reached at this address, other than the one under this key.
    pub(super) fn reached_at(&self, ip: IpAddr, key: &str) -> Option<&str> {
        self.ingress.get(&ip)?.iter().find(|it| *it != key).map(String::as_str)
    }
}

fn change(all: &mut HashMap<IpAddr, Vec<String>>, key: &str, before: Option<Vec<IpAddr>>, after: Option<Vec<IpAddr>>) {
    if before == after {
        return;
    }
    for ip in before.into_iter().flatten() {
        if let Some(keys) = all.get_mut(&ip) {
            keys.retain(|it| it != key);
            if keys.is_empty() {
                all.remove(&ip);
            }
        }
    }
    for ip in after.into_iter().flatten() {
        let keys = all.entry(ip).or_default();
        if !keys.iter().any(|it| it == key) {
            keys.push(key.to_owned());
        }
    }
}

fn cluster_ips(service: &Service) -> Vec<IpAddr> {
    let Some(spec) = &service.spec else { return Vec::new() };
    let written = spec.cluster_ips.iter().flatten().chain(&spec.cluster_ip);
    written.filter_map(|it| it.parse().ok()).collect()
}

fn ingress(service: &Service) -> Vec<IpAddr> {
    let ingress = service.status.as_ref().and_then(|it| it.load_balancer.as_ref()?.ingress.as_deref());
    ingress.unwrap_or_default().iter().filter_map(|it| it.ip.as_deref()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::service::testing::{service, with_load_balancer};

    fn named(name: &str, ip: &str) -> Service {
        let mut change = with_load_balancer();
        change["metadata"] = json!({ "name": name });
        change["status"]["loadBalancer"]["ingress"][0]["ip"] = json!(ip);
        service(change)
    }

    #[test]
    fn adv_150_an_address_leads_to_its_services_while_they_have_it() {
        let (one, two) = (named("one", "192.0.2.1"), named("two", "192.0.2.1"));
        let mut all = ServiceAddresses::default();
        let at =
            |all: &ServiceAddresses, ip: &str, key: &str| all.reached_at(ip.parse().unwrap(), key).map(str::to_owned);
        all.apply("default/one", None, Some(&one));
        assert_eq!(at(&all, "192.0.2.1", "default/one"), None, "its own");
        all.apply("default/two", None, Some(&two));
        assert_eq!(at(&all, "192.0.2.1", "default/one").as_deref(), Some("default/two"));
        assert_eq!(all.cluster_ip("10.96.0.7".parse().unwrap()), Some("default/one"));
        let moved = named("two", "192.0.2.2");
        all.apply("default/two", Some(&two), Some(&moved));
        assert_eq!(at(&all, "192.0.2.1", "default/one"), None);
        all.apply("default/one", Some(&one), None);
        all.apply("default/two", Some(&moved), None);
        assert!(all.cluster_ips.is_empty() && all.ingress.is_empty(), "nothing is left of what is gone");
    }
}
