//! Volumes of claims through the component: made, found, attached, moved, enlarged, detached and deleted at the simulated cloud.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{
    AccessMode, AttachMode, ClaimOwner, CloudVolumes, DesiredVolume, Error, KnownVolume, VolumeAttachment,
    VolumeCreation, VolumeDeletion, VolumeDetachment, VolumeExpansion,
};
use egress::{CredentialKind, CredentialSettings, Credentials, Endpoint, WriteLimits};
use sandbox::{Provider, ProviderSettings};
use serde_json::{Value, json};
use tests::clouds::openstack::{Kind, Options, REGION, Simulator, World};
use tests::guests;
use tests::simulator::Fault;
use tests::vendor::loading::{CLUSTER_UID, Secret, endpoint, load_for};
use tests::vendor::manifest;
use tests::vendor::openstack::server;
use tests::volume_steps::{attached, detached, keep, made, settled};

const GIB: u64 = 1 << 30;
const CLAIM: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
const VOLUMES: &str = "/volumev3/v3/volumes";

/// The file that installs the provider.
const INSTALLED: &str = include_str!("../../../deploy/install-openstack-cinder.yaml");

/// A region with two servers, and the provider of volumes with the rules that are shipped.
struct ClaimRig {
    cloud: Simulator,
    volumes: Arc<dyn CloudVolumes>,
    _provider: Provider,
    _token: Secret,
}

impl ClaimRig {
    async fn new() -> Self {
        let cloud = Simulator::start(Options::default()).await.unwrap();
        cloud.with(|world| {
            world.build_plain();
            for number in [1, 2] {
                world.add_node(number, &format!("web-{number}"), Some(&server(number.into())));
            }
        });
        let token = Secret::write(&cloud.token);
        let shipped = manifest::installed_config(INSTALLED);
        let at = |(name, path): (&str, &str)| {
            let mut all = shipped["endpoints"].as_array().into_iter().flatten();
            let written = all.find(|it| it["name"] == name).unwrap();
            let headers = written["headers"].as_array().into_iter().flatten();
            Endpoint {
                credential: Some("token".to_owned()),
                ca_file: Some(cloud.ca_file()),
                headers: headers.filter_map(Value::as_str).map(str::to_owned).collect(),
                allow: manifest::rules(written),
                ..endpoint(name, &format!("{}{path}", cloud.base_url()))
            }
        };
        let places = [("volume", "/volumev3/v3"), ("compute", "/compute/v2.1"), ("network", "/network/v2.0")];
        let endpoints = places.map(at).to_vec();
        let credentials = vec![CredentialSettings {
            name: "token".to_owned(),
            kind: CredentialKind::Bearer { file: token.path() },
            limits: WriteLimits { updates: 600, detachments: 200, ..WriteLimits::default() },
        }];
        let own = [("region", REGION), ("createAgainAfter", "30s")];
        let settings = ProviderSettings {
            settings: own.map(|(name, it)| (name.to_owned(), it.to_owned())).into(),
            ..ProviderSettings::default()
        };
        let credentials = Credentials::load(credentials).unwrap();
        let provider = load_for("kubernetes", guests::OPENSTACK_CINDER, settings, endpoints, credentials).await;
        let volumes = provider.cloud().volumes.clone().unwrap();
        Self { cloud, volumes, _provider: provider, _token: token }
    }

    fn all(&self) -> Vec<Value> {
        self.cloud.account().all(Kind::Volume)
    }

    /// The writes: "POST /volumev3/v3/volumes → 202".
    fn writes(&self) -> Vec<String> {
        let sent = self.cloud.requests().into_iter().filter(|it| !it.method.is_safe());
        sent.map(|it| it.to_string()).collect()
    }

    /// Deletes until it is gone.
    async fn deleted(&self, volume: &KnownVolume) {
        let step = async || self.volumes.delete(volume).await.answer.unwrap();
        assert_eq!(settled(step, |it| matches!(it, VolumeDeletion::Pending(_))).await, VolumeDeletion::Done);
    }
}

