//! The content of requests, by the rules that name it.

use super::*;
use crate::content::RuleContent;

/// Rules that name what may stand: two for one operation, and one without a name beside them.
fn narrow_endpoint() -> Endpoint {
    let rule = |operation: &str, effect, only: &[&str], values: &[(&str, &str)]| Rule {
        operations: vec![OperationPattern::parse(operation).unwrap()],
        effect: Some(effect),
        content: {
            let values: Vec<_> =
                values.iter().map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()])).collect();
            RuleContent::parse(Some(only), &values, &[]).unwrap()
        },
        ..Rule::new([Method::Post], [PathPattern::parse("/").unwrap()])
    };
    let allow = vec![
        rule("Modify", Effect::Write, &["Check.Value"], &[("Id", "i-*")]),
        rule("Modify", Effect::Write, &["Name"], &[("Id", "n-*")]),
        rule("Remove", Effect::Delete, &["Id"], &[]),
        Rule { content: RuleContent::default(), ..rule("Remove", Effect::Read, &[], &[]) },
    ];
    Endpoint { allow, ..action_endpoint() }
}

/// The rule, or what is said, of a form with this operation and these pairs.
fn narrowed(state: CallState, action: &str, form: &[(&str, &str)], query: &[(&str, &str)]) -> String {
    let form = [&[("Action", action), VERSION], form].concat();
    let body = Some(Body::Form(pairs(&form)));
    let request = GuestRequest { query: pairs(query), body, ..request(Method::Post, &[]) };
    match permit(&[Arc::new(narrow_endpoint())], state, request) {
        Ok(it) => it.rule().to_owned(),
        Err(denied) => denied.to_string(),
    }
}

#[test]
fn adv_164_one_rule_lets_all_of_a_request_stand() {
    let (i, n, check, name) = (("Id", "i-1"), ("Id", "n-1"), ("Check.Value", "false"), ("Name", "x"));
    assert_eq!(narrowed(WRITES, "Modify", &[i, check], &[]), "api.allow[0] POST / Modify");
    assert_eq!(narrowed(WRITES, "Modify", &[n, name], &[]), "api.allow[1] POST / Modify");
    assert_eq!(narrowed(WRITES, "Modify", &[check], &[i]), "api.allow[0] POST / Modify", "query and form");
    for (form, query) in [
        (&[i, name][..], &[][..]),
        (&[n, check], &[]),
        (&[i, check, name], &[]),
        (&[i, check, ("UserData", "x")], &[]),
        (&[i, check], &[("UserData", "x")]),
        (&[i, check], &[i]),
        (&[i], &[n]),
    ] {
        let said = narrowed(WRITES, "Modify", form, query);
        assert!(said.starts_with("E-EGRESS-CONTENT: endpoint api: "), "{form:?} {query:?}: {said}");
    }
    expect_test::expect![[r#"E-EGRESS-CONTENT: endpoint api: the parameter "UserData" is not one that `only` or `where` of the rule names (api.allow[0] POST / Modify); the value of the parameter "Id" is not one that `where` lets stand, n-* (api.allow[1] POST / Modify); the operator would have to let all that the request carries stand in one rule"#]]
        .assert_eq(&narrowed(WRITES, "Modify", &[("Id", "i-1"), ("UserData", "secret")], &[]));
}

#[test]
fn adv_164_content_makes_a_request_no_less_harmful() {
    let spent = CallState { deletes: 2, ..WRITES };
    for form in [&[("Id", "1")][..], &[("Id", "1"), ("DryRun", "x")], &[("DryRun", "x")]] {
        let read = narrowed(READS, "Remove", form, &[]);
        assert!(read.starts_with("E-EGRESS-READONLY"), "{form:?}: {read}");
        let counted = narrowed(spent, "Remove", form, &[]);
        assert!(counted.starts_with("E-EGRESS-BUDGET"), "{form:?}: {counted}");
    }
    assert_eq!(narrowed(WRITES, "Remove", &[("DryRun", "x")], &[]), "api.allow[2] POST / Remove", "it counts as that");
}

#[test]
fn adv_165_a_form_or_a_query_is_no_json_body() {
    let content = RuleContent::parse(None, &[], &["port.tags"]).unwrap();
    let rule = Rule { content, ..Rule::new([Method::Put], [PathPattern::parse("/ports/*").unwrap()]) };
    let api = [Arc::new(Endpoint { allow: vec![rule], ..endpoint("https://api.example.com") })];
    let code = |body: Option<Body>, query: &[(&str, &str)], content_type: Option<&str>| {
        let headers = content_type.iter().map(|it| ("content-type".to_owned(), (*it).to_owned())).collect();
        let asked = GuestRequest { query: pairs(query), headers, body, ..request(Method::Put, &["ports", "1"]) };
        permit(&api, WRITES, asked).map(|_| ()).map_err(|it| it.code)
    };
    let json = || Some(Body::Bytes(br#"{"port":{"tags":["a"]}}"#.to_vec()));
    assert_eq!(code(json(), &[], Some("application/json")), Ok(()));
    assert_eq!(code(json(), &[("port.tags", "a")], Some("application/json")), Err(Code::Content));
    assert_eq!(code(json(), &[], None), Err(Code::Content));
    assert_eq!(code(None, &[], Some("application/json")), Err(Code::Content));
    assert_eq!(code(Some(Body::Bytes(Vec::new())), &[], Some("application/json")), Err(Code::Content));
    assert_eq!(code(Some(Body::Form(pairs(&[("port.tags", "a")]))), &[], None), Err(Code::Content));
    let form = Some(Body::Bytes(b"port.tags=a".to_vec()));
    assert_eq!(code(form, &[], Some("application/x-www-form-urlencoded")), Err(Code::Content));
}
