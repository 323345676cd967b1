use http::HeaderValue;

use super::*;

fn content(only: Option<&[&str]>, values: &[(&str, &[&str])], fields: &[&str]) -> RuleContent {
    let words = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let values: Vec<_> = values.iter().map(|(name, values)| ((*name).to_owned(), words(values))).collect();
    RuleContent::parse(only, &values, fields).unwrap()
}

/// Whether these parameters may stand, in a request to an endpoint with an operation and a version.
fn admits(content: &RuleContent, pairs: &[(&str, &str)]) -> bool {
    let pairs: Vec<_> = pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let headers = HeaderMap::new();
    content.admits(Carried { pairs: &pairs, own: &["Action", "Version"], headers: &headers, body: &[] }).is_ok()
}

/// Why a body may not stand; "" if it may.
fn refusal(fields: &[&str], content_type: &str, body: &str) -> String {
    let mut headers = HeaderMap::new();
    if !content_type.is_empty() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_str(content_type).unwrap());
    }
    let carried = Carried { pairs: &[], own: &[], headers: &headers, body: body.as_bytes() };
    content(None, &[], fields).admits(carried).err().unwrap_or_default()
}

const JSON: &str = "application/json";
const PORT: [&str; 2] = ["port.allowed_address_pairs", "port.security_groups"];

#[test]
fn adv_164_only_named_parameters_stand() {
    let only = content(Some(&["SourceDestCheck.Value", "Filter.*"]), &[("InstanceId", &["i-*"])], &[]);
    let (id, check) = (("InstanceId", "i-1"), ("SourceDestCheck.Value", "false"));
    for pairs in [
        &[][..],
        &[id],
        &[id, check],
        &[("Action", "ModifyInstanceAttribute"), id, ("Version", "2016-11-15"), check],
        &[("Filter.1.Name", "x"), ("Filter.1.Value.1", "y"), ("Filter.2.Name", "x")],
    ] {
        assert!(admits(&only, pairs), "{pairs:?}");
    }
    for other in [
        "UserData",
        "UserData.Value",
        "GroupId.1",
        "sourcedestcheck.value",
        "SourceDestCheck.Value ",
        " SourceDestCheck.Value",
        "SourceDestCheck.Value.1",
        "SourceDestCheck",
        "SourceDestCheck%2EValue",
        "SourceDestCheck.Value[]",
        "SourceDestCheck.Value\u{200b}",
        "instanceid",
        "INSTANCEID",
        "InstanceId.1",
        "filter.1.Name",
        "Filter",
        "action",
        "",
    ] {
        assert!(!admits(&only, &[id, check, (other, "i-1")]), "{other:?}");
    }
    assert!(!admits(&only, &[id, check, check]), "twice");
    assert!(!admits(&only, &[id, ("InstanceId", "i-2")]), "twice with another value");
    let nothing = content(Some(&[]), &[], &[]);
    assert!(admits(&nothing, &[("Action", "x"), ("Version", "y")]) && !admits(&nothing, &[id]));
    assert!(admits(&RuleContent::default(), &[("anything", "x"), ("anything", "y")]), "it names nothing");
}

#[test]
fn adv_166_values_are_those_of_the_resources() {
    let tags = content(
        Some(&["Tag.*"]),
        &[("ResourceId.*", &["sg-*", "vpc-1"]), ("Tag.*.Key", &["kubernetes.io/cluster/prod", "acme/*"])],
        &[],
    );
    let (group, tag) = (("ResourceId.1", "sg-7"), [("Tag.1.Key", "acme/a"), ("Tag.1.Value", "anything")]);
    assert!(admits(&tags, &[group, tag[0], tag[1]]));
    assert!(admits(&tags, &[("ResourceId.1", "vpc-1"), ("ResourceId.2", "sg-"), tag[0]]));
    for pairs in [
        &[("ResourceId.1", "i-7")][..],
        &[("ResourceId.1", "vpc-12")],
        &[("ResourceId.1", "SG-7")],
        &[("ResourceId.1", " sg-7")],
        &[("ResourceId.1", "")],
        &[group, ("ResourceId.2", "i-7")],
        &[group, ("resourceid.2", "sg-7")],
        &[group, ("Tag.1.Key", "kubernetes.io/cluster/other")],
        &[group, ("Tag.1.Key", "kubernetes.io/cluster/prod"), ("Tag.2.Key", "Name")],
        // `only` would let it stand, and a cloud may take it for the key.
        &[group, ("Tag.1.key", "Name")],
        &[group, ("Tag.1.KEY", "acme/a")],
    ] {
        assert!(!admits(&tags, pairs), "{pairs:?}");
    }
}

