//! Files that are none, and refusals in Entra's words.

use super::*;

/// Why no token is there, in the words of a refused request.
async fn denied(world: &World, settings: EntraSettings) -> String {
    let (credential, egress) = world.egress(settings);
    for _ in 0..3 {
        credential.keep().await;
    }
    match send(&egress, Method::Get).await {
        Err(SendError::Denied(text)) => text,
        other => panic!("{other:?}"),
    }
}

fn refused(world: &World, settings: EntraSettings) -> String {
    let error = world.load(settings).err().expect("it is refused");
    let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    format!("{error}: {source}")
}

#[tokio::test]
async fn bad_a_refusal_is_told_with_the_number_of_entra() {
    let world = World::start().await;
    for (settings, number, text, next) in [
        (
            world.of_secret(),
            7_000_215,
            "Invalid client secret provided.",
            "put the secret's value into the file, not its id",
        ),
        (world.of_secret(), 7_000_222, "The provided client secret keys are expired.", "the secret has ended"),
        (world.of_secret(), 90_002, "Tenant 'x' not found.", "correct `entra.tenant`"),
        (
            world.of_secret(),
            700_016,
            "Application was not found in the directory.",
            "`entra.clientId` or `entra.tenant`",
        ),
        (world.of_certificate(false), 700_027, "The certificate is not registered.", "certificate 99F29F7F"),
        (world.of_token(), 700_213, "No matching federated identity record found.", "its issuer, its subject"),
        (world.of_secret(), 500_011, "The resource principal was not found.", "`entra.scope`"),
        (world.of_secret(), 1, "Something new.", "look at the application in the tenant"),
    ] {
        let before = world.giver.requests().len();
        world.refuse(number, text);
        let told = denied(&world, settings).await;
        for part in ["E-EGRESS-CREDENTIAL", &format!("AADSTS{number}: {}", text.trim_end_matches('.')), next, CLIENT] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(!told.contains("Trace ID"), "{told}");
        assert_eq!(world.giver.requests().len(), before + 1, "it is asked again a minute later");
    }
}

#[tokio::test]
async fn bad_a_refused_secret_is_tried_again_when_the_file_changes() {
    let world = World::start().await;
    world.refuse(7_000_215, "Invalid client secret provided.");
    let (credential, egress) = world.egress(world.of_secret());
    for _ in 0..5 {
        credential.keep().await;
    }
    assert_eq!(world.giver.requests().len(), 1);
    world.write("secret", "another-of-the-application");
    world.say("200 OK", json!({ "access_token": "eyJ0.of-entra", "expires_in": 3599 }));
    credential.keep().await;
    assert_eq!(send(&egress, Method::Get).await.map(|it| it.status), Ok(200));
    assert!(world.giver.requests()[1].contains("another%2Dof%2Dthe%2Dapplication"));
}

#[tokio::test]
async fn bad_files_of_proofs_are_refused_by_name() {
    let world = World::start().await;
    for (file, text, settings, part) in [
        ("secret", "\n", world.of_secret(), "holds no secret"),
        ("secret", "two words", world.of_secret(), "holds no secret"),
        ("token", "", world.of_token(), "projected volume"),
        ("certificate.pem", CERTIFICATE, world.of_certificate(false), "has no private key of use"),
        ("certificate.pem", &key(), world.of_certificate(false), "has a key and no certificate"),
        ("certificate.pem", &format!("{}{OTHER}", key()), world.of_certificate(false), "not that of its certificate"),
        ("secret", &"x".repeat(17_000), world.of_secret(), "larger than 16 KiB"),
    ] {
        world.write(file, text);
        let because = refused(&world, settings);
        assert!(because.contains(part) && because.contains(file), "{because}");
        assert!(!because.contains("two words"), "{because}");
    }
    for (file, settings, key) in [
        ("secret", world.of_secret(), "entra.clientSecret.file"),
        ("token", world.of_token(), "entra.federatedToken.file"),
        ("certificate.pem", world.of_certificate(true), "entra.clientCertificate.file"),
    ] {
        std::fs::remove_file(world.folder.join(file)).unwrap();
        assert!(refused(&world, settings).contains(key));
    }
    assert!(world.giver.requests().is_empty());
}

