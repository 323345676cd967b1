//! Recorded parts that are no stories of one Service: routes, machines that stop, and a new process and nodes under twenty Services.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Map, Value, json};

use crate::beside::{Compared, ComparedStep, ManagerState, Meant, VendorStep, compare, unmeant};
use crate::clouds::openstack::{Kind, Recorded, World};
use crate::vendor::{OpenStack, Vendor as _};
use crate::{kubelet, wait};

use super::events;
use super::stage::{Stage, TELLING};
use super::story::{Story, part, stories};

/// How long a step may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);
/// How long nothing is asked once a step is over.
const QUIET: Duration = Duration::from_millis(1_500);
/// The taints of a cloud's controllers begin with it.
const TAINT: &str = "node.cloudprovider.kubernetes.io/";

/// The most requests of a new process over twenty Services that are as they should be: theirs needs 216.
const RESTART: usize = 60;

/// The flags of the part about machines, and what lets a node of few be deleted at once that is as young as the test.
const MONITORED: [&str; 4] = [
    "--node-monitor-period=2s",
    "--node-deletion-warm-up=0s",
    "--node-deletion-grace-period=0s",
    "--node-deletion-budget=100",
];

/// Plays the routes: what is in the router and on ports after each step, and what Nodes say of their networks.
///
/// # Panics
///
/// Panics if something does not start, or the API server refuses a change.
pub async fn routes(table: &[Meant], say: impl Fn(String)) -> Compared {
    // The recorded networks of IPv6 are outside of the recorded /48: theirs does not look.
    let flags = ["--configure-cloud-routes=true", "--cluster-cidr=10.244.0.0/16,fd00:244::/32"];
    // As often as theirs, and not held back by what few routes allow.
    let often = ["--route-reconciliation-period=10s", "--route-deletion-warm-up=0s", "--route-deletion-budget=100"];
    let steps = part("routes");
    let story = bare(&steps[0], &["node-1", "node-2", "node-3", "node-4"]);
    let prepare = |world: &mut World| {
        let [router, subnet] = [(Kind::Router, "r1"), (Kind::Subnet, "k8s6")].map(|(kind, it)| world.named(kind, it));
        world.add_port("", (&router, "network:router_interface"), &[(&subnet, None)]);
        set_routes(world, |_| {
            vec![("192.168.77.0/24".into(), "10.6.0.98".into()), ("10.244.99.0/24".into(), "10.6.0.99".into())]
        });
    };
    let stage = Stage::prepared(&story, &[&flags[..], &often[..]].concat(), prepare).await;
    let mut compared = Vec::new();
    let mut begun = 0;
    for step in &steps {
        let name = format!("routes/{}", step.name);
        change_routes(&stage, &step.name).await;
        let mut theirs = step.state.clone();
        theirs.seen = json!({ "network": network_of(&step.state.seen["network"]), "nodes": conditions(&step.state.seen["nodes"]) });
        wait::within(PATIENCE, async || {
            unmeant(table, &name, &theirs.seen, &seen_routes(&stage).await).is_empty().then_some(())
        })
        .await;
        let asked = stage.asked(&story, begun, true);
        begun = stage.count_requests();
        let ours = ManagerState { seen: seen_routes(&stage).await, asked };
        compared.push(ComparedStep { name, theirs, ours, alone: false });
    }
    stage.end().await;
    told(&compared, &say);
    compare(table, "routes", &compared)
}

