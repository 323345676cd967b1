//! Barbican: containers and secrets, by reference.

use http::Method;
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::errors::{self, Refused};
use super::kind::Kind;
use super::world::{World, text};

/// Answers a request whose path is this, below `/key-manager`. What a secret holds is not shown to anybody.
pub(super) fn answer(world: &World, request: &Recorded, path: &[&str]) -> Result<Answer, Refused> {
    let (kind, id) = match (&request.method, path) {
        (&Method::GET, [] | [""]) => {
            return Ok(Answer::ok(&json!({ "versions": { "values": [{ "id": "v1", "status": "stable" }] } })));
        }
        (&Method::GET, ["v1", "containers", id]) => (Kind::Container, *id),
        (&Method::GET, ["v1", "secrets", id]) => (Kind::Secret, *id),
        _ => return Err(errors::barbican(404, "Not Found", "Not Found. Sorry but your resource is not available.")),
    };
    let found = world.get(kind, id).filter(|it| text(it, "project_id") == world.project);
    let Some(found) = found else {
        let what = if kind == Kind::Container { "container" } else { "secret" };
        let message = format!("Not Found. Sorry but your {what} is in another castle.");
        return Err(errors::barbican(404, "Not Found", &message));
    };
    let host = request.headers.get("host").and_then(|it| it.to_str().ok()).unwrap_or("localhost");
    let common = json!({
        "name": found["name"], "status": "ACTIVE", "created": "2026-01-01T00:00:00", "updated": "2026-01-01T00:00:00",
        "creator_id": "aerostat",
    });
    let mut shown = common;
    let own: &[(&str, Value)] = &match kind {
        Kind::Container => [
            ("container_ref", json!(format!("https://{host}/key-manager/v1/containers/{id}"))),
            ("type", json!("certificate")),
            ("secret_refs", found.get("secret_refs").cloned().unwrap_or_else(|| json!([]))),
            ("consumers", json!([])),
        ],
        _ => [
            ("secret_ref", json!(format!("https://{host}/key-manager/v1/secrets/{id}"))),
            ("secret_type", json!("opaque")),
            ("content_types", json!({ "default": "application/octet-stream" })),
            ("expiration", Value::Null),
        ],
    };
    own.iter().for_each(|(key, value)| shown[*key] = value.clone());
    Ok(Answer::ok(&shown))
}
