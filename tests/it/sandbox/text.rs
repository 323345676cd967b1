//! Text of a provider is one printable line wherever it arrives, through the real contract.

use cloud_provider::{Error, is_printable};

use crate::log::Paper;
use crate::setup::{Guest, service};

/// Asserts that no field of any log line so far could be a line of its own, and that none is long.
fn assert_log_is_clean(paper: &Paper) {
    let lines = paper.lines();
    assert!(!lines.is_empty(), "there was no log");
    for (name, value) in lines.iter().flat_map(|it| &it.fields) {
        assert!(is_printable(value) && value.len() <= 4 << 10, "{name}: {value:?}");
    }
}

fn assert_clean(text: &str) {
    assert!(is_printable(text) && text.len() <= 2 << 10, "{text:?}");
}

#[tokio::test]
async fn adv_109_text_in_answers_logs_and_events_is_printable() {
    let (paper, _guard) = Paper::of_everything();
    let lab = Guest::hostile().load().await;
    for (crime, part) in [
        ("forged-error", "1.0\\n1999-01-01T00:00:00.000000Z  INFO audit"),
        ("forged-zone", "cannot be the value of a label"),
        ("forged-log", "logged"),
        ("forged-event", "told"),
        ("forged-panic", "unreachable"),
    ] {
        let error = lab.get(crime).await.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
        assert_clean(&error);
    }
    let machine = lab.get("forged-name").await.unwrap().unwrap();
    assert_clean(&machine.name);
    let reply = lab.instances.get(&[crate::setup::node("forged-event")]).await;
    let [event] = reply.events.as_slice() else { panic!("{:?}", reply.events) };
    assert_clean(&event.message);
    for crime in ["forged-memo", "forged-annotation"] {
        let Err(Error::Unavailable(text)) = lab.load_balancers.ensure(&service(crime)).await.answer else {
            panic!("{crime} was taken")
        };
        assert!(text.contains("not printable text"), "{text}");
        assert_clean(&text);
    }
    assert_log_is_clean(&paper);
}

#[tokio::test]
async fn adv_109_text_in_a_description_is_printable() {
    let endpoint = std::net::SocketAddr::from(([127, 0, 0, 1], 9));
    let lab = Guest::hostile().setting("describe", "forged").endpoint("api", endpoint).load().await;
    let description = lab.provider.description();
    assert!(description.version.starts_with("1.0\\n1999") && description.version.len() <= 128);
    let texts = description.endpoints.iter().flat_map(|it| [&it.purpose, &it.example_base_url]);
    let texts = texts.chain(description.settings.iter().map(|it| &it.doc)).chain([&description.version]);
    texts.for_each(|it| assert_clean(it));
    let text = Guest::hostile().setting("describe", "forged").refusal().await;
    assert!(text.contains("needs the endpoint \"api\" (1.0\\n1999"), "{text}");
    assert_clean(&text);
}
