//! A provider that does what a provider must not. A node's name is the crime to commit for it; so is a Service's, a
//! cursor of `list`, and the settings `describe` and `identity`. What a crime found out comes back as
//! [`Error::Invalid`].

mod endless;
mod extra;
mod forged;
mod hiding;
mod load_balancers;
mod named;
mod network;
mod resources;
mod wasi;
mod writes;

use aerostat_sdk::{
    Address, Annotation, Deletion, Description, Endpoint, Error, Instance, Instances, LoadBalancer, LoadBalancers,
    Node, Page, Progress, Provider, Result, Setting, cluster, settings,
};

struct Hostile;

aerostat_sdk::export!(Hostile: Provider, Instances, LoadBalancers);

/// The answer that a node gets.
type Answer = Result<Option<Instance>>;

impl Provider for Hostile {
    fn describe() -> Result<Description> {
        if let Some(crime) = settings::find::<String>("describe")? {
            commit(&Node::named(crime))?;
        }
        let mut description = Description::new("hostile", "1.0.0")
            .provider_id_prefix("hostile://")
            .setting(Setting::optional("describe", "The crime to commit before describing anything."))
            .setting(Setting::optional(
                "identity",
                "The crime to commit when asked for the account; or \"account:\" and its name.",
            ))
            .setting(Setting::optional("list", "The crime to commit when asked for the first page of machines."))
            .setting(Setting::optional("class.*.size", "A setting for each class that the operator names."))
            .setting(Setting::optional(
                "machines",
                "The path of the cloud's machines: v2/droplets, unless it says another.",
            ))
            .setting(Setting::optional(
                "load-balancers",
                "The endpoint and path of the cloud's load balancers: api/v2/load_balancers, unless it says another.",
            ))
            .setting(Setting::optional("writers", "How many load balancers are written at a time."))
            .annotation(Annotation::new("hostile.example/see", "anything", "What the provider may see."))
            .annotation(Annotation::new("hostile.example/port-*-kind", "anything", "What it may see of each port."))
            .node_label("rack")
            .node_label("pool")
            .writes_annotation("hostile.example/id")
            .writes_annotation("hostile.example/kind")
            .finalizer("hostile.example/earlier")
            .config_map_value("kube-system", "hostile", "id")
            .cluster_id("kube-system", "hostile-id", "uid")
            .cluster_id("kube-system", "hostile-id", "provider-uid")
            .setting(Setting::optional("endpoint", "An endpoint to need."))
            .setting(Setting::optional("get-batch", "How many nodes one call of get takes.").default("1"))
            .setting(Setting::optional("requires", "A further setting to need."));
        if let Some(endpoint) = settings::find::<String>("endpoint")? {
            description = description.endpoint(Endpoint::new(endpoint, "mischief", "https://api.example.com"));
        }
        if let Some(setting) = settings::find::<String>("requires")? {
            description = description.setting(Setting::required(setting, "Whatever it is."));
        }
        if let Some(writers) = settings::find("writers")? {
            description = description.load_balancer_concurrency(writers);
        }
        // Many of its load balancers have one address.
        let description = description.load_balancers_share_addresses();
        let description = description.get_batch_size(settings::find("get-batch")?.unwrap_or(1));
        match settings::find::<String>("describe")?.as_deref() {
            Some("forged") => Ok(forged::description(description)),
            Some("greedy") => Ok(description.provider_id_prefix("digitalocean://")),
            Some("see-cluster") => report(format!("{:?}", cluster())).map(|_| description),
            Some("any-annotation") => {
                Ok(description.annotation(Annotation::new("kubernetes.io/*", "anything", "All.")))
            }
            Some("any-setting") => Ok(description.setting(Setting::optional("*", "All."))),
            Some("select") => Ok(description.setting(selector("node-selector"))),
            Some("select-twice") => Ok(description.setting(selector("one")).setting(selector("two"))),
            Some("select-many") => Ok(description.setting(selector("class.*.nodes"))),
            Some("own-finalizer") => Ok(description.finalizer("service.kubernetes.io/load-balancer-cleanup")),
            Some("kubernetes-finalizer") => Ok(description.finalizer("foregroundDeletion")),
            Some("any-config-map") => Ok(description.config_map_value("kube-system", "", "id")),
            _ => Ok(description),
        }
    }

