//! PersistentVolumes that say nothing of where their volumes are.

use cloud_provider::CloudVolume;
use serde_json::{Value, json};
use tests::control_plane::Cluster;

use crate::provisioner::{DRIVER, PLACE, VolumeCloud, cluster, start};
use crate::volumes::{affinity, all, create, labels, node_affinity, volume, when};

/// Creates a volume of the driver as a person does, and waits until it says where it is.
async fn placed_by_hand(cluster: &Cluster, name: &str) {
    create(cluster, &volume(name, DRIVER)).await.unwrap();
    let placed = when(cluster, name, |it| !node_affinity(it).is_null()).await;
    assert_eq!((node_affinity(&placed), labels(&placed)), (affinity(&[&[(PLACE, &["b"])]]), Value::Null));
}

/// Cases: csi 79
#[tokio::test]
async fn a_volume_without_affinity_gets_it_once_from_the_cloud() {
    let cluster = cluster().await;
    let cloud = VolumeCloud::new();
    let place = || vec![vec![(PLACE.to_owned(), "b".to_owned())]];
    let found = move |handle: String| Ok(Some(CloudVolume { handle, places: place(), ..CloudVolume::default() }));
    cloud.script.get_volumes.answers(move |handles| handles.into_iter().map(&found).collect::<Vec<_>>().into());
    let here = affinity(&[&[(PLACE, &["a"])]]);
    let mut own = volume("own", DRIVER);
    own["spec"]["nodeAffinity"] = here.clone();
    create(&cluster, &own).await.unwrap();
    create(&cluster, &volume("foreign", "csi.other.example")).await.unwrap();
    let rig = start(&cluster, &cloud);
    placed_by_hand(&cluster, "before").await;
    rig.stop().ended().await;
    let _rig = start(&cluster, &cloud);
    placed_by_hand(&cluster, "after").await;
    let kept = [all(&cluster).get("own").await.unwrap(), all(&cluster).get("foreign").await.unwrap()];
    assert_eq!(kept.map(|it| node_affinity(&it)), [here, json!(null)]);
    assert_eq!(cloud.script.get_volumes.calls().concat(), ["before", "after"], "each once, and no others");
}
