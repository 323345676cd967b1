//! What all who ask about nodes cost together when a process starts, by a clock that does not wait.

use std::collections::BTreeMap;

use crate::node_object::KubeNode;
use cloud_provider::{Cloud, Description, Instance, State as Power};
use scripted_cloud::ScriptedCloud;
use serde_json::json;

use super::*;
use crate::account::Account;
use crate::context::Context;
use crate::service::testing::node;
use crate::{node as nodes_controller, node_lifecycle};

const NODES: usize = 1000;

fn name(nth: usize) -> String {
    format!("n{nth}")
}

fn instance(name: &str) -> Instance {
    Instance {
        name: name.to_owned(),
        provider_id: Some(format!("fake://{name}")),
        state: Power::Running,
        machine_type: None,
        zone: None,
        region: None,
        addresses: Vec::new(),
        labels: Vec::new(),
        ..Instance::default()
    }
}

/// The calls of the first two minutes of a process in a cluster where so many nodes are not ready, with default flags.
async fn two_minutes(not_ready: usize) -> BTreeMap<&'static str, usize> {
    let fake = Arc::new(ScriptedCloud::with((0..NODES).map(|nth| instance(&name(nth)))));
    fake.belongs_to("ours");
    fake.list.takes(Duration::from_millis(60));
    let description = Description {
        provider_id_prefixes: vec!["fake://".to_owned()],
        get_batch_size: 1,
        list_page_size: 200,
        ..Description::default()
    };
    let cloud = Cloud { instances: Some(fake.clone()), ..fake.offering(Arc::new(description)) };
    let node = |nth: usize| -> KubeNode {
        let status = if nth < not_ready { "Unknown" } else { "True" };
        node(&name(nth), json!({ "status": { "conditions": [{ "type": "Ready", "status": status }] } }))
    };
    let nodes = Nodes::of((0..NODES).map(node));
    let context = Context::offline(nodes.clone(), Account::new(fake.clone(), None));
    let options =
        nodes_controller::Options { syncs: 1, status_updates: 0, status_update_frequency: Duration::from_secs(300) };
    let confirmations = Confirmations::new(context.inventory(&cloud), nodes);
    let node_controller = nodes_controller::new(&context, &cloud, options).unwrap();
    let lifecycle = node_lifecycle::new(&context, &cloud, node_lifecycle::Options::default()).unwrap();
    tokio::select! {
        _ = node_controller => unreachable!("nobody ends it"),
        _ = lifecycle => unreachable!("nobody ends it"),
        never = confirmations.run(|_| (), |_, _| ()) => match never {},
        () = tokio::time::sleep(Duration::from_secs(120)) => {}
    }
    assert!(confirmations.are_complete());
    let calls = [("identity", fake.identity.asked()), ("get", fake.get.asked()), ("list", fake.list.asked())];
    calls.into_iter().filter(|(_, times)| *times > 0).collect()
}

#[tokio::test(start_paused = true)]
async fn the_first_two_minutes_with_all_nodes_ready() {
    assert_eq!(two_minutes(0).await, BTreeMap::from([("identity", 1), ("list", 5)]));
}

#[tokio::test(start_paused = true)]
async fn the_first_two_minutes_with_a_twentieth_not_ready() {
    let calls = two_minutes(NODES / 20).await;
    assert_eq!(calls, BTreeMap::from([("identity", 1), ("list", 10)]));
    assert!(calls.values().sum::<usize>() <= 20);
}

#[tokio::test(start_paused = true)]
async fn the_first_two_minutes_with_few_not_ready() {
    let calls = two_minutes(4).await;
    assert!(calls.values().sum::<usize>() <= 20, "{calls:?}");
}
