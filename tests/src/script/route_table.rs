//! The routes of a script's cloud, and what becomes of changes of them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::failure::Failure;
use super::hold::Held;

/// A route of a script's cloud.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Route {
    /// Its destination, as it is spelled.
    pub destination: String,
    /// To what it leads.
    pub next_hop: String,
    /// Its name.
    pub id: String,
    /// `ours`, `unmarked` or `foreign`.
    pub ownership: String,
    /// `active`, or `blackhole` where packets go nowhere.
    pub state: String,
}

/// The routes of a script's cloud, and what becomes of questions about them.
#[derive(Debug, Default)]
pub(super) struct Routes {
    pub(super) routes: Vec<Route>,
    pub(super) list_takes: Duration,
    /// The answer to a list instead.
    pub(super) list_failure: Option<Failure>,
    /// The answers to changes instead, by destination.
    pub(super) failures: BTreeMap<String, Failure>,
    /// The request that is not answered.
    pub(super) held: Option<Held>,
}

impl Route {
    /// A route that carries no mark.
    #[must_use]
    pub fn new(destination: &str, next_hop: &str) -> Route {
        Route {
            destination: destination.to_owned(),
            next_hop: next_hop.to_owned(),
            id: format!("route to {destination}"),
            ownership: "unmarked".to_owned(),
            state: "active".to_owned(),
        }
    }

    /// The same, which leads nowhere any more.
    #[must_use]
    pub fn blackhole(self) -> Route {
        Route { state: "blackhole".to_owned(), ..self }
    }

    /// The same, as somebody else's.
    #[must_use]
    pub fn foreign(self) -> Route {
        Route { ownership: "foreign".to_owned(), ..self }
    }
}

/// One change of a route, as the guest asks for it.
#[derive(Debug, Deserialize)]
pub(super) struct Change {
    pub(super) destination: String,
    pub(super) before: Option<Before>,
    pub(super) after: Option<After>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Before {
    id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct After {
    pub(super) next_hop: String,
}

impl Routes {
    fn has(&self, destination: &str) -> bool {
        self.routes.iter().any(|it| it.destination == destination)
    }

    /// The answer to a change, which it makes in the routes.
    pub(super) fn apply(&mut self, change: Change) -> Value {
        if let Some(error) = self.failures.get_mut(&change.destination).and_then(Failure::next) {
            return error.words().unwrap_or_else(|| invalid("there is no such route"));
        }
        let before = change.before.as_ref();
        let place = before.and_then(|it| self.routes.iter().position(|route| route.id == it.id));
        if let Some(place) = place {
            self.routes.remove(place);
        } else if before.is_some() && (change.after.is_some() || self.has(&change.destination)) {
            return invalid("another route is there");
        }
        let Some(After { next_hop }) = change.after else { return json!("done") };
        let new = Route { ownership: "ours".to_owned(), ..Route::new(&change.destination, &next_hop) };
        match self.routes.iter().find(|it| it.destination == new.destination) {
            Some(there) if there.next_hop == new.next_hop => {}
            Some(_) => return invalid("another route is there"),
            None => self.routes.push(new),
        }
        json!("done")
    }
}

fn invalid(text: &str) -> Value {
    json!({ "invalid": { "text": text } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Error;

    fn change(destination: &str, before: Option<&str>, after: Option<&str>) -> Change {
        Change {
            destination: destination.to_owned(),
            before: before.map(|it| Before { id: it.to_owned() }),
            after: after.map(|it| After { next_hop: it.to_owned() }),
        }
    }

    #[test]
    fn a_change_is_made_only_if_what_was_expected_is_there() {
        let mut routes = Routes::default();
        let to = "10.244.1.0/24";
        assert_eq!(routes.apply(change(to, None, Some("1"))), "done");
        assert_eq!(routes.apply(change(to, None, Some("1"))), "done", "it is there");
        assert_eq!(routes.apply(change(to, None, Some("2"))), invalid("another route is there"));
        let id = routes.routes[0].id.clone();
        assert_eq!(routes.apply(change(to, Some("other"), Some("2"))), invalid("another route is there"));
        assert_eq!(routes.apply(change(to, Some(&id), Some("2"))), "done");
        assert_eq!(routes.routes[0].next_hop, "2");
        assert_eq!(routes.apply(change(to, Some("other"), None)), invalid("another route is there"));
        assert_eq!(routes.apply(change(to, Some(&id), None)), "done");
        assert_eq!(routes.apply(change(to, Some(&id), None)), "done", "it is gone");
        assert!(routes.routes.is_empty());
        let failure = Failure { error: Error::Unavailable("quota".to_owned()), count: Some(1) };
        routes.failures.insert(to.to_owned(), failure);
        assert_eq!(routes.apply(change(to, None, Some("1"))), json!({ "unavailable": { "text": "quota" } }));
        assert_eq!(routes.apply(change(to, None, Some("1"))), "done");
    }
}
