//! The description of a provider.

use crate::bindings::description::exports::aerostat::cloud::provider::Guest;
use crate::{Annotation, Description, Effect, Endpoint, Method, OperationPlace, Permission, Result, Setting};

/// Words of [`Description::extra`].
const VIP: &str = "load-balancers.vip";
const SHARED: &str = "load-balancers.shared-addresses";
const FINALIZER: &str = "finalizer";
const CONFIG_MAP: &str = "config-map";
const CLUSTER_ID: &str = "config-map-id";

/// The export of every provider.
pub trait Provider {
    /// Says what this provider is and needs. There is no HTTP here.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) for settings that cannot work: it is shown to the operator, and the
    /// host does not start.
    fn describe() -> Result<Description>;

    /// The account (project, tenant) behind the credential, and the part of it that every other call looks into (region,
    /// network), by reads only; `None` if the cloud does not tell. Where there are several accounts, all of them, sorted.
    ///
    /// It has to stay the same for as long as the credential sees the same machines: the host remembers it, and stops every write
    /// and every deletion while it differs. It includes the region because the right account has no machine in a wrong region.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn identity() -> Result<Option<String>> {
        Ok(None)
    }
}

impl<T: Provider> Guest for T {
    fn describe() -> Result<Description> {
        T::describe()
    }

    fn identity() -> Result<Option<String>> {
        T::identity()
    }
}

impl Description {
    /// A provider without endpoints, settings and annotations. `name` appears in labels, metrics and events: "digitalocean".
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            provider_id_prefixes: Vec::new(),
            endpoints: Vec::new(),
            settings: Vec::new(),
            annotations: Vec::new(),
            writes_annotations: Vec::new(),
            node_labels: Vec::new(),
            get_batch_size: 1,
            list_page_size: 100,
            load_balancer_concurrency: None,
            extra: Vec::new(),
        }
    }

    /// The beginning of the cloud's provider ids: "digitalocean://". Again for each further form.
    #[must_use]
    pub fn provider_id_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.provider_id_prefixes.push(prefix.into());
        self
    }

    /// Adds an endpoint that it needs.
    #[must_use]
    pub fn endpoint(mut self, endpoint: Endpoint) -> Self {
        self.endpoints.push(endpoint);
        self
    }

    /// Adds a setting that it reads. What is not described is an error in the operator's file.
    #[must_use]
    pub fn setting(mut self, setting: Setting) -> Self {
        self.settings.push(setting);
        self
    }

    /// Adds a Service annotation that it reads. The host passes no others.
    #[must_use]
    pub fn annotation(mut self, annotation: Annotation) -> Self {
        self.annotations.push(annotation);
        self
    }

    /// Adds an annotation key that it may ask the host to write on a Service. The operator's config has to allow it too.
    #[must_use]
    pub fn writes_annotation(mut self, key: impl Into<String>) -> Self {
        self.writes_annotations.push(key.into());
        self
    }

    /// Adds the key of a node label that it reads; `*` for any key that Services may name. The operator's config has to
    /// allow each key too.
    #[must_use]
    pub fn node_label(mut self, key: impl Into<String>) -> Self {
        self.node_labels.push(key.into());
        self
    }

    /// The most calls of [`LoadBalancers`](crate::LoadBalancers) at a time: 1 where all of them write to one object of the
    /// cloud. Any number unless set.
    #[must_use]
    pub fn load_balancer_concurrency(mut self, calls: u32) -> Self {
        self.load_balancer_concurrency = Some(calls);
        self
    }

    /// Some of its load balancers pass packets on with their own address as destination, and its answers may say
    /// [`IpMode::Vip`](crate::IpMode::Vip). Unless set, the host refuses that mode, and writes `Proxy` for an address without
    /// a mode: nodes then send the cluster's own traffic to the load balancer, which has to take it.
    #[must_use]
    pub fn load_balancers_have_vips(self) -> Self {
        self.says(VIP)
    }

    /// Load balancers of several Services may have one address. Unless set, the host refuses an address that another
    /// Service has.
    #[must_use]
    pub fn load_balancers_share_addresses(self) -> Self {
        self.says(SHARED)
    }

    /// A finalizer that an earlier controller of this cloud puts on Services: [`LoadBalancer::finalizers`] tells which of them a
    /// Service has. Where the operator allows it, the host takes it off with its own. Again for each further one.
    ///
    /// [`LoadBalancer::finalizers`]: crate::LoadBalancer::finalizers
    #[must_use]
    pub fn finalizer(mut self, finalizer: impl Into<String>) -> Self {
        self.extra.push((FINALIZER.to_owned(), finalizer.into()));
        self
    }

    /// A value that an earlier controller of this cloud keeps in a ConfigMap. Where the operator allows that ConfigMap,
    /// [`Cluster::config_map_value`] has it. Again for each further one.
    ///
    /// [`Cluster::config_map_value`]: crate::Cluster::config_map_value
    #[must_use]
    pub fn config_map_value(mut self, namespace: &str, name: &str, key: &str) -> Self {
        self.extra.push((CONFIG_MAP.to_owned(), format!("{namespace}/{name}/{key}")));
        self
    }

    /// As [`config_map_value`](Self::config_map_value), of an id that such a controller makes where the ConfigMap is missing.
    /// Where the operator allows that, too, the host makes the ConfigMap, with one id under all keys of it that are added so: 16
    /// hexadecimal digits.
    #[must_use]
    pub fn cluster_id(mut self, namespace: &str, name: &str, key: &str) -> Self {
        self.extra.push((CLUSTER_ID.to_owned(), format!("{namespace}/{name}/{key}")));
        self
    }

    fn says(mut self, word: &str) -> Self {
        self.extra.push((word.to_owned(), "true".to_owned()));
        self
    }

    /// How many nodes one [`Instances::get_many`](crate::Instances::get_many) takes; 1 unless the cloud reads in batches.
    #[must_use]
    pub fn get_batch_size(mut self, nodes: u32) -> Self {
        self.get_batch_size = nodes;
        self
    }

    /// How many machines one [`Instances::list`](crate::Instances::list) is asked for; 100 unless set.
    #[must_use]
    pub fn list_page_size(mut self, machines: u32) -> Self {
        self.list_page_size = machines;
        self
    }
}

