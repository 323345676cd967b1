//! Alibaba Cloud's signature ACS3-HMAC-SHA256, in the headers of a request. Pure, but for a fresh number.
//!
//! The form: "Request structure and signature" (V3) of the documentation of OpenAPI. No key is derived of a day: the secret itself signs.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use ring::rand::SecureRandom as _;
use ring::{digest, hmac, rand};
use zeroize::Zeroizing;

use super::super::authenticated::Authenticated;
use super::super::secret::Secret;
use super::super::signing::SigningKeys;
use crate::endpoint::AcsVersion;
use crate::policy::Permitted;

const ALGORITHM: &str = "ACS3-HMAC-SHA256";
/// The beginning of the names of headers that say what a request is. All of them are signed.
const OWN: &str = "x-acs-";
const VERSION: HeaderName = HeaderName::from_static("x-acs-version");
const DATE: HeaderName = HeaderName::from_static("x-acs-date");
const NONCE: HeaderName = HeaderName::from_static("x-acs-signature-nonce");
const CONTENT: HeaderName = HeaderName::from_static("x-acs-content-sha256");
const SESSION: HeaderName = HeaderName::from_static("x-acs-security-token");

/// The request that is signed: all of it that will leave.
struct AcsSignable<'a> {
    method: &'a str,
    host: &'a str,
    /// Path and query, encoded as they go out.
    target: &'a str,
    headers: &'a HeaderMap,
    body: &'a [u8],
}

/// Signs a request. `generation` is the version of the credential, and `now` the cloud's time. The error is a sentence without
/// its full stop.
pub(super) fn signed(
    permitted: Permitted,
    keys: &SigningKeys,
    version: &AcsVersion,
    generation: u64,
    now: SystemTime,
) -> Result<Authenticated, String> {
    let origin = permitted.origin().ok_or("the request cannot be signed: nobody knows yet where it goes")?;
    let host = origin.authority();
    let signable = AcsSignable {
        method: permitted.method().as_str(),
        host: host.as_str(),
        target: permitted.target(),
        headers: permitted.headers(),
        body: permitted.body(),
    };
    let (headers, signature) = headers(&signable, keys, version, &nonce()?, now)?;
    let mut secrets = keys.secrets().to_vec();
    // A signature lets its holder send the same request once, for some minutes.
    secrets.push(Arc::new(Secret::new(Zeroizing::new(signature))));
    let authenticated = Authenticated::new(permitted, generation, secrets);
    Ok(headers.into_iter().fold(authenticated, |it, (name, value)| it.with_header(name, value)))
}

/// A number that no other request has.
fn nonce() -> Result<String, String> {
    let mut bytes = [0; 16];
    let filled = rand::SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| "the request cannot be signed: the system gives no random numbers".to_owned())?;
    Ok(hex(&bytes))
}

/// The headers that sign a request, and the signature in them.
fn headers(
    request: &AcsSignable<'_>,
    keys: &SigningKeys,
    version: &AcsVersion,
    nonce: &str,
    now: SystemTime,
) -> Result<(Vec<(HeaderName, HeaderValue)>, String), String> {
    let failed = |error: &dyn std::fmt::Display| format!("the request cannot be signed: {error}");
    let now = jiff::Timestamp::try_from(now).map_err(|error| failed(&error))?;
    let content = sha256(request.body);
    let value = |text: &str| HeaderValue::from_str(text).map_err(|error| failed(&error));
    let mut headers = vec![
        (VERSION, value(version.as_str())?),
        (DATE, value(&now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())?),
        (NONCE, value(nonce)?),
        (CONTENT, value(&content)?),
    ];
    if let Some(session) = keys.session() {
        headers.push((SESSION, value(session)?));
    }
    let own = HeaderValue::from_str(request.host).map_err(|error| failed(&error))?;
    let given = request.headers.iter().filter(|(name, _)| is_signed(name) && !headers.iter().any(|it| it.0 == **name));
    let mut signed: Vec<(&str, &HeaderValue)> = given.map(|(name, value)| (name.as_str(), value)).collect();
    signed.push((HOST.as_str(), &own));
    signed.extend(headers.iter().map(|(name, value)| (name.as_str(), value)));
    signed.sort_unstable_by_key(|(name, _)| *name);
    let names = signed.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let mut canonical = Zeroizing::new(String::new());
    let (path, query) = request.target.split_once('?').unwrap_or((request.target, ""));
    let _ = writeln!(canonical, "{}\n{path}\n{}", request.method, canonical_query(query));
    for (name, value) in signed {
        let value = value.to_str().map_err(|error| failed(&error))?;
        let _ = writeln!(canonical, "{name}:{}", value.trim());
    }
    let _ = write!(canonical, "\n{names}\n{content}");
    let to_sign = format!("{ALGORITHM}\n{}", sha256(canonical.as_bytes()));
    let key = hmac::Key::new(hmac::HMAC_SHA256, keys.secret().as_bytes());
    let signature = hex(hmac::sign(&key, to_sign.as_bytes()).as_ref());
    let authorization = format!("{ALGORITHM} Credential={},SignedHeaders={names},Signature={signature}", keys.id());
    headers.push((AUTHORIZATION, value(&authorization)?));
    Ok((headers, signature))
}

