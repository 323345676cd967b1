//! Forged text in every field of the contract: it is made printable and short, or refused in words that are; and it is
//! searched for secrets before that.
//!
//! The records are written out in full, without `..`: a new field in `wit/` does not compile here until it is tried.

use cloud_provider::{Description, Error, Instance, LoadBalancerStatus, Page, PendingStatus, Progress};

use super::texts::{self, Texts};
use super::{description, error, identity, instance, load_balancer};
use crate::bindings::description::exports::aerostat::cloud::provider;
use crate::bindings::host::aerostat::cloud::types as shared;
use crate::bindings::instances::exports::aerostat::cloud::instances as machines;
use crate::bindings::load_balancers::exports::aerostat::cloud::load_balancers as balancers;
use crate::untrusted::is_printable;

/// The longest text that any field may become, of what is shown.
const LONGEST: usize = 4 << 10;

/// Line ends, a terminal's escapes in 7 and 8 bits, and what hides text or turns its direction.
const SHORT: &str = "a\n1999-01-01T00:00:00Z  INFO audit: forged=1\r\u{1b}[2J\0\u{7f}\u{85}\u{9b}\u{202e}\u{2028}\u{2029}\
    \u{200b}\u{200d}\u{feff}\u{ad}\u{61c}\u{2066}\u{e0041}\u{fffb}";

/// The same, and too long.
fn forged() -> [String; 2] {
    [SHORT.to_owned(), format!("{SHORT}{}", "x".repeat(1 << 16))]
}

fn assert_clean(field: &str, shown: &impl Texts) {
    shown.each(&mut |text| assert!(is_printable(text) && text.len() <= LONGEST, "{field}: {text:?}"));
}

/// Checks that the search for secrets sees a text, wherever a provider puts it.
fn assert_seen(field: &str, text: &str, said: &impl Texts) {
    assert!(texts::joined(said).contains(text), "{field} is not searched");
}

texts::texts! {
    Description {
        name, version, provider_id_prefixes, endpoints, settings, annotations, writes_annotations, node_labels,
        finalizers, config_maps, cluster_ids;
        without get_batch_size, list_page_size, load_balancer_batches, load_balancer_concurrency, load_balancers_are_one, ingress, node_selector,
            shown_labels, takes_finalizers
    }
    cloud_provider::Endpoint { name, purpose, example_base_url, headers, parameters, allow; without operation }
    cloud_provider::Permission { methods, paths, operations, actions, content; without effect, names_version }
    cloud_provider::Content { only, values, fields, body }
    cloud_provider::ConfigMapKey { config_map, key }
    cloud_provider::Setting { name, default, doc; without required, selects_nodes }
    cloud_provider::Annotation { key, values, default, doc; without selects_nodes }
    // What is in `extra` goes back to the provider and nowhere else.
    Instance { name, provider_id, machine_type, zone, region, addresses, labels, pod_cidrs; without state, extra }
    cloud_provider::Address { value; without kind }
    LoadBalancerStatus { ingress, memo, annotations, condition }
    cloud_provider::ServiceCondition { reason, message; without kind }
    cloud_provider::Ingress { ip, hostname; without ip_mode }
    PendingStatus { status, reason; without after }
}

fn word(text: &str) -> String {
    text.to_owned()
}

