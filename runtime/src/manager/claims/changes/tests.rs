use cloud_provider::{Annotation, Content, Effect, Endpoint, Permission, Setting};
use egress::{BaseUrl, Method, PathPattern, Rule};

use super::*;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|it| (*it).to_owned()).collect()
}

fn permission(method: &str, path: &str) -> Permission {
    let effect = cloud_provider::Effect::of_method(method);
    Permission { methods: words(&[method]), paths: words(&[path]), effect, ..Permission::default() }
}

fn annotation(key: &str, values: &str) -> Annotation {
    Annotation { key: key.to_owned(), values: values.to_owned(), ..Annotation::default() }
}

fn setting(name: &str, required: bool) -> Setting {
    Setting { name: name.to_owned(), required, ..Setting::default() }
}

fn version() -> Description {
    let endpoint = Endpoint {
        name: "api".to_owned(),
        example_base_url: "https://api.acme.example".to_owned(),
        allow: vec![permission("GET", "/machines/*"), permission("PUT", "/balancers/*")],
        ..Endpoint::default()
    };
    Description {
        name: "acme".to_owned(),
        version: "1.0.0".to_owned(),
        provider_id_prefixes: words(&["acme://"]),
        endpoints: vec![endpoint],
        settings: vec![setting("zone", false)],
        annotations: vec![annotation("acme.example/size", "a whole number from 1 to 10")],
        writes_annotations: words(&["acme.example/id"]),
        node_labels: words(&["acme.example/pool"]),
        ..Description::default()
    }
}

/// The differences to another version, each with `!` if it matters.
fn found(change: impl FnOnce(&mut Description), config: Option<&Config<'_>>) -> Vec<String> {
    let (old, mut new) = (version(), version());
    change(&mut new);
    let side = |description| ModuleSide { description, capabilities: vec!["instances"], size: None };
    let found = changes(&side(&old), &side(&new), config);
    found.iter().map(|it| format!("{}{it}", if it.matters { "! " } else { "" })).collect()
}

#[test]
fn a_module_does_not_differ_from_itself() {
    assert_eq!(found(|_| {}, None), [""; 0]);
    assert_eq!(found(|it| it.version = "1.0.1".to_owned(), None), ["version 1.0.0 becomes 1.0.1"]);
}

#[test]
fn more_requests_matter_and_fewer_do_not() {
    let add = |it: &mut Description| it.endpoints[0].allow.push(permission("DELETE", "/balancers/*"));
    assert_eq!(found(add, None), ["! request + endpoint api: DELETE /balancers/*, delete"]);
    assert_eq!(
        found(|it| it.endpoints[0].allow = vec![permission("GET", "/machines/*")], None),
        ["request - endpoint api: PUT /balancers/*, write"]
    );
    let narrower = |it: &mut Description| it.endpoints[0].allow[0] = permission("GET", "/machines/7");
    let lines = ["request - endpoint api: GET /machines/*, read", "request + endpoint api: GET /machines/7, read"];
    assert_eq!(found(narrower, None), lines, "a part of what was asked for");
}

#[test]
fn another_effect_and_other_content_are_told() {
    let detaches = |it: &mut Description| it.endpoints[0].allow[1].effect = Effect::Delete;
    assert_eq!(found(detaches, None), ["! effect endpoint api: PUT /balancers/*: write becomes delete"]);
    let updates = |it: &mut Description| it.endpoints[0].allow[1].effect = Effect::Update;
    assert_eq!(found(updates, None), ["effect endpoint api: PUT /balancers/*: write becomes update"]);
    let says = |described: &mut Description| {
        described.endpoints[0].allow[1].content = Content { fields: words(&["name"]), ..Content::default() };
    };
    let line = "request endpoint api: PUT /balancers/*: it carried anything, and carries fields: ['name']";
    assert_eq!(found(says, None), [line], "it carries less");
}

