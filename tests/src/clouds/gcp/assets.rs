//! The projects that a credential reaches, and the way of a request to them.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};

use crate::simulator::{Answer, Authorization, Cloud, Description, Limits, Quota, Recorded, Shared};

use super::behaviour::Behaviour;
use super::collection::Collection;
use super::identity::Accounts;
use super::world::World;
use super::{compute, errors, published};

/// Where the IAM Service Account Credentials API has service accounts.
const ACCOUNTS: &str = "/v1/projects/-/serviceAccounts/";

/// All projects of an organisation.
#[derive(Debug)]
pub struct Assets {
    accounts: Arc<Accounts>,
    world: Shared<World>,
}

impl Cloud for Assets {
    const NAME: &'static str = "Google Cloud";
    const HOSTS: &'static [&'static str] =
        &["compute.googleapis.com", "oauth2.googleapis.com", "sts.googleapis.com", "iamcredentials.googleapis.com"];
    // Each group of methods has its own, and no header tells them.
    const LIMITS: Limits = Limits::Bucket { size: 1_500, refill: Duration::from_millis(40) };
    // Tokens are given, or signed by who has a key.
    const JUDGES: bool = true;

    fn description() -> Option<&'static Description> {
        Some(published::description())
    }

    fn refuse(&self, request: &Recorded) -> Option<Answer> {
        if ["/token", "/v1/token"].contains(&&*request.path) {
            return None;
        }
        let token = match &request.authorization {
            Authorization::Judged(value) => value.strip_prefix("Bearer ").unwrap_or_default(),
            _ => "",
        };
        let is_admitted = match request.path.starts_with(ACCOUNTS) {
            true => self.accounts.may_impersonate(token),
            false => self.accounts.admits(token),
        };
        if is_admitted {
            return None;
        }
        let mut refused = errors::for_status(StatusCode::UNAUTHORIZED);
        refused.set("www-authenticate", "Bearer realm=\"https://accounts.google.com/\", error=\"invalid_token\"");
        Some(refused)
    }

    fn act(&self, request: &Recorded) -> Answer {
        let path: Vec<&str> = request.path.split('/').skip(1).collect();
        match &path[..] {
            ["token"] => self.accounts.give(request),
            ["v1", "token"] => self.accounts.exchange(request),
            ["v1", "projects", "-", "serviceAccounts", account] => self.accounts.impersonate(request, account),
            ["compute", "v1", path @ ..] => {
                let mut world = self.world.now();
                compute::answer(&mut world, request, path).unwrap_or_else(|refused| refused.answer())
            }
            _ => errors::for_status(StatusCode::NOT_FOUND),
        }
    }

    fn error(status: StatusCode) -> Answer {
        errors::for_status(status)
    }

    fn empty_list(request: &Recorded) -> Answer {
        let items = if request.path.contains("/aggregated/") { json!({}) } else { json!([]) };
        Answer::ok(&json!({ "items": items }))
    }

    fn show_quota(_: &mut Answer, _: &Quota) {}
}

impl Assets {
    /// Projects without anything in them.
    pub(super) fn new(behaviour: Behaviour, accounts: Arc<Accounts>) -> Assets {
        Assets { accounts, world: Shared::new(World::new(behaviour)) }
    }

    /// The service accounts.
    #[must_use]
    pub fn accounts(&self) -> &Arc<Accounts> {
        &self.accounts
    }

    /// Reads or changes what there is.
    pub fn with<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        change(&mut self.world.now())
    }

    /// Copies of all resources of a collection as they are now, with the simulator's own keys.
    #[must_use]
    pub fn all(&self, collection: Collection) -> Vec<Value> {
        self.with(|world| world.all(collection).map(|(_, it)| it.clone()).collect())
    }
}
