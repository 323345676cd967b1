//! The parts of a [`Tree`] that a type is read from: items of lists, fields of objects, and cases of enums.

use std::borrow::Cow;
use std::slice;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    Deserialize as _, DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

use crate::json::error::JsonError;
use crate::json::tree::Tree;

/// The content of what has none.
pub(super) const NULL: &Tree<'static> = &Tree::Null;
/// The value of a field that is missing.
const ABSENT: &Tree<'static> = &Tree::Absent;

/// The items of a list.
pub(super) struct Items<'de> {
    left: slice::Iter<'de, Tree<'de>>,
    /// How many were read, and whether the last of them was none any more.
    read: usize,
    is_over: bool,
}

impl<'de> Items<'de> {
    pub(super) fn new(items: &'de [Tree<'de>]) -> Self {
        Self { left: items.iter(), read: 0, is_over: false }
    }

    fn advance(&mut self) -> Option<&'de Tree<'de>> {
        let item = self.left.next();
        self.is_over = item.is_none();
        self.read += 1;
        item
    }

    /// The error, with the item that it is in.
    #[cold]
    pub(super) fn failure(&self, error: JsonError) -> JsonError {
        if self.read == 0 || self.is_over { error } else { error.within(&(self.read - 1)) }
    }
}

/// Without a hint of their number: lists of all types would have the code that makes room.
impl<'de> SeqAccess<'de> for &mut Items<'de> {
    type Error = JsonError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, JsonError> {
        match self.advance() {
            Some(item) => seed.deserialize(item).map(Some),
            None => Ok(None),
        }
    }
}

/// The fields of a struct in their order, each looked for in an object. The compiler writes less for a struct that is read so than
/// for one that is read in the order of the object.
pub(super) struct Members<'de> {
    fields: &'de [(Cow<'de, str>, Tree<'de>)],
    pub(super) names: slice::Iter<'static, &'static str>,
    /// The field that was read last.
    name: &'static str,
    /// Whether the object lacks it.
    is_missing: bool,
}

impl<'de> Members<'de> {
    pub(super) fn new(fields: &'de [(Cow<'de, str>, Tree<'de>)], names: &'static [&'static str]) -> Self {
        Self { fields, names: names.iter(), name: "", is_missing: false }
    }

    fn advance(&mut self) -> Option<&'de Tree<'de>> {
        self.name = self.names.next()?;
        let found = last(self.fields, self.name);
        self.is_missing = found.is_none();
        Some(found.unwrap_or(ABSENT))
    }

    /// The error of a struct that has more names than fields.
    #[cold]
    pub(super) fn further_name(&self) -> JsonError {
        JsonError::custom(format_args!("a field has a further name by serde's alias, near `{}`", self.name))
    }

    /// The error, with the field that it is in. Where one without a default is missing, a struct says that too few fields follow.
    #[cold]
    pub(super) fn failure(&self, error: JsonError) -> JsonError {
        if self.is_missing { JsonError::missing_field(self.name) } else { error.within(&self.name) }
    }
}

impl<'de> SeqAccess<'de> for &mut Members<'de> {
    type Error = JsonError;

    /// `None` stands for a field that is missing, and a struct has its default then.
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, JsonError> {
        let Some(value) = self.advance() else { return Ok(None) };
        match seed.deserialize(value) {
            Ok(read) => Ok(Some(read)),
            Err(_) if self.is_missing => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The value of the last of an object's fields with this name.
pub(super) fn last<'a, 't>(fields: &'a [(Cow<'t, str>, Tree<'t>)], name: &str) -> Option<&'a Tree<'t>> {
    fields.iter().rev().find(|(it, _)| it == name).map(|(_, it)| it)
}

/// The fields of an object.
pub(super) struct Fields<'de> {
    left: slice::Iter<'de, (Cow<'de, str>, Tree<'de>)>,
    /// The field whose name was read last.
    field: (&'de str, &'de Tree<'de>),
    /// Whether its value is read.
    is_inside: bool,
}

impl<'de> Fields<'de> {
    pub(super) fn new(fields: &'de [(Cow<'de, str>, Tree<'de>)]) -> Self {
        Self { left: fields.iter(), field: ("", NULL), is_inside: false }
    }

    fn advance(&mut self) -> Option<&'de str> {
        self.is_inside = false;
        let (name, value) = self.left.next()?;
        self.field = (name, value);
        Some(name)
    }

    /// The error, with the field that it is in.
    #[cold]
    pub(super) fn failure(&self, error: JsonError) -> JsonError {
        if self.is_inside { error.within(&self.field.0) } else { error }
    }
}

impl<'de> MapAccess<'de> for &mut Fields<'de> {
    type Error = JsonError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, JsonError> {
        self.advance().map(|it| seed.deserialize(FieldKey(it))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, JsonError> {
        self.is_inside = true;
        seed.deserialize(self.field.1)
    }
}

/// The name of a field: a text, or a number where a map has numbers for keys.
struct FieldKey<'de>(&'de str);

impl<'de> FieldKey<'de> {
    fn number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        match (self.0.parse::<u64>(), self.0.parse::<i64>()) {
            (Ok(it), _) => visitor.visit_u64(it),
            (_, Ok(it)) => visitor.visit_i64(it),
            _ => visitor.visit_borrowed_str(self.0),
        }
    }
}

macro_rules! numbers {
    ($($method:ident)+) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
            self.number(visitor)
        }
    )+ };
}

impl<'de> Deserializer<'de> for FieldKey<'de> {
    type Error = JsonError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, JsonError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &str, visitor: V) -> Result<V::Value, JsonError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(self, _: &str, _: &[&str], visitor: V) -> Result<V::Value, JsonError> {
        visitor.visit_enum(BorrowedStrDeserializer::new(self.0))
    }

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    forward_to_deserialize_any! {
        bool i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

/// A case of an enum, and its content. A name alone is a case without content.
pub(super) struct Variant<'de> {
    pub(super) name: &'de str,
    pub(super) content: &'de Tree<'de>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = JsonError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), JsonError> {
        seed.deserialize(FieldKey(self.name)).map(|it| (it, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = JsonError;

    fn unit_variant(self) -> Result<(), JsonError> {
        <()>::deserialize(self.content)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, JsonError> {
        seed.deserialize(self.content).map_err(|error| error.within(&self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, JsonError> {
        self.content.deserialize_seq(visitor).map_err(|error| error.within(&self.name))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, JsonError> {
        self.content.deserialize_struct("", names, visitor).map_err(|error| error.within(&self.name))
    }
}
