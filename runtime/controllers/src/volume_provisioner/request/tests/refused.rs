//! Claims and classes that are refused before anybody is asked, one test for each, and those that name a disk of another.

use super::*;

macro_rules! refused {
    ($($test:ident: $why:literal = $claim:tt, $class:tt;)+) => {
        $(
            #[test]
            fn $test() {
                check_refused(&claim(json!($claim)), &storage_class(json!($class)), $why);
            }
        )+
    };
}

// Cases: bad-claim
refused! {
    // Cases: bad-claim, csi 10
    bad_input_access_mode_of_one_pod_beside_another: "ReadWriteOncePod goes with no other"
        = { "spec": { "accessModes": ["ReadWriteOncePod", "ReadWriteOnce"] } }, {};
    // Cases: bad-claim, csi 10
    bad_input_access_modes_that_contradict: "ReadWriteOnce and ReadOnlyMany do not go together"
        = { "spec": { "accessModes": ["ReadWriteOnce", "ReadOnlyMany"] } }, {};
    // Cases: bad-claim, csi 10
    bad_input_access_mode_of_many_writers: "has no volumes with the access modes ReadWriteMany"
        = { "spec": { "accessModes": ["ReadWriteMany"] } }, {};
    // Cases: bad-claim, csi 10
    bad_input_access_mode_of_many_readers: "has no volumes with the access modes ReadOnlyMany"
        = { "spec": { "accessModes": ["ReadOnlyMany"] } }, {};
    // Cases: bad-claim, csi 17
    bad_input_size_over_the_largest: "101Gi is more than the largest volume of driver csi.example.com: 100Gi"
        = { "spec": { "resources": { "requests": { "storage": "101Gi" } } } }, {};
    // Cases: bad-claim, csi 17
    bad_input_size_of_nothing: "\"0\" is no size of a volume"
        = { "spec": { "resources": { "requests": { "storage": "0" } } } }, {};
    // Cases: bad-claim, csi 17
    bad_input_size_that_nobody_says: "\"\" is no size of a volume"
        = { "spec": { "resources": { "requests": null } } }, {};
    // Cases: bad-claim, csi 13
    bad_input_parameter_that_is_unknown: "driver csi.example.com knows no parameter iops; it knows fstype, type"
        = {}, { "parameters": { "iops": "7" } };
    // Cases: bad-claim, csi 13
    bad_input_parameter_of_the_host_that_is_unknown: "the parameter csi.storage.k8s.io/other is none that is known"
        = {}, { "parameters": { "csi.storage.k8s.io/other": "7" } };
    // Cases: bad-claim, csi 12
    bad_input_filesystem_that_is_named_twice: "StorageClass fast names the filesystem twice"
        = {}, { "parameters": { "csi.storage.k8s.io/fstype": "xfs", "fsType": "ext4" } };
    // Cases: bad-claim, csi 33
    bad_input_source_that_is_a_snapshot: "leave dataSource out"
        = { "spec": { "dataSource": { "kind": "VolumeSnapshot", "name": "s", "apiGroup": "snapshot.storage.k8s.io" } } }, {};
    // Cases: bad-claim, csi 33
    bad_input_source_that_is_another_claim: "leave dataSource out"
        = { "spec": { "dataSourceRef": { "kind": "PersistentVolumeClaim", "name": "other" } } }, {};
    bad_input_selector_of_a_claim: "claim Selector is not supported"
        = { "spec": { "selector": { "matchLabels": {} } } }, {};
    bad_input_attributes_class_of_a_claim: "volumeAttributesClassName is not supported by this driver: leave it out"
        = { "spec": { "volumeAttributesClassName": "gold" } }, {};
    bad_input_topology_that_is_unknown: "knows no topology key rack; it knows zone"
        = {}, { "allowedTopologies": [{ "matchLabelExpressions": [{ "key": "rack", "values": ["1"] }] }] };
    // Cases: bad-claim, csi 14
    bad_input_secret_of_which_half_is_named: "half of the secret"
        = {}, { "parameters": { "csi.storage.k8s.io/node-stage-secret-name": "key" } };
    // Cases: bad-claim, csi 15, adv 181
    bad_input_secret_for_the_controller: "no secret of the cluster enters a provider"
        = {}, { "parameters": { "csi.storage.k8s.io/provisioner-secret-name": "a", "csi.storage.k8s.io/provisioner-secret-namespace": "b" } };
}

/// Cases: bad-claim
#[test]
fn bad_input_block_device_of_a_driver_without_any() {
    let described = VolumeDescription { block: false, ..described() };
    let claim = claim(json!({ "spec": { "volumeMode": "Block" } }));
    let refused = intent(&claim, &storage_class(json!({})), &NodePlaces::default(), &described, "prod");
    assert!(matches!(&refused, Err(ClaimRefusal::Refused(why)) if why.contains("raw block devices")), "{refused:?}");
}

/// An author of classes names a disk that is there already, another tenant's.
///
/// Cases: adv 176
#[test]
fn a_class_that_names_a_disk_is_refused() {
    for key in [
        "volumeHandle",
        "volumeID",
        "volumeName",
        "id",
        "handle",
        "memo",
        "made",
        "snapshotID",
        "host.first-create",
        "aerostat.dev/volume-handle",
    ] {
        let class = storage_class(json!({ "parameters": { key: "vol-2" } }));
        check_refused(&claim(json!({})), &class, &format!("driver {DRIVER} knows no parameter {key}"));
        let class = storage_class(json!({ "parameters": { format!("csi.storage.k8s.io/{key}"): "vol-2" } }));
        check_refused(&claim(json!({})), &class, "none that is known");
    }
}

/// An author of claims writes annotations, and may name a disk or a memo in them.
///
/// Cases: adv 176
#[test]
fn an_annotation_that_names_a_disk_reaches_no_provider() {
    let class = storage_class(json!({}));
    let plain = asked(&claim(json!({})), &class).unwrap();
    for key in [
        "aerostat.dev/volume-handle",
        "aerostat.dev/volume-intent",
        "aerostat.dev/volume-memo",
        "aerostat.dev/volume-attach-memo",
        "aerostat.dev/volume-deletion-memo",
        "csi.storage.k8s.io/pv/name",
        "host.new-memo",
        "memo",
        "volumeHandle",
        PROVISIONED_BY,
    ] {
        for value in ["vol-2", "made vol-2 since 1 number 3", "true"] {
            let named = asked(&claim(json!({ "metadata": { "annotations": { key: value } } })), &class).unwrap();
            assert_eq!((&named.desired, &named.skeleton), (&plain.desired, &plain.skeleton), "{key}: {value}");
            assert_eq!((&named.made, &named.desired.memo), (&None, &None), "{key}: {value}");
            let source = named.skeleton.spec.unwrap().csi.unwrap();
            assert_eq!((source.volume_handle.as_str(), source.volume_attributes), ("", None), "{key}: {value}");
        }
    }
}
