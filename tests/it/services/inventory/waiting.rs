//! Services that wait for the cloud are left to lists.

use std::time::Duration;

use cloud_provider::{Error, LoadBalancerStatus};
use controllers::service::Options;
use tests::control_plane::cluster;
use tests::wait;

use super::cloud::{Listing, changing, item};
use super::{listing, with};
use crate::cloud::{Answer, building, ready};
use crate::controller::{Controller, addressed, called, create, service};

/// A provider's pause, several times in each test.
const PAUSE: Duration = Duration::from_secs(1);
const SERVICES: usize = 12;

fn names() -> impl Iterator<Item = String> {
    (1..=SERVICES).map(|it| format!("s{it}"))
}

fn memo(name: &str) -> String {
    format!("lb of {name}")
}

/// So many Services whose load balancers the cloud builds.
async fn build(cluster: &tests::control_plane::Cluster, cloud: &Listing) {
    for name in names() {
        cloud.cloud.ensures(&name, building(&memo(&name), PAUSE));
        cloud.shows(changing(&memo(&name)));
        create(cluster, &service(&name)).await;
    }
    for name in names() {
        called(&cloud.cloud, &name, 1).await;
    }
}

#[tokio::test]
async fn one_list_answers_for_all_who_wait() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    // A worker each: a list answers only for a few seconds.
    let options = Options { syncs: SERVICES, ..with(Default::default()) };
    let _controller = Controller::start(&cluster, &cloud, options);
    build(&cluster, &cloud).await;
    let before = cloud.cloud.calls().len();
    cloud.lists_again(4).await;
    let asked = cloud.cloud.calls().len() - before;
    assert!(asked <= 2, "{asked} calls while lists say that the cloud is at work");

    for name in names() {
        cloud.cloud.ensures(&name, ready("192.0.2.1", &memo(&name)));
        cloud.shows(item(&memo(&name), Some("1")));
    }
    for name in names() {
        addressed(&cluster, &name, "192.0.2.1").await;
    }
    let asked = cloud.cloud.calls().len() - before;
    assert!(asked <= SERVICES + 2, "{asked} calls for {SERVICES} Services that have come to rest");
    let listed = cloud.listed().len();
    assert!(listed >= SERVICES - 1, "{listed} of {SERVICES} calls were made right after a list");
}

#[tokio::test]
async fn without_a_list_each_is_asked_about_as_its_provider_says() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    cloud.is_down();
    let _controller = Controller::start(&cluster, &cloud, with(Default::default()));
    build(&cluster, &cloud).await;
    for name in names() {
        called(&cloud.cloud, &name, 3).await;
    }
    assert_eq!(cloud.listed(), [""; 0]);
}

#[tokio::test]
async fn a_load_balancer_not_listed_is_asked_about_when_due() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    let _controller = Controller::start(&cluster, &cloud, with(Default::default()));
    build(&cluster, &cloud).await;
    cloud.hides(&memo("s1"));
    let before = cloud.cloud.about("s1").len();
    called(&cloud.cloud, "s1", before + 3).await;
    cloud.cloud.ensures("s1", ready("192.0.2.1", &memo("s1")));
    addressed(&cluster, "s1", "192.0.2.1").await;
}

#[tokio::test]
async fn a_provider_that_contradicts_its_list_keeps_its_pace() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    let _controller = Controller::start(&cluster, &cloud, listing());
    build(&cluster, &cloud).await;
    // The list says that it is done, and the provider that it is not.
    names().for_each(|it| cloud.shows(item(&memo(&it), Some("1"))));
    for name in names() {
        called(&cloud.cloud, &name, 4).await;
    }
    let calls = cloud.cloud.about("s1");
    let pauses = calls.windows(2).map(|it| it[1].began - it[0].began).collect::<Vec<_>>();
    let short = pauses.iter().filter(|it| **it < PAUSE).count();
    assert!(short <= 1, "the list is believed once: {pauses:?}");
}

#[tokio::test]
async fn many_creations_share_a_list() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    for name in names() {
        let built = ready("192.0.2.1", &memo(&name));
        cloud.cloud.ensures_next(&name, [building(&format!("creating {name}"), Duration::ZERO)]);
        cloud.cloud.ensures(&name, built);
        create(&cluster, &service(&name)).await;
    }
    let _controller = Controller::start(&cluster, &cloud, with(Default::default()));
    for name in names() {
        addressed(&cluster, &name, "192.0.2.1").await;
    }
    let (lists, listed) = (cloud.lists(), cloud.listed().len());
    assert!(listed >= SERVICES - 2, "{listed} of {SERVICES} creations need not read by themselves");
    assert!(lists <= 2, "{lists} lists for {SERVICES} creations");
}

#[tokio::test]
async fn a_refusal_that_rests_on_a_list_is_asked_for_without_it() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    for name in names() {
        let refused = Answer::Failed(LoadBalancerStatus::default(), Error::Invalid("its name is taken".to_owned()));
        let answers = [building(&format!("creating {name}"), Duration::ZERO), refused];
        cloud.cloud.ensures_next(&name, answers);
        cloud.cloud.ensures(&name, ready("192.0.2.1", &memo(&name)));
        create(&cluster, &service(&name)).await;
    }
    let _controller = Controller::start(&cluster, &cloud, with(Default::default()));
    for name in names() {
        called(&cloud.cloud, &name, 2).await;
    }
    let listed = cloud.listed();
    assert!(listed.len() >= SERVICES - 2, "{} of {SERVICES} creations rest on a list", listed.len());
    for name in listed {
        addressed(&cluster, &name, "192.0.2.1").await;
    }
}

#[tokio::test]
async fn a_list_that_never_ends_ends() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    cloud.is_endless();
    let _controller = Controller::start(&cluster, &cloud, listing());
    build(&cluster, &cloud).await;
    cloud.lists_again(2).await;
    for name in names() {
        cloud.cloud.ensures(&name, ready("192.0.2.1", &memo(&name)));
        cloud.shows(item(&memo(&name), Some("1")));
    }
    for name in names() {
        addressed(&cluster, &name, "192.0.2.1").await;
    }
    wait::until("nobody is spared", async || (cloud.cloud.about("s1").len() >= 4).then_some(())).await;
}
