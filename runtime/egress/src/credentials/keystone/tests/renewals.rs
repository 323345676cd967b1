//! When a token is asked for, and how often.

use super::*;

#[tokio::test]
async fn a_token_is_renewed_before_its_end() {
    let world = World::start().await;
    let (credential, _egress) = world.egress();
    for _ in 0..3 {
        credential.keep().await;
    }
    assert_eq!(world.keystone.requests().len(), 1, "it lasts an hour");
    let due = |credential: &KeystoneCredential| {
        let token = credential.state.lock().token.clone().unwrap();
        (token.ends - token.due).as_secs()
    };
    assert_eq!(due(&credential), 60);
    world.say(|it| it.seconds = 90);
    let (credential, _egress) = world.egress();
    credential.keep().await;
    assert_eq!(due(&credential), 45, "a short one in the middle of its time");
}

#[tokio::test]
async fn a_refused_token_is_renewed_and_the_request_repeated() {
    let world = World::start().await;
    let (credential, egress) = world.egress();
    credential.keep().await;
    world.say(|it| it.refused = 1);
    assert_eq!(send(&egress, Method::Post, &["servers"]).await.map(|it| it.status), Ok(200), "a write, too");
    assert_eq!(world.served(), ["POST /v2.1/servers gAAAA-token-1", "POST /v2.1/servers gAAAA-token-2"]);
    world.say(|it| it.refused = 9);
    assert_eq!(send(&egress, Method::Get, &["servers"]).await.map(|it| it.status), Ok(401));
    assert_eq!(world.keystone.requests().len(), 2, "a service that refuses each token makes no flood");
}

#[tokio::test]
async fn many_refusals_at_once_ask_for_one_token() {
    let world = World::start().await;
    let (credential, egress) = world.egress();
    credential.keep().await;
    world.say(|it| it.refused = 1);
    let names: Vec<_> = (0..6).map(|it| format!("server-{it}")).collect();
    let all = names.iter().map(|name| {
        let egress = &egress;
        async move { send(egress, Method::Get, &["servers", name]).await.map(|it| it.status) }
    });
    let statuses = futures::future::join_all(all).await;
    assert!(statuses.iter().all(|it| *it == Ok(200)), "{statuses:?}");
    assert_eq!(world.keystone.requests().len(), 2);
}

#[tokio::test]
async fn keystone_is_not_asked_until_it_locks_the_user() {
    let world = World::start().await;
    let (credential, egress) = world.egress();
    world.say(|it| it.status = "401 Unauthorized");
    for _ in 0..20 {
        credential.keep().await;
    }
    match send(&egress, Method::Get, &["servers"]).await {
        Err(SendError::Denied(text)) => {
            for part in [
                "E-EGRESS-CREDENTIAL",
                "\"aerostat\" of the domain \"Default\"",
                "401: Not you",
                "correct the password",
            ] {
                assert!(text.contains(part), "{text}");
            }
            assert!(!text.contains("of-the-tests"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(world.keystone.requests().len(), 1, "once a minute");
    world.write("password", "another-one\n");
    for _ in 0..20 {
        credential.keep().await;
    }
    assert_eq!(world.keystone.requests().len(), 2, "and once for each change of the file");
    world.say(|it| it.status = "201 Created");
    world.write("password", "the-right-one\n");
    credential.keep().await;
    assert_eq!(send(&egress, Method::Get, &["servers"]).await.map(|it| it.status), Ok(200));
}

#[tokio::test]
async fn a_keystone_that_fails_is_asked_again() {
    let world = World::start().await;
    let (credential, egress) = world.egress();
    world.say(|it| it.status = "500 Internal Server Error");
    for _ in 0..3 {
        credential.keep().await;
    }
    assert_eq!(world.keystone.requests().len(), 3, "as often as credentials are kept");
    assert!(matches!(send(&egress, Method::Get, &["servers"]).await, Err(SendError::Unreachable(_))));
}

#[tokio::test]
async fn another_account_is_another_version() {
    let world = World::start().await;
    let (credential, _egress) = world.egress();
    credential.keep().await;
    let first = credential.account_version();
    let refusal = CredentialRefusal { is_before_all: true, ..CredentialRefusal::default() };
    assert!(credential.renew(credential.generation(), Instant::now(), &refusal).await);
    assert_eq!(credential.account_version(), first, "another token of the same project");
    world.say(|it| it.url = format!("{}/v2.1/other", world.service.url));
    world.write("password", "another-one\n");
    credential.keep().await;
    assert_ne!(credential.account_version(), first, "another catalogue");
}

#[tokio::test]
async fn secret_and_tokens_go_to_listed_origins_alone() {
    let world = World::start().await;
    world.write("password.origins", &format!("{}\n{}\n", world.keystone.url, world.service.url));
    let (credential, egress) = world.egress();
    credential.keep().await;
    assert_eq!(send(&egress, Method::Get, &["servers"]).await.map(|it| it.status), Ok(200));
    world.write("password.origins", &format!("{}\n", world.service.url));
    world.write("password", "another-one\n");
    credential.keep().await;
    assert_eq!(world.keystone.requests().len(), 1);
    world.write("password.origins", &format!("{}\n", world.keystone.url));
    credential.keep().await;
    assert!(matches!(send(&egress, Method::Get, &["servers"]).await, Err(SendError::Unreachable(_))));
    assert_eq!(world.served().len(), 1);
}
