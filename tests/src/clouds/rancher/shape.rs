//! Fields that may stand in bodies and queries.

use serde_json::{Map, Value};

/// The form of a field.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Text,
    Number,
    Object(&'static [Field]),
    /// Anything in an object.
    Free,
    Texts,
    Objects(&'static [Field]),
}

/// A field: its name, its form, and whether it has to be there.
pub(super) type Field = (&'static str, Form, bool);

pub(super) const STACK: &[Field] = &[("name", Form::Text, true), ("externalId", Form::Text, false)];

pub(super) const BALANCER: &[Field] = &[
    ("name", Form::Text, true),
    ("stackId", Form::Text, true),
    ("externalId", Form::Text, false),
    ("launchConfig", Form::Object(&[("ports", Form::Texts, true), ("imageUuid", Form::Text, true)]), true),
    ("lbConfig", Form::Free, true),
];

pub(super) const BALANCER_CHANGE: &[Field] = &[("lbConfig", Form::Free, true)];

pub(super) const RULES: &[Field] = &[
    ("sourcePort", Form::Number, true),
    ("targetPort", Form::Number, true),
    ("serviceId", Form::Text, true),
    ("protocol", Form::Text, true),
];

pub(super) const LINKS: &[Field] = &[("serviceLinks", Form::Objects(&[("serviceId", Form::Text, true)]), true)];

pub(super) const UPGRADE: &[Field] =
    &[("inServiceStrategy", Form::Object(&[("launchConfig", Form::Free, true)]), true)];

pub(super) const EXTERNAL: &[Field] = &[
    ("name", Form::Text, true),
    ("stackId", Form::Text, true),
    ("externalId", Form::Text, false),
    ("externalIpAddresses", Form::Texts, true),
];

pub(super) const EXTERNAL_CHANGE: &[Field] = &[("externalIpAddresses", Form::Texts, true)];

/// The body, and what is wrong in it.
pub(super) fn read(body: &[u8], fields: &[Field]) -> Result<Map<String, Value>, String> {
    let value = serde_json::from_slice(body).map_err(|error| format!("the body is no JSON: {error}"))?;
    check(&value, fields).map_err(|why| format!("the body: {why}"))?;
    match value {
        Value::Object(body) => Ok(body),
        other => Err(format!("the body is no object: {other}")),
    }
}

pub(super) fn check(value: &Value, fields: &[Field]) -> Result<(), String> {
    let Value::Object(object) = value else { return Err(format!("{value} is no object")) };
    if let Some(unknown) = object.keys().find(|it| fields.iter().all(|(name, ..)| name != it)) {
        return Err(format!("there is no field {unknown}"));
    }
    for (name, form, required) in fields {
        match object.get(*name) {
            None if *required => return Err(format!("{name} is missing")),
            None => {}
            Some(value) => form.check(value).map_err(|why| format!("{name}: {why}"))?,
        }
    }
    Ok(())
}

impl Form {
    fn check(self, value: &Value) -> Result<(), String> {
        let is = |is: bool, what: &str| if is { Ok(()) } else { Err(format!("{value} is no {what}")) };
        match (self, value) {
            (Form::Text, _) => is(value.as_str().is_some_and(|it| !it.is_empty()), "text"),
            (Form::Number, _) => is(value.as_u64().is_some_and(|it| (1..=65_535).contains(&it)), "port"),
            (Form::Free, _) => is(value.is_object(), "object"),
            (Form::Object(fields), _) => check(value, fields),
            (Form::Texts, Value::Array(all)) => all.iter().try_for_each(|it| Form::Text.check(it)),
            (Form::Objects(fields), Value::Array(all)) => all.iter().try_for_each(|it| check(it, fields)),
            (Form::Texts | Form::Objects(_), _) => is(false, "list"),
        }
    }
}
