//! Files that are none, givers that are not Google's, and refusals.

use super::*;

/// Why no token is there, in the words of a refused request.
async fn denied(world: &World, tokens: GoogleTokens) -> String {
    let (credential, egress) = world.egress(tokens);
    credential.keep().await;
    match send(&egress, Method::Get).await {
        Err(SendError::Denied(text)) => text,
        Err(error) => format!("{error:?}"),
        Ok(answer) => panic!("{}", answer.status),
    }
}

fn refused(world: &World, tokens: GoogleTokens) -> String {
    world.load(tokens).err().expect("it is refused").to_string()
}

#[tokio::test]
async fn bad_keys_are_refused_by_name() {
    let world = World::start().await;
    for (key, value, part) in [
        (
            "private_key",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            "has a private_key that is none",
        ),
        ("private_key", "of-somebody", "has a private_key that is none"),
        ("client_email", "a b", "no usable client_email"),
        ("private_key_id", "", "no usable private_key_id"),
        ("type", "authorized_user", "not service_account"),
        ("token_uri", "https://evil.example/token", "is not Google's (https://evil.example)"),
        ("token_uri", "http://169.254.169.254/token", "no URL of one"),
        ("universe_domain", "evil.example", "is of the universe evil.example, not googleapis.com"),
        ("universe_domain", "evil.example/a", "no usable universe_domain"),
    ] {
        let mut file: Value = serde_json::from_str(KEY).unwrap();
        file[key] = value.into();
        world.write("key.json", &file.to_string());
        let because = refused(&world, world.of_key());
        assert!(because.contains(part) && because.contains("key.json"), "{because}");
        assert!(!because.contains("of-somebody"), "{because}");
    }
    for text in ["{", ""] {
        world.write("key.json", text);
        assert!(refused(&world, world.of_key()).contains("is no key of a service account"), "{text:?}");
    }
    world.write("key.json", &" ".repeat(17_000));
    assert!(refused(&world, world.of_key()).contains("larger than 16 KiB"));
    std::fs::remove_file(world.folder.join("key.json")).unwrap();
    assert!(refused(&world, world.of_key()).contains("google.serviceAccountKey.file"));
    assert!(world.giver.requests().is_empty());
}

#[tokio::test]
async fn adv_117_tokens_go_to_google_and_to_listed_givers_alone() {
    let world = World::start().await;
    for key in ["token_url", "service_account_impersonation_url"] {
        let mut file = world.federation();
        file[key] = "https://sts.googleapis.com.evil.example/v1/token".into();
        let because = refused(&world, world.of_federation(&file));
        assert!(because.contains("google.tokenOrigins"), "{because}");
    }
}

#[tokio::test]
async fn adv_117_files_of_another_universe_are_refused_unless_listed() {
    let world = World::start().await;
    let mut file = world.federation();
    file["universe_domain"] = "evil.example".into();
    let because = refused(&world, world.of_federation(&file));
    assert!(because.contains("universe evil.example") && because.contains("google.tokenOrigins"), "{because}");
    // The giver that the operator lists is asked, with an assertion that is good there alone.
    let mut key = world.key_of_giver();
    key["universe_domain"] = "apis.example".into();
    world.write("key.json", &key.to_string());
    let (credential, egress) = world.egress(world.of_key());
    credential.keep().await;
    assert_eq!(send(&egress, Method::Get).await.map(|it| it.status), Ok(200));
    let requests = world.giver.requests();
    let assertion = requests[0].split("assertion=").nth(1).unwrap();
    let assertion = assertion.replace("%2E", ".").replace("%2D", "-").replace("%5F", "_");
    assert_eq!(decoded(&assertion)[1]["aud"], "https://oauth2.apis.example/token");
    key["universe_domain"] = "googleapis.com".into();
    world.write("key.json", &key.to_string());
    assert!(world.load(world.of_key()).is_ok(), "it is Google's own");
}

