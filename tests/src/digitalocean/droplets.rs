//! The account's droplets: what lists and single look-ups show of them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::answer::Answer;
use super::droplet::Droplet;

/// How many droplets a page holds if the request does not say.
const PAGE: usize = 20;

/// How many a page holds at most.
const LARGEST_PAGE: usize = 200;

/// Where the links between pages lead: to the public service, wherever the request came in.
const PUBLIC: &str = "https://api.digitalocean.com/v2/droplets";

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

    /// `GET /v2/droplets/{id}`.
    pub(super) fn one(&self, id: &str) -> Answer {
        let droplets = self.lock();
        let droplet = id.parse().ok().and_then(|id: u64| droplets.get(&id));
        droplet.map_or_else(Answer::not_found, |it| Answer::ok(&json!({ "droplet": it.object() })))
    }

    /// `GET /v2/droplets`.
    pub(super) fn page(&self, query: &[(String, String)]) -> Answer {
        let listing = match Listing::new(query) {
            Ok(listing) => listing,
            Err(message) => return Answer::bad_request(message),
        };
        let droplets = self.lock();
        let matching: Vec<&Droplet> = droplets.values().filter(|it| listing.shows(it)).collect();
        let page = matching.iter().skip((listing.page - 1).saturating_mul(listing.per_page)).take(listing.per_page);
        Answer::ok(&json!({
            "droplets": page.map(|it| it.object()).collect::<Vec<_>>(),
            "links": listing.links(matching.len()),
            "meta": { "total": matching.len() },
        }))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Droplet>> {
        // A test that panics inside `update` has failed already.
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a list request asks for.
struct Listing<'a> {
    page: usize,
    per_page: usize,
    filter: Filter<'a>,
}

enum Filter<'a> {
    /// Exactly this tag. As in every list, machines with GPUs are left out.
    Tag(&'a str),
    /// With or without GPUs, and, if set, of this name in upper or lower case.
    Kind { gpus: bool, name: Option<&'a str> },
}

impl<'a> Listing<'a> {
    fn new(query: &'a [(String, String)]) -> Result<Listing<'a>, &'static str> {
        let value = |key: &str| query.iter().find(|(it, _)| it == key).map(|(_, value)| value.as_str());
        let number = |key: &str, default: usize| match value(key).map(str::parse) {
            None => Ok(default),
            Some(Ok(number)) if number > 0 => Ok(number),
            Some(_) => Err("page and per_page are positive numbers"),
        };
        let filter = match (value("tag_name"), value("name"), value("type")) {
            (Some(tag), None, None) => Filter::Tag(tag),
            (Some(_), ..) => return Err("tag_name cannot be combined with name or type"),
            (None, name, None | Some("droplets")) => Filter::Kind { gpus: false, name },
            (None, name, Some("gpus")) => Filter::Kind { gpus: true, name },
            (None, _, Some(_)) => return Err("type is droplets or gpus"),
        };
        Ok(Listing { page: number("page", 1)?, per_page: number("per_page", PAGE)?.min(LARGEST_PAGE), filter })
    }

    fn shows(&self, droplet: &Droplet) -> bool {
        droplet.listed
            && match self.filter {
                Filter::Tag(tag) => !droplet.gpu && droplet.tags.iter().any(|it| it == tag),
                Filter::Kind { gpus, name } => {
                    droplet.gpu == gpus && name.is_none_or(|it| it.eq_ignore_ascii_case(&droplet.name))
                }
            }
    }

    /// The links to other pages, if there are any.
    fn links(&self, total: usize) -> Value {
        let last = total.div_ceil(self.per_page).max(1);
        let mut pages = json!({});
        if self.page > 1 {
            pages["first"] = self.link(1);
            pages["prev"] = self.link((self.page - 1).min(last));
        }
        if self.page < last {
            pages["next"] = self.link(self.page + 1);
            pages["last"] = self.link(last);
        }
        if last == 1 && self.page == 1 { json!({}) } else { json!({ "pages": pages }) }
    }

    fn link(&self, page: usize) -> Value {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        match self.filter {
            Filter::Tag(tag) => {
                query.append_pair("tag_name", tag);
            }
            Filter::Kind { gpus, name } => {
                query.extend_pairs(name.map(|it| ("name", it)));
                query.extend_pairs(gpus.then_some(("type", "gpus")));
            }
        }
        query.append_pair("page", &page.to_string()).append_pair("per_page", &self.per_page.to_string());
        json!(format!("{PUBLIC}?{}", query.finish()))
    }
}
