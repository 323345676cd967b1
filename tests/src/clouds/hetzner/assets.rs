//! The project that a token reaches, and the rules by which it answers.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{Method, StatusCode};

use crate::simulator::{Answer, Cloud, Description, Limits, Quota, Recorded};

use super::actions::Actions;
use super::behaviour::Behaviour;
use super::certificates::Certificates;
use super::errors::{self, Refused};
use super::gaps::GAPS;
use super::load_balancers::{self, LoadBalancers};
use super::networks::Networks;
use super::project::{CERTIFICATE, LOAD_BALANCER, NETWORK, Shared, VOLUME};
use super::servers::Servers;
use super::volumes::Volumes;
use super::{listing, location};

/// The published limits of the service: 3,600 requests, of which one comes back each second.
pub const LIMITS: Limits = Limits::Bucket { size: 3_600, refill: Duration::from_secs(1) };

/// The vendored part of the description. `tests/api/README.md` says where it is from.
const PUBLISHED: &str = include_str!("../../../api/hetzner.json");

/// A project with all that belongs to it.
#[derive(Debug)]
pub struct Assets {
    project: Shared,
    read_only: AtomicBool,
    servers: Servers,
    load_balancers: LoadBalancers,
    networks: Networks,
    certificates: Certificates,
    volumes: Volumes,
}

impl Cloud for Assets {
    const NAME: &'static str = "Hetzner";
    const HOSTS: &'static [&'static str] = &["api.hetzner.cloud"];
    const LIMITS: Limits = LIMITS;

    fn description() -> Option<&'static Description> {
        static DESCRIPTION: LazyLock<Description> = LazyLock::new(|| Description::new(PUBLISHED, GAPS));
        Some(&DESCRIPTION)
    }

    fn refuse(&self, request: &Recorded) -> Option<Answer> {
        let refused = request.method != Method::GET && self.read_only.load(Ordering::SeqCst);
        refused.then(|| errors::error(403, "token_readonly", "the token is only allowed to perform GET requests"))
    }

    fn act(&self, request: &Recorded) -> Answer {
        self.answer(request).unwrap_or_else(|refused| *refused)
    }

    fn error(status: StatusCode) -> Answer {
        errors::for_status(status)
    }

    fn empty_list(request: &Recorded) -> Answer {
        listing::empty(request.path.rsplit('/').next().unwrap_or_default())
    }

    fn show_quota(answer: &mut Answer, quota: &Quota) {
        answer.set("ratelimit-limit", &quota.limit.to_string());
        answer.set("ratelimit-remaining", &quota.remaining.to_string());
        answer.set("ratelimit-reset", &quota.reset.to_string());
    }

    fn identify(answer: &mut Answer, request: &str) {
        answer.set("x-correlation-id", &request.replace('-', ""));
    }
}

impl Assets {
    /// A project with nothing in it. `first` is the id before the first that it gives away.
    pub(super) fn new(behaviour: Behaviour, first: u64) -> Assets {
        let project = Shared::new(behaviour, first);
        Assets {
            read_only: AtomicBool::new(false),
            servers: Servers(project.clone()),
            load_balancers: LoadBalancers(project.clone()),
            networks: Networks(project.clone()),
            certificates: Certificates(project.clone()),
            volumes: Volumes(project.clone()),
            project,
        }
    }

    /// The servers.
    #[must_use]
    pub fn servers(&self) -> &Servers {
        &self.servers
    }

    /// The load balancers.
    #[must_use]
    pub fn load_balancers(&self) -> &LoadBalancers {
        &self.load_balancers
    }

    /// The private networks.
    #[must_use]
    pub fn networks(&self) -> &Networks {
        &self.networks
    }

    /// The TLS certificates.
    #[must_use]
    pub fn certificates(&self) -> &Certificates {
        &self.certificates
    }

    /// The volumes.
    #[must_use]
    pub fn volumes(&self) -> &Volumes {
        &self.volumes
    }

    /// Changes how the service behaves from now on.
    pub fn behave(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.project.now().behaviour);
    }

    /// Lets an address be one of the owner's dedicated servers, which load balancers may forward to.
    pub fn own(&self, ip: std::net::IpAddr) {
        self.project.now().dedicated.insert(ip);
    }

    pub(super) fn set_read_only(&self, read_only: bool) {
        self.read_only.store(read_only, Ordering::SeqCst);
    }

    fn answer(&self, request: &Recorded) -> Result<Answer, Refused> {
        let path: Vec<&str> = request.path.split('/').skip(1).collect();
        let ["v1", path @ ..] = path.as_slice() else { return Err(Box::new(errors::not_found("path"))) };
        let (query, body) = (request.query.as_slice(), request.body.as_slice());
        let actions = Actions(self.project.clone());
        let kind = |list: &str| match list {
            "load_balancers" => Ok(LOAD_BALANCER),
            "networks" => Ok(NETWORK),
            "certificates" => Ok(CERTIFICATE),
            "volumes" => Ok(VOLUME),
            _ => Err(Box::new(errors::not_found("path"))),
        };
        match (&request.method, path) {
            (&Method::GET, ["actions"]) => actions.named(query),
            (&Method::GET, ["actions", id]) => actions.one(id),
            (&Method::GET, [list, "actions"]) => actions.of_kind(kind(list)?, query),
            (&Method::GET, [list, id, "actions"]) => actions.of(kind(list)?, id, query),
            (&Method::GET, ["locations"]) => location::list(query),
            (&Method::GET, ["locations", id]) => location::one(id),
            (&Method::GET, ["servers"]) => self.servers.page(query),
            (&Method::GET, ["servers", id]) => self.servers.one(id),
            (&Method::GET, ["load_balancer_types"]) => load_balancers::kinds(query),
            (&Method::GET, ["load_balancer_types", id]) => load_balancers::one_kind(id),
            (&Method::GET, ["load_balancers"]) => self.load_balancers.page(query),
            (&Method::POST, ["load_balancers"]) => self.load_balancers.create(body),
            (&Method::GET, ["load_balancers", id]) => self.load_balancers.one(id),
            (&Method::PUT, ["load_balancers", id]) => self.load_balancers.replace(id, body),
            (&Method::DELETE, ["load_balancers", id]) => self.load_balancers.delete(id),
            (&Method::POST, ["load_balancers", id, "actions", command]) => self.load_balancers.act(id, command, body),
            (&Method::GET, ["networks"]) => self.networks.page(query),
            (&Method::GET, ["networks", id]) => self.networks.one(id),
            (&Method::POST, ["networks", id, "actions", command]) => self.networks.act(id, command, body),
            (&Method::GET, ["certificates"]) => self.certificates.page(query),
            (&Method::POST, ["certificates"]) => self.certificates.create(body),
            (&Method::GET, ["certificates", id]) => self.certificates.one(id),
            (&Method::DELETE, ["certificates", id]) => self.certificates.delete(id),
            (&Method::GET, ["volumes"]) => self.volumes.page(query),
            (&Method::POST, ["volumes"]) => self.volumes.create(body),
            (&Method::GET, ["volumes", id]) => self.volumes.one(id),
            (&Method::DELETE, ["volumes", id]) => self.volumes.delete(id),
            (&Method::POST, ["volumes", id, "actions", command]) => self.volumes.act(id, command, body),
            _ => Err(Box::new(errors::not_found("path"))),
        }
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
