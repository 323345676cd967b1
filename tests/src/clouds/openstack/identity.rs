//! Keystone, as far as a client needs it: tokens with a catalogue of services. Tests of Keystone itself use the real one.

mod state;
mod tokens;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use http::Method;
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::errors::{self, Refused};
use super::service::Service;

use self::state::{State, Token};

pub use self::state::{ApplicationCredential, REGION, User};

/// The project of the user that is there at the start.
pub const PROJECT: &str = "5f1c3a0e7d2b4c6f8a9b0c1d2e3f4a5b";
/// The id of that user, whose name is `aerostat` in the domain `Default`.
pub const USER: &str = "9b8a7c6d5e4f3a2b1c0d9e8f7a6b5c4d";
/// The password of that user.
pub const PASSWORD: &str = "password-of-the-simulated-user";
/// The id of an application credential of that user.
pub const APPLICATION_CREDENTIAL: &str = "1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d";
/// The secret of that application credential.
pub const SECRET: &str = "secret-of-the-simulated-credential";

/// Users, tokens and endpoints.
#[derive(Debug)]
pub struct Identity(Mutex<State>);

impl Identity {
    /// A Keystone with one user, who has one project and one application credential. This token is good from the start.
    pub(super) fn new(token: &str) -> Identity {
        let user = User {
            id: USER.to_owned(),
            name: "aerostat".to_owned(),
            password: PASSWORD.to_owned(),
            enabled: true,
            project: PROJECT.to_owned(),
        };
        let credential = ApplicationCredential {
            id: APPLICATION_CREDENTIAL.to_owned(),
            name: "aerostat".to_owned(),
            secret: SECRET.to_owned(),
            user: USER.to_owned(),
            expires: None,
        };
        let now = SystemTime::now();
        let first = Token {
            user: USER.to_owned(),
            project: Some(PROJECT.to_owned()),
            method: "password",
            credential: None,
            issued: now,
            expires: now + Duration::from_hours(24),
        };
        Identity(Mutex::new(State {
            base: String::new(),
            tokens: BTreeMap::from([(token.to_owned(), first)]),
            users: vec![user],
            credentials: vec![credential],
            projects: BTreeMap::from([(PROJECT.to_owned(), "kubernetes".to_owned())]),
            lifetime: Duration::from_hours(1),
            endpoints: BTreeMap::new(),
        }))
    }

    /// Says where the simulator is, which is what the catalogue leads to.
    pub fn set_base(&self, base: &str) {
        base.clone_into(&mut self.now().base);
    }

    /// Lets the catalogue lead elsewhere for a service: to this URL, or nowhere.
    pub fn publish(&self, service: Service, url: Option<&str>) {
        self.now().endpoints.insert(service.kind(), url.map(str::to_owned));
    }

    /// Adds a user.
    pub fn add_user(&self, user: User) {
        let mut state = self.now();
        state.projects.entry(user.project.clone()).or_insert_with(|| user.project.clone());
        state.users.push(user);
    }

    /// Adds an application credential of a user.
    pub fn add_credential(&self, credential: ApplicationCredential) {
        self.now().credentials.push(credential);
    }

    /// Changes a user, by id.
    pub fn change_user(&self, id: &str, change: impl FnOnce(&mut User)) {
        self.now().users.iter_mut().filter(|it| it.id == id).take(1).for_each(change_once(change));
    }

    /// Changes an application credential, by id.
    pub fn change_credential(&self, id: &str, change: impl FnOnce(&mut ApplicationCredential)) {
        self.now().credentials.iter_mut().filter(|it| it.id == id).take(1).for_each(change_once(change));
    }

    /// Takes a token that another Keystone has given for a project, for an hour.
    pub fn admit(&self, token: &str, project: &str) {
        let now = SystemTime::now();
        let given = Token {
            user: USER.to_owned(),
            project: Some(project.to_owned()),
            method: "token",
            credential: None,
            issued: now,
            expires: now + Duration::from_hours(1),
        };
        self.now().tokens.insert(token.to_owned(), given);
    }

    /// Takes all tokens back that are good now.
    pub fn revoke_all(&self) {
        self.now().tokens.clear();
    }

    /// Gives tokens for so long from now on.
    pub fn set_lifetime(&self, lifetime: Duration) {
        self.now().lifetime = lifetime;
    }

    /// How many tokens are good now.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.now().tokens.len()
    }

    /// The project of a token: absent, it is no token, or has no project.
    pub(super) fn project(&self, token: &str) -> Option<String> {
        let state = self.now();
        let token = state.tokens.get(token).filter(|it| it.expires > SystemTime::now())?;
        token.project.clone()
    }

    /// Answers a request whose path is this, below `/identity`.
    pub(super) fn answer(&self, request: &Recorded, path: &[&str]) -> Result<Answer, Refused> {
        match (&request.method, path) {
            (&Method::GET, [] | [""]) => Ok(Answer::json(
                http::StatusCode::MULTIPLE_CHOICES,
                &json!({ "versions": { "values": [self.version()] } }),
            )),
            (&Method::GET, ["v3"] | ["v3", ""]) => Ok(Answer::ok(&json!({ "version": self.version() }))),
            (&Method::POST, ["v3", "auth", "tokens"]) => tokens::issue(&mut self.now(), &request.body),
            (&Method::GET, ["v3", "auth", "tokens"]) => tokens::show(&self.now(), request),
            (&Method::GET, ["v3", "auth", "catalog"]) => Ok(Answer::ok(&json!({
                "catalog": self.now().catalog(), "links": { "self": "", "next": null, "previous": null },
            }))),
            _ => Err(errors::keystone(404, "Not Found", "The resource could not be found.")),
        }
    }

    fn version(&self) -> Value {
        let base = self.now().base.clone();
        json!({
            "id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z",
            "links": [{ "rel": "self", "href": format!("{base}/identity/v3/") }],
            "media-types": [{ "base": "application/json", "type": "application/vnd.openstack.identity-v3+json" }],
        })
    }

    fn now(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A change that is made to the first only.
fn change_once<T>(change: impl FnOnce(&mut T)) -> impl FnMut(&mut T) {
    let mut change = Some(change);
    move |changed| {
        if let Some(change) = change.take() {
            change(changed);
        }
    }
}
