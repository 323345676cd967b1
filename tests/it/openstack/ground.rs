//! A cluster with nodes in the simulated OpenStack, for the cases of Services.

use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::{Event, Node, Service};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::clouds::openstack::{Kind, Simulator, World};
use tests::control_plane::{Cluster, cluster};
use tests::operator::{Process, Setup};
use tests::simulator::Recorded;
use tests::vendor::{Behaviour, Creation, OpenStack, Vendor as _};
use tests::{kubelet, operator, wait};

/// A cluster, its cloud and the running binary.
pub(crate) struct Ground {
    pub(crate) cluster: Cluster,
    pub(crate) cloud: Simulator,
    setup: Setup,
    process: Process,
}

impl Ground {
    /// With the nodes web-1 and web-2, which have joined.
    pub(crate) async fn start() -> Self {
        let ground = Self::with(|_| {}, |setup, _| setup).await;
        ground.join(&[1, 2]).await;
        ground
    }

    /// Without a node, in a region that was prepared so, with another config and other flags.
    pub(crate) async fn with(prepare: impl FnOnce(&mut World), edit: impl FnOnce(Setup, &Simulator) -> Setup) -> Self {
        Self::among(&[], prepare, edit).await
    }

    /// The same, where these nodes have joined before the process starts.
    pub(crate) async fn among(
        nodes: &[String],
        prepare: impl FnOnce(&mut World),
        edit: impl FnOnce(Setup, &Simulator) -> Setup,
    ) -> Self {
        let creation = Creation::Takes(Duration::from_millis(50));
        let (cluster, cloud) =
            tokio::join!(cluster(), OpenStack::start(Behaviour { creation, ..Behaviour::default() }));
        let cloud = cloud.unwrap();
        cloud.with(prepare);
        let setup =
            OpenStack::setup(&cluster, &cloud).edit(|it| it["provider"]["settings"]["pollInterval"] = json!("1s"));
        let setup = edit(setup, &cloud);
        join_all(nodes.iter().map(async |it| kubelet::join(&cluster.admin, it).await.unwrap())).await;
        let process = setup.started().await;
        Self { cluster, cloud, setup, process }
    }

    /// Lets the machines with these numbers join, side by side: web-1.
    pub(crate) async fn join(&self, numbers: &[u64]) {
        join_all(numbers.iter().map(async |number| {
            let name = format!("web-{number}");
            OpenStack::add_machine(self.cloud.account(), *number, &name);
            kubelet::join(&self.cluster.admin, &name).await.unwrap();
            operator::initialized(&self.cluster, &name).await;
        }))
        .await;
    }

    /// Lets a node leave with its machine.
    pub(crate) async fn leave(&self, number: u64) {
        self.nodes().delete(&format!("web-{number}"), &DeleteParams::default()).await.unwrap();
        OpenStack::remove_machine(self.cloud.account(), number);
    }

    /// Ends the process, and starts another with these flags beside its own.
    pub(crate) async fn restart(self, flags: &[&str]) -> Self {
        self.process.stop().await;
        let setup = self.setup.flags(flags);
        let process = setup.started().await;
        Self { setup, process, ..self }
    }

    pub(crate) fn nodes(&self) -> Api<Node> {
        Api::all(self.cluster.admin.clone())
    }

    /// The writes to the cloud since so many requests, with names of kinds in the place of ids, and how each was answered.
    pub(crate) fn writes_since(&self, begun: usize) -> Vec<String> {
        let requests = self.cloud.requests_from(begun).into_iter();
        let writes = requests.filter(|it| !it.method.is_safe() && !it.path.starts_with("/identity/"));
        let shown = |sent: Recorded| {
            let path = sent.path.replace("/load-balancer/v2.0/lbaas", "").replace("/network/v2.0", "");
            let is_id = |part: &str| part.len() > 24 && part.contains('-');
            let path: Vec<_> = path.split('/').map(|part| if is_id(part) { "*" } else { part }).collect();
            format!("{} {} {}", sent.method, path.join("/"), sent.status.unwrap_or_default())
        };
        writes.map(shown).collect()
    }

    /// The events of the type Warning about an object.
    pub(crate) async fn warnings(&self, name: &str) -> Vec<String> {
        let events: Api<Event> = Api::all(self.cluster.admin.clone());
        let all = events.list(&ListParams::default()).await.unwrap().items.into_iter();
        let about = all.filter(|it| it.involved_object.name.as_deref() == Some(name));
        let warnings = about.filter(|it| it.type_.as_deref() == Some("Warning"));
        warnings.map(|it| format!("{} {}", it.reason.unwrap_or_default(), it.message.unwrap_or_default())).collect()
    }

    pub(crate) fn services(&self) -> Api<Service> {
        Api::default_namespaced(self.cluster.admin.clone())
    }

    /// Makes a Service of port 80 with these annotations.
    pub(crate) async fn create(&self, name: &str, annotations: &Value) {
        self.create_with(name, annotations, &[80]).await;
    }

    /// The same with other ports.
    pub(crate) async fn create_with(&self, name: &str, annotations: &Value, ports: &[u16]) {
        let ports: Vec<_> = ports.iter().map(|it| json!({ "name": format!("p{it}"), "port": it })).collect();
        let service = json!({
            "metadata": { "name": name, "annotations": annotations },
            "spec": { "type": "LoadBalancer", "ports": ports },
        });
        self.services().create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
    }

    pub(crate) async fn annotate(&self, name: &str, annotations: &Value) {
        let patch = json!({ "metadata": { "annotations": annotations } });
        self.services().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    /// The address that a Service gets.
    pub(crate) async fn address(&self, name: &str) -> String {
        wait::until("the Service has its address", async || {
            let status = self.services().get(name).await.unwrap().status?;
            status.load_balancer?.ingress?.pop()?.ip
        })
        .await
    }

    /// Waits for an event that says these.
    pub(crate) async fn told(&self, name: &str, parts: &[&str]) {
        operator::event(&self.cluster, name, parts).await;
    }

    /// Deletes a Service, and does not wait.
    pub(crate) async fn begin_deletion(&self, name: &str) {
        self.services().delete(name, &DeleteParams::default()).await.unwrap();
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.begin_deletion(name).await;
        self.gone(name).await;
    }

    /// Waits until a Service is gone.
    pub(crate) async fn gone(&self, name: &str) {
        let gone = async || self.services().get_opt(name).await.unwrap().is_none().then_some(());
        wait::until("the Service is gone", gone).await;
    }

    /// The load balancers and floating IPs.
    pub(crate) fn left(&self) -> Vec<Value> {
        [Kind::LoadBalancer, Kind::FloatingIp].map(|it| self.cloud.account().all(it)).concat()
    }

    /// The load balancer that a Service's annotation names.
    pub(crate) async fn balancer(&self, name: &str) -> String {
        self.services().get(name).await.unwrap().annotations()[OpenStack::ID].clone()
    }

    pub(crate) async fn stop(self) {
        self.process.stop().await;
        self.cloud.assert_valid();
    }
}
