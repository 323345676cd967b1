//! Lists of load balancers, through the sandbox and the egress, and what they save.

use std::time::Duration;

use cloud_provider::{
    Freshness, InventoryItem, InventoryState, LoadBalancerInventory, LoadBalancerStatus, MarkedOwner, Progress, Proof,
};
use tests::vendor::{Behaviour, Creation, DigitalOcean, ProviderRig, Vendor};
use tests::wait;

use crate::setup::{NAME, Service};

tests::for_each_cloud! {
    a_load_balancer_is_listed_with_memo_and_state,
    a_revision_changes_with_what_somebody_changes,
    only_a_call_that_changes_the_cloud_has_written,
    a_list_has_pages,
    a_listed_load_balancer_costs_no_request,
    a_creation_after_a_list_searches_no_second_time,
    a_late_list_makes_no_second_load_balancer,
}

/// A cloud whose load balancers are built like this.
async fn rig<V: Vendor>(creation: Creation) -> ProviderRig<V> {
    ProviderRig::new(Behaviour { creation, ..Behaviour::default() }, &[]).await
}

/// All items of a complete list, in pages as the provider describes them.
async fn list(inventory: &dyn LoadBalancerInventory) -> Vec<InventoryItem> {
    pages(inventory, inventory.description().page_size).await
}

/// All items of a complete list, in pages of this size.
async fn pages(inventory: &dyn LoadBalancerInventory, limit: u32) -> Vec<InventoryItem> {
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

fn named<V: Vendor>(rig: &ProviderRig<V>, number: usize) -> Service<'_> {
    Service::new(rig).named(&format!("web-{number}"), &format!("{number:08x}-2222-3333-4444-555555555555"))
}

/// So many requests for lists of load balancers.
fn lists(requests: &[String], path: &str) -> usize {
    requests.iter().filter(|it| it.starts_with(&format!("GET {path}?"))).count()
}

async fn a_load_balancer_is_listed_with_memo_and_state<V: Vendor>() {
    let rig = rig::<V>(Creation::Takes(Duration::from_secs(5))).await;
    let inventory = rig.inventory();
    assert!(inventory.description().revisions);
    let mut service = Service::new(&rig);
    begin(&mut service).await;
    let [item] = &list(&*inventory).await[..] else { panic!("one load balancer") };
    assert_eq!((item.memo.as_ref(), &item.state), (service.desired.memo.as_ref(), &InventoryState::Changing));
    let at_rest = async || {
        let items = list(&*inventory).await;
        items.into_iter().find(|it| it.state == InventoryState::Ready)
    };
    let item = wait::until("it is built", at_rest).await;
    let addresses: Vec<_> = item.ingress.iter().map(|it| it.ip.clone().unwrap()).collect();
    assert_eq!(addresses, V::built(rig.cloud.account())[0].addresses);
    assert!(item.cloud_object.ends_with(&format!("({NAME})")), "{}", item.cloud_object);
}

#[tokio::test]
async fn a_load_balancer_is_listed_by_name_where_no_mark_is_shown() {
    let rig = rig::<DigitalOcean>(Creation::Takes(Duration::ZERO)).await;
    let mut service = Service::new(&rig);
    service.served().await;
    let [item] = &list(&*rig.inventory()).await[..] else { panic!("one load balancer") };
    assert_eq!((item.proof, &item.owner), (Proof::ByName, &MarkedOwner::default()), "its tags are not shown");
}

async fn a_revision_changes_with_what_somebody_changes<V: Vendor>() {
    let rig = rig::<V>(Creation::Takes(Duration::ZERO)).await;
    let inventory = rig.inventory();
    let mut service = Service::new(&rig);
    let status = service.served().await;
    let revision = async || list(&*inventory).await.remove(0).revision.unwrap();
    let first = revision().await;
    assert_eq!(service.served().await, status);
    assert_eq!(revision().await, first, "nothing was written");
    V::clear_machines(rig.cloud.account(), &id(&status));
    let other = revision().await;
    assert_ne!(other, first);
    service.served().await;
    assert_eq!(revision().await, first, "it is put right");
}

