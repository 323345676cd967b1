//! The cloud of a recording: its answers, and when they change.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::duration;

/// The answers of the cloud from some second on.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CloudChange {
    pub(crate) t: f64,
    /// By node. `null`: not there any more.
    #[serde(default)]
    pub(crate) nodes: BTreeMap<String, Option<CloudNode>>,
    /// By Service, as in `default/web`. `null`: as one that was never named.
    #[serde(default)]
    pub(crate) services: BTreeMap<String, Option<CloudService>>,
    /// All routes, if they are others from then on.
    #[serde(default)]
    pub(crate) routes: Option<Vec<CloudRoute>>,
    #[serde(default, deserialize_with = "duration::read_optional")]
    pub(crate) list_routes_delay: Option<Duration>,
    /// An error of lists of routes. `null`: they work from then on.
    #[serde(default, deserialize_with = "said")]
    pub(crate) list_routes_error: Option<Option<CloudError>>,
    /// By node.
    #[serde(default)]
    pub(crate) create_route_error: BTreeMap<String, CloudError>,
    /// By destination.
    #[serde(default)]
    pub(crate) delete_route_error: BTreeMap<String, CloudError>,
    #[serde(default, rename = "note")]
    _note: String,
}

/// A route of the cloud.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CloudRoute {
    pub(crate) name: String,
    pub(crate) target_node: String,
    #[serde(rename = "destinationCIDR")]
    pub(crate) destination: String,
    /// It leads nowhere any more.
    pub(crate) blackhole: bool,
    /// Upstream remembers where the node was reached; our clouds have next hops.
    #[serde(rename = "targetNodeAddresses")]
    _addresses: Value,
}

/// The cloud's answers about the machine of one node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CloudNode {
    #[serde(rename = "providerID")]
    pub(crate) provider_id: String,
    #[serde(rename = "type")]
    pub(crate) machine_type: String,
    pub(crate) zone: String,
    pub(crate) region: String,
    pub(crate) addresses: Vec<Address>,
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "duration::read")]
    pub(crate) delay: Duration,
    pub(crate) metadata_error: Option<CloudError>,
    /// Metadata is null: no error, and no machine either.
    pub(crate) null: bool,
    pub(crate) exists: Option<bool>,
    pub(crate) exists_error: Option<CloudError>,
    pub(crate) shutdown: Option<bool>,
    pub(crate) shutdown_error: Option<CloudError>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Address {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) address: String,
}

/// The cloud's answers about the load balancer of one Service.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CloudService {
    pub(crate) ingress: Vec<Ingress>,
    #[serde(deserialize_with = "duration::read")]
    pub(crate) delay: Duration,
    #[serde(deserialize_with = "duration::read")]
    pub(crate) update_delay: Duration,
    pub(crate) ensure_error: Option<CloudError>,
    pub(crate) update_error: Option<CloudError>,
    pub(crate) delete_error: Option<CloudError>,
    pub(crate) get_error: Option<CloudError>,
    /// Whether upstream's question before a deletion finds it.
    pub(crate) get_exists: Option<bool>,
    /// False: a recording in which it is true is left out.
    #[serde(rename = "nullStatus")]
    pub(crate) _null_status: bool,
}

/// Where a load balancer is reached.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Ingress {
    pub(crate) ip: Option<String>,
    pub(crate) hostname: Option<String>,
    pub(crate) ip_mode: Option<String>,
    /// For each port, whether it works there.
    #[serde(rename = "ports")]
    pub(crate) _ports: Vec<Value>,
}

/// An error of the cloud.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CloudError {
    pub(crate) text: String,
    pub(crate) kind: ErrorKind,
    #[serde(deserialize_with = "duration::read")]
    pub(crate) after: Duration,
    pub(crate) wrap: Value,
    /// How many times; absent and 0: always.
    pub(crate) count: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ErrorKind {
    #[default]
    Plain,
    NotFound,
    NotImplemented,
    Elsewhere,
    Retry,
}

impl CloudNode {
    pub(crate) fn answers_at_once(&self) -> bool {
        self.delay.is_zero() && self.metadata_error.is_none() && self.exists_error.is_none()
    }
}

impl CloudService {
    pub(crate) fn answers_at_once(&self) -> bool {
        self.delay.is_zero() && self.update_delay.is_zero()
    }

    pub(crate) fn fails(&self) -> bool {
        self.ensure_error.is_some() || self.update_error.is_some() || self.delete_error.is_some()
    }
}

/// A field that is there, `null` included; an absent one is `None`.
fn said<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_of_lists_comes_and_goes() {
        let error = |change: Value| serde_json::from_value::<CloudChange>(change).unwrap().list_routes_error;
        assert!(error(json!({ "t": 0.1 })).is_none(), "it stays as it is");
        assert!(error(json!({ "t": 0.1, "listRoutesError": null })).unwrap().is_none());
        let fails = error(json!({ "t": 0.1, "listRoutesError": { "text": "down", "count": 2 } })).unwrap().unwrap();
        assert_eq!((fails.text.as_str(), fails.count), ("down", Some(2)));
    }

    #[test]
    fn an_unknown_word_of_the_cloud_is_an_error() {
        let mood = json!({ "providerID": "fakecloud://1", "mood": "bad" });
        let error = serde_json::from_value::<CloudNode>(mood).unwrap_err().to_string();
        assert!(error.contains("unknown field `mood`"), "{error}");
    }
}