fn plain_description() -> provider::Description {
    provider::Description {
        name: word("acme"),
        version: word("1"),
        provider_id_prefixes: vec![word("acme://")],
        endpoints: vec![provider::Endpoint {
            name: word("api"),
            purpose: word("all"),
            example_base_url: word("https://api.acme.example"),
            headers: vec![word("x-acme-version")],
            operation: Some(provider::OperationPlace::Parameter(word("Action"))),
            parameters: vec![(word("Version"), word("1"))],
            extra: ["key", "allow.0.only", "allow.0.where.InstanceId", "allow.0.fields"]
                .map(|key| (word(key), word("value")))
                .into(),
            allow: vec![provider::Permission {
                methods: vec![shared::Method::Get],
                paths: vec![word("/v1")],
                operations: vec![word("Describe*")],
                effect: provider::Effect::Read,
                actions: vec![word("read")],
            }],
        }],
        settings: vec![provider::Setting {
            name: word("region"),
            required: true,
            default: Some(word("r1")),
            doc: word("where"),
            selects_nodes: false,
        }],
        annotations: vec![provider::Annotation {
            key: word("acme.example/size"),
            values: word("a number"),
            default: Some(word("1")),
            doc: word("how large"),
            selects_nodes: false,
        }],
        writes_annotations: vec![word("acme.example/id")],
        node_labels: vec![word("acme.example/rack")],
        load_balancer_concurrency: None,
        get_batch_size: 1,
        list_page_size: 1,
        extra: vec![
            (word("key"), word("value")),
            (word("finalizer"), word("acme.example/earlier")),
            (word("config-map"), word("kube-system/acme/id")),
        ],
    }
}

#[test]
fn adv_109_every_text_of_a_description_is_printable() {
    type Field = fn(&mut provider::Description) -> &mut String;
    let fields: [(&str, Field); 28] = [
        ("name", |it| &mut it.name),
        ("version", |it| &mut it.version),
        ("provider-id-prefixes", |it| &mut it.provider_id_prefixes[0]),
        ("endpoint name", |it| &mut it.endpoints[0].name),
        ("purpose", |it| &mut it.endpoints[0].purpose),
        ("example-base-url", |it| &mut it.endpoints[0].example_base_url),
        ("header", |it| &mut it.endpoints[0].headers[0]),
        ("parameter name", |it| &mut it.endpoints[0].parameters[0].0),
        ("parameter value", |it| &mut it.endpoints[0].parameters[0].1),
        ("operation", |it| &mut it.endpoints[0].allow[0].operations[0]),
        ("parameter that stands", |it| &mut it.endpoints[0].extra[1].1),
        ("parameter with values", |it| &mut it.endpoints[0].extra[2].0),
        ("value that stands", |it| &mut it.endpoints[0].extra[2].1),
        ("member", |it| &mut it.endpoints[0].extra[3].1),
        ("node label", |it| &mut it.node_labels[0]),
        ("path", |it| &mut it.endpoints[0].allow[0].paths[0]),
        ("action", |it| &mut it.endpoints[0].allow[0].actions[0]),
        ("setting name", |it| &mut it.settings[0].name),
        ("setting default", |it| it.settings[0].default.as_mut().unwrap()),
        ("setting doc", |it| &mut it.settings[0].doc),
        ("annotation key", |it| &mut it.annotations[0].key),
        ("annotation values", |it| &mut it.annotations[0].values),
        ("annotation default", |it| it.annotations[0].default.as_mut().unwrap()),
        ("annotation doc", |it| &mut it.annotations[0].doc),
        ("writes-annotations", |it| &mut it.writes_annotations[0]),
        ("extra", |it| &mut it.extra[0].1),
        ("finalizer", |it| &mut it.extra[1].1),
        ("config-map", |it| &mut it.extra[2].1),
    ];
    for ((name, field), text) in fields.iter().flat_map(|it| forged().map(|text| (it, text))) {
        let mut described = plain_description();
        *field(&mut described) = text;
        match description::description(described) {
            Ok(it) => assert_clean(name, &it),
            Err(because) => assert_clean(name, &because),
        }
    }
}

