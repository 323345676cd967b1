use super::*;
use crate::operation::OperationPattern;
use crate::testing::{endpoint, request};

const WRITES: CallState =
    CallState { mode: Mode::Write { deletes: 2 }, leads: true, requests: 0, most: REQUESTS, deletes: 0 };
const READS: CallState = CallState { mode: Mode::Read, ..WRITES };

fn permitted(state: CallState, request: GuestRequest) -> Result<Permitted, Denied> {
    permit(&[Arc::new(endpoint("https://api.example.com"))], state, request)
}

/// The code, or the rule and what would go out.
#[track_caller]
fn check(state: CallState, request: GuestRequest, expected: Result<(&str, &str), &str>) {
    match (permitted(state, request), expected) {
        (Ok(permitted), expected) => assert_eq!(Ok((permitted.rule(), permitted.target())), expected),
        (Err(denied), expected) => assert_eq!(Err(denied.code.as_str()), expected, "{denied}"),
    }
}

fn get(path: &[&str]) -> GuestRequest {
    request(Method::Get, path)
}

#[test]
fn a_request_that_a_rule_names_passes() {
    check(READS, get(&["v2", "droplets"]), Ok(("api.allow[0] GET /v2/**", "/v2/droplets")));
    check(READS, get(&["v2"]), Ok(("api.allow[0] GET /v2/**", "/v2")));
    let query = vec![("page".to_owned(), "2".to_owned()), ("tag".to_owned(), "a b".to_owned())];
    let paged = GuestRequest { query, ..get(&["v2", "droplets"]) };
    check(READS, paged, Ok(("api.allow[0] GET /v2/**", "/v2/droplets?page=2&tag=a%20b")));
    let made = request(Method::Post, &["v2", "load_balancers"]);
    check(WRITES, made, Ok(("api.allow[1] POST /v2/load_balancers/**", "/v2/load_balancers")));
}

#[test]
fn everything_goes_under_the_base_url() {
    let endpoint = Arc::new(endpoint("https://api.example.com/cloud/x;y"));
    let permitted = permit(&[endpoint], READS, get(&["v2", "a"])).map(|it| it.target().to_owned());
    assert_eq!(permitted.as_deref(), Ok("/cloud/x%3By/v2/a"));
}

#[test]
fn an_endpoint_must_exist() {
    for name in ["", "API", "api.example.com", "https://api.example.com", "169.254.169.254", "http://169.254.169.254/"]
    {
        let request = GuestRequest { endpoint: name.to_owned(), ..get(&["v2"]) };
        check(READS, request, Err("E-EGRESS-ENDPOINT"));
    }
}

#[test]
fn calls_that_only_read_cannot_write() {
    let none = CallState { mode: Mode::None, ..WRITES };
    for method in Method::ALL {
        check(none, request(method, &["v2", "load_balancers"]), Err("E-EGRESS-READONLY"));
        let judged = permitted(READS, request(method, &["v2", "load_balancers"])).map(|_| ()).map_err(|it| it.code);
        let expected = match method {
            Method::Get => Ok(()),
            Method::Head => Err(Code::Method),
            Method::Post | Method::Put | Method::Patch | Method::Delete => Err(Code::ReadOnly),
        };
        assert_eq!(judged, expected, "{method}");
    }
}

#[test]
fn a_replica_that_does_not_lead_cannot_write() {
    let follows = CallState { leads: false, ..WRITES };
    check(follows, request(Method::Post, &["v2", "load_balancers"]), Err("E-EGRESS-LEADER"));
    check(follows, request(Method::Delete, &["v2", "load_balancers", "1"]), Err("E-EGRESS-LEADER"));
    check(follows, get(&["v2"]), Ok(("api.allow[0] GET /v2/**", "/v2")));
}

#[test]
fn a_method_must_be_named() {
    check(WRITES, request(Method::Put, &["v2", "load_balancers"]), Err("E-EGRESS-METHOD"));
    check(WRITES, request(Method::Head, &["v2"]), Err("E-EGRESS-METHOD"));
}

