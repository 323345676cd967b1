//! Tags of Neutron's objects, which have paths of their own.

use http::Method;
use serde_json::{Value, json};

use crate::simulator::Answer;

use super::objects::{found, no_path, write};
use crate::clouds::openstack::errors::{self, Refused};
use crate::clouds::openstack::kind::Kind;
use crate::clouds::openstack::world::World;

/// Answers a request for the tags of an object, or for one of them.
pub(super) fn answer(
    world: &mut World,
    method: &Method,
    (kind, id): (Kind, &str),
    rest: &[&str],
    body: &Value,
) -> Result<Answer, Refused> {
    let mut tags = found(world, kind, id)?["tags"].as_array().cloned().unwrap_or_default();
    let answer = match (method, rest) {
        (&Method::GET, []) => return Ok(Answer::ok(&json!({ "tags": tags }))),
        (&Method::PUT, []) => {
            tags = body["tags"].as_array().cloned().unwrap_or_default();
            Answer::ok(&json!({ "tags": tags }))
        }
        (&Method::DELETE, []) => {
            tags.clear();
            Answer::no_content()
        }
        (&Method::PUT, [tag]) => {
            if !tags.contains(&json!(tag)) {
                tags.push(json!(tag));
            }
            let mut created = Answer::no_content();
            created.status = http::StatusCode::CREATED;
            created
        }
        (&Method::DELETE, [tag]) => {
            let place = tags
                .iter()
                .position(|it| it == tag)
                .ok_or_else(|| errors::neutron(404, "TagNotFound", &format!("Tag {tag} could not be found.")))?;
            tags.remove(place);
            Answer::no_content()
        }
        _ => return Err(no_path()),
    };
    write(world, None, (kind, id), &[("tags", Value::Array(tags))])?;
    Ok(answer)
}
