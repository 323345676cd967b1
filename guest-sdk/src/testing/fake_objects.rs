//! Objects of a cloud in memory, with ids that the cloud gives, and actions that take their time.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fake_cloud::FakeMoment;
use super::protocol::CloudObject;

/// The objects of one kind, by ids that the cloud gives: `lb-1`, `lb-2`, and no id again.
#[derive(Clone, Debug)]
pub struct FakeObjects {
    kind: &'static str,
    prefix: &'static str,
    given: u64,
    objects: BTreeMap<String, FakeObject>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct FakeObject {
    /// Its name, which need not be unique; empty where it has none.
    pub name: String,
    /// The fields that requests can change.
    pub body: Value,
    /// Whether it was made while lists lagged.
    is_late: bool,
}

impl FakeObjects {
    /// None of this kind, as in "load balancer", with ids that begin with `prefix`.
    #[must_use]
    pub fn new(kind: &'static str, prefix: &'static str) -> Self {
        Self { kind, prefix, given: 0, objects: BTreeMap::new() }
    }

    /// Makes one, and returns the id that it gets.
    pub fn make(&mut self, name: impl Into<String>, body: Value, moment: FakeMoment) -> String {
        self.given += 1;
        let id = format!("{}{}", self.prefix, self.given);
        self.put(&id, name, body, moment);
        id
    }

    /// Makes one under an id that its maker chose, or replaces what has this id.
    pub fn put(&mut self, id: &str, name: impl Into<String>, body: Value, moment: FakeMoment) {
        let is_late = self.objects.get(id).map_or(moment.lists_lag, |it| it.is_late);
        self.objects.insert(id.to_owned(), FakeObject { name: name.into(), body, is_late });
    }

    /// The one with this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&FakeObject> {
        self.objects.get(id)
    }

    /// The one with this id, to be changed.
    pub fn get_mut(&mut self, id: &str) -> Option<&mut FakeObject> {
        self.objects.get_mut(id)
    }

    /// Takes one away. Returns whether it was there.
    pub fn remove(&mut self, id: &str) -> bool {
        self.objects.remove(id).is_some()
    }

    /// Those that a list shows at this moment, by their ids.
    pub fn listed(&self, moment: FakeMoment) -> impl Iterator<Item = (&str, &FakeObject)> {
        self.all().filter(move |(_, it)| !(moment.lists_lag && it.is_late))
    }

    /// All of them, by their ids.
    pub fn all(&self) -> impl Iterator<Item = (&str, &FakeObject)> {
        self.objects.iter().map(|(id, it)| (id.as_str(), it))
    }

    /// All of them, for [`FakeCloud::objects`](super::FakeCloud::objects).
    #[must_use]
    pub fn shown(&self) -> Vec<CloudObject> {
        let object = |(id, it): (&str, &FakeObject)| CloudObject {
            kind: self.kind.to_owned(),
            id: id.to_owned(),
            name: it.name.clone(),
            body: it.body.clone(),
        };
        self.all().map(object).collect()
    }
}

/// The actions of a cloud: what it does after it has answered. While one runs, its object is busy.
#[derive(Clone, Debug, Default)]
pub struct FakeActions(Vec<FakeAction>);

#[derive(Clone, Debug)]
struct FakeAction {
    object: String,
    ends: u64,
}

impl FakeActions {
    /// Begins one that takes so many seconds, and returns its id.
    pub fn begin(&mut self, object: &str, seconds: u64, moment: FakeMoment) -> String {
        self.0.push(FakeAction { object: object.to_owned(), ends: moment.now + seconds });
        format!("action-{}", self.0.len())
    }

    /// Whether it is done; `None` if no action has this id.
    #[must_use]
    pub fn is_done(&self, id: &str, moment: FakeMoment) -> Option<bool> {
        let number: usize = id.strip_prefix("action-")?.parse().ok()?;
        Some(self.0.get(number.checked_sub(1)?)?.ends <= moment.now)
    }

    /// Whether an action on this object is running.
    #[must_use]
    pub fn is_busy(&self, object: &str, moment: FakeMoment) -> bool {
        self.0.iter().any(|it| it.object == object && it.ends > moment.now)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: FakeMoment = FakeMoment { now: 7, lists_lag: false };
    const LATE: FakeMoment = FakeMoment { now: 7, lists_lag: true };

    #[test]
    fn an_id_is_given_once() {
        let mut objects = FakeObjects::new("load balancer", "lb-");
        assert_eq!(objects.make("web", json!({}), NOW), "lb-1");
        assert!(objects.remove("lb-1") && !objects.remove("lb-1"));
        assert_eq!(objects.make("web", json!({}), NOW), "lb-2");
        assert_eq!(objects.shown()[0].id, "lb-2");
    }

    #[test]
    fn lists_that_lag_leave_out_what_is_made_meanwhile() {
        let mut objects = FakeObjects::new("load balancer", "lb-");
        objects.make("early", json!({}), NOW);
        objects.make("late", json!({}), LATE);
        objects.put("lb-1", "early", json!({ "port": 80 }), LATE);
        let names = |moment| objects.listed(moment).map(|(_, it)| it.name.clone()).collect::<Vec<_>>();
        assert_eq!((names(LATE), names(NOW)), (vec!["early".to_owned()], vec!["early".to_owned(), "late".to_owned()]));
    }

    #[test]
    fn an_action_is_done_when_its_time_has_passed() {
        let mut actions = FakeActions::default();
        let id = actions.begin("lb-1", 2, NOW);
        let later = FakeMoment { now: 9, ..NOW };
        assert_eq!([NOW, later].map(|it| actions.is_done(&id, it)), [Some(false), Some(true)]);
        assert_eq!([NOW, later].map(|it| actions.is_busy("lb-1", it)), [true, false]);
        assert_eq!((actions.is_done("action-2", NOW), actions.is_done("action-0", NOW)), (None, None));
        assert!(!actions.is_busy("lb-2", NOW));
    }
}
