//! Which volume of a cloud stands behind a PersistentVolume. No client, no clock, no log.

use cloud_provider::{TopologyDescription, Volume};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeSpec};
use serde_json::{Map, Value, to_value};

/// The older sources, and their field with what names the volume in its cloud.
const HANDLES: [(&str, &str); 7] = [
    ("awsElasticBlockStore", "volumeID"),
    ("azureDisk", "diskURI"),
    ("cinder", "volumeID"),
    ("gcePersistentDisk", "pdName"),
    ("photonPersistentDisk", "pdID"),
    ("portworxVolume", "volumeID"),
    ("vsphereVolume", "volumePath"),
];

/// The handle of a volume that its provisioner has still to make, as upstream's admission plugin knew it.
const PLACEHOLDER: &str = "placeholder-for-provisioning";

/// The longest handle that a provider is given, in bytes. The longest known are URIs of Azure's disks, of 300.
const HANDLE: usize = 2 << 10;
/// The most attributes that a provider is given, in bytes with their names.
const ATTRIBUTES: usize = 16 << 10;

/// The volume behind a PersistentVolume; `None` if it is nothing of this cloud's, or is not there yet.
///
/// # Errors
///
/// The part of the volume that is too large for a question.
pub(super) fn volume(pv: &PersistentVolume, limits: &TopologyDescription) -> Result<Option<Volume>, String> {
    let Some((source, handle, attributes)) = of_driver(pv, limits).or_else(|| of_source(pv, limits)) else {
        return Ok(None);
    };
    if handle.is_empty() || handle == PLACEHOLDER {
        return Ok(None);
    }
    if handle.len() > HANDLE {
        return Err(format!("the handle of its volume has {} bytes, and a provider is given {HANDLE}", handle.len()));
    }
    let bytes: usize = attributes.iter().map(|(key, value)| key.len() + value.len()).sum();
    if bytes > ATTRIBUTES {
        return Err(format!("the attributes of its volume have {bytes} bytes, and a provider is given {ATTRIBUTES}"));
    }
    let name = pv.metadata.name.clone().unwrap_or_default();
    Ok(Some(Volume { name, source, handle, attributes }))
}

/// Source, handle and attributes.
type FoundSource = (String, String, Vec<(String, String)>);

fn of_driver(pv: &PersistentVolume, limits: &TopologyDescription) -> Option<FoundSource> {
    let csi = pv.spec.as_ref()?.csi.as_ref().filter(|it| limits.drivers.contains(&it.driver))?;
    let attributes = csi.volume_attributes.clone().unwrap_or_default().into_iter().collect();
    Some((csi.driver.clone(), csi.volume_handle.clone(), attributes))
}

fn of_source(pv: &PersistentVolume, limits: &TopologyDescription) -> Option<FoundSource> {
    let spec = pv.spec.as_ref()?;
    let known = HANDLES.iter().filter(|(source, _)| limits.sources.iter().any(|it| it == source));
    let (source, field, mut fields) = known.into_iter().find_map(|(source, field)| match fields(spec, source) {
        Some(Value::Object(fields)) => Some((*source, *field, fields)),
        _ => None,
    })?;
    let handle = fields.remove(field).as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
    Some((source.to_owned(), handle, texts(fields)))
}

/// The fields of a source. The rest of a spec may be large, and is not looked at.
fn fields(spec: &PersistentVolumeSpec, source: &str) -> Option<Value> {
    let fields = match source {
        "awsElasticBlockStore" => to_value(&spec.aws_elastic_block_store),
        "azureDisk" => to_value(&spec.azure_disk),
        "cinder" => to_value(&spec.cinder),
        "gcePersistentDisk" => to_value(&spec.gce_persistent_disk),
        "photonPersistentDisk" => to_value(&spec.photon_persistent_disk),
        "portworxVolume" => to_value(&spec.portworx_volume),
        "vsphereVolume" => to_value(&spec.vsphere_volume),
        _ => return None,
    };
    // Nothing that a spec holds is without a form in JSON.
    fields.ok()
}

