//! The project's load balancers: how they come to be, and go.

mod changes;
mod rules;

use std::time::SystemTime;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::simulator::{Answer, lists};

use super::action::Resource;
use super::errors::{self, Refused, parsed};
use super::listing::{self, Filter, Query};
use super::load_balancer::{Kind, LoadBalancer, Named, new_service};
use super::location::Location;
use super::project::{self, Change, LOAD_BALANCER, NETWORK, Project, SERVER, Shared};
use super::selector::{self, Labels};

/// The load balancers by id. Tests change them at any time; the next answer shows it.
#[derive(Clone, Debug)]
pub struct LoadBalancers(pub(super) Shared);

/// The body of `POST /load_balancers`.
#[derive(Deserialize)]
struct Wanted {
    name: String,
    load_balancer_type: String,
    algorithm: Option<rules::Algorithm>,
    location: Option<String>,
    network_zone: Option<String>,
    network: Option<u64>,
    public_interface: Option<bool>,
    #[serde(default)]
    labels: Labels,
    #[serde(default)]
    services: Vec<Value>,
    #[serde(default)]
    targets: Vec<Named>,
}

/// The body of `PUT /load_balancers/{id}`.
#[derive(Deserialize)]
struct Replaced {
    name: Option<String>,
    labels: Option<Labels>,
}

impl LoadBalancers {
    /// Adds a load balancer, in the place of one with the same id.
    pub fn insert(&self, load_balancer: LoadBalancer) {
        self.0.now().load_balancers.insert(load_balancer.id, load_balancer);
    }

    /// Takes a load balancer away: from now on there is none with this id.
    pub fn remove(&self, id: u64) -> Option<LoadBalancer> {
        self.0.now().load_balancers.remove(&id)
    }

    /// Changes a load balancer.
    ///
    /// # Panics
    ///
    /// Panics if there is none with this id.
    pub fn update(&self, id: u64, change: impl FnOnce(&mut LoadBalancer)) {
        let mut project = self.0.now();
        change(
            project.load_balancers.get_mut(&id).unwrap_or_else(|| panic!("there is no load balancer {id} to change")),
        );
    }

    /// A copy of a load balancer as it is now.
    #[must_use]
    pub fn get(&self, id: u64) -> Option<LoadBalancer> {
        let project = self.0.now();
        project.load_balancers.get(&id).map(|it| project.present(it))
    }

    /// Copies of all as they are now, whatever lists show.
    #[must_use]
    pub fn all(&self) -> Vec<LoadBalancer> {
        let project = self.0.now();
        project.load_balancers.values().map(|it| project.present(it)).collect()
    }

    /// `GET /load_balancers/{id}`.
    pub(super) fn one(&self, id: &str) -> Result<Answer, Refused> {
        let mut project = self.0.now();
        let load_balancer = project::found(&project.load_balancers, id, "load balancer")?;
        let (id, object) = (load_balancer.id, project.shown(load_balancer));
        project.read(|it| it.changes(resource(id)));
        Ok(project::one("load_balancer", object))
    }

    /// `GET /load_balancers`.
    pub(super) fn page(&self, query: &Query) -> Result<Answer, Refused> {
        let filter = Filter::new(query)?;
        let project = self.0.now();
        let late_by = project.behaviour.lists_late_by;
        let all = project
            .load_balancers
            .values()
            .filter(|it| it.listed && lists::shows(it.created_at, late_by) && filter.shows(&it.name, &it.labels, None));
        listing::page(query, "load_balancers", all.map(|it| project.shown(it)).collect())
    }

    /// `POST /load_balancers`.
    pub(super) fn create(&self, body: &[u8]) -> Result<Answer, Refused> {
        let wanted = parsed::<Wanted>(body)?;
        let mut project = self.0.now();
        named(&project, None, Some(&wanted.name), Some(&wanted.labels))?;
        if project.behaviour.limit.is_some_and(|limit| project.load_balancers.len() >= limit) {
            return Err(errors::refused(403, "resource_limit_exceeded", "load balancer limit exceeded"));
        }
        let location = location(wanted.location.as_deref(), wanted.network_zone.as_deref())?;
        let kind = rules::kind(&wanted.load_balancer_type)?;
        let mut made = LoadBalancer {
            labels: wanted.labels,
            kind: kind.name.to_owned(),
            location: location.name.to_owned(),
            algorithm: rules::algorithm(wanted.algorithm.map(|it| it.kind))?,
            public: wanted.public_interface.unwrap_or(true),
            ipv4: None,
            ipv6: None,
            ..LoadBalancer::new(0, &wanted.name)
        };
        made.private_net = match wanted.network {
            Some(network) => Some(rules::attached(&project, network, location, None, None)?),
            None => None,
        };
        for service in &wanted.services {
            let service = new_service(service).map_err(|it| Box::new(errors::invalid("services", &it)))?;
            rules::service(&project, &made, &service)?;
            made.services.push(service);
        }
        rules::services_allowed(&made, kind)?;
        for target in wanted.targets {
            let target = rules::named(target)?;
            rules::target(&project, &made, &target)?;
            made.targets.push(target);
        }
        rules::targets_allowed(&project, &made, kind)?;

        (made.id, made.created_at) = (project.next_id(), SystemTime::now());
        let mut about = vec![resource(made.id)];
        about.extend(wanted.network.map(|id| Resource { kind: NETWORK, id }));
        about.extend(made.targets.iter().filter_map(|it| Some(Resource { kind: SERVER, id: it.server_id()? })));
        let action = project.start("create_load_balancer", about, Change::Create(made.private_net.take()));
        let answer = Answer::created(&json!({ "load_balancer": project.shown(&made), "action": action }));
        project.load_balancers.insert(made.id, made);
        Ok(answer)
    }

