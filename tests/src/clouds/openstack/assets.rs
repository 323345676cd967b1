//! A region with its services, and the way of a request to one of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};

use crate::simulator::{Answer, Authorization, Cloud, Description, Limits, Quota, Recorded, Shared};

use super::behaviour::Behaviour;
use super::errors::{self, Refused};
use super::identity::{Identity, PROJECT};
use super::kind::Kind;
use super::service::Service;
use super::world::World;
use super::{balancing, compute, keys, network, published, volumes};

/// A region: one world for each project in it.
#[derive(Debug)]
pub struct Assets {
    identity: Arc<Identity>,
    /// The project of whoever asks, whatever the token says: for a whole other account.
    fixed: Option<String>,
    world: Shared<World>,
    others: Mutex<BTreeMap<String, Shared<World>>>,
}

impl Cloud for Assets {
    const NAME: &'static str = "OpenStack";
    const HOSTS: &'static [&'static str] = &[
        "keystone.example",
        "nova.example",
        "neutron.example",
        "octavia.example",
        "barbican.example",
        "cinder.example",
    ];
    // OpenStack publishes none: proxies before it may have some.
    const LIMITS: Limits = Limits::Bucket { size: 1_000_000, refill: Duration::from_nanos(1) };
    const PROTOCOLS: &'static [&'static str] = &["http/1.1"];
    // The token is in a header of its own, and Keystone gives many.
    const JUDGES: bool = true;

    fn description() -> Option<&'static Description> {
        Some(published::description())
    }

    fn place(request: &mut Recorded) {
        Service::place(request);
    }

    fn refuse(&self, request: &Recorded) -> Option<Answer> {
        let service = service_of(request);
        let limited = matches!(service, Service::LoadBalancer | Service::Compute);
        if limited && request.body.len() > self.world.now().behaviour.largest_body {
            return Some(*errors::too_large());
        }
        let open = service == Service::Identity || request.path.trim_end_matches('/') == format!("/{}", service.kind());
        if open || self.identity.project(token(request)).is_some() {
            return None;
        }
        Some(*errors::unauthorized("http://keystone"))
    }

    fn act(&self, request: &Recorded) -> Answer {
        let service = service_of(request);
        let path: Vec<&str> = request.path.split('/').skip(2).collect();
        let answered = match service {
            Service::Identity => self.identity.answer(request, &path),
            _ => self.answer(service, request, &path),
        };
        answered.unwrap_or_else(|refused| *refused)
    }

    fn error(status: StatusCode) -> Answer {
        errors::for_status(Service::LoadBalancer, status)
    }

    fn error_to(request: &Recorded, status: StatusCode) -> Answer {
        errors::for_status(service_of(request), status)
    }

    fn empty_list(request: &Recorded) -> Answer {
        let service = service_of(request);
        let list = request.path.rsplit('/').find(|it| *it != "detail").unwrap_or_default();
        let key = match (list, Kind::listed(service, list)) {
            ("members", _) => "members".to_owned(),
            (_, Some(kind)) => kind.many(),
            (other, None) => other.to_owned(),
        };
        Answer::ok(&json!({ key: [] }))
    }

    fn show_quota(_: &mut Answer, _: &Quota) {}

    fn identify(answer: &mut Answer, request: &str) {
        answer.set("x-openstack-request-id", &format!("req-{request}"));
    }
}

impl Assets {
    /// A region with nothing in it. `other` is the project of everybody who asks here.
    pub(super) fn new(behaviour: Behaviour, identity: Arc<Identity>, other: Option<&str>) -> Assets {
        let project = other.unwrap_or(PROJECT);
        Assets {
            identity,
            fixed: other.map(str::to_owned),
            world: Shared::new(World::new(behaviour, project)),
            others: Mutex::default(),
        }
    }

    /// Keystone.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Reads or changes what the project has.
    pub fn with<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        change(&mut self.world.now())
    }

    /// Reads or changes what another project has, which begins with nothing.
    pub fn with_project<T>(&self, project: &str, change: impl FnOnce(&mut World) -> T) -> T {
        change(&mut self.world_of(project).now())
    }

    /// Copies of all objects of a kind as they are now, with the simulator's own keys.
    #[must_use]
    pub fn all(&self, kind: Kind) -> Vec<Value> {
        self.with(|world| world.all(kind).cloned().collect())
    }

    fn answer(&self, service: Service, request: &Recorded, path: &[&str]) -> Result<Answer, Refused> {
        let project = self.fixed.clone().or_else(|| self.identity.project(token(request)));
        let world = self.world_of(project.as_deref().unwrap_or(PROJECT));
        let mut world = world.now();
        match service {
            Service::Compute => match path {
                ["v2.1", "servers", server, "os-volume_attachments", rest @ ..] if rest.len() < 2 => {
                    volumes::of_server(&mut world, request, server, rest.first().copied())
                }
                _ => compute::answer(&world, request, path),
            },
            Service::Network => network::answer(&mut world, request, path),
            Service::LoadBalancer => balancing::answer(&mut world, request, path),
            Service::Volume => volumes::answer(&mut world, request, path),
            Service::KeyManager | Service::Identity => keys::answer(&world, request, path),
        }
    }

    fn world_of(&self, project: &str) -> Shared<World> {
        let own = self.world.now().project.clone();
        if own == project {
            return self.world.clone();
        }
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let behaviour = || self.world.now().behaviour.clone();
        others.entry(project.to_owned()).or_insert_with(|| Shared::new(World::new(behaviour(), project))).clone()
    }
}

/// The token of a request: in OpenStack's header, or as a bearer's for whoever can send no other.
fn token(request: &Recorded) -> &str {
    let header = request.headers.get("x-auth-token").and_then(|it| it.to_str().ok());
    let bearer = match &request.authorization {
        Authorization::Judged(value) => value.strip_prefix("Bearer "),
        _ => None,
    };
    header.or(bearer).unwrap_or_default()
}

fn service_of(request: &Recorded) -> Service {
    Service::of(&request.path).unwrap_or(Service::LoadBalancer)
}
