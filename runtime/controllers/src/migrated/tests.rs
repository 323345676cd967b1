use serde_json::{Value, from_value, json};

use super::*;

const DRIVER: &str = "csi.example.com";
const PLACE: &str = "topology.csi.example.com/zone";

fn described(source: &str, handle: &str) -> VolumeDescription {
    VolumeDescription {
        driver: DRIVER.to_owned(),
        topology_keys: vec![PLACE.to_owned()],
        in_tree: Some(InTreeVolumes {
            source: source.to_owned(),
            plugin: "kubernetes.io/example".to_owned(),
            handle: handle.to_owned(),
        }),
        ..VolumeDescription::default()
    }
}

fn pv(labels: Value, spec: Value) -> PersistentVolume {
    from_value(json!({ "metadata": { "name": "pv-1", "labels": labels }, "spec": spec })).unwrap()
}

/// The driver's part of a spec with this source, as JSON.
fn csi(described: &VolumeDescription, labels: Value, spec: Value) -> Value {
    json!(volume(pv(labels, spec), described).spec.unwrap().csi)
}

/// Cases: csi 67
#[test]
fn volumes_of_older_sources_have_the_drivers_handle() {
    let ebs = described("awsElasticBlockStore", "{name}");
    for called in ["vol-1", "aws://eu-central-1a/vol-1", "aws:///vol-1"] {
        let read = csi(&ebs, json!({}), json!({ "awsElasticBlockStore": { "volumeID": called } }));
        assert_eq!(read, json!({ "driver": DRIVER, "volumeHandle": "vol-1" }), "{called}");
    }
    let with_all = json!({ "volumeID": "vol-1", "fsType": "xfs", "readOnly": true, "partition": 2 });
    let read = csi(&ebs, json!({}), json!({ "awsElasticBlockStore": with_all }));
    let attributes = json!({ "partition": "2" });
    let expected = json!({
        "driver": DRIVER, "volumeHandle": "vol-1", "fsType": "xfs", "readOnly": true, "volumeAttributes": attributes,
    });
    assert_eq!(read, expected);
    let cinder = described("cinder", "{volume}");
    let read = csi(&cinder, json!({}), json!({ "cinder": { "volumeID": "a/b" } }));
    assert_eq!(read["volumeHandle"], "a/b");
}

/// Cases: csi 67
#[test]
fn the_zone_of_an_older_volume_is_in_its_handle() {
    let pd = described("gcePersistentDisk", "projects/UNSPECIFIED/zones/{zone}/disks/{name}");
    let read = |labels: Value| {
        csi(&pd, labels, json!({ "gcePersistentDisk": { "pdName": "{zone}" } }))["volumeHandle"].clone()
    };
    for key in ZONES {
        assert_eq!(read(json!({ key: "z-1" })), "projects/UNSPECIFIED/zones/z-1/disks/{zone}");
    }
    assert_eq!(read(json!({})), "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/{zone}");
    assert_eq!(read(json!({ ZONES[0]: "z-1__z-2" })), Value::Null, "in two zones");
}

#[test]
fn volumes_of_others_stay_as_they_are() {
    let ebs = described("awsElasticBlockStore", "{name}");
    let own = json!({ "driver": DRIVER, "volumeHandle": "vol-2" });
    for (described, spec, expected) in [
        (&ebs, json!({ "cinder": { "volumeID": "vol-1" } }), Value::Null),
        (&ebs, json!({ "hostPath": { "path": "/" } }), Value::Null),
        (&ebs, json!({ "awsElasticBlockStore": { "volumeID": "" } }), Value::Null),
        (&ebs, json!({ "awsElasticBlockStore": { "volumeID": "aws://z/" } }), Value::Null),
        (&ebs, json!({ "awsElasticBlockStore": { "volumeID": "placeholder-for-provisioning" } }), Value::Null),
        (&ebs, json!({ "awsElasticBlockStore": { "volumeID": "vol-1" }, "csi": own }), own.clone()),
        (&VolumeDescription::default(), json!({ "awsElasticBlockStore": { "volumeID": "vol-1" } }), Value::Null),
    ] {
        assert_eq!(csi(described, json!({}), spec.clone()), expected, "{spec}");
    }
}

#[test]
fn volumes_of_pods_are_those_of_a_plugin_alone() {
    let spec: PersistentVolumeSpec =
        from_value(json!({ "awsElasticBlockStore": { "volumeID": "aws://z/vol-1" } })).unwrap();
    let found = inline(&spec, &described("awsElasticBlockStore", "{name}")).unwrap();
    assert_eq!(found.spec.unwrap().csi.unwrap().volume_handle, "vol-1");
    let translated: PersistentVolumeSpec =
        from_value(json!({ "csi": { "driver": DRIVER, "volumeHandle": "vol-2" } })).unwrap();
    let found = inline(&translated, &described("awsElasticBlockStore", "{name}")).unwrap();
    assert_eq!(found.spec.unwrap().csi.unwrap().volume_handle, "vol-2");
    assert_eq!(inline(&translated, &VolumeDescription::default()), None);
}

fn class_of(change: Value) -> StorageClass {
    let mut class = json!({ "metadata": { "name": "old" }, "provisioner": "kubernetes.io/example" });
    class.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    from_value(class).unwrap()
}

/// Cases: csi 9
#[test]
fn zones_of_an_older_class_are_places_of_the_driver() {
    let ebs = described("awsElasticBlockStore", "{name}");
    let term = |key: &str| json!([{ "matchLabelExpressions": [{ "key": key, "values": ["a", "b"] }] }]);
    for change in [
        json!({ "allowedTopologies": term("failure-domain.beta.kubernetes.io/zone") }),
        json!({ "allowedTopologies": term("topology.kubernetes.io/zone") }),
        json!({ "allowedTopologies": term(PLACE) }),
        json!({ "parameters": { "zones": "a, b" } }),
    ] {
        let read = class(class_of(change.clone()), &ebs).unwrap();
        assert_eq!(json!(read.allowed_topologies), term(PLACE), "{change}");
        assert_eq!(read.parameters.unwrap_or_default(), BTreeMap::new());
    }
    let one = class(class_of(json!({ "parameters": { "zone": "a", "type": "ssd" } })), &ebs).unwrap();
    assert_eq!(json!(one.parameters), json!({ "type": "ssd" }));
    assert_eq!(json!(one.allowed_topologies)[0]["matchLabelExpressions"][0]["values"], json!(["a"]));
    let own = json!({ "provisioner": DRIVER, "parameters": { "zone": "a" } });
    assert_eq!(class(class_of(own.clone()), &ebs).unwrap(), class_of(own), "the driver's own words");
    assert!(is_of_driver(&class_of(json!({})), &ebs));
    assert!(!is_of_driver(&class_of(json!({})), &VolumeDescription::default()));
}

/// Cases: csi 9
#[test]
fn a_class_that_names_zones_twice_or_none_is_refused() {
    let ebs = described("awsElasticBlockStore", "{name}");
    let term = json!([{ "matchLabelExpressions": [{ "key": PLACE, "values": ["a"] }] }]);
    for (change, part) in [
        (json!({ "parameters": { "zone": "a", "zones": "b" } }), "both zone and zones"),
        (json!({ "parameters": { "zone": "a" }, "allowedTopologies": term }), "and in allowedTopologies"),
        (json!({ "parameters": { "zones": " , " } }), "names no zone"),
    ] {
        let why = class(class_of(change.clone()), &ebs).unwrap_err();
        assert!(why.contains(part), "{change}: {why}");
    }
}
