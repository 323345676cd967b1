//! The list of DigitalOcean's load balancers, through the sandbox and the gate, and what it saves.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{
    InventoryItem, InventoryState, LoadBalancerInventory, LoadBalancerStatus, MarkedOwner, Progress, Proof,
};
use tests::clouds::digitalocean::{Behaviour, Creation, Droplet, Options};
use tests::wait;

use crate::services::{NAME, Service};
use crate::setup::{Rig, Setup};

/// A cloud with a droplet, whose load balancers are built like this.
async fn rig(creation: Creation) -> Rig {
    let load_balancers = Behaviour { creation, ..Behaviour::default() };
    let cloud = Options { load_balancers, ..Options::default() };
    Rig::start(Setup { cloud, ..Setup::default() }, [Droplet::new(1, "web-1")]).await
}

fn inventory(rig: &Rig) -> Arc<dyn LoadBalancerInventory> {
    rig.provider.cloud().load_balancer_inventory.unwrap()
}

/// All items of a complete list.
async fn list(inventory: &dyn LoadBalancerInventory, limit: u32) -> Vec<InventoryItem> {
    let (mut items, mut cursor) = (Vec::new(), None);
    loop {
        let page = inventory.list(cursor, limit).await.answer.unwrap();
        assert_eq!(page.incomplete, None);
        items.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            return items;
        }
    }
}

/// Announces a creation and sends it.
async fn begin(service: &mut Service<'_>) {
    for _ in 0..2 {
        service.pending().await;
    }
}

fn named(rig: &Rig, number: usize) -> Service<'_> {
    Service::new(rig).named(&format!("web-{number}"), &format!("{number:08x}-2222-3333-4444-555555555555"))
}

#[tokio::test]
async fn a_load_balancer_is_listed_by_name_with_memo_and_state() {
    let rig = rig(Creation::Takes(Duration::from_secs(1))).await;
    let inventory = inventory(&rig);
    assert!(inventory.description().revisions);
    let mut service = Service::new(&rig);
    begin(&mut service).await;
    let [item] = &list(&*inventory, 200).await[..] else { panic!("one load balancer") };
    assert_eq!((item.proof, &item.owner), (Proof::ByName, &MarkedOwner::default()), "its tags are not shown");
    assert_eq!((item.memo.as_ref(), &item.state), (service.desired.memo.as_ref(), &InventoryState::Changing));
    let at_rest = async || {
        let items = list(&*inventory, 200).await;
        items.into_iter().find(|it| it.state == InventoryState::Ready)
    };
    let item = wait::until("it is built", at_rest).await;
    assert_eq!(item.ingress.len(), 1);
    assert!(item.cloud_object.ends_with(&format!("({NAME})")), "{}", item.cloud_object);
}

#[tokio::test]
async fn a_revision_changes_with_what_somebody_changes() {
    let rig = rig(Creation::Takes(Duration::ZERO)).await;
    let inventory = inventory(&rig);
    let mut service = Service::new(&rig);
    let status = service.served().await;
    let revision = async || list(&*inventory, 200).await.remove(0).revision.unwrap();
    let first = revision().await;
    assert_eq!(service.served().await, status);
    assert_eq!(revision().await, first, "nothing was written");
    rig.cloud.load_balancers().update(&id(&status), |it| it.attributes.droplet_ids.clear());
    let other = revision().await;
    assert_ne!(other, first);
    service.served().await;
    assert_eq!(revision().await, first, "it is put right");
}

#[tokio::test]
async fn a_list_has_pages() {
    let rig = rig(Creation::Takes(Duration::ZERO)).await;
    for number in 0..7 {
        named(&rig, number).served().await;
    }
    let inventory = inventory(&rig);
    let before = rig.requests().len();
    assert_eq!(list(&*inventory, 3).await.len(), 7);
    assert_eq!(rig.requests().len() - before, 3);
}

#[tokio::test]
async fn what_a_list_has_read_costs_no_request() {
    const SERVICES: usize = 30;
    let rig = rig(Creation::Takes(Duration::from_millis(1))).await;
    let inventory = inventory(&rig);
    let mut services: Vec<_> = (0..SERVICES).map(|it| named(&rig, it)).collect();
    for service in &mut services {
        begin(service).await;
    }
    wait::until("all are built", async || {
        let items = list(&*inventory, 200).await;
        items.iter().all(|it| it.state == InventoryState::Ready).then_some(())
    })
    .await;
    let before = rig.requests().len();
    for service in &services {
        let progress = rig.load_balancers.ensure_listed(&service.desired).await.answer.unwrap();
        assert!(matches!(progress, Progress::Ready(_)), "{progress:?}");
    }
    assert_eq!(rig.requests().split_off(before), [""; 0], "the list has read them all");
    rig.load_balancers.ensure(&services[0].desired).await.answer.unwrap();
    assert_eq!(rig.requests().len() - before, 1, "without a list it is read alone");
}

#[tokio::test]
async fn a_creation_after_a_list_is_one_request() {
    let rig = rig(Creation::Stuck).await;
    let inventory = inventory(&rig);
    let mut service = Service::new(&rig);
    let announced = service.step().await.unwrap();
    assert!(matches!(announced, Progress::Pending(_)));
    list(&*inventory, 200).await;
    let before = rig.requests().len();
    rig.load_balancers.ensure_listed(&service.desired).await.answer.unwrap();
    assert_eq!(rig.requests().split_off(before), ["POST /v2/load_balancers → 202"]);
}

#[tokio::test]
async fn a_late_list_makes_no_second_load_balancer() {
    let behaviour = Behaviour { lists_late_by: Duration::from_secs(600), ..Behaviour::default() };
    let cloud = Options { load_balancers: behaviour, ..Options::default() };
    let rig = Rig::start(Setup { cloud, ..Setup::default() }, [Droplet::new(1, "web-1")]).await;
    let inventory = inventory(&rig);
    let mut service = Service::new(&rig);
    let status = service.served().await;
    assert_eq!(list(&*inventory, 200).await, []);
    let answer = rig.load_balancers.ensure_listed(&service.desired).await.answer.unwrap();
    assert_eq!(answer, Progress::Ready(status), "by its id it is there");
    assert_eq!(rig.cloud.load_balancers().all().len(), 1);
}

fn id(status: &LoadBalancerStatus) -> String {
    status.memo.clone().unwrap()
}
