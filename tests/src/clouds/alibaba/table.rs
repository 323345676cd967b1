//! Objects of one kind, in the order in which they were made.

use std::time::{Duration, SystemTime};

use serde_json::Value;

/// Objects by id, each a JSON object in the words of the API, and the time at which it came to be.
#[derive(Debug, Default)]
pub struct Table(Vec<AcsObject>);

#[derive(Debug)]
struct AcsObject {
    id: String,
    made: SystemTime,
    body: Value,
}

impl Table {
    /// Adds an object.
    pub(super) fn put(&mut self, id: &str, made: SystemTime, body: Value) {
        self.0.push(AcsObject { id: id.to_owned(), made, body });
    }

    /// One by its id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Value> {
        self.0.iter().find(|it| it.id == id).map(|it| &it.body)
    }

    /// One, for a change.
    pub fn get_mut(&mut self, id: &str) -> Option<&mut Value> {
        self.0.iter_mut().find(|it| it.id == id).map(|it| &mut it.body)
    }

    /// Takes one away.
    pub fn remove(&mut self, id: &str) -> Option<Value> {
        let at = self.0.iter().position(|it| it.id == id)?;
        Some(self.0.remove(at).body)
    }

    /// Takes all away that are so.
    pub fn remove_all(&mut self, is: impl Fn(&Value) -> bool) {
        self.0.retain(|it| !is(&it.body));
    }

    /// All, with their ids.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|it| (it.id.as_str(), &it.body))
    }

    /// Those whose field has this value.
    pub fn of<'a>(&'a self, field: &'a str, value: &'a str) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.all().filter(move |(_, it)| it[field] == *value)
    }

    /// Those that a list shows which lags by so much.
    pub(super) fn listed(&self, now: SystemTime, late: Duration) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().filter(move |it| it.made + late <= now).map(|it| (it.id.as_str(), &it.body))
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }
}
