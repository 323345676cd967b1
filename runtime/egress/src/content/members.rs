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

/// A member that may stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member<'a> {
    /// The names that lead to it.
    pub(super) path: &'a [String],
    /// The texts of which it is one, and then it has to be there; without them it may be anything.
    pub(super) texts: Option<&'a [String]>,
}

/// Whether a body is an object that has some of these members and no others, and all of those that have texts, each with one of them.
/// The error is a sentence without its full stop. It names no value of the body.
pub(super) fn admit(members: Vec<Member<'_>>, body: &[u8]) -> Result<(), String> {
    if body.len() > BYTES {
        return Err(format!("its JSON body has more than {BYTES} bytes, the most that a rule with `fields` allows"));
    }
    let missing: Vec<_> = members.iter().filter(|it| it.texts.is_some()).map(|it| it.path).collect();
    let mut state = BodyState { members: 0, found: false, missing, because: None };
    let mut json = serde_json::Deserializer::from_slice(body);
    let read = Value { depth: 0, may_be: MayBe::Members(members), path: "", state: &mut state }.deserialize(&mut json);
    match read.and_then(|()| json.end()) {
        Ok(()) if let Some(path) = state.missing.first() => {
            Err(format!("its JSON body lacks the member {}, which `body` of the rule names", shown(&path.join("."))))
        }
        Ok(()) if state.found => Ok(()),
        Ok(()) => Err("its JSON body has none of the members that `fields` names".to_owned()),
        Err(error) => Err(state.because.unwrap_or_else(|| {
            format!("its body cannot be read as JSON (line {}, column {})", error.line(), error.column())
        })),
    }
}

/// The state of reading the whole body.
struct BodyState<'a> {
    members: usize,
    /// A member that `fields` or `body` names was there.
    found: bool,
    /// The members that have texts and were not there yet.
    missing: Vec<&'a [String]>,
    /// Why the body is refused.
    because: Option<String>,
}

/// A value somewhere in the body.
struct Value<'a, 'n> {
    depth: usize,
    may_be: MayBe<'a>,
    /// The names that have led here.
    path: &'n str,
    state: &'n mut BodyState<'a>,
}

/// What a value may be.
enum MayBe<'a> {
    Anything,
    /// An object that has these members alone. Their paths lead on from here.
    Members(Vec<Member<'a>>),
    /// One of these texts.
    Text(&'a [String]),
}

impl Value<'_, '_> {
    fn refuse<E: Error>(&mut self, because: String) -> E {
        self.state.because = Some(because);
        E::custom("refused")
    }

    /// Something that has no members. `text` is empty where it is no text.
    fn plain<E: Error>(mut self, text: Option<&str>) -> Result<(), E> {
        match &self.may_be {
            MayBe::Anything => Ok(()),
            MayBe::Text(texts) if text.is_some_and(|it| texts.iter().any(|one| one == it)) => Ok(()),
            MayBe::Text(texts) => {
                let because = format!(
                    "the member {} of its JSON body is not one of the texts that `body` lets stand, {}",
                    shown(self.path),
                    texts.join(", ")
                );
                Err(self.refuse(because))
            }
            MayBe::Members(_) => {
                let at = if self.path.is_empty() { "its JSON body".to_owned() } else { shown(self.path) };
                Err(self.refuse(format!("{at} is no JSON object, and the rule names members of it")))
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

impl<'de, 'a> Visitor<'de> for Value<'a, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.plain(None)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.plain(None)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.plain(None)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.plain(None)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.plain(Some(text))
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.plain(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.nest()?;
        if !matches!(self.may_be, MayBe::Anything) {
            return self.plain(None);
        }
        let depth = self.depth + 1;
        let may_be = || MayBe::Anything;
        while items.next_element_seed(Value { depth, may_be: may_be(), path: "", state: &mut *self.state })?.is_some() {
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        self.nest()?;
        if matches!(self.may_be, MayBe::Text(_)) {
            return self.plain(None);
        }
        let mut names = BTreeSet::new();
        while let Some(name) = members.next_key::<String>()? {
            self.state.members += 1;
            if self.state.members > MEMBERS {
                return Err(self.refuse(format!("its JSON body has more than {MEMBERS} members")));
            }
            // A name that cannot stand here ends it before anything is kept of it.
            let (path, may_be) = match &self.may_be {
                MayBe::Anything | MayBe::Text(_) => (String::new(), MayBe::Anything),
                MayBe::Members(all) => {
                    let below = |member: &Member<'a>| {
                        let rest = member.path.strip_prefix(std::slice::from_ref(&name));
                        rest.map(|path| Member { path, ..*member })
                    };
                    let below: Vec<_> = all.iter().filter_map(below).collect();
                    let path = if self.path.is_empty() { name.clone() } else { format!("{}.{name}", self.path) };
                    if below.is_empty() {
                        let member = shown(&path);
                        return Err(self.refuse(format!("the member {member} of its JSON body is not one of `fields`")));
                    }
                    let named = below.iter().find(|it| it.path.is_empty()).copied();
                    self.state.found |= named.is_some();
                    let may_be = match named {
                        None => MayBe::Members(below),
                        Some(Member { texts: None, .. }) => MayBe::Anything,
                        Some(Member { texts: Some(texts), .. }) => {
                            self.state.missing.retain(|it| it.join(".") != path);
                            MayBe::Text(texts)
                        }
                    };
                    (path, may_be)
                }
            };
            let below = Value { depth: self.depth + 1, may_be, path: &path, state: &mut *self.state };
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
