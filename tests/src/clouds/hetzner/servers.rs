//! The project's servers: what lists and single look-ups show of them.

use serde_json::Value;

use crate::simulator::Answer;

use super::errors::Refused;
use super::listing::{self, Filter, Query};
use super::project::{self, Project, Shared};
use super::server::Server;

/// The servers by id. Tests change them at any time; the next answer shows it.
#[derive(Clone, Debug)]
pub struct Servers(pub(super) Shared);

impl Servers {
    /// Adds a server, in the place of one with the same id.
    pub fn insert(&self, server: Server) {
        self.0.now().servers.insert(server.id, server);
    }

    /// Takes a server away: from now on there is none with this id.
    pub fn remove(&self, id: u64) -> Option<Server> {
        self.0.now().servers.remove(&id)
    }

    /// Takes all servers away.
    pub fn clear(&self) {
        self.0.now().servers.clear();
    }

    /// Changes a server.
    ///
    /// # Panics
    ///
    /// Panics if there is none with this id.
    pub fn update(&self, id: u64, change: impl FnOnce(&mut Server)) {
        let mut project = self.0.now();
        change(project.servers.get_mut(&id).unwrap_or_else(|| panic!("there is no server {id} to change")));
    }

    /// A copy of a server as it is now.
    #[must_use]
    pub fn get(&self, id: u64) -> Option<Server> {
        self.0.now().servers.get(&id).cloned()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.now().servers.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.now().servers.is_empty()
    }

    /// `GET /servers/{id}`.
    pub(super) fn one(&self, id: &str) -> Result<Answer, Refused> {
        let project = self.0.now();
        let server = project::found(&project.servers, id, "server")?;
        Ok(project::one("server", shown(&project, server)))
    }

    /// `GET /servers`.
    pub(super) fn page(&self, query: &Query) -> Result<Answer, Refused> {
        let filter = Filter::new(query)?;
        let project = self.0.now();
        let shows = |it: &&Server| it.listed && filter.shows(&it.name, &it.labels, Some(it.status.word()));
        let all = project.servers.values().filter(shows).map(|it| shown(&project, it));
        listing::page(query, "servers", all.collect())
    }
}

fn shown(project: &Project, server: &Server) -> Value {
    server.object(&project.balancers(|it| it.targets.iter().any(|it| it.server_id() == Some(server.id))))
}
