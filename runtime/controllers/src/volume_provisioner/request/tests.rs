mod refused;

use std::collections::BTreeMap;

use cloud_provider::{ClassParameter, CloudVolume};
use serde_json::{Value, from_value, json, to_value};

use super::*;

const GIB: u64 = 1 << 30;
const DRIVER: &str = "csi.example.com";
const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";

fn described() -> VolumeDescription {
    VolumeDescription {
        driver: DRIVER.to_owned(),
        topology_keys: vec!["zone".to_owned()],
        parameters: vec![ClassParameter { key: "type".to_owned(), ..ClassParameter::default() }],
        annotations: vec![ClassParameter { key: "example.com/apart".to_owned(), ..ClassParameter::default() }],
        access_modes: vec![AccessMode::OneNode],
        block: true,
        filesystem: "ext4".to_owned(),
        smallest_bytes: GIB,
        step_bytes: GIB,
        largest_bytes: 100 * GIB,
        ..VolumeDescription::default()
    }
}

fn merged(mut target: Value, change: &Value) -> Value {
    match (&mut target, change) {
        (Value::Object(target), Value::Object(change)) => {
            for (key, value) in change {
                let before = target.remove(key).unwrap_or_default();
                target.insert(key.clone(), merged(before, value));
            }
        }
        (target, change) => *target = change.clone(),
    }
    target
}

fn claim(change: Value) -> PersistentVolumeClaim {
    let claim = json!({
        "metadata": {
            "name": "data", "namespace": "shop", "uid": UID, "resourceVersion": "7",
            "annotations": { "volume.kubernetes.io/storage-provisioner": DRIVER, "example.com/apart": "a", "other": "b" },
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeMode": "Filesystem",
            "resources": { "requests": { "storage": "1.5Gi" } },
        },
    });
    from_value(merged(claim, &change)).unwrap()
}

fn storage_class(change: Value) -> StorageClass {
    let class = json!({
        "metadata": { "name": "fast" }, "provisioner": DRIVER, "parameters": { "type": "ssd" }, "mountOptions": ["noatime"],
        "reclaimPolicy": "Retain",
    });
    from_value(merged(class, &change)).unwrap()
}

fn asked(claim: &PersistentVolumeClaim, class: &StorageClass) -> Result<Intent, ClaimRefusal> {
    let keys = vec!["zone".to_owned()];
    let labels =
        [BTreeMap::from([("zone".to_owned(), "a".to_owned())]), BTreeMap::from([("zone".to_owned(), "b".to_owned())])];
    let nodes = NodePlaces {
        keys: BTreeMap::from([("n1", keys.clone()), ("n2", keys)]),
        labels: BTreeMap::from([("n1", &labels[0]), ("n2", &labels[1])]),
        ..NodePlaces::default()
    };
    intent(claim, class, &nodes, &described(), "prod")
}

#[track_caller]
fn check_refused(claim: &PersistentVolumeClaim, class: &StorageClass, part: &str) {
    match asked(claim, class) {
        Err(ClaimRefusal::Refused(why)) => assert!(why.contains(part), "{why}"),
        other => panic!("{other:?}"),
    }
}

/// Cases: csi 2, csi 3
#[test]
fn a_claim_is_ours_by_its_provisioner() {
    let none = Value::Null;
    let annotated = |current: Value, beta: Value| {
        let annotations = json!({ PROVISIONERS[0]: current, PROVISIONERS[1]: beta });
        let mut claim = claim(json!({ "metadata": { "annotations": {} } }));
        let all = annotations
            .as_object()
            .unwrap()
            .iter()
            .filter_map(|(key, it)| Some((key.clone(), it.as_str()?.to_owned())));
        claim.metadata.annotations = Some(all.collect());
        claim
    };
    assert!(is_ours(&claim(json!({})), DRIVER));
    assert!(is_ours(&annotated(none.clone(), json!(DRIVER)), DRIVER));
    assert!(!is_ours(&annotated(json!("other"), json!(DRIVER)), DRIVER), "the current one counts");
    assert!(!is_ours(&annotated(none.clone(), none), DRIVER));
    let migrated =
        claim(json!({ "metadata": { "annotations": { PROVISIONERS[0]: "kubernetes.io/old", MIGRATED_TO: DRIVER } } }));
    assert!(is_ours(&migrated, DRIVER) && !is_ours(&migrated, "other"));
    assert!(!is_ours(&claim(json!({ "spec": { "volumeName": "pv-1" } })), DRIVER));
    assert!(!is_ours(&claim(json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } })), DRIVER));
    let beta = claim(json!({ "metadata": { "annotations": { BETA_CLASS: "old" } } }));
    assert_eq!((class(&beta), class(&claim(json!({})))), (Some("old"), Some("fast")));
}

