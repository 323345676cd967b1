//! One spelling for each path and query. Pure.

mod headers;
mod parameters;
mod pattern;
mod text;

use http::HeaderMap;
use http::header::{CONTENT_TYPE, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

pub(crate) use self::headers::{cannot_be_operation, headers, is_forbidden_header};
pub use self::pattern::PathPattern;
use self::text::PAIRS;
pub(crate) use self::text::{segment, shown};

/// The characters that stay as they are: letters, digits, RFC 3986's other unreserved ones, and in paths the colon, which clouds
/// put before a custom verb.
const IN_QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const IN_PATH: &AsciiSet = &IN_QUERY.remove(b':');

/// The media type of forms.
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";
/// The most pairs of a form: a batch of two hundred ids, each with names and values of its own.
const FORM_PAIRS: usize = 1_000;
/// The longest path or query, encoded, in bytes.
const TARGET_BYTES: usize = 8 << 10;

/// Checks a path and writes it, each segment percent-encoded once. The error continues "a path that".
pub(crate) fn path(base: &[String], segments: &[String]) -> Result<String, String> {
    for segment in segments {
        text::segment(segment).map_err(|because| format!("has a segment that {because}"))?;
    }
    let path = encode_path(base.iter().chain(segments));
    if path.len() > TARGET_BYTES { Err(format!("is longer than {TARGET_BYTES} bytes")) } else { Ok(path) }
}

/// Whether a path is one at which Keystone, Entra, IBM Cloud's IAM or the identity of a machine gives tokens, or tells of them: the host's
/// own login must not be used there, and no other.
pub(crate) fn asks_for_tokens<'a>(segments: impl Iterator<Item = &'a str>) -> bool {
    let (mut before, mut is_oauth, mut is_identity) = ("", false, false);
    for segment in segments {
        let is_parent = ["auth", "v2.0"].iter().any(|it| before.eq_ignore_ascii_case(it));
        if is_parent && segment.eq_ignore_ascii_case("tokens") {
            return true;
        }
        if is_oauth && ["token", "authorize", "devicecode"].iter().any(|it| segment.eq_ignore_ascii_case(it)) {
            return true;
        }
        if is_identity && ["token", "iam_token", "iam_tokens"].iter().any(|it| segment.eq_ignore_ascii_case(it)) {
            return true;
        }
        is_oauth |= segment.eq_ignore_ascii_case("oauth2");
        is_identity |= ["identity", "instance_identity"].iter().any(|it| segment.eq_ignore_ascii_case(it));
        before = segment;
    }
    false
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

/// Whether a parameter of this name is refused unless a rule opens it.
pub(crate) fn needs_opening(name: &str) -> bool {
    parameters::is_openable(name)
}

/// Checks a query and writes it, without the question mark. `opened` are names that a rule of the endpoint opens. The error is a
/// sentence without its full stop.
pub(crate) fn query(pairs: &[(String, String)], opened: &[&str]) -> Result<String, String> {
    let query = encode_pairs("query", pairs, opened, PAIRS)?;
    if query.len() > TARGET_BYTES { Err(format!("the query is longer than {TARGET_BYTES} bytes")) } else { Ok(query) }
}

/// Checks a form and writes it as a body. `opened` are names that a rule of the endpoint opens. The error is a sentence without its
/// full stop.
pub(crate) fn form(pairs: &[(String, String)], opened: &[&str]) -> Result<String, String> {
    encode_pairs("form", pairs, opened, FORM_PAIRS)
}

/// Checks names and values, and writes them one behind the other. `place` is what a guest calls where they stand.
fn encode_pairs(place: &str, pairs: &[(String, String)], opened: &[&str], most: usize) -> Result<String, String> {
    if pairs.len() > most {
        return Err(format!("the {place} has more than {most} pairs"));
    }
    let mut encoded = String::new();
    for (key, value) in pairs {
        let shown = shown(key);
        if key.is_empty() {
            return Err(format!("the {place} has an empty key"));
        }
        if key.chars().chain(value.chars()).any(char::is_control) {
            return Err(format!("the {place}'s {shown} holds a control character"));
        }
        if parameters::is_forbidden(key) && !opened.contains(&key.as_str()) {
            return Err(forbidden(place, key));
        }
        if !encoded.is_empty() {
            encoded.push('&');
        }
        encoded.extend(utf8_percent_encode(key, IN_QUERY));
        encoded.push('=');
        encoded.extend(utf8_percent_encode(value, IN_QUERY));
    }
    Ok(encoded)
}

/// Checks a body that a guest has written itself, if it is a form. The error is a sentence without its full stop.
pub(crate) fn check_bytes(headers: &HeaderMap, body: &[u8]) -> Result<(), String> {
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let media_type = content_type.split(|it| *it == b';').next().unwrap_or_default().trim_ascii();
    if !media_type.eq_ignore_ascii_case(FORM.as_bytes()) {
        return Ok(());
    }
    parameters::forbidden_in_form(body).map_or(Ok(()), |name| Err(forbidden("form", &name)))
}

fn forbidden(place: &str, key: &str) -> String {
    format!(
        "the {place} key {} could carry a credential or change the request's meaning; the host attaches credentials, and \
         no config can allow it",
        shown(key)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(path: &[&str]) -> Vec<String> {
        path.iter().map(|&it| it.to_owned()).collect()
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
    fn adv_114_a_form_is_judged_and_written_as_a_query_is() {
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
        };
        assert_eq!(form(&[], &[]).as_deref(), Ok(""));
        let written = form(&pairs(&[("Action", "RunInstances"), ("UserData", "a&b=c d+e%\u{fc}")]), &[]);
        assert_eq!(written.as_deref(), Ok("Action=RunInstances&UserData=a%26b%3Dc%20d%2Be%25%C3%BC"));
        for key in ["AWSAccessKeyId", "Signature", "SecurityToken", "X-Amz-Signature", "password", "", "a\nb"] {
            assert!(form(&pairs(&[("Action", "Describe"), (key, "x")]), &[]).is_err(), "{key:?}");
        }
        assert!(form(&pairs(&[("a", "1\r\n")]), &[]).is_err());
        assert!(form(&vec![("a".to_owned(), String::new()); 1_000], &[]).is_ok());
        assert!(form(&vec![("a".to_owned(), String::new()); 1_001], &[]).is_err());
    }

    #[test]
    fn a_query_is_encoded_and_cannot_authenticate() {
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
        };
        assert_eq!(query(&[], &[]).as_deref(), Ok(""));
        assert_eq!(
            query(&pairs(&[("page", "2"), ("tag", "a&b=c d+e")]), &[]).as_deref(),
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
            assert!(query(&pairs(&[(key, "x")]), &[]).is_err(), "{key:?}");
        }
        for key in ["page", "per_page", "name", "tag_name", "filter[name]", "pageToken", "keyword", "methods"] {
            assert!(query(&pairs(&[(key, "x")]), &[]).is_ok(), "{key:?}");
        }
        assert!(query(&pairs(&[("page", "1\r\n")]), &[]).is_err());
        assert!(query(&vec![("a".to_owned(), String::new()); 65], &[]).is_err());
    }
}
