use std::fmt;
use std::str::FromStr;

use crate::content::{Content, quoted};
use crate::pattern;

/// A provider's description of itself, given before it has made any request.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Description {
    /// The cloud's name: "digitalocean".
    pub name: String,
    /// The provider's own version.
    pub version: String,
    /// The beginnings of its provider ids: "digitalocean://"; "" stands for ids without "://". A node with another prefix is
    /// never asked about.
    pub provider_id_prefixes: Vec<String>,
    /// The endpoints that it needs. The operator decides what they are and what is allowed on them.
    pub endpoints: Vec<Endpoint>,
    /// Its settings. Others in the operator's file are errors.
    pub settings: Vec<Setting>,
    /// The Service annotations that it reads.
    pub annotations: Vec<Annotation>,
    /// Annotation keys that it may ask the host to write on a Service.
    pub writes_annotations: Vec<String>,
    /// Keys of the node labels that it reads, with `*` for any key that Services may name.
    pub node_labels: Vec<String>,
    /// Those of them that it is shown, since the operator allows it: keys, without `*`.
    pub shown_labels: Vec<String>,
    /// How many nodes one `get` may ask about; at least 1.
    pub get_batch_size: u32,
    /// How many machines one page of `list` may hold; at least 1.
    pub list_page_size: u32,
    /// The most calls of `ensure` and `delete` at a time, at least 1; `None` for any number.
    pub load_balancer_concurrency: Option<u32>,
    /// Load balancers in the calls that run at a time, of a provider that takes several in one: so many have to be worked on side
    /// by side to fill its calls. `None` of one that takes each alone.
    pub load_balancer_batches: Option<u32>,
    /// Whether all load balancers are one object in the cloud, as of a provider that takes several in one call and makes one call at a
    /// time: a call reads that once for all of them.
    pub load_balancers_are_one: bool,
    /// Where its load balancers are reached.
    pub ingress: IngressDescription,
    /// Finalizers that earlier controllers of this cloud put on Services: the provider is told of them.
    pub finalizers: Vec<String>,
    /// Those of them that are taken off with ours, since the operator allows it.
    pub takes_finalizers: Vec<String>,
    /// The values in ConfigMaps that it reads.
    pub config_maps: Vec<ConfigMapKey>,
    /// Those of them that are an id of the cluster's, which an earlier controller makes where the ConfigMap is missing.
    pub cluster_ids: Vec<ConfigMapKey>,
    /// The setting that selects nodes, as the operator has written it: its name and its value.
    pub node_selector: Option<(String, String)>,
}

/// A value in a ConfigMap.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct ConfigMapKey {
    /// The ConfigMap's namespace and name: "kube-system/ingress-uid".
    pub config_map: String,
    /// The key of the value.
    pub key: String,
}

impl FromStr for ConfigMapKey {
    type Err = ();

    /// Reads "namespace/name/key". None of them is empty.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (config_map, key) = text.rsplit_once('/').ok_or(())?;
        let (namespace, name) = config_map.split_once('/').ok_or(())?;
        if namespace.is_empty() || name.is_empty() || name.contains('/') || key.is_empty() {
            return Err(());
        }
        Ok(Self { config_map: config_map.to_owned(), key: key.to_owned() })
    }
}

impl fmt::Display for ConfigMapKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.config_map, self.key)
    }
}

/// Where the load balancers of a cloud are reached.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct IngressDescription {
    /// Whether traffic may come with the load balancer's address as destination: `ipMode: VIP`.
    pub vip: bool,
    /// Whether load balancers of several Services may have one address.
    pub shared: bool,
}

impl Description {
    /// Whether `provider_id` is one of this cloud's.
    #[must_use]
    pub fn owns(&self, provider_id: &str) -> bool {
        self.provider_id_prefixes.iter().any(|prefix| match prefix.as_str() {
            "" => !provider_id.contains("://"),
            prefix => provider_id.starts_with(prefix),
        })
    }

    /// Whether the labels of nodes decide which of them are behind a load balancer.
    #[must_use]
    pub fn selects_nodes(&self) -> bool {
        self.node_selector.is_some() || self.annotations.iter().any(|it| it.selects_nodes)
    }

