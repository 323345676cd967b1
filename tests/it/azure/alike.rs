//! Aerostat leaves on Services and in the resource group what the vendor's own controller manager leaves, and asks for no more: the
//! recordings of `tests/golden/azure`, played against the simulated subscription, in which another writer changes the load balancer and the
//! security group between each read and the write over it. It takes longest, and its name lets it begin first.

use futures::StreamExt as _;
use kube::api::{DeleteParams, ListParams};
use tests::azure_vendor::story::{PARTS, whole_state};
use tests::azure_vendor::{AzureStage, inherit, known};
use tests::beside::{Compared, objects_of};
use tests::clouds::azure::Kind;
use tests::wait;

/// How many parts are played side by side.
const AT_A_TIME: usize = 3;

/// Cases: azure 22
#[tokio::test(flavor = "multi_thread")]
async fn aerostat_leaves_what_azures_own_manager_leaves() {
    let say = |line: String| println!("{line}");
    let played = futures::stream::iter(PARTS).map(|part| async move {
        let stage = AzureStage::new(part.folder).await;
        let compared = stage.play(part.name, &part.read(), &known::TABLE, say).await;
        stage.end().await;
        stage.cloud.assert_valid();
        // Another writer was ahead of all who wrote over what they had read.
        let requests = stage.cloud.requests();
        let refused = requests.iter().filter(|it| it.status == Some(412)).count();
        let overtaken = stage.cloud.with(|world| world.times_overtaken());
        assert!(
            overtaken > 3 && refused == overtaken as usize,
            "{}: {refused} refused, {overtaken} overtaken",
            part.name
        );
        compared
    });
    let mut compared = Compared::default();
    let all: Vec<Compared> = played.buffered(AT_A_TIME).collect().await;
    all.into_iter().for_each(|it| compared.add(it));
    let wrong = compared.verdict(&known::TABLE);
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// Takes over what theirs left after a step, without a write, and lets all of it go. The Services are those of the step as it was
/// recorded in the folder `of`.
async fn taken_over(folder: &str, step: &str, of: &str) {
    let stage = AzureStage::resting(folder).await;
    let left = objects_of(&whole_state(&format!("{of}/{step}")), "services");
    let services = inherit(&stage, &whole_state(&format!("{folder}/state-{step}")), &left).await;
    assert!(services.len() > 1, "{services:?}");
    stage.inherit_nodes().await;
    stage.start().await;
    let known = async || {
        for name in &services {
            let status = stage.services().get(name).await.unwrap().status?;
            status.conditions?.into_iter().find(|it| it.type_ == "aerostat.dev/memo")?;
        }
        Some(())
    };
    wait::until("all are known", known).await;
    stage.rests().await;
    assert_eq!(stage.writes_since(0), [""; 0]);
    for name in &services {
        stage.services().delete(name, &DeleteParams::default()).await.unwrap();
    }
    wait::until("all Services are gone", async || {
        let all = stage.services().list(&ListParams::default()).await.unwrap().items;
        all.iter().all(|it| !services.contains(it.metadata.name.as_ref().unwrap())).then_some(())
    })
    .await;
    let kinds = [Kind::LoadBalancer, Kind::PrivateLinkService].into_iter();
    let left: Vec<_> = kinds.flat_map(|it| stage.cloud.account().all(it)).collect();
    assert!(left.is_empty(), "{left:#?}");
    let addresses = stage.cloud.account().all(Kind::PublicIp);
    assert!(addresses.iter().all(|it| it["name"] == "node-1-ip"), "{addresses:#?}");
    stage.end().await;
    stage.cloud.assert_valid();
}

#[tokio::test]
async fn external_ones_of_azures_manager_are_taken_over_unwritten() {
    tokio::join!(taken_over("vm", "external-second", "vm"), taken_over("node-ip", "external-second", "node-ip"));
}

#[tokio::test]
async fn those_on_scale_sets_are_taken_over_unwritten() {
    let external = "external-second";
    tokio::join!(taken_over("scale-set", external, "scale-set"), taken_over("flexible", external, "flexible"));
}

#[tokio::test]
async fn internal_ones_of_azures_manager_are_taken_over_unwritten() {
    // The recording has no end state of Services on a scale set: that of single machines is the same.
    tokio::join!(taken_over("vm", "internal-pls", "vm"), taken_over("scale-set", "internal-pls", "vm"));
}
