//! Load balancers that were changed in the cloud behind our back.

use std::sync::Arc;

use cloud_provider::InventoryItem;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tests::control_plane::{Cluster, cluster};
use tests::wait;

use super::cloud::{Listing, QUIET, item};
use super::{PERIOD, listing};
use crate::cloud::ready;
use crate::controller::{Controller, addressed, addresses, called, create, events, service, service_when, services};

/// Starts a controller that serves these Services; lists show each with revision 1.
async fn serve(cluster: &Cluster, cloud: &Arc<Listing>, names: &[&str]) -> Controller {
    for name in names {
        cloud.cloud.ensures(name, ready("192.0.2.1", &format!("lb of {name}")));
        cloud.shows(item(&format!("lb of {name}"), Some("1")));
        create(cluster, &service(name)).await;
    }
    let controller = Controller::start(cluster, cloud, listing());
    for name in names {
        addressed(cluster, name, "192.0.2.1").await;
    }
    controller
}

/// Waits until further lists bring no further call about a Service. Returns how many there were.
async fn quiet(cloud: &Listing, name: &str) -> usize {
    let mut calls = cloud.cloud.about(name).len();
    loop {
        cloud.lists_again(3).await;
        let now = cloud.cloud.about(name).len();
        if now == calls {
            return calls;
        }
        calls = now;
    }
}

#[tokio::test]
async fn case_149_a_change_in_the_cloud_is_asked_about() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    let controller = serve(&cluster, &cloud, &["s1", "s2"]).await;
    let calls = (quiet(&cloud, "s1").await, quiet(&cloud, "s2").await);
    assert!(calls.0 <= 2 && calls.1 <= 2, "{calls:?} calls before a list is believed");

    cloud.cloud.writes_next("s1", 1);
    cloud.shows(item("lb of s1", Some("2")));
    called(&cloud.cloud, "s1", calls.0 + 1).await;
    cloud.shows(item("lb of s1", Some("1")));
    let repaired = quiet(&cloud, "s1").await;
    // The same change once more: it is no less one.
    cloud.cloud.writes_next("s1", 1);
    cloud.shows(item("lb of s1", Some("2")));
    called(&cloud.cloud, "s1", repaired + 1).await;
    cloud.shows(item("lb of s1", Some("1")));
    let repaired = quiet(&cloud, "s1").await;

    cloud.hides("lb of s1");
    called(&cloud.cloud, "s1", repaired + 1).await;
    assert_eq!(cloud.cloud.about("s2").len(), calls.1, "nothing changed about the other");
    let ensured = |name| events(&cluster, name).iter().filter(|it| it.contains("EnsuredLoadBalancer")).count();
    assert_eq!((ensured("s1"), ensured("s2")), (1, 1), "whoever asked for it was told then");
    assert!(controller.counter("aerostat_load_balancer_drifts_total") >= 3.0);
}

#[tokio::test]
async fn case_149_a_repaired_revision_is_never_accepted() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    let _controller = serve(&cluster, &cloud, &["s1"]).await;
    let calls = quiet(&cloud, "s1").await;
    // Somebody changes it back after each repair.
    cloud.cloud.writes_next("s1", 6);
    cloud.shows(item("lb of s1", Some("2")));
    called(&cloud.cloud, "s1", calls + 7).await;
    assert_eq!(quiet(&cloud, "s1").await, calls + 7, "the last wrote nothing");
}

#[tokio::test]
async fn case_149_without_revisions_each_is_asked_about_once_a_period() {
    let (cluster, cloud) = (cluster().await, Listing::without_revisions());
    let _controller = serve(&cluster, &cloud, &["s1", "s2"]).await;
    ["s1", "s2"].iter().for_each(|it| cloud.shows(item(&format!("lb of {it}"), None)));
    called(&cloud.cloud, "s1", 6).await;
    called(&cloud.cloud, "s2", 4).await;
    let calls = cloud.cloud.about("s1");
    let took = calls[calls.len() - 1].began - calls[1].began;
    let periods = u32::try_from(calls.len() - 2).unwrap();
    assert!(took >= PERIOD.mul_f64(0.8) * (periods - 1), "{took:?} for {periods} periods");
}

