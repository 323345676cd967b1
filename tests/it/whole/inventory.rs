//! Lists of load balancers, with the binary between a cluster and a cloud.

use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::json;
use tests::clouds::aws::Account;
use tests::clouds::digitalocean::LoadBalancer;
use tests::clouds::hetzner::Assets;
use tests::operator::{Process, admin_token};
use tests::simulator::Recorded;
use tests::vendor::{Aws, Behaviour, Creation, DigitalOcean, Hetzner, Vendor};
use tests::wait;

use crate::setup::{CloudRig, default_name, is_about_load_balancers, is_write, memo, service};

const SERVICES: usize = 30;
/// How long the cloud builds a load balancer.
const BUILDING: Duration = Duration::from_secs(10);
/// How long all load balancers of [`SERVICES`] are read one by one, and then listed three times: a late read starts the count of lists again.
const READS: Duration = Duration::from_secs(30);

fn name(number: usize) -> String {
    format!("web-{number}")
}

/// Creates so many Services, and waits until all have an address.
async fn serve<V: Vendor>(rig: &CloudRig<V>, services: usize) {
    join_all((0..services).map(|it| async move { rig.create(&service(&name(it), &[80], &[])).await })).await;
    for number in 0..services {
        rig.served(&name(number)).await;
    }
}

fn is_list<V: Vendor>(request: &Recorded) -> bool {
    request.is("GET", V::LOAD_BALANCERS)
}

fn reads_one<V: Vendor>(request: &Recorded) -> bool {
    request.is("GET", &format!("{}/*", V::LOAD_BALANCERS)) && !reads_actions::<V>(request)
}

/// Hetzner says with a second request which of the listed load balancers are being changed.
fn reads_actions<V: Vendor>(request: &Recorded) -> bool {
    request.is("GET", &format!("{}/actions", V::LOAD_BALANCERS))
}

#[tokio::test]
async fn thirty_load_balancers_are_waited_for_with_a_few_lists() {
    they_are_waited_for_with_a_few_lists::<DigitalOcean>(22).await;
}

#[tokio::test]
async fn thirty_at_hetzner_are_waited_for_with_a_few_lists() {
    they_are_waited_for_with_a_few_lists::<Hetzner>(22).await;
}

/// `most` is how many calls about load balancers ten Services may cost.
async fn they_are_waited_for_with_a_few_lists<V: Vendor>(most: usize) {
    let behaviour = Behaviour { creation: Creation::Takes(BUILDING), ..Behaviour::default() };
    let rig = CloudRig::<V>::with(behaviour).await;
    let rig = rig.settings(&[("pollInterval", "2s")]).limits(&json!({ "requestsPerSecond": 250 }));
    let process = rig.start_with_workers(1).await;
    let (before, began) = (rig.cloud.requests().len(), Instant::now());
    serve(&rig, SERVICES).await;
    let took = began.elapsed();
    let requests = rig.cloud.requests().split_off(before);
    let count = |of: fn(&Recorded) -> bool| requests.iter().filter(|it| of(it)).count();
    let (lists, reads, writes) = (count(is_list::<V>), count(reads_one::<V>), count(is_write));
    let actions = count(reads_actions::<V>);
    assert_eq!(writes, SERVICES, "each is created, and nothing else is written");
    assert!(reads <= 3, "{reads} load balancers were read one by one, where lists answer for all");
    assert!(lists <= 10, "{lists} lists for {SERVICES} load balancers of {BUILDING:?}");
    assert!(actions <= lists, "actions are read {actions} times for {lists} lists");
    let calls = lists + actions + reads + writes;
    assert!(calls * 10 <= SERVICES * most, "{calls} calls for {SERVICES} Services");
    // Looks 2 to 5 s apart after the building, and four writes to each Service; one after the other they would be built for five minutes.
    assert!(took < BUILDING * 4, "{took:?}");
    process.stop().await;
}

/// Cases: case 149
#[tokio::test]
async fn a_change_in_the_cloud_is_put_right() {
    a_change_by_somebody_is_put_right::<DigitalOcean>().await;
}

/// Cases: case 149
#[tokio::test]
async fn a_change_at_hetzner_is_put_right() {
    a_change_by_somebody_is_put_right::<Hetzner>().await;
}