async fn only_a_call_that_changes_the_cloud_has_written<V: Vendor>() {
    let rig = rig::<V>(Creation::Takes(Duration::ZERO)).await;
    let mut service = Service::new(&rig);
    assert!(!service.ask().await.wrote, "it is announced");
    assert!(service.ask().await.wrote, "it is created");
    let status = service.served().await;
    assert!(!service.ask().await.wrote, "it is read");
    V::clear_machines(rig.cloud.account(), &id(&status));
    assert!(service.ask().await.wrote, "it is put right");
    service.served().await;
    assert!(service.ask_to_delete().await.wrote);
}

async fn a_list_has_pages<V: Vendor>() {
    let rig = rig::<V>(Creation::Takes(Duration::ZERO)).await;
    for number in 0..7 {
        named(&rig, number).served().await;
    }
    let inventory = rig.inventory();
    let before = rig.requests().len();
    assert_eq!(pages(&*inventory, 3).await.len(), 7);
    assert_eq!(lists(&rig.requests()[before..], V::LOAD_BALANCERS), 3);
}

async fn a_listed_load_balancer_costs_no_request<V: Vendor>() {
    const SERVICES: usize = 30;
    let rig = rig::<V>(Creation::Takes(Duration::from_millis(1))).await;
    let inventory = rig.inventory();
    let mut services: Vec<_> = (0..SERVICES).map(|it| named(&rig, it)).collect();
    for service in &mut services {
        begin(service).await;
    }
    wait::until("all are built", async || {
        let items = list(&*inventory).await;
        items.iter().all(|it| it.state == InventoryState::Ready).then_some(())
    })
    .await;
    let before = rig.requests().len();
    for service in &services {
        let progress = rig.load_balancers.ensure_listed(&service.desired, Freshness::ANY).await.answer.unwrap();
        assert!(matches!(progress, Progress::Ready(_)), "{progress:?}");
    }
    let asked = rig.requests().split_off(before);
    let about = |it: &&String| it.contains(V::LOAD_BALANCERS);
    assert_eq!(asked.iter().filter(about).collect::<Vec<_>>(), [""; 0], "the list has read them all");
    let before = rig.requests().len();
    rig.load_balancers.ensure(&services[0].desired).await.answer.unwrap();
    let alone = rig.requests().split_off(before);
    let memo = services[0].desired.memo.as_ref().unwrap();
    let alone: Vec<_> = alone.iter().filter(about).collect();
    assert_eq!(*alone[0], format!("GET {}/{memo} → 200", V::LOAD_BALANCERS), "without a list it is read alone");
}

async fn a_creation_after_a_list_searches_no_second_time<V: Vendor>() {
    let rig = rig::<V>(Creation::Takes(Duration::from_secs(600))).await;
    let inventory = rig.inventory();
    let mut service = Service::new(&rig);
    let announced = service.step().await.unwrap();
    assert!(matches!(announced, Progress::Pending(_)));
    list(&*inventory).await;
    let before = rig.requests().len();
    rig.load_balancers.ensure_listed(&service.desired, Freshness::ANY).await.answer.unwrap();
    let requests = rig.requests().split_off(before);
    assert_eq!(lists(&requests, V::LOAD_BALANCERS), 0, "{requests:?}");
    assert_eq!(rig.writes().len(), 1, "it is created");
}

async fn a_late_list_makes_no_second_load_balancer<V: Vendor>() {
    let behaviour = Behaviour { lists_late_by: Duration::from_secs(600), ..Behaviour::default() };
    let rig = ProviderRig::<V>::new(behaviour, &[]).await;
    let inventory = rig.inventory();
    let mut service = Service::new(&rig);
    let status = service.served().await;
    assert_eq!(list(&*inventory).await, []);
    let answer = rig.load_balancers.ensure_listed(&service.desired, Freshness::ANY).await.answer.unwrap();
    assert_eq!(answer, Progress::Ready(status), "by its id it is there");
    assert_eq!(rig.cloud.requests_to("POST", V::LOAD_BALANCERS).len(), 1);
}

fn id(status: &LoadBalancerStatus) -> String {
    status.memo.clone().unwrap()
}