#[tokio::test]
async fn outline_that_stays_spares_further_questions() {
    let (cluster, cloud) = (cluster().await, Listing::without_revisions());
    let _controller = serve(&cluster, &cloud, &["s1"]).await;
    let outlined = |outline: &str| InventoryItem { outline: Some(outline.to_owned()), ..item("lb of s1", None) };
    cloud.shows(outlined("1"));
    let calls = quiet(&cloud, "s1").await;
    cloud.shows(outlined("2"));
    called(&cloud.cloud, "s1", calls + 1).await;
    let calls = quiet(&cloud, "s1").await;
    cloud.hides("lb of s1");
    called(&cloud.cloud, "s1", calls + 1).await;
}

#[tokio::test]
async fn no_service_is_spared_by_an_incomplete_list() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    let _controller = serve(&cluster, &cloud, &["s1"]).await;
    let calls = quiet(&cloud, "s1").await;
    cloud.is_incomplete();
    called(&cloud.cloud, "s1", calls + 3).await;
}

#[tokio::test]
async fn case_148_a_status_that_was_cleared_comes_back_without_a_call() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    let _controller = serve(&cluster, &cloud, &["s1"]).await;
    let calls = quiet(&cloud, "s1").await;
    let services: Api<_> = services(&cluster);
    let cleared = Patch::Merge(json!({ "status": { "loadBalancer": { "ingress": null } } }));
    let service = services.patch_status("s1", &PatchParams::default(), &cleared).await.unwrap();
    assert_eq!(addresses(&service), [""; 0]);
    addressed(&cluster, "s1", "192.0.2.1").await;
    assert_eq!(cloud.cloud.about("s1").len(), calls, "the list has said that nothing changed");
    let ensured = events(&cluster, "s1").iter().filter(|it| it.contains("EnsuredLoadBalancer")).count();
    assert_eq!(ensured, 1);
}

#[tokio::test]
async fn a_failure_of_a_repair_is_shown() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    let _controller = serve(&cluster, &cloud, &["s1"]).await;
    quiet(&cloud, "s1").await;
    cloud.cloud.ensures("s1", crate::cloud::unavailable());
    cloud.shows(item("lb of s1", Some("2")));
    crate::controller::told(&cluster, "s1", "SyncLoadBalancerFailed", 1).await;
    cloud.cloud.ensures("s1", ready("192.0.2.7", "lb of s1"));
    addressed(&cluster, "s1", "192.0.2.7").await;
}

#[tokio::test]
async fn a_cloud_that_is_at_rest_is_listed_and_not_asked() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    let _controller = serve(&cluster, &cloud, &["s1", "s2", "s3"]).await;
    for name in ["s1", "s2", "s3"] {
        quiet(&cloud, name).await;
    }
    let (calls, lists) = (cloud.cloud.calls().len(), cloud.lists());
    let more = wait::within(QUIET, async || Some(cloud.cloud.calls().len()).filter(|it| *it > calls)).await;
    assert_eq!(more, None, "a call although nothing changed");
    let lists = cloud.lists() - lists;
    let most = (QUIET.as_secs_f64() / (PERIOD.as_secs_f64() * 0.9)).ceil() as usize + 1;
    assert!((2..=most).contains(&lists), "{lists} lists");
    let kept = service_when(&cluster, "s1", |it| evidence(it).is_some()).await;
    assert!(evidence(&kept).is_some_and(|it| it.ends_with(" 1")), "{:?}", evidence(&kept));
}

/// The evidence that a Service keeps of its load balancer.
fn evidence(service: &Service) -> Option<&str> {
    let conditions = service.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|it| it.type_ == "aerostat.dev/evidence").map(|it| it.message.as_str())
}
