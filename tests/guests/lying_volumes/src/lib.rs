//! A provider of volumes alone, that lies about them. The setting `lie` names the lie; a handle may name another.

use std::time::Duration;

use aerostat_sdk::{
    AttachMode, CloudVolume, Description, DesiredVolume, Error, ExpandedVolume, Growth, KnownVolume, PendingVolume,
    Provider, Result, Setting, VolumeAttachment, VolumeCreation, VolumeDeletion, VolumeDescription, VolumeDetachment,
    VolumeExpansion, VolumePage, Volumes, settings,
};

struct LyingVolumes;

aerostat_sdk::export!(LyingVolumes: Provider, Volumes);

/// Line ends, and what hides text or turns its direction.
const FORGED: &str = "a\n1999-01-01T00:00:00Z INFO forged\u{1b}[2J\u{202e}\u{2028}";
/// The key of the publish context that it describes.
const PUBLISHED: &str = "devicePath";

fn lie() -> Result<String> {
    Ok(settings::find("lie")?.unwrap_or_default())
}

impl Provider for LyingVolumes {
    fn describe() -> Result<Description> {
        Ok(Description::new("lying", "1.0.0").setting(Setting::optional("lie", "Which lie to tell.")))
    }
}

impl Volumes for LyingVolumes {
    fn describe() -> Result<VolumeDescription> {
        let honest = VolumeDescription::new("csi.lying.example").publish_key(PUBLISHED).get_batch_size(10);
        Ok(match &*lie()? {
            "no-batch" => honest.get_batch_size(0),
            "no-driver" => VolumeDescription { driver: FORGED.to_owned(), ..honest },
            "no-list" => honest.list_page_size(0),
            "no-growth" => honest.growth(Growth::Online),
            _ => honest,
        })
    }

    fn create(desired: &DesiredVolume) -> Result<VolumeCreation> {
        let made = CloudVolume::new("vol-1", &desired.name, desired.bytes);
        Ok(match &*lie()? {
            "another" => VolumeCreation::Ready(CloudVolume { name: "pvc-of-another".to_owned(), ..made }),
            "small" => VolumeCreation::Ready(CloudVolume { bytes: desired.bytes - 1, ..made }),
            "second" if !desired.is_first_create() => {
                VolumeCreation::Ready(CloudVolume { handle: "vol-2".to_owned(), ..made })
            }
            "full" => VolumeCreation::NoRoom(FORGED.to_owned()),
            "crash" if desired.owner.name == "crash" => panic!("it crashes over one claim"),
            "pending" => {
                let first = desired.is_first_create();
                VolumeCreation::Pending(PendingVolume::new(Some(format!("first {first}")), Duration::MAX, FORGED))
            }
            _ => VolumeCreation::Ready(made),
        })
    }

    fn abandon(_: &DesiredVolume) -> Result<VolumeDeletion> {
        Ok(VolumeDeletion::Done)
    }

    fn delete(unwanted: &KnownVolume) -> Result<VolumeDeletion> {
        Ok(match &*unwanted.handle {
            "crash" => panic!("it crashes over one volume"),
            "used" => VolumeDeletion::InUse(vec!["m-1".to_owned()]),
            _ => VolumeDeletion::Done,
        })
    }

    fn attach(_: &KnownVolume, node_id: &str, _: &AttachMode) -> Result<VolumeAttachment> {
        let key = if lie()? == "undescribed" { "secret" } else { PUBLISHED };
        Ok(VolumeAttachment::Ready(vec![(key.to_owned(), format!("/dev/{node_id}"))]))
    }

    fn detach(_: &KnownVolume, _: &str) -> Result<VolumeDetachment> {
        Ok(VolumeDetachment::Done)
    }

    fn expand(_: &KnownVolume, bytes: u64) -> Result<VolumeExpansion> {
        let bytes = if lie()? == "small" { bytes - 1 } else { bytes };
        Ok(VolumeExpansion::Ready(ExpandedVolume::on_node(bytes)))
    }

    fn get(handle: &str) -> Result<Option<CloudVolume>> {
        match handle {
            "crash" => panic!("it crashes over one volume"),
            "nowhere" => Ok(None),
            "refused" => Err(Error::denied(FORGED)),
            "another" => Ok(Some(CloudVolume::new("vol-9", "pvc-9", 1 << 30))),
            handle => Ok(Some(CloudVolume::new(handle, "pvc-1", 1 << 30))),
        }
    }

    fn get_each(handles: &[String]) -> Vec<Result<Option<CloudVolume>>> {
        if handles.iter().any(|it| it == "too-few") {
            return Vec::new();
        }
        handles.iter().map(|it| Self::get(it)).collect()
    }

    fn list(_: Option<&str>, limit: u32) -> Result<VolumePage> {
        let honest = CloudVolume::new("vol-1", "pvc-1", 1 << 30);
        Ok(match &*lie()? {
            "too-many" => VolumePage::new((0..=limit).map(|_| honest.clone()).collect(), None),
            "one-unusable" => VolumePage::new(vec![honest, CloudVolume::new(FORGED, "pvc-2", 1)], None),
            _ => VolumePage::new(vec![honest], None),
        })
    }
}