    /// The described annotation that a Service's annotation with this key is.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&Annotation> {
        self.annotations.iter().find(|it| it.matches(key))
    }

    /// Whether `provider_id` is another cloud's. A provider that names no prefixes leaves that open.
    #[must_use]
    pub fn is_foreign(&self, provider_id: &str) -> bool {
        !self.provider_id_prefixes.is_empty() && !self.owns(provider_id)
    }
}

/// An endpoint that a provider needs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Endpoint {
    /// Its name in `http.send` and in the operator's config.
    pub name: String,
    /// The use of it.
    pub purpose: String,
    /// The `baseUrl` that an operator would write for the public cloud.
    pub example_base_url: String,
    /// Request headers that it sets beyond those that every endpoint allows.
    pub headers: Vec<String>,
    /// Where a request says what it does, if not in its method and path.
    pub operation: Option<OperationPlace>,
    /// The parameters that every request to it carries in its query or form, each name exactly once.
    pub parameters: Vec<(String, String)>,
    /// The permissions that it needs.
    pub allow: Vec<Permission>,
}

/// Where a request says what it does, in APIs with one path for everything.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum OperationPlace {
    /// In this name of the query or of the form: "Action".
    Parameter(String),
    /// In this header: "x-acs-action".
    Header(String),
}

/// The effects of requests, by how much harm they can do.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum Effect {
    /// They change nothing.
    #[default]
    Read,
    /// They change an object that stays, or give it members.
    Update,
    /// They take members away, or may.
    Detach,
    /// They make whole objects.
    Write,
    /// They take whole objects away.
    Delete,
}

/// A kind of requests that has to be allowed on an endpoint.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Permission {
    /// HTTP methods.
    pub methods: Vec<String>,
    /// Path patterns: `*` is one segment, `**` any number of them.
    pub paths: Vec<String>,
    /// Patterns for the operation, where the endpoint has one: "Describe*".
    pub operations: Vec<String>,
    /// The effect of these requests.
    pub effect: Effect,
    /// The cloud's own words for what is done, for its scopes and roles.
    pub actions: Vec<String>,
    /// The content of these requests.
    pub content: Content,
    /// Whether each of these requests names the version that it read, or says that there must be none.
    pub names_version: bool,
}

impl Effect {
    /// The effect of requests with this method where a rule does not say it; an unknown one may do anything.
    #[must_use]
    pub fn of_method(method: &str) -> Self {
        match method {
            "GET" | "HEAD" => Self::Read,
            "POST" | "PUT" | "PATCH" => Self::Write,
            _ => Self::Delete,
        }
    }

    /// The word in `wit/` and in the operator's config.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Update => "update",
            Self::Detach => "detach",
            Self::Write => "write",
            Self::Delete => "delete",
        }
    }
}

impl Permission {
    /// The effect of the requests, if it is another than that of the most harmful of their methods. A POST may read; what else changes
    /// something by its method cannot, and has the effect of its method then.
    #[must_use]
    pub fn own_effect(&self) -> Option<Effect> {
        let by_method = self.methods.iter().map(|it| Effect::of_method(it)).max();
        let may_read = || self.methods.iter().all(|it| matches!(it.as_str(), "GET" | "HEAD" | "POST"));
        Some(self.effect).filter(|it| Some(*it) != by_method && (*it != Effect::Read || may_read()))
    }
}

/// As an item of an endpoint's `allow` in the operator's config: YAML, in one line.
///
/// The effect stands there where the methods do not say it.
impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{ methods: [{}], paths: [{}]", self.methods.join(", "), quoted(&self.paths))?;
        if !self.operations.is_empty() {
            write!(f, ", operations: [{}]", quoted(&self.operations))?;
        }
        if !self.operations.is_empty() || self.own_effect().is_some() {
            write!(f, ", effect: {}", self.effect.as_str())?;
        }
        if self.names_version {
            write!(f, ", requires: [if-match]")?;
        }
        write!(f, "{} }}", self.content)
    }
}

