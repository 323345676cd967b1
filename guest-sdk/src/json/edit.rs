//! Changes fields of an object that a cloud replaces as a whole, and keeps all others.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Error, Result};

/// The JSON of a GET, with changes, for a PUT: fields that the provider does not know are sent back as they came.
///
/// A place is a JSON pointer (RFC 6901): "/properties/probes". Objects on the way to it are made where they are missing.
///
/// ```
/// use aerostat_sdk::json::Edit;
/// use serde_json::json;
///
/// let shown = json!({ "etag": "7", "sku": { "name": "Standard" }, "properties": { "probes": [{ "name": "a", "port": 80 }] } });
/// let mut edit = Edit::new(shown);
/// edit.set_item("/properties/probes", "name", &json!({ "name": "b", "port": 81 }))?;
/// edit.set("/tags/owner", &"kubernetes")?;
/// edit.remove("/etag");
/// assert!(edit.is_changed());
/// let probes = json!([{ "name": "a", "port": 80 }, { "name": "b", "port": 81 }]);
/// let body = json!({ "sku": { "name": "Standard" }, "properties": { "probes": probes }, "tags": { "owner": "kubernetes" } });
/// assert_eq!(json!(edit), body);
/// # Ok::<_, aerostat_sdk::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Edit {
    before: Value,
    after: Value,
}

impl Edit {
    /// Nothing is changed yet.
    #[must_use]
    pub fn new(shown: Value) -> Self {
        Self { before: shown.clone(), after: shown }
    }

    /// Whether the PUT would change anything.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.before != self.after
    }

    /// The value at a place.
    #[must_use]
    pub fn get(&self, place: &str) -> Option<&Value> {
        self.after.pointer(place)
    }

    /// Puts `value` at a place. Where both are objects, fields that `value` does not have stay.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], if `value` cannot be JSON; [`Error::Unavailable`], if something that is no object is in the way.
    pub fn set(&mut self, place: &str, value: &impl Serialize) -> Result<()> {
        let value = json(place, value)?;
        merge(self.make(place)?, value);
        Ok(())
    }

    /// Puts `item` into the list at a place: over the item with the same `key`, of which other fields stay, or at its end.
    ///
    /// # Errors
    ///
    /// As [`Self::set`]; [`Error::Unavailable`] also, if there is no list.
    pub fn set_item(&mut self, place: &str, key: &str, item: &impl Serialize) -> Result<()> {
        let item = json(place, item)?;
        let items = self.items(place)?;
        match items.iter_mut().find(|it| it.get(key) == item.get(key)) {
            Some(same) => merge(same, item),
            None => items.push(item),
        }
        Ok(())
    }

    /// Takes away the items of the list at a place that `is_unwanted` names.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`], if there is something else than a list.
    pub fn remove_items(&mut self, place: &str, is_unwanted: impl Fn(&Value) -> bool) -> Result<()> {
        if self.get(place).is_some() {
            self.items(place)?.retain(|it| !is_unwanted(it));
        }
        Ok(())
    }

    /// Takes away what is at a place, if there is anything.
    pub fn remove(&mut self, place: &str) {
        let Some((parent, name)) = place.rsplit_once('/') else { return };
        if let Some(Value::Object(fields)) = self.after.pointer_mut(parent) {
            fields.remove(&unescaped(name));
        }
    }

    fn items(&mut self, place: &str) -> Result<&mut Vec<Value>> {
        let list = self.make(place)?;
        if list.is_null() {
            *list = Value::Array(Vec::new());
        }
        list.as_array_mut()
            .ok_or_else(|| Error::unavailable(format_args!("the object of the cloud has no list at {place}")))
    }

    /// The value at a place: null, if it was not there.
    fn make(&mut self, place: &str) -> Result<&mut Value> {
        let mut value = &mut self.after;
        for name in place.split('/').skip(1) {
            if value.is_null() {
                *value = Value::Object(Map::new());
            }
            let Value::Object(fields) = value else {
                return Err(Error::unavailable(format_args!(
                    "the object of the cloud has no fields on the way to {place}"
                )));
            };
            value = fields.entry(unescaped(name)).or_insert(Value::Null);
        }
        Ok(value)
    }
}

impl Serialize for Edit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.after.serialize(serializer)
    }
}

fn json(place: &str, value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value)
        .map_err(|error| Error::invalid(format_args!("what belongs at {place} cannot be written as JSON: {error}")))
}

/// Fields of objects are merged, at any depth; everything else takes the place of what was there.
fn merge(old: &mut Value, new: Value) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (name, value) in new {
                merge(old.entry(name).or_insert(Value::Null), value);
            }
        }
        (old, new) => *old = new,
    }
}

fn unescaped(name: &str) -> String {
    name.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_equal_value_is_no_change() {
        let mut edit = Edit::new(json!({ "a": { "b": 1, "c": [2] } }));
        edit.set("/a", &json!({ "b": 1 })).unwrap();
        edit.set("/a/c", &[2]).unwrap();
        assert!(!edit.is_changed());
        edit.set("/a/c", &[3]).unwrap();
        assert!(edit.is_changed());
        assert_eq!(json!(edit), json!({ "a": { "b": 1, "c": [3] } }));
    }

    #[test]
    fn an_item_keeps_the_fields_that_are_not_set() {
        let mut edit = Edit::new(json!({ "rules": [{ "name": "a", "port": 80, "etag": "7" }, { "name": "other" }] }));
        edit.set_item("/rules", "name", &json!({ "name": "a", "port": 81 })).unwrap();
        edit.remove_items("/rules", |it| it["name"] == "other").unwrap();
        assert_eq!(json!(edit), json!({ "rules": [{ "name": "a", "port": 81, "etag": "7" }] }));
    }

    #[test]
    fn a_value_in_the_way_is_an_error() {
        let mut edit = Edit::new(json!({ "a": 1 }));
        assert!(matches!(edit.set("/a/b", &2), Err(Error::Unavailable(_))));
        assert!(matches!(edit.set_item("/a", "name", &json!({})), Err(Error::Unavailable(_))));
        assert!(!edit.is_changed());
    }

    #[test]
    fn names_in_a_pointer_are_unescaped() {
        let mut edit = Edit::new(json!({}));
        edit.set("/tags/a~1b", &"c").unwrap();
        assert_eq!(edit.get("/tags/a~1b"), Some(&json!("c")));
        edit.remove("/tags/a~1b");
        edit.remove("/nothing/there");
        edit.remove_items("/nothing", |_| true).unwrap();
        assert_eq!(json!(edit), json!({ "tags": {} }));
    }
}
