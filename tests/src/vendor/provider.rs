//! The provider of a vendor without a cluster, and the cloud that it serves: a real component, the real egress, real credentials.
//!
//! A failure here fails the test that asked for it: everything panics, with what was seen.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Cloud, Instance, Instances, LoadBalancerInventory, LoadBalancers, Node, Reply, Result};
use egress::{
    Acs3Keys, AcsVersion, CredentialKind, CredentialSettings, Credentials, Endpoint, EndpointLimits, OperationPlace,
    Signing, WriteLimits,
};
use sandbox::{Provider, ProviderSettings};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::simulator::{Authorization, Simulator};

use super::description::{Behaviour, Vendor};
use super::loading::{self, Secret, endpoint, may_read};
use super::manifest;

/// A loaded provider and its cloud.
pub struct ProviderRig<V: Vendor> {
    /// The cloud.
    pub cloud: Simulator<V::Cloud>,
    /// The provider.
    pub provider: Provider,
    /// The capabilities of the provider.
    pub abilities: Cloud,
    /// Its machines.
    pub instances: Arc<dyn Instances>,
    /// Its load balancers.
    pub load_balancers: Arc<dyn LoadBalancers>,
    _token: Secret,
    _renewals: JoinSet<()>,
}

/// How a rig differs from the usual one.
#[derive(Default)]
pub struct Differences<'a> {
    /// The provider's settings.
    pub settings: &'a [(&'a str, &'a str)],
    /// The only paths that may be read, and nothing else, in the place of what the shipped configuration allows.
    pub allowed: Option<&'a [&'a str]>,
    /// Rules beside the shipped ones, as an operator writes them.
    pub also_allowed: &'a [Value],
    /// Whether the egress's limits are an operator's defaults: 20 requests a second, and answers that serve several.
    pub usual_limits: bool,
    /// More endpoints at the same cloud, which have the usual one's credential.
    pub more_endpoints: Vec<Endpoint>,
    /// How long an answer serves equal reads, in the place of what the limits say.
    pub reuse: Option<Duration>,
    /// A second endpoint, and its credential.
    pub second: Option<(Endpoint, CredentialSettings)>,
    /// The credential, in the place of the cloud's token as a bearer's.
    pub credential: Option<CredentialKind>,
}

impl<V: Vendor> ProviderRig<V> {
    /// A cloud that behaves so, with the machines `web-1` and `web-2`. These settings come after those that the cloud needs.
    pub async fn new(behaviour: Behaviour, settings: &[(&str, &str)]) -> ProviderRig<V> {
        let settings = &[V::SETTINGS, settings].concat();
        Self::over(V::start(behaviour).await.unwrap(), Differences { settings, ..Differences::default() })
            .await
            .with_machines(2)
    }

    /// Adds machines: `web-1`, `web-2` and so on.
    #[must_use]
    pub fn with_machines(self, count: u64) -> ProviderRig<V> {
        (1..=count).for_each(|id| V::add_machine(self.cloud.account(), id, &format!("web-{id}")));
        self
    }

    /// The provider as the shipped configuration has it but for these differences, over a cloud.
    pub async fn over(cloud: Simulator<V::Cloud>, differences: Differences<'_>) -> ProviderRig<V> {
        let Differences {
            settings,
            allowed,
            also_allowed,
            usual_limits,
            more_endpoints,
            reuse,
            second,
            credential: kind,
        } = differences;
        let settings = [V::NAMEABLE, settings].concat();
        let is_in_files =
            |it: &CredentialKind| matches!(it, CredentialKind::Acs3(it) if matches!(it.keys, Acs3Keys::Files { .. }));
        let has_tokens = kind.as_ref().is_some_and(|it| !is_in_files(it));
        let mut shipped = manifest::cloud_config(V::MANIFEST);
        if let Some(rules) = shipped["endpoints"][0]["allow"].as_array_mut() {
            rules.extend_from_slice(also_allowed);
        }
        let token = Secret::write(&cloud.token);
        let of_name = |name: &str| {
            let all = shipped["endpoints"].as_array().into_iter().flatten();
            // The first one may have another name there.
            let mut found = all.filter(|it| it["name"] == name || !V::OTHER_ENDPOINTS.contains(&name));
            let written = found.next().unwrap_or_else(|| panic!("no endpoint {name} is shipped"));
            let api = endpoint(name, &V::base_url(&cloud));
            let limits = if usual_limits { EndpointLimits::default() } else { api.limits.clone() };
            Endpoint {
                credential: Some("token".to_owned()),
                ca_file: Some(cloud.ca_file()),
                allow: allowed.map_or_else(|| manifest::rules(written), |paths| vec![may_read(paths)]),
                limits: EndpointLimits { reuse: reuse.unwrap_or(limits.reuse), ..limits },
                parameters: parameters(&written["parameters"]),
                operation: operation(&written["operation"]),
                signing: signing(&written["signing"]),
                ..api
            }
        };
        let mut endpoints: Vec<Endpoint> =
            [&[V::ENDPOINT][..], V::OTHER_ENDPOINTS].concat().into_iter().map(of_name).collect();
        let with_token =
            |it: Endpoint| Endpoint { credential: Some("token".to_owned()), ca_file: Some(cloud.ca_file()), ..it };
        endpoints.extend(more_endpoints.into_iter().map(with_token));
        let mut credentials = vec![CredentialSettings {
            name: "token".to_owned(),
            kind: kind.unwrap_or_else(|| CredentialKind::Bearer { file: token.path() }),
            limits: WriteLimits { updates: 600, detachments: 200, ..WriteLimits::default() },
        }];
        if let Some((endpoint, credential)) = second {
            endpoints.push(endpoint);
            credentials.push(credential);
        }
        let settings = ProviderSettings {
            settings: settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            node_labels: texts(&shipped["provider"]["nodeLabels"]),
            writes_annotations: texts(&shipped["provider"]["writesAnnotations"]),
            ..ProviderSettings::default()
        };
        let credentials = Credentials::load(credentials).unwrap();
        let (provider, renewals) = match has_tokens {
            true => loading::load_with_tokens(V::CLUSTER, V::MODULE, settings, endpoints, credentials).await,
            false => (loading::load_for(V::CLUSTER, V::MODULE, settings, endpoints, credentials).await, JoinSet::new()),
        };
        let abilities = provider.cloud();
        let (instances, load_balancers) =
            (abilities.instances.clone().unwrap(), abilities.load_balancers.clone().unwrap());
        ProviderRig { cloud, provider, abilities, instances, load_balancers, _token: token, _renewals: renewals }
    }

