//! Load balancers in one form, whether they were recorded or are here, and names in the place of what is made up.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt as _;
use serde_json::{Map, Value, json};

use crate::beside::{StoryWords, seen_labelled, seen_node};
use crate::clouds::ibm::{VpcKind, World};
use crate::vendor::{IbmCloud, Vendor as _};

/// The UIDs that stand as they are in the recordings, and their Services.
const UIDS: [(&str, &str); 2] =
    [("dab70032cd094668be106f060a0d2345", "keeper"), ("34410bdd129e41f297e889b5a850b353", "typo")];

/// A load balancer with its parts by their ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SeenVpcBalancer {
    pub(super) name: String,
    pub(super) hostname: String,
    pub(super) is_public: bool,
    /// Ids.
    pub(super) subnets: Vec<String>,
    /// As bodies of the API have them.
    pub(super) listeners: BTreeMap<String, Value>,
    pub(super) pools: BTreeMap<String, SeenVpcPool>,
}

/// A pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SeenVpcPool {
    /// As bodies of the API have it, but for its members.
    pub(super) body: Value,
    /// As bodies of the API have them.
    pub(super) members: Vec<Value>,
}

impl SeenVpcBalancer {
    /// By places.
    fn shown(&self) -> Value {
        let name_of = |pool: &Value| {
            let own = pool["id"].as_str().and_then(|id| self.pools.get(id)).map(|it| it.body["name"].clone());
            own.unwrap_or_else(|| pool["name"].clone())
        };
        let listener = |listener: &Value| {
            let place = format!("{}/{}", listener["port"], text(listener, "protocol"));
            let pool = name_of(&listener["default_pool"]);
            (place, json!({ "limit": listener["connection_limit"], "pool": pool }))
        };
        let pool = |pool: &SeenVpcPool| {
            let member = |it: &Value| json!(format!("{}:{}", text(&it["target"], "address"), it["port"]));
            let mut shown = json!({ "members": pool.members.iter().map(member).collect::<Vec<_>>() });
            for field in ["protocol", "algorithm"] {
                shown[field] = pool.body[field].clone();
            }
            shown["proxy_protocol"] = json!(pool.body["proxy_protocol"].as_str().unwrap_or("disabled"));
            for field in ["type", "port", "delay", "timeout", "max_retries", "url_path"] {
                shown["check"][field] = pool.body["health_monitor"][field].clone();
            }
            (text(&pool.body, "name").to_owned(), shown)
        };
        json!({
            "is_public": self.is_public, "subnets": self.subnets,
            "listeners": self.listeners.values().map(listener).collect::<Map<_, _>>(),
            "pools": self.pools.values().map(pool).collect::<Map<_, _>>(),
        })
    }
}

fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}

/// The words of a recording: UIDs have names there already, but for some.
pub(super) fn recorded_words() -> StoryWords {
    let words = StoryWords::default().then("kube-c1clusterid-<uid-of-", "LB(").then(" without dashes>", ")");
    UIDS.into_iter()
        .fold(words, |words, (uid, of)| words.then(&format!("kube-c1clusterid-{uid}"), &format!("LB({of})")))
}

/// Those of Services that are here, or were.
pub(super) fn words_of<'a>(services: impl IntoIterator<Item = &'a Service>) -> StoryWords {
    services.into_iter().fold(StoryWords::default(), |words, it| {
        words.then(&IbmCloud::default_name(&it.uid().unwrap_or_default()), &format!("LB({})", it.name_any()))
    })
}

/// All load balancers of an account.
pub(super) fn live(world: &World) -> Vec<SeenVpcBalancer> {
    let of = |kind: VpcKind, field: &'static str, id: String| -> Vec<Value> {
        world.all(kind).filter(|it| text(it, field) == id).cloned().collect()
    };
    let balancer = |balancer: &Value| {
        let id = text(balancer, "id").to_owned();
        let pool = |pool: Value| {
            let own = text(&pool, "id").to_owned();
            let members = of(VpcKind::Member, "pool", own.clone()).into_iter();
            let members = members.map(|it| json!({ "port": it["port"], "target": { "address": it["address"] } }));
            (own, SeenVpcPool { members: members.collect(), body: pool })
        };
        let listener = |mut listener: Value| {
            listener["default_pool"] = json!({ "id": listener["pool"] });
            (text(&listener, "id").to_owned(), listener)
        };
        SeenVpcBalancer {
            name: text(balancer, "name").to_owned(),
            hostname: crate::vendor::ibm::hostname(&id),
            is_public: balancer["is_public"] == json!(true),
            subnets: serde_json::from_value(balancer["subnets"].clone()).unwrap_or_default(),
            listeners: of(VpcKind::Listener, "balancer", id.clone()).into_iter().map(listener).collect(),
            pools: of(VpcKind::Pool, "balancer", id).into_iter().map(pool).collect(),
        }
    };
    world.all(VpcKind::LoadBalancer).map(balancer).collect()
}

/// Everything that was left, recorded or here, before names stand in it.
pub(super) struct LeftVpcObjects {
    pub(super) words: StoryWords,
    /// By name, as the API server has them; `null` for one that is gone.
    pub(super) services: Map<String, Value>,
    /// The same of nodes.
    pub(super) nodes: Map<String, Value>,
    pub(super) balancers: Vec<SeenVpcBalancer>,
}

impl LeftVpcObjects {
    /// In one form. Of the cloud, load balancers of the Services that `is_shown` names, and those that have names of their own.
    pub(super) fn seen(self, is_shown: impl Fn(&str) -> bool) -> Value {
        let words = self.words.with_ingress(&self.services);
        let balancers = self.balancers.iter().map(|it| (words.value(&json!(it.name)), it.shown()));
        let balancers = balancers.map(|(name, it)| (name.as_str().unwrap_or_default().to_owned(), it));
        let is_shown = |name: &str| match name.strip_prefix("LB(").and_then(|it| it.strip_suffix(')')) {
            Some(of) => is_shown(of),
            // One of a Service that is not played.
            None => !name.ends_with("4de7363d0bb74b2c984c93fdcd82570e"),
        };
        let services = self.services.iter().map(|(name, it)| (name.clone(), seen_labelled(it)));
        let nodes = self.nodes.iter().map(|(name, it)| (name.clone(), seen_node(it)));
        words.value(&json!({
            "services": services.collect::<Map<_, _>>(), "nodes": nodes.collect::<Map<_, _>>(),
            "cloud": balancers.filter(|(name, _)| is_shown(name)).collect::<Map<_, _>>(),
        }))
    }
}
