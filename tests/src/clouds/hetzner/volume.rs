//! A volume, from what a test says about it to the whole object that the service shows.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::action::rfc3339;
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
    /// Whether it cannot be deleted.
    pub protected: bool,
    /// The time from which on lists may show it.
    pub created_at: SystemTime,
}

impl Volume {
    /// A volume of 10 GB in `fsn1` that no server has.
    #[must_use]
    pub fn new(id: u64, name: &str) -> Volume {
        Volume {
            id,
            name: name.to_owned(),
            location: "fsn1".to_owned(),
            server: None,
            size: 10,
            labels: Labels::new(),
            protected: false,
            // It has been there for long.
            created_at: SystemTime::UNIX_EPOCH,
        }
    }

    /// Sets the location, for example `hel1`.
    #[must_use]
    pub fn location(mut self, name: &str) -> Volume {
        name.clone_into(&mut self.location);
        self
    }

    /// The object as the service shows it, in this status.
    pub(super) fn object(&self, status: &str) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "created": rfc3339(self.created_at),
            "format": null,
            "labels": self.labels,
            "linux_device": format!("/dev/disk/by-id/scsi-0HC_Volume_{}", self.id),
            "location": Location::find(&self.location).map_or(json!({ "name": self.location }), Location::object),
            "protection": { "delete": self.protected },
            "server": self.server,
            "size": self.size,
            "status": status,
        })
    }
}
