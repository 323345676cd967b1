//! One object of a list, looked for in the text: `{ "servers": [{ "id": 7 }, …] }`.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Of the list in the field `name` the first object in which the field `field` has this value, and the value of the field
/// `second`: null, if there is none. Nothing is kept of the other objects, which saves most of the time that a long list takes.
pub(super) fn find(
    name: &str,
    second: Option<&str>,
    (field, value): (&str, &Value),
    body: &[u8],
) -> serde_json::Result<(Option<Value>, Value)> {
    let first = First(With { field, value });
    Field { name, second, first }.deserialize(&mut serde_json::Deserializer::from_slice(body))
}

struct Field<'a> {
    name: &'a str,
    second: Option<&'a str>,
    first: First<'a>,
}

impl<'de> DeserializeSeed<'de> for Field<'_> {
    type Value = (Option<Value>, Value);

    fn deserialize<D: Deserializer<'de>>(self, object: D) -> Result<Self::Value, D::Error> {
        object.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Field<'_> {
    type Value = (Option<Value>, Value);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with the field `{}`", self.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let (mut found, mut second) = (None, Value::Null);
        while let Some(name) = fields.next_key::<String>()? {
            if name == self.name {
                found = Some(fields.next_value_seed(self.first)?);
            } else if self.second == Some(&*name) {
                second = fields.next_value()?;
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        let missing = || A::Error::custom(format_args!("missing field `{}`", self.name));
        Ok((found.ok_or_else(missing)?, second))
    }
}

/// The first object with a value, of a list.
#[derive(Clone, Copy)]
struct First<'a>(With<'a>);

/// An object, if its field has this value.
#[derive(Clone, Copy)]
struct With<'a> {
    field: &'a str,
    value: &'a Value,
}

impl<'de> DeserializeSeed<'de> for First<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, list: D) -> Result<Self::Value, D::Error> {
        list.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for First<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while let Some(found) = items.next_element_seed(self.0)? {
            if found.is_some() {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(found);
            }
        }
        Ok(None)
    }
}

impl<'de> DeserializeSeed<'de> for With<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, object: D) -> Result<Self::Value, D::Error> {
        object.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for With<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let value = fields.next_value()?;
            if name == self.field && value != *self.value {
                while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                return Ok(None);
            }
            object.insert(name, value);
        }
        Ok(object.contains_key(self.field).then_some(Value::Object(object)))
    }
}