    fn identity() -> Result<Option<String>> {
        let Some(crime) = settings::find::<String>("identity")? else { return Ok(None) };
        match crime.strip_prefix("account:") {
            Some(account) => Ok(Some(account.to_owned())),
            None => commit(&Node::named(crime)).map(|_| None),
        }
    }
}

/// A setting that selects nodes.
fn selector(name: &str) -> Setting {
    Setting::optional(name, "Which nodes take traffic.").selects_nodes()
}

impl Instances for Hostile {
    fn get(node: &Node) -> Answer {
        commit(node)
    }

    fn get_many(nodes: &[Node]) -> Vec<Answer> {
        if nodes.iter().any(|it| it.name == "too-few-answers") {
            return Vec::new();
        }
        nodes.iter().map(Self::get).collect()
    }

    fn canonical_id(provider_id: &str) -> Result<String> {
        match provider_id.strip_prefix("hostile://").unwrap_or(provider_id) {
            "unknown" => Err(Error::invalid("no machine\nof mine")),
            "forged" => Ok("a\n\u{202e}".to_owned()),
            "endless" => Ok("x".repeat(1 << 16)),
            "crash" => panic!("a provider id"),
            other => Ok(format!("hostile://{}", other.to_lowercase())),
        }
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        let crime = settings::find::<String>("list")?;
        match cursor.or(crime.as_deref()) {
            None if settings::find::<String>("describe")?.as_deref() == Some("endless") => Ok(endless::page(0, limit)),
            Some(page) if page.starts_with("endless-") => {
                Ok(endless::page(page["endless-".len()..].parse().unwrap_or(0), limit))
            }
            None => Ok(Page::new(vec![honest("honest-1"), honest("honest-2")], Some("honest-page-2".into()))),
            Some("honest-page-2") => Ok(Page::new(vec![honest("honest-3")], None)),
            Some("too-many") => Ok(Page::new((0..=limit).map(|it| honest(&format!("m{it}"))).collect(), None)),
            Some("itself") => Ok(Page::new(Vec::new(), Some("itself".into()))),
            Some("one-unusable") => {
                let foreign = Instance::new("foreign", "aws:///eu-1/i-1");
                Ok(Page::new(vec![honest("honest-1"), foreign], None))
            }
            Some(crime) => commit(&Node::named(crime)).map(|it| Page::new(it.into_iter().collect(), None)),
        }
    }
}

impl LoadBalancers for Hostile {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        if let Some(answer) = network::of_service(desired) {
            return answer.map(|_| Progress::NotManaged);
        }
        writes::ensure(desired).or_else(|| hiding::ensure(desired)).unwrap_or_else(|| load_balancers::ensure(desired))
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        let hidden = writes::delete(unwanted).or_else(|| hiding::delete(unwanted));
        hidden.unwrap_or_else(|| load_balancers::delete(unwanted))
    }
}

/// Commits the crime that `node` is named after; other nodes have an honest machine.
fn commit(node: &Node) -> Answer {
    extra::run(node)
        .or_else(|| resources::run(node))
        .or_else(|| forged::run(node))
        .or_else(|| named::run(node))
        .or_else(|| hiding::run(node))
        .or_else(|| network::run(node))
        .unwrap_or_else(|| Ok(Some(honest(&node.name))))
}

fn honest(name: &str) -> Instance {
    Instance::new(name, format!("hostile://{name}")).addresses([Address::internal_ip("10.1.0.1")])
}

/// The result of a crime.
fn report(text: impl ToString) -> Answer {
    Err(Error::Invalid(text.to_string()))
}
