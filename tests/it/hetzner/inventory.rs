//! The list of load balancers of the cluster.

use cloud_provider::{InventoryState, Proof};
use tests::clouds::hetzner::{LoadBalancer, Taking};

use crate::setup::{CLUSTER_UID, LOCATION, Service, UID, rig, worker};

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
