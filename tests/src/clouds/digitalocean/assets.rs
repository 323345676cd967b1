//! The resources that an account owns, and that its token reaches.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use http::{Method, StatusCode};
use serde_json::json;

use crate::simulator::{Answer, Cloud, Description, Limits, Quota, Recorded};

use super::account::Account;
use super::certificates::Certificates;
use super::droplets::Droplets;
use super::errors;
use super::gaps::GAPS;
use super::load_balancers::{Behaviour, LoadBalancers};
use super::scopes::Scopes;
use super::tags::{Resource, Tags};
use super::volumes::Volumes;
use super::vpcs::Vpcs;

/// The published limits of the service.
pub const LIMITS: Limits = Limits::Windows { per_hour: 5_000, per_minute: 250 };

/// The vendored part of the description. `tests/api/README.md` says where it is from.
const PUBLISHED: &str = include_str!("../../../api/digitalocean.json");

/// An account with all that belongs to it.
#[derive(Debug)]
pub struct Assets {
    account: Account,
    scopes: Mutex<Scopes>,
    droplets: Arc<Droplets>,
    load_balancers: LoadBalancers,
    certificates: Arc<Certificates>,
    tags: Arc<Tags>,
    vpcs: Arc<Vpcs>,
    volumes: Volumes,
}

static DESCRIPTION: LazyLock<Description> = LazyLock::new(|| Description::new(PUBLISHED, GAPS));

impl Cloud for Assets {
    const NAME: &'static str = "DigitalOcean";
    const HOSTS: &'static [&'static str] = &["api.digitalocean.com"];
    const LIMITS: Limits = LIMITS;

    fn description() -> Option<&'static Description> {
        Some(&DESCRIPTION)
    }

    fn refuse(&self, request: &Recorded) -> Option<Answer> {
        let scopes = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        // The description is large, and a measurement does without it.
        let permitted = *scopes == Scopes::Full || DESCRIPTION.scopes(request).iter().all(|it| scopes.admit(it));
        (!permitted).then(|| errors::for_status(StatusCode::FORBIDDEN))
    }

    fn act(&self, request: &Recorded) -> Answer {
        let path: Vec<&str> = request.path.split('/').skip(1).collect();
        let ["v2", path @ ..] = path.as_slice() else { return errors::not_found() };
        let (query, body) = (request.query.as_slice(), request.body.as_slice());
        match (&request.method, path) {
            (&Method::GET, ["account"]) => self.account(),
            (&Method::GET, ["droplets"]) => self.droplets.page(query),
            (&Method::GET, ["droplets", id]) => self.droplets.one(id),
            (&Method::GET, ["load_balancers"]) => self.load_balancers.page(query),
            (&Method::POST, ["load_balancers"]) => self.load_balancers.create(body),
            (&Method::GET, ["load_balancers", id]) => self.load_balancers.one(id),
            (&Method::PUT, ["load_balancers", id]) => self.load_balancers.replace(id, body),
            (&Method::DELETE, ["load_balancers", id]) => self.load_balancers.delete(id),
            (&Method::POST, ["load_balancers", id, "droplets"]) => self.load_balancers.add_targets(id, body),
            (&Method::DELETE, ["load_balancers", id, "droplets"]) => self.load_balancers.remove_targets(id, body),
            (&Method::GET, ["certificates"]) => self.certificates.page(query),
            (&Method::GET, ["certificates", id]) => self.certificates.one(id),
            (&Method::POST, ["tags"]) => self.tags.create(body),
            (&Method::POST, ["tags", tag, "resources"]) => self.tags.tag(tag, body, |it| self.tag(it, tag)),
            (&Method::GET, ["volumes"]) => self.volumes.page(query),
            (&Method::POST, ["volumes"]) => self.volumes.create(body),
            (&Method::GET, ["volumes", id]) => self.volumes.one(id),
            (&Method::DELETE, ["volumes", id]) => self.volumes.delete(id),
            (&Method::GET, ["volumes", id, "actions"]) => self.volumes.actions_on(id, query),
            (&Method::GET, ["volumes", id, "actions", action]) => self.volumes.action_on(id, action),
            (&Method::POST, ["volumes", id, "actions"]) => self.volumes.act(id, body),
            (&Method::GET, ["vpcs"]) => self.vpcs.page(query),
            (&Method::GET, ["vpcs", id]) => self.vpcs.one(id),
            _ => errors::not_found(),
        }
    }

    fn error(status: StatusCode) -> Answer {
        errors::for_status(status)
    }

    fn empty_list(request: &Recorded) -> Answer {
        let list = request.path.rsplit('/').next().unwrap_or_default();
        Answer::ok(&json!({ list: [], "links": {}, "meta": { "total": 0 } }))
    }

    fn show_quota(answer: &mut Answer, quota: &Quota) {
        answer.set("ratelimit-limit", &quota.limit.to_string());
        answer.set("ratelimit-remaining", &quota.remaining.to_string());
        answer.set("ratelimit-reset", &quota.reset.to_string());
        if let Some(seconds) = quota.retry_after {
            answer.set("retry-after", &seconds.to_string());
        }
    }

    fn identify(answer: &mut Answer, request: &str) {
        errors::identify(answer, request);
    }
}