#[test]
fn adv_164_the_content_of_requests_is_said_in_extra() {
    let permission = |pairs: &[(&str, &str)]| {
        let mut described = plain_description();
        described.endpoints[0].extra = pairs.iter().map(|(key, value)| (word(key), word(value))).collect();
        description::description(described).map(|it| it.endpoints[0].allow[0].clone())
    };
    let said = |pairs: &[(&str, &str)]| permission(pairs).map(|it| it.content);
    assert_eq!(said(&[]), Ok(cloud_provider::Content::default()));
    for (word, names_version) in [("if-match", true), ("if-none-match", false)] {
        assert_eq!(permission(&[("allow.0.requires", word)]).unwrap().names_version, names_version);
    }
    let pairs = [
        ("allow.0.only", ""),
        ("allow.0.only", "Filter.*"),
        ("allow.0.where.Id.1", "i-*"),
        ("allow.0.where.Id.1", "j-*"),
        ("allow.0.fields", "port.tags"),
        ("allow.0.body.port.kind", "a"),
        ("allow.0.body.port.kind", "b"),
        ("allow.0.later", "unknown"),
        ("allow", "unknown"),
        ("another", "unknown"),
    ];
    let content = cloud_provider::Content {
        only: Some(vec![word("Filter.*")]),
        values: vec![(word("Id.1"), vec![word("i-*"), word("j-*")])],
        fields: vec![word("port.tags")],
        body: vec![(word("port.kind"), vec![word("a"), word("b")])],
    };
    assert_eq!(said(&pairs), Ok(content));
    let nothing = cloud_provider::Content { only: Some(Vec::new()), ..cloud_provider::Content::default() };
    assert_eq!(said(&pairs[..1]), Ok(nothing));
    let forged = format!("allow.0.where.{SHORT}");
    for odd in [
        ("allow.1.only", "a"),
        ("allow.x.only", "a"),
        ("allow.-1.only", "a"),
        ("allow.0.fields", ""),
        ("allow.0.where.", "a"),
        ("allow.0.where.a", ""),
        ("allow.0.body.", "a"),
        ("allow.0.body.a", ""),
        (&forged, "a"),
    ] {
        let because = said(&[odd]).unwrap_err();
        assert!(is_printable(&because), "{because:?}");
    }
    assert!(said(&[("allow.0.only", "a"); 1_025]).is_err());
}

fn gap(reason: String) -> machines::Gap {
    machines::Gap { zone: None, reason }
}

fn known() -> Description {
    description::description(plain_description()).unwrap()
}

fn plain_machine() -> machines::Instance {
    machines::Instance {
        name: word("n1"),
        provider_id: Some(word("acme://1")),
        state: machines::State::Running,
        machine_type: Some(word("small")),
        zone: Some(word("z1")),
        region: Some(word("r1")),
        addresses: vec![
            shared::Address { kind: shared::AddressKind::InternalIp, value: word("192.0.2.1") },
            shared::Address { kind: shared::AddressKind::Hostname, value: word("n1") },
        ],
        labels: vec![(word("acme.example/rack"), word("1"))],
        pod_cidrs: vec![word("10.0.0.0/24")],
        extra: vec![(word("key"), word("value"))],
    }
}

#[test]
fn adv_109_every_text_of_a_machine_and_a_page_is_printable() {
    type Field = fn(&mut machines::Instance) -> &mut String;
    let fields: [(&str, Field); 11] = [
        ("name", |it| &mut it.name),
        ("provider-id", |it| it.provider_id.as_mut().unwrap()),
        ("machine-type", |it| it.machine_type.as_mut().unwrap()),
        ("zone", |it| it.zone.as_mut().unwrap()),
        ("region", |it| it.region.as_mut().unwrap()),
        ("address", |it| &mut it.addresses[0].value),
        ("hostname", |it| &mut it.addresses[1].value),
        ("label key", |it| &mut it.labels[0].0),
        ("label value", |it| &mut it.labels[0].1),
        ("pod-cidrs", |it| &mut it.pod_cidrs[0]),
        ("extra", |it| &mut it.extra[0].1),
    ];
    let known = known();
    for ((name, field), text) in fields.iter().flat_map(|it| forged().map(|text| (it, text))) {
        let mut machine = plain_machine();
        // What begins as the provider's ids do is looked at further.
        let text = if *name == "provider-id" { format!("acme://{text}") } else { text };
        field(&mut machine).clone_from(&text);
        match instance::instance(machine.clone(), &known) {
            Ok(it) => assert_clean(name, &it),
            Err(because) => assert_clean(name, &because),
        }
        let page = machines::Page { instances: vec![machine; 8], next: None, gaps: vec![gap(forged()[1].clone())] };
        assert_seen(name, &text, &page);
        assert_seen("gap", &forged()[1], &page);
        let Page { instances, next: _, gaps } = instance::page(page, None, 8, &known).unwrap();
        assert_clean(name, &instances);
        gaps.iter().for_each(|it| assert_clean(name, &it.reason));
    }
    for next in forged() {
        let page = machines::Page { instances: Vec::new(), next: Some(next.clone()), gaps: Vec::new() };
        assert_seen("cursor", &next, &page);
        match instance::page(page, None, 8, &known) {
            // It goes back to the provider and nowhere else.
            Ok(it) => assert_eq!(it.next, Some(next)),
            Err(because) => assert_clean("cursor", &because),
        }
    }
}

