//! The signature ACS3-HMAC-SHA256, as the cloud computes it again. Pure.
//!
//! "Request structure and signature" (V3) of the documentation of OpenAPI.

use std::time::SystemTime;

use ring::hmac;
use sha2::{Digest as _, Sha256};

use crate::simulator::{Authorization, Recorded};

const ALGORITHM: &str = "ACS3-HMAC-SHA256";
/// Headers that have to be signed.
const NEEDED: [&str; 6] =
    ["host", "x-acs-action", "x-acs-content-sha256", "x-acs-date", "x-acs-signature-nonce", "x-acs-version"];
/// The beginning of headers that all have to be signed.
const OWN: &str = "x-acs-";

/// The claims of a signed request, before its signature is judged.
#[derive(Debug)]
pub(super) struct AcsClaims<'r> {
    /// The id of the key.
    pub(super) key: &'r str,
    pub(super) nonce: &'r str,
    pub(super) date: SystemTime,
    pub(super) session: Option<&'r str>,
    signature: &'r str,
    to_sign: String,
}

impl<'r> AcsClaims<'r> {
    /// Reads what a request says of itself. The error is the reason why its form is wrong.
    pub(super) fn read(request: &'r Recorded) -> Result<Self, String> {
        let Authorization::Judged(value) = &request.authorization else { return Err("it is not signed".to_owned()) };
        let fields = value.strip_prefix(ALGORITHM).and_then(|it| it.strip_prefix(' '));
        let fields: Vec<&str> = fields.ok_or("its authorization names another algorithm")?.split(',').collect();
        let field = |name: &str| {
            let mut found = fields.iter().filter_map(|it| it.trim().strip_prefix(name)?.strip_prefix('='));
            found.next().filter(|it| !it.is_empty()).ok_or_else(|| format!("its authorization has no {name}"))
        };
        let (key, signed, signature) = (field("Credential")?, field("SignedHeaders")?, field("Signature")?);
        let names: Vec<&str> = signed.split(';').collect();
        if !names.is_sorted() || names.iter().any(|it| *it != it.to_lowercase()) {
            return Err("its signed headers are not in order, or not in small letters".to_owned());
        }
        let unsigned = NEEDED.into_iter().find(|it| !names.contains(it));
        let sent = request.headers.keys().map(http::HeaderName::as_str);
        let unsigned = unsigned.or_else(|| sent.into_iter().find(|it| it.starts_with(OWN) && !names.contains(it)));
        if let Some(name) = unsigned {
            return Err(format!("its header {name} is not signed"));
        }
        let content = hex::encode(Sha256::digest(&request.body));
        if header(request, "x-acs-content-sha256")? != content {
            return Err("its header x-acs-content-sha256 is of another body".to_owned());
        }
        let date: jiff::Timestamp =
            header(request, "x-acs-date")?.parse().map_err(|_| "its header x-acs-date holds no time".to_owned())?;
        let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
        let mut canonical = format!("{}\n{path}\n{}\n", request.method, canonical_query(query));
        for name in &names {
            canonical.push_str(&format!("{name}:{}\n", header(request, name)?.trim()));
        }
        canonical.push_str(&format!("\n{signed}\n{content}"));
        Ok(Self {
            key,
            nonce: header(request, "x-acs-signature-nonce")?,
            date: date.into(),
            session: request.headers.get("x-acs-security-token").and_then(|it| it.to_str().ok()),
            signature,
            to_sign: format!("{ALGORITHM}\n{}", hex::encode(Sha256::digest(canonical.as_bytes()))),
        })
    }

    /// Whether it was signed with this secret.
    pub(super) fn is_signed_with(&self, secret: &str) -> bool {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        hex::decode(self.signature).is_ok_and(|it| hmac::verify(&key, self.to_sign.as_bytes(), &it).is_ok())
    }
}

fn header<'r>(request: &'r Recorded, name: &str) -> Result<&'r str, String> {
    let mut values = request.headers.get_all(name).iter();
    let value = values.next().and_then(|it| it.to_str().ok()).ok_or_else(|| format!("it has no header {name}"))?;
    match values.next() {
        None => Ok(value),
        Some(_) => Err(format!("its header {name} stands there twice")),
    }
}

/// The pairs of a query by their names, written again letter by letter.
fn canonical_query(query: &str) -> String {
    let mut pairs: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    pairs.sort();
    let pairs = pairs.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// A text as RFC 3986 writes what is not reserved.
fn encoded(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => written.push(char::from(byte)),
            _ => written.push_str(&format!("%{byte:02X}")),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, HeaderValue, Method};
    use serde_json::Value;

    use crate::simulator::RequestFields;

    use super::*;

    /// Requests that the official SDK for Python has signed.
    const VECTORS: &str = include_str!("../../../../runtime/egress/src/credentials/acs3/vectors.json");

    fn text<'v>(vector: &'v Value, key: &str) -> &'v str {
        vector[key].as_str().unwrap()
    }

    fn request(vector: &Value) -> Recorded {
        let mut headers: HeaderMap = vector["headers"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_bytes(name.as_bytes()).unwrap(),
                    HeaderValue::from_str(value.as_str().unwrap()).unwrap(),
                )
            })
            .collect();
        headers.insert("host", HeaderValue::from_str(text(vector, "host")).unwrap());
        Recorded::from(RequestFields {
            at: SystemTime::now(),
            method: Method::POST,
            path: "/".to_owned(),
            target: text(vector, "target").to_owned(),
            query: Vec::new(),
            headers,
            authorization: Authorization::Judged(text(vector, "authorization").to_owned()),
            body: text(vector, "body").as_bytes().to_vec(),
            status: None,
            fault: None,
            took: None,
        })
    }

    #[test]
    fn signatures_of_the_official_sdk_are_right() {
        let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
        assert!(vectors.len() > 5);
        for vector in &vectors {
            let request = request(vector);
            let claims = AcsClaims::read(&request).unwrap();
            assert_eq!((claims.key, claims.session), (text(vector, "id"), vector["session"].as_str()));
            assert!(claims.is_signed_with(text(vector, "secret")), "{vector}");
            assert!(!claims.is_signed_with("another"), "{vector}");
        }
    }

    #[test]
    fn requests_that_were_changed_are_refused() {
        let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
        let vector = vectors.iter().find(|it| it["name"] == "query and form").unwrap();
        let secret = text(vector, "secret");
        let is_right = |request: &Recorded| AcsClaims::read(request).is_ok_and(|it| it.is_signed_with(secret));
        assert!(is_right(&request(vector)));
        let changes: [fn(&mut Recorded); 7] = [
            |it| it.target.push_str("&a=b"),
            |it| it.body.push(b'x'),
            |it| drop(it.headers.insert("host", HeaderValue::from_static("another.aliyuncs.com"))),
            |it| drop(it.headers.insert("x-acs-action", HeaderValue::from_static("DeleteLoadBalancer"))),
            |it| drop(it.headers.insert("x-acs-security-token", HeaderValue::from_static("added"))),
            |it| _ = it.headers.append("x-acs-action", HeaderValue::from_static("DeleteLoadBalancer")),
            |it| drop(it.headers.remove("x-acs-date")),
        ];
        for (at, change) in changes.into_iter().enumerate() {
            let mut request = request(vector);
            change(&mut request);
            assert!(!is_right(&request), "{at}");
        }
    }
}
