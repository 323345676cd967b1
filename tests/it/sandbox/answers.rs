//! Answers of a provider are not believed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use cloud_provider::{Cluster, Error, Gap};

use crate::setup::{Guest, node};

async fn check(crime: &str, expected: &str) {
    let lab = Guest::hostile().load().await;
    let text = lab.end(crime).await;
    assert_eq!(text, format!("provider hostile: get gave an unusable answer: machine {crime:?}: {expected}"));
}

#[tokio::test]
async fn a_provider_id_of_another_cloud_is_refused() {
    let expected = "its provider id \"aws:///eu-1/i-1\" does not begin as the provider's ids do (hostile://)";
    check("foreign-id", expected).await;
}

#[tokio::test]
async fn an_address_that_is_none_is_refused() {
    check("bad-address", "its address \"192.0.2.1\\\\nevil\" is no InternalIP").await;
}

#[tokio::test]
async fn a_label_that_kubernetes_would_not_take_is_refused() {
    check("bad-label", "\"not a label key\"=\"x\" is no label").await;
}

#[tokio::test]
async fn a_zone_that_cannot_be_a_label_is_refused() {
    check("bad-zone", "its zone \"a zone\\\\u{202e}\" cannot be the value of a label").await;
}

#[tokio::test]
async fn a_thousand_addresses_are_refused() {
    check("many-addresses", "it has 1001 addresses, more than 64").await;
}

#[tokio::test]
async fn an_answer_that_holds_a_credential_is_withheld() {
    const TOKEN: &str = "dop_v1_canary_7f3a9c5e1b2d4f60";
    let account = format!("account:{TOKEN}");
    let lab = Guest::hostile().token(TOKEN).setting("identity", &account).load().await;
    for name in [TOKEN.to_owned(), STANDARD_NO_PAD.encode(TOKEN)] {
        let text = lab.get(&name).await.unwrap_err().to_string();
        assert_eq!(text, "provider hostile: get gave an unusable answer: it holds a credential, and is withheld");
    }
    let text = lab.identity.identity().await.unwrap_err().to_string();
    assert!(text.ends_with("identity gave an unusable answer: it holds a credential, and is withheld"), "{text}");
    // Two halves are no credential.
    let (half, other) = TOKEN.split_at(15);
    for name in [half, other] {
        assert_eq!(lab.get(name).await.unwrap().unwrap().name, name);
    }
}

#[tokio::test]
async fn too_few_answers_are_an_error_for_each_node_of_the_batch() {
    let lab = Guest::hostile().setting("get-batch", "3").load().await;
    let nodes = ["too-few-answers", "a", "b", "c"].map(node);
    let answers = lab.instances.get(&nodes).await.answer;
    for answer in &answers[..3] {
        let expected = "provider hostile: get gave an unusable answer: 0 answers for 3 questions";
        assert_eq!(*answer, Err(Error::Unavailable(expected.into())));
    }
    assert_eq!(answers[3].as_ref().unwrap().as_ref().unwrap().name, "c");
}

#[tokio::test]
async fn answers_come_in_the_order_of_the_nodes() {
    let lab = Guest::hostile().setting("get-batch", "2").load().await;
    let nodes: Vec<_> = (0..11).map(|it| node(&format!("n{it}"))).collect();
    let answers = lab.instances.get(&nodes).await.answer;
    let names: Vec<_> = answers.into_iter().map(|it| it.unwrap().unwrap().name).collect();
    assert_eq!(names, nodes.into_iter().map(|it| it.name).collect::<Vec<_>>());
    assert_eq!(lab.calls("ok"), 6);
}

#[tokio::test]
async fn a_list_is_paged() {
    let lab = Guest::hostile().load().await;
    let first = lab.instances.list(None, 100).await.answer.unwrap();
    assert_eq!(first.instances.len(), 2);
    let last = lab.instances.list(first.next, 100).await.answer.unwrap();
    assert_eq!((last.instances.len(), last.next, last.gaps), (1, None, Vec::new()));
}