fn plain_status() -> balancers::LoadBalancerStatus {
    balancers::LoadBalancerStatus {
        ingress: vec![balancers::Ingress {
            ip: Some(word("192.0.2.1")),
            hostname: Some(word("lb")),
            ip_mode: None,
            extra: Vec::new(),
        }],
        memo: Some(word("lb-1")),
        annotations: vec![(word("acme.example/id"), word("1"))],
        extra: vec![(word("key"), word("value"))],
    }
}

#[test]
fn adv_109_every_text_about_a_load_balancer_is_printable() {
    type Field = fn(&mut balancers::PendingStatus) -> &mut String;
    let fields: [(&str, Field); 6] = [
        ("ip", |it| it.status.ingress[0].ip.as_mut().unwrap()),
        ("hostname", |it| it.status.ingress[0].hostname.as_mut().unwrap()),
        ("memo", |it| it.status.memo.as_mut().unwrap()),
        ("annotation key", |it| &mut it.status.annotations[0].0),
        ("annotation value", |it| &mut it.status.annotations[0].1),
        ("reason", |it| &mut it.wait.reason),
    ];
    let keys = load_balancer::AnnotationKeys {
        read: &[],
        described: &[word("acme.example/id")],
        allowed: &[word("acme.example/id")],
    };
    for ((name, field), text) in fields.iter().flat_map(|it| forged().map(|text| (it, text))) {
        let mut pending_status = balancers::PendingStatus {
            status: plain_status(),
            wait: shared::Pause { milliseconds: 1, reason: word("it boots") },
        };
        field(&mut pending_status).clone_from(&text);
        assert_seen(name, &text, &balancers::Deletion::Pending(pending_status.clone()));
        if *name != "reason" {
            assert_seen(name, &text, &balancers::Progress::Ready(pending_status.status.clone()));
        }
        let pending = balancers::Progress::Pending(pending_status);
        assert_seen(name, &text, &pending);
        match load_balancer::progress(pending, &keys) {
            Ok(Progress::Pending(pending_status)) => assert_clean(name, &pending_status),
            Ok(other) => panic!("{name}: {other:?}"),
            Err(because) => assert_clean(name, &because),
        }
    }
}

#[test]
fn adv_109_every_text_of_an_error_and_an_account_is_printable() {
    for text in forged() {
        let pause = shared::Pause { milliseconds: 1, reason: text.clone() };
        for it in [
            shared::Error::Invalid(text.clone()),
            shared::Error::Denied(text.clone()),
            shared::Error::Unavailable(text.clone()),
            shared::Error::RetryAfter(pause),
        ] {
            assert_seen("error", &text, &it);
            let it = match error(it) {
                Error::Invalid(it) | Error::Denied(it) | Error::Unavailable(it) => it,
                Error::RetryAfter { after: _, reason } | Error::Crashed { after: _, reason } => reason,
            };
            assert_clean("error", &it);
        }
        assert_clean("identity", &identity(Some(text)).unwrap_err());
    }
}
