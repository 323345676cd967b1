//! The account's private networks.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::simulator::Answer;

use super::errors;
use super::listing::Listing;
use super::region::REGIONS;

/// A private network of one region.
#[derive(Clone, Debug)]
pub struct Vpc {
    /// A UUID.
    pub id: String,
    /// Unique in the account.
    pub name: String,
    /// For example `fra1`.
    pub region: String,
    /// Whether resources of its region lie in it that name no other.
    pub default: bool,
}

/// The networks by id. Every region has a default one from the start.
#[derive(Debug)]
pub struct Vpcs {
    by_id: Mutex<BTreeMap<String, Vpc>>,
}

impl Default for Vpcs {
    fn default() -> Vpcs {
        let defaults = REGIONS.map(|(region, id)| {
            let name = format!("default-{region}");
            (id.to_owned(), Vpc { id: id.to_owned(), name, region: region.to_owned(), default: true })
        });
        Vpcs { by_id: Mutex::new(BTreeMap::from(defaults)) }
    }
}

impl Vpcs {
    /// Adds a network, in the place of one with the same id.
    pub fn insert(&self, vpc: Vpc) {
        self.lock().insert(vpc.id.clone(), vpc);
    }

    /// A copy of a network as it is now.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<Vpc> {
        self.lock().get(id).cloned()
    }

    /// `GET /v2/vpcs/{id}`.
    pub(super) fn one(&self, id: &str) -> Answer {
        self.get(id).map_or_else(errors::not_found, |it| Answer::ok(&json!({ "vpc": it.object() })))
    }

    /// `GET /v2/vpcs`.
    pub(super) fn page(&self, query: &[(String, String)]) -> Answer {
        match Listing::new(query, &[]) {
            Ok(listing) => listing.answer("vpcs", &Vec::from_iter(self.lock().values()), |it| it.object()),
            Err(message) => errors::bad_request(message),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Vpc>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Vpc {
    fn object(&self) -> Value {
        json!({
            "id": self.id,
            "urn": format!("do:vpc:{}", self.id),
            "name": self.name,
            "description": "",
            "region": self.region,
            "ip_range": "10.0.0.0/16",
            "default": self.default,
            "created_at": "2026-03-13T19:20:47Z",
        })
    }
}
