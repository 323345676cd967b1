//! One spelling for each path and query, and what may stand in headers. Pure.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What is left as it is: letters, digits, RFC 3986's other unreserved characters, and in paths the colon, which clouds
/// put before a custom verb.
const IN_QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const IN_PATH: &AsciiSet = &IN_QUERY.remove(b':');

/// The longest path or query, encoded, in bytes.
const TARGET_BYTES: usize = 8 << 10;
/// The longest header value.
const HEADER_BYTES: usize = 4 << 10;
/// The most headers, and the most pairs of a query.
const PAIRS: usize = 64;

/// Request headers that guests may set on every endpoint.
const HEADERS: [&str; 6] = ["accept", "content-type", "if-match", "if-none-match", "idempotency-key", "prefer"];

/// Query keys that authenticate, or that change the request's method or headers behind the policy's back. Compared in
/// lower case without `-`, `_` and `.`.
const FORBIDDEN_QUERY_KEYS: [&str; 45] = [
    "accesskey",
    "accesskeyid",
    "accesstoken",
    "apikey",
    "apitoken",
    "assertion",
    "auth",
    "authorization",
    "authtoken",
    "awsaccesskeyid",
    "bearer",
    "bearertoken",
    "clientassertion",
    "clientsecret",
    "credential",
    "googleaccessid",
    "httpheaders",
    "httpmethod",
    "idtoken",
    "jwt",
    "key",
    "oauthtoken",
    "ossaccesskeyid",
    "passwd",
    "password",
    "privatekey",
    "privatetoken",
    "refreshtoken",
    "secret",
    "secretkey",
    "securitytoken",
    "sessiontoken",
    "sig",
    "signature",
    "subscriptionkey",
    "token",
    "xamzalgorithm",
    "xamzcredential",
    "xamzsecuritytoken",
    "xamzsignature",
    "xgoogcredential",
    "xgoogsignature",
    "xhttpmethod",
    "xhttpmethodoverride",
    "xosssignature",
];

/// Headers that no endpoint can open to guests: the credential's, the connection's, the proxies'.
const FORBIDDEN_HEADERS: [&str; 24] = [
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
    "x-method-override",
];
const FORBIDDEN_HEADER_PREFIXES: [&str; 6] =
    ["proxy-", "sec-", "x-amz-", "x-aws-ec2-metadata-", "x-forwarded-", "x-goog-"];

/// A pattern for paths: literal segments, `*` for exactly one segment, `**` for any number of them, none included.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PathPattern {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Part {
    Literal(String),
    One,
    Any,
}

impl PathPattern {
    /// Reads `/v2/droplets/**`. Literal segments stand unescaped.
    ///
    /// # Errors
    ///
    /// A sentence that names the segment and says how to write it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rest =
            text.strip_prefix('/').ok_or_else(|| format!("path pattern {text:?} does not begin with a slash"))?;
        if rest.is_empty() {
            return Ok(Self { parts: Vec::new() });
        }
        let part = |segment: &str| match segment {
            "*" => Ok(Part::One),
            "**" => Ok(Part::Any),
            _ if segment.contains('*') => Err(format!(
                "path pattern {text:?} has the segment {segment:?}; a star stands alone: `*` is one segment, `**` any number"
            )),
            _ if segment.contains(['%', '?', '#']) => Err(format!(
                "path pattern {text:?} has the segment {segment:?}; write a path unescaped, without query and fragment"
            )),
            _ => match self::segment(segment) {
                Ok(()) => Ok(Part::Literal(segment.to_owned())),
                Err(because) => Err(format!("path pattern {text:?} has a segment that {because}")),
            },
        };
        Ok(Self { parts: rest.split('/').map(part).collect::<Result<_, _>>()? })
    }

    /// Whether the unescaped `path` is one of those that the pattern stands for.
    pub(crate) fn matches(&self, path: &[String]) -> bool {
        // `reached[n]`: the parts so far can stand for the first `n` segments.
        let mut reached = vec![false; path.len() + 1];
        reached[0] = true;
        for part in &self.parts {
            let mut next = vec![false; path.len() + 1];
            match part {
                Part::Any => {
                    let mut any = false;
                    for (next, reached) in next.iter_mut().zip(&reached) {
                        any |= reached;
                        *next = any;
                    }
                }
                Part::One => next[1..].copy_from_slice(&reached[..path.len()]),
                Part::Literal(literal) => {
                    for (index, segment) in path.iter().enumerate() {
                        next[index + 1] = reached[index] && segment == literal;
                    }
                }
            }
            reached = next;
        }
        reached[path.len()]
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.parts.is_empty() {
            return f.write_str("/");
        }
        self.parts.iter().try_for_each(|part| match part {
            Part::Literal(literal) => write!(f, "/{literal}"),
            Part::One => f.write_str("/*"),
            Part::Any => f.write_str("/**"),
        })
    }
}

