//! AWS's Signature Version 4, in the headers of a request. Pure.

use std::time::SystemTime;

use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use zeroize::Zeroizing;

use super::super::authenticated::Authenticated;
use super::super::secret::Secret;
use super::super::signing::SigningKeys;
use crate::endpoint::RegionName;
use crate::policy::Permitted;

/// The request that is signed: all of it that will leave.
struct Signable<'a> {
    method: &'a str,
    /// Scheme, host, path and query, encoded as they go out.
    url: &'a str,
    headers: &'a HeaderMap,
    body: &'a [u8],
}

/// Signs a request. `generation` is the version of the credential, and `now` the cloud's time. The error is a sentence without
/// its full stop.
pub(super) fn signed(
    permitted: Permitted,
    keys: &SigningKeys,
    region: &RegionName,
    service: &str,
    generation: u64,
    now: SystemTime,
) -> Result<Authenticated, String> {
    let url = permitted.url();
    let signable = Signable {
        method: permitted.method().as_str(),
        url: &url,
        headers: permitted.headers(),
        body: permitted.body(),
    };
    let headers = headers(&signable, keys, region, service, now)?;
    let mut secrets = keys.secrets().to_vec();
    for (_, value) in headers.iter().filter(|(name, _)| *name == http::header::AUTHORIZATION) {
        // Whoever has it can send the same request again, for some minutes.
        let signature = value.to_str().ok().and_then(|it| it.rsplit_once("Signature="));
        secrets.extend(signature.map(|(_, it)| Secret::new(Zeroizing::new(it.to_owned())).into()));
    }
    let authenticated = Authenticated::new(permitted, generation, secrets);
    Ok(headers.into_iter().fold(authenticated, |it, (name, value)| it.with_header(name, value)))
}

/// The headers that sign a request: `authorization`, `x-amz-date`, and `x-amz-security-token` where the keys have a session.
fn headers(
    request: &Signable<'_>,
    keys: &SigningKeys,
    region: &RegionName,
    service: &str,
    now: SystemTime,
) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("the request cannot be signed: {error}");
    let session = keys.session().map(|it| it.to_string());
    let secret = keys.secret().to_string();
    let identity =
        aws_credential_types::Credentials::new(keys.id(), secret, session, keys.expires(), "aerostat").into();
    let params = SigningParams::builder()
        .identity(&identity)
        .region(region.as_str())
        .name(service)
        .time(now)
        .settings(SigningSettings::default())
        .build()
        .map_err(|error| failed(&error))?;
    let given = request.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    let signable = SignableRequest::new(request.method, request.url, given, SignableBody::Bytes(request.body))
        .map_err(|error| failed(&error))?;
    let (instructions, _) = sign(signable, &params.into()).map_err(|error| failed(&error))?.into_parts();
    let header = |(name, value): (&str, &str)| {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| failed(&error))?;
        Ok((name, HeaderValue::from_str(value).map_err(|error| failed(&error))?))
    };
    instructions.headers().map(header).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::RegionName;

    /// Requests of AWS's own test suite with their signatures. Which, and how they were made: the file's first lines.
    const VECTORS: &str = include_str!("vectors.txt");

    fn keys(id: &str, session: Option<&str>) -> SigningKeys {
        let secret = match id {
            "ANOTREAL" => "notrealrnrELgWzOk3IfjzDKtFBhDby",
            _ => "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        };
        SigningKeys::new(id, secret, session, None, "test").unwrap()
    }

    /// One vector: its name, then the signed request.
    fn check(vector: &str) {
        let (name, rest) = vector.split_once('\n').unwrap();
        let (head, body) = rest.split_once("\n\n").unwrap();
        let mut lines = head.lines();
        let mut first = lines.next().unwrap().split(' ');
        let (method, target) = (first.next().unwrap(), first.next().unwrap());
        let (mut headers, mut expected, mut date, mut session, mut host) = (HeaderMap::new(), "", "", None, "");
        for line in lines {
            let (header, value) = line.split_once(':').unwrap();
            match header.to_ascii_lowercase().as_str() {
                "authorization" => expected = value.trim(),
                "x-amz-date" => date = value,
                "x-amz-security-token" => session = Some(value),
                "host" => host = value,
                header => {
                    let header = HeaderName::from_bytes(header.as_bytes()).unwrap();
                    headers.insert(header, HeaderValue::from_str(value).unwrap());
                }
            }
        }
        // Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request
        let scope: Vec<_> = expected.split('/').collect();
        let keys = keys(scope[0].rsplit('=').next().unwrap(), session);
        let region = RegionName::parse(scope[2]).unwrap();
        let now = format!(
            "{}-{}-{}T{}:{}:{}Z",
            &date[..4],
            &date[4..6],
            &date[6..8],
            &date[9..11],
            &date[11..13],
            &date[13..15]
        );
        let now: jiff::Timestamp = now.parse().unwrap();
        let url = format!("https://{host}{target}");
        // The file's last line has an end of its own.
        let request = Signable { method, url: &url, headers: &headers, body: body.trim_end().as_bytes() };
        let signed = super::headers(&request, &keys, &region, scope[3], now.into()).unwrap();
        let value = |name: &str| signed.iter().find(|(it, _)| it == name).map(|(_, it)| it.to_str().unwrap());
        assert_eq!(value("authorization"), Some(expected), "{name}");
        assert_eq!((value("x-amz-date"), value("x-amz-security-token")), (Some(date), session), "{name}");
    }

    #[test]
    fn signatures_are_those_of_the_published_vectors() {
        let vectors: Vec<_> = VECTORS.split("\n=== ").skip(1).collect();
        for vector in &vectors {
            check(vector);
        }
        let names: Vec<_> = vectors.iter().filter_map(|it| it.lines().next()).collect();
        assert!(names.contains(&"post-x-www-form-urlencoded") && names.contains(&"get-vanilla-with-session-token"));
        assert_eq!(vectors.len(), 20, "{names:?}");
    }

    #[test]
    #[should_panic(expected = "get-vanilla")]
    fn another_byte_is_another_signature() {
        let vector = VECTORS.split("\n=== ").find(|it| it.starts_with("get-vanilla\n")).unwrap();
        check(&vector.replacen("GET /", "GET /a", 1));
    }
}