impl Endpoint {
    /// An endpoint by its name in requests and in the operator's file, what it is for, and the public cloud's URL.
    pub fn new(name: impl Into<String>, purpose: impl Into<String>, example_base_url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            purpose: purpose.into(),
            example_base_url: example_base_url.into(),
            headers: Vec::new(),
            operation: None,
            parameters: Vec::new(),
            allow: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// Requests that have to be allowed on it: methods, patterns for the path under the base URL (`*` is one segment, `**` any
    /// number of them), and the scopes or roles that the cloud asks for. A POST, PUT or PATCH counts as what makes whole objects;
    /// [`Self::allow_as`] says that it does less, or more.
    #[must_use]
    pub fn allow<'a>(
        mut self,
        methods: impl IntoIterator<Item = Method>,
        paths: impl IntoIterator<Item = &'a str>,
        actions: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let methods: Vec<_> = methods.into_iter().collect();
        let effect = effect(&methods);
        let (paths, actions) = (owned(paths), owned(actions));
        self.allow.push(Permission { methods, paths, operations: Vec::new(), effect, actions });
        self
    }

    /// Requests that have to be allowed on it where a method does not say what they do: a POST that takes a target away is
    /// [`Effect::Detach`], a PUT that may empty an object, too; one that changes an object that stays is [`Effect::Update`].
    #[must_use]
    pub fn allow_as<'a>(
        mut self,
        effect: Effect,
        methods: impl IntoIterator<Item = Method>,
        paths: impl IntoIterator<Item = &'a str>,
        actions: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let (methods, paths) = (methods.into_iter().collect(), owned(paths));
        self.allow.push(Permission { methods, paths, operations: Vec::new(), effect, actions: owned(actions) });
        self
    }

    /// For an API with one path: each request is a POST of a form, and says in this name of the form what it does. Go on with
    /// [`Self::allow_operations`].
    #[must_use]
    pub fn operation_parameter(mut self, name: impl Into<String>) -> Self {
        self.operation = Some(OperationPlace::Parameter(name.into()));
        self
    }

    /// A request header that the provider sets on it, in any case, beside those that every endpoint allows: `accept`,
    /// `content-type`, `if-match`, `if-none-match`, `idempotency-key` and `prefer`. The operator's config has to name it under the
    /// endpoint's `headers` too; what is named nowhere is refused when [`Request::header`](crate::http::Request::header) sets it.
    /// Never one with a credential: these are the host's, and it refuses to let a provider set them.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>) -> Self {
        self.headers.push(name.into().to_ascii_lowercase());
        self
    }

    /// A parameter that every request to it carries in its query or form, exactly once: it tells apart two APIs at one host.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// Operations that have to be allowed on an endpoint with [`Self::operation_parameter`]: patterns such as "Describe*", what
    /// these requests do, and the scopes or roles that the cloud asks for.
    #[must_use]
    pub fn allow_operations<'a>(
        mut self,
        effect: Effect,
        operations: impl IntoIterator<Item = &'a str>,
        actions: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        self.allow.push(Permission {
            methods: vec![Method::Post],
            paths: owned(["/"]),
            operations: owned(operations),
            effect,
            actions: owned(actions),
        });
        self
    }

    /// Names in query and form of what was allowed last, and no others, but for those of [`Self::only_values`].
    /// `*` stands for any run of characters: "Filter.*". None at all, for requests that carry nothing. The operation and
    /// [`Self::parameter`] are not named.
    #[must_use]
    pub fn only<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        // The empty word stands for no name.
        self.said("only", std::iter::once("").chain(names))
    }

    /// A name in query and form of what was allowed last, and patterns for what stands in it: "InstanceId" and "i-*".
    /// Besides, only what [`Self::only`] names may stand.
    #[must_use]
    pub fn only_values<'a>(self, name: &str, values: impl IntoIterator<Item = &'a str>) -> Self {
        self.said(&format!("where.{name}"), values)
    }

    /// Members of the JSON body of what was allowed last, and no others, by the names that lead to them:
    /// "port.allowed_address_pairs". What is below them is free. There is no query.
    #[must_use]
    pub fn fields<'a>(self, members: impl IntoIterator<Item = &'a str>) -> Self {
        self.said("fields", members)
    }

    /// Each request of what was allowed last names the version that it read (`if-match`), or says that there must be none
    /// (`if-none-match: *`): an operator may require it, and the config that is made of the description does.
    #[must_use]
    pub fn names_version(self) -> Self {
        self.said("requires", ["if-match"])
    }

    /// This member of the JSON body of each request of what was allowed last is one of these texts, and such requests are told apart from others with
    /// the same method and path by it: "type" and "attach". It is named here alone, other members in `fields`.
    #[must_use]
    pub fn body<'a>(self, member: &str, texts: impl IntoIterator<Item = &'a str>) -> Self {
        self.said(&format!("body.{member}"), texts)
    }

    fn said<'a>(mut self, what: &str, words: impl IntoIterator<Item = &'a str>) -> Self {
        // Before anything is allowed, it is said of the first thing, which the host refuses if there is none.
        let last = self.allow.len().saturating_sub(1);
        self.extra.extend(words.into_iter().map(|it| (format!("allow.{last}.{what}"), it.to_owned())));
        self
    }
}

