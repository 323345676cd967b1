//! The account's tags, and putting them on things.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::json;

use crate::simulator::Answer;

use super::errors;

/// The names of the tags.
#[derive(Debug, Default)]
pub struct Tags {
    names: Mutex<BTreeSet<String>>,
}

/// The body of `POST /v2/tags`.
#[derive(Deserialize)]
struct Tag {
    name: String,
}

/// The body of `POST /v2/tags/{tag}/resources`.
#[derive(Deserialize)]
struct Tagged {
    resources: Vec<Resource>,
}

/// Something that can have tags.
#[derive(Deserialize)]
pub(super) struct Resource {
    #[serde(rename = "resource_id")]
    pub(super) id: String,
    #[serde(rename = "resource_type")]
    pub(super) kind: String,
}

impl Tags {
    /// Adds a tag, if it is not there.
    pub fn insert(&self, name: &str) {
        self.lock().insert(name.to_owned());
    }

    /// Whether there is this tag, letter by letter.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.lock().contains(name)
    }

    /// `POST /v2/tags`.
    pub(super) fn create(&self, body: &[u8]) -> Answer {
        let Ok(Tag { name }) = serde_json::from_slice(body) else { return errors::invalid("name is required") };
        let good = |it: u8| it.is_ascii_alphanumeric() || b"_-:".contains(&it);
        if name.is_empty() || name.len() > 255 || !name.bytes().all(good) {
            return errors::invalid(&format!("tag {name:?} is invalid"));
        }
        self.insert(&name);
        let none = json!({ "count": 0 });
        Answer::created(&json!({ "tag": {
            "name": name,
            "resources": { "count": 0, "droplets": none, "volumes": none, "volume_snapshots": none, "databases": none },
        } }))
    }

    /// `POST /v2/tags/{tag}/resources`. `tag_one` puts the tag on a thing, and returns whether there is this thing.
    pub(super) fn tag(&self, name: &str, body: &[u8], tag_one: impl Fn(&Resource) -> bool) -> Answer {
        if !self.contains(name) {
            return errors::not_found();
        }
        let Ok(Tagged { resources }) = serde_json::from_slice(body) else {
            return errors::invalid("resources are required");
        };
        match resources.iter().find(|it| !tag_one(it)) {
            None => Answer::no_content(),
            Some(Resource { id, kind }) => errors::invalid(&format!("there is no {kind} {id} to tag")),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
