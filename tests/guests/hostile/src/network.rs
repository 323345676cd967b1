//! Crimes against the network: whatever request a test thinks of. The node's name is the request, as JSON; or it is an annotation of a
//! Service, where the API server takes no such name.

use aerostat_sdk::bindings::host::aerostat::cloud::http::{Body, Error, Request, Response, send};
use aerostat_sdk::{LoadBalancer, Method, Node};
use serde::{Deserialize, Serialize};

use crate::{Answer, report};

/// How much of a body fits into a report.
const BODY_CHARACTERS: usize = 200;

#[derive(Deserialize)]
struct Crime {
    endpoint: String,
    method: String,
    path: Vec<String>,
    #[serde(default)]
    query: Vec<(String, String)>,
    #[serde(default)]
    headers: Vec<(String, String)>,
    body: Option<String>,
    /// How often it is committed within the call. The last outcome is reported.
    times: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    Answered { status: u16, headers: Vec<(String, String)>, length: usize, body: String },
    Denied(String),
    RetryAfter(u32),
    Unreachable(String),
    Interrupted(String),
}

/// `None` if the node's name is no request.
pub(crate) fn run(node: &Node) -> Option<Answer> {
    let crime: Crime = serde_json::from_str(&node.name).ok()?;
    let request = Request {
        endpoint: crime.endpoint,
        method: method(&crime.method)?,
        path: crime.path,
        query: crime.query,
        headers: crime.headers,
        body: crime.body.map(|it| Body::Bytes(it.into_bytes())),
    };
    let mut outcome = None;
    for _ in 0..crime.times {
        outcome = Some(Outcome::from(send(&request)));
    }
    Some(match serde_json::to_string(&outcome) {
        Ok(outcome) => report(outcome),
        Err(error) => report(error),
    })
}

/// The same for a Service's annotation. It is tried again where the host wants it later, as long as there is no token.
pub(crate) fn of_service(desired: &LoadBalancer) -> Option<Answer> {
    let answer = run(&Node::named(desired.annotation("hostile.example/see")?))?;
    Some(answer.map_err(|error| match error {
        aerostat_sdk::Error::Invalid(it) if it.contains("retry-after") => aerostat_sdk::Error::unavailable(it),
        other => other,
    }))
}

fn method(name: &str) -> Option<Method> {
    Some(match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        _ => return None,
    })
}

impl From<Result<Response, Error>> for Outcome {
    fn from(answer: Result<Response, Error>) -> Self {
        match answer {
            Ok(Response { status, headers, body }) => Self::Answered {
                status,
                headers,
                length: body.len(),
                body: String::from_utf8_lossy(&body).chars().take(BODY_CHARACTERS).collect(),
            },
            Err(Error::Denied(text)) => Self::Denied(text),
            Err(Error::RetryAfter(milliseconds)) => Self::RetryAfter(milliseconds),
            Err(Error::Unreachable(text)) => Self::Unreachable(text),
            Err(Error::Interrupted(text)) => Self::Interrupted(text),
        }
    }
}