#[test]
fn adv_17_paths_are_judged_as_they_go_out() {
    for path in [
        &["v2", "..", "admin"][..],
        &["v2", ".", "x"],
        &["v2", "", "x"],
        &["", "evil", "x"],
        &["v2", "a/b"],
        &["v2", "a\\b"],
        &["v2", "a\r\nb"],
        &["http:", "", "evil", "x"],
        &["v3"],
        &["V2"],
        &["v2%2fx"],
        &["v2;x"],
        &["http://evil/x"],
        &[],
    ] {
        check(READS, get(path), Err("E-EGRESS-PATH"));
    }
    check(READS, get(&["v2", "%2e%2e", "admin"]), Ok(("api.allow[0] GET /v2/**", "/v2/%252e%252e/admin")));
    check(READS, get(&["v2", "a%2fb;c"]), Ok(("api.allow[0] GET /v2/**", "/v2/a%252fb%3Bc")));
    check(WRITES, request(Method::Post, &["v2", "droplets"]), Err("E-EGRESS-PATH"));
}

#[test]
fn adv_08_adv_16_headers_of_the_host_cannot_be_set() {
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
        "x-unknown",
    ] {
        let request = GuestRequest { headers: vec![(name.to_owned(), "x".to_owned())], ..get(&["v2"]) };
        check(READS, request, Err("E-EGRESS-HEADER"));
    }
    let headers = ["Accept", "X-Extra"].map(|name| (name.to_owned(), "x".to_owned())).to_vec();
    let permitted = permitted(READS, GuestRequest { headers, ..get(&["v2"]) }).unwrap_or_else(|it| panic!("{it}"));
    let names: Vec<_> = permitted.headers.keys().map(|it| it.as_str()).collect();
    assert_eq!(names, ["accept", "x-extra"]);
}

#[test]
fn a_query_cannot_authenticate() {
    let query = vec![("access_token".to_owned(), "x".to_owned())];
    check(READS, GuestRequest { query, ..get(&["v2"]) }, Err("E-EGRESS-QUERY"));
}

#[test]
fn adv_a_form_cannot_authenticate() {
    let form = |content_type: &str, body: &str| GuestRequest {
        headers: vec![("Content-Type".to_owned(), content_type.to_owned())],
        body: Some(Body::Bytes(body.as_bytes().to_vec())),
        ..request(Method::Post, &["v2", "load_balancers"])
    };
    let sent = Ok(("api.allow[1] POST /v2/load_balancers/**", "/v2/load_balancers"));
    for content_type in [
        "application/x-www-form-urlencoded",
        "Application/X-WWW-Form-URLEncoded; charset=utf-8",
        " application/x-www-form-urlencoded ;",
    ] {
        check(WRITES, form(content_type, "Action=Describe&User-Token=x"), Err("E-EGRESS-QUERY"));
        check(WRITES, form(content_type, "Action=Describe&NextToken=x&ClientToken=y"), sent);
    }
    check(WRITES, form("application/json", "user_token=x"), sent);
}

#[test]
fn budgets_are_of_one_call() {
    check(CallState { requests: 99, ..READS }, get(&["v2"]), Ok(("api.allow[0] GET /v2/**", "/v2")));
    check(CallState { requests: 100, ..READS }, get(&["v2"]), Err("E-EGRESS-BUDGET"));
    let several = CallState { requests: 100, most: 300, ..READS };
    check(several, get(&["v2"]), Ok(("api.allow[0] GET /v2/**", "/v2")));
    check(CallState { requests: 300, ..several }, get(&["v2"]), Err("E-EGRESS-BUDGET"));
    let delete = || request(Method::Delete, &["v2", "load_balancers", "1"]);
    let rule = "api.allow[1] DELETE /v2/load_balancers/**";
    check(CallState { deletes: 1, ..WRITES }, delete(), Ok((rule, "/v2/load_balancers/1")));
    check(CallState { deletes: 2, ..WRITES }, delete(), Err("E-EGRESS-BUDGET"));
    let body = Some(Body::Bytes(vec![0; BODY_BYTES + 1]));
    let made = GuestRequest { body, ..request(Method::Post, &["v2", "load_balancers"]) };
    check(WRITES, made, Err("E-EGRESS-BUDGET"));
}

