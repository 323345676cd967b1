//! A cluster, a cloud, the binary between them, and what a user asks for.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::{Event, Service};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::clouds::digitalocean::{self, LoadBalancer, Options};
use tests::control_plane::{Cluster, cluster};
use tests::operator::{Process, Setup, initialized};
use tests::simulator::{Recorded, Simulator};
use tests::vendor::{Behaviour, Built, DigitalOcean, Vendor, ibm};
use tests::{kubelet, wait};

/// The vendor's annotation for the id of a load balancer.
pub(crate) use tests::vendor::digitalocean::ID;

/// The finalizer that holds a Service until its load balancer is gone.
pub(crate) const FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";
const MEMO: &str = "aerostat.dev/memo";

/// Little patience between two tries.
const FAST: [&str; 2] = ["--leader-elect-retry-period=200ms", "--service-retry-base-delay=500ms"];

/// Everything that a test of one cloud has.
pub(crate) struct CloudRig<V: Vendor> {
    pub(crate) cluster: Cluster,
    pub(crate) cloud: Simulator<V::Cloud>,
    pub(crate) setup: Setup,
}

/// The same for tests of what only DigitalOcean has.
pub(crate) type Rig = CloudRig<DigitalOcean>;

/// A vendor's annotation, by the end of its key.
pub(crate) fn key(name: &str) -> String {
    format!("service.beta.kubernetes.io/do-loadbalancer-{name}")
}

/// Whether a request is about load balancers.
pub(crate) fn is_about_load_balancers<V: Vendor>(request: &Recorded) -> bool {
    V::is_about_load_balancers(request)
}

/// Whether a request may change something. AWS and Alibaba Cloud are asked by POST, too, and a token is asked for so.
pub(crate) fn is_write(request: &Recorded) -> bool {
    let reads = ["/Describe", "/Get", "/List"].iter().any(|it| request.path.contains(it));
    request.method != http::Method::GET && !reads && !ibm::is_for_a_token(request)
}

impl Rig {
    /// A cluster without nodes, and a cloud with nothing in it.
    pub(crate) async fn new(options: Options) -> Self {
        Self::over(digitalocean::Simulator::start(options).await.unwrap()).await
    }

    /// The only load balancer.
    pub(crate) fn only(&self) -> LoadBalancer {
        let mut all = self.cloud.load_balancers().all();
        assert_eq!(all.len(), 1, "{all:#?}");
        all.remove(0)
    }
}

impl<V: Vendor> CloudRig<V> {
    /// A cluster without nodes, and a cloud that behaves so, with nothing in it. The operator has followed the cloud's page.
    pub(crate) async fn with(behaviour: Behaviour) -> Self {
        let rig = Self::before_its_page(behaviour).await;
        rig.cluster.follow(V::PAGE).await;
        rig
    }

    /// The same, where the operator has applied no roles but those of `deploy/rbac.yaml`.
    pub(crate) async fn before_its_page(behaviour: Behaviour) -> Self {
        Self::over(V::start(behaviour).await.unwrap()).await
    }

    async fn over(cloud: Simulator<V::Cloud>) -> Self {
        let cluster = cluster().await;
        let setup = V::setup(&cluster, &cloud).flags(&FAST);
        let rig = Self { cluster, cloud, setup };
        rig.settings(V::FAST)
    }

    /// Adds a machine.
    pub(crate) fn add_machine(&self, id: u64) {
        V::add_machine(self.cloud.account(), id, &worker(id));
    }

    /// All load balancers.
    pub(crate) fn built(&self) -> Vec<Built> {
        V::built(self.cloud.account())
    }

    /// The only load balancer, in every cloud's words.
    pub(crate) fn only_built(&self) -> Built {
        let mut all = self.built();
        assert_eq!(all.len(), 1, "{all:#?}");
        all.remove(0)
    }

    /// Sets settings of the provider.
    pub(crate) fn settings(mut self, settings: &[(&str, &str)]) -> Self {
        for (name, value) in settings {
            self.setup.config["provider"]["settings"][*name] = json!(value);
        }
        self
    }

