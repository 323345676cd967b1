//! The headers that a guest may set.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::text::{PAIRS, shown};

/// The longest header value.
const HEADER_BYTES: usize = 4 << 10;

/// Request headers that guests may set on every endpoint.
const HEADERS: [&str; 6] = ["accept", "content-type", "if-match", "if-none-match", "idempotency-key", "prefer"];

/// Headers that no endpoint can open to guests: the credential's, the connection's, the proxies'.
const FORBIDDEN_HEADERS: [&str; 27] = [
    "accept-encoding",
    "api-key",
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "metadata",
    "metadata-flavor",
    "private-token",
    "referer",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-api-key",
    "x-auth-token",
    "x-http-method",
    "x-http-method-override",
    "x-identity-header",
    "x-method-override",
    "x-service-token",
    "x-subject-token",
];
const FORBIDDEN_HEADER_PREFIXES: [&str; 10] = [
    "proxy-",
    "sec-",
    "x-acs-",
    "x-acsproxy-",
    "x-aliyun-ecs-metadata-",
    "x-amz-",
    "x-aws-ec2-metadata-",
    "x-forwarded-",
    "x-goog-",
    "x-ms-authorization-",
];

/// Checks headers against those that guests may set, here and everywhere. Names come back in lower case. The header of
/// an operation may be one that is refused elsewhere for its beginning, such as `x-amz-target`. The error is a sentence
/// without its full stop.
pub(crate) fn headers(
    given: &[(String, String)],
    further: &[String],
    operation: Option<&str>,
) -> Result<HeaderMap, String> {
    if given.len() > PAIRS {
        return Err(format!("there are more than {PAIRS} headers"));
    }
    let mut headers = HeaderMap::with_capacity(given.len());
    for (name, value) in given {
        let shown = shown(name);
        let lower = name.to_ascii_lowercase();
        let is_operation = operation.is_some_and(|it| it.eq_ignore_ascii_case(&lower));
        if is_forbidden_header(&lower) && !is_operation {
            return Err(format!("the header {shown} is the host's to set; no config can allow it"));
        }
        let is_further = is_operation || further.iter().any(|it| it.eq_ignore_ascii_case(&lower));
        if !HEADERS.contains(&lower.as_str()) && !is_further {
            return Err(format!("the header {shown} is not allowed; the operator would have to name it in `headers`"));
        }
        let name = HeaderName::from_bytes(lower.as_bytes())
            .map_err(|_| format!("the header {shown} has a name that HTTP does not know"))?;
        if value.len() > HEADER_BYTES || !value.bytes().all(|it| (b' '..=b'~').contains(&it)) {
            return Err(format!(
                "the header {shown} has a value that is not printable ASCII of at most {HEADER_BYTES} bytes"
            ));
        }
        let value = HeaderValue::from_str(value)
            .map_err(|_| format!("the header {shown} has a value that HTTP does not know"))?;
        if headers.insert(name, value).is_some() {
            return Err(format!("the header {shown} is there twice"));
        }
    }
    Ok(headers)
}

/// Whether a header, in lower case, cannot say what a request does: guests may set it everywhere, or it is the
/// credential's or the connection's.
pub(crate) fn cannot_be_operation(lower: &str) -> bool {
    const CREDENTIALS: [&str; 4] = ["credential", "security-token", "session", "signature"];
    HEADERS.contains(&lower)
        || FORBIDDEN_HEADERS.contains(&lower)
        || CREDENTIALS.iter().any(|it| lower.contains(it))
        || ["proxy-", "sec-", "x-aws-ec2-metadata-", "x-forwarded-"].iter().any(|it| lower.starts_with(it))
        || HeaderName::from_bytes(lower.as_bytes()).is_err()
}

/// Whether a header, in lower case, is one that no endpoint can open to guests.
pub(crate) fn is_forbidden_header(lower: &str) -> bool {
    FORBIDDEN_HEADERS.contains(&lower) || FORBIDDEN_HEADER_PREFIXES.iter().any(|it| lower.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_those_that_are_allowed() {
        let header =
            |name: &str, value: &str| headers(&[(name.to_owned(), value.to_owned())], &["X-Extra".to_owned()], None);
        for name in ["Accept", "content-type", "If-Match", "x-extra", "X-EXTRA"] {
            assert!(header(name, "a b~").is_ok(), "{name}");
        }
        for name in [
            "Host",
            "Authorization",
            "Proxy-Authorization",
            "Cookie",
            "X-Auth-Token",
            "X-Service-Token",
            "X-Subject-Token",
            "X-MS-Authorization-Auxiliary",
            "X-Identity-Header",
            "X-Forwarded-For",
            "Forwarded",
            "X-HTTP-Method-Override",
            "Metadata-Flavor",
            "Metadata",
            "X-aws-ec2-metadata-token",
            "Content-Length",
            "Transfer-Encoding",
            "Upgrade",
            "Expect",
            "x-other",
            "",
            "accept ",
            "acc\u{e9}pt",
            "accept\r\nx",
        ] {
            assert!(header(name, "x").is_err(), "{name:?}");
        }
        for value in ["a\r\nb", "a\nb", "a\0", "a\tb", "\u{80}", "ü", "\u{7f}", &"a".repeat(5000)] {
            assert!(header("accept", value).is_err(), "{value:?}");
        }
        let twice = [("accept".to_owned(), "a".to_owned()), ("Accept".to_owned(), "b".to_owned())];
        assert!(headers(&twice, &[], None).is_err());
    }

    #[test]
    fn adv_113_only_the_header_of_an_operation_is_opened() {
        let header = |name: &str, operation| headers(&[(name.to_owned(), "A.B".to_owned())], &[], operation).is_ok();
        assert!(header("X-Amz-Target", Some("x-amz-target")));
        assert!(!header("x-amz-target", None));
        assert!(!header("x-amz-security-token", Some("x-amz-target")));
        assert!(header("X-Acs-Action", Some("x-acs-action")) && !header("x-acs-action", None));
        for name in [
            "x-acs-security-token",
            "x-acs-date",
            "x-acs-version",
            "x-acs-signature-nonce",
            "x-acs-content-sha256",
            "x-acsproxy-ascm-context",
            "x-aliyun-ecs-metadata-token",
        ] {
            assert!(!header(name, Some("x-acs-action")), "{name}");
        }
        assert!(!cannot_be_operation("x-amz-target") && !cannot_be_operation("x-acs-action"));
        for name in
            ["authorization", "host", "x-amz-security-token", "x-forwarded-for", "accept", "content-type", "a b"]
        {
            assert!(cannot_be_operation(name), "{name}");
        }
    }
}