#[test]
fn a_read_has_no_body() {
    let request = GuestRequest { body: Some(Body::Bytes(b"{}".to_vec())), ..get(&["v2"]) };
    check(READS, request, Err("E-EGRESS-METHOD"));
}

#[test]
fn the_first_objection_counts() {
    let mut request = GuestRequest {
        endpoint: "other".to_owned(),
        method: Method::Patch,
        path: vec!["..".to_owned()],
        query: vec![("token".to_owned(), "x".to_owned())],
        headers: vec![("host".to_owned(), "x".to_owned())],
        body: None,
    };
    let mut code = |state, change: fn(&mut GuestRequest)| {
        change(&mut request);
        let GuestRequest { endpoint, method, path, query, headers, body } = &request;
        let (endpoint, method, body) = (endpoint.clone(), *method, body.clone());
        let (path, query, headers) = (path.clone(), query.clone(), headers.clone());
        let request = GuestRequest { endpoint, method, path, query, headers, body };
        permitted(state, request).map(|_| ()).map_err(|it| it.code)
    };
    let spent = CallState { requests: 100, leads: false, ..READS };
    assert_eq!(code(spent, |_| ()), Err(Code::Endpoint));
    assert_eq!(code(spent, |it| it.endpoint = "api".to_owned()), Err(Code::ReadOnly));
    let spent = CallState { requests: 100, leads: false, ..WRITES };
    assert_eq!(code(spent, |_| ()), Err(Code::Leader));
    let spent = CallState { requests: 100, ..WRITES };
    assert_eq!(code(spent, |_| ()), Err(Code::Method));
    assert_eq!(code(spent, |it| it.method = Method::Get), Err(Code::Path));
    assert_eq!(code(spent, |it| it.path = vec!["v2".to_owned()]), Err(Code::Header));
    assert_eq!(code(spent, |it| it.headers.clear()), Err(Code::Query));
    assert_eq!(code(spent, |it| it.query.clear()), Err(Code::Budget));
    assert_eq!(code(WRITES, |_| ()), Ok(()));
}