    /// Sets limits of each endpoint.
    pub(crate) fn limits(mut self, limits: &Value) -> Self {
        for endpoint in self.setup.config["endpoints"].as_array_mut().unwrap() {
            endpoint["limits"] = limits.clone();
        }
        self
    }

    /// Adds flags.
    pub(crate) fn flags(mut self, flags: &[&str]) -> Self {
        self.setup = self.setup.flags(flags);
        self
    }

    /// Starts the binary and waits until its controllers run.
    pub(crate) async fn start(&self) -> Process {
        let mut process = self.setup.start();
        // The last controller of the list: all others run.
        process.says("node-route-controller is ").await;
        process
    }

    /// Adds so many machines whose nodes join, without waiting for more: worker-1, worker-2 and so on.
    pub(crate) async fn join(&self, count: u64) {
        for id in 1..=count {
            self.add_machine(id);
        }
        for ids in (1..=count).collect::<Vec<_>>().chunks(50) {
            let joined = ids.iter().map(|id| async { kubelet::join(&self.cluster.admin, &worker(*id)).await.unwrap() });
            join_all(joined).await;
        }
    }

    /// As [`Rig::join`], with the binary running: waits until all are initialised.
    pub(crate) async fn workers(&self, count: u64) {
        self.join(count).await;
        for id in 1..=count {
            initialized(&self.cluster, &worker(id)).await;
        }
    }

    /// Starts the binary with so many workers that are initialised already: no load balancer is changed before the cloud has said that all of
    /// them exist, so that none comes late to a Service.
    pub(crate) async fn start_with_workers(&self, count: u64) -> Process {
        let first = self.start().await;
        self.workers(count).await;
        first.stop().await;
        self.start().await
    }

    pub(crate) fn services(&self) -> Api<Service> {
        Api::namespaced(self.cluster.admin.clone(), "default")
    }

    /// Creates a Service, with what the vendor needs to be told. Annotations that the vendor has no key for are left out.
    pub(crate) async fn create(&self, service: &Service) -> Service {
        let mut service = service.clone();
        let annotations = service.metadata.annotations.get_or_insert_default();
        for (key, value) in V::ANNOTATIONS {
            annotations.entry((*key).to_owned()).or_insert_with(|| (*value).to_owned());
        }
        annotations.remove("");
        self.services().create(&PostParams::default(), &service).await.unwrap()
    }

    /// Changes a Service by a merge patch.
    pub(crate) async fn patch(&self, name: &str, patch: &Value) -> Service {
        self.services().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap()
    }

    /// Sets an annotation, or takes it away.
    pub(crate) async fn annotate(&self, name: &str, key: &str, value: Option<&str>) {
        self.patch(name, &json!({ "metadata": { "annotations": { key: value } } })).await;
    }

    /// Changes the ports of a Service.
    pub(crate) async fn ports(&self, name: &str, numbers: &[u16]) {
        self.patch(name, &json!({ "spec": { "ports": ports(numbers) } })).await;
    }

