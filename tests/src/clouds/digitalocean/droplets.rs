//! The account's droplets: what lists and single look-ups show of them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::json;

use crate::simulator::Answer;

use super::droplet::Droplet;
use super::errors;
use super::listing::{self, Listing};

/// The droplets by id. Tests change them at any time; the next answer shows it.
#[derive(Debug, Default)]
pub struct Droplets {
    by_id: Mutex<BTreeMap<u64, Droplet>>,
}

impl Droplets {
    /// Adds a droplet, in the place of one with the same id.
    pub fn insert(&self, droplet: Droplet) {
        self.lock().insert(droplet.id, droplet);
    }

    /// Takes a droplet away: from now on there is none with this id.
    pub fn remove(&self, id: u64) -> Option<Droplet> {
        self.lock().remove(&id)
    }

    /// Takes all droplets away.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Changes a droplet.
    ///
    /// # Panics
    ///
    /// Panics if there is none with this id.
    pub fn update(&self, id: u64, change: impl FnOnce(&mut Droplet)) {
        let mut droplets = self.lock();
        change(droplets.get_mut(&id).unwrap_or_else(|| panic!("there is no droplet {id} to change")));
    }

    /// A copy of a droplet as it is now.
    #[must_use]
    pub fn get(&self, id: u64) -> Option<Droplet> {
        self.lock().get(&id).cloned()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Those of these ids that belong to a droplet.
    pub(super) fn present(&self, ids: &[u64]) -> Vec<u64> {
        let droplets = self.lock();
        ids.iter().copied().filter(|it| droplets.contains_key(it)).collect()
    }

    /// The private network of a droplet.
    pub(super) fn vpc(&self, id: u64) -> Option<String> {
        self.lock().get(&id).map(|it| it.vpc_uuid().to_owned())
    }

    /// The ids of the droplets with a tag.
    pub(super) fn tagged(&self, tag: &str) -> Vec<u64> {
        self.lock().values().filter(|it| it.tags.iter().any(|it| it == tag)).map(|it| it.id).collect()
    }

    /// Tags a droplet. Returns whether there is one with this id.
    pub(super) fn tag(&self, id: u64, tag: &str) -> bool {
        let mut droplets = self.lock();
        let Some(droplet) = droplets.get_mut(&id) else { return false };
        if !droplet.tags.iter().any(|it| it == tag) {
            droplet.tags.push(tag.to_owned());
        }
        true
    }

    /// `GET /v2/droplets/{id}`.
    pub(super) fn one(&self, id: &str) -> Answer {
        let droplets = self.lock();
        let droplet = id.parse().ok().and_then(|id: u64| droplets.get(&id));
        droplet.map_or_else(errors::not_found, |it| Answer::ok(&json!({ "droplet": it.object() })))
    }

    /// `GET /v2/droplets`.
    pub(super) fn page(&self, query: &[(String, String)]) -> Answer {
        let (filter, listing) = match (Filter::new(query), Listing::new(query, &["tag_name", "name", "type"])) {
            (Ok(filter), Ok(listing)) => (filter, listing),
            (Err(message), _) | (_, Err(message)) => return errors::bad_request(message),
        };
        let droplets = self.lock();
        let matching: Vec<&Droplet> = droplets.values().filter(|it| filter.shows(it)).collect();
        listing.answer("droplets", &matching, |it| it.object())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Droplet>> {
        // A test that panics inside `update` has failed already.
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which droplets a list request asks for.
enum Filter<'a> {
    /// Exactly this tag. As in every list, machines with GPUs are left out.
    Tag(&'a str),
    /// With or without GPUs, and, if set, of this name in upper or lower case.
    Kind { gpus: bool, name: Option<&'a str> },
}

impl<'a> Filter<'a> {
    fn new(query: &'a [(String, String)]) -> Result<Filter<'a>, &'static str> {
        let value = |key: &str| listing::value(query, key);
        match (value("tag_name"), value("name"), value("type")) {
            (Some(tag), None, None) => Ok(Filter::Tag(tag)),
            (Some(_), ..) => Err("tag_name cannot be combined with name or type"),
            (None, name, None | Some("droplets")) => Ok(Filter::Kind { gpus: false, name }),
            (None, name, Some("gpus")) => Ok(Filter::Kind { gpus: true, name }),
            (None, _, Some(_)) => Err("type is droplets or gpus"),
        }
    }

    fn shows(&self, droplet: &Droplet) -> bool {
        droplet.listed
            && match self {
                Filter::Tag(tag) => !droplet.gpu && droplet.tags.iter().any(|it| it == tag),
                Filter::Kind { gpus, name } => {
                    droplet.gpu == *gpus && name.is_none_or(|it| it.eq_ignore_ascii_case(&droplet.name))
                }
            }
    }
}
