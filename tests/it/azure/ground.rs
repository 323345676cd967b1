//! A cluster with nodes in a simulated resource group, and the binary between them.

use futures::future::join_all;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams};
use serde_json::{Value, json};
use tests::clouds::azure::{Kind, Options, Recorded, Simulator, World, id};
use tests::control_plane::{Cluster, cluster};
use tests::operator::{Process, Setup};
use tests::vendor::{AzureCloud, Vendor as _, azure};
use tests::{kubelet, operator, services, wait};

/// All that a Service may consist of, and routes.
const MADE: [Kind; 4] = [Kind::LoadBalancer, Kind::PublicIp, Kind::RouteTable, Kind::PrivateLinkService];

/// A cluster, its resource group and the running binary.
pub(crate) struct Ground {
    pub(crate) cluster: Cluster,
    pub(crate) cloud: Simulator,
    pub(crate) setup: Setup,
    process: Option<Process>,
}

impl Ground {
    /// With the machines node-1 and node-2, which have joined.
    pub(crate) async fn start() -> Self {
        Self::started(|setup| setup).await
    }

    /// The same with another config or other flags.
    pub(crate) async fn started(edit: impl FnOnce(Setup) -> Setup) -> Self {
        let ground = Self::with(|_| {}, edit).await;
        join_all([1, 2].map(|number| ground.join(number))).await;
        ground
    }

    /// Without a node, in a group that was prepared so, with another config and other flags.
    pub(crate) async fn with(prepare: impl FnOnce(&mut World), edit: impl FnOnce(Setup) -> Setup) -> Self {
        let mut ground = Self::resting(prepare, edit).await;
        ground.restart().await;
        ground
    }

    /// The same before the binary's start.
    pub(crate) async fn resting(prepare: impl FnOnce(&mut World), edit: impl FnOnce(Setup) -> Setup) -> Self {
        let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(Options::default()));
        let cloud = cloud.unwrap();
        cloud.with(World::build_plain);
        cloud.with(prepare);
        let mut setup = edit(azure::soon(azure::setup(&cluster, &cloud)));
        // Tests make more than a person does in an hour.
        setup.config["credentials"][0]["limits"] =
            json!({ "deletions": 500, "creations": 500, "detachments": 500, "updates": 1_000 });
        Self { cluster, cloud, setup, process: None }
    }

    /// Lets a machine join as a node: node-1.
    pub(crate) async fn join(&self, number: u32) -> Node {
        join(&self.cluster, &self.cloud, number).await
    }

    /// Lets a node leave with its machine.
    pub(crate) async fn leave(&self, number: u32) {
        let name = format!("node-{number}");
        self.nodes().delete(&name, &DeleteParams::default()).await.unwrap();
        self.cloud.with(|world| remove_machine(world, &name));
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

    /// Those of namespace `default`.
    pub(crate) fn services(&self) -> Api<Service> {
        services::services(&self.cluster)
    }

    /// Makes a Service of TCP port 80 with these annotations, and these fields of `spec` beside. Answers its base: the beginning of names
    /// of its parts.
    pub(crate) async fn create(&self, name: &str, annotations: &Value, spec: &Value) -> String {
        base_of(&services::create(&self.cluster, name, annotations, spec).await)
    }

    /// Changes a Service by a merge patch.
    pub(crate) async fn patch(&self, name: &str, patch: &Value) {
        services::patch(&self.cluster, name, patch).await;
    }

    /// The address that a Service gets.
    pub(crate) async fn address(&self, name: &str) -> String {
        services::address(&self.cluster, name).await
    }

    /// Waits until the cloud is so, and nothing goes on in it.
    pub(crate) async fn becomes(&self, what: &str, is_so: impl Fn(&World) -> bool) {
        wait::until(what, async || {
            self.cloud.with(|world| {
                // Time that has passed ends operations at the next request, and this is none.
                world.advance(std::time::Duration::ZERO);
                (is_so(world) && world.is_at_rest()).then_some(())
            })
        })
        .await;
    }

    /// Deletes a Service, and waits until it is gone.
    pub(crate) async fn delete(&self, name: &str) {
        services::delete(&self.cluster, name).await;
    }

    /// Waits for a line of the binary's log.
    pub(crate) async fn says(&mut self, text: &str) {
        self.process.as_mut().unwrap().says(text).await;
    }

    /// Waits for an event about an object that says these.
    pub(crate) async fn told(&self, name: &str, parts: &[&str]) {
        operator::event(&self.cluster, name, parts).await;
    }

    /// All that was made, by type and name, without addresses of machines: `loadBalancers/kubernetes`.
    pub(crate) fn made(&self) -> Vec<String> {
        self.cloud.with(|world| {
            let all = MADE.into_iter().flat_map(|kind| world.all(kind).map(move |it| (kind, it)));
            let named = all.map(|(kind, it)| format!("{}/{}", kind.many(), it["name"].as_str().unwrap()));
            let mut all: Vec<_> = named.filter(|it| it != "publicIPAddresses/node-1-ip").collect();
            all.sort();
            all
        })
    }

    /// The names of rules of the security group.
    pub(crate) fn rules(&self) -> Vec<String> {
        self.cloud.with(|world| names(&group(world)["properties"]["securityRules"]))
    }

    /// The writes since so many requests: `PUT loadBalancers/kubernetes 201`.
    pub(crate) fn writes_since(&self, begun: usize) -> Vec<String> {
        self.cloud.requests_from(begun).iter().filter(|it| writes(it)).map(line).collect()
    }

    pub(crate) async fn stop(mut self) {
        self.rest().await;
        self.cloud.assert_valid();
    }
}

