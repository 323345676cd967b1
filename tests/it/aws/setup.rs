//! A cluster, AWS, and the binary between them.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Event, Node};
use kube::api::{Api, DeleteParams, ListParams};
use serde_json::{Value, json};
use tests::clouds::aws::{Options, Service, Simulator};
use tests::control_plane::{Cluster, cluster};
use tests::moto::{Call, REGION};
use tests::operator::{Process, Setup};
use tests::vendor::aws::{self, instance};
use tests::vendor::{Aws, Vendor as _};
use tests::{kubelet, wait};

/// Short periods, so that a dead node is one soon.
const FLAGS: [&str; 3] = ["--node-monitor-period=1s", "--node-deletion-warm-up=1s", "--node-deletion-grace-period=1s"];

/// Everything that a test has.
pub(crate) struct Rig {
    pub(crate) cluster: Cluster,
    pub(crate) cloud: Simulator,
    pub(crate) setup: Setup,
}

impl Rig {
    /// A cluster without nodes, and an account with one VPC and nothing in it but subnets and their routes.
    pub(crate) async fn new() -> Self {
        Self::with(Options::default()).await
    }

    pub(crate) async fn with(options: Options) -> Self {
        let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(options));
        let cloud = cloud.unwrap();
        cluster.follow(Aws::PAGE).await;
        let setup = aws::setup(&cluster, &cloud, &[Service::Ec2, Service::Elbv2, Service::Elb]).flags(&FLAGS);
        Self { cluster, cloud, setup }
    }

    /// Adds flags.
    pub(crate) fn flags(mut self, flags: &[&str]) -> Self {
        self.setup = self.setup.flags(flags);
        self
    }

    /// Starts the binary, and waits until its controllers run.
    pub(crate) async fn start(&self) -> Process {
        self.setup.started().await
    }

    /// An instance that runs, with the cluster's tag. Its private DNS name is `worker-` and the number.
    pub(crate) fn machine(&self, number: u64) -> String {
        self.order("machine", &json!({ "id": instance(number), "name": worker(number), "cluster": aws::CLUSTER }));
        instance(number)
    }

    /// A second subnet in the zone of the first: the ids of both.
    pub(crate) async fn twin_subnets(&self) -> [String; 2] {
        let places = self.order("prepare", &json!({ "cluster": aws::CLUSTER }));
        let zone = format!("{REGION}a");
        let subnet = json!({ "VpcId": places["vpc"], "CidrBlock": "172.31.240.0/24", "AvailabilityZone": zone });
        let made = self.cloud.moto().done([Call::new("ec2", "create_subnet", subnet)]).await.remove(0);
        [&places["subnets"][0], &made["Subnet"]["SubnetId"]].map(|it| it.as_str().unwrap().to_owned())
    }

    /// Does something to AWS: see `tests/moto/aws/control.py`.
    pub(crate) fn order(&self, name: &str, arguments: &Value) -> Value {
        self.cloud.moto().order(name, arguments)
    }

    /// An instance, and the node on it.
    pub(crate) async fn join(&self, number: u64) -> Node {
        self.machine(number);
        kubelet::join(&self.cluster.admin, &worker(number)).await.unwrap()
    }

    /// An instance, and the node on it with a network of pods.
    pub(crate) async fn join_with_pods(&self, number: u64) {
        self.machine(number);
        let mut node = kubelet::node(&worker(number));
        let spec = node.spec.get_or_insert_default();
        spec.pod_cidr = Some(pods(number));
        spec.pod_cidrs = Some(vec![pods(number)]);
        kubelet::join_as(&self.cluster.admin, node).await.unwrap();
    }

    /// A node that has been initialised before, with its instance and a network of pods.
    pub(crate) async fn join_again(&self, number: u64) {
        let id = self.machine(number);
        let mut node = kubelet::node(&worker(number));
        let spec = node.spec.get_or_insert_default();
        (spec.taints, spec.provider_id) = (None, Some(format!("aws:///{REGION}a/{id}")));
        (spec.pod_cidr, spec.pod_cidrs) = (Some(pods(number)), Some(vec![pods(number)]));
        kubelet::join_as(&self.cluster.admin, node).await.unwrap();
    }

    /// Waits until this is asked of EC2 once more.
    pub(crate) async fn asks_again(&self, action: &str) {
        let asked = self.cloud.asked("ec2", action).len();
        let again = async || (self.cloud.asked("ec2", action).len() > asked).then_some(());
        wait::until(&format!("{action} is asked again"), again).await;
    }

    pub(crate) fn nodes(&self) -> Api<Node> {
        Api::all(self.cluster.admin.clone())
    }

    /// Waits until there is no such node.
    pub(crate) async fn gone(&self, name: &str) {
        let gone = async || self.nodes().get_opt(name).await.unwrap().is_none().then_some(());
        wait::until(&format!("node {name} is gone"), gone).await;
    }

    /// Waits until a node is as expected.
    pub(crate) async fn node(&self, name: &str, expected: impl Fn(&Node) -> bool) -> Node {
        let node = async || self.nodes().get(name).await.ok().filter(|it| expected(it));
        wait::until(&format!("node {name} is as expected"), node).await
    }

    pub(crate) fn services(&self) -> Api<k8s_openapi::api::core::v1::Service> {
        Api::namespaced(self.cluster.admin.clone(), "default")
    }

    /// Waits until a Service has a host name in its status, and returns it.
    pub(crate) async fn served(&self, name: &str) -> String {
        let found = wait::within(wait::DEADLINE, async || host(&self.services().get(name).await.unwrap())).await;
        let Some(found) = found else { panic!("{name} is not served; {}", self.told().await) };
        found
    }

    /// Waits until a Service is gone.
    pub(crate) async fn deleted(&self, name: &str, patience: Duration) {
        self.services().delete(name, &DeleteParams::default()).await.unwrap();
        let gone = async || self.services().get_opt(name).await.unwrap().is_none().then_some(());
        if wait::within(patience, gone).await.is_none() {
            panic!("{name} is not gone; {}", self.told().await);
        }
    }

    /// The requests since the one with this index that write, in a line each.
    pub(crate) fn writes(&self, since: usize) -> Vec<String> {
        let requests = self.cloud.requests().split_off(since);
        requests.iter().filter(|it| !it.path.contains("/Describe")).map(ToString::to_string).collect()
    }

    /// All events, and the last 40 requests: the text for a test that fails.
    pub(crate) async fn told(&self) -> String {
        let all = self.events().await;
        let said = all.iter().map(|it| format!("{:?} {:?}", it.reason, it.message));
        let asked = self.cloud.requests();
        let asked = asked.iter().rev().take(40).rev().map(ToString::to_string);
        said.chain(asked).collect::<Vec<_>>().join("\n  ")
    }

    /// All events.
    async fn events(&self) -> Vec<Event> {
        Api::<Event>::all(self.cluster.admin.clone()).list(&ListParams::default()).await.unwrap().items
    }

    /// Waits for an event with this reason whose message has all of these.
    pub(crate) async fn said(&self, reason: &str, parts: &[&str]) {
        self.said_after(Duration::ZERO, reason, parts).await;
    }

    /// As [`said`](Self::said), where it is told only after this pause.
    pub(crate) async fn said_after(&self, pause: Duration, reason: &str, parts: &[&str]) {
        let has = |it: &Event| it.reason.as_deref() == Some(reason) && says(it, parts);
        let found = wait::within(pause + wait::DEADLINE, async || self.events().await.into_iter().find(has)).await;
        assert!(found.is_some(), "no {reason} says {parts:?}; {}", self.told().await);
    }

    /// Waits for an event whose message has all of these.
    pub(crate) async fn said_anything(&self, parts: &[&str]) {
        let found =
            wait::within(wait::DEADLINE, async || self.events().await.into_iter().find(|it| says(it, parts))).await;
        assert!(found.is_some(), "nothing says {parts:?}; {}", self.told().await);
    }

    /// Destinations of pods, and the instance that each leads to.
    pub(crate) fn routes(&self) -> BTreeMap<String, Option<String>> {
        let routes = self.cloud.state().routes.into_iter();
        routes.filter_map(|it| Some((it.destination?, it.instance))).filter(|it| it.0 != "0.0.0.0/0").collect()
    }
}

fn says(event: &Event, parts: &[&str]) -> bool {
    parts.iter().all(|part| event.message.as_deref().unwrap_or_default().contains(part))
}

/// The name of a node, and of its instance.
pub(crate) fn worker(number: u64) -> String {
    format!("worker-{number}")
}

/// A node's network of pods.
pub(crate) fn pods(number: u64) -> String {
    format!("10.244.{number}.0/24")
}

/// The host name in the status of a Service.
pub(crate) fn host(service: &k8s_openapi::api::core::v1::Service) -> Option<String> {
    service.status.as_ref()?.load_balancer.as_ref()?.ingress.as_ref()?.first()?.hostname.clone()
}

/// Whether a node has been initialised.
pub(crate) fn is_initialized(node: &Node) -> bool {
    !kubelet::is_uninitialized(node)
}

/// The value of a label.
pub(crate) fn label<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    node.metadata.labels.as_ref()?.get(key).map(String::as_str)
}
