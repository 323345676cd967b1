//! Reads any type from a [`Tree`].

mod parts;

use serde::de::{DeserializeOwned, Deserializer, Error as _, Expected, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use self::parts::{Fields, Items, Members, NULL, Variant, last};
use super::error::JsonError;
use super::tree::Tree;

/// Reads a `T` from JSON that was taken apart or changed before. As `serde_json::from_value`, but with the place in the error,
/// and with less code for each `T`.
///
/// ```
/// use aerostat_sdk::json;
/// use serde_json::json;
///
/// let shown = json!({ "ports": [80, "443"] });
/// let ports = json::read::<Vec<u16>>(&shown["ports"]).unwrap_err();
/// assert_eq!(ports.to_string(), "invalid type: string \"443\", expected u16 at /1");
/// ```
///
/// # Errors
///
/// If it is no `T`.
pub fn read<T: DeserializeOwned>(value: &Value) -> Result<T, JsonError> {
    Tree::of(value).read()
}

impl Tree<'_> {
    /// Reads a `T`.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, JsonError> {
        T::deserialize(self)
    }

    /// Reads a field of an object. Apart from the type that it has, so that a module has it once.
    pub(crate) fn read_field(
        &self,
        name: &str,
        read: &mut dyn FnMut(&Tree<'_>) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        read(self.required(name)?).map_err(|error| error.within(&name))
    }

    /// A field that an object has to have.
    fn required(&self, name: &str) -> Result<&Self, JsonError> {
        self.field(name)?.ok_or_else(|| JsonError::custom(format_args!("missing field `{name}`")))
    }

    /// A field of an object.
    pub(crate) fn field(&self, name: &str) -> Result<Option<&Self>, JsonError> {
        match self {
            Self::Object(fields) => Ok(last(fields, name)),
            _ => Err(self.wrong(&&*format!("an object with the field `{name}`"))),
        }
    }

    /// The items of the list in a field, if it is one.
    pub(crate) fn items(&mut self, name: &str) -> Option<&mut Vec<Self>> {
        let Self::Object(fields) = self else { return None };
        match fields.iter_mut().rev().find(|(it, _)| it == name)? {
            (_, Self::List(items)) => Some(items),
            _ => None,
        }
    }

    /// The first object of the list in a field of which the field `name` has this value, and how many items the list has.
    pub(crate) fn find(&self, list: &str, name: &str, value: &Value) -> Result<(Option<&Self>, usize), JsonError> {
        let items = match self.required(list)? {
            Self::List(items) => items,
            other => return Err(other.wrong(&"a list").within(&list)),
        };
        let value = Tree::of(value);
        for item in items {
            if item.field(name)?.is_some_and(|it| *it == value) {
                return Ok((Some(item), items.len()));
            }
        }
        Ok((None, items.len()))
    }

    /// Whether there is nothing, or null, in the field that these names lead to.
    pub(crate) fn is_null_at(&self, names: &[&str]) -> bool {
        let field = names.iter().try_fold(self, |it, name| it.field(name).ok().flatten());
        field.is_none_or(|it| matches!(it, Self::Null))
    }

    /// The whole number in the field that these names lead to.
    pub(crate) fn count_at(&self, names: &[&str]) -> Option<u64> {
        match names.iter().try_fold(self, |it, name| it.field(name).ok().flatten())? {
            Self::Unsigned(it) => Some(*it),
            _ => None,
        }
    }

    #[cold]
    fn wrong(&self, expected: &dyn Expected) -> JsonError {
        let is = match self {
            // Nobody reads it: the struct tells of the missing field, if it has no default.
            Self::Absent => return JsonError::default(),
            Self::Null => Unexpected::Unit,
            Self::Bool(it) => Unexpected::Bool(*it),
            Self::Unsigned(it) => Unexpected::Unsigned(*it),
            Self::Signed(it) => Unexpected::Signed(*it),
            Self::Float(it) => Unexpected::Float(*it),
            Self::Text(it) => Unexpected::Str(it),
            Self::List(_) => Unexpected::Seq,
            Self::Object(_) => Unexpected::Map,
        };
        JsonError::invalid_type(is, expected)
    }
}

impl<'de> Deserializer<'de> for &'de Tree<'de> {
    type Error = JsonError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        match self {
            Tree::Null => visitor.visit_unit(),
            Tree::Bool(it) => visitor.visit_bool(*it),
            Tree::Unsigned(it) => visitor.visit_u64(*it),
            Tree::Signed(it) => visitor.visit_i64(*it),
            Tree::Float(it) => visitor.visit_f64(*it),
            Tree::Text(it) => visitor.visit_borrowed_str(it),
            Tree::List(_) => self.deserialize_seq(visitor),
            Tree::Object(_) => self.deserialize_map(visitor),
            Tree::Absent => Err(self.wrong(&visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        match self {
            Tree::Null | Tree::Absent => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &str, visitor: V) -> Result<V::Value, JsonError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        match self {
            Tree::List(items) => {
                let mut items = Items::new(items);
                visitor.visit_seq(&mut items).map_err(|error| items.failure(error))
            }
            _ => Err(self.wrong(&visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, JsonError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(self, _: &str, _: usize, visitor: V) -> Result<V::Value, JsonError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        match self {
            Tree::Object(fields) => {
                let mut fields = Fields::new(fields);
                visitor.visit_map(&mut fields).map_err(|error| fields.failure(error))
            }
            _ => Err(self.wrong(&visitor)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, JsonError> {
        match self {
            Tree::Object(fields) => {
                let mut members = Members::new(fields, names);
                match visitor.visit_seq(&mut members) {
                    Ok(_) if members.names.len() > 0 => Err(members.further_name()),
                    read => read.map_err(|error| members.failure(error)),
                }
            }
            _ => Err(self.wrong(&visitor)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(self, _: &str, _: &[&str], visitor: V) -> Result<V::Value, JsonError> {
        match self {
            Tree::Text(name) => visitor.visit_enum(Variant { name, content: NULL }),
            Tree::Object(fields) if fields.len() == 1 => {
                let (name, content) = &fields[0];
                visitor.visit_enum(Variant { name, content })
            }
            _ => Err(self.wrong(&visitor)),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct identifier
        ignored_any
    }
}

#[cfg(test)]
mod tests;