/// Services wait for each other as an operator's do: as long as the egress answers reads from memory, too.
pub(crate) fn gathered(setup: Setup) -> Setup {
    setup.edit(|config| {
        config["provider"]["settings"].as_object_mut().unwrap().remove("gatherMilliseconds").unwrap();
    })
}

/// Lets a machine join a cluster as a node.
pub(crate) async fn join(cluster: &Cluster, cloud: &Simulator, number: u32) -> Node {
    let name = format!("node-{number}");
    cloud.with(|world| _ = world.add_machine(number, &name));
    kubelet::join(&cluster.admin, &name).await.unwrap();
    operator::initialized(cluster, &name).await
}

/// Takes a single machine away, with its interface.
pub(crate) fn remove_machine(world: &mut World, name: &str) {
    world.remove(&id(&format!("Microsoft.Compute/virtualMachines/{name}"))).unwrap();
    world.remove(&id(&format!("Microsoft.Network/networkInterfaces/{name}-nic"))).unwrap();
}

/// The load balancer of this name, or null.
pub(crate) fn balancer(world: &World, name: &str) -> Value {
    world.get(&id(&format!("Microsoft.Network/loadBalancers/{name}"))).cloned().unwrap_or_default()
}

/// The security group.
pub(crate) fn group(world: &World) -> Value {
    world.get(&id("Microsoft.Network/networkSecurityGroups/nsg1")).cloned().unwrap_or_default()
}

/// The parts of a list in a load balancer that begin so.
pub(crate) fn parts(balancer: &Value, part: &str, base: &str) -> Vec<Value> {
    let all = balancer["properties"][part].as_array().into_iter().flatten();
    all.filter(|it| it["name"].as_str().unwrap().starts_with(base)).cloned().collect()
}

/// The names of a list's elements, in order.
pub(crate) fn names(list: &Value) -> Vec<String> {
    let all = list.as_array().into_iter().flatten();
    let mut all: Vec<_> = all.map(|it| it["name"].as_str().unwrap().to_owned()).collect();
    all.sort();
    all
}

/// The machines whose interfaces are members of a pool, by their interfaces' names.
pub(crate) fn members(world: &World, balancer: &str) -> Vec<String> {
    let prefix = id(&format!("Microsoft.Network/loadBalancers/{balancer}/")).to_lowercase();
    let is_in = |it: &&Value| it["properties"]["ipConfigurations"].to_string().to_lowercase().contains(&prefix);
    let all = [Kind::Interface, Kind::ScaleSetInterface].into_iter().flat_map(|kind| world.all(kind));
    let mut all: Vec<_> = all.filter(is_in).map(|it| it["id"].as_str().unwrap().to_owned()).collect();
    all.iter_mut().for_each(|it| *it = it.split("/providers/").nth(1).unwrap().to_owned());
    all.sort();
    all
}

/// Whether a request changes something in the group.
pub(crate) fn writes(request: &Recorded) -> bool {
    !request.method.is_safe() && request.path.starts_with("/subscriptions")
}

/// A request without what stands before its type, and its status: `PUT loadBalancers/kubernetes 201`.
pub(crate) fn line(request: &Recorded) -> String {
    let path = request.path.split("/providers/Microsoft.").nth(1).unwrap_or_default();
    let path = path.split_once('/').map_or("", |(_, it)| it);
    format!("{} {path} {}", request.method, request.status.unwrap_or_default())
}

/// The beginning of names of a Service's parts: `a` and 31 digits of its UID.
pub(crate) fn base_of(service: &Service) -> String {
    AzureCloud::default_name(&service.uid().unwrap())
}
