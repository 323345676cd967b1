//! The login goes to the registry, or to whom the operator named.

use serde_json::json;
use tests::capture::{Capture, Step};
use tests::registry::Answers;

use crate::setup::{MODULE, Setup, artifact, paths};

/// A registry that asks everybody for a login with these words.
async fn asking(challenges: &[&str]) -> Capture {
    let headers: Vec<_> = challenges.iter().map(|it| ("www-authenticate", *it)).collect();
    let path = format!("manifests/sha256:{}", artifact().digest());
    Answers::of(&artifact()).set(&path, Step::answer("401 Unauthorized", &headers, "who are you?")).serve().await
}

#[tokio::test]
async fn adv_56_a_login_that_is_wanted_elsewhere_is_not_sent() {
    let thief = Capture::https(&["127.0.0.1"], |_| Step::ok(r#"{ "token": "t" }"#)).await;
    let plain = Capture::http(|_| Step::ok(r#"{ "token": "t" }"#)).await;
    let twice = format!("Bearer realm=\"{}/a\",realm=\"{}/b\"", thief.url(), thief.url());
    for (challenges, part) in [
        (vec![format!("Bearer realm=\"{}/steal\"", thief.url())], "if that is its token service, name 127.0.0.1:"),
        (vec![format!("Bearer realm=\"{}/steal\"", plain.url())], "if that is its token service, name 127.0.0.1:"),
        (vec!["Bearer realm=\"http://169.254.169.254/\"".to_owned()], "nothing was sent"),
        (vec!["Bearer realm=\"https://evil.example.com/\"".to_owned()], "name evil.example.com in"),
        (vec!["Bearer realm=\"file:///etc/passwd\"".to_owned()], "nothing was sent"),
        (vec![twice], "two realms"),
        (vec!["Bearer realm=\"a\"".to_owned(), "Bearer realm=\"b\"".to_owned()], "asks twice for a token"),
        (vec![format!("Bearer realm=\"https://a.example.com/{}\"", "a".repeat(9_000))], "in more than 4096 bytes"),
        (vec!["Negotiate".to_owned()], "neither Basic nor Bearer"),
    ] {
        let registry = asking(&challenges.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let setup = Setup::at(&registry, &artifact().digest()).trust(&thief).password("correct-horse");
        setup.refused(&[part]).await;
        // Without a login there is nothing to lose but a token that would be carried back.
        Setup::at(&registry, &artifact().digest()).trust(&thief).refused(&[part]).await;
        assert!(registry.requests().iter().all(|it| it.header("authorization").is_none()));
    }
    assert_eq!((thief.connections(), plain.connections()), (0, 0));
}

#[tokio::test]
async fn adv_56_a_token_service_that_sends_us_on_is_not_followed() {
    let thief = Capture::https(&["127.0.0.1"], |_| Step::ok(r#"{ "token": "t" }"#)).await;
    let elsewhere = thief.url();
    let service = Capture::https(&["127.0.0.1"], move |_| {
        Step::answer("307 Temporary Redirect", &[("location", &elsewhere)], "")
    })
    .await;
    let registry = asking(&[&format!("Bearer realm=\"{}/token\"", service.url())]).await;
    let setup =
        Setup::at(&registry, &artifact().digest()).token_service(&service).trust(&thief).password("correct-horse");
    setup.refused(&["has a token service that answers 307"]).await;
    assert_eq!((service.connections(), thief.connections()), (1, 0));
}

#[tokio::test]
async fn a_named_token_service_gets_the_login_once() {
    let service = Capture::https(&["127.0.0.1"], |_| Step::ok(r#"{ "token": "tok" }"#)).await;
    let realm = format!(
        "Bearer realm=\"{}/token?a=b\",service=\"the registry\",scope=\"repository:other:push\"",
        service.url()
    );
    let manifest = artifact().manifest;
    let registry = Capture::https(&["127.0.0.1"], move |request| match request.header("authorization") {
        Some("Bearer tok") if request.text().contains("/manifests/") => Step::bytes(&[], &manifest),
        Some("Bearer tok") => Step::ok("a module"),
        _ => Step::answer("401 Unauthorized", &[("www-authenticate", &realm)], ""),
    })
    .await;
    let setup = Setup::at(&registry, &artifact().digest()).token_service(&service).password("correct-horse");
    assert_eq!(setup.pulled().await.bytes, MODULE);
    let scope = "/token?a=b&service=the+registry&scope=repository%3Aacme%2Fprovider%3Apull";
    assert_eq!(paths(&service), [scope], "our own scope, once");
    assert_eq!(service.requests()[0].header("authorization"), Some("Basic YWxpY2U6Y29ycmVjdC1ob3JzZQ=="));
    for request in registry.requests() {
        assert!(!request.text().contains("Basic"), "the password is for the token service");
    }
}

#[tokio::test]
async fn a_token_service_that_answers_nonsense_is_named() {
    for (steps, part) in [
        (Step::ok("<html>"), "answers without a token"),
        (Step::ok(r#"{ "token": "a\r\nb" }"#), "answers without a token"),
        (Step::answer("500 Internal Server Error", &[], ""), "token service that answers 500"),
        (Step::ok(&"x".repeat(65 << 10)), "more than the 65536 bytes"),
    ] {
        let service = Capture::https(&["127.0.0.1"], move |_| steps.clone()).await;
        let registry = asking(&[&format!("Bearer realm=\"{}/token\"", service.url())]).await;
        let setup = Setup::at(&registry, &artifact().digest()).token_service(&service).password("correct-horse");
        let text = setup.pull().await.unwrap_err().to_string();
        assert!(text.contains(part), "{part:?} is not in {text:?}");
        assert!(!text.contains("correct-horse") && !text.contains("Y29ycmVjdC1ob3JzZQ"), "{text}");
    }
}

#[tokio::test]
async fn a_refused_login_is_tried_once() {
    let registry = asking(&["Basic realm=\"x\""]).await;
    let setup = Setup::at(&registry, &artifact().digest()).password("wrong");
    setup
        .refused(&["does not let us read acme/provider (401 Unauthorized)", "correct the login in", "login.json"])
        .await;
    assert_eq!(registry.connections(), 2);
}

#[tokio::test]
async fn a_registry_token_goes_to_the_registry_itself() {
    let registry = Answers::of(&artifact()).serve().await;
    let setup = Setup::at(&registry, &artifact().digest()).login(&json!({ "registrytoken": "the-token" }));
    assert_eq!(setup.pulled().await.bytes, MODULE);
    for request in registry.requests() {
        assert_eq!(request.header("authorization"), Some("Bearer the-token"));
    }
}

#[tokio::test]
async fn a_body_of_a_question_for_a_login_is_not_read() {
    let answers = Answers::of(&artifact());
    let registry = Capture::https(&["127.0.0.1"], move |request| match request.header("authorization") {
        Some(_) => answers.answer(request),
        None => {
            let head = "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Basic realm=\"x\"\r\ncontent-length: 10737418240\r\n\r\n";
            vec![Step::raw(head), Step::Hang]
        }
    })
    .await;
    let setup = Setup::at(&registry, &artifact().digest()).password("correct-horse").impatient();
    assert_eq!(setup.pulled().await.bytes, MODULE);
}

#[tokio::test]
async fn the_login_is_read_again_at_each_pull() {
    let answers = Answers::of(&artifact());
    let registry = Capture::https(&["127.0.0.1"], move |request| match request.header("authorization") {
        Some("Bearer second") => answers.answer(request),
        _ => Step::answer("401 Unauthorized", &[("www-authenticate", "Basic realm=\"x\"")], ""),
    })
    .await;
    let login = |token: &str| json!({ "registrytoken": token });
    let setup = Setup::at(&registry, &artifact().digest()).login(&login("first"));
    // One puller, as one process has it.
    let puller = oci::Puller::new(setup.settings.clone(), setup.outside.clone(), None);
    let refused = puller.pull().await.unwrap_err().to_string();
    assert!(refused.contains("does not let us read"), "{refused}");
    let setup = setup.login(&login("second"));
    assert_eq!(puller.pull().await.unwrap().bytes, MODULE);
    drop(setup);
}

#[tokio::test]
async fn a_body_of_an_error_is_not_read() {
    let path = format!("manifests/sha256:{}", artifact().digest());
    let endless = vec![Step::raw("HTTP/1.1 404 Not Found\r\ncontent-length: 10737418240\r\n\r\n"), Step::Hang];
    let registry = Answers::default().set(&path, endless).serve().await;
    let setup = Setup::at(&registry, &artifact().digest()).impatient();
    setup.refused(&["has no such manifest"]).await;
}