/// The most that requests with these methods do.
fn effect(methods: &[Method]) -> Effect {
    if methods.contains(&Method::Delete) {
        Effect::Delete
    } else if methods.iter().all(|it| matches!(it, Method::Get | Method::Head)) {
        Effect::Read
    } else {
        Effect::Write
    }
}

fn owned<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    words.into_iter().map(str::to_owned).collect()
}

impl Setting {
    /// A setting that may be left out.
    pub fn optional(name: impl Into<String>, doc: impl Into<String>) -> Self {
        Self { name: name.into(), required: false, default: None, doc: doc.into(), selects_nodes: false }
    }

    /// The same, whose value is a label selector for the nodes behind load balancers of Services that have no annotation that
    /// selects nodes. The host evaluates it. At most one setting does so.
    #[must_use]
    pub fn selects_nodes(mut self) -> Self {
        self.selects_nodes = true;
        self
    }

    /// A setting that the operator has to write.
    pub fn required(name: impl Into<String>, doc: impl Into<String>) -> Self {
        Self { required: true, ..Self::optional(name, doc) }
    }

    /// The default, for documentation: the provider applies it itself.
    #[must_use]
    pub fn default(mut self, value: impl Into<String>) -> Self {
        self.default = Some(value.into());
        self
    }
}

impl Annotation {
    /// A Service annotation: its key, the allowed values, and what it does.
    pub fn new(key: impl Into<String>, values: impl Into<String>, doc: impl Into<String>) -> Self {
        Self { key: key.into(), values: values.into(), default: None, doc: doc.into(), selects_nodes: false }
    }

    /// The same, whose value is a label selector for nodes. The host evaluates it: only nodes that match are behind the
    /// load balancer.
    #[must_use]
    pub fn selects_nodes(mut self) -> Self {
        self.selects_nodes = true;
        self
    }

    /// The default, for documentation: the provider applies it itself.
    #[must_use]
    pub fn default(mut self, value: impl Into<String>) -> Self {
        self.default = Some(value.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adv_164_the_content_is_said_of_the_last_permission() {
        let endpoint = Endpoint::new("api", "", "")
            .allow([Method::Get], ["/a"], [])
            .allow([Method::Put], ["/b"], [])
            .fields(["port.tags", "port.groups"])
            .body("port.kind", ["vip"])
            .allow([Method::Delete], ["/b"], [])
            .only([])
            .allow([Method::Post], ["/"], [])
            .only(["Filter.*"])
            .only_values("Id", ["i-*"])
            .names_version();
        let said: Vec<_> = endpoint.extra.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let expected = [
            "allow.1.fields=port.tags",
            "allow.1.fields=port.groups",
            "allow.1.body.port.kind=vip",
            "allow.2.only=",
            "allow.3.only=",
            "allow.3.only=Filter.*",
            "allow.3.where.Id=i-*",
            "allow.3.requires=if-match",
        ];
        assert_eq!(said, expected);
    }
}
