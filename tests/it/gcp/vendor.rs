//! Aerostat leaves on Services and in the project what Google's own controller manager leaves, and asks for no more: the recordings of
//! `tests/golden/gcp/manager`, played against the simulated project.

use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams};
use serde_json::{Map, Value};
use tests::beside::Compared;
use tests::clouds::gcp::{Collection, Recorded};
use tests::gcp_vendor::story::{EXTERNAL, INTERNAL, part, whole_state};
use tests::gcp_vendor::{GcpStage, inherit, known};
use tests::{operator, wait};

#[tokio::test(flavor = "multi_thread")]
async fn aerostat_leaves_what_googles_own_manager_leaves() {
    let say = |line: String| println!("{line}");
    let played = async |name: &str, steps| {
        let stage = GcpStage::new().await;
        let compared = stage.play(name, &part(steps), &known::TABLE, say).await;
        stage.end().await;
        stage.cloud.assert_valid();
        compared
    };
    let (external, internal) = tokio::join!(played("external", EXTERNAL), played("internal", INTERNAL));
    let mut compared = Compared::default();
    compared.add(external);
    compared.add(internal);
    let wrong = compared.verdict(&known::TABLE);
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// Takes over what theirs left after a step, without a write, and lets all of it go.
async fn taken_over(step: &str) {
    let stage = GcpStage::resting().await;
    let left = whole_state(step);
    let recorded = left["services"].as_array().unwrap().iter();
    let recorded = recorded.map(|it| (it["name"].as_str().unwrap().to_owned(), it.clone())).collect();
    let services = inherit(&stage, &whole_state(&format!("state-{step}")), &recorded).await;
    assert!(services.len() > 1, "{services:?}");
    stage.register_nodes().await;
    stage.start().await;
    stage.initialized_nodes().await;
    let settled = async || {
        for name in &services {
            let status = stage.services().get(name).await.unwrap().status?;
            let memo = status.conditions?.into_iter().find(|it| it.type_ == "aerostat.dev/memo")?;
            memo.message.contains(" settled:").then_some(())?;
        }
        Some(())
    };
    wait::until("all are known", settled).await;
    assert_eq!(stage.writes_since(0), [""; 0]);
    for name in &services {
        stage.services().delete(name, &DeleteParams::default()).await.unwrap();
    }
    wait::until("all Services are gone, with theirs' finalizers", async || {
        let all = stage.services().list(&kube::api::ListParams::default()).await.unwrap().items;
        all.iter().all(|it| !services.contains(it.metadata.name.as_ref().unwrap())).then_some(())
    })
    .await;
    let kinds = [
        Collection::ForwardingRules,
        Collection::TargetPools,
        Collection::BackendServices,
        Collection::InstanceGroups,
        Collection::HttpHealthChecks,
        Collection::HealthChecks,
        Collection::Firewalls,
    ];
    let left: Vec<_> = kinds.into_iter().flat_map(|it| stage.cloud.account().all(it)).collect();
    assert!(left.is_empty(), "{left:#?}");
    stage.end().await;
    stage.cloud.assert_valid();
}

#[tokio::test]
async fn external_ones_of_googles_manager_are_taken_over_unwritten() {
    tokio::join!(taken_over("external-second"), taken_over("external-static-ip"));
}

#[tokio::test]
async fn internal_ones_of_googles_manager_are_taken_over_unwritten() {
    tokio::join!(taken_over("internal-local"), taken_over("internal-udp"));
}

#[tokio::test]
async fn routes_of_googles_manager_are_taken_over_unwritten() {
    let stage = GcpStage::routing().await;
    assert!(inherit(&stage, &whole_state("state-routes-create"), &Map::new()).await.is_empty());
    let routes = || stage.cloud.account().all(Collection::Routes);
    let recorded = routes();
    assert_eq!(recorded.len(), 2);
    let begun = stage.cloud.requests().len();
    stage.start().await;
    let nodes: Api<Node> = Api::all(stage.cluster.admin.clone());
    for name in ["node-1", "node-2"] {
        operator::initialized(&stage.cluster, name).await;
        wait::until("the node is told that its route is there", async || {
            let conditions = nodes.get(name).await.unwrap().status?.conditions?;
            let network = conditions.into_iter().find(|it| it.type_ == "NetworkUnavailable")?;
            (network.status == "False" && network.reason.as_deref() == Some("RouteCreated")).then_some(())
        })
        .await;
    }
    // Nothing was begun that a later pass would end.
    let lists =
        |all: &[Recorded]| all.iter().filter(|it| it.is("GET", "/compute/v1/projects/p1/global/routes")).count();
    let listed = lists(&stage.cloud.requests());
    stage.cloud.wait_for("further passes", |all| lists(all) > listed + 1).await;
    assert_eq!(stage.writes_since(begun), [""; 0]);
    assert_eq!(routes(), recorded);

    nodes.delete("node-2", &DeleteParams::default()).await.unwrap();
    let leads = |route: &&Value| route["nextHopInstance"].as_str().unwrap().ends_with("/node-1");
    let left: Vec<_> = recorded.iter().filter(leads).cloned().collect();
    wait::until("the route of the node that left is gone", async || (routes() == left).then_some(())).await;
    stage.end().await;
    stage.cloud.assert_valid();
}