async fn a_change_by_somebody_is_put_right<V: Vendor>() {
    let rig = CloudRig::<V>::with(Behaviour::default()).await.flags(&["--load-balancer-resync-period=2s"]);
    let process = rig.start().await;
    rig.workers(1).await;
    serve(&rig, 1).await;
    for _ in 0..2 {
        V::clear_machines(rig.cloud.account(), &rig.only_built().id);
        assert_eq!(rig.only_built().machines, [0_u64; 0]);
        wait::until("its target is back", async || (!rig.only_built().machines.is_empty()).then_some(())).await;
    }

    let gone = rig.only_built();
    V::remove_built(rig.cloud.account(), &gone.id);
    wait::until("another one is built", async || rig.built().iter().any(|it| it.id != gone.id).then_some(())).await;
    let id = rig.only_built().id;
    wait::until("it is remembered", async || {
        (memo(&rig.services().get(&name(0)).await.unwrap()) == Some(&*id)).then_some(())
    })
    .await;
    process.stop().await;
}

/// Cases: case 150
#[tokio::test]
async fn a_new_leader_reads_no_load_balancer_that_is_as_it_was() {
    a_new_leader_reads_none::<DigitalOcean>().await;
}

/// Cases: case 150
#[tokio::test]
async fn a_new_leader_at_hetzner_reads_none_that_is_as_it_was() {
    a_new_leader_reads_none::<Hetzner>().await;
}

async fn a_new_leader_reads_none<V: Vendor>() {
    let rig = CloudRig::<V>::with(Behaviour::default()).await.flags(&["--load-balancer-resync-period=2s"]);
    let process = rig.start().await;
    rig.workers(1).await;
    serve(&rig, SERVICES).await;
    // Until nothing is asked any more but lists.
    let mut known = rig.cloud.requests().len();
    wait::until_after(READS, "three lists in a row, and no other request", async || {
        let since = rig.cloud.requests().split_off(known);
        if since.iter().any(|it| reads_one::<V>(it) || is_about_load_balancers::<V>(it) && is_write(it)) {
            known += since.len();
        }
        let lists = rig.cloud.requests().split_off(known).iter().filter(|it| is_list::<V>(it)).count();
        (lists >= 3).then_some(())
    })
    .await;
    process.stop().await;

    let before = rig.cloud.requests().len();
    let process = rig.start().await;
    let lists = |requests: &[Recorded]| requests[before..].iter().filter(|it| is_list::<V>(it)).count() >= 3;
    rig.cloud.wait_for("three lists of the new process", lists).await;
    let requests = rig.cloud.requests().split_off(before);
    let reads = requests.iter().filter(|it| reads_one::<V>(it)).count();
    assert_eq!(reads, 0, "each is as the list says that it was");
    assert_eq!(requests.iter().filter(|it| is_write(it)).count(), 0);
    process.stop().await;
}

#[tokio::test]
async fn a_foreign_load_balancer_with_such_a_name_stays() {
    let flags = ["--load-balancer-resync-period=1s", "--delete-orphaned-load-balancers"];
    let rig = CloudRig::<DigitalOcean>::with(Behaviour::default()).await.flags(&flags);
    let process = rig.start().await;
    rig.workers(1).await;
    serve(&rig, 1).await;
    let ours = rig.only();
    let foreign = LoadBalancer { id: uuid::Uuid::new_v4().to_string(), ..ours.clone() };
    let mut foreign = foreign;
    foreign.attributes.name = format!("a{}", "0".repeat(31));
    rig.cloud.load_balancers().insert(foreign.clone());
    let before = rig.cloud.requests().len();
    let lists = |requests: &[Recorded]| requests[before..].iter().filter(|it| is_list::<DigitalOcean>(it)).count() >= 5;
    rig.cloud.wait_for("five lists", lists).await;
    assert!(rig.cloud.load_balancers().get(&foreign.id).is_some());
    let deletions = rig.writes().iter().filter(|it| it.starts_with("DELETE")).count();
    assert_eq!(deletions, 0);
    assert_eq!(ours.attributes.name, default_name::<DigitalOcean>(&rig.services().get(&name(0)).await.unwrap()));
    process.stop().await;
}

