//! Tokens of Keystone.

use std::time::SystemTime;

use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::state::{ApplicationCredential, State, Token, User, id};
use crate::clouds::openstack::errors::{self, Refused, parsed};
use crate::clouds::openstack::service::Service;

/// Where Keystone says that it is, in refusals.
const HERE: &str = "http://keystone/v3";

/// `POST /v3/auth/tokens`.
pub(super) fn issue(state: &mut State, body: &[u8]) -> Result<Answer, Refused> {
    let body: Value = parsed(body, Service::Identity)?;
    let (identity, scope) = (&body["auth"]["identity"], &body["auth"]["scope"]);
    let method = identity["methods"][0].as_str().unwrap_or_default();
    let now = SystemTime::now();
    let token = match method {
        "password" => {
            let asked = &identity["password"]["user"];
            let user = user(state, asked).filter(|it| it.enabled && asked["password"] == json!(it.password));
            let user = user.ok_or_else(|| errors::unauthorized(HERE))?;
            let project = if *scope == json!("unscoped") { None } else { project(state, user, scope)? };
            Token {
                user: user.id.clone(),
                project,
                method: "password",
                credential: None,
                issued: now,
                expires: now + state.lifetime,
            }
        }
        "application_credential" => {
            let asked = &identity["application_credential"];
            let owner = user(state, &asked["user"]).map(|it| it.id.as_str());
            let named = |known: &&ApplicationCredential| match asked["id"].as_str() {
                Some(id) => known.id == id,
                None => asked["name"] == json!(known.name) && owner == Some(known.user.as_str()),
            };
            let Some(found) = state.credentials.iter().find(named) else {
                let which = asked["id"].as_str().or(asked["name"].as_str()).unwrap_or_default();
                let message = format!("Could not find Application Credential: {which}.");
                return Err(errors::keystone(404, "Not Found", &message));
            };
            let ended = found.expires.is_some_and(|it| it <= now);
            let user = state.users.iter().find(|it| it.id == found.user && it.enabled);
            let Some(user) = user.filter(|_| !ended && asked["secret"] == json!(found.secret)) else {
                return Err(errors::unauthorized(HERE));
            };
            let end = now + state.lifetime;
            Token {
                user: user.id.clone(),
                project: Some(user.project.clone()),
                method: "application_credential",
                credential: Some(found.id.clone()),
                issued: now,
                // The token ends with it.
                expires: found.expires.map_or(end, |it| it.min(end)),
            }
        }
        "token" => {
            let earlier = identity["token"]["id"].as_str().and_then(|it| state.tokens.get(it));
            let earlier = earlier.filter(|it| it.expires > now).ok_or_else(|| errors::unauthorized(HERE))?;
            let user = state.users.iter().find(|it| it.id == earlier.user).ok_or_else(|| errors::unauthorized(HERE))?;
            let project = project(state, user, scope)?;
            Token { project, method: "token", issued: now, ..earlier.clone() }
        }
        _ => return Err(errors::unauthorized(HERE)),
    };
    let value = format!("gAAAAA{}{}", id(), id());
    let mut answer = Answer::created(&json!({ "token": shown(state, &token) }));
    answer.set("x-subject-token", &value);
    answer.set("vary", "X-Auth-Token");
    state.tokens.insert(value, token);
    Ok(answer)
}

/// `GET /v3/auth/tokens`: what a token is, to whoever has it.
pub(super) fn show(state: &State, request: &Recorded) -> Result<Answer, Refused> {
    let subject = request.headers.get("x-subject-token").and_then(|it| it.to_str().ok()).unwrap_or_default();
    match state.tokens.get(subject).filter(|it| it.expires > SystemTime::now()) {
        Some(token) => {
            let mut answer = Answer::ok(&json!({ "token": shown(state, token) }));
            answer.set("x-subject-token", subject);
            Ok(answer)
        }
        None => Err(errors::keystone(404, "Not Found", "Could not find token.")),
    }
}

fn shown(state: &State, token: &Token) -> Value {
    let domain = json!({ "id": "default", "name": "Default" });
    let user = state.users.iter().find(|it| it.id == token.user);
    let mut shown = json!({
        "methods": [token.method],
        "user": {
            "id": token.user, "name": user.map(|it| &it.name), "domain": domain, "password_expires_at": null,
        },
        "audit_ids": [id()[..22]],
        "issued_at": stamp(token.issued),
        "expires_at": stamp(token.expires),
    });
    if let Some(project) = &token.project {
        shown["project"] = json!({ "id": project, "name": state.projects.get(project), "domain": domain });
        shown["is_domain"] = json!(false);
        shown["roles"] = json!([{ "id": id(), "name": "member" }]);
        shown["catalog"] = state.catalog();
    }
    if let Some(credential) = state.credentials.iter().find(|it| Some(&it.id) == token.credential.as_ref()) {
        shown["application_credential"] = json!({ "id": credential.id, "name": credential.name, "restricted": true });
    }
    shown
}

fn user<'a>(state: &'a State, asked: &Value) -> Option<&'a User> {
    let default = asked["domain"]["id"] == json!("default") || asked["domain"]["name"] == json!("Default");
    state.users.iter().find(|user| match asked["id"].as_str() {
        Some(id) => user.id == id,
        None => default && asked["name"] == json!(user.name),
    })
}

/// The project that a scope names, if the user is in it.
fn project(state: &State, user: &User, scope: &Value) -> Result<Option<String>, Refused> {
    let asked = &scope["project"];
    if asked.is_null() {
        return Ok(None);
    }
    let domain = &asked["domain"];
    let default = domain["id"] == json!("default") || domain["name"] == json!("Default");
    let named = |(id, name): &(&String, &String)| match asked["id"].as_str() {
        Some(wanted) => *id == wanted,
        None => default && asked["name"] == json!(name),
    };
    let found = state.projects.iter().find(named).filter(|(id, _)| **id == user.project);
    found.map(|(id, _)| Some(id.clone())).ok_or_else(|| errors::unauthorized(HERE))
}

/// A time as Keystone writes it.
fn stamp(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).expect("the simulator's time is in this era");
    time.strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string()
}
