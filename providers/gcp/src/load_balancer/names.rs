//! Names and descriptions, as the vendor's controller makes them: whoever follows the other finds all objects.

use aerostat_sdk::{LoadBalancer, Result, cluster, settings};
use serde_json::Value;

use crate::api::objects::{GceKind, GceObject};
use crate::machine::is_id;
use crate::settings::balancers::CLUSTER_ID;

/// The ConfigMap in which the vendor's controller keeps the cluster's id, and its keys, the first one first.
pub(crate) const ID_MAP: [&str; 4] = ["kube-system", "ingress-uid", "provider-uid", "uid"];
/// The key of a description with the namespace and name of the Service.
const SERVICE: &str = "kubernetes.io/service-name";
/// The key of a label with the UID of the cluster.
pub(crate) const CLUSTER_LABEL: &str = "aerostat-cluster";
/// The key of a label with the UID of the Service.
pub(crate) const SERVICE_LABEL: &str = "aerostat-service";
/// SHA-1 of "None" and of "ClientIP", 8 bytes each: a shared backend service is called by its affinity.
const AFFINITIES: [&str; 2] = ["6eef6648406c333a", "1668fd70f588116e"];

/// The objects of one Service, and those that Services of a cluster share.
#[derive(Clone, Debug)]
pub(crate) struct GceNames {
    /// "a" and 31 digits of the Service's UID.
    pub(crate) balancer: String,
    /// The id of the cluster in names of shared objects.
    pub(crate) cluster: String,
    /// `namespace/name` of the Service.
    pub(crate) service: String,
}

impl GceNames {
    /// # Errors
    ///
    /// As [`cluster_id`].
    pub(crate) fn of(service: &LoadBalancer) -> Result<Self> {
        let owner = &service.owner;
        Ok(Self {
            balancer: service.name.clone(),
            cluster: cluster_id()?,
            service: format!("{}/{}", owner.namespace, owner.name),
        })
    }

    /// An object that is called as the load balancer.
    pub(crate) fn own(&self, kind: GceKind) -> GceObject {
        GceObject::new(kind, &*self.balancer)
    }

    /// The check of all Services whose nodes all take traffic.
    pub(crate) fn shared_check(&self, kind: GceKind) -> GceObject {
        GceObject::new(kind, format!("k8s-{}-node", self.cluster))
    }

    /// The firewall that lets health checks in: those of this kind, the Service's own or the shared ones.
    pub(crate) fn check_firewall(&self, kind: GceKind, is_shared: bool) -> GceObject {
        let external = kind == GceKind::HttpHealthChecks;
        GceObject::new(
            GceKind::Firewalls,
            match (external, is_shared) {
                (true, true) => format!("k8s-{}-node-http-hc", self.cluster),
                (true, false) => format!("k8s-{}-http-hc", self.balancer),
                (false, true) => format!("k8s-{}-node-hc", self.cluster),
                (false, false) => format!("{}-hc", self.balancer),
            },
        )
    }

    /// The firewall that lets clients in.
    pub(crate) fn firewall(&self) -> GceObject {
        GceObject::new(GceKind::Firewalls, format!("k8s-fw-{}", self.balancer))
    }

    /// The firewall that keeps everything else out.
    pub(crate) fn deny_firewall(&self) -> GceObject {
        GceObject::new(GceKind::Firewalls, format!("k8s-fw-{}-deny", self.balancer))
    }

    /// The firewall of internal load balancers as earlier versions of the vendor's controller called it.
    pub(crate) fn former_firewall(&self) -> GceObject {
        self.own(GceKind::Firewalls)
    }

    /// The name of the cluster's instance group in each zone.
    pub(crate) fn group(&self) -> String {
        format!("k8s-ig--{}", self.cluster)
    }

    /// The backend service that Services with this protocol and affinity share.
    pub(crate) fn shared_backend(&self, is_udp: bool, has_affinity: bool) -> GceObject {
        let protocol = if is_udp { "udp" } else { "tcp" };
        let affinity = AFFINITIES[usize::from(has_affinity)];
        GceObject::new(GceKind::BackendServices, format!("k8s-{}-internal-{protocol}-nmv1-{affinity}", self.cluster))
    }

    /// The description of the Service's objects.
    pub(crate) fn description(&self) -> String {
        described(&self.service)
    }

    /// The description of a firewall that lets clients in to `ip`.
    pub(crate) fn firewall_description(&self, ip: &str) -> String {
        format!(r#"{{"{SERVICE}":"{}", "kubernetes.io/service-ip":"{ip}"}}"#, self.service)
    }

    /// Why an object with a name of this Service is not the Service's: its description names another, or nobody. Checks and their
    /// firewalls may have none, and checks name themselves.
    pub(crate) fn not_ours(&self, object: &GceObject, shown: &Value) -> Option<String> {
        let described = owner_in(shown);
        let is_check = matches!(object.kind, GceKind::HealthChecks | GceKind::HttpHealthChecks);
        let may_lack = is_check || object.name.ends_with("-hc");
        let is_ours = match &described {
            Some(owner) => *owner == self.service || (is_check && *owner == object.name),
            None => may_lack,
        };
        let whose = described.map_or_else(|| "nobody".to_owned(), |it| format!("Service {it}"));
        (!is_ours).then(|| {
            format!(
                "{} has the name of one of this Service, and its description names {whose}: it is not touched. Delete it, if nobody \
                 needs it",
                object.title()
            )
        })
    }
}

/// The description of what is made for this.
pub(crate) fn described(whom: &str) -> String {
    format!(r#"{{"{SERVICE}":"{whom}"}}"#)
}

/// The namespace and name of the Service that the description of an object names.
pub(crate) fn owner_in(shown: &Value) -> Option<String> {
    let description: Value = serde_json::from_str(shown["description"].as_str()?).ok()?;
    description[SERVICE].as_str().map(str::to_owned)
}

/// The id of the cluster in names of shared objects: that of the settings, that of the vendor's controller, or the first 16 digits of
/// the cluster's UID.
///
/// # Errors
///
/// If the cluster is not known, and for a setting that cannot work.
pub(crate) fn cluster_id() -> Result<String> {
    if let Some(id) = settings::read(&CLUSTER_ID)? {
        return Ok(id);
    }
    let cluster = cluster()?;
    let [namespace, name, first, second] = ID_MAP;
    let kept = |key| cluster.config_map_value(namespace, name, key).filter(|it| is_id(it));
    let kept = kept(first).or_else(|| kept(second)).map(str::to_owned);
    Ok(kept.unwrap_or_else(|| cluster.uid.chars().filter(char::is_ascii_hexdigit).take(16).collect()))
}