/// Checks one unescaped segment of a path. The error continues a sentence that begins with "a segment that".
pub(crate) fn segment(segment: &str) -> Result<(), &'static str> {
    match segment {
        "" => Err("is empty"),
        "." | ".." => Err("is a dot segment"),
        _ if segment.contains(['/', '\\']) => Err("holds a slash or a backslash"),
        _ if segment.chars().any(char::is_control) => Err("holds a control character"),
        _ => Ok(()),
    }
}

/// Checks a path and writes it, each segment percent-encoded once. The error continues "a path that".
pub(crate) fn path(base: &[String], segments: &[String]) -> Result<String, String> {
    for segment in segments {
        self::segment(segment).map_err(|because| format!("has a segment that {because}"))?;
    }
    let path = encode_path(base.iter().chain(segments));
    if path.len() > TARGET_BYTES { Err(format!("is longer than {TARGET_BYTES} bytes")) } else { Ok(path) }
}

/// Writes a path without checking it.
pub(crate) fn encode_path<'a>(segments: impl IntoIterator<Item = &'a String>) -> String {
    let mut path = String::new();
    for segment in segments {
        path.push('/');
        path.extend(utf8_percent_encode(segment, IN_PATH));
    }
    if path.is_empty() { "/".to_owned() } else { path }
}

/// Checks a query and writes it, without the question mark. The error is a sentence without its full stop.
pub(crate) fn query(pairs: &[(String, String)]) -> Result<String, String> {
    if pairs.len() > PAIRS {
        return Err(format!("the query has more than {PAIRS} pairs"));
    }
    let mut query = String::new();
    for (key, value) in pairs {
        let shown = shown(key);
        if key.is_empty() {
            return Err("the query has an empty key".to_owned());
        }
        if key.chars().chain(value.chars()).any(char::is_control) {
            return Err(format!("the query's {shown} holds a control character"));
        }
        if is_forbidden_query_key(key) {
            return Err(format!(
                "the query key {shown} could carry a credential or change the request's meaning; the host attaches \
                 credentials, and no config can allow it"
            ));
        }
        if !query.is_empty() {
            query.push('&');
        }
        query.extend(utf8_percent_encode(key, IN_QUERY));
        query.push('=');
        query.extend(utf8_percent_encode(value, IN_QUERY));
    }
    if query.len() > TARGET_BYTES { Err(format!("the query is longer than {TARGET_BYTES} bytes")) } else { Ok(query) }
}

fn is_forbidden_query_key(key: &str) -> bool {
    // A key such as `auth[token]` or `$httpHeaders` is read in parts by some servers.
    key.eq_ignore_ascii_case("_method")
        || key.split(['[', ']', '$']).any(|word| {
            let plain = word.replace(['-', '_', '.', ' '], "").to_ascii_lowercase();
            FORBIDDEN_QUERY_KEYS.contains(&plain.as_str())
        })
}

