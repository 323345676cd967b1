//! An account, and the way of a request to it.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};

use crate::simulator::{Answer, Authorization, Cloud, Description, Limits, Quota, Recorded, Shared};

use super::behaviour::Behaviour;
use super::iam::Iam;
use super::kind::VpcKind;
use super::world::World;
use super::{errors, published, region, vpc};

/// Where IAM gives tokens.
const TOKEN: &str = "/identity/token";

/// Where the resource manager has the account's resource groups.
const RESOURCE_GROUPS: &str = "/v2/resource_groups";

/// The possessions of an account in a region.
#[derive(Debug)]
pub struct Assets {
    iam: Arc<Iam>,
    account: String,
    world: Shared<World>,
}

impl Cloud for Assets {
    const NAME: &'static str = "IBM Cloud";
    const HOSTS: &'static [&'static str] =
        &["us-south.private.iaas.cloud.ibm.com", "us-south.iaas.cloud.ibm.com", "iam.cloud.ibm.com"];
    const LIMITS: Limits = Limits::Windows { per_hour: 100_000, per_minute: 2_000 };
    // IAM gives tokens, and they end.
    const JUDGES: bool = true;

    fn description() -> Option<&'static Description> {
        Some(published::description())
    }

    fn refuse(&self, request: &Recorded) -> Option<Answer> {
        let token = match &request.authorization {
            Authorization::Judged(value) => value.strip_prefix("Bearer ").unwrap_or_default(),
            _ => "",
        };
        let is_open = request.path == TOKEN;
        (!is_open && !self.iam.admits(token)).then(|| errors::for_status(StatusCode::UNAUTHORIZED))
    }

    fn act(&self, request: &Recorded) -> Answer {
        if request.path == TOKEN {
            return self.iam.give(request, &self.account);
        }
        if request.path == RESOURCE_GROUPS {
            return self.resource_groups(request);
        }
        match request.path.strip_prefix("/v1/") {
            Some(path) => {
                let path: Vec<&str> = path.split('/').collect();
                vpc::answer(&mut self.world.now(), request, &path).unwrap_or_else(|refused| *refused)
            }
            None => errors::for_status(StatusCode::NOT_FOUND),
        }
    }

    fn error(status: StatusCode) -> Answer {
        errors::for_status(status)
    }

    fn error_to(request: &Recorded, status: StatusCode) -> Answer {
        if request.path == TOKEN {
            errors::of_iam(status, "BXNIM0108E", "try again")
        } else {
            errors::for_status(status)
        }
    }

    fn empty_list(request: &Recorded) -> Answer {
        let list = request.path.rsplit('/').next().unwrap_or_default();
        let first = json!({ "href": format!("https://us-south.iaas.cloud.ibm.com{}", request.path) });
        Answer::ok(&json!({ list: [], "first": first, "limit": 50, "total_count": 0 }))
    }

    fn show_quota(answer: &mut Answer, quota: &Quota) {
        if let Some(pause) = quota.retry_after {
            answer.set("retry-after", &pause.to_string());
        }
    }

    fn identify(answer: &mut Answer, request: &str) {
        answer.set("x-request-id", request);
    }
}

impl Assets {
    /// An account with nothing in it.
    pub(super) fn new(behaviour: Behaviour, iam: Arc<Iam>, account: &str) -> Assets {
        Assets { iam, account: account.to_owned(), world: Shared::new(World::new(behaviour, account)) }
    }

    /// The resource groups that a request asks for.
    fn resource_groups(&self, request: &Recorded) -> Answer {
        let is = |key: &str, value: &str| request.query_value(key).is_none_or(|it| it == value);
        let shown =
            region::RESOURCE_GROUPS.into_iter().filter(|(_, name)| is("name", name) && is("account_id", &self.account));
        let shown =
            shown.map(|(id, name)| json!({ "id": id, "name": name, "account_id": self.account, "state": "ACTIVE" }));
        Answer::ok(&json!({ "resources": shown.collect::<Vec<_>>() }))
    }

    /// IAM, which is one for all accounts.
    #[must_use]
    pub fn iam(&self) -> &Arc<Iam> {
        &self.iam
    }

    /// Reads or changes what there is.
    pub fn with<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        change(&mut self.world.now())
    }

    /// Copies of all objects of a kind as they are now, in the simulator's own words.
    #[must_use]
    pub fn all(&self, kind: VpcKind) -> Vec<Value> {
        self.with(|world| world.all(kind).cloned().collect())
    }
}