#[test]
fn a_denial_says_what_the_operator_would_have_to_allow() {
    let says = |state, request| permitted(state, request).err().expect("denied").to_string();
    expect_test::expect![[r#"E-EGRESS-ENDPOINT: there is no endpoint "metadata"; the operator would have to add it to `endpoints` (there are: api)"#]]
        .assert_eq(&says(READS, GuestRequest { endpoint: "metadata".to_owned(), ..get(&[]) }));
    expect_test::expect![
        "E-EGRESS-METHOD: endpoint api allows PATCH nowhere; the operator would have to add it to a rule of `allow`"
    ]
    .assert_eq(&says(WRITES, request(Method::Patch, &["v2"])));
    expect_test::expect!["E-EGRESS-PATH: endpoint api does not allow GET /v3/x%20y; the operator would have to add a rule with this method and a path that matches"]
        .assert_eq(&says(READS, get(&["v3", "x y"])));
    expect_test::expect![
        "E-EGRESS-READONLY: DELETE has the effect delete here, and this call only reads; no config can allow it"
    ]
    .assert_eq(&says(READS, request(Method::Delete, &["v2"])));
    expect_test::expect![[r#"E-EGRESS-HEADER: endpoint api: the header "x-trace" is not allowed; the operator would have to name it in `headers`"#]]
        .assert_eq(&says(READS, GuestRequest { headers: vec![("x-trace".to_owned(), String::new())], ..get(&["v2"]) }));
}

/// An API as AWS's is: one path, and an operation in `Action`.
fn action_endpoint() -> Endpoint {
    let rule = |methods: &[Method], operations: &[&str], effect| Rule {
        operations: operations.iter().map(|it| OperationPattern::parse(it).unwrap()).collect(),
        effect: Some(effect),
        ..Rule::new(methods, [PathPattern::parse("/").unwrap()])
    };
    Endpoint {
        operation: Some(OperationPlace::Parameter("Action".to_owned())),
        parameters: vec![("Version".to_owned(), "2016-11-15".to_owned())],
        allow: vec![
            rule(&[Method::Get, Method::Post], &["*"], Effect::Read),
            rule(&[Method::Post], &["CreateRoute", "RunInstances"], Effect::Write),
            rule(&[Method::Get, Method::Post], &["Delete*", "Terminate*"], Effect::Delete),
        ],
        ..endpoint("https://ec2.example.com")
    }
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Effect and target, or the code.
fn by_action(state: CallState, method: Method, query: &[(&str, &str)], form: Option<&[(&str, &str)]>) -> String {
    let body = form.map(|it| Body::Form(pairs(it)));
    let request = GuestRequest { query: pairs(query), body, ..request(method, &[]) };
    match permit(&[Arc::new(action_endpoint())], state, request) {
        Ok(it) => format!("{} {}", it.effect(), it.target()),
        Err(denied) => denied.code.as_str().to_owned(),
    }
}

const VERSION: (&str, &str) = ("Version", "2016-11-15");

#[test]
fn adv_113_a_get_that_terminates_is_a_deletion() {
    let terminate = [("Action", "TerminateInstances"), VERSION];
    assert_eq!(by_action(READS, Method::Get, &terminate, None), "E-EGRESS-READONLY");
    assert_eq!(by_action(READS, Method::Post, &[], Some(&terminate)), "E-EGRESS-READONLY");
    assert_eq!(by_action(READS, Method::Get, &[("Action", "terminateinstances"), VERSION], None), "E-EGRESS-READONLY");
    let target = "/?Action=TerminateInstances&Version=2016-11-15";
    assert_eq!(by_action(WRITES, Method::Get, &terminate, None), format!("delete {target}"));
    let follows = CallState { leads: false, ..WRITES };
    assert_eq!(by_action(follows, Method::Get, &terminate, None), "E-EGRESS-LEADER");
    let spent = CallState { deletes: 2, ..WRITES };
    assert_eq!(by_action(spent, Method::Get, &terminate, None), "E-EGRESS-BUDGET");
}

#[test]
fn adv_113_without_a_named_place_no_read_says_what_it_does() {
    let mut api = Endpoint { operation: None, parameters: Vec::new(), ..action_endpoint() };
    for rule in &mut api.allow {
        (rule.operations, rule.effect) = (Vec::new(), None);
    }
    let endpoint = [Arc::new(api)];
    let code = |method, name: &str| {
        let asked = GuestRequest { query: pairs(&[(name, "TerminateInstances")]), ..request(method, &[]) };
        permit(&endpoint, WRITES, asked).map(|_| ()).map_err(|it| it.code)
    };
    for name in ["Action", "action", "X-Amz-Target", "Action[]"] {
        assert!(code(Method::Get, name).is_err(), "{name}");
    }
    assert_eq!(code(Method::Get, "Action"), Err(Code::Operation));
    assert_eq!(code(Method::Post, "Action"), Ok(()), "it counts as a write");
    assert_eq!(code(Method::Get, "transactions"), Ok(()));
}

#[test]
fn adv_156_without_a_named_place_no_header_says_it_either() {
    let headers = ["x-acs-action", "action", "x-trace"].map(str::to_owned).to_vec();
    let mut api = Endpoint { operation: None, parameters: Vec::new(), headers, ..action_endpoint() };
    for rule in &mut api.allow {
        (rule.operations, rule.effect) = (Vec::new(), None);
    }
    let endpoint = [Arc::new(api)];
    let code = |method, name: &str| {
        let asked = GuestRequest { headers: pairs(&[(name, "TerminateInstances")]), ..request(method, &[]) };
        permit(&endpoint, WRITES, asked).map(|_| ()).map_err(|it| it.code)
    };
    for name in ["action", "Action"] {
        assert_eq!(code(Method::Get, name), Err(Code::Operation), "{name}");
    }
    assert_eq!(code(Method::Post, "action"), Ok(()), "it counts as a write");
    for name in ["x-acs-action", "X-Acs-Action"] {
        assert_eq!(code(Method::Get, name), Err(Code::Header), "{name}: the host's, where nobody has named it");
        assert_eq!(code(Method::Post, name), Err(Code::Header), "{name}");
    }
    assert_eq!(code(Method::Get, "x-trace"), Ok(()));
}

#[test]
fn adv_113_a_post_that_describes_is_a_read() {
    let describe = [("Action", "DescribeInstances"), VERSION];
    assert_eq!(by_action(READS, Method::Post, &[], Some(&describe)), "read /");
    assert_eq!(by_action(CallState { leads: false, ..READS }, Method::Post, &[], Some(&describe)), "read /");
    let (query, form) = ([VERSION], [("Action", "DescribeInstances")]);
    assert_eq!(by_action(READS, Method::Post, &query, Some(&form)), "read /?Version=2016-11-15");
    assert_eq!(by_action(READS, Method::Post, &[], Some(&[("Action", "RunInstances"), VERSION])), "E-EGRESS-READONLY");
}

#[test]
fn adv_113_an_operation_is_said_once_across_query_and_form() {
    let (describe, terminate) = (("Action", "DescribeInstances"), ("Action", "TerminateInstances"));
    for (query, form) in [
        (&[describe, VERSION][..], Some(&[terminate][..])),
        (&[describe, VERSION], Some(&[describe])),
        (&[describe, VERSION], Some(&[("action", "TerminateInstances")])),
        (&[VERSION], None),
        (&[VERSION], Some(&[])),
        (&[describe], None),
        (&[describe, VERSION, VERSION], None),
        (&[describe, ("Version", "2012-06-01")], None),
        (&[describe, VERSION], Some(&[("version", "2012-06-01")])),
    ] {
        let method = if form.is_some() { Method::Post } else { Method::Get };
        assert_eq!(by_action(WRITES, method, query, form), "E-EGRESS-OPERATION", "{query:?} {form:?}");
    }
}

#[test]
fn adv_114_an_endpoint_with_an_operation_takes_forms_only() {
    let endpoint = [Arc::new(action_endpoint())];
    let query = pairs(&[("Action", "DescribeInstances"), VERSION]);
    for content_type in ["application/json", "application/x-www-form-urlencoded", "text/plain"] {
        let headers = pairs(&[("content-type", content_type)]);
        let body = Some(Body::Bytes(b"Action=TerminateInstances".to_vec()));
        let asked = GuestRequest { query: query.clone(), headers, body, ..request(Method::Post, &[]) };
        assert_eq!(permit(&endpoint, WRITES, asked).err().map(|it| it.code), Some(Code::Operation), "{content_type}");
    }
    let headers = pairs(&[("content-type", "application/json")]);
    let body = Some(Body::Form(Vec::new()));
    let asked = GuestRequest { query, headers, body, ..request(Method::Post, &[]) };
    assert_eq!(
        permit(&endpoint, WRITES, asked).err().map(|it| it.code),
        Some(Code::Header),
        "the host says what it is"
    );
}

#[test]
fn adv_114_a_form_goes_out_as_the_host_writes_it() {
    let form = pairs(&[("Action", "RunInstances"), VERSION, ("Name", "a&Action=TerminateInstances")]);
    let asked = GuestRequest { body: Some(Body::Form(form)), ..request(Method::Post, &[]) };
    let permitted = permit(&[Arc::new(action_endpoint())], WRITES, asked).unwrap_or_else(|it| panic!("{it}"));
    assert_eq!((permitted.effect(), permitted.operation()), (Effect::Write, Some("RunInstances")));
    assert_eq!(permitted.rule(), "api.allow[1] POST / RunInstances");
    assert_eq!(permitted.headers().get("content-type").unwrap(), "application/x-www-form-urlencoded");
    let body = String::from_utf8(permitted.body().to_vec()).unwrap();
    assert_eq!(body, "Action=RunInstances&Version=2016-11-15&Name=a%26Action%3DTerminateInstances");
    let secret = Body::Form(pairs(&[("Action", "RunInstances"), VERSION, ("AWSAccessKeyId", "x")]));
    let asked = GuestRequest { body: Some(secret), ..request(Method::Post, &[]) };
    assert_eq!(permit(&[Arc::new(action_endpoint())], WRITES, asked).err().map(|it| it.code), Some(Code::Query));
}

#[test]
fn adv_113_the_most_harmful_effect_of_several_rules_counts() {
    let rule = |method, path: &str, effect| Rule { effect, ..Rule::new([method], [PathPattern::parse(path).unwrap()]) };
    let endpoint = [Arc::new(Endpoint {
        allow: vec![
            rule(Method::Post, "/v2/**", Some(Effect::Read)),
            rule(Method::Post, "/v2/*/delete", Some(Effect::Delete)),
            rule(Method::Post, "/v2/*/change", None),
        ],
        ..endpoint("https://api.example.com")
    })];
    for (path, expected) in
        [("list", Ok(Effect::Read)), ("delete", Err(Code::ReadOnly)), ("change", Err(Code::ReadOnly))]
    {
        let found = permit(&endpoint, READS, request(Method::Post, &["v2", "x", path]));
        assert_eq!(found.map(|it| it.effect()).map_err(|it| it.code), expected, "{path}");
    }
    let deletion =
        permit(&endpoint, WRITES, request(Method::Post, &["v2", "x", "delete"])).unwrap_or_else(|it| panic!("{it}"));
    assert_eq!(deletion.rule(), "api.allow[1] POST /v2/*/delete");
}

#[test]
fn adv_113_a_rule_can_require_the_version_that_was_read() {
    let put = |path: &str, requires: Vec<Requirement>| Rule {
        requires,
        ..Rule::new([Method::Put], [PathPattern::parse(path).unwrap()])
    };
    let allow = vec![put("/v2/**", Vec::new()), put("/v2/whole", vec![Requirement::IfMatch])];
    let endpoint = [Arc::new(Endpoint { allow, ..endpoint("https://api.example.com") })];
    let code = |path: &str, headers: &[(&str, &str)]| {
        let asked = GuestRequest { headers: pairs(headers), ..request(Method::Put, &["v2", path]) };
        permit(&endpoint, WRITES, asked).map(|_| ()).map_err(|it| it.code)
    };
    assert_eq!(code("part", &[]), Ok(()));
    assert_eq!(code("whole", &[("If-Match", "\"abc\"")]), Ok(()));
    for headers in [&[][..], &[("if-match", "")], &[("if-match", " ")], &[("if-match", "*")], &[("if-match", " * ")]] {
        assert_eq!(code("whole", headers), Err(Code::Header), "{headers:?}");
    }
    // A write that makes an object (`if-none-match: *`) undoes nobody's changes.
    assert_eq!(code("whole", &[("if-none-match", "*")]), Ok(()));
    for headers in [&[("if-none-match", "\"abc\"")][..], &[("if-none-match", "*"), ("if-match", "*")]] {
        assert_eq!(code("whole", headers), Err(Code::Header), "{headers:?}");
    }
}

#[test]
fn a_denial_names_the_rule_that_makes_a_write_of_it() {
    let query = pairs(&[("Action", "RunInstances"), VERSION]);
    let asked = GuestRequest { query, ..request(Method::Post, &[]) };
    let denied = permit(&[Arc::new(action_endpoint())], READS, asked).err().expect("denied").to_string();
    expect_test::expect![[r#"E-EGRESS-READONLY: "RunInstances" (api.allow[1] POST / RunInstances) has the effect write here, and this call only reads; if these requests only read, the operator would have to say effect: read in their rule"#]]
        .assert_eq(&denied);
}

mod content;
