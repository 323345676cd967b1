//! Secrets of others in what a cloud answers and is sent: passwords of machines, keys of certificates. Pure.
//!
//! The credential of the host is in nothing that comes here. What these functions take out is told by its name, or by its form.

use serde_json::Value;

/// The text in the place of a secret.
pub(super) const TAKEN_OUT: &str = "(taken out)";

/// The ends of names of secrets, in lower case and without punctuation.
const SECRET: [&str; 17] = [
    "accesskey",
    "adminpass",
    "apikey",
    "authorization",
    "cookie",
    "credential",
    "credentials",
    "kubeconfig",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "secretkey",
    "signature",
    "token",
    "userdata",
];

/// The beginnings of names that end as one of a secret, and hold a place in a list or a number of a request.
const PLACES: [&str; 9] = ["client", "continuation", "idempotency", "last", "marker", "next", "page", "skip", "sync"];

/// Whether what has this name is a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let is_place = plain.ends_with("token") && PLACES.iter().any(|it| plain.starts_with(it));
    !is_place && SECRET.iter().any(|it| plain.ends_with(it))
}

/// JSON without secrets.
pub(super) fn json(value: Value) -> Value {
    match value {
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| {
                let value = if is_secret(&name) { emptied(value) } else { json(value) };
                (name, value)
            })
            .collect(),
        Value::Array(all) => all.into_iter().map(json).collect(),
        Value::String(value) => Value::String(text(&value)),
        other => other,
    }
}

/// The same form, without any text in it.
fn emptied(value: Value) -> Value {
    match value {
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, emptied(value))).collect(),
        Value::Array(all) => all.into_iter().map(emptied).collect(),
        Value::String(text) if text.is_empty() => Value::String(text),
        Value::String(_) | Value::Number(_) => Value::String(TAKEN_OUT.to_owned()),
        other => other,
    }
}

/// The value of a parameter or a header, without a secret.
pub(super) fn named(name: &str, value: &str) -> String {
    if is_secret(name) && !value.is_empty() { TAKEN_OUT.to_owned() } else { text(value) }
}

/// Any text without secrets: elements of XML and parameters of a form go by their names, the rest by its form.
pub(super) fn text(text: &str) -> String {
    if text.contains("PRIVATE KEY-----") || is_token(text) {
        return TAKEN_OUT.to_owned();
    }
    if text.trim_start().starts_with('<') {
        return elements(text);
    }
    let is_form = text.contains('=') && !text.contains(char::is_whitespace);
    if is_form { form(text) } else { text.to_owned() }
}

/// A JSON Web Token: three parts, of which the first is an object in base64.
fn is_token(text: &str) -> bool {
    let text = text.strip_prefix("Bearer ").unwrap_or(text);
    text.starts_with("eyJ") && text.split('.').count() == 3 && !text.contains(char::is_whitespace)
}

fn form(text: &str) -> String {
    let pair = |pair: &str| match pair.split_once('=') {
        Some((name, value)) if is_secret(name) && !value.is_empty() => format!("{name}={TAKEN_OUT}"),
        _ => pair.to_owned(),
    };
    text.split('&').map(pair).collect::<Vec<_>>().join("&")
}

/// The text of each element whose name is a secret's goes.
fn elements(text: &str) -> String {
    let (mut whole, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(open) = rest.find('<') {
        let Some(close) = rest[open..].find('>').map(|it| it + open) else { break };
        let (head, after) = rest.split_at(close + 1);
        whole.push_str(head);
        rest = after;
        let name = head[open + 1..close].split([' ', '/', '\t', '\n']).next().unwrap_or_default();
        let name = name.rsplit(':').next().unwrap_or(name);
        let is_open = !head[open..].starts_with("</") && !head.ends_with("/>");
        if is_open && is_secret(name) {
            let end = rest.find("</").unwrap_or(rest.len());
            if !rest[..end].trim().is_empty() {
                whole.push_str(TAKEN_OUT);
                rest = &rest[end..];
            }
        }
    }
    whole + rest
}

#[cfg(test)]
mod tests {
    use serde_json::json as value;

    use super::*;

    #[test]
    fn a_secret_goes_by_its_name_at_any_depth() {
        let given = value!({
            "server": { "name": "web-1", "adminPass": "hunter2", "user_data": "I2Nsb3Vk" },
            "keys": [{ "private-key": "abc", "id": 7 }], "credentials": { "user": "me", "pin": 1234 }, "password": null,
        });
        let left = value!({
            "server": { "name": "web-1", "adminPass": TAKEN_OUT, "user_data": TAKEN_OUT },
            "keys": [{ "private-key": TAKEN_OUT, "id": 7 }],
            "credentials": { "user": TAKEN_OUT, "pin": TAKEN_OUT }, "password": null,
        });
        assert_eq!(json(given), left);
    }

    #[test]
    fn places_in_a_list_are_no_secrets() {
        for name in
            ["nextToken", "NextPageToken", "continuation-token", "ClientToken", "pageToken", "$skiptoken", "key"]
        {
            assert!(!is_secret(name), "{name}");
        }
        for name in ["token", "X-Auth-Token", "access_token", "SecretAccessKey", "set-cookie", "db.password"] {
            assert!(is_secret(name), "{name}");
        }
    }

    #[test]
    fn xml_and_forms_and_known_forms_lose_theirs() {
        let xml = "<a:Keys x=\"1\"><SecretAccessKey>abc</SecretAccessKey><Id>7</Id><Password/><NextToken>t</NextToken></a:Keys>";
        let left = xml.replace("abc", TAKEN_OUT);
        assert_eq!(text(xml), left);
        assert_eq!(text("Action=Run&Password=abc&NextToken=t"), format!("Action=Run&Password={TAKEN_OUT}&NextToken=t"));
        assert_eq!(text("-----BEGIN PRIVATE KEY-----\nMIIE"), TAKEN_OUT);
        assert_eq!(text("eyJhbGciOiJub25lIn0.eyJhIjoxfQ.abc"), TAKEN_OUT);
        assert_eq!(text("a sentence = with spaces"), "a sentence = with spaces");
    }
}