/// Does what begins a step of the routes.
async fn change_routes(stage: &Stage, step: &str) {
    let give = async |node: &str, networks: &[&str]| {
        let patch = json!({ "spec": { "podCIDR": networks[0], "podCIDRs": networks } });
        nodes(stage)
            .patch(node, &PatchParams::default(), &Patch::Strategic(patch))
            .await
            .expect("the node gets networks");
    };
    match step {
        "node-1 and node-2 get networks" => {
            give("node-1", &["10.244.1.0/24"]).await;
            give("node-2", &["10.244.2.0/24"]).await;
        }
        "node-3 gets two families" => give("node-3", &["10.244.3.0/24", "fd00:244:3::/64"]).await,
        "route of node-1 deleted by hand" => stage.cloud.with(|world| {
            set_routes(world, |mut all| {
                all.retain(|(to, _)| to != "10.244.1.0/24");
                all
            });
        }),
        "next hop of node-2's route changed by hand" => stage.cloud.with(|world| {
            set_routes(world, |mut all| {
                all.iter_mut().filter(|(to, _)| to == "10.244.2.0/24").for_each(|(_, hop)| *hop = "10.6.0.14".into());
                all
            });
        }),
        "node-4, whose port has no port security, gets a network" => give("node-4", &["10.244.4.0/24"]).await,
        "node-2 leaves" => {
            nodes(stage).delete("node-2", &DeleteParams::default()).await.expect("the node leaves");
        }
        _ => {}
    }
}

/// Changes the routes of the recorded router, as a person does.
fn set_routes(world: &mut World, change: impl FnOnce(Vec<(String, String)>) -> Vec<(String, String)>) {
    let id = world.named(Kind::Router, "r1");
    let Some(router) = world.get_mut(Kind::Router, &id) else { return };
    let all = routes_of(&router["routes"]);
    let all: Vec<_> = change(all).into_iter().map(|(to, hop)| json!({ "destination": to, "nexthop": hop })).collect();
    router["routes"] = all.into();
    router["revision_number"] = json!(router["revision_number"].as_u64().unwrap_or_default() + 1);
}

/// Destinations and next hops, whether they are a list or an object.
fn routes_of(shown: &Value) -> Vec<(String, String)> {
    let all: Vec<&Value> = match shown {
        Value::Object(all) => all.values().collect(),
        other => other.as_array().into_iter().flatten().collect(),
    };
    let text = |it: &Value, key: &str| it[key].as_str().unwrap_or_default().to_owned();
    all.into_iter().map(|it| (text(it, "destination"), text(it, "nexthop"))).collect()
}

fn network_of(shown: &Value) -> Value {
    let routes: Map<_, _> = routes_of(&shown["routes"]).into_iter().map(|(to, hop)| (to, hop.into())).collect();
    json!({ "routes": routes, "allowed_address_pairs": shown["allowed_address_pairs"] })
}

/// Whether each node's network is there, as its condition says.
fn conditions(nodes: &Value) -> Value {
    let condition = |node: &Value| {
        let all = match &node["conditions"] {
            Value::Object(all) => all.values().cloned().collect(),
            other => other.as_array().cloned().unwrap_or_default(),
        };
        let found = all.into_iter().find(|it| it["type"] == "NetworkUnavailable").unwrap_or_default();
        json!({ "status": found["status"], "reason": found["reason"] })
    };
    let all = nodes.as_object().into_iter().flatten().filter(|it| !it.1.is_null() && it.0 != "node-5");
    Value::Object(all.map(|(name, node)| (name.clone(), condition(node))).collect())
}

async fn seen_routes(stage: &Stage) -> Value {
    let all = nodes(stage).list(&kube::api::ListParams::default()).await.expect("the API server answers").items;
    let named = all.into_iter().filter_map(|node| {
        let conditions = json!(node.status.and_then(|it| it.conditions));
        Some((node.metadata.name?, json!({ "conditions": conditions })))
    });
    let nodes = conditions(&Value::Object(named.collect()));
    stage.cloud.with(|world| {
        let router = world.named(Kind::Router, "r1");
        let routes = world.get(Kind::Router, &router).map(|it| it["routes"].clone());
        let mut pairs = Map::new();
        for port in world.all(Kind::Port) {
            let all: Vec<_> = port["allowed_address_pairs"].as_array().into_iter().flatten().collect();
            let name = port["name"].as_str().unwrap_or_default();
            if !all.is_empty() {
                pairs.insert(format!("<port {name}>"), all.iter().map(|it| it["ip_address"].clone()).collect());
            }
        }
        json!({ "network": network_of(&json!({ "routes": routes, "allowed_address_pairs": pairs })), "nodes": nodes })
    })
}

