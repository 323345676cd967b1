//! Changes of volumes that take time.

use serde_json::{Value, json};

use super::ending::VolumeChange;
use super::kind::Kind;
use super::world::World;

impl World {
    /// Begins a change of a volume, which has this status meanwhile.
    pub(super) fn begin_volume(&mut self, id: &str, status: &str, fields: Value) {
        let end = self.behaviour.volume_changes.begun(self.time());
        if let Some(it) = self.get_mut(Kind::Volume, id) {
            it["status"] = json!(status);
        }
        self.volume_changes.insert(id.to_owned(), VolumeChange { end, fields });
    }

    /// Takes a volume from its server at once, whatever was under way.
    pub(super) fn free_volume(&mut self, id: &str) {
        self.volume_changes.remove(id);
        if let Some(it) = self.get_mut(Kind::Volume, id) {
            (it["_server"], it["status"]) = (Value::Null, json!("available"));
        }
    }

    /// The server to which a volume is on its way.
    pub(super) fn server_that_gets(&self, id: &str) -> Option<&str> {
        self.volume_changes.get(id)?.fields["_server"].as_str()
    }

    /// Counts that a volume was read.
    pub(super) fn count_volume_read(&mut self, id: &str) {
        if let Some(change) = self.volume_changes.get_mut(id) {
            change.end.count_read();
        }
    }

    /// Ends what ends by now.
    pub(super) fn end_volume_changes(&mut self) {
        let now = self.time();
        let is_due = |it: &VolumeChange| it.end.is_due(now);
        let due: Vec<String> =
            self.volume_changes.iter().filter(|(_, it)| is_due(it)).map(|(id, _)| id.clone()).collect();
        for id in due {
            let Some(VolumeChange { fields, .. }) = self.volume_changes.remove(&id) else { continue };
            if fields.is_null() {
                self.remove(Kind::Volume, &id);
            } else if let Some(it) = self.get_mut(Kind::Volume, &id) {
                fields.as_object().into_iter().flatten().for_each(|(key, value)| it[key] = value.clone());
            }
        }
    }
}
