//! A process that begins, with Services that have load balancers already.

use std::sync::Arc;

use controllers::service::{InventoryOptions, Options};
use futures::future::join_all;
use k8s_openapi::api::core::v1::Service;
use serde_json::json;
use tests::control_plane::{Cluster, cluster};
use tests::wait;

use super::cloud::{Listing, QUIET, item};
use super::{listing, with};
use crate::cloud::ready;
use crate::controller::{Controller, addressed, called, create, one, patch, resize, service, service_when};

const SERVICES: usize = 20;

fn names() -> Vec<String> {
    (1..=SERVICES).map(|it| format!("s{it}")).collect()
}

/// Lets a process serve all Services, each with the load balancer `lb of <name>`, and end.
async fn served_before(cluster: &Cluster, cloud: &Arc<Listing>) {
    join_all(names().iter().map(async |name| {
        cloud.cloud.ensures(name, ready("192.0.2.1", &format!("lb of {name}")));
        cloud.shows(item(&format!("lb of {name}"), Some("1")));
        create(cluster, &service(name)).await;
    }))
    .await;
    let first = Controller::start(cluster, cloud, listing());
    for name in names() {
        addressed(cluster, &name, "192.0.2.1").await;
        service_when(cluster, &name, |it| evidence(it).is_some()).await;
    }
    first.stop().ended().await;
}

/// The evidence that is kept on a Service.
fn evidence(service: &Service) -> Option<&str> {
    let conditions = service.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|it| it.type_ == "aerostat.dev/evidence").map(|it| it.message.as_str())
}

#[tokio::test]
async fn case_150_a_new_process_asks_only_about_what_has_changed() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    served_before(&cluster, &cloud).await;

    // While nobody looks, one Service changes, one load balancer, one status; one loses its finalizer; and one has what a
    // version kept that reckoned otherwise.
    resize(&cluster, "s1", "large").await;
    cloud.shows(item("lb of s2", Some("2")));
    let cleared = json!({ "status": { "loadBalancer": { "ingress": null } } });
    let params = kube::api::PatchParams::default();
    crate::controller::services(&cluster).patch_status("s3", &params, &kube::api::Patch::Merge(cleared)).await.unwrap();
    patch(&cluster, "s4", json!({ "metadata": { "finalizers": null } })).await;
    let earlier = "0123456789abcdef 1";
    let mut s5 = crate::controller::services(&cluster).get("s5").await.unwrap();
    for condition in s5.status.iter_mut().flat_map(|it| it.conditions.iter_mut().flatten()) {
        if condition.type_ == "aerostat.dev/evidence" {
            earlier.clone_into(&mut condition.message);
        }
    }
    let kept = json!({ "status": { "conditions": s5.status.unwrap().conditions } });
    crate::controller::services(&cluster).patch_status("s5", &params, &kube::api::Patch::Merge(kept)).await.unwrap();
    let before = cloud.cloud.calls().len();
    let _second = Controller::start(&cluster, &cloud, with(Default::default()));
    let changed = ["s1", "s2", "s3", "s4", "s5"];
    for name in changed {
        let calls = cloud.cloud.about(name).len();
        wait::until("it is asked about", async || {
            let since = cloud.cloud.calls().split_off(before);
            since.iter().any(|it| it.desired.owner.name == name).then_some(())
        })
        .await;
        called(&cloud.cloud, name, calls.min(2)).await;
    }
    let of_others = async || {
        let since = cloud.cloud.calls().split_off(before);
        let mut others = since.iter().map(|it| it.desired.owner.name.clone());
        others.find(|it| !changed.contains(&&**it))
    };
    assert_eq!(wait::within(QUIET, of_others).await, None, "nothing had changed about it");
    addressed(&cluster, "s3", "192.0.2.1").await;
    let kept = service_when(&cluster, "s5", |it| evidence(it).is_some_and(|it| it != earlier)).await;
    assert!(evidence(&kept).is_some_and(|it| it.ends_with(" 1")), "{kept:?}");
}

#[tokio::test]
async fn case_150_a_changed_service_is_asked_about_first() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    served_before(&cluster, &cloud).await;
    // The last one, whatever the order of their names is. The others are as they were: only their load balancers are not.
    let changed = ["s20", "s9"];
    for name in changed {
        resize(&cluster, name, "large").await;
    }
    for name in names().iter().filter(|it| !changed.contains(&&***it)) {
        cloud.shows(item(&format!("lb of {name}"), Some("2")));
    }
    let before = cloud.cloud.calls().len();
    let options = Options { inventory: InventoryOptions::default(), ..one() };
    let _second = Controller::start(&cluster, &cloud, options);
    wait::until("each is asked about", async || (cloud.cloud.calls().len() >= before + SERVICES).then_some(())).await;
    let since: Vec<_> = cloud.cloud.calls().split_off(before).into_iter().map(|it| it.desired.owner.name).collect();
    let mut first = since[..changed.len()].to_vec();
    first.sort();
    assert_eq!(first, changed, "{since:?}");
}

#[tokio::test]
async fn case_150_without_a_list_everybody_is_asked_about_in_time() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    for name in ["s1", "s2"] {
        cloud.cloud.ensures(name, ready("192.0.2.1", &format!("lb of {name}")));
        cloud.shows(item(&format!("lb of {name}"), Some("1")));
        create(&cluster, &service(name)).await;
    }
    let first = Controller::start(&cluster, &cloud, listing());
    for name in ["s1", "s2"] {
        called(&cloud.cloud, name, 2).await;
        addressed(&cluster, name, "192.0.2.1").await;
    }
    cloud.lists_again(3).await;
    first.stop().ended().await;
    let before = cloud.cloud.calls().len();
    cloud.is_incomplete();
    let _second = Controller::start(&cluster, &cloud, listing());
    wait::until("both are asked about", async || (cloud.cloud.calls().len() >= before + 2).then_some(())).await;
}