#[tokio::test]
async fn adv_171_a_protected_one_at_hetzner_is_no_orphan() {
    let protect: fn(&Assets, &str, bool) = |account, id, protected| {
        account.load_balancers().update(id.parse().unwrap(), |it| it.protected = protected);
    };
    let is_marked: fn(&Assets, &str) -> bool = |account, id| {
        account.load_balancers().get(id.parse().unwrap()).unwrap().labels.contains_key("aerostat.dev/kept")
    };
    a_protected_load_balancer_is_no_orphan_afterwards::<Hetzner>(protect, is_marked).await;
}

#[tokio::test]
async fn adv_171_a_protected_one_at_aws_is_no_orphan() {
    let protect: fn(&Account, &str, bool) = |account, id, protected| {
        account.moto().order("protect", &json!({ "arn": id, "protected": protected }));
    };
    let is_marked: fn(&Account, &str) -> bool = |account, id| {
        let balancers = account.state().network;
        let tags = &balancers.iter().find(|it| it.id == id).unwrap().tags;
        tags.get("aerostat.dev/kept").is_some_and(|it| it == "true")
    };
    a_protected_load_balancer_is_no_orphan_afterwards::<Aws>(protect, is_marked).await;
}

/// Load balancers without a Service are counted at once, and deleted only after an hour: a test can wait for the
/// counts.
async fn a_protected_load_balancer_is_no_orphan_afterwards<V: Vendor>(
    protect: fn(&V::Cloud, &str, bool),
    is_marked: fn(&V::Cloud, &str) -> bool,
) {
    let flags = ["--load-balancer-resync-period=1s", "--delete-orphaned-load-balancers"];
    let rig = CloudRig::<V>::with(Behaviour::default()).await.flags(&flags);
    let process = rig.start().await;
    rig.workers(1).await;
    serve(&rig, 1).await;
    let (account, name) = (rig.cloud.account(), name(0));
    let id = rig.only_built().id;
    let marked = async |marked: bool| {
        wait::until("its mark is as it shall be", async || (is_marked(account, &id) == marked).then_some(())).await;
    };
    protect(account, &id, true);
    // The Service wants none, and then wants one again.
    rig.patch(&name, &json!({ "spec": { "type": "ClusterIP" } })).await;
    rig.warned(&name, "LoadBalancerNotDeleted", &["is protected from deletion"]).await;
    marked(true).await;
    rig.patch(&name, &json!({ "spec": { "type": "LoadBalancer" } })).await;
    marked(false).await;
    rig.served(&name).await;
    assert_eq!(rig.only_built().id, id, "it is taken again");

    rig.delete(&name).await;
    rig.gone(&name).await;
    assert!(is_marked(account, &id), "it is marked before the Service goes");
    // From now on its mark alone protects it.
    protect(account, &id, false);
    let before = rig.cloud.requests().len();
    counts_as_kept(&rig, &process).await;
    process.stop().await;
    let process = rig.start().await;
    counts_as_kept(&rig, &process).await;
    let is_list = |it: &&Recorded| is_list::<V>(it) || it.is("POST", "/elbv2/DescribeLoadBalancers");
    let lists = |requests: &[Recorded]| requests[before..].iter().filter(is_list).count() >= 5;
    rig.cloud.wait_for("five lists", lists).await;
    let writes = rig.cloud.requests().split_off(before).into_iter().filter(is_write).map(|it| it.to_string());
    assert_eq!(writes.collect::<Vec<_>>(), [""; 0]);
    assert_eq!(rig.only_built().id, id);
    process.stop().await;
}

/// Waits until a process has told that one load balancer is kept. None is an orphan then.
async fn counts_as_kept<V: Vendor>(rig: &CloudRig<V>, process: &Process) {
    let token = admin_token(&rig.cluster).await;
    let metrics = wait::until("it is known as kept", async || {
        let page = process.get("/metrics", Some(&token)).await.body;
        page.contains("aerostat_kept_load_balancers 1\n").then_some(page)
    })
    .await;
    for proof in ["unique", "by-name"] {
        let none = format!("aerostat_orphaned_load_balancers{{proof=\"{proof}\"}} 0\n");
        assert!(metrics.contains(&none), "{none}");
    }
}
