//! The project's private networks, and their routes.

use serde_json::json;

use crate::simulator::Answer;

use super::action::Resource;
use super::errors::{self, Refused, parsed};
use super::listing::{self, Filter, Query};
use super::network::{Network, Route};
use super::project::{self, Change, NETWORK, Shared};

/// The networks by id. Tests change them at any time; the next answer shows it.
#[derive(Clone, Debug)]
pub struct Networks(pub(super) Shared);

impl Networks {
    /// Adds a network, in the place of one with the same id.
    pub fn insert(&self, network: Network) {
        self.0.now().networks.insert(network.id, network);
    }

    /// Takes a network away: from now on there is none with this id.
    pub fn remove(&self, id: u64) -> Option<Network> {
        self.0.now().networks.remove(&id)
    }

    /// Changes a network.
    ///
    /// # Panics
    ///
    /// Panics if there is none with this id.
    pub fn update(&self, id: u64, change: impl FnOnce(&mut Network)) {
        let mut project = self.0.now();
        change(project.networks.get_mut(&id).unwrap_or_else(|| panic!("there is no network {id} to change")));
    }

    /// A copy of a network as it is now.
    #[must_use]
    pub fn get(&self, id: u64) -> Option<Network> {
        self.0.now().networks.get(&id).cloned()
    }

    /// The routes of a network in the order of their destinations' text; none if it is gone.
    #[must_use]
    pub fn routes(&self, id: u64) -> Vec<Route> {
        let mut routes = self.get(id).map(|it| it.routes).unwrap_or_default();
        routes.sort();
        routes
    }

    /// `GET /networks/{id}`.
    pub(super) fn one(&self, id: &str) -> Result<Answer, Refused> {
        let mut project = self.0.now();
        let network = project::found(&project.networks, id, "network")?;
        let (id, object) = (network.id, project.shown_network(network));
        project.read(|it| it.changes(Resource { kind: NETWORK, id }));
        Ok(project::one("network", object))
    }

    /// `GET /networks`.
    pub(super) fn page(&self, query: &Query) -> Result<Answer, Refused> {
        let filter = Filter::new(query)?;
        let project = self.0.now();
        let all = project.networks.values().filter(|it| filter.shows(&it.name, &it.labels, None));
        listing::page(query, "networks", all.map(|it| project.shown_network(it)).collect())
    }

    /// `POST /networks/{id}/actions/{command}`.
    pub(super) fn act(&self, id: &str, command: &str, body: &[u8]) -> Result<Answer, Refused> {
        let mut project = self.0.now();
        let network = project::found(&project.networks, id, "network")?;
        let resource = Resource { kind: NETWORK, id: network.id };
        let route: Route = parsed(body)?;
        project.free(resource)?;
        let (command, change) = match command {
            "add_route" => {
                network.takes(&route, project.behaviour.routes)?;
                ("add_route", Change::AddRoute(route))
            }
            "delete_route" => {
                if !network.routes.contains(&route) {
                    return Err(Box::new(errors::not_found("route")));
                }
                ("delete_route", Change::DeleteRoute(route))
            }
            _ => return Err(Box::new(errors::not_found("command"))),
        };
        Ok(Answer::created(&json!({ "action": project.start(command, vec![resource], change) })))
    }
}