#[tokio::test]
async fn bad_an_expired_certificate_is_told_and_not_shown() {
    let world = World::start().await;
    world.write("certificate.pem", &format!("{}{EXPIRED}", key()));
    let told = denied(&world, world.of_certificate(false)).await;
    for part in ["certificate.pem", "ended at 2026-", "make a new one"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(world.giver.requests().is_empty());
}

#[tokio::test]
async fn bad_a_clock_that_is_off_is_corrected_once() {
    let world = World::start().await;
    world.refuse(700_024, "Client assertion is not within its valid time range.");
    let date = SystemTime::now() - Duration::from_secs(3_600);
    world.said.lock().head = format!("Date: {}\r\n", httpdate::fmt_http_date(date));
    let told = denied(&world, world.of_certificate(false)).await;
    assert!(told.contains("AADSTS700024") && told.contains("clock"), "{told}");
    assert_eq!(world.giver.requests().len(), 2, "it is tried once more, with the time of Entra");
}

#[tokio::test]
async fn bad_answers_give_no_token() {
    let world = World::start().await;
    for (status, body, part) in [
        ("200 OK", json!({ "access_token": "a b", "expires_in": 3600 }), "not visible ASCII"),
        ("200 OK", json!({ "access_token": "eyJ0", "expires_in": 0 }), "had ended"),
        ("200 OK", json!({ "access_token": "eyJ0" }), "not what its API describes"),
        ("503 Service Unavailable", json!({}), "gives no token (503)"),
        ("429 Too Many Requests", json!({}), "gives no token (429)"),
        ("302 Found", json!({}), "gives no token (302)"),
    ] {
        world.say(status, body);
        let (credential, egress) = world.egress(world.of_secret());
        credential.keep().await;
        let text = format!("{:?}", send(&egress, Method::Get).await);
        assert!(text.contains(part), "{part}: {text}");
    }
    world.say("400 Bad Request", json!({ "error": "invalid", "error_description": "of-the-application" }));
    let told = denied(&world, world.of_secret()).await;
    assert!(told.contains("withheld") && !told.contains("of-the-application"), "{told}");
}

#[tokio::test]
async fn bad_a_machine_without_identity_is_told() {
    let world = World::start().await;
    world.say("400 Bad Request", json!({ "error": "invalid_request", "error_description": "Identity not found" }));
    let told = denied(&world, world.of_machine(ManagedIdentity::System, None)).await;
    assert!(told.contains("invalid_request: Identity not found") && told.contains("assign the identity"), "{told}");
    for status in ["404 Not Found", "410 Gone", "500 Internal Server Error"] {
        world.say(status, json!({}));
        let (credential, egress) = world.egress(world.of_machine(ManagedIdentity::System, None));
        credential.keep().await;
        let text = format!("{:?}", send(&egress, Method::Get).await);
        assert!(text.contains("gives no token"), "it is being updated: {text}");
    }
}

#[tokio::test]
async fn adv_117_no_guest_sends_what_the_host_alone_sends() {
    let world = World::start().await;
    let (credential, egress) = world.egress(world.of_secret());
    credential.keep().await;
    for name in ["Authorization", "x-ms-authorization-auxiliary", "X-MS-Authorization-Auxiliary", "X-IDENTITY-HEADER"] {
        let mut request = testing::request(Method::Get, &["v2", "load_balancers"]);
        request.headers = vec![(name.to_owned(), "Bearer x".to_owned())];
        let call = CallId { provider: "test".into(), function: "ensure", id: 1 };
        let answer = egress.open(call, Mode::Read).send(request).await;
        assert!(matches!(&answer, Err(SendError::Denied(text)) if text.contains("E-EGRESS-HEADER")), "{answer:?}");
    }
    for path in [[TENANT, "oauth2", "v2.0", "token"].as_slice(), &["metadata", "identity", "OAuth2", "Token"]] {
        let call = CallId { provider: "test".into(), function: "ensure", id: 1 };
        let mut path = path.to_vec();
        path.insert(0, "v2");
        let answer = egress.open(call, Mode::Read).send(testing::request(Method::Get, &path)).await;
        assert!(matches!(&answer, Err(SendError::Denied(text)) if text.contains("asks for a token")), "{answer:?}");
    }
    assert!(world.service.requests().is_empty());
}