#[tokio::test]
async fn a_page_that_is_too_long_or_endless_is_refused() {
    let lab = Guest::hostile().load().await;
    for (cursor, expected) in
        [("too-many", "a page has 6 machines, and 5 were asked for"), ("itself", "a page names itself as the next one")]
    {
        let error = lab.instances.list(Some(cursor.into()), 5).await.answer.unwrap_err();
        let expected = format!("provider hostile: list gave an unusable answer: {expected}");
        assert_eq!(error, Error::Unavailable(expected));
    }
}

#[tokio::test]
async fn an_unusable_machine_makes_a_page_incomplete() {
    let lab = Guest::hostile().load().await;
    let page = lab.instances.list(Some("one-unusable".into()), 5).await.answer.unwrap();
    assert_eq!(page.instances.len(), 1);
    let expected =
        "machine \"foreign\": its provider id \"aws:///eu-1/i-1\" does not begin as the provider's ids do (hostile://)";
    assert_eq!(page.gaps, [Gap { zone: None, reason: expected.to_owned() }]);
}

#[tokio::test]
async fn a_guest_sees_only_labels_described_and_allowed() {
    let mut guest = Guest::hostile();
    guest.node_labels = vec!["rack".into(), "secret".into()];
    let lab = guest.load().await;
    assert_eq!(lab.provider.description().shown_labels, ["rack"], "controllers compare these");
    // One is described and not allowed, and one is allowed and not described.
    let labels = [("rack", "r1"), ("pool", "p"), ("secret", "s"), ("rack/2", "x")]
        .map(|(key, value)| (key.into(), value.into()));
    let machine = cloud_provider::Node { labels: labels.into(), zone: Some("z1".into()), ..node("see-node") };
    let answer = lab.instances.get(&[machine]).await.answer.remove(0);
    assert_eq!(answer, Err(Error::Invalid("[(\"rack\", \"r1\")] Some(\"z1\") None".into())));
}

#[tokio::test]
async fn events_are_few_and_short() {
    let lab = Guest::hostile().load().await;
    let reply = lab.instances.get(&[node("many-events")]).await;
    assert_eq!(reply.answer, [Err(Error::Invalid("noted".into()))]);
    assert_eq!(reply.events.len(), 64);
    assert_eq!(reply.events.iter().filter(|it| it.reason == "Echo").count(), 1);
    assert!(reply.events.iter().all(|it| it.message.len() <= 1024 && !it.message.contains('\n')));
    assert!(reply.events.iter().all(|it| it.about.as_deref() == Some("many-events")), "the one node asked about");
}

#[tokio::test]
async fn an_event_about_a_node_that_was_not_asked_about_is_dropped() {
    let lab = Guest::hostile().setting("get-batch", "2").load().await;
    let reply = lab.instances.get(&["events-about-nodes", "third-node"].map(node)).await;
    let about: Vec<_> = reply.events.iter().map(|it| it.about.as_deref()).collect();
    assert_eq!(about, [Some("events-about-nodes")]);
}

#[tokio::test]
async fn canonical_ids_are_checked_one_by_one() {
    let lab = Guest::hostile().load().await;
    let ids = ["hostile://A1", "hostile://a1", "hostile://unknown", "hostile://forged", "hostile://endless"];
    let words = lab.instances.canonical_ids(&ids.map(str::to_owned)).await;
    assert_eq!(words[0], Ok("hostile://a1".to_owned()));
    assert_eq!(words[1], words[0]);
    assert_eq!(words[2], Err(Error::Invalid("no machine\\nof mine".into())));
    for word in &words[3..] {
        let text = word.as_ref().unwrap_err().to_string();
        assert!(text.contains("canonical-ids gave an unusable answer: the canonical id") && text.len() < 300, "{text}");
    }
    let crashed = lab.instances.canonical_ids(&["hostile://a1", "hostile://crash"].map(str::to_owned)).await;
    assert!(crashed.iter().all(|it| matches!(it, Err(Error::Unavailable(_)))), "{crashed:?}");
    assert_eq!(lab.instances.canonical_ids(&[]).await, []);
}