#[test]
fn names_that_come_and_go_are_told() {
    for (change, lines) in [
        (
            (|it| it.provider_id_prefixes = words(&["acme://", "metal://"])) as fn(&mut Description),
            &["! provider id + metal://"][..],
        ),
        (|it| it.provider_id_prefixes = words(&["acme://", "acme://zone/"]), &["provider id + acme://zone/"]),
        (|it| it.provider_id_prefixes.clear(), &["! provider id - acme://"]),
        (|it| it.annotations.push(annotation("acme.example/ip", "")), &["! annotation + acme.example/ip"]),
        (|it| it.annotations.clear(), &["! annotation - acme.example/size"]),
        (
            |it| it.annotations[0].values = "s or l".to_owned(),
            &["! annotation acme.example/size: its values were \"a whole number from 1 to 10\", and are \"s or l\""],
        ),
        (
            |it| it.annotations[0].default = Some("1".to_owned()),
            &["! annotation acme.example/size: its default was none, and is \"1\""],
        ),
        (|it| it.writes_annotations.push("acme.example/z".to_owned()), &["! annotation + writes acme.example/z"]),
        (|it| it.writes_annotations.clear(), &["annotation - writes acme.example/id"]),
        (|it| it.finalizers.push("acme.example/z".to_owned()), &["! finalizer + acme.example/z"]),
        (|it| it.config_maps.push("gke/z/id".parse().unwrap()), &["! ConfigMap + gke/z/id"]),
        (|it| it.cluster_ids.push("gke/z/id".parse().unwrap()), &["! ConfigMap + makes gke/z/id"]),
        (|it| it.node_labels = words(&["*"]), &["node label - acme.example/pool", "! node label + *"]),
        (|it| it.settings.push(setting("poll", false)), &["setting + poll"]),
        (|it| it.settings.push(setting("vpc", true)), &["! setting + vpc (required)"]),
        (|it| it.settings.clear(), &["! setting - zone"]),
        (|it| it.settings[0].required = true, &["! setting zone: it is required now"]),
        (|it| it.ingress.vip = true, &["! ingress + answers ipMode VIP"]),
        (|it| it.endpoints[0].headers = words(&["x-acme"]), &["! request endpoint api: + header x-acme"]),
        (|it| it.name = "other".to_owned(), &["! provider acme becomes other: another provider"]),
    ] {
        assert_eq!(found(change, None), lines);
    }
}

#[test]
fn the_rules_of_a_config_do_not_matter() {
    let endpoint = egress::Endpoint {
        allow: vec![Rule::new([Method::Delete], [PathPattern::parse("/**").unwrap()])],
        headers: words(&["X-Acme"]),
        ..egress::Endpoint::new("api", BaseUrl::parse("https://api.acme.example").unwrap())
    };
    let config = Config {
        prefixes: &words(&["acme://", "metal://"]),
        endpoints: &[&endpoint],
        settings: &[("vpc".to_owned(), "v".to_owned())],
        node_labels: &words(&["acme.example/rack"]),
        writes_annotations: &words(&["acme.example/z"]),
        finalizers: &words(&["acme.example/earlier"]),
        config_maps: &words(&["kube-system/acme"]),
        creates_config_maps: &[],
    };
    let change = |described: &mut Description| {
        described.provider_id_prefixes.push("metal://".to_owned());
        described.writes_annotations.push("acme.example/z".to_owned());
        described.node_labels.push("acme.example/rack".to_owned());
        described.settings = vec![setting("vpc", true)];
        described.endpoints[0].headers = words(&["x-acme"]);
        described.endpoints[0].allow.push(permission("DELETE", "/balancers/*"));
    };
    let lines = found(change, Some(&config));
    assert_eq!(lines.len(), 7, "{lines:#?}");
    assert!(lines.iter().all(|it| !it.starts_with('!')), "{lines:#?}");
    assert!(found(change, None).iter().filter(|it| it.starts_with('!')).count() >= 6);
    let more = |it: &mut Description| it.endpoints[0].allow.push(permission("POST", "/balancers"));
    assert_eq!(found(more, Some(&config)), ["! request + endpoint api: POST /balancers, write"]);
}

#[test]
fn capabilities_and_sizes_are_compared() {
    let description = version();
    let side = |capabilities: &[&'static str], size| ModuleSide {
        description: &description,
        capabilities: capabilities.to_vec(),
        size: Some(size),
    };
    let found = changes(&side(&["instances", "routes"], 1024), &side(&["instances", "load-balancers"], 1025), None);
    let lines: Vec<_> = found.iter().map(|it| (it.to_string(), it.matters)).collect();
    let line = |text: &str, matters| (text.to_owned(), matters);
    assert_eq!(
        lines,
        [
            line("capability - routes", true),
            line("capability + load-balancers", false),
            line("size 1 KiB becomes 2 KiB", false)
        ]
    );
}
