//! Where volumes are.

use cloud_provider::Volume as Asked;
use tests::clouds::hetzner::Volume;

use crate::setup::rig;

#[tokio::test]
async fn volumes_are_where_their_location_is() {
    let rig = rig(&[]).await;
    rig.cloud.volumes().insert(Volume::new(1, "a"));
    rig.cloud.volumes().insert(Volume::new(2, "b").location("hel1"));
    let volumes = rig.abilities.persistent_volumes.clone().unwrap();
    let asked = ["1", "2", "3"].map(|id| Asked {
        name: format!("pv-{id}"),
        source: "csi.hetzner.cloud".to_owned(),
        handle: id.to_owned(),
        attributes: Vec::new(),
    });
    let answers = volumes.get_topology(&asked).await.answer;
    let places: Vec<_> = answers.into_iter().map(|it| it.unwrap().map(|it| (it.region, it.zones))).collect();
    let place = |region: &str, zone: &str| Some((Some(region.to_owned()), vec![zone.to_owned()]));
    assert_eq!(places, [place("fsn1", "fsn1-dc14"), place("hel1", "hel1-dc2"), None]);
    assert_eq!(rig.requests().len(), 2, "one list, and one question about what it lacks");
}