#[tokio::test]
async fn the_extra_of_an_instance_is_short_and_the_providers() {
    let lab = Guest::hostile().load().await;
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let instance = lab.get("extra").await.unwrap().unwrap();
    assert_eq!(instance.extra, [pair("group", "2"), pair("nic", "1")], "another order is no change");
    check("long-extra", "its extra has 1025 bytes, more than 1024").await;
    let reserved = "its extra has the key \"host.local-endpoints\"; those that begin with \"host.\" are the host's";
    check("hosts-extra", reserved).await;
    let machine = cloud_provider::Node { extra: instance.extra, ..node("see-extra") };
    let answer = lab.instances.get(&[machine]).await.answer.remove(0);
    assert_eq!(answer, Err(Error::Invalid("[(\"group\", \"2\"), (\"nic\", \"1\")]".into())));
}

#[tokio::test]
async fn a_guest_knows_the_cluster_but_while_describing() {
    let lab = Guest::hostile().load().await;
    assert!(lab.report("see-cluster").await.starts_with("Err("), "nobody has said which it is");
    let pod_cidrs = vec!["10.244.0.0/16".to_owned()];
    lab.provider.set_cluster(Cluster { name: "prod".into(), uid: "c-1".into(), pod_cidrs, ..Cluster::default() });
    assert_eq!(lab.report("see-cluster").await, r#"Ok(("prod", "c-1", ["10.244.0.0/16"]))"#);
    lab.provider.set_cluster(Cluster { uid: "c-2".into(), ..Cluster::default() });
    assert!(lab.report("see-cluster").await.contains("c-1"), "it is said once");
    let text = Guest::hostile().setting("describe", "see-cluster").refusal().await;
    assert!(text.contains("does not start: Err(") && text.contains("not known yet"), "{text}");
}

#[tokio::test]
async fn a_guest_is_told_the_config_map_values_that_it_describes() {
    let lab = Guest::hostile().load().await;
    let value = |key: &str, value: &str| (key.parse().unwrap(), value.to_owned());
    let config_maps = vec![value("kube-system/hostile/id", "0f0e"), value("kube-system/hostile/token", "secret")];
    lab.provider.set_cluster(Cluster { config_maps, ..Cluster::default() });
    assert_eq!(lab.report("see-config-maps").await, r#"Ok([("config-map.kube-system/hostile/id", "0f0e")])"#);
}

#[tokio::test]
async fn adv_40_the_text_of_an_error_is_one_short_line() {
    let lab = Guest::hostile().load().await;
    let Err(Error::Denied(text)) = lab.get("lie:dop_v1_secret").await else { panic!("another answer") };
    assert!(text.starts_with("dop_v1_secret\\n\\u{1b}[31m{\"level\":\"ERROR\"}\\u{0}xxx"), "{text}");
    assert!(text.len() <= 1024 && !text.contains(char::is_control));
}

#[tokio::test]
async fn adv_40_a_panic_message_in_an_error_is_short_and_printable() {
    let lab = Guest::hostile().load().await;
    let text = lab.end("panic:no such region").await;
    let trap = "provider hostile: get crashed: wasm trap: wasm `unreachable` instruction executed; ";
    assert!(text.starts_with(&format!("{trap}the last that it printed: thread ")), "{text}");
    assert!(text.contains(" panicked at ") && text.contains(" no such region "), "{text}");
    assert!(text.contains(r#"{"level":"ERROR","fake":1}\u{1b}[2J\u{202e}xxx"#), "{text}");
    assert!(text.len() <= 600 && !text.contains(char::is_control), "{text}");
    assert_eq!(
        lab.end("exit").await,
        "provider hostile: get crashed: it exited with status 1; its own log lines, if any, say more"
    );
    lab.assert_alive().await;
}

#[tokio::test]
async fn adv_40_a_panic_message_with_a_credential_is_not_told() {
    let lab = Guest::hostile().token("dop_v1_0123456789abcdef").load().await;
    let text = lab.end("panic:dop_v1_0123456789abcdef").await;
    assert!(text.ends_with("instruction executed; its own log lines, if any, say more"), "{text}");
    lab.assert_alive().await;
}