/// Plays machines that stop, are shelved or deleted while their nodes are not Ready.
///
/// # Panics
///
/// As [`routes`].
pub async fn machines(table: &[Meant], say: impl Fn(String)) -> Compared {
    let steps = part("machines");
    let story = bare(&part("nodes")[0], &["node-1", "node-2", "node-3", "node-4", "node-5", "node-6"]);
    let stage = Stage::prepared(&story, &MONITORED, |_| {}).await;
    for name in &story.nodes[4..] {
        kubelet::post_ready(&stage.cluster.admin, name, false).await.expect("the node is not Ready");
    }
    let (mut compared, mut begun) = (Vec::new(), stage.count_requests());
    for step in &steps {
        let node = step.name.split(' ').next().unwrap_or_default();
        let server = stage.cloud.with(|world| world.named(Kind::Server, node));
        let before = events::told(&stage.cluster.admin, node).await;
        let status = ["stopped", "suspended", "shelved"].into_iter().zip(["SHUTOFF", "SUSPENDED", "SHELVED_OFFLOADED"]);
        let status = status.filter(|(word, _)| step.name.ends_with(word)).map(|it| it.1).next();
        stage.cloud.with(|world| match status {
            None => world.remove_server(&server),
            Some(status) => {
                world.get_mut(Kind::Server, &server).into_iter().for_each(|it| it["status"] = json!(status))
            }
        });
        wait::within(PATIENCE, async || {
            let seen = seen_machine(&stage, node).await;
            let is_over = if status.is_some() { seen["taints"] != json!([]) } else { seen.is_null() };
            is_over.then_some(())
        })
        .await;
        let mut theirs = step.state.clone();
        // The node controller of Kubernetes tells of a removal, too.
        let own = step.events.as_array().into_iter().flatten().filter(|it| it["source"] != "node-controller");
        theirs.seen =
            json!({ "node": machine(&step.state.seen["node"]), "events": events::recorded(&own.cloned().collect()) });
        let name = format!("machines/{}", step.name);
        let mut seen = json!({});
        wait::within(TELLING, async || {
            let told = events::since(&before, &events::told(&stage.cluster.admin, node).await);
            seen = json!({ "node": seen_machine(&stage, node).await, "events": told });
            unmeant(table, &name, &theirs.seen, &seen).is_empty().then_some(())
        })
        .await;
        let asked = stage.asked(&story, begun, true);
        begun = stage.count_requests();
        compared.push(ComparedStep { name, theirs, ours: ManagerState { seen, asked }, alone: false });
    }
    stage.end().await;
    told(&compared, &say);
    compare(table, "machines", &compared)
}

/// A node, as far as the cloud decides about it.
fn machine(node: &Value) -> Value {
    if node.is_null() {
        return Value::Null;
    }
    let text = |it: &Value| it.as_str().map(str::to_owned);
    let taints: Vec<String> = node["taints"].as_array().into_iter().flatten().filter_map(text).collect();
    json!({ "taints": taints.iter().filter(|it| it.starts_with(TAINT)).collect::<Vec<_>>() })
}

async fn seen_machine(stage: &Stage, name: &str) -> Value {
    let Some(node) = nodes(stage).get_opt(name).await.expect("the API server answers") else { return Value::Null };
    let taints = node.spec.and_then(|it| it.taints).unwrap_or_default().into_iter();
    let shown = taints.map(|it| format!("{}={}:{}", it.key, it.value.unwrap_or_default(), it.effect));
    machine(&json!({ "taints": shown.collect::<Vec<_>>() }))
}