    /// Asks for the deletion of a Service.
    pub(crate) async fn delete(&self, name: &str) {
        self.services().delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Waits until a Service has an address, and returns it.
    pub(crate) async fn served(&self, name: &str) -> Service {
        let what = format!("{name} has an address");
        let found = wait::within(wait::DEADLINE, async || {
            Some(self.services().get(name).await.unwrap()).filter(|it| !addresses(it).is_empty())
        });
        match found.await {
            Some(service) => service,
            None => panic!("{what}: not in time; {}", self.describe().await),
        }
    }

    /// Waits until a Service is gone.
    pub(crate) async fn gone(&self, name: &str) {
        let found =
            wait::within(wait::DEADLINE, async || self.services().get_opt(name).await.unwrap().is_none().then_some(()));
        if found.await.is_none() {
            panic!("{name} is not gone in time; {}", self.describe().await);
        }
    }

    /// Waits for a Warning about a Service whose message contains all of `parts`.
    pub(crate) async fn warned(&self, name: &str, reason: &str, parts: &[&str]) -> Event {
        let found = wait::within(wait::DEADLINE, async || {
            self.events(name).await.into_iter().find(|event| {
                let message = event.message.as_deref().unwrap_or_default();
                event.reason.as_deref() == Some(reason) && parts.iter().all(|part| message.contains(part))
            })
        });
        match found.await {
            Some(event) => event,
            None => panic!("no {reason} about {name} says {parts:?}; {}", self.describe().await),
        }
    }

    /// The events about an object.
    pub(crate) async fn events(&self, name: &str) -> Vec<Event> {
        let mut events = self.all_events().await;
        events.retain(|it| it.involved_object.name.as_deref() == Some(name));
        events
    }

    pub(crate) async fn all_events(&self) -> Vec<Event> {
        Api::<Event>::all(self.cluster.admin.clone()).list(&ListParams::default()).await.unwrap().items
    }

    /// The events and requests so far, for a test that fails.
    async fn describe(&self) -> String {
        let mut lines = vec!["events:".to_owned()];
        for event in self.all_events().await {
            let about = event.involved_object.name.unwrap_or_default();
            let (reason, message) = (event.reason.unwrap_or_default(), event.message.unwrap_or_default());
            lines.push(format!("  {about} {reason} x{}: {message}", event.count.unwrap_or(1)));
        }
        lines.push("requests to the cloud:".to_owned());
        let requests = self.cloud.requests();
        lines.extend(requests.iter().rev().take(40).rev().map(|it| format!("  {it}")));
        lines.join("\n")
    }

    /// The writes to the cloud so far: "POST /v2/load_balancers → 202".
    pub(crate) fn writes(&self) -> Vec<String> {
        self.cloud.requests().iter().filter(|it| is_write(it)).map(ToString::to_string).collect()
    }

    /// The writes to the cloud so far that it did not refuse.
    pub(crate) fn effects(&self) -> Vec<String> {
        let requests = self.cloud.requests();
        let done = requests.iter().filter(|it| is_write(it) && it.status.is_none_or(|it| it < 400));
        done.map(ToString::to_string).collect()
    }

    /// Waits for what must not happen. The time is all that proves it.
    pub(crate) async fn never<T: std::fmt::Debug>(&self, time: Duration, what: impl AsyncFnMut() -> Option<T>) {
        if let Some(seen) = wait::within(time, what).await {
            panic!("{seen:?}; {}", self.describe().await);
        }
    }
}

/// The name of a node.
pub(crate) fn worker(id: u64) -> String {
    format!("worker-{id}")
}

/// A Service of type LoadBalancer with these TCP ports and annotations.
pub(crate) fn service(name: &str, numbers: &[u16], annotations: &[(&str, &str)]) -> Service {
    let annotations: BTreeMap<_, _> = annotations.iter().copied().collect();
    let service = json!({
        "metadata": { "name": name, "annotations": annotations },
        "spec": { "type": "LoadBalancer", "selector": { "app": name }, "ports": ports(numbers) },
    });
    serde_json::from_value(service).unwrap()
}

fn ports(numbers: &[u16]) -> Vec<Value> {
    numbers.iter().map(|it| json!({ "name": format!("p-{it}"), "port": it, "protocol": "TCP" })).collect()
}

/// The addresses in the status of a Service, or the names of hosts.
pub(crate) fn addresses(service: &Service) -> Vec<String> {
    let ingress = service.status.as_ref().and_then(|it| it.load_balancer.as_ref()?.ingress.as_ref());
    ingress.into_iter().flatten().filter_map(|it| it.ip.clone().or(it.hostname.clone())).collect()
}

/// The memo of a Service's load balancer.
pub(crate) fn memo(service: &Service) -> Option<&str> {
    let conditions = service.status.as_ref()?.conditions.as_deref()?;
    Some(&conditions.iter().find(|it| it.type_ == MEMO)?.message)
}

/// The default name of a Service's load balancer.
pub(crate) fn default_name<V: Vendor>(service: &Service) -> String {
    V::name_for(service)
}
