//! A PersistentVolume's volume, as a provider is told of it. No client, no clock, no log.

use cloud_provider::KnownVolume;
use k8s_openapi::api::core::v1::{CSIPersistentVolumeSource, PersistentVolume};
use kube::ResourceExt as _;

/// The source of a PersistentVolume, if it is one of this driver.
pub(crate) fn source<'a>(pv: &'a PersistentVolume, driver: &str) -> Option<&'a CSIPersistentVolumeSource> {
    pv.spec.as_ref()?.csi.as_ref().filter(|it| it.driver == driver)
}

/// Whether it is a raw block device.
pub(crate) fn is_block(pv: &PersistentVolume) -> bool {
    pv.spec.as_ref().and_then(|it| it.volume_mode.as_deref()) == Some("Block")
}

/// The volume of a PersistentVolume with this source, and the memo in this annotation.
pub(crate) fn of(pv: &PersistentVolume, source: &CSIPersistentVolumeSource, memo: &str) -> KnownVolume {
    KnownVolume {
        handle: source.volume_handle.clone(),
        name: pv.name_any(),
        attributes: source.volume_attributes.clone().unwrap_or_default().into_iter().collect(),
        memo: pv.annotations().get(memo).cloned(),
        is_block: is_block(pv),
    }
}
