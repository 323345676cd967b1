//! Theft through the API server: what an author of Services can write, and what comes of it.
//!
//! A Service names what is not its own, is changed, and is deleted. The load balancer is not touched, and an event says why. Thefts
//! by annotations that name an id or a name are the conformance suite's, at every cloud.

use serde_json::json;
use tests::operator::Process;
use tests::vendor::{AlibabaCloud, Behaviour, Built, DigitalOcean, Hetzner, IbmCloud, Vendor};

use crate::setup::{CloudRig, ID, memo, service};

/// A load balancer that is not the cluster's, and a Service with one of its own. Returns the id of the former, and the latter.
async fn victims<V: Vendor>() -> (CloudRig<V>, Process, String, Built) {
    let rig = CloudRig::<V>::with(Behaviour::default()).await;
    let process = rig.start().await;
    rig.workers(2).await;
    rig.create(&service("victim", &[80], &[])).await;
    rig.served("victim").await;
    let owned = rig.only_built();
    let foreign = V::add_foreign(rig.cloud.account(), "foreign");
    (rig, process, foreign, owned)
}

/// Changes the thief and deletes it. Nothing is changed in the cloud but what may be the thief's own, and both load balancers are
/// as they were.
async fn caught<V: Vendor>(rig: &CloudRig<V>, foreign: &str, owned: &Built, effects: &[String]) {
    rig.ports("thief", &[81, 82]).await;
    rig.patch("thief", &json!({ "spec": { "externalTrafficPolicy": "Local" } })).await;
    rig.delete("thief").await;
    rig.gone("thief").await;
    let path = |id: &str| format!("{}/{id}", V::LOAD_BALANCERS);
    let since = rig.effects().split_off(effects.len());
    let touched = since.iter().find(|it| it.contains(&path(foreign)) || it.contains(&path(&owned.id)));
    assert_eq!(touched, None);
    let mut all = rig.built();
    all.sort_by_key(|it| it.id == foreign);
    assert_eq!((all.len(), &all[0], all[1].id.as_str()), (2, owned, foreign));
    assert_eq!((all[1].name.as_str(), all[1].machines.len()), ("foreign", 0));
}

/// Cases: theft-by-memo
#[tokio::test]
async fn theft_by_a_copied_memo_through_the_api_server() {
    a_copied_memo_is_refused::<DigitalOcean>(Some(ID)).await;
}

/// Cases: theft-by-memo
#[tokio::test]
async fn theft_by_a_copied_memo_at_ibm_cloud_is_refused() {
    a_copied_memo_is_refused::<IbmCloud>(None).await;
}

/// Cases: theft-by-memo
#[tokio::test]
async fn theft_by_a_copied_memo_at_alibaba_cloud_is_refused() {
    a_copied_memo_is_refused::<AlibabaCloud>(None).await;
}

/// `key`: the annotation that names a load balancer by its id, where the cloud has one.
async fn a_copied_memo_is_refused<V: Vendor>(key: Option<&str>) {
    let (rig, process, foreign, owned) = victims::<V>().await;
    let effects = rig.effects();
    let victim = rig.services().get("victim").await.unwrap();
    let id = memo(&victim).unwrap();
    assert_eq!(id, owned.id);
    // Whoever may write Services writes annotations, whatever they are called; the status is not theirs.
    let annotations: Vec<_> = [("aerostat.dev/memo", id)].into_iter().chain(key.map(|it| (it, id))).collect();
    let mut thief = service("thief", &[80], &annotations);
    thief.status.clone_from(&victim.status);
    let created = rig.create(&thief).await;
    assert_eq!(memo(&created), None, "the API server drops the status of what is created");
    match key {
        Some(_) => drop(rig.warned("thief", "SyncLoadBalancerFailed", &[id]).await),
        // It is an annotation like any other, and the thief gets a load balancer of its own.
        None => drop(rig.served("thief").await),
    }
    caught(&rig, &foreign, &owned, &effects).await;
    process.stop().await;
}

/// Cases: theft-of-one-id
#[tokio::test]
async fn theft_of_one_id_by_two_services_is_refused_to_the_second() {
    one_is_adopted_once::<DigitalOcean>("adoptById", |id| (ID, id.to_owned()), "default/first").await;
}

/// Cases: theft-of-one-id
#[tokio::test]
async fn theft_of_one_name_by_two_services_at_hetzner_is_refused() {
    let words = "is marked for another Service";
    one_is_adopted_once::<Hetzner>("adoptByName", |_| (Hetzner::NAME, "foreign".to_owned()), words).await;
}

/// With a setting that lets a Service take what nobody has, by an annotation: two Services want the same, and the second is told.
async fn one_is_adopted_once<V: Vendor>(
    setting: &str,
    annotation: impl FnOnce(&str) -> (&'static str, String),
    words: &str,
) {
    let rig = CloudRig::<V>::with(Behaviour::default()).await.settings(&[(setting, "true")]);
    let foreign = V::add_foreign(rig.cloud.account(), "foreign");
    let (key, value) = annotation(&foreign);
    let process = rig.start().await;
    rig.workers(2).await;
    rig.create(&service("first", &[80], &[(key, &value)])).await;
    let first = rig.served("first").await;
    assert_eq!(memo(&first), Some(&*foreign));
    let effects = rig.effects();
    rig.create(&service("thief", &[81], &[(key, &value)])).await;
    rig.warned("thief", "SyncLoadBalancerFailed", &[words]).await;
    rig.ports("thief", &[82]).await;
    rig.delete("thief").await;
    rig.gone("thief").await;
    assert_eq!(rig.effects(), effects);
    assert_eq!(rig.only_built().ports, [80], "it is the first one's, as it wants it");
    process.stop().await;
}