/// Plays a new process over twenty Services, and a node that joins and leaves under them.
///
/// # Panics
///
/// As [`routes`].
pub async fn twenty(table: &[Meant], say: impl Fn(String)) -> Compared {
    let story = twenty_services();
    let stage = Stage::prepared(&story, &[], |_| {}).await;
    let services: Api<Service> = Api::default_namespaced(stage.cluster.admin.clone());
    join_all(story.services.values().map(async |service| {
        let text = stage.names().restore(&service.to_string());
        let service: Service = serde_json::from_str(&text).expect("a recorded Service can be made");
        services.create(&PostParams::default(), &service).await.expect("the Service is made");
    }))
    .await;
    rests(&stage, &story, 4).await;

    let restart = part("restart").remove(0);
    let begun = stage.count_requests();
    stage.start(&story.settings, &[]).await;
    // Until the new process looks at load balancers, all is as the old one has left it.
    let looks = |it: &Recorded| it.path.starts_with(OpenStack::LOAD_BALANCERS);
    stage.cloud.wait_for("the new process looks at load balancers", |all| all[begun..].iter().any(looks)).await;
    rests(&stage, &story, 4).await;
    let empty = |step: &VendorStep| ManagerState { seen: json!({}), asked: step.state.asked.clone() };
    let ours = ManagerState { seen: json!({}), asked: stage.asked(&story, begun, true) };
    let restarted = [ComparedStep { name: "restart/restart".to_owned(), theirs: empty(&restart), ours, alone: false }];
    told(&restarted, &say);
    let mut all = compare(table, "restart", &restarted);
    let asked = &restarted[0].ours.asked;
    if asked.reads() > RESTART || asked.writes() > 0 {
        all.wrong.push(format!("restart/restart: a new process may read {RESTART} times, and not {:?}", asked.actions));
    }

    let mut compared = Vec::new();
    for (step, nodes_then) in part("node-change").iter().zip([5, 4]) {
        let name = format!("node-change/{}", step.name);
        let before = events_of(&stage, &story).await;
        let begun = stage.count_requests();
        match nodes_then {
            5 => stage.join("node-5").await,
            _ => drop(nodes(&stage).delete("node-5", &DeleteParams::default()).await.expect("the node leaves")),
        }
        rests(&stage, &story, nodes_then).await;
        let asked = stage.asked(&story, begun, true);
        let pools = stage.cloud.with(|world| world.all(Kind::Pool).count());
        say(format!("{name}: {pools} pools"));
        let mut theirs = step.state.clone();
        theirs.seen = json!({ "events": recorded_events(&step.events) });
        let mut seen = json!({});
        wait::within(TELLING, async || {
            let now = events_of(&stage, &story).await;
            let told =
                before.iter().zip(&now).map(|((name, before), (_, now))| (name.clone(), events::since(before, now)));
            seen = json!({ "events": Value::Object(told.collect()) });
            unmeant(table, &name, &theirs.seen, &seen).is_empty().then_some(())
        })
        .await;
        // The recorder saw the join only as long as 30 of 32 pools took.
        if nodes_then == 4 {
            theirs.seen["cloud"] = step.state.seen["cloud"].clone();
            seen["cloud"] = stage.seen_cloud(&shown_in(&story, &theirs.seen["cloud"]));
        }
        compared.push(ComparedStep { name, theirs, ours: ManagerState { seen, asked }, alone: false });
    }
    stage.end().await;
    told(&compared, &say);
    all.add(compare(table, "node-change", &compared));
    all
}

fn recorded_events(all: &Value) -> Value {
    let all = all.as_object().into_iter().flatten();
    Value::Object(all.map(|(service, told)| (service.clone(), events::recorded(told))).collect())
}

async fn events_of(stage: &Stage, story: &Story) -> Vec<(String, events::EventCounts)> {
    let names = story.services.keys();
    join_all(names.map(async |name| (name.clone(), events::told(&stage.cluster.admin, name).await))).await
}

/// The story with those Services alone whose load balancers a recording shows.
fn shown_in(story: &Story, cloud: &Value) -> Story {
    let names: BTreeSet<&str> =
        cloud["loadbalancers"].as_object().into_iter().flatten().filter_map(|it| it.0.rsplit('_').next()).collect();
    let mut shown = story.clone();
    shown.services.retain(|name, _| names.contains(name.as_str()));
    shown
}

