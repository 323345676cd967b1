//! Requests for tokens, as IBM's own SDK sends them: ibm-cloud-sdk-core, recorded in `tests/golden/ibm-iam.json`.

use futures::future::join_all;

use super::*;

/// The requests of the recording with this name.
fn recorded(name: &str) -> Value {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/ibm-iam.json");
    let all: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert!(all[name].is_object(), "{name}");
    all[name]["requests"].clone()
}

/// The requests as the recordings tell them.
fn told(requests: &[String]) -> Value {
    requests.iter().map(|it| told_one(it)).collect()
}

fn told_one(request: &str) -> Value {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let words: Vec<_> = head.lines().next().unwrap().split(' ').collect();
    let value = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let pairs = |text: &str| -> Value {
        Value::Object(url::form_urlencoded::parse(text.as_bytes()).map(|(key, it)| (key.into(), it.into())).collect())
    };
    let (path, query) = words[1].split_once('?').unwrap_or((words[1], ""));
    let body = match value("content-type") {
        Some("application/x-www-form-urlencoded") => pairs(body),
        _ => serde_json::from_str(body).unwrap_or(Value::Null),
    };
    let mut headers = json!({ "authorization": if value("authorization").is_some() { "yes" } else { "no" } });
    for name in ["accept", "content-type", "metadata-flavor"] {
        headers[name] = value(name).unwrap_or("none").into();
    }
    json!({ "method": words[0], "path": path, "query": pairs(query), "headers": headers, "body": body })
}

/// The requests of a recording: headers that it lacks are `none`.
fn expected(name: &str) -> Value {
    let mut requests = recorded(name);
    for request in requests.as_array_mut().unwrap() {
        for name in ["accept", "content-type", "metadata-flavor"] {
            if request["headers"][name].is_null() {
                request["headers"][name] = "none".into();
            }
        }
    }
    requests
}

/// The requests for the first token, which the service has got.
async fn asked(world: &World, tokens: IbmTokens) -> Value {
    let before = world.giver.requests().len();
    let (credential, egress) = world.egress(tokens);
    credential.keep().await;
    assert_eq!(send(&egress, Method::Get).await.map(|it| it.status), Ok(200));
    assert_eq!(world.served().last(), Some(&token("0a1b", "first")));
    told(&world.giver.requests()[before..])
}

#[tokio::test]
async fn an_api_key_becomes_a_token_as_with_the_sdk() {
    let world = World::start().await;
    assert_eq!(asked(&world, world.of_key()).await, expected("API key"));
}

#[tokio::test]
async fn a_token_of_a_pod_becomes_one_of_a_trusted_profile() {
    let world = World::start().await;
    let by_id = asked(&world, world.of_pod(IbmProfile::Id(word("Profile-1")))).await;
    assert_eq!(by_id, expected("compute resource: profile by id"));
    let by_name = asked(&world, world.of_pod(IbmProfile::Name(word("aerostat")))).await;
    assert_eq!(by_name, expected("compute resource: profile by name"));
}

#[tokio::test]
async fn the_metadata_service_gives_the_token_of_the_machine() {
    let world = World::start().await;
    let crn = "crn:v1:bluemix:public:iam-identity::a/1::profile:Profile-1";
    for (profile, name) in [
        (None, "no profile"),
        (Some(IbmProfile::Id(word("Profile-1"))), "profile by id"),
        (Some(IbmProfile::Name(word("aerostat"))), "profile by name"),
        (Some(IbmProfile::Crn(word(crn))), "profile by CRN"),
    ] {
        let sent = asked(&world, world.of_machine(profile)).await;
        assert_eq!(sent, expected(&format!("instance identity, newer paths: {name}")), "{name}");
    }
}

#[tokio::test]
async fn an_older_metadata_service_is_asked_at_its_own_paths() {
    let world = World::start().await;
    world.said.lock().is_old = true;
    for (profile, name) in [(None, "no profile"), (Some(IbmProfile::Id(word("Profile-1"))), "profile by id")] {
        let sent = asked(&world, world.of_machine(profile)).await;
        let sent = sent.as_array().unwrap();
        assert_eq!(sent[0]["path"], "/identity/v1/token");
        assert_eq!(Value::from(&sent[1..]), expected(&format!("instance identity, older paths: {name}")), "{name}");
    }
}

#[tokio::test]
async fn many_requests_at_once_ask_for_one_token_of_iam() {
    let world = World::start().await;
    let (credential, egress) = world.egress(world.of_key());
    join_all((0..8).map(|_| credential.keep())).await;
    assert_eq!(world.giver.requests().len(), 1, "whoever needs the first one waits for it");
    world.say("200 OK", answer("0a1b", "second"));
    world.said.lock().ended = Some(token("0a1b", "first"));
    let statuses = join_all((0..8).map(|_| send(&egress, Method::Post))).await;
    assert!(statuses.iter().all(|it| it.as_ref().is_ok_and(|it| it.status == 200)), "{statuses:?}");
    assert_eq!(world.giver.requests().len(), 2, "one token replaces the refused one for all");
    let served = world.served();
    let with = |name: &str| served.iter().filter(|it| **it == token("0a1b", name)).count();
    assert_eq!((with("first"), with("second")), (8, 8), "each refused write is repeated once");
}

#[tokio::test]
async fn a_first_request_waits_for_the_first_token() {
    let world = World::start().await;
    let (credential, egress) = world.egress(world.of_key());
    let ((), answer) = tokio::join!(credential.keep(), send(&egress, Method::Get));
    assert_eq!(answer.map(|it| it.status), Ok(200));
    assert_eq!(world.giver.requests().len(), 1);
}

#[tokio::test]
async fn a_token_of_iam_is_renewed_at_four_fifths_of_its_life() {
    let world = World::start().await;
    let (credential, _egress) = world.egress(world.of_key());
    for _ in 0..3 {
        credential.keep().await;
    }
    assert_eq!(world.giver.requests().len(), 1, "it lasts an hour");
    let left = || {
        let token = credential.state.lock().token.clone().unwrap();
        (token.ends - token.due).as_secs()
    };
    assert_eq!(left(), 720);
    world.say("200 OK", json!({ "access_token": token("0a1b", "short"), "expires_in": 60 }));
    let refusal = CredentialRefusal { is_before_all: true, ..CredentialRefusal::default() };
    assert!(credential.renew(credential.generation(), Instant::now(), &refusal).await);
    assert!(!credential.renew(credential.generation(), Instant::now(), &refusal).await, "not again at once");
    assert_eq!(left(), 12);
}

#[tokio::test]
async fn a_key_of_another_account_is_another_account() {
    let world = World::start().await;
    let (credential, _egress) = world.egress(world.of_key());
    credential.keep().await;
    let first = credential.account_version();
    world.write("key", "another-key-of-the-account");
    world.say("200 OK", answer("0a1b", "second"));
    credential.keep().await;
    assert_eq!(world.giver.requests().len(), 2, "a key file that changes is read again");
    assert_eq!(credential.account_version(), first, "its account is the same");
    for account in [answer("9z9z", "third"), json!({ "access_token": "opaque-token", "expires_in": 3600 })] {
        let before = credential.account_version();
        world.write("key", &format!("a-third-key-of-{}", account["access_token"].as_str().unwrap().len()));
        world.say("200 OK", account);
        credential.keep().await;
        assert_eq!(credential.account_version(), before + 1);
    }
}
