//! A volume, from what a test says about it to the whole object that the service shows.

use serde_json::{Value, json};

use super::location::Location;
use super::selector::Labels;

/// A block device.
#[derive(Clone, Debug)]
pub struct Volume {
    /// Unique in the whole service.
    pub id: u64,
    /// Unique in the project.
    pub name: String,
    /// For example `fsn1`.
    pub location: String,
    /// The server that it is attached to.
    pub server: Option<u64>,
    /// In GB.
    pub size: u32,
    /// Its labels.
    pub labels: Labels,
}

impl Volume {
    /// A volume of 10 GB in `fsn1` that no server has.
    #[must_use]
    pub fn new(id: u64, name: &str) -> Volume {
        let location = "fsn1".to_owned();
        Volume { id, name: name.to_owned(), location, server: None, size: 10, labels: Labels::new() }
    }

    /// Sets the location, for example `hel1`.
    #[must_use]
    pub fn location(mut self, name: &str) -> Volume {
        name.clone_into(&mut self.location);
        self
    }

    /// The object as the service shows it.
    pub(super) fn object(&self) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "created": "2026-08-20T09:30:12+00:00",
            "format": "ext4",
            "labels": self.labels,
            "linux_device": format!("/dev/disk/by-id/scsi-0HC_Volume_{}", self.id),
            "location": Location::find(&self.location).map_or(json!({ "name": self.location }), Location::object),
            "protection": { "delete": false },
            "server": self.server,
            "size": self.size,
            "status": "available",
        })
    }
}
