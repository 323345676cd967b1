//! Load balancers that are there, in every cloud: DO cases 33 to 37, and what of Hetzner's 28 to 37 is the same.

use std::time::Duration;

use cloud_provider::{Error, Progress, Protocol};
use tests::simulator::Fault;
use tests::vendor::{Behaviour, Built, DigitalOcean, Hetzner, ProviderRig, Vendor};

use crate::setup::{NAME, Service, port, warning};

tests::for_each_cloud! {
    nodes_that_come_and_go_change_targets_alone,
    nodes_are_followed_although_an_annotation_is_invalid,
    nodes_are_followed_although_the_cloud_refuses_a_change,
    nodes_are_followed_although_the_name_is_taken,
    a_chosen_name_can_be_changed_and_given_back,
    a_change_by_somebody_is_put_right,
}

async fn rig<V: Vendor>() -> ProviderRig<V> {
    ProviderRig::new(Behaviour::default(), &[]).await
}

/// A Service that is served.
async fn served<V: Vendor>(rig: &ProviderRig<V>) -> Service<'_> {
    let mut service = Service::new(rig);
    service.served().await;
    service
}

/// The only load balancer.
fn only<V: Vendor>(rig: &ProviderRig<V>) -> Built {
    let mut all = V::built(rig.cloud.account());
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// Everything that is done to a load balancer.
fn all_of<V: Vendor>() -> String {
    format!("{}/**", V::LOAD_BALANCERS)
}

/// The replacement of a load balancer's name, and of whatever else the cloud takes with it.
fn one<V: Vendor>() -> String {
    format!("{}/*", V::LOAD_BALANCERS)
}

#[tokio::test]
async fn do_33_a_load_balancer_as_desired_is_read_once() {
    a_load_balancer_as_desired_is_only_read::<DigitalOcean>().await;
}

#[tokio::test]
async fn hcloud_28_a_load_balancer_as_desired_is_only_read() {
    a_load_balancer_as_desired_is_only_read::<Hetzner>().await;
}

async fn a_load_balancer_as_desired_is_only_read<V: Vendor>() {
    let rig = rig::<V>().await;
    let mut service = served(&rig).await;
    let before = rig.requests().len();
    let first = service.served().await;
    let requests = rig.cloud.requests().split_off(before);
    let of_it: Vec<_> = requests.iter().filter(|it| it.path.starts_with(V::LOAD_BALANCERS)).collect();
    assert!(of_it.len() == 1 && of_it[0].is("GET", &one::<V>()), "{requests:?}");
    assert!(requests.iter().all(|it| it.method == "GET"), "{requests:?}");
    assert_eq!(service.served().await, first);
}

async fn nodes_that_come_and_go_change_targets_alone<V: Vendor>() {
    let rig = rig::<V>().await;
    let mut service = served(&rig).await;
    let before = only(&rig);
    service.desired.nodes.push(V::worker(2));
    service.served().await;
    assert_eq!(only(&rig), Built { machines: vec![1, 2], ..before.clone() });
    service.desired.nodes.remove(0);
    service.served().await;
    assert_eq!(only(&rig), Built { machines: vec![2], ..before });
    // What the cloud has ended between two reads may be sent once more, and is refused.
    let mut writes = rig.writes();
    writes.retain(|it| !it.ends_with(" → 409") && !it.ends_with(" → 404"));
    assert_eq!(writes.len(), 3, "one for each of these changes: {writes:?}");
}

#[tokio::test]
async fn do_35_a_missing_known_load_balancer_is_built_again() {
    a_missing_known_load_balancer_is_built_again::<DigitalOcean>().await;
}

#[tokio::test]
async fn hcloud_28_a_missing_known_load_balancer_is_built_again() {
    a_missing_known_load_balancer_is_built_again::<Hetzner>().await;
}

async fn a_missing_known_load_balancer_is_built_again<V: Vendor>() {
    let rig = rig::<V>().await;
    let mut service = served(&rig).await;
    let gone = rig.only();
    V::remove_built(rig.cloud.account(), &gone);
    let (standing, events) = service.served_with().await;
    assert_eq!(warning(&events).0, "LoadBalancerNotFound");
    let id = rig.only();
    assert_ne!(id, gone);
    assert_eq!(standing.memo, Some(id));
}

#[tokio::test]
async fn do_37_a_used_up_limit_is_obeyed() {
    a_used_up_limit_is_obeyed::<DigitalOcean>().await;
}

#[tokio::test]
async fn hcloud_37_a_used_up_limit_is_obeyed() {
    a_used_up_limit_is_obeyed::<Hetzner>().await;
}

async fn a_used_up_limit_is_obeyed<V: Vendor>() {
    let rig = rig::<V>().await;
    let mut service = served(&rig).await;
    service.desired.ports.push(port(Protocol::Tcp, 443));
    let pause = Duration::from_secs(20);
    for method in ["POST", "PUT"] {
        rig.cloud.inject(V::pause(Fault::status(method, &all_of::<V>(), 429), pause));
    }
    let answer = service.step().await;
    let Err(Error::RetryAfter { after, .. }) = answer else { panic!("not paused: {answer:?}") };
    // Clouds count in whole seconds.
    let asked = Duration::from_secs(15)..=pause + Duration::from_secs(1);
    assert!(asked.contains(&after), "{after:?}");
    // Nobody else asks before that either.
    let before = rig.requests();
    let mut other = Service::new(&rig).named("other", "11111111-2222-3333-4444-555555555555");
    let answer = loop {
        match other.step().await {
            Ok(Progress::Pending(_)) => {}
            answer => break answer,
        }
    };
    // The announcement of a request that was not sent is taken back.
    let (Err(error) | Ok(Progress::Failed(_, error))) = answer else { panic!("not paused: {answer:?}") };
    assert!(matches!(error, Error::RetryAfter { .. }), "{error:?}");
    assert_eq!(rig.requests(), before);
}

async fn nodes_are_followed_although_an_annotation_is_invalid<V: Vendor>() {
    let rig = rig::<V>().await;
    let mut service = served(&rig).await;
    service.set("name", &"w".repeat(256));
    service.desired.nodes = vec![V::worker(2)];
    let why = service.invalid().await;
    assert!(why.contains(V::NAME) && why.contains("255"), "{why}");
    assert_eq!(only(&rig).machines, [2]);
    let writes = rig.writes();
    assert_eq!(service.invalid().await, why);
    assert_eq!(rig.writes(), writes, "once");
}

async fn nodes_are_followed_although_the_cloud_refuses_a_change<V: Vendor>() {
    let rig = rig::<V>().await;
    let mut service = served(&rig).await;
    rig.cloud.inject(Fault::status("PUT", &one::<V>(), 422));
    service.set("name", "web.example.com");
    service.desired.nodes.push(V::worker(2));
    let why = service.invalid().await;
    assert!(why.contains("422 "), "{why}");
    assert_eq!((only(&rig).machines, only(&rig).name.as_str()), (vec![1, 2], NAME));
}

async fn nodes_are_followed_although_the_name_is_taken<V: Vendor>() {
    let rig = rig::<V>().await;
    let mut service = served(&rig).await;
    let id = rig.only();
    V::add_foreign(rig.cloud.account(), "foreign");
    service.set("name", "foreign");
    service.desired.nodes.push(V::worker(2));
    service.invalid().await;
    let built = V::built(rig.cloud.account());
    let ours = built.iter().find(|it| it.id == id).unwrap();
    assert_eq!((&ours.machines[..], ours.name.as_str()), (&[1, 2][..], NAME));
}

async fn a_chosen_name_can_be_changed_and_given_back<V: Vendor>() {
    let rig = rig::<V>().await;
    let mut service = served(&rig).await;
    for (name, expected) in [(Some("web-a"), "web-a"), (Some("web-b"), "web-b"), (None, NAME)] {
        match name {
            Some(name) => service.set("name", name),
            None => service.remove("name"),
        }
        service.served().await;
        assert_eq!(only(&rig).name, expected);
    }
}

async fn a_change_by_somebody_is_put_right<V: Vendor>() {
    let rig = rig::<V>().await;
    let mut service = served(&rig).await;
    let before = only(&rig);
    V::clear_machines(rig.cloud.account(), &before.id);
    service.served().await;
    assert_eq!(only(&rig), before);
}