    /// `PUT /load_balancers/{id}`.
    pub(super) fn replace(&self, id: &str, body: &[u8]) -> Result<Answer, Refused> {
        let mut project = self.0.now();
        let id = project::found(&project.load_balancers, id, "load balancer")?.id;
        project.free(resource(id))?;
        let Replaced { name, labels } = parsed(body)?;
        named(&project, Some(id), name.as_deref(), labels.as_ref())?;
        let Some(load_balancer) = project.load_balancers.get_mut(&id) else {
            return Err(Box::new(errors::not_found("load balancer")));
        };
        if let Some(name) = name {
            load_balancer.name = name;
        }
        if let Some(labels) = labels {
            load_balancer.labels = labels;
        }
        let replaced = load_balancer.clone();
        Ok(project::one("load_balancer", project.shown(&replaced)))
    }

    /// `DELETE /load_balancers/{id}`.
    pub(super) fn delete(&self, id: &str) -> Result<Answer, Refused> {
        let mut project = self.0.now();
        let load_balancer = project::found(&project.load_balancers, id, "load balancer")?;
        let (id, protected) = (load_balancer.id, load_balancer.protected);
        if protected {
            return Err(errors::refused(403, "protected", "load balancer deletion is protected"));
        }
        project.free(resource(id))?;
        project.delete(id);
        Ok(Answer::no_content())
    }

    /// `POST /load_balancers/{id}/actions/{command}`.
    pub(super) fn act(&self, id: &str, command: &str, body: &[u8]) -> Result<Answer, Refused> {
        let mut project = self.0.now();
        let load_balancer = project.present(project::found(&project.load_balancers, id, "load balancer")?);
        let resource = resource(load_balancer.id);
        project.free(resource)?;
        let planned = changes::plan(&project, &load_balancer, command, body)?;
        if let Some(gone) = planned.gone {
            // It is no target any more, although the answer is an error.
            if let Some(it) = project.load_balancers.get_mut(&load_balancer.id) {
                it.targets.retain(|it| it.server_id() != Some(gone));
            }
            return Err(Box::new(errors::invalid("server", &format!("server with ID '{gone}' not found"))));
        }
        let mut about = vec![resource];
        about.extend(planned.with);
        Ok(Answer::created(&json!({ "action": project.start(planned.command, about, planned.change) })))
    }
}

/// `GET /load_balancer_types`.
pub(super) fn kinds(query: &Query) -> Result<Answer, Refused> {
    let name = listing::value(query, "name");
    let shown = Kind::all().iter().filter(|it| name.is_none_or(|name| it.name == name));
    listing::page(query, "load_balancer_types", shown.map(Kind::object).collect())
}

/// `GET /load_balancer_types/{id}`.
pub(super) fn one_kind(id: &str) -> Result<Answer, Refused> {
    let found = Kind::all().iter().find(|it| it.id.to_string() == id);
    let kind = found.ok_or_else(|| Box::new(errors::not_found("load balancer type")))?;
    Ok(project::one("load_balancer_type", kind.object()))
}

fn resource(id: u64) -> Resource {
    Resource { kind: LOAD_BALANCER, id }
}

/// Checks the name and the labels of a load balancer, where a request says them. `id` is its own, if it has one already.
fn named(project: &Project, id: Option<u64>, name: Option<&str>, labels: Option<&Labels>) -> Result<(), Refused> {
    if let Some(name) = name {
        let mut others = project.load_balancers.values().filter(|it| Some(it.id) != id);
        if others.any(|it| it.name == name) || project.is_held(name) {
            return Err(errors::refused(409, "uniqueness_error", "load balancer name is already used"));
        }
    }
    let mut pairs = labels.into_iter().flatten();
    match pairs.find(|(key, value)| !selector::is_key(key) || !selector::is_value(value)) {
        Some((key, _)) => Err(Box::new(errors::invalid("labels", &format!("label {key} is invalid")))),
        None => Ok(()),
    }
}

/// Where a load balancer is to be: in a location, or anywhere in a network zone.
fn location(name: Option<&str>, zone: Option<&str>) -> Result<&'static Location, Refused> {
    let (field, found) = match (name, zone) {
        (Some(name), None) => ("location", Location::find(name)),
        (None, Some(zone)) => ("network_zone", Location::of_zone(zone)),
        _ => return Err(Box::new(errors::invalid("location", "either location or network_zone is needed"))),
    };
    found.ok_or_else(|| Box::new(errors::invalid(field, "there is no such place")))
}