/// Those of the fields that are text, numbers or switches.
fn texts(fields: Map<String, Value>) -> Vec<(String, String)> {
    let text = |(key, value)| match value {
        Value::String(it) => Some((key, it)),
        it @ (Value::Bool(_) | Value::Number(_)) => Some((key, it.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    fields.into_iter().filter_map(text).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn limits() -> TopologyDescription {
        TopologyDescription {
            batch_size: 1,
            sources: ["awsElasticBlockStore", "azureDisk"].map(str::to_owned).into(),
            drivers: vec!["disk.example.com".to_owned()],
        }
    }

    /// Source, handle and attributes.
    type Expected<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

    fn check(spec: Value, expected: Option<Expected<'_>>) {
        let pv = json!({ "metadata": { "name": "pv-1" }, "spec": spec });
        let found = volume(&serde_json::from_value(pv).unwrap(), &limits()).unwrap();
        let expected = expected.map(|(source, handle, attributes)| Volume {
            name: "pv-1".to_owned(),
            source: source.to_owned(),
            handle: handle.to_owned(),
            attributes: attributes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        });
        assert_eq!(found, expected, "{spec}");
    }

    #[test]
    fn described_sources_and_drivers_are_this_clouds() {
        check(
            json!({ "awsElasticBlockStore": { "volumeID": "aws://z/vol-1", "fsType": "ext4", "partition": 2 } }),
            Some(("awsElasticBlockStore", "aws://z/vol-1", &[("fsType", "ext4"), ("partition", "2")])),
        );
        check(
            json!({ "azureDisk": { "diskName": "d", "diskURI": "/subscriptions/s/disks/d", "readOnly": true } }),
            Some(("azureDisk", "/subscriptions/s/disks/d", &[("diskName", "d"), ("readOnly", "true")])),
        );
        check(
            json!({ "csi": { "driver": "disk.example.com", "volumeHandle": "7", "volumeAttributes": { "a": "b" } } }),
            Some(("disk.example.com", "7", &[("a", "b")])),
        );
    }

    #[test]
    fn each_older_source_has_its_field() {
        for (source, field) in HANDLES {
            let limits = TopologyDescription { sources: vec![source.to_owned()], ..limits() };
            let pv = json!({ "metadata": {}, "spec": { source: { field: "vol-1" } } });
            let found = volume(&serde_json::from_value(pv).unwrap(), &limits).unwrap().unwrap();
            assert_eq!((found.source.as_str(), found.handle.as_str()), (source, "vol-1"));
        }
    }

    #[test]
    fn everything_else_is_nothing_of_this_clouds() {
        check(json!({ "csi": { "driver": "other.example.com", "volumeHandle": "7" } }), None);
        check(json!({ "gcePersistentDisk": { "pdName": "d" } }), None);
        check(json!({ "hostPath": { "path": "/" } }), None);
        check(json!({ "awsElasticBlockStore": { "volumeID": "placeholder-for-provisioning" } }), None);
        check(json!({ "awsElasticBlockStore": { "volumeID": "" } }), None);
        check(json!({}), None);
    }

    #[test]
    fn a_volume_that_is_too_large_is_not_asked_about() {
        let csi = |handle: &str, attribute: &str| {
            let csi =
                json!({ "driver": "disk.example.com", "volumeHandle": handle, "volumeAttributes": { "a": attribute } });
            volume(&serde_json::from_value(json!({ "metadata": {}, "spec": { "csi": csi } })).unwrap(), &limits())
        };
        assert!(csi(&"x".repeat(HANDLE), "").is_ok());
        assert!(csi(&"x".repeat(HANDLE + 1), "").unwrap_err().contains("2049 bytes"));
        assert!(csi("7", &"x".repeat(ATTRIBUTES)).unwrap_err().contains("16385 bytes"));
    }
}
