use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::json;

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Case {
    #[default]
    Plain,
    Number(u8),
    Pair(u8, String),
    Fields {
        name: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Wrapped(i32);

#[derive(Debug, Deserialize, PartialEq)]
struct Thing {
    id: u64,
    #[serde(default, deserialize_with = "json::empty_as_default")]
    case: Case,
    #[serde(default, deserialize_with = "json::null_as_default")]
    wrapped: Option<Wrapped>,
    #[serde(default)]
    share: f64,
    #[serde(default)]
    ports: BTreeMap<u16, bool>,
    #[serde(default)]
    parts: Vec<(char, Option<Box<Thing>>)>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// A struct without further fields: they are looked for by their names.
#[derive(Debug, Deserialize, PartialEq)]
struct Narrow {
    a: u64,
    b: Option<String>,
    #[serde(default)]
    c: Vec<u8>,
    #[serde(default = "seven")]
    d: u8,
    #[serde(default)]
    e: Inner,
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(default, rename_all = "UPPERCASE")]
struct Inner {
    #[serde(deserialize_with = "json::empty_as_none")]
    text: Option<String>,
    #[serde(skip)]
    skipped: u8,
    pair: (u8, bool),
}

fn seven() -> u8 {
    7
}

/// The text is read as `serde_json` reads it, or refused where `serde_json` refuses it.
fn check<T: DeserializeOwned + Debug + PartialEq>(text: &str) {
    let expected: Option<T> = serde_json::from_str(text).ok();
    let tree = Tree::parse(text.as_bytes()).unwrap();
    assert_eq!(tree.read().ok(), expected, "{text}");
    assert_eq!(read(&serde_json::from_str(text).unwrap()).ok(), expected, "{text}");
}

#[test]
fn json_is_read_as_serde_json_reads_it() {
    for text in [
        r#"{ "id": 18446744073709551615, "case": "plain", "wrapped": -7, "share": 1 }"#,
        r#"{ "id": 1, "case": "", "wrapped": null, "share": 1.5, "ports": { "80": true, "443": false }, "parts": [] }"#,
        r#"{ "parts": [["a", null], ["\u00e9", { "id": 2, "x\ny": [{}, [], null, -1, 1e3, "\"", true] }]], "id": 3 }"#,
        r#"{ "id": 1, "ports": { "65536": true } }"#,
        r#"{ "id": 1, "ports": { "http": true } }"#,
        r#"{ "id": 1, "case": "unknown" }"#,
        r#"{ "id": 1, "case": null }"#,
        r#"{ "id": 1, "case": 7 }"#,
        r#"{ "id": -1 }"#,
        r#"{ "id": 1.0 }"#,
        r#"{ "id": "1" }"#,
        r#"{ "id": 1, "parts": [["ab", null]] }"#,
        r#"{ "id": 1, "parts": [["a"]] }"#,
        r#"{ "id": 1, "parts": {} }"#,
        "{}",
        "[]",
        "null",
        "7",
    ] {
        check::<Thing>(text);
        check::<Option<Thing>>(text);
        check::<Value>(text);
    }
    for text in [
        r#"{ "c": [1], "a": 1, "further": {}, "b": "x", "e": { "PAIR": [1, true], "TEXT": "" }, "d": 8 }"#,
        r#"{ "a": 1 }"#,
        r#"{ "a": 1, "b": null, "e": {} }"#,
        r#"{ "a": 1, "c": null }"#,
        r#"{ "a": 1, "d": null }"#,
        r#"{ "a": 1, "d": 256 }"#,
        r#"{ "a": 1, "e": null }"#,
        r#"{ "a": 1, "e": { "TEXT": 1 } }"#,
        r#"{ "b": "x" }"#,
        r#"{ "a": null }"#,
        "{}",
        "null",
    ] {
        check::<Narrow>(text);
        check::<Option<Narrow>>(text);
        check::<Vec<Narrow>>(&format!("[{text}]"));
    }
    for text in [
        r#""plain""#,
        r#"{ "plain": null }"#,
        r#"{ "number": 7 }"#,
        r#"{ "pair": [7, "a"] }"#,
        r#"{ "fields": { "name": "a" } }"#,
        r#"{ "number": null }"#,
        r#"{ "pair": [7] }"#,
        r#"{ "plain": null, "number": 7 }"#,
        r#""number""#,
        "{}",
        "7",
    ] {
        check::<Case>(text);
    }
}

#[test]
fn an_error_says_where_it_is() {
    let error = |text: &str| {
        Tree::parse(text.as_bytes())
            .unwrap()
            .read_field("a", &mut |it| it.read::<Vec<Thing>>().map(drop))
            .unwrap_err()
            .to_string()
    };
    for (text, expected) in [
        (r#"{ "a": [{ "id": 1 }, { "id": null }] }"#, "invalid type: null, expected u64 at /a/1/id"),
        (r#"{ "a": [{ "id": 1.5 }] }"#, "invalid type: number with a fraction, expected u64 at /a/0/id"),
        (r#"{ "a": [{}] }"#, "missing field `id` at /a/0"),
        (r#"{ "a": [{ "id": 1, "share": "b" }] }"#, "invalid type: string \"b\", expected f64 at /a/0/share"),
        (r#"{ "b": [] }"#, "missing field `a`"),
        ("[]", "invalid type: sequence, expected an object with the field `a`"),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
    for (text, expected) in [
        (r#"{ "a": 1, "e": { "TEXT": 7 } }"#, "invalid type: integer `7`, expected a string at /e/TEXT"),
        (r#"{ "a": 1, "e": { "PAIR": [1] } }"#, "invalid length 1, expected a tuple of size 2 at /e/PAIR"),
        (r#"{ "a": 1, "e": { "PAIR": [1, 2] } }"#, "invalid type: integer `2`, expected a boolean at /e/PAIR/1"),
        (r#"{ "a": 1, "c": {} }"#, "invalid type: map, expected a sequence at /c"),
        (r#"{ "c": [] }"#, "missing field `a`"),
    ] {
        assert_eq!(Tree::parse(text.as_bytes()).unwrap().read::<Narrow>().unwrap_err().to_string(), expected);
    }
    let map = Tree::parse(br#"{ "80": true, "443": 1, "x": true }"#).unwrap();
    let error = map.read::<BTreeMap<u16, bool>>().unwrap_err();
    assert_eq!(error.to_string(), "invalid type: integer `1`, expected a boolean at /443");
}

#[test]
fn the_last_of_two_fields_with_one_name_counts() {
    let tree = Tree::parse(br#"{ "a": 1, "a": 2 }"#).unwrap();
    assert_eq!(tree.field("a").unwrap().unwrap().read(), Ok(2_u8));
    assert_eq!(tree.read::<Narrow>().map(|it| it.a), Ok(2));
    assert_eq!(tree.read(), Ok(json!({ "a": 2 })));
}

#[test]
fn a_text_that_goes_on_has_a_beginning() {
    assert!(Tree::parse(b"{} {}").is_err());
    assert!(matches!(Tree::beginning(b"{} {}"), Ok(Tree::Object(fields)) if fields.is_empty()));
    assert!(Tree::beginning(&b"[".repeat(1_000)).is_err(), "no text is too deep for the stack");
}

/// As its page says: the compiler writes nothing by which the two could be told from each other.
#[test]
fn a_missing_field_that_may_be_null_is_as_null_is() {
    #[derive(Debug, Deserialize, PartialEq)]
    struct Sized {
        #[serde(default = "seven", deserialize_with = "json::null_as_default")]
        size: u8,
        #[serde(deserialize_with = "json::empty_as_none")]
        zone: Option<String>,
    }
    assert_eq!(Tree::parse(b"{}").unwrap().read(), Ok(Sized { size: 0, zone: None }));
}

/// Beside another one that its type allows at the place of the further name.
#[test]
fn a_field_with_a_further_name_is_an_error() {
    #[derive(Debug, Deserialize, PartialEq)]
    struct Renamed {
        #[serde(default, alias = "title")]
        name: String,
        #[serde(default)]
        owner: String,
    }
    let error = json::read::<Renamed>(&json!({ "name": "a", "owner": "b" })).unwrap_err();
    assert_eq!(error.to_string(), "a field has a further name by serde's alias, near `title`");
}