/// Cases: csi 16
#[test]
fn a_claim_becomes_a_volume_with_all_that_it_says() {
    let selected = claim(json!({ "metadata": { "annotations": { SELECTED_NODE: "n2" } } }));
    let intent = asked(&selected, &storage_class(json!({ "parameters": { "FSType": "xfs" } }))).unwrap();
    let desired = &intent.desired;
    assert_eq!((desired.name.as_str(), desired.bytes), (format!("pvc-{UID}").as_str(), 2 * GIB));
    assert_eq!((desired.filesystem.as_deref(), intent.selected_node.as_deref()), (Some("xfs"), Some("n2")));
    assert_eq!(desired.parameters, [("type".to_owned(), "ssd".to_owned())]);
    assert_eq!(desired.annotations, [("example.com/apart".to_owned(), "a".to_owned())]);
    let place = |it: &str| vec![("zone".to_owned(), it.to_owned())];
    assert_eq!(desired.places, [place("b"), place("a")]);
    let made = CloudVolume {
        handle: "vol-1".to_owned(),
        bytes: 3 * GIB,
        places: vec![place("b")],
        attributes: vec![("format".to_owned(), "x".to_owned())],
        ..CloudVolume::default()
    };
    let expected = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {
            "name": format!("pvc-{UID}"), "finalizers": [FINALIZER],
            "annotations": { PROVISIONED_BY: DRIVER, DELETION_SECRET[0]: "", DELETION_SECRET[1]: "" },
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "capacity": { "storage": "3Gi" }, "mountOptions": ["noatime"],
            "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "fast", "volumeMode": "Filesystem",
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": "data", "namespace": "shop", "uid": UID,
                "resourceVersion": "7",
            },
            "csi": {
                "driver": DRIVER, "volumeHandle": "vol-1", "fsType": "xfs",
                "volumeAttributes": { "format": "x", "storage.kubernetes.io/csiProvisionerIdentity": "me" },
            },
            "nodeAffinity": { "required": { "nodeSelectorTerms": [
                { "matchExpressions": [{ "key": "zone", "operator": "In", "values": ["b"] }] },
            ] } },
        },
    });
    assert_eq!(to_value(intent.persistent_volume(&made, "me")).unwrap(), expected);
}

/// Cases: csi 11
#[test]
fn a_block_device_has_no_filesystem() {
    let intent = asked(&claim(json!({ "spec": { "volumeMode": "Block" } })), &storage_class(json!({}))).unwrap();
    let pv = to_value(intent.persistent_volume(&CloudVolume::default(), "me")).unwrap();
    assert_eq!((intent.desired.filesystem, &pv["spec"]["volumeMode"]), (None, &json!("Block")));
    assert_eq!((&pv["spec"]["csi"]["fsType"], &pv["spec"]["nodeAffinity"]), (&Value::Null, &Value::Null));
}

