//! Changes of Services, in words; and the Service that the demo creates.

use std::collections::BTreeMap;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::ground::Ground;

/// The Service's name.
const NAME: &str = "web";

/// Describes what has changed about Services.
#[derive(Default)]
pub(crate) struct Services {
    known: BTreeMap<String, Seen>,
}

#[derive(Clone, Default, PartialEq)]
pub(crate) struct Seen {
    ports: String,
    finalizers: Vec<String>,
    annotations: Vec<String>,
    memo: Option<String>,
    pub(crate) addresses: Vec<String>,
    deleted: bool,
}

impl Services {
    /// The changes since a Service was last shown.
    pub(crate) fn describe(&mut self, service: &Service) -> Vec<String> {
        let now = Seen::of(service);
        let Some(before) = self.known.insert(service.name_any(), now.clone()) else {
            let annotations = now.annotations.iter().map(|it| format!("annotation   {it}"));
            return [format!("created, of type LoadBalancer, for port {}", now.ports)]
                .into_iter()
                .chain(annotations)
                .collect();
        };
        let mut lines = Vec::new();
        let mut differs = |what: &str, before: &str, now: &str| {
            if before != now {
                lines.push(format!("{what:<12} {}", if now.is_empty() { "gone" } else { now }));
            }
        };
        differs("ports", &before.ports, &now.ports);
        differs("finalizer", &before.finalizers.join("  "), &now.finalizers.join("  "));
        differs("memo", before.memo.as_deref().unwrap_or_default(), now.memo.as_deref().unwrap_or_default());
        for annotation in now.annotations.iter().filter(|it| !before.annotations.contains(it)) {
            differs("annotation", "", annotation);
        }
        let is_name = now.addresses.iter().chain(&before.addresses).any(|it| it.parse::<IpAddr>().is_err());
        let address = if is_name { "host name" } else { "address" };
        differs(address, &before.addresses.join("  "), &now.addresses.join("  "));
        if now.deleted && !before.deleted {
            lines.push("is to be deleted; its finalizer holds it until the cloud is done".to_owned());
        }
        lines
    }

    /// Forgets a Service that is no more.
    pub(crate) fn forget(&mut self, name: &str) {
        self.known.remove(name);
    }

    /// The demo's own Service as it was last shown.
    pub(crate) fn seen(&self) -> Option<&Seen> {
        self.known.get(NAME)
    }
}

impl Seen {
    fn of(service: &Service) -> Seen {
        let spec = service.spec.clone().unwrap_or_default();
        let status = service.status.clone().unwrap_or_default();
        let ingress = status.load_balancer.and_then(|it| it.ingress).unwrap_or_default();
        let memo = status.conditions.unwrap_or_default().into_iter().find(|it| it.type_ == "aerostat.dev/memo");
        let mut ports: Vec<_> = spec.ports.unwrap_or_default().iter().map(|it| it.port).collect();
        ports.sort_unstable();
        Seen {
            ports: ports.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            finalizers: service.finalizers().to_vec(),
            annotations: service.annotations().iter().map(|(key, value)| format!("{key}={value}")).collect(),
            memo: memo.map(|it| it.message),
            addresses: ingress.into_iter().filter_map(|it| it.ip.or(it.hostname)).collect(),
            deleted: service.metadata.deletion_timestamp.is_some(),
        }
    }
}

/// Creates it, with one port and these annotations.
pub(crate) async fn create(ground: &Ground, annotations: &[(&str, &str)]) -> anyhow::Result<()> {
    let annotations: Value = annotations.iter().copied().collect();
    let service = serde_json::from_value(json!({
        "metadata": { "name": NAME, "annotations": annotations },
        "spec": { "type": "LoadBalancer", "loadBalancerClass": ground.class(), "selector": { "app": NAME },
            "ports": [port("http", 80)] },
    }))?;
    api(ground).create(&PostParams::default(), &service).await?;
    Ok(())
}

/// Adds a second port.
pub(crate) async fn add_port(ground: &Ground) -> anyhow::Result<()> {
    let patch = json!({ "spec": { "ports": [port("https", 443)] } });
    api(ground).patch(NAME, &PatchParams::default(), &Patch::Strategic(patch)).await?;
    Ok(())
}

/// Asks for its deletion.
pub(crate) async fn delete(ground: &Ground) -> anyhow::Result<()> {
    api(ground).delete(NAME, &DeleteParams::default()).await?;
    Ok(())
}

fn api(ground: &Ground) -> Api<Service> {
    Api::namespaced(ground.admin.clone(), ground.service_namespace())
}

fn port(name: &str, port: u16) -> Value {
    json!({ "name": name, "port": port, "protocol": "TCP" })
}
