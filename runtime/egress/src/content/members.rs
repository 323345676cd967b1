//! Reads a JSON body once, front to back, and stops at the first member that may not stand. It keeps the names of the
//! objects that are open, and nothing else.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::canonical::shown;

/// How deep objects and arrays may lie within each other.
const NESTING: usize = 32;
/// The most members of all objects of a body: two hundred targets with some members each, and room.
const MEMBERS: usize = 10_000;
/// The largest body that is read.
const BYTES: usize = 1 << 20;

/// Whether a body is an object that has some of these members, each named by the names that lead to it, and no others.
/// Anything may be below them. The error is a sentence without its full stop.
pub(super) fn admit(fields: Vec<&[String]>, body: &[u8]) -> Result<(), String> {
    if body.len() > BYTES {
        return Err(format!("its JSON body has more than {BYTES} bytes, the most that a rule with `fields` allows"));
    }
    let mut state = BodyState { members: 0, found: false, because: None };
    let mut json = serde_json::Deserializer::from_slice(body);
    let read = Value { depth: 0, fields: Some(fields), path: "", state: &mut state }.deserialize(&mut json);
    match read.and_then(|()| json.end()) {
        Ok(()) if state.found => Ok(()),
        Ok(()) => Err("its JSON body has none of the members that `fields` names".to_owned()),
        Err(error) => Err(state.because.unwrap_or_else(|| {
            format!("its body cannot be read as JSON (line {}, column {})", error.line(), error.column())
        })),
    }
}

/// The state of reading the whole body.
struct BodyState {
    members: usize,
    /// A member that `fields` names was there.
    found: bool,
    /// Why the body is refused.
    because: Option<String>,
}

/// A value somewhere in the body.
struct Value<'a, 'n> {
    depth: usize,
    /// The names that lead from here to members that may stand; `None` where all may.
    fields: Option<Vec<&'a [String]>>,
    /// The names that have led here.
    path: &'n str,
    state: &'n mut BodyState,
}

impl Value<'_, '_> {
    fn refuse<E: Error>(&mut self, because: String) -> E {
        self.state.because = Some(because);
        E::custom("refused")
    }

    /// Something that has no members.
    fn plain<E: Error>(mut self) -> Result<(), E> {
        match self.fields {
            None => Ok(()),
            Some(_) => {
                let at = if self.path.is_empty() { "its JSON body".to_owned() } else { shown(self.path) };
                Err(self.refuse(format!("{at} is no JSON object, and `fields` of the rule names members of it")))
            }
        }
    }

    fn nest<E: Error>(&mut self) -> Result<(), E> {
        if self.depth < NESTING {
            return Ok(());
        }
        Err(self.refuse(format!("its JSON body is nested deeper than {NESTING}")))
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.plain()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.plain()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.plain()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.plain()
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.plain()
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.plain()
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.nest()?;
        if self.fields.is_some() {
            return self.plain();
        }
        let depth = self.depth + 1;
        while items.next_element_seed(Value { depth, fields: None, path: "", state: &mut *self.state })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        self.nest()?;
        let mut names = BTreeSet::new();
        while let Some(name) = members.next_key::<String>()? {
            self.state.members += 1;
            if self.state.members > MEMBERS {
                return Err(self.refuse(format!("its JSON body has more than {MEMBERS} members")));
            }
            // A name that cannot stand here ends it before anything is kept of it.
            let (path, fields) = match &self.fields {
                None => (String::new(), None),
                Some(all) => {
                    let below: Vec<_> =
                        all.iter().filter_map(|it| it.strip_prefix(std::slice::from_ref(&name))).collect();
                    let path = if self.path.is_empty() { name.clone() } else { format!("{}.{name}", self.path) };
                    if below.is_empty() {
                        let member = shown(&path);
                        return Err(self.refuse(format!("the member {member} of its JSON body is not one of `fields`")));
                    }
                    let is_named = below.iter().any(|it| it.is_empty());
                    self.state.found |= is_named;
                    (path, (!is_named).then_some(below))
                }
            };
            let below = Value { depth: self.depth + 1, fields, path: &path, state: &mut *self.state };
            if names.contains(&name) {
                let name = shown(&name);
                return Err(self.refuse(format!("the member {name} stands twice in an object of its JSON body")));
            }
            names.insert(name);
            members.next_value_seed(below)?;
        }
        Ok(())
    }
}