/// Cases: csi 24, adv 177
#[test]
fn an_intent_survives_in_its_config_map() {
    let mut intent = asked(&claim(json!({})), &storage_class(json!({}))).unwrap();
    (intent.desired.memo, intent.is_returned, intent.is_refused) = (Some("made vol-1 since 7".to_owned()), true, true);
    intent.made = Some("vol-1".to_owned());
    let kept = intent.config_map().unwrap();
    let read = Intent::kept(&kept, DRIVER).unwrap();
    assert!(read.is_called && read.is_kept && read.is_inherited, "another process may have called");
    assert!(read.is_from_before && !intent.is_from_before);
    assert!(read.is_returned && read.is_refused && read.is_retained());
    assert_eq!(read.made.as_deref(), Some("vol-1"));
    assert_eq!((&read.desired, &read.skeleton), (&intent.desired, &intent.skeleton));
    assert_eq!(Intent::kept(&kept, "another"), None);
    let mut renamed = kept.clone();
    renamed.metadata.name = Some("aerostat-volume-other".to_owned());
    assert_eq!(Intent::kept(&renamed, DRIVER), None, "it is no other claim's");
    let mut broken = kept;
    broken.data.as_mut().unwrap().insert("intent".to_owned(), "{".to_owned());
    assert_eq!(Intent::kept(&broken, DRIVER), None);
}

/// Cases: csi 4
#[test]
fn a_class_that_waits_for_a_pod_waits_for_a_node() {
    let class = storage_class(json!({ "volumeBindingMode": "WaitForFirstConsumer" }));
    assert_eq!(asked(&claim(json!({})), &class), Err(ClaimRefusal::NotOurs));
    let selected = claim(json!({ "metadata": { "annotations": { SELECTED_NODE: "n1" } } }));
    assert_eq!(asked(&selected, &class).unwrap().selected_node.as_deref(), Some("n1"));
}

/// Cases: csi 10
#[test]
fn an_access_mode_of_one_node_is_the_drivers() {
    for fits in ["ReadWriteOnce", "ReadWriteOncePod"] {
        let claim = claim(json!({ "spec": { "accessModes": [fits] } }));
        let desired = asked(&claim, &storage_class(json!({}))).unwrap().desired;
        assert_eq!(desired.access_modes, [AccessMode::OneNode], "{fits}");
    }
}

#[test]
fn claims_that_others_serve_or_send_on_are_no_errors() {
    let class = storage_class(json!({}));
    let populated = json!({ "dataSourceRef": { "kind": "Backup", "name": "b", "apiGroup": "example.com" } });
    assert_eq!(asked(&claim(json!({ "spec": populated })), &class), Err(ClaimRefusal::Populated));
    assert_eq!(asked(&claim(json!({})), &storage_class(json!({ "provisioner": "other" }))), Err(ClaimRefusal::NotOurs));
    let gone = claim(json!({ "metadata": { "annotations": { SELECTED_NODE: "n9" } } }));
    assert!(matches!(asked(&gone, &class), Err(ClaimRefusal::Reschedule(_))));
}

/// Cases: csi 9
#[test]
fn a_class_of_an_in_tree_plugin_is_the_drivers() {
    let in_tree = cloud_provider::InTreeVolumes {
        source: "awsElasticBlockStore".to_owned(),
        plugin: "kubernetes.io/old".to_owned(),
        handle: "{name}".to_owned(),
    };
    let described = VolumeDescription { in_tree: Some(in_tree), ..described() };
    let row = json!({ "key": "failure-domain.beta.kubernetes.io/zone", "values": ["b"] });
    let class = storage_class(json!({
        "provisioner": "kubernetes.io/old", "allowedTopologies": [{ "matchLabelExpressions": [row] }],
    }));
    let claim = claim(json!({}));
    let made = intent(&claim, &class, &NodePlaces::default(), &described, "kubernetes").unwrap();
    assert_eq!(made.desired.places, [[("zone".to_owned(), "b".to_owned())]]);
    let csi = made.skeleton.spec.unwrap().csi.unwrap();
    assert_eq!(csi.driver, DRIVER, "new volumes are the driver's own");
    let others = VolumeDescription { in_tree: None, ..described };
    let refused = intent(&claim, &class, &NodePlaces::default(), &others, "kubernetes");
    assert_eq!(refused, Err(ClaimRefusal::NotOurs));
}
