//! Values that tests of several targets share.

use cloud_provider::{LoadBalancer, Owner};

/// The desired load balancer of the Service `service` in the namespace `default`, without ports and nodes, under the
/// name that Kubernetes makes of the Service's UID.
#[must_use]
pub fn load_balancer(service: &str, uid: &str) -> LoadBalancer {
    let [cluster, namespace] = ["kubernetes", "default"].map(str::to_owned);
    LoadBalancer {
        name: load_balancer_name(uid),
        owner: Owner { cluster, namespace, name: service.to_owned(), uid: uid.to_owned() },
        ..LoadBalancer::default()
    }
}

/// The name of a load balancer by its Service's UID: 32 characters at most.
#[must_use]
pub fn load_balancer_name(uid: &str) -> String {
    format!("a{}", uid.replace('-', "")).chars().take(32).collect()
}