impl Assets {
    pub(super) fn new(account: Account, scopes: Scopes, behaviour: Behaviour) -> Assets {
        let (droplets, certificates) = (Arc::<Droplets>::default(), Arc::<Certificates>::default());
        let (tags, vpcs) = (Arc::<Tags>::default(), Arc::<Vpcs>::default());
        let load_balancers = LoadBalancers::new(
            behaviour,
            Arc::clone(&droplets),
            Arc::clone(&certificates),
            Arc::clone(&vpcs),
            Arc::clone(&tags),
        );
        let volumes = Volumes::new(Arc::clone(&droplets), Arc::clone(&tags));
        Assets { account, scopes: Mutex::new(scopes), droplets, load_balancers, certificates, tags, vpcs, volumes }
    }

    /// The droplets.
    #[must_use]
    pub fn droplets(&self) -> &Droplets {
        &self.droplets
    }

    /// The load balancers.
    #[must_use]
    pub fn load_balancers(&self) -> &LoadBalancers {
        &self.load_balancers
    }

    /// The TLS certificates.
    #[must_use]
    pub fn certificates(&self) -> &Certificates {
        &self.certificates
    }

    /// The tags.
    #[must_use]
    pub fn tags(&self) -> &Tags {
        &self.tags
    }

    /// The private networks.
    #[must_use]
    pub fn vpcs(&self) -> &Vpcs {
        &self.vpcs
    }

    /// The volumes.
    #[must_use]
    pub fn volumes(&self) -> &Volumes {
        &self.volumes
    }

    pub(super) fn set_scopes(&self, scopes: Scopes) {
        *self.scopes.lock().unwrap_or_else(PoisonError::into_inner) = scopes;
    }

    /// Puts a tag on something. Returns whether there is such a thing.
    fn tag(&self, resource: &Resource, tag: &str) -> bool {
        match resource.kind.as_str() {
            "load_balancer" => self.load_balancers.tag(&resource.id, tag),
            "volume" => self.volumes.tag(&resource.id, tag),
            "droplet" => resource.id.parse().is_ok_and(|id| self.droplets.tag(id, tag)),
            _ => false,
        }
    }

    /// `GET /v2/account`.
    fn account(&self) -> Answer {
        let mut object = json!({
            "droplet_limit": 2_000,
            "floating_ip_limit": 30,
            "email": "sammy@example.com",
            "name": "Sammy the Shark",
            "uuid": self.account.uuid,
            "email_verified": true,
            "status": "active",
            "status_message": "",
        });
        if let Some(team) = &self.account.team {
            object["team"] = json!({ "uuid": team, "name": "My Team" });
        }
        Answer::ok(&json!({ "account": object }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_in_the_description_can_be_checked() {
        Assets::description().unwrap().compile();
    }
}
