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

/// One path for attachments, growth and detachments, told apart by a text in the body; `beside` is one rule more.
fn actions(beside: Option<Rule>) -> [Arc<Endpoint>; 1] {
    let rule = |types: &[&str], fields: &[&str], effect| {
        let types = types.iter().map(|it| (*it).to_owned()).collect();
        let content = RuleContent::parse(None, &[], fields).unwrap().with_body(&[("type".to_owned(), types)]).unwrap();
        Rule {
            content,
            effect: Some(effect),
            ..Rule::new([Method::Post], [PathPattern::parse("/volumes/*/actions").unwrap()])
        }
    };
    let mut allow = vec![
        rule(&["attach"], &["droplet_id", "region"], Effect::Update),
        rule(&["resize"], &["region", "size_gigabytes"], Effect::Write),
        rule(&["detach"], &["droplet_id", "region"], Effect::Detach),
    ];
    allow.extend(beside);
    [Arc::new(Endpoint { allow, ..endpoint("https://api.example.com") })]
}

/// The effect and the rule of an action with this body, or the code.
fn acted(endpoints: &[Arc<Endpoint>; 1], state: CallState, body: &str) -> String {
    let headers = pairs(&[("content-type", "application/json")]);
    let body = Some(Body::Bytes(body.as_bytes().to_vec()));
    let asked = GuestRequest { headers, body, ..request(Method::Post, &["volumes", "1", "actions"]) };
    match permit(endpoints, state, asked) {
        Ok(it) => format!("{} {}", it.effect(), it.rule()),
        Err(denied) => denied.code.as_str().to_owned(),
    }
}

/// A call that attaches: it may take nothing away, and enlarge nothing.
const ATTACHES: CallState = CallState { mode: Mode::Update, ..WRITES };
/// A call that enlarges.
const EXPANDS: CallState = CallState { mode: Mode::Write { deletes: 0 }, ..WRITES };

#[test]
fn adv_175_a_call_that_attaches_detaches_nothing() {
    let api = actions(None);
    let attach = r#"{"type":"attach","droplet_id":1,"region":"x"}"#;
    assert_eq!(acted(&api, ATTACHES, attach), "update api.allow[0] POST /volumes/*/actions");
    let resize = r#"{"type":"resize","size_gigabytes":2}"#;
    assert_eq!(acted(&api, EXPANDS, resize), "write api.allow[1] POST /volumes/*/actions");
    assert_eq!(acted(&api, ATTACHES, resize), "E-EGRESS-BUDGET", "a volume never shrinks again");
    assert_eq!(acted(&api, READS, attach), "E-EGRESS-READONLY");
    let detach = r#"{"type":"detach","droplet_id":1}"#;
    assert_eq!(acted(&api, WRITES, detach), "detach api.allow[2] POST /volumes/*/actions");
    assert_eq!(acted(&api, ATTACHES, detach), "E-EGRESS-BUDGET");
    assert_eq!(acted(&api, EXPANDS, detach), "E-EGRESS-BUDGET");
    for body in [
        r#"{"type":"attach","type":"detach"}"#,
        r#"{"type":"detach","type":"attach"}"#,
        r#"{"type":"attach","t\u0079pe":"detach"}"#,
        r#"{"type":"attach","Type":"detach"}"#,
        r#"{"type":["attach"]}"#,
        r#"{"type":"DETACH"}"#,
        r#"{"droplet_id":1}"#,
        r#"{"type":"attach"} {"type":"detach"}"#,
        r#"{"type":"attach""#,
        "type=attach",
        "",
    ] {
        assert_eq!(acted(&api, WRITES, body), "E-EGRESS-CONTENT", "{body}");
    }
}

#[test]
fn adv_175_a_body_that_is_not_read_counts_as_the_worst() {
    let open = Rule {
        effect: Some(Effect::Update),
        ..Rule::new([Method::Post], [PathPattern::parse("/volumes/**").unwrap()])
    };
    let api = actions(Some(open.clone()));
    for body in [
        r#"{"type":"detach"}"#,
        r#"{"type":"attach","type":"detach"}"#,
        r#"{"type":"attach","Type":"detach"}"#,
        r#"{"type":"detach "}"#,
        r#"{"type":"Detach"}"#,
        r#"{"type":"snapshot"}"#,
        "not JSON",
        "",
    ] {
        assert_eq!(
            acted(&api, ATTACHES, body),
            "E-EGRESS-BUDGET",
            "{body}: a rule that lets all stand makes it no less"
        );
        assert!(!acted(&api, WRITES, body).starts_with("update "), "{body}");
    }
    assert!(acted(&api, ATTACHES, r#"{"type":"attach"}"#).starts_with("update "));
    let wide = RuleContent::parse(None, &[], &["type", "droplet_id"]).unwrap();
    let api = actions(Some(Rule { content: wide, ..open.clone() }));
    assert_eq!(acted(&api, ATTACHES, r#"{"type":"detach"}"#), "E-EGRESS-BUDGET", "nor one that lets any text stand");
    let both = RuleContent::parse(None, &[], &["droplet_id", "force"]).unwrap();
    let both = both.with_body(&[("type".to_owned(), vec!["attach".to_owned(), "detach".to_owned()])]).unwrap();
    let api = actions(Some(Rule { content: both, ..open.clone() }));
    for body in [r#"{"type":"detach"}"#, r#"{"type":"detach","force":true}"#, r#"{"type":"attach","force":true}"#] {
        assert_eq!(acted(&api, ATTACHES, body), "E-EGRESS-BUDGET", "{body}: a member more takes it out of no rule");
    }
    let deletion = Rule { effect: Some(Effect::Delete), ..open };
    let api = actions(Some(deletion));
    assert_eq!(acted(&api, ATTACHES, r#"{"type":"attach"}"#), "E-EGRESS-BUDGET", "a rule without texts always counts");
}
