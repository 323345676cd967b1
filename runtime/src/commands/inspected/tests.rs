//! A module's description, as people and programs read it.

use std::sync::Arc;

use cloud_provider::{Annotation, Content, Description, Effect, Setting};
use scripted_cloud::ScriptedCloud;
use serde_json::json;

use super::*;

fn inspected(registry: Option<(Release, Vec<InspectedSignature>)>, compared: Option<Compared>) -> Inspected {
    let words = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let permission = |methods: &[&str], operations: &[&str], effect| Permission {
        methods: words(methods),
        paths: words(&["/v1/**"]),
        operations: words(operations),
        effect,
        ..Permission::default()
    };
    let carried = Content {
        only: Some(words(&["Filter.*"])),
        values: vec![("InstanceId".to_owned(), words(&["i-*"]))],
        fields: words(&["port.tags"]),
        body: vec![("port.kind".to_owned(), words(&["vip"]))],
    };
    let description = Description {
        name: "acme".to_owned(),
        version: "1.2.0".to_owned(),
        provider_id_prefixes: words(&["acme://", ""]),
        endpoints: vec![Endpoint {
            name: "api".to_owned(),
            purpose: "machines".to_owned(),
            example_base_url: "https://api.acme.example".to_owned(),
            headers: words(&["x-acme-trace"]),
            operation: Some(OperationPlace::Parameter("Action".to_owned())),
            parameters: vec![("Version".to_owned(), "2".to_owned())],
            allow: vec![
                permission(&["GET", "POST"], &["Describe*"], Effect::Read),
                permission(&["GET"], &[], Effect::Read),
                Permission { content: carried, ..permission(&["PUT"], &[], Effect::Write) },
            ],
        }],
        settings: vec![
            Setting {
                name: "region".to_owned(),
                required: true,
                default: None,
                doc: "where".to_owned(),
                ..Setting::default()
            },
            Setting {
                name: "size".to_owned(),
                default: Some("2".to_owned()),
                doc: "how large".to_owned(),
                ..Setting::default()
            },
        ],
        annotations: vec![Annotation { key: "acme.example/size".to_owned(), ..Annotation::default() }],
        writes_annotations: words(&["acme.example/id"]),
        node_labels: words(&["rack"]),
        ..Description::default()
    };
    let cloud = Cloud::new(Arc::new(description), Arc::new(ScriptedCloud::default()));
    let bytes = ModuleBytes {
        sha256: Digest::of(b"a module"),
        size: 2000,
        media_type: registry.is_some().then_some("application/wasm"),
    };
    let exports = vec!["aerostat:cloud/provider@0.1.0".to_owned()];
    let interfaces = Interfaces { imports: Vec::new(), exports };
    Inspected::new("acme.wasm", registry, bytes, &interfaces, &cloud, compared)
}

#[test]
fn a_module_is_shown_line_by_line() {
    let release = Release {
        digest: Digest::of(b""),
        sha256: Digest::of(b"a module"),
        size: 2000,
        media_type: "application/wasm",
    };
    let found = |form, key: Option<&str>, name: Option<&str>, verified_by: Option<&str>, because: Option<&str>| {
        let [key, name, verified_by, because] = [key, name, verified_by, because].map(|it| it.map(str::to_owned));
        InspectedSignature { form, key, name, verified_by, because }
    };
    let signatures = vec![
        found("bundle", Some("CEDcy4en"), None, Some("acme.pub (bundle)"), None),
        found("tag", None, Some("registry.example.com/acme"), None, None),
        found("bundle", Some(""), None, None, Some("sha256:0 is by another key than --key")),
    ];
    let missing = vec!["endpoint api is not in endpoints".to_owned()];
    let wider = vec!["endpoint api allows PUT /v9, which the module does not ask for".to_owned()];
    let text = inspected(Some((release, signatures)), Some(Compared { missing, wider }));
    expect_test::expect![[r#"
        manifest    sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855   write this as provider.module.oci.digest
        module      sha256:f6c0d945dc8a9e01854484f4e9b123945919e553778d4386d1d939451c038a0c, 2 KiB, application/wasm
        provider    acme 1.2.0, contract 0.1.0: nothing; ids acme://, without ://
        endpoint    api (https://api.acme.example): machines
                      operation in the parameter Action
                      parameters Version=2
                      headers x-acme-trace
                      GET, POST /v1/**: Describe* (read)
                      GET /v1/**
                      PUT /v1/**, only: ['Filter.*'], where: { 'InstanceId': ['i-*'] }, fields: ['port.tags'], body: { 'port.kind': ['vip'] }
        setting     region (required): where
        setting     size (default 2): how large
        annotations reads acme.example/size
        annotations writes acme.example/id
        node labels reads rack
        signature   bundle, says key CEDcy4en; verified: by acme.pub (bundle)
        signature   under a tag, says registry.example.com/acme; not verified: give --key
        signature   bundle; does not count: sha256:0 is by another key than --key
        wider       endpoint api allows PUT /v9, which the module does not ask for
        missing     endpoint api is not in endpoints
    "#]]
    .assert_eq(&text.to_string());
}

#[test]
fn a_file_has_neither_manifest_nor_signatures() {
    let text = inspected(None, None).to_string();
    for word in ["manifest", "signature", "missing", "wider"] {
        assert!(!text.contains(word), "{text}");
    }
    let json = serde_json::to_value(inspected(None, None)).unwrap();
    assert_eq!(json["signatures"], serde_json::Value::Null);
    assert_eq!(json["module"]["size"], 2000);
    let said = |nth: usize| {
        let rule = &json["endpoints"][0]["allow"][nth];
        ["only", "where", "fields", "body"].map(|key| rule.get(key).cloned())
    };
    assert_eq!(said(0), [None, None, None, None]);
    let body = json!({ "port.kind": ["vip"] });
    let expected = [json!(["Filter.*"]), json!({ "InstanceId": ["i-*"] }), json!(["port.tags"]), body];
    assert_eq!(said(2), expected.map(Some));
    assert_eq!(json["provider"]["providerIDPrefixes"], json!(["acme://", ""]));
}
