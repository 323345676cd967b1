//! Calls of one hour, by a clock that does not wait.

use crate::node_object::{NodeSpec, NodeStatus};
use cloud_provider::{Cloud, Description, Freshness, Instance};
use k8s_openapi::api::core::v1::NodeCondition;
use scripted_cloud::ScriptedCloud;

use super::*;
use crate::account::Account;

const NODES: usize = 1000;
const NOT_READY: usize = 50;
const MINUTES: u64 = 60;
/// The pause of the address loop.
const ADDRESSES: Duration = Duration::from_secs(300);

fn instance(nth: usize) -> Instance {
    Instance {
        name: format!("n{nth}"),
        provider_id: Some(format!("fake://{nth}")),
        state: State::Running,
        machine_type: None,
        zone: None,
        region: None,
        addresses: Vec::new(),
        labels: Vec::new(),
        ..Instance::default()
    }
}

fn node(nth: usize, ready: bool) -> KubeNode {
    let status = if ready { "True" } else { "Unknown" }.to_owned();
    let condition = NodeCondition { type_: "Ready".to_owned(), status, ..NodeCondition::default() };
    let mut node = KubeNode {
        spec: Some(NodeSpec { provider_id: Some(format!("fake://{nth}")), ..NodeSpec::default() }),
        status: Some(NodeStatus { conditions: Some(vec![condition]), ..NodeStatus::default() }),
        ..KubeNode::default()
    };
    node.metadata.name = Some(format!("n{nth}"));
    node.metadata.uid = Some(format!("u{nth}"));
    node
}

/// Runs the controller and what the address loop asks beside it for two hours, in a cluster where the first nodes are
/// not ready. Returns the calls of the second hour: pages, questions about one node, and about the account.
async fn second_hour(not_ready: usize) -> (usize, usize, usize) {
    let fake = Arc::new(ScriptedCloud::with((0..NODES).map(instance)));
    fake.belongs_to("ours");
    let description = Description {
        provider_id_prefixes: vec!["fake://".to_owned()],
        get_batch_size: 1,
        list_page_size: 200,
        ..Description::default()
    };
    let cloud = Cloud { instances: Some(fake.clone()), ..fake.offering(Arc::new(description)) };
    let nodes = Nodes::of((0..NODES).map(|nth| node(nth, nth >= not_ready)));
    let context = Context::offline(nodes, Account::new(fake.clone(), None));
    let asking = context.inventory(&cloud).unwrap();
    let addresses = async {
        // It does not begin when this controller does.
        tokio::time::sleep(Duration::from_secs(133)).await;
        loop {
            asking.list(Freshness::since(Instant::now())).await.unwrap();
            tokio::time::sleep(ADDRESSES + Duration::from_millis(400)).await;
        }
    };
    let count = || [fake.list.asked(), fake.get.asked(), fake.identity.asked()];
    let hour = || tokio::time::sleep(Duration::from_secs(60 * MINUTES));
    let counted = async {
        hour().await;
        let before = count();
        hour().await;
        let after = count();
        (after[0] - before[0], after[1] - before[1], after[2] - before[2])
    };
    let controller = new(&context, &cloud, Options::default()).unwrap();
    tokio::select! {
        _ = controller => unreachable!("nobody ends it"),
        () = addresses => unreachable!("it does not end"),
        counted = counted => counted,
    }
}

/// Cases: case 96
#[tokio::test(start_paused = true)]
async fn an_hour_of_a_thousand_nodes_costs_twelve_lists() {
    let healthy = second_hour(0).await;
    let sick = second_hour(NOT_READY).await;
    assert_eq!(healthy, (60, 0, 12), "twelve lists of five pages, each beside a question about the account");
    assert_eq!(sick, (60, 0, 12), "the same");
}

#[tokio::test(start_paused = true)]
async fn few_dead_nodes_are_answered_by_the_lists_of_others() {
    let (pages, gets, _) = second_hour(3).await;
    assert_eq!((pages, gets), (60, 0));
}
