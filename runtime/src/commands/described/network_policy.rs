//! Network policies for the Pods of aerostat. They are those of the chart, for the endpoints of one module.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use egress::{CredentialKind, Proxy};
use serde_json::{Value, json};
use url::{Host, Url};

use super::module::DescribedModule;
use crate::config::{CloudConfig, ModuleSource};

/// The ports of API servers, by themselves and as a Service.
const API_SERVER: [u16; 2] = [6443, 443];

/// The places that aerostat goes to beside the API server and DNS, by their ports.
pub(super) struct Destinations {
    names: BTreeMap<u16, BTreeSet<String>>,
    networks: BTreeMap<u16, BTreeSet<String>>,
}

impl Destinations {
    /// The endpoints of the config, or those that the module describes.
    ///
    /// The error is a sentence.
    pub(super) fn of(module: &DescribedModule<'_>, config: Option<&CloudConfig>) -> Result<Self, String> {
        let described = || module.description.endpoints.iter().map(|it| it.example_base_url.clone()).collect();
        let urls: Vec<_> = config.map_or_else(described, reached);
        if urls.is_empty() {
            return Err(format!(
                "{} describes no endpoint, so a network policy has nothing to allow; name the cluster's config with \
                 --cloud-config",
                module.name
            ));
        }
        let mut found = Self { names: BTreeMap::new(), networks: BTreeMap::new() };
        for text in urls {
            let url = Url::parse(&text).map_err(|error| {
                format!("{} names the URL {text:?} for an endpoint, which is none ({error}); correct it", module.name)
            })?;
            let port = url.port_or_known_default().unwrap_or(443);
            let network = |it: IpAddr| format!("{it}/{}", if it.is_ipv4() { 32 } else { 128 });
            match url.host() {
                Some(Host::Domain(name)) => found.names.entry(port).or_default().insert(name.to_owned()),
                Some(Host::Ipv4(it)) => found.networks.entry(port).or_default().insert(network(it.into())),
                Some(Host::Ipv6(it)) => found.networks.entry(port).or_default().insert(network(it.into())),
                None => return Err(format!("{} names a URL without a host: {text:?}; correct it", module.name)),
            };
        }
        Ok(found)
    }
}

/// The URLs that a config leads to: a proxy in the place of what is reached through it.
fn reached(config: &CloudConfig) -> Vec<String> {
    let through = |url: String, proxy: Option<String>| proxy.unwrap_or(url);
    let url = |proxy: &Option<Proxy>| proxy.as_ref().map(|it| it.url.to_string());
    let endpoints = config.endpoints.iter().flat_map(|endpoint| {
        let proxy = url(&endpoint.proxy);
        endpoint.place.origins().into_iter().map(move |it| through(it.to_string(), proxy.clone()))
    });
    let givers = config.credentials.iter().flat_map(|credential| match &credential.kind {
        CredentialKind::Keystone(settings) => vec![through(settings.base_url.to_string(), url(&settings.proxy))],
        CredentialKind::Google(settings) => {
            let urls = settings.token_urls();
            urls.into_iter().map(|it| through(it, url(&settings.proxy))).collect()
        }
        CredentialKind::Entra(settings) => {
            settings.authority().map(|it| through(it.to_string(), url(&settings.proxy))).into_iter().collect()
        }
        CredentialKind::IbmIam(settings) => {
            settings.iam().map(|it| through(it.to_string(), url(&settings.proxy))).into_iter().collect()
        }
        CredentialKind::Acs3(settings) => {
            settings.sts_url().map(|it| through(it, url(&settings.sts.proxy))).into_iter().collect()
        }
        CredentialKind::Bearer { .. } | CredentialKind::Basic { .. } | CredentialKind::Sigv4(_) => Vec::new(),
    });
    let registry = match &config.source {
        ModuleSource::Registry(settings) => {
            let image = settings.image.to_string();
            let host = image.split('/').next().unwrap_or_default();
            Some(through(format!("https://{host}"), settings.proxy.as_ref().map(|it| it.url.to_string())))
        }
        ModuleSource::Local(_) => None,
    };
    endpoints.chain(givers).chain(registry).collect()
}

fn metadata() -> Value {
    json!({ "name": "aerostat", "namespace": "kube-system", "labels": { "app.kubernetes.io/name": "aerostat" } })
}

/// A NetworkPolicy: it knows ports, and no names.
pub(super) fn kubernetes(to: &Destinations) -> Value {
    let tcp =
        |ports: &BTreeSet<u16>| ports.iter().map(|it| json!({ "port": it, "protocol": "TCP" })).collect::<Vec<_>>();
    let open: BTreeSet<u16> = to.names.keys().copied().chain(API_SERVER).collect();
    let mut egress = vec![
        json!({ "ports": [{ "port": 53, "protocol": "UDP" }, { "port": 53, "protocol": "TCP" }] }),
        json!({
            "ports": tcp(&open),
            "to": [
                { "ipBlock": { "cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"] } },
                { "ipBlock": { "cidr": "::/0", "except": ["fe80::/10", "fd00:ec2::/32"] } },
            ],
        }),
    ];
    for (port, networks) in &to.networks {
        let blocks: Vec<_> = networks.iter().map(|it| json!({ "ipBlock": { "cidr": it } })).collect();
        egress.push(json!({ "ports": tcp(&BTreeSet::from([*port])), "to": blocks }));
    }
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(),
        "spec": {
            "podSelector": { "matchLabels": { "app.kubernetes.io/name": "aerostat" } },
            "policyTypes": ["Ingress", "Egress"],
            "egress": egress,
        },
    })
}

/// A CiliumNetworkPolicy: it knows names.
pub(super) fn cilium(to: &Destinations) -> Value {
    let matching = |names: &BTreeSet<String>| names.iter().map(|it| json!({ "matchName": it })).collect::<Vec<_>>();
    let port = |it: &u16| json!([{ "ports": [{ "port": it.to_string(), "protocol": "TCP" }] }]);
    let mut egress = vec![json!({ "toEntities": ["kube-apiserver"] })];
    let names: BTreeSet<_> = to.names.values().flatten().cloned().collect();
    if !names.is_empty() {
        let dns = json!({ "ports": [{ "port": "53", "protocol": "ANY" }], "rules": { "dns": matching(&names) } });
        egress.push(json!({ "toPorts": [dns] }));
    }
    egress.extend(to.names.iter().map(|(at, names)| json!({ "toFQDNs": matching(names), "toPorts": port(at) })));
    egress.extend(to.networks.iter().map(|(at, networks)| json!({ "toCIDR": networks, "toPorts": port(at) })));
    json!({
        "apiVersion": "cilium.io/v2",
        "kind": "CiliumNetworkPolicy",
        "metadata": metadata(),
        "spec": {
            "endpointSelector": { "matchLabels": { "app.kubernetes.io/name": "aerostat" } },
            "ingress": [{ "fromEntities": ["host"] }],
            "egress": egress,
        },
    })
}