/// Waits until all load balancers are at rest, each pool has members at so many nodes, and nothing is asked any more.
async fn rests(stage: &Stage, story: &Story, nodes: usize) {
    let is_whole = |world: &World| {
        let balancers: Vec<_> = world.all(Kind::LoadBalancer).collect();
        let count = |pool: &Value| world.all(Kind::Member).filter(|it| it["_pool"] == pool["id"]).count();
        balancers.len() == story.services.len()
            && balancers.iter().all(|it| it["provisioning_status"] == "ACTIVE")
            && world.all(Kind::Pool).all(|it| count(it) == nodes)
    };
    let rested = wait::within(PATIENCE * 2, async || {
        let last = stage.cloud.requests().last().map(|it| it.at);
        let is_quiet = last.is_some_and(|it| it.elapsed().is_ok_and(|it| it > QUIET));
        (is_quiet && stage.cloud.with(|world| is_whole(world))).then_some(())
    });
    assert!(rested.await.is_some(), "pools have no members at {nodes} nodes");
}

/// The twenty Services that there were: those of stories as these begin, and four that have no story here.
fn twenty_services() -> Story {
    let names = part("node-change")[0].state.seen["services"].clone();
    let names: Vec<String> =
        names.as_array().into_iter().flatten().filter_map(|it| Some(it.as_str()?.to_owned())).collect();
    let all = stories();
    let basic = all.iter().find(|it| it.name == "basic").expect("there is such a story").services["basic"].clone();
    let mut story = bare(&part("nodes")[0], &["node-1", "node-2", "node-3", "node-4"]);
    for (index, name) in names.iter().enumerate() {
        let recorded = all.iter().find(|it| it.name == *name).map(|it| it.services.values().next().cloned());
        let mut service = recorded.flatten().unwrap_or_else(|| {
            let mut service = basic.clone();
            let key = |short: &str| format!("loadbalancer.openstack.org/{short}");
            service["metadata"]["name"] = json!(name);
            service["spec"]["ports"].as_array_mut().into_iter().flatten().enumerate().for_each(|(port, it)| {
                it["nodePort"] = json!(32_500 + index * 4 + port);
            });
            service["metadata"]["annotations"] = match name.as_str() {
                "proxy-v2" => json!({ key("proxy-protocol"): "v2" }),
                "subnet-tags" => json!({ key("floating-subnet-tags"): "blue" }),
                "ranges-annotation" => {
                    json!({ "service.beta.kubernetes.io/load-balancer-source-ranges": "192.0.2.0/24" })
                }
                "address-internal" => json!({ "service.beta.kubernetes.io/openstack-internal-load-balancer": "true" }),
                other => panic!("there is no story of {other}"),
            };
            service
        });
        if name == "address-internal" {
            service["spec"]["loadBalancerIP"] = json!("10.6.0.200");
        }
        story.services.insert(name.clone(), service);
    }
    story
}

/// A story with the config of a part, without Services.
fn bare(step: &VendorStep, nodes: &[&str]) -> Story {
    let mut story = stories().remove(0);
    story.name.clone_from(&step.story);
    story.services.clear();
    story.steps.clear();
    story.nodes = nodes.iter().map(|it| (*it).to_owned()).collect();
    let config = step.given["config"].as_str().filter(|it| *it != "main");
    story.with_config(config)
}

fn nodes(stage: &Stage) -> Api<Node> {
    Api::all(stage.cluster.admin.clone())
}

/// Shows how much each step has asked for.
fn told(steps: &[ComparedStep], say: &impl Fn(String)) {
    for ComparedStep { name, theirs, ours, .. } in steps {
        let line = |it: &ManagerState| (it.asked.reads(), it.asked.writes());
        say(format!("{name}: {:?} of {:?}", line(ours), line(theirs)));
    }
}