    /// The list of its load balancers.
    #[must_use]
    pub fn inventory(&self) -> Arc<dyn LoadBalancerInventory> {
        self.abilities.load_balancer_inventory.clone().unwrap()
    }

    /// Asks about one node.
    pub async fn ask(&self, node: Node) -> Reply<Result<Option<Instance>>> {
        let Reply { mut answer, events, wrote } = self.instances.get(&[node]).await;
        assert_eq!(answer.len(), 1);
        Reply { answer: answer.remove(0), events, wrote }
    }

    /// Asks about one node, of which the provider says nothing further.
    ///
    /// # Errors
    ///
    /// The provider's.
    pub async fn get(&self, node: Node) -> Result<Option<Instance>> {
        let reply = self.ask(node).await;
        assert_eq!(reply.events, []);
        reply.answer
    }

    /// All machines of the list, read in pages of this size.
    pub async fn list_all(&self, limit: u32) -> Vec<Instance> {
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let page = self.instances.list(cursor, limit).await.answer.unwrap();
            assert!(page.instances.len() <= limit as usize);
            assert_eq!(page.gaps, []);
            all.extend(page.instances);
            cursor = page.next;
            if cursor.is_none() {
                return all;
            }
        }
    }

    /// The requests that reached the cloud: "GET /v2/droplets/42 → 200".
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        let requests = self.cloud.requests();
        let is_proven = |it: &Authorization| matches!(it, Authorization::Accepted | Authorization::Judged(_));
        assert!(requests.iter().all(|it| is_proven(&it.authorization) && it.status != Some(401)), "{requests:?}");
        requests.iter().map(ToString::to_string).collect()
    }

    /// The writes: "POST /v2/load_balancers → 202".
    #[must_use]
    pub fn writes(&self) -> Vec<String> {
        self.requests().into_iter().filter(|it| !it.starts_with("GET ")).collect()
    }

    /// The body of the last request of this method and path.
    #[must_use]
    pub fn body(&self, method: &str, path: &str) -> Value {
        let requests = self.cloud.requests_to(method, path);
        let last = requests.last().unwrap_or_else(|| panic!("no {method} {path} among {:?}", self.requests()));
        serde_json::from_slice(&last.body).unwrap()
    }

    /// The id of the only load balancer.
    pub fn only(&self) -> String {
        let mut all = V::built(self.cloud.account());
        assert_eq!(all.len(), 1, "not one load balancer: {all:?}");
        all.remove(0).id
    }
}

impl<V: Vendor> fmt::Debug for ProviderRig<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderRig").field("cloud", &self.cloud).finish_non_exhaustive()
    }
}

/// A node that was initialised.
#[must_use]
pub fn node(name: &str, provider_id: &str) -> Node {
    Node { provider_id: Some(provider_id.to_owned()), ..joining(name) }
}

/// A node that was not.
#[must_use]
pub fn joining(name: &str) -> Node {
    Node { name: name.to_owned(), ..Node::default() }
}

/// The parameters of every request to an endpoint, by name and value.
fn parameters(of: &Value) -> Vec<(String, String)> {
    let all = of.as_object().into_iter().flatten();
    all.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

/// Where the requests of an endpoint say what they do.
fn operation(of: &Value) -> Option<OperationPlace> {
    Some(OperationPlace::Header(of["header"].as_str()?.to_owned()))
}

/// How the requests of an endpoint are signed, where that needs the version of its API alone.
fn signing(of: &Value) -> Option<Signing> {
    Some(Signing::Acs3 { version: AcsVersion::parse(of["version"].as_str()?).unwrap() })
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
