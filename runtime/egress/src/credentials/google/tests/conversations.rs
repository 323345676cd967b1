//! Requests for tokens, as Google's own library sends them: google-auth, recorded in `tests/golden/google-auth.json`.

use futures::future::join_all;

use super::*;

/// The requests of the recording with this name.
fn recorded(name: &str) -> Value {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/google-auth.json");
    let all: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert!(all[name].is_object(), "{name}");
    all[name].clone()
}

/// Method, path and body of each request: claims in the place of an assertion, and its times as their difference.
fn told(requests: &[String]) -> Value {
    requests.iter().map(|it| told_one(it)).collect()
}

fn told_one(request: &str) -> Value {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let words: Vec<_> = head.lines().next().unwrap().split(' ').collect();
    let has = |it: &str| head.lines().any(|line| line.starts_with(it));
    let body = if has("content-type: application/x-www-form-urlencoded") {
        let pairs = url::form_urlencoded::parse(body.as_bytes());
        Value::Object(pairs.map(|(name, value)| (name.to_string(), claims(&name, &value))).collect())
    } else {
        serde_json::from_str(body).unwrap_or(Value::Null)
    };
    let authorization = if has("authorization: Bearer ") { "yes" } else { "no" };
    let path = percent_encoding::percent_decode_str(words[1]).decode_utf8().unwrap();
    json!({ "method": words[0], "path": path, "authorization": authorization, "body": body })
}

fn claims(name: &str, value: &str) -> Value {
    if name == "assertion" { jwt(value) } else { value.into() }
}

/// A token as the recordings tell it.
fn jwt(token: &str) -> Value {
    let [header, mut claims] = decoded(token);
    let claims = claims.as_object_mut().unwrap();
    let times = ["exp", "iat"].map(|it| claims.remove(it).unwrap().as_i64().unwrap());
    claims.insert("exp-iat".to_owned(), (times[0] - times[1]).into());
    json!({ "header": header, "claims": claims })
}

/// The same of a recording.
fn recorded_requests(name: &str) -> Value {
    let told = |request: &Value| {
        let [method, path, body] = ["method", "path", "body"].map(|it| &request[it]);
        let authorization = &request["headers"]["authorization"];
        json!({ "method": method, "path": path, "authorization": authorization, "body": body })
    };
    recorded(name)["requests"].as_array().unwrap().iter().map(told).collect()
}

#[tokio::test]
async fn a_key_signs_tokens_and_asks_nobody() {
    let world = World::start().await;
    let (credential, egress) = world.egress(world.of_key());
    credential.keep().await;
    assert_eq!(send(&egress, Method::Post).await.map(|it| it.status), Ok(200));
    assert!(world.giver.requests().is_empty());
    let name = "service-account key: self-signed JWT, no token endpoint";
    assert_eq!(jwt(&world.served()[0]), recorded(name)["outcome"]["bearer is a JWT of ours"]);
}

#[tokio::test]
async fn an_assertion_becomes_a_token_where_the_file_asks_for_it() {
    let world = World::start().await;
    world.write("key.json", &world.key_of_giver().to_string());
    let (credential, egress) = world.egress(world.of_key());
    credential.keep().await;
    assert_eq!(send(&egress, Method::Get).await.map(|it| it.status), Ok(200));
    assert_eq!(world.served(), ["ya29.of-the-giver"]);
    assert_eq!(told(&world.giver.requests()), recorded_requests("service-account key: JWT bearer grant"));
}

#[tokio::test]
async fn a_token_of_another_provider_is_changed_into_one_of_google() {
    let world = World::start().await;
    let (credential, egress) = world.egress(world.of_federation(&world.federation()));
    credential.keep().await;
    assert_eq!(send(&egress, Method::Get).await.map(|it| it.status), Ok(200));
    assert_eq!(world.served(), ["ya29.of-the-giver"]);
    assert_eq!(told(&world.giver.requests()), recorded_requests("workload identity federation: file"));
}

#[tokio::test]
async fn a_federated_identity_may_stand_for_a_service_account() {
    let world = World::start().await;
    let mut file = world.federation();
    world.write("token", &json!({ "access_token": "eyJ.e30.c2ln" }).to_string());
    file["credential_source"]["format"] = json!({ "type": "json", "subject_token_field_name": "access_token" });
    let account = "projects/-/serviceAccounts/ccm@p1.iam.gserviceaccount.com:generateAccessToken";
    file["service_account_impersonation_url"] = format!("{}/iam/v1/{account}", world.giver.url).into();
    let (credential, egress) = world.egress(world.of_federation(&file));
    credential.keep().await;
    assert_eq!(send(&egress, Method::Get).await.map(|it| it.status), Ok(200));
    assert_eq!(world.served(), ["ya29.of-the-account"]);
    let requests = told(&world.giver.requests());
    assert_eq!(requests, recorded_requests("workload identity federation: JSON file and impersonation"));
    let shown = Secrets::new(credential.secrets());
    for secret in ["eyJ.e30.c2ln", "ya29.of-the-giver", "ya29.of-the-account"] {
        assert!(shown.are_in(secret.as_bytes()), "{secret}");
    }
}

