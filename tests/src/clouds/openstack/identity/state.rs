//! Users, tokens and endpoints of Keystone.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::clouds::openstack::service::Service;

/// The region of all endpoints.
pub const REGION: &str = "RegionOne";

/// Users, tokens and endpoints.
#[derive(Debug)]
pub(super) struct State {
    /// Where the simulator is: `https://127.0.0.1:` and the port.
    pub(super) base: String,
    pub(super) tokens: BTreeMap<String, Token>,
    pub(super) users: Vec<User>,
    pub(super) credentials: Vec<ApplicationCredential>,
    /// The projects by id, with their names.
    pub(super) projects: BTreeMap<String, String>,
    /// How long a token is good.
    pub(super) lifetime: Duration,
    /// The entries that stand in the catalogue in the place of usual ones, by service: absent, a service has none.
    pub(super) endpoints: BTreeMap<&'static str, Option<String>>,
}

/// A user of Keystone.
#[derive(Clone, Debug)]
pub struct User {
    /// The id.
    pub id: String,
    /// The name in the domain `Default`.
    pub name: String,
    /// The password.
    pub password: String,
    /// Whether the user may have tokens.
    pub enabled: bool,
    /// The id of the user's only project.
    pub project: String,
}

/// An application credential of Keystone.
#[derive(Clone, Debug)]
pub struct ApplicationCredential {
    /// The id.
    pub id: String,
    /// The name, one of its user's.
    pub name: String,
    /// The secret.
    pub secret: String,
    /// The user's id.
    pub user: String,
    /// When it ends.
    pub expires: Option<SystemTime>,
}

/// A token that was given.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) user: String,
    /// Absent: a token without a scope.
    pub(super) project: Option<String>,
    pub(super) method: &'static str,
    pub(super) credential: Option<String>,
    pub(super) issued: SystemTime,
    pub(super) expires: SystemTime,
}

impl State {
    pub(super) fn catalog(&self) -> Value {
        let entries = Service::ALL.into_iter().filter_map(|service| {
            let url = match self.endpoints.get(service.kind()) {
                Some(other) => other.clone()?,
                None => format!("{}{}", self.base, service.path()),
            };
            let endpoints = ["public", "internal", "admin"].map(|interface| {
                json!({ "id": id(), "interface": interface, "region": REGION, "region_id": REGION, "url": url })
            });
            Some(json!({ "id": id(), "type": service.kind(), "name": service.name(), "endpoints": endpoints }))
        });
        entries.collect()
    }
}

/// A number of Keystone: 32 hexadecimal digits.
pub(super) fn id() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}