/// Checks headers against those that guests may set, here and everywhere. Names come back in lower case. The error is
/// a sentence without its full stop.
pub(crate) fn headers(given: &[(String, String)], further: &[String]) -> Result<http::HeaderMap, String> {
    if given.len() > PAIRS {
        return Err(format!("there are more than {PAIRS} headers"));
    }
    let mut headers = http::HeaderMap::with_capacity(given.len());
    for (name, value) in given {
        let shown = shown(name);
        let lower = name.to_ascii_lowercase();
        if is_forbidden_header(&lower) {
            return Err(format!("the header {shown} is the host's to set; no config can allow it"));
        }
        if !HEADERS.contains(&lower.as_str()) && !further.iter().any(|it| it.eq_ignore_ascii_case(&lower)) {
            return Err(format!("the header {shown} is not allowed; the operator would have to name it in `headers`"));
        }
        let name = http::HeaderName::from_bytes(lower.as_bytes())
            .map_err(|_| format!("the header {shown} has a name that HTTP does not know"))?;
        if value.len() > HEADER_BYTES || !value.bytes().all(|it| (b' '..=b'~').contains(&it)) {
            return Err(format!(
                "the header {shown} has a value that is not printable ASCII of at most {HEADER_BYTES} bytes"
            ));
        }
        let value = http::HeaderValue::from_str(value)
            .map_err(|_| format!("the header {shown} has a value that HTTP does not know"))?;
        if headers.insert(name, value).is_some() {
            return Err(format!("the header {shown} is there twice"));
        }
    }
    Ok(headers)
}

/// Whether a header, in lower case, is one that no endpoint can open to guests.
pub(crate) fn is_forbidden_header(lower: &str) -> bool {
    FORBIDDEN_HEADERS.contains(&lower) || FORBIDDEN_HEADER_PREFIXES.iter().any(|it| lower.starts_with(it))
}