#[test]
fn adv_165_only_named_members_stand() {
    for body in [
        r#"{"port":{"allowed_address_pairs":[{"ip_address":"10.0.0.0/24","x":{"y":[]}}]}}"#,
        r#" {"port": {"security_groups": null, "allowed_address_pairs": []}} "#,
        r#"{"p\u006frt":{"security_groups":[1,-2,0.5,true,"x"]}}"#,
    ] {
        for content_type in [JSON, "Application/JSON; charset=UTF-8"] {
            assert_eq!(refusal(&PORT, content_type, body), "", "{body}");
        }
    }
    for (body, part) in [
        ("", "it has no JSON body"),
        ("{}", "none of the members"),
        (r#"{"port":{}}"#, "none of the members"),
        (r#"{"port":null}"#, r#""port" is no JSON object"#),
        (r#"{"port":[{"security_groups":[]}]}"#, r#""port" is no JSON object"#),
        (r#"[{"port":{"security_groups":[]}}]"#, "its JSON body is no JSON object"),
        ("null", "its JSON body is no JSON object"),
        (r#""port""#, "its JSON body is no JSON object"),
        (r#"{"port":{"security_groups":[],"device_id":"x"}}"#, r#"member "port.device_id" of"#),
        (r#"{"port":{"security_groups":[]},"x":1}"#, r#"member "x" of"#),
        (r#"{"Port":{"security_groups":[]}}"#, r#"member "Port" of"#),
        (r#"{"port":{"security_groups":[],"Security_Groups":[]}}"#, r#"member "port.Security_Groups" of"#),
        (r#"{"port.security_groups":[]}"#, r#"member "port.security_groups" of"#),
        (r#"{"port":{"security_groups":[],"security_groups":[]}}"#, r#"member "security_groups" stands twice"#),
        (r#"{"port":{"security_groups":[]},"p\u006frt":{"security_groups":[]}}"#, r#"member "port" stands twice"#),
        (r#"{"port":{"security_groups":[{"a":1,"\u0061":2}]}}"#, r#"member "a" stands twice"#),
        (r#"{"port":{"security_groups":[]}} {}"#, "cannot be read as JSON"),
        (r#"{"port":{"security_groups":[]}"#, "cannot be read as JSON"),
        (r#"{'port':{'security_groups':[]}}"#, "cannot be read as JSON"),
        (r#"{"port":{"security_groups":[],}}"#, "cannot be read as JSON"),
        (r#"{"port":{"security_groups":"\ud800"}}"#, "cannot be read as JSON"),
        ("\u{feff}{\"port\":{\"security_groups\":[]}}", "cannot be read as JSON"),
        ("port=x&security_groups=y", "cannot be read as JSON"),
    ] {
        let refusal = refusal(&PORT, JSON, body);
        assert!(refusal.contains(part), "{body}: {refusal}");
    }
}

#[test]
fn adv_165_a_body_is_json_that_says_so() {
    let body = r#"{"port":{"security_groups":[]}}"#;
    for content_type in [
        "",
        "text/plain",
        "text/json",
        "application/json-patch+json",
        "application/x-www-form-urlencoded",
        "application/json, text/xml",
        "application/json; charset=utf-16",
        "application/json; charset=utf-8; x=y",
        "application/json;",
    ] {
        let refusal = refusal(&PORT, content_type, body);
        assert!(refusal.contains("does not say that its body is application/json"), "{content_type}: {refusal}");
    }
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    let carried = Carried { pairs: &[], own: &[], headers: &headers, body: body.as_bytes() };
    assert!(content(None, &[], &PORT).admits(carried).is_ok());
    assert_eq!(refusal(&PORT, "application/merge-patch+json", body), "", "a change is named by its members, too");
    assert!(
        !refusal(&PORT, "application/merge-patch+json", r#"{"port":null}"#).is_empty(),
        "one that takes away what is around them"
    );
    let pairs = [("fields".to_owned(), "id".to_owned())];
    assert!(content(None, &[], &PORT).admits(Carried { pairs: &pairs, ..carried }).is_err(), "no query is named");
    assert!(content(Some(&["fields"]), &[], &PORT).admits(Carried { pairs: &pairs, ..carried }).is_ok());
    assert!(content(Some(&["fields"]), &[], &[]).admits(carried).is_err(), "no member is named");
    headers.append(CONTENT_TYPE, HeaderValue::from_static(JSON));
    let twice = Carried { pairs: &[], own: &[], headers: &headers, body: body.as_bytes() };
    assert!(content(None, &[], &PORT).admits(twice).is_err(), "it says it twice");
}

#[test]
fn adv_165_work_on_a_body_is_bounded() {
    let nested = |depth: usize| format!(r#"{{"port":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    assert_eq!(refusal(&["port"], JSON, &nested(31)), "");
    assert!(refusal(&["port"], JSON, &nested(32)).contains("nested deeper than 32"));
    assert!(refusal(&["port"], JSON, &nested(100_000)).contains("nested deeper than 32"));
    let members = |count: usize| {
        let members: Vec<_> = (0..count).map(|it| format!("\"{it}\":0")).collect();
        format!(r#"{{"port":{{{}}}}}"#, members.join(","))
    };
    assert_eq!(refusal(&["port"], JSON, &members(9_999)), "");
    assert!(refusal(&["port"], JSON, &members(10_000)).contains("more than 10000 members"));
    let long = format!(r#"{{"port":"{}"}}"#, "x".repeat(1 << 20));
    assert!(refusal(&["port"], JSON, &long).contains("more than 1048576 bytes"));
}

/// Rules that tell requests with one path apart by their bodies, as DigitalOcean's actions are.
fn acting(types: &[&str], fields: &[&str]) -> RuleContent {
    let types = types.iter().map(|it| (*it).to_owned()).collect();
    content(None, &[], fields).with_body(&[("type".to_owned(), types)]).unwrap()
}

#[test]
fn adv_175_a_text_in_a_body_is_read_once_and_in_one_way() {
    let attach = acting(&["attach", "resize"], &["droplet_id", "region"]);
    let refusal = |content_type: &'static str, query: &[(&str, &str)], body: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        let pairs: Vec<_> = query.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let carried = Carried { pairs: &pairs, own: &[], headers: &headers, body: body.as_bytes() };
        attach.admits(carried).err().unwrap_or_default()
    };
    for body in [
        r#"{"type":"attach","droplet_id":1,"region":"x"}"#,
        r#"{"droplet_id":{"type":"detach"},"type":"attach"}"#,
        r#" {"t\u0079pe":"\u0061ttach"} "#,
        r#"{"type":"resize"}"#,
    ] {
        assert_eq!(refusal(JSON, &[], body), "", "{body}");
    }
    for (body, part) in [
        (r#"{"type":"detach"}"#, "is not one of the texts that `body` lets stand, attach, resize"),
        (r#"{"type":"Attach"}"#, "is not one of the texts"),
        (r#"{"type":"attach "}"#, "is not one of the texts"),
        (r#"{"type":"attach\u0000"}"#, "is not one of the texts"),
        (r#"{"type":"\uff41ttach"}"#, "is not one of the texts"),
        (r#"{"type":""}"#, "is not one of the texts"),
        (r#"{"type":null}"#, "is not one of the texts"),
        (r#"{"type":true}"#, "is not one of the texts"),
        (r#"{"type":1}"#, "is not one of the texts"),
        (r#"{"type":["attach"]}"#, "is not one of the texts"),
        (r#"{"type":{"type":"attach"}}"#, "is not one of the texts"),
        (r#"{"droplet_id":1}"#, r#"lacks the member "type""#),
        (r#"{"droplet_id":{"type":"attach"}}"#, r#"lacks the member "type""#),
        ("{}", r#"lacks the member "type""#),
        (r#"{"type":"attach","type":"detach"}"#, "stands twice"),
        (r#"{"type":"attach","type":"attach"}"#, "stands twice"),
        (r#"{"type":"detach","type":"attach"}"#, "is not one of the texts"),
        (r#"{"type":"attach","t\u0079pe":"detach"}"#, "stands twice"),
        (r#"{"type":"attach","Type":"detach"}"#, r#"member "Type" of"#),
        (r#"{"type":"attach","type ":"detach"}"#, r#"member "type " of"#),
        (r#"{"type":"attach","volume_action":{"type":"detach"}}"#, r#"member "volume_action" of"#),
        (r#"[{"type":"attach"}]"#, "is no JSON object"),
        (r#""attach""#, "is no JSON object"),
        (r#"{"type":"attach"}{"type":"detach"}"#, "cannot be read as JSON"),
        (r#"{"type":"attach"} x"#, "cannot be read as JSON"),
        ("{\"type\":\"attach\"}\0", "cannot be read as JSON"),
        (r#"{"type":"attach",}"#, "cannot be read as JSON"),
        (r#"{"type":"attach"/*,"type":"detach"*/}"#, "cannot be read as JSON"),
        ("\u{feff}{\"type\":\"attach\"}", "cannot be read as JSON"),
        ("", "it has no JSON body"),
    ] {
        let refusal = refusal(JSON, &[], body);
        assert!(refusal.contains(part), "{body}: {refusal}");
    }
    let body = r#"{"type":"attach"}"#;
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16"] {
        assert!(refusal(content_type, &[], body).contains("does not say that its body"), "{content_type}");
    }
    for encoding in ["gzip", "identity"] {
        let pairs =
            [(CONTENT_TYPE, HeaderValue::from_static(JSON)), (CONTENT_ENCODING, HeaderValue::from_static(encoding))];
        let headers = pairs.into_iter().collect();
        let carried = Carried { pairs: &[], own: &[], headers: &headers, body: body.as_bytes() };
        assert!(attach.admits(carried).is_err_and(|it| it.contains("has a content-encoding")), "{encoding}");
    }
    assert!(refusal(JSON, &[("type", "detach")], body).contains("is not one that `only`"));
    let with_query = RuleContent { only: Some(vec![Pattern("*".to_owned())]), ..attach.clone() };
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    for (name, may_stand) in [("type", false), ("Type", false), ("type[]", false), ("types", true)] {
        let pairs = [(name.to_owned(), "detach".to_owned())];
        let carried = Carried { pairs: &pairs, own: &[], headers: &headers, body: body.as_bytes() };
        assert_eq!(with_query.admits(carried).is_ok(), may_stand, "{name}: some servers read it as the body's member");
    }
}

#[test]
fn adv_175_texts_of_a_body_are_written_in_full_and_once() {
    let parse = |fields: &[&str], name: &str, texts: &[&str]| {
        let texts = texts.iter().map(|it| (*it).to_owned()).collect();
        content(None, &[], fields).with_body(&[(name.to_owned(), texts)]).err().unwrap_or_default()
    };
    assert_eq!(parse(&["a"], "type", &["attach", "resize"]), "");
    for texts in [&[][..], &["*"], &["att*"], &[""], &["a\n"]] {
        assert!(parse(&[], "type", texts).contains("write each in full"), "{texts:?}");
    }
    for name in ["", "a.", "a.*"] {
        assert!(parse(&[], name, &["x"]).contains("in `body` is no member"), "{name:?}");
    }
    for fields in [["type"], ["type.of"], ["Type"], ["TYPE.of"]] {
        assert!(parse(&fields, "type", &["x"]).contains("name it once"), "{fields:?}");
    }
    assert!(parse(&["port"], "port.kind", &["x"]).contains("name it once"), "what is below `fields` is free");
    let texts = || vec!["x".to_owned()];
    let twice = [("type".to_owned(), texts()), ("Type".to_owned(), texts())];
    assert!(content(None, &[], &[]).with_body(&twice).is_err_and(|it| it.contains("name it once")));
    for (only, values, may_stand) in [
        (Some(&["*"][..]), &[][..], false),
        (Some(&["t*"]), &[], false),
        (Some(&["Type"]), &[], false),
        (None, &[("*pe", &["x"][..])], false),
        (Some(&["id"]), &[("tag", &["x"])], true),
    ] {
        let said = content(only, values, &[]).with_body(&[("type".to_owned(), texts())]);
        assert_eq!(said.is_ok(), may_stand, "{only:?} {values:?}");
    }
}

#[test]
fn adv_175_only_other_texts_of_one_member_tell_requests_apart() {
    let (attach, detach) = (acting(&["attach"], &["droplet_id"]), acting(&["detach"], &[]));
    assert!(attach.excludes(&detach) && detach.excludes(&attach));
    for alike in ["Attach", "attach ", "\u{a0}ATTACH"] {
        let alike = acting(&[alike], &[]);
        assert!(!attach.excludes(&alike) && !alike.excludes(&attach), "a cloud may take one for the other: {alike:?}");
    }
    let other = content(None, &[], &["type"]).with_body(&[("kind".to_owned(), vec!["x".to_owned()])]).unwrap();
    for unlike in [acting(&["detach", "attach"], &[]), content(None, &[], &["type"]), RuleContent::default(), other] {
        assert!(!attach.excludes(&unlike) && !unlike.excludes(&attach), "{unlike:?}");
    }
}

#[test]
fn covering_content_lets_stand_all_that_the_other_lets() {
    let open = RuleContent::default();
    let id = || content(Some(&["Value"]), &[("InstanceId", &["i-*"])], &[]);
    for (wide, narrow, expected) in [
        (&open, id(), true),
        (&open, open.clone(), true),
        (&id(), open.clone(), false),
        (&id(), id(), true),
        (&id(), content(None, &[("InstanceId", &["i-1"])], &[]), true),
        (&id(), content(Some(&["InstanceId"]), &[], &[]), false),
        (&id(), content(Some(&["Inst*"]), &[], &[]), false),
        (&id(), content(Some(&["Other"]), &[], &[]), false),
        (&id(), content(None, &[("InstanceId", &["i-1", "j-1"])], &[]), false),
        (&content(Some(&["*"]), &[], &[]), id(), true),
        (&content(Some(&["*"]), &[("Tag.*.Key", &["a"])], &[]), content(Some(&["Tag.*"]), &[], &[]), false),
        (&content(Some(&["*"]), &[("Tag.*.Key", &["a"])], &[]), content(Some(&["Tag.*.Value"]), &[], &[]), true),
        (&content(Some(&[]), &[], &[]), content(Some(&[]), &[], &[]), true),
        (&content(None, &[], &["port"]), content(None, &[], &PORT), true),
        (&content(None, &[], &PORT), content(None, &[], &["port.security_groups.id"]), true),
        (&content(None, &[], &PORT), content(None, &[], &["port"]), false),
        (&content(None, &[], &PORT), content(None, &[], &["port.security_groups2"]), false),
        (&content(None, &[], &PORT), content(Some(&[]), &[], &[]), false),
        (&content(Some(&["*"]), &[], &[]), content(None, &[], &PORT), false),
        (&content(Some(&["*"]), &[], &["port"]), content(Some(&["fields"]), &[], &PORT), true),
        (&acting(&["attach", "detach"], &["id"]), acting(&["attach"], &["id"]), true),
        (&acting(&["attach"], &["id"]), acting(&["attach", "detach"], &["id"]), false),
        (&acting(&["attach"], &["id"]), content(None, &[], &["type", "id"]), false),
        (&acting(&["attach"], &["id"]), content(None, &[], &["id"]), false),
        (&content(None, &[], &["type", "id"]), acting(&["attach"], &["id"]), true),
        (&content(None, &[], &["id"]), acting(&["attach"], &["id"]), false),
        (&open, acting(&["attach"], &[]), true),
        (&acting(&["attach"], &[]), open.clone(), false),
    ] {
        assert_eq!(wide.covers(&narrow), expected, "{wide:?} covers {narrow:?}");
    }
}

#[test]
fn a_pattern_that_cannot_be_meant_is_refused() {
    let parse = |only: &str, value: &[&str], field: &str| {
        let values = value.iter().map(|it| (*it).to_owned()).collect();
        RuleContent::parse(Some(&[only]), &[("name".to_owned(), values)], &[field]).err().unwrap_or_default()
    };
    assert_eq!(parse("a.*", &["x"], "a.b"), "");
    assert!(parse("", &["x"], "a").contains("in `only` is no pattern"));
    assert!(parse("a\n", &["x"], "a").contains("in `only` is no pattern"));
    assert!(parse("a", &[], "a").contains("`where` says of name no value"));
    assert!(parse("a", &[""], "a").contains("in `where` is no pattern"));
    for field in ["", ".", "a.", ".a", "a..b", "a.*", "*", &"a.".repeat(20)] {
        assert!(parse("a", &["x"], field).contains("in `fields` is no member"), "{field:?}");
    }
}
