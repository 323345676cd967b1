//! Which volume of a cloud stands behind a PersistentVolume. No client, no clock, no log.

use cloud_provider::{TopologyDescription, Volume};
use k8s_openapi::api::core::v1::PersistentVolume;

use crate::in_tree_source;

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
    if handle.is_empty() {
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
    let found = in_tree_source::of(pv.spec.as_ref()?, |source| limits.sources.iter().any(|it| it == source))?;
    Some((found.source, found.handle, found.fields))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::in_tree_source::HANDLES;

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
