//! The project's actions, by their ids, and by their resources.

use serde_json::{Value, json};

use crate::simulator::Answer;

use super::action::{Action, Resource};
use super::errors::{self, Refused};
use super::listing::{self, Query};
use super::project::Shared;

/// The actions by id.
#[derive(Clone, Debug)]
pub(super) struct Actions(pub(super) Shared);

impl Actions {
    /// `GET /actions`: those with these ids, and nothing about ids that there are none of.
    pub(super) fn named(&self, query: &Query) -> Result<Answer, Refused> {
        let ids = Vec::from_iter(listing::values(query, "id").filter_map(|it| it.parse::<u64>().ok()));
        if ids.is_empty() {
            return Err(Box::new(errors::invalid("id", "missing data for required field")));
        }
        Ok(Answer::ok(&json!({ "actions": self.shown(|it| ids.contains(&it.id)) })))
    }

    /// `GET /actions/{id}`.
    pub(super) fn one(&self, id: &str) -> Result<Answer, Refused> {
        let id: Option<u64> = id.parse().ok();
        match self.shown(|it| Some(it.id) == id).pop() {
            Some(action) => Ok(Answer::ok(&json!({ "action": action }))),
            None => Err(Box::new(errors::not_found("action"))),
        }
    }

    /// `GET /load_balancers/{id}/actions` and the like: those about one resource.
    pub(super) fn of(&self, kind: &'static str, id: &str, query: &Query) -> Result<Answer, Refused> {
        let Ok(id) = id.parse() else { return Err(Box::new(errors::not_found(kind))) };
        self.page(query, |it| it.resources.contains(&Resource { kind, id }))
    }

    /// `GET /load_balancers/actions` and the like: those about one kind of resource.
    pub(super) fn of_kind(&self, kind: &'static str, query: &Query) -> Result<Answer, Refused> {
        let ids = Vec::from_iter(listing::values(query, "id").filter_map(|it| it.parse::<u64>().ok()));
        let chosen = |it: &Action| ids.is_empty() || ids.contains(&it.id);
        self.page(query, |it| chosen(it) && it.resources.iter().any(|it| it.kind == kind))
    }

    fn page(&self, query: &Query, which: impl Fn(&Action) -> bool) -> Result<Answer, Refused> {
        let statuses = Vec::from_iter(listing::values(query, "status"));
        let chosen = |it: &Action| statuses.is_empty() || statuses.contains(&it.status());
        listing::page(query, "actions", self.shown(|it| which(it) && chosen(it)))
    }

    /// The objects of some actions, which count as read.
    fn shown(&self, which: impl Fn(&Action) -> bool) -> Vec<Value> {
        let mut project = self.0.now();
        let objects = project.actions().filter(|it| which(it)).map(Action::object).collect();
        project.read(which);
        objects
    }
}
