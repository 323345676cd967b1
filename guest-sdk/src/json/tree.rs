//! A JSON text as a tree.
//!
//! The compiler writes a deserialiser once for each type and each form that is read. From text alone, that is a third of a
//! module. So text is read as a tree, and every other type from the tree, in `read.rs`.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

/// A JSON value. Its texts are borrowed wherever nothing is escaped in them.
#[derive(Debug, PartialEq)]
pub(crate) enum Tree<'a> {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(Cow<'a, str>),
    List(Vec<Self>),
    /// In the order of the text, where a name may be there twice.
    Object(Vec<(Cow<'a, str>, Self)>),
    /// The value of a field that an object lacks: no part of a text.
    Absent,
}

impl<'a> Tree<'a> {
    /// The value that a text is.
    pub(crate) fn parse(text: &'a [u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(text)
    }

    /// The value that a text begins with.
    pub(crate) fn beginning(text: &'a [u8]) -> serde_json::Result<Self> {
        Self::deserialize(&mut serde_json::Deserializer::from_slice(text))
    }

    /// The same value.
    pub(crate) fn of(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(it) => Self::Bool(*it),
            Value::Number(it) => Self::number(it),
            Value::String(it) => Self::Text(Cow::Borrowed(it)),
            Value::Array(items) => Self::List(items.iter().map(Self::of).collect()),
            Value::Object(fields) => {
                Self::Object(fields.iter().map(|(name, it)| (Cow::Borrowed(&**name), Self::of(it))).collect())
            }
        }
    }

    fn number(number: &Number) -> Self {
        let whole = number.as_u64().map(Self::Unsigned).or_else(|| number.as_i64().map(Self::Signed));
        whole.unwrap_or_else(|| Self::Float(number.as_f64().unwrap_or(f64::NAN)))
    }
}

impl<'de> Deserialize<'de> for Tree<'de> {
    fn deserialize<D: Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        text.deserialize_any(Growing)
    }
}

/// Makes a tree.
struct Growing;

impl<'de> Visitor<'de> for Growing {
    type Value = Tree<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Tree<'de>, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree<'de>, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree<'de>, E> {
        Ok(Tree::Unsigned(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree<'de>, E> {
        Ok(Tree::Signed(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree<'de>, E> {
        Ok(Tree::Float(value))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Tree<'de>, E> {
        Ok(Tree::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree<'de>, E> {
        Ok(Tree::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Tree<'de>, A::Error> {
        let mut object = Vec::new();
        while let Some(BorrowedName(name)) = fields.next_key()? {
            object.push((name, fields.next_value()?));
        }
        Ok(Tree::Object(object))
    }
}

/// The name of a field.
#[derive(serde::Deserialize)]
struct BorrowedName<'a>(#[serde(borrow)] Cow<'a, str>);
