//! The list of load balancers of the cluster.

use cloud_provider::{Deletion, InventoryItem, InventoryState, Owner, Proof, Result};
use tests::clouds::hetzner::{LoadBalancer, Taking};
use tests::fixtures;

use crate::setup::{CLUSTER_UID, LOCATION, Rig, Service, UID, rig, worker};

const OTHER: &str = "5ad3f1e2-9a5e-4a8e-8f0b-1f6d3f6f2a11";

#[tokio::test]
async fn a_list_shows_what_is_marked_and_whether_it_changes() {
    let rig = rig(&[LOCATION]).await;
    let mut service = Service::new(&rig);
    service.served_with().await;
    rig.cloud.load_balancers().insert(LoadBalancer::new(7, "vendors").label("hcloud-ccm/service-uid", OTHER));
    rig.cloud.load_balancers().insert(LoadBalancer::new(8, "nobodys"));
    let inventory = rig.abilities.load_balancer_inventory.clone().unwrap();
    let list = async || inventory.list(None, 50).await.answer.unwrap().items;
    let items = list().await;
    let shown: Vec<_> = items.iter().map(|it| (it.owner.uid.as_deref().unwrap(), it.proof)).collect();
    assert_eq!(shown, [(OTHER, Proof::ByName), (UID, Proof::Unique)]);
    assert_eq!(items[1].owner.cluster_uid.as_deref(), Some(CLUSTER_UID));
    assert_eq!(items[1].memo, service.desired.memo);
    assert_eq!(list().await, items, "nothing changes by itself");
    rig.cloud.behave(|it| it.actions = Taking::Forever);
    service.desired.nodes.push(worker(2));
    service.ask().await.answer.unwrap();
    let changing = list().await;
    assert_eq!((changing[1].state.clone(), &changing[1].revision), (InventoryState::Changing, &items[1].revision));
}

/// Asks for the deletion of what a list shows, as the host does of what nobody has any more: nothing is known of its Service
/// but the mark.
async fn delete(rig: &Rig, item: &InventoryItem) -> Result<Deletion> {
    let uid = item.owner.uid.clone().unwrap();
    let owner = Owner { uid: uid.clone(), ..Owner::default() };
    let unwanted = cloud_provider::LoadBalancer { owner, memo: item.memo.clone(), ..fixtures::load_balancer("", &uid) };
    assert_eq!((unwanted.ports.len(), unwanted.nodes.len()), (0, 0));
    rig.load_balancers.delete(&unwanted).await.answer
}

#[tokio::test]
async fn an_abandoned_load_balancer_is_deleted_by_its_mark() {
    let rig = rig(&[LOCATION]).await;
    Service::new(&rig).served_with().await;
    let inventory = rig.abilities.load_balancer_inventory.clone().unwrap();
    let listed = inventory.list(None, 50).await.answer.unwrap().items.remove(0);
    let id = rig.cloud.load_balancers().all()[0].id;
    assert_eq!(listed.memo, Some(id.to_string()));
    // Between the list and the deletion somebody gives it to another Service.
    let mark = |uid: &str| {
        rig.cloud.load_balancers().update(id, |balancer| {
            for label in ["hcloud-ccm/service-uid", "aerostat.dev/service-uid"] {
                balancer.labels.insert(label.to_owned(), uid.to_owned());
            }
        });
    };
    mark(OTHER);
    let kept = delete(&rig, &listed).await;
    assert!(matches!(&kept, Ok(Deletion::Kept(why)) if why.contains("another Service")), "{kept:?}");
    assert_eq!(rig.cloud.load_balancers().all().len(), 1);
    mark(UID);
    assert_eq!(delete(&rig, &listed).await, Ok(Deletion::Done));
    assert_eq!(rig.cloud.load_balancers().all().len(), 0);
    assert_eq!(delete(&rig, &listed).await, Ok(Deletion::Done), "it is gone already");
}