fn is_signed(name: &HeaderName) -> bool {
    name.as_str().starts_with(OWN) || *name == CONTENT_TYPE
}

/// A query with its names in order: `Id.1` stands before `Id.10`, so that it is names that are compared, without what follows them.
fn canonical_query(query: &str) -> String {
    let mut pairs: Vec<(&str, &str)> =
        query.split('&').filter(|it| !it.is_empty()).map(|it| it.split_once('=').unwrap_or((it, ""))).collect();
    let plain = |name: &str| percent_encoding::percent_decode_str(name).collect::<Vec<u8>>();
    pairs.sort_by_cached_key(|(name, value)| (plain(name), plain(value)));
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// Requests that the official SDK for Python has signed; `tests/alibaba/record_signatures.py` records them.
    const VECTORS: &str = include_str!("vectors.json");

    #[derive(Deserialize)]
    struct Vector {
        name: String,
        id: String,
        secret: String,
        session: Option<String>,
        method: String,
        host: String,
        target: String,
        headers: std::collections::BTreeMap<String, String>,
        body: String,
        authorization: String,
    }

    fn vectors() -> Vec<Vector> {
        serde_json::from_str(VECTORS).unwrap()
    }

    /// The signature of a vector's request by its keys. What the host sets itself is taken from the headers of the vector.
    fn authorization(vector: &Vector) -> String {
        let set = |name: HeaderName| vector.headers[name.as_str()].as_str();
        let host_sets = [VERSION, DATE, NONCE, CONTENT, SESSION];
        let given = vector.headers.iter().filter(|(name, _)| !host_sets.iter().any(|it| it.as_str() == *name));
        let given: HeaderMap = given
            .map(|(name, value)| {
                (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
            })
            .collect();
        let request = AcsSignable {
            method: &vector.method,
            host: &vector.host,
            target: &vector.target,
            headers: &given,
            body: vector.body.as_bytes(),
        };
        let keys = SigningKeys::new(&vector.id, &vector.secret, vector.session.as_deref(), None, "test").unwrap();
        let now: jiff::Timestamp = set(DATE).parse().unwrap();
        let version = AcsVersion::parse(set(VERSION)).unwrap();
        let (headers, _) = headers(&request, &keys, &version, set(NONCE), now.into()).unwrap();
        for (name, value) in headers.iter().filter(|(name, _)| *name != AUTHORIZATION) {
            assert_eq!(value, vector.headers[name.as_str()].as_str(), "{}: {name}", vector.name);
        }
        let (_, value) = headers.iter().find(|(name, _)| *name == AUTHORIZATION).unwrap();
        value.to_str().unwrap().to_owned()
    }

    #[test]
    fn signatures_are_those_of_the_official_sdk() {
        let vectors = vectors();
        for vector in &vectors {
            assert_eq!(authorization(vector), vector.authorization, "{}", vector.name);
        }
        for name in ["query", "names in order", "form", "session", "unicode", "empty values"] {
            assert!(vectors.iter().any(|it| it.name == name), "{name}");
        }
    }

    #[test]
    fn another_byte_anywhere_is_another_signature() {
        let changes: [fn(&mut Vector); 6] = [
            |it| it.target.push_str("&a=b"),
            |it| it.body.push('x'),
            |it| it.host.push('x'),
            |it| it.secret.push('x'),
            |it| it.method = "GET".to_owned(),
            |it| drop(it.headers.insert("x-acs-action".to_owned(), "DeleteInstance".to_owned())),
        ];
        for change in changes {
            let mut vector = vectors().into_iter().find(|it| it.name == "names in order").unwrap();
            let body = vector.body.clone();
            change(&mut vector);
            if vector.body != body {
                vector.headers.insert(CONTENT.to_string(), sha256(vector.body.as_bytes()));
            }
            assert_ne!(authorization(&vector), vector.authorization);
        }
    }

    #[test]
    fn each_request_has_a_number_of_its_own() {
        let (first, second) = (nonce().unwrap(), nonce().unwrap());
        assert!(first != second && first.len() == 32 && first.bytes().all(|it| it.is_ascii_hexdigit()));
    }
}