/// A setting of a provider.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Setting {
    /// Its name; dots where a cloud has sections, `*` for a name that the operator chooses.
    pub name: String,
    /// Whether it must be given.
    pub required: bool,
    /// The value that holds without it.
    pub default: Option<String>,
    /// The effect of it.
    pub doc: String,
    /// Whether it is a label selector for the nodes of Services that have none of their own, which the host evaluates.
    pub selects_nodes: bool,
}

impl Setting {
    /// Whether a setting with this name in the operator's file is this one.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        pattern::matches(&self.name, name, '.')
    }
}

/// A Service annotation that a provider reads.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Annotation {
    /// Its key, with `*` for one run of characters but "/" that the Service's author chooses.
    pub key: String,
    /// The values that it takes.
    pub values: String,
    /// The value that holds without it.
    pub default: Option<String>,
    /// The effect of it.
    pub doc: String,
    /// Whether it is a label selector for nodes, which the host evaluates.
    pub selects_nodes: bool,
}

impl Annotation {
    /// Whether an annotation with this key is this one.
    #[must_use]
    pub fn matches(&self, key: &str) -> bool {
        pattern::matches(&self.key, key, '/')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_prefix_stands_for_ids_without_a_scheme() {
        let cloud = |prefixes: &[&str]| Description {
            provider_id_prefixes: prefixes.iter().map(|it| (*it).to_owned()).collect(),
            ..Description::default()
        };
        let both = cloud(&["alicloud://", ""]);
        assert!(both.owns("cn-hangzhou.i-1") && both.owns("alicloud://cn-hangzhou.i-1"));
        assert!(both.is_foreign("aws:///z/i-1") && !both.is_foreign("i-1"));
        assert!(cloud(&["alicloud://"]).is_foreign("cn-hangzhou.i-1"));
    }

    #[test]
    fn a_permission_with_operations_says_their_effect() {
        let permission = Permission {
            methods: vec!["POST".to_owned()],
            paths: vec!["/".to_owned()],
            operations: vec!["Delete*".to_owned()],
            effect: Effect::Delete,
            content: Content { only: Some(vec!["GroupId".to_owned()]), ..Content::default() },
            ..Permission::default()
        };
        let expected = "{ methods: [POST], paths: ['/'], operations: ['Delete*'], effect: delete, only: ['GroupId'] }";
        assert_eq!(permission.to_string(), expected);
    }

    #[test]
    fn a_permission_says_an_effect_that_its_methods_do_not_say() {
        let says = |methods: &[&str], effect| {
            let methods = methods.iter().map(|it| (*it).to_owned()).collect();
            let permission = Permission { methods, paths: vec!["/v1/a".to_owned()], effect, ..Permission::default() };
            permission.to_string().split_once("effect: ").map(|(_, it)| it.trim_end_matches(" }").to_owned())
        };
        assert_eq!(says(&["POST"], Effect::Detach).as_deref(), Some("detach"));
        assert_eq!(says(&["PUT"], Effect::Update).as_deref(), Some("update"));
        assert_eq!(says(&["POST"], Effect::Delete).as_deref(), Some("delete"));
        assert_eq!(says(&["GET", "POST"], Effect::Write), None);
        assert_eq!(says(&["PUT", "DELETE"], Effect::Delete), None);
        assert_eq!(says(&["GET"], Effect::Read), None);
        assert_eq!(says(&["POST"], Effect::Read).as_deref(), Some("read"));
        assert_eq!(says(&["GET", "POST"], Effect::Read).as_deref(), Some("read"));
        assert_eq!(says(&["PUT"], Effect::Read), None, "it changes something, whatever is said");
    }

    #[test]
    fn a_permission_reads_as_an_item_of_yaml() {
        let words = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect();
        let permission = Permission {
            methods: words(&["GET", "PUT"]),
            paths: words(&["/v1/*", "/it's/**"]),
            ..Permission::default()
        };
        assert_eq!(permission.to_string(), "{ methods: [GET, PUT], paths: ['/v1/*', '/it''s/**'] }");
        let named = Permission { effect: Effect::Detach, names_version: true, ..permission };
        assert!(named.to_string().ends_with(", effect: detach, requires: [if-match] }"), "{named}");
    }
}
