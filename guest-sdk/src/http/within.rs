//! Answers that hold an object in a field: `{ "server": { … } }`.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// The value of the field `name` of the JSON object in `body`.
pub(super) fn read<T: DeserializeOwned>(name: &str, body: &[u8]) -> serde_json::Result<T> {
    read_both(name, None, body).map(|(found, _)| found)
}

/// The same, and the value of the field `second`: null, if there is none.
pub(super) fn read_both<T: DeserializeOwned>(
    name: &str,
    second: Option<&str>,
    body: &[u8],
) -> serde_json::Result<(T, Value)> {
    Field { name, second, of: PhantomData }.deserialize(&mut serde_json::Deserializer::from_slice(body))
}

struct Field<'a, T> {
    name: &'a str,
    second: Option<&'a str>,
    of: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for Field<'_, T> {
    type Value = (T, Value);

    fn deserialize<D: Deserializer<'de>>(self, object: D) -> Result<Self::Value, D::Error> {
        object.deserialize_map(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Field<'_, T> {
    type Value = (T, Value);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with the field `{}`", self.name)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let (mut found, mut second) = (None, Value::Null);
        while let Some(name) = fields.next_key::<String>()? {
            if name == self.name {
                found = Some(fields.next_value()?);
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
