//! A volume and the actions on it, as the service shows them.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::region;

/// A block device.
#[derive(Clone, Debug)]
pub struct Volume {
    /// A UUID.
    pub id: String,
    /// Unique in its region.
    pub name: String,
    /// Free text.
    pub description: String,
    /// In GiB.
    pub size_gigabytes: u64,
    /// For example `fra1`.
    pub region: String,
    /// The droplet that it is attached to. One that is gone counts as none.
    pub droplet: Option<u64>,
    /// Names of tags.
    pub tags: Vec<String>,
    /// The time from which on lists may show it.
    pub created_at: SystemTime,
}

impl Volume {
    /// A volume of 10 GiB in `fra1` that no droplet has.
    #[must_use]
    pub fn new(id: &str, name: &str) -> Volume {
        Volume {
            id: id.to_owned(),
            name: name.to_owned(),
            description: String::new(),
            size_gigabytes: 10,
            region: "fra1".to_owned(),
            droplet: None,
            tags: Vec::new(),
            // It has been there for long.
            created_at: SystemTime::UNIX_EPOCH,
        }
    }

    /// The object as the service shows it, with the droplet as it is now.
    pub(super) fn object(&self, droplet: Option<u64>) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "description": self.description,
            "size_gigabytes": self.size_gigabytes,
            "created_at": shown(self.created_at),
            "droplet_ids": Vec::from_iter(droplet),
            "region": region::object(&self.region),
            "filesystem_type": "",
            "filesystem_label": "",
            "tags": self.tags,
        })
    }
}

/// A change of a volume that goes on after the answer to its request.
#[derive(Clone, Debug)]
pub struct VolumeAction {
    /// Unique in the account, and higher than those of earlier ones.
    pub id: u64,
    /// The volume's id.
    pub volume: String,
    /// The region of the volume.
    pub region: String,
    /// The change of the volume.
    pub change: VolumeChange,
    /// Where it stands.
    pub state: ActionState,
    /// When it was begun.
    pub started_at: SystemTime,
    /// How many times its list was read while it ran.
    pub(super) reads: usize,
}

/// A change of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeChange {
    /// To this droplet.
    Attach(u64),
    /// From this droplet.
    Detach(u64),
    /// To this size in GiB.
    Resize(u64),
}

/// Where an action stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionState {
    /// It may still change the volume.
    InProgress,
    /// It has changed it.
    Completed,
    /// It has changed nothing.
    Errored,
}

impl VolumeAction {
    /// Whether it may still change the volume.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.state == ActionState::InProgress
    }

    /// The droplet that is at work on it.
    pub(super) fn droplet(&self) -> Option<u64> {
        match self.change {
            VolumeChange::Attach(droplet) | VolumeChange::Detach(droplet) => Some(droplet),
            VolumeChange::Resize(_) => None,
        }
    }

    /// The object as the service shows it.
    pub(super) fn object(&self) -> Value {
        json!({
            "id": self.id,
            "status": match self.state {
                ActionState::InProgress => "in-progress",
                ActionState::Completed => "completed",
                ActionState::Errored => "errored",
            },
            "type": match self.change {
                VolumeChange::Attach(_) => "attach_volume",
                VolumeChange::Detach(_) => "detach_volume",
                VolumeChange::Resize(_) => "resize_volume",
            },
            "started_at": shown(self.started_at),
            "completed_at": (!self.is_running()).then(|| shown(SystemTime::now())),
            "resource_id": null,
            "resource_type": "backend",
            "region": region::object(&self.region),
            "region_slug": self.region,
        })
    }
}

fn shown(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).expect("tests live in this age");
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
