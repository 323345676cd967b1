//! Two clusters of one name, in two projects behind one Keystone.

use serde_json::{Value, json};
use tests::clouds::openstack::Kind;

use super::place::Place;
use super::settled::{Settled, balancing};

#[tokio::test]
async fn attack_clusters_of_one_name_in_two_projects_stay_apart() {
    let place = Place::start().await;
    let (first, second) = tokio::join!(Settled::at(&place), Settled::at(&place));
    for it in [&first, &second] {
        it.create("default", "web", &json!({})).await;
    }
    tokio::join!(first.served("default", "web"), second.served("default", "web"));
    let names = [&first, &second].map(|settled| {
        let all = place.world(&settled.project, |world| world.all(Kind::LoadBalancer).cloned().collect::<Vec<_>>());
        all.iter().map(|it| it["name"].clone()).collect::<Vec<_>>()
    });
    assert_eq!(names, [["kube_service_kubernetes_default_web"], ["kube_service_kubernetes_default_web"]]);
    let ids = [first.balancer("default", "web").await, second.balancer("default", "web").await];
    assert_ne!(ids[0], ids[1]);
    let before = balancing(&place, &second.project);
    first.delete("default", "web").await;
    assert_eq!(balancing(&place, &first.project), Vec::<Value>::new());
    assert_eq!(balancing(&place, &second.project), before);
    let arrived = place.arrived();
    let of = |project: &str| arrived.iter().filter(|it| it.project.as_deref() == Some(project)).collect::<Vec<_>>();
    for (project, other) in [(&first.project.id, &ids[1]), (&second.project.id, &ids[0])] {
        let named: Vec<_> = of(project).into_iter().filter(|it| it.line.contains(other.as_str())).collect();
        assert!(!of(project).is_empty() && named.is_empty(), "{named:?}");
    }
    assert_eq!(of(&first.project.id).len() + of(&second.project.id).len(), arrived.len());
    tokio::join!(first.stop(), second.stop());
}