/// A guest's word in a message: quoted, escaped and short.
pub(crate) fn shown(word: &str) -> String {
    let short: String = word.chars().take(64).collect();
    if short.len() < word.len() { format!("{short:?}…") } else { format!("{short:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(path: &[&str]) -> Vec<String> {
        path.iter().map(|&it| it.to_owned()).collect()
    }

    #[test]
    fn patterns_match_segments() {
        let cases: [(&str, &[&str], bool); 22] = [
            ("/", &[], true),
            ("/", &["v2"], false),
            ("/v2", &["v2"], true),
            ("/v2", &[], false),
            ("/v2", &["V2"], false),
            ("/v2", &["v2", "droplets"], false),
            ("/v2/*", &["v2", "droplets"], true),
            ("/v2/*", &["v2"], false),
            ("/v2/*", &["v2", "droplets", "1"], false),
            ("/v2/**", &["v2"], true),
            ("/v2/**", &["v2", "droplets", "1"], true),
            ("/v2/**", &["v3"], false),
            ("/**", &[], true),
            ("/**", &["a", "b"], true),
            ("/**/actions", &["actions"], true),
            ("/**/actions", &["v2", "droplets", "1", "actions"], true),
            ("/**/actions", &["v2", "actions", "1"], false),
            ("/v2/**/x/**", &["v2", "a", "x", "b", "x"], true),
            ("/v2/**/x/*", &["v2", "x", "x", "b"], true),
            ("/v2/**/x/*", &["v2", "x"], false),
            ("/a:b", &["a:b"], true),
            ("/v2/allowed", &["v2", "allowed;x"], false),
        ];
        for (pattern, path, expected) in cases {
            let matches = PathPattern::parse(pattern).unwrap().matches(&segments(path));
            assert_eq!(matches, expected, "{pattern} against {path:?}");
        }
    }

    #[test]
    fn patterns_are_linear_in_what_a_guest_sends() {
        let pattern = PathPattern::parse(&"/**/a".repeat(20)).unwrap();
        assert!(!pattern.matches(&segments(&vec!["a"; 2000]).into_iter().chain(["b".to_owned()]).collect::<Vec<_>>()));
    }

    #[test]
    fn a_pattern_is_shown_as_it_was_written() {
        for text in ["/", "/v2/droplets/**", "/*/x"] {
            assert_eq!(PathPattern::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn patterns_that_cannot_match_or_could_be_misread_are_refused() {
        for (text, because) in [
            ("", "does not begin with a slash"),
            ("v2", "does not begin with a slash"),
            ("/v2/", "is empty"),
            ("//v2", "is empty"),
            ("/v2/../v3", "dot segment"),
            ("/v2/drop*", "a star stands alone"),
            ("/v2/***", "a star stands alone"),
            ("/v2%2fx", "unescaped"),
            ("/v2?x", "unescaped"),
            ("/v2#x", "unescaped"),
            ("/v2\\x", "backslash"),
        ] {
            let error = PathPattern::parse(text).expect_err(text);
            assert!(error.contains(because), "{text}: {error}");
        }
    }

    #[test]
    fn a_path_is_encoded_once() {
        let cases: [(&[&str], &str); 9] = [
            (&[], "/"),
            (&["v2", "droplets"], "/v2/droplets"),
            (&["a b"], "/a%20b"),
            (&["%2e%2e"], "/%252e%252e"),
            (&["x;y?z#w"], "/x%3By%3Fz%23w"),
            (&["a:b@c"], "/a:b%40c"),
            (&["ü"], "/%C3%BC"),
            (&["..."], "/..."),
            (&["http:"], "/http:"),
        ];
        for (given, expected) in cases {
            assert_eq!(path(&[], &segments(given)).as_deref(), Ok(expected), "{given:?}");
        }
        assert_eq!(path(&segments(&["v3"]), &segments(&["x"])).as_deref(), Ok("/v3/x"));
    }

    #[test]
    fn segments_that_change_a_path_are_refused() {
        for odd in ["", ".", "..", "a/b", "/", "a\\b", "a\nb", "a\0", "\u{7f}", "\u{85}"] {
            assert!(path(&[], &segments(&["v2", odd])).is_err(), "{odd:?}");
        }
        assert!(path(&[], &["a".repeat(9000)]).is_err());
    }

    #[test]
    fn a_query_is_encoded_and_cannot_authenticate() {
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
        };
        assert_eq!(query(&[]).as_deref(), Ok(""));
        assert_eq!(
            query(&pairs(&[("page", "2"), ("tag", "a&b=c d+e")])).as_deref(),
            Ok("page=2&tag=a%26b%3Dc%20d%2Be")
        );
        for key in [
            "X-Amz-Signature",
            "access_token",
            "api_key",
            "apiKey",
            "API-KEY",
            "auth[token]",
            "$httpMethod",
            "_method",
            "key",
            "",
            "a\nb",
        ] {
            assert!(query(&pairs(&[(key, "x")])).is_err(), "{key:?}");
        }
        for key in ["page", "per_page", "name", "tag_name", "filter[name]", "pageToken", "keyword", "methods"] {
            assert!(query(&pairs(&[(key, "x")])).is_ok(), "{key:?}");
        }
        assert!(query(&pairs(&[("page", "1\r\n")])).is_err());
        assert!(query(&vec![("a".to_owned(), String::new()); 65]).is_err());
    }

    #[test]
    fn headers_are_those_that_are_allowed() {
        let header = |name: &str, value: &str| headers(&[(name.to_owned(), value.to_owned())], &["X-Extra".to_owned()]);
        for name in ["Accept", "content-type", "If-Match", "x-extra", "X-EXTRA"] {
            assert!(header(name, "a b~").is_ok(), "{name}");
        }
        for name in [
            "Host",
            "Authorization",
            "Proxy-Authorization",
            "Cookie",
            "X-Auth-Token",
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
        assert!(headers(&twice, &[]).is_err());
    }
}
