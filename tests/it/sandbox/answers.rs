//! What a provider answers is not believed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use cloud_provider::{Error, Gap};

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
        let expected = "provider hostile: get gave an unusable answer: 0 answers for 3 nodes";
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
async fn a_sweep_is_paged() {
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
async fn a_guest_sees_only_the_labels_that_the_operator_named() {
    let mut guest = Guest::hostile();
    guest.node_labels = vec!["rack".into()];
    let lab = guest.load().await;
    let labels = [("rack", "r1"), ("secret", "s"), ("rack/2", "x")].map(|(key, value)| (key.into(), value.into()));
    let machine = cloud_provider::Node { labels: labels.into(), zone: Some("z1".into()), ..node("see-node") };
    let answer = lab.instances.get(&[machine]).await.answer.remove(0);
    assert_eq!(answer, Err(Error::Invalid("[(\"rack\", \"r1\")] Some(\"z1\") None".into())));
}

#[tokio::test]
async fn notices_are_few_short_and_about_our_own() {
    let lab = Guest::hostile().load().await;
    let reply = lab.instances.get(&[node("many-events")]).await;
    assert_eq!(reply.answer, [Err(Error::Invalid("noted".into()))]);
    assert_eq!(reply.events.len(), 64);
    assert_eq!(reply.events.iter().filter(|it| it.reason == "Echo").count(), 1);
    assert!(reply.events.iter().all(|it| it.message.len() <= 1024 && !it.message.contains('\n')));
    assert!(reply.events.iter().all(|it| it.about.is_none()));
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
