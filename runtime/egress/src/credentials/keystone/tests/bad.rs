//! Answers that are none, and catalogues that lead elsewhere.

use http::HeaderMap;

use super::*;

/// Why these bytes are no answer with a token.
fn refusal(token: &[&str], body: &str) -> String {
    let mut headers = HeaderMap::new();
    for value in token {
        headers.append("x-subject-token", HeaderValue::from_str(value).unwrap());
    }
    answer::given(&headers, body.as_bytes()).err().unwrap_or_else(|| panic!("it is one: {body:.200}"))
}

#[test]
fn bad_an_answer_without_a_token_gives_none() {
    let whole = token(3600, "https://a.example").to_string();
    for (token, part) in [
        (&[][..], "no header X-Subject-Token"),
        (&["a", "b"], "twice"),
        (&[""], "empty"),
        (&["a b"], "visible ASCII"),
        (&[&*"a".repeat(9_000)], "longer than"),
    ] {
        let because = refusal(token, &whole);
        assert!(because.contains(part), "{because}");
    }
    for (from, to) in [
        ("\"user\"", "\"loser\""),
        ("\"expires_at\":\"2026", "\"expires_at\":\"soon"),
        ("\"expires_at\":\"2026", "\"expires_at\":\"2025"),
        ("\"issued_at\"", "\"issued\""),
        ("\"url\"", "\"uri\""),
        ("\"type\":\"compute\"", "\"type\":7"),
        ("\"user\":{", "\"user\":{\"id\":\"u2\","),
        ("}],\"id\"", "},\"id\""),
    ] {
        assert!(whole.contains(from), "{from} in {whole}");
        let because = refusal(&["a-token"], &whole.replace(from, to));
        assert!(!because.contains("compute") && !because.contains("a-token"), "{because}");
    }
    assert!(refusal(&["a-token"], "").contains("not what its API describes"));
    assert!(refusal(&["a-token"], &"[".repeat(100_000)).contains("not what its API describes"));
}

#[test]
fn bad_a_catalogue_has_an_end() {
    let mut endless = token(3600, "https://a.example");
    let endpoint = endless["token"]["catalog"][0]["endpoints"][0].clone();
    endless["token"]["catalog"][0]["endpoints"] = vec![endpoint; 5_001].into();
    assert!(refusal(&["a-token"], &endless.to_string()).contains("more than 5000 URLs"));
    let long = token(3600, &format!("https://a.example/{}", "a".repeat(3_000)));
    assert!(refusal(&["a-token"], &long.to_string()).contains("more than 2048 bytes"));
}

#[tokio::test]
async fn a_catalogue_that_leads_elsewhere_is_not_followed() {
    let world = World::start().await;
    let elsewhere = TestServer::start("200 OK").await;
    for url in ["http://169.254.169.254/v2.1", "http://localhost:1/v2.1", &elsewhere.url, "https://a.example/v2.1"] {
        world.say(|it| url.clone_into(&mut it.url));
        let (credential, egress) = world.egress();
        credential.keep().await;
        match send(&egress, Method::Get, &["servers"]).await {
            Err(SendError::Unreachable(text)) => {
                assert!(text.starts_with("endpoint compute cannot be reached: "), "{text}");
                assert!(text.contains("`origins` does not name") && text.contains("Next step: "), "{text}");
            }
            other => panic!("{url}: {other:?}"),
        }
    }
    assert!(world.service.requests().is_empty() && elsewhere.requests().is_empty());
}

#[tokio::test]
async fn a_catalogue_that_changes_is_followed() {
    let (world, moved) = (World::start().await, TestServer::start("200 OK").await);
    let changes = Arc::new(watch::Sender::default());
    let credential =
        KeystoneCredential::load("openstack".to_owned(), world.settings(), WriteLimits::default(), changes).unwrap();
    let credential = Arc::new(credential);
    let settings = EgressSettings {
        endpoints: vec![compute(&[&world.service.url, &moved.url])],
        credentials: Credentials::of(vec![credential.clone()]),
        fence: Arc::new(|| true),
        demands: Arc::new(|_| cloud_provider::Demand::default()),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    let egress =
        Egress::new(settings, Metrics::register(&Registry::new()).unwrap()).unwrap_or_else(|it| panic!("{it}"));
    credential.keep().await;
    assert!(send(&egress, Method::Get, &["servers"]).await.is_ok());
    world.say(|it| it.url = format!("{}/compute/v2.1", moved.url));
    world.write("password", "another-one\n");
    credential.keep().await;
    assert!(send(&egress, Method::Get, &["servers"]).await.is_ok());
    assert_eq!(world.service.requests().len(), 1);
    assert!(moved.requests()[0].starts_with("GET /compute/v2.1/servers HTTP/1.1\r\n"), "{:?}", moved.requests());
}

#[tokio::test]
async fn an_answer_that_holds_the_token_is_withheld() {
    let echo = TestServer::script(|request| ("200 OK", String::new(), request.to_owned())).await;
    let world = World::start().await;
    world.say(|it| it.url = format!("{}/v2.1", echo.url));
    let (credential, _) = world.egress();
    let settings = EgressSettings {
        endpoints: vec![compute(&[&echo.url])],
        credentials: Credentials::of(vec![credential.clone()]),
        fence: Arc::new(|| true),
        demands: Arc::new(|_| cloud_provider::Demand::default()),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    let egress =
        Egress::new(settings, Metrics::register(&Registry::new()).unwrap()).unwrap_or_else(|it| panic!("{it}"));
    credential.keep().await;
    match send(&egress, Method::Get, &["servers"]).await {
        Err(SendError::Interrupted(text)) => assert!(text.contains("the answer is withheld"), "{text}"),
        other => panic!("{other:?}"),
    }
    assert!(egress.holds_secret("gAAAA-token-1") && egress.holds_secret("of-the-tests"));
}
