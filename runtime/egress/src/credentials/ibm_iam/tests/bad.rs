//! Files that hold no key, and refusals of IAM and of the metadata service.

use super::*;

/// Why no token is there, in the words of a refused request.
async fn denied(world: &World, tokens: IbmTokens) -> String {
    let (credential, egress) = world.egress(tokens);
    for _ in 0..3 {
        credential.keep().await;
    }
    match send(&egress, Method::Get).await {
        Err(SendError::Denied(text)) => text,
        Err(error) => format!("{error:?}"),
        Ok(answer) => panic!("{}", answer.status),
    }
}

fn refused(world: &World, tokens: IbmTokens) -> String {
    let error = world.load(tokens).err().expect("it is refused");
    let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    format!("{error}: {source}")
}

#[tokio::test]
async fn bad_key_files_are_refused_without_their_text() {
    let world = World::start().await;
    for (text, part) in [
        ("", "holds no API key"),
        ("\n", "holds no API key"),
        ("of somebody", "holds white space in the API key"),
        (" ofsomebody", "holds white space"),
        ("ofsomebody\t", "holds white space"),
        ("ofsomebody\n\n", "holds white space"),
        ("ofsomebödy", "not visible ASCII"),
        (r#"{"apikey":"ofsomebody"}"#, "put the value of `apikey` there alone"),
    ] {
        world.write("key", text);
        let because = refused(&world, world.of_key());
        assert!(because.contains(part) && because.contains("/key"), "{text:?}: {because}");
        assert!(!because.contains("somebody") && !because.contains("dy"), "{because}");
    }
    world.write("key", &"a".repeat(17_000));
    assert!(refused(&world, world.of_key()).contains("larger than 16 KiB"));
    std::fs::remove_file(world.folder.join("key")).unwrap();
    assert!(refused(&world, world.of_key()).contains("ibmIam.apiKey.file"));
    world.write("token", "");
    let because = refused(&world, world.of_pod(IbmProfile::Id(word("Profile-1"))));
    assert!(because.contains("holds no token; look at the pod's projected volume"), "{because}");
    assert!(world.giver.requests().is_empty());
}

#[tokio::test]
async fn bad_a_key_that_is_replaced_by_none_leaves_the_old_one() {
    let world = World::start().await;
    let (credential, egress) = world.egress(world.of_key());
    credential.keep().await;
    world.write("key", "of somebody");
    credential.keep().await;
    assert_eq!(send(&egress, Method::Get).await.map(|it| it.status), Ok(200));
    assert_eq!(world.giver.requests().len(), 1);
}

#[tokio::test]
async fn bad_a_refusal_of_iam_is_told_with_its_code_alone() {
    let world = World::start().await;
    let body = |code: &str| json!({ "errorCode": code, "errorMessage": "Provided API key could not be found.", "errorDetails": KEY });
    for (tokens, code, next) in [
        (world.of_key(), "BXNIM0415E", "put a key there that exists"),
        (world.of_pod(IbmProfile::Id(word("Profile-1"))), "BXNIM0436E", "correct `ibmIam.computeResource.profile`"),
    ] {
        world.say("400 Bad Request", body(code));
        let before = world.giver.requests().len();
        let text = denied(&world, tokens).await;
        assert_eq!(world.giver.requests().len(), before + 1, "it is tried again a minute later");
        for part in ["E-EGRESS-CREDENTIAL", code, next, &world.giver.url] {
            assert!(text.contains(part), "{part}: {text}");
        }
        for part in ["could not be found", KEY, POD_TOKEN] {
            assert!(!text.contains(part), "{part}: {text}");
        }
    }
    world.say("400 Bad Request", body(KEY));
    let text = denied(&world, world.of_key()).await;
    assert!(text.contains("withheld") && !text.contains(KEY), "{text}");
}

#[tokio::test]
async fn bad_a_new_key_is_used_at_once_after_a_refusal() {
    let world = World::start().await;
    world.say("400 Bad Request", json!({ "errorCode": "BXNIM0415E" }));
    let (credential, egress) = world.egress(world.of_key());
    credential.keep().await;
    assert!(send(&egress, Method::Get).await.is_err());
    world.write("key", "a-new-key-of-the-account");
    world.say("200 OK", answer("0a1b", "first"));
    credential.keep().await;
    assert_eq!(send(&egress, Method::Get).await.map(|it| it.status), Ok(200));
}

#[tokio::test]
async fn bad_refusals_of_the_metadata_service_name_the_next_step() {
    let world = World::start().await;
    world.say("403 Forbidden", json!({ "errors": [{ "code": "service_disabled", "message": "No." }] }));
    let text = denied(&world, world.of_machine(None)).await;
    assert!(text.contains("403: service_disabled") && text.contains("turn on the metadata service"), "{text}");
    world.said.lock().is_old = true;
    world.say("404 Not Found", Value::Null);
    let text = denied(&world, world.of_machine(None)).await;
    assert!(text.contains("refuses the machine (404)"), "{text}");
}

#[tokio::test]
async fn bad_answers_of_iam_give_no_token() {
    let world = World::start().await;
    for (status, body, part) in [
        ("200 OK", json!({ "access_token": "a b", "expires_in": 3600 }), "not visible ASCII"),
        ("200 OK", json!({ "access_token": "ab", "expires_in": 0 }), "had ended"),
        ("200 OK", json!({ "token": "ab" }), "not what its API describes"),
        ("200 OK", json!([]), "not what its API describes"),
        ("429 Too Many Requests", json!({ "errorCode": "BXNIM0001E" }), "gives no token (429: BXNIM0001E)"),
        ("503 Service Unavailable", json!({}), "gives no token (503)"),
        ("302 Found", json!({}), "gives no token (302)"),
    ] {
        world.say(status, body);
        let text = denied(&world, world.of_key()).await;
        assert!(text.contains(part), "{text}");
    }
}

#[tokio::test]
async fn adv_117_no_guest_asks_iam_or_the_metadata_service() {
    let world = World::start().await;
    let (credential, egress) = world.egress(world.of_key());
    credential.keep().await;
    for name in ["Authorization", "Metadata-Flavor"] {
        let mut request = testing::request(Method::Get, &["v2", "load_balancers"]);
        request.headers = vec![(name.to_owned(), "Bearer x".to_owned())];
        let call = CallId { provider: "test".into(), function: "ensure", id: 1 };
        let answer = egress.open(call, Mode::Read).send(request).await;
        assert!(matches!(&answer, Err(SendError::Denied(text)) if text.contains("E-EGRESS-HEADER")), "{answer:?}");
    }
    for path in [
        ["identity", "token"].as_slice(),
        &["Identity", "v1", "Token"],
        &["identity", "v1", "iam_tokens"],
        &["instance_identity", "v1", "token"],
        &["instance_identity", "v1", "iam_token"],
    ] {
        // Each where the endpoint's rules allow the method.
        for (mode, method, below) in [
            (Mode::Read, Method::Get, ["v2"].as_slice()),
            (Mode::Write { deletes: 1 }, Method::Post, &["v2", "load_balancers"]),
        ] {
            let call = CallId { provider: "test".into(), function: "ensure", id: 1 };
            let answer = egress.open(call, mode).send(testing::request(method, &[below, path].concat())).await;
            assert!(matches!(&answer, Err(SendError::Denied(text)) if text.contains("asks for a token")), "{answer:?}");
        }
    }
    assert!(world.service.requests().is_empty());
    for secret in [KEY, &token("0a1b", "first")] {
        assert!(Secrets::new(credential.secrets()).are_in(secret.as_bytes()), "{secret}");
    }
}

#[tokio::test]
async fn adv_117_a_key_goes_to_the_origins_that_are_listed_alone() {
    let world = World::start().await;
    world.write("key.origins", "https://iam.cloud.ibm.com\n");
    let credential = world.load(world.of_key()).unwrap();
    let refused = credential.check(&testing::endpoint(&world.service.url)).unwrap_err();
    assert!(refused.to_string().contains("key.origins"), "{refused}");
}
