//! The story: its parts, their steps, and what happens in each.

use k8s_openapi::api::core::v1::{Node, Service};
use serde_json::{Value, json};

use crate::clouds::aws::CLUSTER;
use crate::kubelet;
use crate::vendor::aws::instance;

use super::places::Places;
use super::{refused, services};

/// A part of the story. A manager begins with it, and ends after its last step.
#[derive(Debug)]
pub struct Part {
    /// In paths, and in names of files.
    pub name: &'static str,
    /// Whether routes are managed.
    pub routes: bool,
    /// Whether Network Load Balancers get security groups.
    pub managed_groups: bool,
    /// One after the other.
    pub steps: Vec<Step>,
}

/// An event that is made to happen, and the state that is waited for.
#[derive(Clone, Debug)]
pub struct Step {
    /// In paths, and in names of files.
    pub name: &'static str,
    /// Whether another process of the manager begins with it.
    pub restart: bool,
    /// Whether a manager asks AWS for as long as it lasts, so that only what it asks until its last write says something.
    pub loops: bool,
    /// All at once.
    pub changes: Vec<Change>,
}

/// One thing that happens.
#[derive(Clone, Debug)]
pub enum Change {
    /// An order to AWS: see `tests/moto/aws/control.py`.
    Order(&'static str, Value),
    /// A call of AWS's SDK: service, operation, parameters.
    Call(&'static str, &'static str, Value),
    /// A node joins.
    Join(Box<Node>),
    /// A node changes.
    PatchNode(String, Value),
    /// A node is not Ready any more.
    NotReady(String),
    /// A node is deleted.
    Leave(String),
    /// A Service comes.
    Create(Box<Service>),
    /// A Service changes.
    Patch(&'static str, Value),
    /// A Service is deleted.
    Delete(&'static str),
}

impl Part {
    /// This part, where a manager begins over what there is, and nothing else happens.
    #[must_use]
    pub fn takeover(&self) -> Part {
        Part { steps: vec![step("takeover", Vec::new())], ..*self }
    }
}

fn step(name: &'static str, changes: Vec<Change>) -> Step {
    Step { name, restart: false, loops: false, changes }
}

fn restart(name: &'static str) -> Step {
    Step { restart: true, ..step(name, Vec::new()) }
}

fn looping(name: &'static str, changes: Vec<Change>) -> Step {
    Step { loops: true, ..step(name, changes) }
}

/// The whole story, in a VPC with these places.
#[must_use]
pub fn story(places: &Places) -> Vec<Part> {
    let part = |name, steps| Part { name, routes: false, managed_groups: false, steps };
    let all = services::all(places);
    let managed = services::managed(places);
    // 2, and two nodes for the next step: a node that is not ready for long is asked about less and less.
    let mut stop = vec![call("stop_instances", 4), not_ready(4)];
    stop.extend([5, 6].into_iter().flat_map(|it| join(places, it)));
    // 3, 4, 5
    let mut end = vec![call("terminate_instances", 1), enter(5, "shutting-down"), enter(6, "stopping")];
    end.extend([1, 5, 6].map(not_ready));
    vec![
        part("nodes", vec![step("join", (1..=4).flat_map(|it| join(places, it)).collect())]),
        part(
            "services",
            vec![
                step("create", create(&all)),
                restart("restart"),
                step("change", patches(&all)),
                step("node-leaves", vec![Change::Leave(node_name(3))]),
                step("delete", delete(&all[..all.len() - 1])),
                // What Services share goes with the last of them.
                step("delete-last", delete(&all[all.len() - 1..])),
            ],
        ),
        Part {
            managed_groups: true,
            ..part(
                "managed",
                vec![
                    step("create", create(&managed)),
                    restart("restart"),
                    step("delete", delete(&managed[..2])),
                    step("delete-last", delete(&managed[2..])),
                ],
            )
        },
        Part {
            routes: true,
            ..part("routes", vec![looping("create", pods(&[1, 2])), looping("delete", vec![leave(2)])])
        },
        part("refused", refusals(places)),
        part("machines", vec![looping("stop", stop), looping("end", end)]),
    ]
}

/// The Services that cannot be served: in themselves, after a change, without a public subnet, with a full security group.
fn refusals(places: &Places) -> Vec<Step> {
    let all = refused::all(places);
    let one = |it: services::Case| Change::Create(Box::new(it.service));
    let mut changed = vec![way_out(places, "delete_route"), one(refused::nowhere())];
    changed.extend(patches(&all));
    let full = vec![
        Change::Delete("nowhere"),
        way_out(places, "create_route"),
        Change::Order("behave", json!({ "rules_per_group": 1 })),
        one(refused::full()),
    ];
    let mut gone = vec![
        Change::Order("behave", json!({ "rules_per_group": 1_000 })),
        Change::Delete("full"),
        Change::Patch("kind", services::annotations(&[("type", None)])),
    ];
    gone.extend(delete(&all));
    vec![looping("create", create(&all)), looping("change", changed), looping("full", full), looping("delete", gone)]
}

/// The default route is deleted, or made once more.
fn way_out(places: &Places, operation: &'static str) -> Change {
    let mut route = json!({ "RouteTableId": places.table, "DestinationCidrBlock": "0.0.0.0/0" });
    if operation == "create_route" {
        route["GatewayId"] = json!(places.gateway);
    }
    Change::Call("ec2", operation, route)
}

/// The name of the node on the instance with this number. The fourth is named by its instance, as a subnet names it whose names are those of
/// resources.
fn node_name(number: u64) -> String {
    if number == 4 { format!("{}.us-east-1.compute.internal", instance(number)) } else { format!("worker-{number}") }
}

/// An instance that runs, each in another zone, and the node on it. The first has a label that Services choose nodes by.
fn join(places: &Places, number: u64) -> [Change; 2] {
    let (name, subnet) = (node_name(number), &places.subnets[usize::try_from(number % 3).unwrap_or_default()]);
    let machine = json!({ "id": instance(number), "name": name, "cluster": CLUSTER, "subnet": subnet });
    let mut node = kubelet::node(&name);
    if number == 1 {
        node.metadata.labels.get_or_insert_default().insert("role".to_owned(), "edge".to_owned());
    }
    [Change::Order("machine", machine), Change::Join(Box::new(node))]
}

fn create(all: &[services::Case]) -> Vec<Change> {
    all.iter().map(|it| Change::Create(Box::new(it.service.clone()))).collect()
}

fn patches(all: &[services::Case]) -> Vec<Change> {
    all.iter().filter_map(|it| Some(Change::Patch(it.name, it.patch.clone()?))).collect()
}

fn delete(all: &[services::Case]) -> Vec<Change> {
    all.iter().map(|it| Change::Delete(it.name)).collect()
}

/// Nodes get networks for their pods.
fn pods(numbers: &[u64]) -> Vec<Change> {
    let patch = |number| {
        let network = format!("10.244.{number}.0/24");
        Change::PatchNode(node_name(number), json!({ "spec": { "podCIDR": network, "podCIDRs": [network] } }))
    };
    numbers.iter().copied().map(patch).collect()
}

fn leave(number: u64) -> Change {
    Change::Leave(node_name(number))
}

fn call(operation: &'static str, number: u64) -> Change {
    Change::Call("ec2", operation, json!({ "InstanceIds": [instance(number)] }))
}

fn enter(number: u64, state: &str) -> Change {
    Change::Order("enter", json!({ "id": instance(number), "state": state }))
}

fn not_ready(number: u64) -> Change {
    Change::NotReady(node_name(number))
}
