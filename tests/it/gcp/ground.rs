//! A cluster with nodes in a simulated project, and the binary between them.

use futures::future::join_all;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams};
use serde_json::Value;
use tests::clouds::gcp::{Collection, Options, PROJECT, Place, REGION, Recorded, Simulator, World};
use tests::control_plane::{Cluster, cluster};
use tests::operator::{Process, Setup};
use tests::vendor::{GoogleCloud, Vendor as _, gcp};
use tests::{kubelet, operator, services, wait};

/// All that a load balancer may consist of, and routes.
const MADE: [Collection; 9] = [
    Collection::ForwardingRules,
    Collection::Addresses,
    Collection::TargetPools,
    Collection::BackendServices,
    Collection::InstanceGroups,
    Collection::HttpHealthChecks,
    Collection::HealthChecks,
    Collection::Firewalls,
    Collection::Routes,
];

/// A cluster, its project and the running binary.
pub(crate) struct Ground {
    pub(crate) cluster: Cluster,
    pub(crate) cloud: Simulator,
    setup: Setup,
    process: Option<Process>,
}

impl Ground {
    /// With the nodes node-1 in zone b and node-2 in zone c, which have joined.
    pub(crate) async fn start() -> Self {
        let ground = Self::with(|_| {}, |setup, _| setup).await;
        join_all([(1, "b"), (2, "c")].map(|(number, zone)| ground.join(number, zone))).await;
        ground
    }

    /// Without a node, in projects that were prepared so, with another config and other flags.
    pub(crate) async fn with(prepare: impl FnOnce(&mut World), edit: impl FnOnce(Setup, &Simulator) -> Setup) -> Self {
        let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(Options::default()));
        let cloud = cloud.unwrap();
        cloud.with(World::build_plain);
        cloud.with(prepare);
        let setup = edit(gcp::setup(&cluster, &cloud), &cloud);
        let process = Some(setup.started().await);
        Self { cluster, cloud, setup, process }
    }

    /// Lets a machine join as a node: node-1.
    pub(crate) async fn join(&self, number: u32, zone: &str) -> Node {
        join(&self.cluster, &self.cloud, number, zone).await
    }

    /// Lets a node leave with its machine.
    pub(crate) async fn leave(&self, number: u32, zone: &str) {
        let name = format!("node-{number}");
        self.nodes().delete(&name, &DeleteParams::default()).await.unwrap();
        self.cloud.with(|world| drop(world.remove(&self::zone(zone).path(Collection::Instances, &name))));
    }

    /// Ends the process, and starts another.
    pub(crate) async fn restart(&mut self) {
        self.rest().await;
        self.process = Some(self.setup.started().await);
    }

    /// Ends the process.
    pub(crate) async fn rest(&mut self) {
        if let Some(process) = self.process.take() {
            process.stop().await;
        }
    }

    pub(crate) fn nodes(&self) -> Api<Node> {
        Api::all(self.cluster.admin.clone())
    }

    pub(crate) fn services(&self) -> Api<Service> {
        Api::default_namespaced(self.cluster.admin.clone())
    }

    /// Makes a Service of TCP port 80 with these annotations, and these fields of `spec` beside. Answers its load balancer's name.
    pub(crate) async fn create(&self, name: &str, annotations: &Value, spec: &Value) -> String {
        create(&self.cluster, name, annotations, spec).await
    }

    /// Changes a Service by a merge patch.
    pub(crate) async fn patch(&self, name: &str, patch: &Value) {
        services::patch(&self.cluster, name, patch).await;
    }

    /// The address that a Service gets.
    pub(crate) async fn address(&self, name: &str) -> String {
        services::address(&self.cluster, name).await
    }

    /// Waits until the load balancer is so, nothing goes on about it, and the Service has the rule's address. Answers that.
    pub(crate) async fn becomes(&self, name: &str, what: &str, is_so: impl Fn(&World) -> bool) -> String {
        let service = self.services().get(name).await.unwrap();
        let balancer = balancer_name(&service);
        let rule = region().path(Collection::ForwardingRules, &balancer);
        wait::until(what, async || {
            let address = self.cloud.with(|world| {
                let is_held = world.get(&region().path(Collection::Addresses, &balancer)).is_some();
                let address = world.get(&rule)?["IPAddress"].as_str()?.to_owned();
                (is_so(world) && !is_held && world.is_at_rest(&balancer)).then_some(address)
            })?;
            let shown = services::shown_addresses(&self.services().get(name).await.unwrap());
            (shown.first() == Some(&address)).then_some(address)
        })
        .await
    }

    /// Deletes a Service, and waits until it is gone.
    pub(crate) async fn delete(&self, name: &str) {
        services::delete(&self.cluster, name).await;
    }

    /// Waits for an event about an object that says these.
    pub(crate) async fn told(&self, name: &str, parts: &[&str]) {
        operator::event(&self.cluster, name, parts).await;
    }

    /// All that was made, by path below its project: `regions/europe-west1/forwardingRules/a…`.
    pub(crate) fn made(&self) -> Vec<String> {
        made(&self.cloud)
    }

    /// The writes since so many requests: `POST regions/europe-west1/targetPools 200`.
    pub(crate) fn writes_since(&self, begun: usize) -> Vec<String> {
        self.cloud.requests_from(begun).iter().filter(|it| writes(it)).map(line).collect()
    }

    pub(crate) async fn stop(mut self) {
        self.rest().await;
        self.cloud.assert_valid();
    }
}

/// Lets a machine join a cluster as a node.
pub(crate) async fn join(cluster: &Cluster, cloud: &Simulator, number: u32, zone: &str) -> Node {
    let name = format!("node-{number}");
    cloud.with(|world| _ = world.add_machine(&self::zone(zone), number, &name));
    kubelet::join(&cluster.admin, &name).await.unwrap();
    operator::initialized(cluster, &name).await
}

/// Makes a Service in a cluster, as [`Ground::create`].
pub(crate) async fn create(cluster: &Cluster, name: &str, annotations: &Value, spec: &Value) -> String {
    balancer_name(&services::create(cluster, name, annotations, spec).await)
}

/// All that was made in a cloud, by path below its project.
pub(crate) fn made(cloud: &Simulator) -> Vec<String> {
    cloud.with(|world| {
        let all = MADE.into_iter().flat_map(|it| world.all(it).map(|(path, _)| path.to_owned()));
        let mut all: Vec<_> = all.map(|it| it.splitn(3, '/').last().unwrap_or_default().to_owned()).collect();
        all.sort();
        all
    })
}

/// Whether a request changes something.
pub(crate) fn writes(request: &Recorded) -> bool {
    !request.method.is_safe() && request.path != "/token" && !request.path.ends_with("/listInstances")
}

/// A request without what stands before its project's paths, and its status.
pub(crate) fn line(request: &Recorded) -> String {
    let path = request.path.splitn(6, '/').last().unwrap_or_default();
    format!("{} {path} {}", request.method, request.status.unwrap_or_default())
}

pub(crate) fn zone(letter: &str) -> Place {
    Place::zone(PROJECT, &format!("{REGION}-{letter}"))
}

pub(crate) fn region() -> Place {
    Place::region(PROJECT, REGION)
}

fn balancer_name(service: &Service) -> String {
    GoogleCloud::default_name(&service.uid().unwrap())
}