#[tokio::test]
async fn the_metadata_server_gives_the_token_of_the_machine() {
    let world = World::start().await;
    let url = KeyServiceUrl::parse(&world.giver.url).unwrap();
    let (credential, egress) = world.egress(GoogleTokens::Metadata { url });
    credential.keep().await;
    assert_eq!(send(&egress, Method::Get).await.map(|it| it.status), Ok(200));
    assert_eq!(world.served(), ["ya29.of-the-giver"]);
    let asked = world.giver.requests();
    assert!(asked[0].contains("metadata-flavor: Google\r\n"), "{asked:?}");
    // Google's library asks for the account's name first, and for scopes that it names.
    assert_eq!(told(&asked)[0], recorded_requests("metadata server")[1]);
    world.said.lock().head = String::new();
    let url = KeyServiceUrl::parse(&world.giver.url).unwrap();
    let (credential, egress) = world.egress(GoogleTokens::Metadata { url });
    credential.keep().await;
    let denied = format!("{:?}", send(&egress, Method::Get).await);
    assert!(denied.contains("Metadata-Flavor"), "{denied}");
}

#[tokio::test]
async fn a_refused_token_is_replaced_and_the_write_repeated() {
    let world = World::start().await;
    let (credential, egress) = world.egress(world.of_key());
    credential.keep().await;
    let date = SystemTime::now() + Duration::from_secs(3_600);
    let head = format!("Date: {}\r\n", httpdate::fmt_http_date(date));
    (world.said.lock().refused, world.said.lock().head) = (1, head);
    assert_eq!(send(&egress, Method::Post).await.map(|it| it.status), Ok(200), "a write, too");
    let issued: Vec<_> = world.served().iter().map(|it| decoded(it)[1]["iat"].as_i64().unwrap()).collect();
    let later = issued[1] - issued[0];
    assert!((3_590..=3_610).contains(&later), "{later}: it was made for the time of Google's clock");
}

#[tokio::test]
async fn many_requests_at_once_ask_for_one_google_token() {
    let world = World::start().await;
    let (credential, egress) = world.egress(world.of_federation(&world.federation()));
    join_all((0..8).map(|_| credential.keep())).await;
    assert_eq!(world.giver.requests().len(), 1, "whoever needs the first one waits for it");
    world.say("200 OK", json!({ "access_token": "ya29.another", "expires_in": 3599 }));
    world.said.lock().ended = Some("ya29.of-the-giver");
    let statuses = join_all((0..8).map(|_| send(&egress, Method::Post))).await;
    assert!(statuses.iter().all(|it| it.as_ref().is_ok_and(|it| it.status == 200)), "{statuses:?}");
    assert_eq!(world.giver.requests().len(), 2, "one token replaces the refused one for all");
    let served = world.served();
    let with = |token: &str| served.iter().filter(|it| *it == token).count();
    assert_eq!((with("ya29.of-the-giver"), with("ya29.another")), (8, 8), "each refused write is repeated once");
}

#[tokio::test]
async fn a_google_token_is_renewed_before_its_end() {
    let world = World::start().await;
    let (credential, _egress) = world.egress(world.of_federation(&world.federation()));
    for _ in 0..3 {
        credential.keep().await;
    }
    assert_eq!(world.giver.requests().len(), 1, "it lasts an hour");
    let token = credential.state.lock().token.clone().unwrap();
    assert_eq!((token.ends - token.due).as_secs(), 225);
    let refusal = CredentialRefusal { is_before_all: true, ..CredentialRefusal::default() };
    world.say("200 OK", json!({ "access_token": "ya29.another", "expires_in": 60 }));
    assert!(credential.renew(credential.generation(), Instant::now(), &refusal).await);
    assert!(!credential.renew(credential.generation(), Instant::now(), &refusal).await, "not again at once");
    let token = credential.state.lock().token.clone().unwrap();
    assert_eq!((token.ends - token.due).as_secs(), 30, "a short one in the middle of its time");
}