fn desired() -> DesiredVolume {
    DesiredVolume {
        name: format!("pvc-{CLAIM}"),
        owner: ClaimOwner {
            cluster: "kubernetes".to_owned(),
            namespace: "default".to_owned(),
            name: "data".to_owned(),
            uid: CLAIM.to_owned(),
        },
        bytes: 10 * GIB,
        access_modes: vec![AccessMode::OneNode],
        filesystem: Some(String::new()),
        places: vec![vec![("topology.cinder.csi.openstack.org/zone".to_owned(), "nova".to_owned())]],
        ..DesiredVolume::default()
    }
}

fn known(handle: &str) -> KnownVolume {
    KnownVolume { handle: handle.to_owned(), name: format!("pvc-{CLAIM}"), ..KnownVolume::default() }
}

/// Cases: csi 46, csi 49, csi 57, csi 62, csi 71
#[tokio::test]
async fn a_volume_lives_and_moves_through_the_gate() {
    let rig = ClaimRig::new().await;
    let volume = made(&rig.volumes, desired()).await;
    let of_claim = (volume.owner.cluster_uid.as_deref(), volume.owner.uid.as_deref());
    assert_eq!((volume.bytes, of_claim), (10 * GIB, (Some(CLUSTER_UID), Some(CLAIM))));
    assert_eq!(rig.all()[0]["metadata"]["cinder.csi.openstack.org/cluster"], "kubernetes");
    let found = rig.volumes.create(&desired(), false).await.answer.unwrap();
    assert_eq!(found, VolumeCreation::Ready(Box::new(volume.clone())), "it is found by its name");
    let volume = known(&volume.handle);
    let context = vec![("DevicePath".to_owned(), "/dev/vdb".to_owned())];
    assert_eq!(attached(&rig.volumes, &volume, &server(1)).await, VolumeAttachment::Ready(context.clone()));
    assert_eq!(
        attached(&rig.volumes, &volume, &server(1)).await,
        VolumeAttachment::Ready(context),
        "again, without a write"
    );
    assert_eq!(attached(&rig.volumes, &volume, &server(2)).await, VolumeAttachment::Occupied(server(1)));
    let step = async || rig.volumes.expand(&volume, 12 * GIB).await.answer.unwrap();
    let grown = settled(step, |it| matches!(it, VolumeExpansion::Pending(_))).await;
    assert_eq!(grown, VolumeExpansion::Ready { bytes: 12 * GIB, node_must_grow: true });
    let in_use = rig.volumes.delete(&volume).await.answer;
    assert_eq!(in_use, Ok(VolumeDeletion::InUse(vec![server(1)])), "nothing is detached for that");
    assert_eq!(
        detached(&rig.volumes, &volume, &server(2)).await,
        VolumeDetachment::Done,
        "it is elsewhere, and stays there"
    );
    assert_eq!(detached(&rig.volumes, &volume, &server(1)).await, VolumeDetachment::Done);
    assert!(matches!(attached(&rig.volumes, &volume, &server(2)).await, VolumeAttachment::Ready(_)));
    assert_eq!(detached(&rig.volumes, &volume, &server(2)).await, VolumeDetachment::Done);
    rig.deleted(&volume).await;
    let [one, two] = [1, 2].map(|it| format!("/compute/v2.1/servers/{}/os-volume_attachments", server(it)));
    let id = &volume.handle;
    let expected = [
        format!("POST {VOLUMES} → 202"),
        format!("POST {one} → 200"),
        format!("POST {VOLUMES}/{id}/action → 202"),
        format!("DELETE {one}/{id} → 202"),
        format!("POST {two} → 200"),
        format!("DELETE {two}/{id} → 202"),
        format!("DELETE {VOLUMES}/{id} → 202"),
    ];
    assert_eq!(rig.writes(), expected);
    assert_eq!(rig.volumes.get(std::slice::from_ref(id)).await.answer, [Ok(None)]);
    rig.cloud.assert_valid();
}

/// Cases: csi 19
#[tokio::test]
async fn a_lost_answer_and_a_late_list_make_one_volume() {
    let rig = ClaimRig::new().await;
    rig.cloud.behave(|it| it.lists_late_by = Duration::from_millis(300));
    rig.cloud.inject(Fault::nothing("POST", VOLUMES).done().times(1));
    let (mut desired, mut is_first) = (desired(), true);
    let volume = loop {
        match rig.volumes.create(&desired, is_first).await.answer {
            Ok(VolumeCreation::Ready(volume)) => break volume,
            Ok(VolumeCreation::Pending(it)) => keep(&mut desired, it.memo),
            other => panic!("{other:?}"),
        }
        is_first = false;
    };
    let all = rig.all();
    let ids: Vec<_> = all.iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [volume.handle.as_str()], "{:?}", rig.cloud.requests());
}

