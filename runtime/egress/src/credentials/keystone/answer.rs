//! Keystone's answers: a token with its catalogue, or a refusal. Pure.

use std::time::Duration;

use http::HeaderMap;
use serde::Deserialize;
use zeroize::Zeroizing;

use super::super::token_source::GivenToken;
use crate::catalog::{Catalog, CatalogEntry};

/// The largest answer that is read.
pub(super) const ANSWER_BYTES: usize = 1 << 20;
/// The most URLs of a catalogue: a hundred services in fifteen regions.
const ENTRIES: usize = 5_000;
/// The longest token; those of Fernet have some 200 bytes.
const TOKEN_BYTES: usize = 8 << 10;
/// The longest word of a catalogue that is kept.
const WORD_BYTES: usize = 2 << 10;
/// The longest message of a refusal that is repeated.
const MESSAGE_CHARACTERS: usize = 200;

#[derive(Deserialize)]
struct TokenBody {
    token: TokenInBody,
}

#[derive(Deserialize)]
struct TokenInBody {
    expires_at: String,
    issued_at: String,
    user: ObjectWithId,
    project: Option<ObjectWithId>,
    #[serde(default)]
    catalog: Vec<ServiceInBody>,
}

#[derive(Deserialize)]
struct ObjectWithId {
    id: String,
}

#[derive(Deserialize)]
struct ServiceInBody {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    endpoints: Vec<EndpointInBody>,
}

#[derive(Deserialize)]
struct EndpointInBody {
    interface: String,
    region: Option<String>,
    region_id: Option<String>,
    url: String,
}

/// The token in the head and body of a success. The error continues "the answer of Keystone", and holds nothing of it.
pub(super) fn given(headers: &HeaderMap, body: &[u8]) -> Result<GivenToken, String> {
    let mut tokens = headers.get_all("x-subject-token").iter();
    let token = match (tokens.next(), tokens.next()) {
        (Some(one), None) => one.to_str().unwrap_or_default(),
        (None, _) => return Err("has no header X-Subject-Token; look whether `baseUrl` leads to Keystone".to_owned()),
        (Some(_), Some(_)) => return Err("has the header X-Subject-Token twice".to_owned()),
    };
    if token.is_empty() || token.len() > TOKEN_BYTES || !token.bytes().all(|it| it.is_ascii_graphic()) {
        return Err(format!("has a token that is empty, longer than {TOKEN_BYTES} bytes, or not visible ASCII"));
    }
    let read: Result<TokenBody, _> = serde_json::from_slice(body);
    let body = read.map_err(|error| {
        let (line, column) = (error.line(), error.column());
        format!("is not what its API describes (line {line}, column {column})")
    })?;
    let TokenInBody { expires_at, issued_at, user, project, catalog } = body.token;
    let time = |text: &str| text.parse::<jiff::Timestamp>().map_err(|_| "has a time that is none".to_owned());
    let lasts = time(&expires_at)?.duration_since(time(&issued_at)?);
    let lasts = Duration::try_from(lasts).ok().filter(|it| !it.is_zero());
    let lasts = lasts.ok_or("has a token that had ended when it was given")?;
    let count: usize = catalog.iter().map(|it| it.endpoints.len()).sum();
    if count > ENTRIES {
        return Err(format!("has a catalogue of more than {ENTRIES} URLs"));
    }
    let mut entries = Vec::with_capacity(count);
    for service in catalog {
        for EndpointInBody { interface, region, region_id, url } in service.endpoints {
            let region = region.or(region_id).unwrap_or_default();
            let entry = CatalogEntry { service: service.kind.clone(), interface, region, url };
            let CatalogEntry { service, interface, region, url } = &entry;
            if [service, interface, region, url].iter().any(|it| it.len() > WORD_BYTES) {
                return Err(format!("has a word of more than {WORD_BYTES} bytes in its catalogue"));
            }
            entries.push(entry);
        }
    }
    Ok(GivenToken {
        token: Zeroizing::new(token.to_owned()),
        lasts,
        catalog: Catalog { entries },
        account: [Some(user.id), project.map(|it| it.id)].into_iter().flatten().collect(),
    })
}

/// Keystone's own words in the body of a refusal, if it has any.
pub(super) fn message(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct KeystoneRefusal {
        error: RefusalWords,
    }
    #[derive(Deserialize)]
    struct RefusalWords {
        message: String,
    }
    let refusal: KeystoneRefusal = serde_json::from_slice(body).ok()?;
    Some(cloud_provider::printable(refusal.error.message.trim_end_matches('.'), MESSAGE_CHARACTERS))
}
