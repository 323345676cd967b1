//! Sources of volumes from before CSI, which stand in specs as fields of their own. No client, no clock, no log.

use k8s_openapi::api::core::v1::PersistentVolumeSpec;
use serde_json::{Map, Value, to_value};

/// The older sources, and their field with what names the volume in its cloud.
pub(crate) const HANDLES: [(&str, &str); 7] = [
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

/// A volume of such a source.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct InTreeSource {
    /// The field of the spec.
    pub(crate) source: String,
    /// The name of the volume in its cloud; empty where it has none yet.
    pub(crate) handle: String,
    /// The other fields that are text, numbers or switches.
    pub(crate) fields: Vec<(String, String)>,
}

/// The volume of a spec, if it is of one of these sources.
pub(crate) fn of(spec: &PersistentVolumeSpec, is_known: impl Fn(&str) -> bool) -> Option<InTreeSource> {
    let known = HANDLES.iter().filter(|(source, _)| is_known(source));
    let (source, field, mut fields) = known.into_iter().find_map(|(source, field)| match fields(spec, source) {
        Some(Value::Object(fields)) => Some((*source, *field, fields)),
        _ => None,
    })?;
    let handle =
        fields.remove(field).as_ref().and_then(Value::as_str).filter(|it| *it != PLACEHOLDER).map(str::to_owned);
    Some(InTreeSource { source: source.to_owned(), handle: handle.unwrap_or_default(), fields: texts(fields) })
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