#[tokio::test]
async fn bad_a_deleted_key_is_told_and_not_tried_again() {
    let world = World::start().await;
    world.write("key.json", &world.key_of_giver().to_string());
    world.say("400 Bad Request", json!({ "error": "invalid_grant", "error_description": "Invalid JWT Signature." }));
    let (credential, egress) = world.egress(world.of_key());
    for _ in 0..5 {
        credential.keep().await;
    }
    assert_eq!(world.giver.requests().len(), 1, "it is tried again a minute later");
    let text = format!("{:?}", send(&egress, Method::Get).await);
    for part in ["E-EGRESS-CREDENTIAL", "the key of ccm@p1", "invalid_grant: Invalid JWT Signature", "make a new key"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let mut key = world.key_of_giver();
    key["private_key_id"] = "another".into();
    world.write("key.json", &key.to_string());
    world.say("200 OK", Value::Null);
    credential.keep().await;
    assert_eq!(send(&egress, Method::Get).await.map(|it| it.status), Ok(200), "a new key is used at once");
}

#[tokio::test]
async fn bad_a_clock_that_is_off_is_corrected_or_told() {
    let world = World::start().await;
    world.write("key.json", &world.key_of_giver().to_string());
    world.say("400 Bad Request", json!({ "error": "invalid_grant", "error_description": "Invalid JWT: iat" }));
    let date = |hours: u64| httpdate::fmt_http_date(SystemTime::now() - Duration::from_secs(hours * 3_600));
    world.said.lock().head = format!("Date: {}\r\n", date(1));
    let (credential, _egress) = world.egress(world.of_key());
    credential.keep().await;
    let assertions: Vec<_> =
        world.giver.requests().iter().map(|it| it.split("assertion=").nth(1).unwrap().to_owned()).collect();
    let issued: Vec<_> = assertions
        .iter()
        .map(|it| decoded(&it.replace("%2E", ".").replace("%2D", "-").replace("%5F", "_"))[1]["iat"].as_i64().unwrap())
        .collect();
    assert_eq!(issued.len(), 2, "it is tried once more");
    assert!((3_590..=3_610).contains(&(issued[0] - issued[1])), "{issued:?}");
    world.said.lock().head = format!("Date: {}\r\n", date(48));
    let text = denied(&world, world.of_key()).await;
    assert!(text.contains("s ahead of Google's: set it"), "{text}");
}

#[tokio::test]
async fn bad_a_wrong_audience_is_told() {
    let world = World::start().await;
    world.say(
        "400 Bad Request",
        json!({ "error": "invalid_target", "error_description": "The target service is wrong." }),
    );
    let text = denied(&world, world.of_federation(&world.federation())).await;
    assert!(text.contains("invalid_target") && text.contains("correct `audience`"), "{text}");
    world.say("400 Bad Request", json!({ "error": "invalid", "error_description": SUBJECT }));
    let text = denied(&world, world.of_federation(&world.federation())).await;
    assert!(text.contains("withheld") && !text.contains(SUBJECT), "{text}");
    world.write("token", "");
    let text = denied(&world, world.of_federation(&world.federation())).await;
    assert!(text.contains("holds no token"), "{text}");
}

#[tokio::test]
async fn bad_answers_of_givers_give_no_token() {
    let world = World::start().await;
    for (status, body, part) in [
        ("200 OK", json!({ "access_token": "a b", "expires_in": 3600 }), "not visible ASCII"),
        ("200 OK", json!({ "access_token": "ya29.x", "expires_in": 0 }), "had ended"),
        ("200 OK", json!({ "token": "ya29.x" }), "not what its API describes"),
        ("200 OK", json!([]), "not what its API describes"),
        (
            "503 Service Unavailable",
            json!({ "error": { "status": "UNAVAILABLE" } }),
            "gives no token (503: UNAVAILABLE)",
        ),
        ("302 Found", json!({}), "gives no token (302)"),
    ] {
        world.say(status, body);
        let text = denied(&world, world.of_federation(&world.federation())).await;
        assert!(text.contains(part), "{text}");
    }
}
