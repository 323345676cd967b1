//! Disks and instances by their zone and name. Pure.

use gcp_api::is_name;

/// A disk or an instance of the project.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ZonalPlace {
    pub(crate) kind: ZonalKind,
    /// The name of its zone: "europe-west1-b".
    pub(crate) zone: String,
    /// Its name, unique within the zone and the kind.
    pub(crate) name: String,
}

/// A kind of object in a zone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ZonalKind {
    Disk,
    Instance,
}

impl ZonalKind {
    /// Its word in paths.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Disk => "disks",
            Self::Instance => "instances",
        }
    }
}

impl ZonalPlace {
    /// The disk of this name in a zone.
    pub(crate) fn disk(zone: &str, name: &str) -> Self {
        Self { kind: ZonalKind::Disk, zone: zone.to_owned(), name: name.to_owned() }
    }

    /// Reads `projects/<project>/zones/<zone>/<kind>/<name>`. Names are checked: they become parts of a path. `None` for any other text, another
    /// project included.
    pub(crate) fn parse(kind: ZonalKind, text: &str, project: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        let ["projects", named, "zones", zone, word, name] = parts[..] else { return None };
        let is_one = named == project && word == kind.word() && is_name(zone) && is_name(name);
        is_one.then(|| Self { kind, zone: zone.to_owned(), name: name.to_owned() })
    }

    /// The path under the project.
    pub(crate) fn path(&self) -> [&str; 4] {
        ["zones", &self.zone, self.kind.word(), &self.name]
    }

    /// The reference from `projects/` on: a volume's handle, or a node's id.
    pub(crate) fn reference(&self, project: &str) -> String {
        format!("projects/{project}/{}", self.path().join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases: csi 40, bad-volume
    #[test]
    fn handles_and_node_ids_are_read_in_full_or_not() {
        let handle = "projects/p1/zones/europe-west1-b/disks/pvc-1";
        let disk = ZonalPlace::parse(ZonalKind::Disk, handle, "p1").unwrap();
        assert_eq!((&disk, disk.reference("p1")), (&ZonalPlace::disk("europe-west1-b", "pvc-1"), handle.to_owned()));
        assert_eq!(ZonalPlace::parse(ZonalKind::Instance, handle, "p1"), None);
        for other in [
            "",
            "pvc-1",
            "projects/p2/zones/europe-west1-b/disks/pvc-1",
            "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pvc-1",
            "projects/p1/zones/UNSPECIFIED/disks/pvc-1",
            "projects/p1/regions/europe-west1/disks/pvc-1",
            "projects/p1/zones/europe-west1-b/disks/..",
            "projects/p1/zones/europe-west1-b/disks/pvc-1/resize",
            "/projects/p1/zones/europe-west1-b/disks/pvc-1",
        ] {
            assert_eq!(ZonalPlace::parse(ZonalKind::Disk, other, "p1"), None, "{other}");
        }
    }
}
