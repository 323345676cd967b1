//! Random bodies against a second, naive reading of what may stand in them.

use http::HeaderMap;
use measured_work::{Line, fuzz};
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::members::{Member, admit};
use super::{Carried, RuleContent};

/// A few names, so that bodies often have what is listed, or nearly.
fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "A", "a.b", ""]).prop_map(str::to_owned)
}

fn body() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), "[ab]{0,3}".prop_map(Value::from)];
    let tree = leaf.prop_recursive(4, 24, 4, |below| {
        let objects = prop::collection::vec((name(), below.clone()), 0..4);
        prop_oneof![
            4 => objects.prop_map(|it| Value::Object(it.into_iter().collect())),
            1 => prop::collection::vec(below, 0..3).prop_map(Value::Array),
        ]
    });
    // Mostly an object.
    prop_oneof![
        1 => tree.clone(),
        4 => prop::collection::vec((name(), tree), 1..3).prop_map(|it| Value::Object(it.into_iter().collect())),
    ]
}

fn fields() -> impl Strategy<Value = Vec<Vec<String>>> {
    let member = prop::sample::select(vec!["a", "b"]).prop_map(str::to_owned);
    prop::collection::vec(prop::collection::vec(member, 1..4), 1..4)
}

/// Members that may be anything.
fn free(fields: &[Vec<String>]) -> Vec<Member<'_>> {
    fields.iter().map(|it| Member { path: it, texts: None }).collect()
}

/// How many members are there that are listed; `None` if there is one that must not be there.
fn listed(object: &Map<String, Value>, at: &[String], fields: &[Vec<String>]) -> Option<usize> {
    let mut count = 0;
    for (name, value) in object {
        let path = [at, std::slice::from_ref(name)].concat();
        if fields.contains(&path) {
            count += 1;
        } else if fields.iter().any(|it| it.starts_with(&path)) {
            count += listed(value.as_object()?, &path, fields)?;
        } else {
            return None;
        }
    }
    Some(count)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn adv_165_an_admitted_body_has_listed_fields_alone(body in body(), fields in fields()) {
        let expected = body.as_object().and_then(|it| listed(it, &[], &fields)).is_some_and(|it| it > 0);
        let given = admit(free(&fields), body.to_string().as_bytes());
        prop_assert_eq!(given.is_ok(), expected, "{} with {:?}: {:?}", body, fields, given);
    }

    #[test]
    fn adv_175_an_admitted_body_has_one_of_the_texts(body in body(), fields in fields(), path in fields()) {
        let path = &path[0];
        let fields: Vec<_> = fields.into_iter().filter(|it| !it.starts_with(path) && !path.starts_with(it)).collect();
        let texts = ["a".to_owned(), "ab".to_owned()];
        let all = [fields.clone(), vec![path.clone()]].concat();
        let is_listed = body.as_object().and_then(|it| listed(it, &[], &all)).is_some();
        let found = path.iter().try_fold(&body, |it, name| it.as_object()?.get(name));
        let expected = is_listed && found.and_then(Value::as_str).is_some_and(|it| texts.iter().any(|one| one == it));
        let members = [free(&fields), vec![Member { path, texts: Some(&texts) }]].concat();
        let given = admit(members, body.to_string().as_bytes());
        prop_assert_eq!(given.is_ok(), expected, "{} with {:?} and {:?}: {:?}", body, fields, path, given);
    }

    #[test]
    fn adv_165_no_bytes_end_the_reading(bytes in prop::collection::vec(any::<u8>(), 0..64), fields in fields()) {
        let is_json = serde_json::from_slice::<Value>(&bytes).is_ok();
        let given = admit(free(&fields), &bytes);
        prop_assert!(is_json || given.is_err());
    }
}

#[test]
fn adv_158_bodies_and_parameters_cost_no_more_than_their_bytes() {
    let pieces: [&[u8]; 11] = [
        b"{\"a\":{",
        b"\"b\":",
        b"\"a\":1,",
        b"{},",
        b"[",
        b"]",
        b"}",
        b"\"\\u0061\",",
        b"\"b\":[{\"a\":1},",
        b"Filter.1.Value=i-0&",
        b"a",
    ];
    let field = ["a".to_owned(), "b".to_owned()];
    let patterns = ("Filter.*.Value".to_owned(), vec!["i-*".to_owned(), "*a*a*a*b".to_owned()]);
    let content = RuleContent::parse(Some(&["a*b*a"]), &[patterns], &[]).unwrap();
    fuzz("JSON bodies and parameters", Line { nanoseconds: 5_000, memory: 64 }, &pieces, |text| {
        for head in ["", "{\"a\":{\"b\":[", "{\"a\":{\"b\":{"] {
            drop(admit(vec![Member { path: &field, texts: None }], &[head.as_bytes(), text].concat()));
        }
        let text = String::from_utf8_lossy(text);
        let pairs = text.split('&').map(|it| it.split_once('=').unwrap_or((it, "")));
        let pairs: Vec<_> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let headers = HeaderMap::new();
        drop(content.admits(Carried { pairs: &pairs, own: &[], headers: &headers, body: &[] }));
    });
}