/// Cases: csi 26, csi 29, csi 58
#[tokio::test]
async fn a_full_server_and_a_full_backend_are_told() {
    let rig = ClaimRig::new().await;
    rig.cloud.behave(|it| it.volumes_have_room = false);
    let (mut desired, mut is_first) = (desired(), true);
    let why = loop {
        match rig.volumes.create(&desired, is_first).await.answer {
            Ok(VolumeCreation::NoRoom(why)) => break why,
            Ok(VolumeCreation::Pending(it)) => keep(&mut desired, it.memo),
            other => panic!("{other:?}"),
        }
        is_first = false;
    };
    assert!(why.contains("any available weighted backend"), "{why}");
    assert_eq!(rig.all(), [Value::Null; 0], "it is gone before it is said");
    rig.cloud.behave(|it| (it.volumes_have_room, it.volumes_per_server) = (true, 0));
    rig.cloud.behave(|behaviour| {
        behaviour.quotas.insert(Kind::Volume, 0);
    });
    keep(&mut desired, None);
    let quota = rig.volumes.create(&desired, true).await.answer;
    assert!(matches!(&quota, Err(Error::Unavailable(why)) if why.contains("quota")), "{quota:?}");
    rig.cloud.behave(|it| it.quotas.clear());
    let mut is_first = true;
    let volume = loop {
        match rig.volumes.create(&desired, is_first).await.answer {
            Ok(VolumeCreation::Ready(volume)) => break known(&volume.handle),
            Ok(VolumeCreation::Pending(it)) => {
                keep(&mut desired, it.memo);
                is_first = false;
            }
            // The quota's refusal says when to come again.
            Err(Error::RetryAfter { after, .. }) => tokio::time::sleep(after).await,
            other => panic!("{other:?}"),
        }
    };
    rig.cloud.behave(|it| it.volumes_have_room = false);
    let grow = async || rig.volumes.expand(&volume, 12 * GIB).await.answer;
    let small = settled(grow, |it| matches!(it, Ok(VolumeExpansion::Pending(_)))).await;
    assert!(
        matches!(&small, Err(Error::Unavailable(why)) if why.contains("extend volume:Could not find")),
        "{small:?}"
    );
    let full = attached(&rig.volumes, &volume, &server(1)).await;
    assert!(matches!(&full, VolumeAttachment::Full(why) if why.contains("disk devices")), "{full:?}");
}

/// Cases: csi 37, csi 52
#[tokio::test]
async fn volumes_of_others_stay_and_stuck_ones_are_told() {
    let rig = ClaimRig::new().await;
    let volume = known(&made(&rig.volumes, desired()).await.handle);
    let change = |key: &str, value: Value| {
        rig.cloud.with(|world: &mut World| world.get_mut(Kind::Volume, &volume.handle).unwrap()[key] = value);
    };
    change("status", json!("error_extending"));
    let stuck = rig.volumes.attach(&volume, &server(1), &AttachMode::default()).await.answer;
    assert!(matches!(&stuck, Err(Error::Unavailable(why)) if why.contains("error_extending")), "{stuck:?}");
    change("status", json!("available"));
    change("metadata", json!({ "aerostat.dev/cluster-uid": "another", "aerostat.dev/claim-uid": CLAIM }));
    let denied = rig.volumes.delete(&volume).await.answer;
    assert!(matches!(denied, Err(Error::Denied(_))), "{denied:?}");
    assert_eq!(rig.writes().len(), 1);
    // A server that is gone, and of which Cinder does not know yet.
    change("metadata", json!({}));
    assert!(matches!(attached(&rig.volumes, &volume, &server(1)).await, VolumeAttachment::Ready(_)));
    rig.cloud.with(|world| world.remove_server(&server(1)));
    let gone = rig.volumes.detach(&volume, &server(1)).await.answer;
    assert!(matches!(&gone, Err(Error::Unavailable(why)) if why.contains("Nova knows nothing")), "{gone:?}");
    change("_server", Value::Null);
    change("status", json!("available"));
    assert_eq!(detached(&rig.volumes, &volume, &server(1)).await, VolumeDetachment::Done);
}
