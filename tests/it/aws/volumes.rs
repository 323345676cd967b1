//! Where volumes of EBS are, with the binary between a cluster and AWS.

use k8s_openapi::api::core::v1::PersistentVolume;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};
use tests::clouds::aws::Recorded;
use tests::moto::REGION;
use tests::wait;

use crate::setup::Rig;

const ZONE: &str = "topology.kubernetes.io/zone";
/// The id of no volume.
const UNKNOWN: &str = "vol-0ffffffffffffffff";

fn volumes(rig: &Rig) -> Api<PersistentVolume> {
    Api::all(rig.cluster.admin.clone())
}

async fn create(rig: &Rig, name: &str, source: &Value) {
    let mut volume = json!({
        "metadata": { "name": name },
        "spec": { "capacity": { "storage": "8Gi" }, "accessModes": ["ReadWriteOnce"] },
    });
    volume["spec"].as_object_mut().unwrap().extend(source.as_object().unwrap().clone());
    volumes(rig).create(&PostParams::default(), &serde_json::from_value(volume).unwrap()).await.unwrap();
}

#[tokio::test]
async fn volumes_say_their_zone_and_an_unknown_one_fails_no_other() {
    let rig = Rig::new().await;
    let zones = ["a", "b"].map(|it| format!("{REGION}{it}"));
    let made = |zone: &String| rig.order("volume", &json!({ "zone": zone })).as_str().unwrap().to_owned();
    let ids = zones.each_ref().map(made);
    let csi = |handle: &str| json!({ "csi": { "driver": "ebs.csi.aws.com", "volumeHandle": handle } });
    let older = format!("aws://{}/{}", zones[1], ids[1]);
    create(&rig, "unknown", &csi(UNKNOWN)).await;
    create(&rig, "csi", &csi(&ids[0])).await;
    create(&rig, "older", &json!({ "awsElasticBlockStore": { "volumeID": older } })).await;
    let process = rig.start().await;

    for (name, zone) in ["csi", "older"].iter().zip(&zones) {
        let placed = wait::until(&format!("{name} says its zone"), async || {
            let volume = volumes(&rig).get(name).await.ok()?;
            volume.metadata.labels.as_ref()?.contains_key(ZONE).then_some(volume)
        })
        .await;
        assert_eq!(json!(placed.metadata.labels), json!({ ZONE: zone, "topology.kubernetes.io/region": REGION }));
        let affinity = json!(placed.spec.unwrap().node_affinity);
        assert!(affinity.to_string().contains(zone.as_str()), "{affinity}");
    }
    let unknown = volumes(&rig).get("unknown").await.unwrap();
    assert!(unknown.metadata.labels.is_none() && unknown.spec.unwrap().node_affinity.is_none());
    let asked = rig.cloud.asked("ec2", "DescribeVolumes");
    let has = |it: &Recorded, id: &str| it.query.iter().any(|(_, value)| value == id);
    assert!(asked.iter().any(|it| has(it, &ids[0]) && has(it, &ids[1]) && has(it, UNKNOWN)), "{asked:#?}");
    assert!(asked.iter().all(|it| it.query_value("Filter.1.Name") == Some("volume-id")), "{asked:#?}");
    process.stop().await;
}
