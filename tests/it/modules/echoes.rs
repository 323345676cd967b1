//! Registries and token services that repeat what they are shown.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tests::capture::{Capture, Request, Step};
use tests::registry::{Answers, Artifact};

use crate::setup::{MODULE, Setup, artifact};

const PASSWORD: &str = "canary-horse-7f3a9c5e1b2d";
const TOKEN: &str = "canary.t0ken.of.the.service.0e8d6c4b";

/// The places in which a registry can repeat `said`: what it answers for a manifest, and the digest that is asked for.
fn everywhere(said: &str) -> Vec<(Vec<Step>, String)> {
    let manifest = |change: fn(&mut Value, &str)| {
        let artifact = Artifact::edited(MODULE, |it| change(it, said));
        (Step::bytes(&[], &artifact.manifest), artifact.digest())
    };
    let other = |steps| (steps, artifact().digest());
    let realm = format!("Bearer realm=\"https://evil.example.com/{said}\"");
    vec![
        manifest(|it, said| it["mediaType"] = json!(said)),
        manifest(|it, said| it["layers"][0]["mediaType"] = json!(said)),
        manifest(|it, said| it["layers"][0]["digest"] = json!(said)),
        manifest(|it, said| it["layers"][0]["size"] = json!(said)),
        manifest(|it, said| it["manifests"] = json!([{ "mediaType": "a", "digest": said, "size": 1 }])),
        other(Step::ok(&json!(said).to_string())),
        other(Step::answer("401 Unauthorized", &[("www-authenticate", &realm)], said)),
        other(Step::answer("403 Forbidden", &[("x-request-id", said)], said)),
        other(Step::answer(&format!("500 {said}"), &[], said)),
        other(Step::answer("307 Temporary Redirect", &[("location", &format!("https://127.0.0.1/{said}"))], said)),
    ]
}

/// A registry that asks for a login, and sends this to whoever has one.
async fn registry(steps: Vec<Step>, challenge: String) -> Capture {
    let is_login = |it: &Request| it.header("authorization").is_some();
    Capture::https(&["127.0.0.1"], move |request| match is_login(request) {
        true => steps.clone(),
        false => Step::answer("401 Unauthorized", &[("www-authenticate", &challenge)], ""),
    })
    .await
}

fn assert_hidden(text: &str, secret: &str) {
    let encoded = STANDARD.encode(format!("alice:{secret}"));
    assert!(!text.contains(secret) && !text.contains(&encoded), "{text}");
}

#[tokio::test]
async fn adv_160_a_registry_that_repeats_the_login_is_not_quoted() {
    let pair = STANDARD.encode(format!("alice:{PASSWORD}"));
    for said in [PASSWORD, &pair, &format!("Basic {pair}")] {
        for (steps, digest) in everywhere(said) {
            let registry = registry(steps, "Basic realm=\"x\"".to_owned()).await;
            let setup = Setup::at(&registry, &digest).password(PASSWORD);
            let text = setup.pull().await.unwrap_err().to_string();
            assert!(registry.requests().iter().any(|it| it.text().contains(&pair)), "it could repeat it");
            assert_hidden(&text, PASSWORD);
        }
    }
}

#[tokio::test]
async fn adv_160_a_registry_that_repeats_its_token_is_not_quoted() {
    let service = Capture::https(&["127.0.0.1"], |_| Step::ok(&json!({ "token": TOKEN }).to_string())).await;
    for (steps, digest) in everywhere(TOKEN) {
        let registry = registry(steps, format!("Bearer realm=\"{}/token\"", service.url())).await;
        let setup = Setup::at(&registry, &digest).token_service(&service).password(PASSWORD);
        let text = setup.pull().await.unwrap_err().to_string();
        assert!(registry.requests().iter().any(|it| it.text().contains(TOKEN)), "it could repeat it");
        assert_hidden(&text, TOKEN);
    }
}

#[tokio::test]
async fn adv_160_a_token_service_that_repeats_the_login_is_not_quoted() {
    let pair = STANDARD.encode(format!("alice:{PASSWORD}"));
    for (steps, digest) in everywhere(&pair) {
        let service = Capture::https(&["127.0.0.1"], move |_| steps.clone()).await;
        let registry = registry(Vec::new(), format!("Bearer realm=\"{}/token\"", service.url())).await;
        let setup = Setup::at(&registry, &digest).token_service(&service).password(PASSWORD);
        let text = setup.pull().await.unwrap_err().to_string();
        assert!(service.requests().iter().any(|it| it.text().contains(&pair)), "it could repeat it");
        assert_hidden(&text, PASSWORD);
    }
}

#[tokio::test]
async fn adv_160_a_redirect_that_repeats_the_login_is_not_followed() {
    let (module, digest) = (artifact().manifest, artifact().digest());
    let pair = STANDARD.encode(format!("alice:{PASSWORD}"));
    let location = format!("/v2/elsewhere/{pair}");
    let blob = format!("blobs/{}", artifact_blob());
    let answers = Answers::of(&artifact())
        .set(&format!("manifests/sha256:{digest}"), Step::bytes(&[], &module))
        .set(&blob, Step::answer("307 Temporary Redirect", &[("location", &location)], ""));
    let registry = Capture::https(&["127.0.0.1"], move |request| match request.header("authorization") {
        Some(_) => answers.answer(request),
        None => Step::answer("401 Unauthorized", &[("www-authenticate", "Basic realm=\"x\"")], ""),
    })
    .await;
    let setup = Setup::at(&registry, &digest).password(PASSWORD);
    let text = setup.pull().await.unwrap_err().to_string();
    assert!(text.contains("is withheld"), "{text}");
    assert_hidden(&text, PASSWORD);
    assert!(registry.requests().iter().all(|it| !it.text().contains("elsewhere")));
}

#[tokio::test]
async fn a_token_service_may_hand_the_login_back() {
    let service = Capture::https(&["127.0.0.1"], |_| {
        Step::ok(&json!({ "access_token": TOKEN, "refresh_token": "canary-refresh-token-1" }).to_string())
    })
    .await;
    let answers = Answers::of(&artifact());
    let challenge = format!("Bearer realm=\"{}/token\"", service.url());
    let registry = Capture::https(&["127.0.0.1"], move |request| match request.header("authorization") {
        Some(_) => answers.answer(request),
        None => Step::answer("401 Unauthorized", &[("www-authenticate", &challenge)], ""),
    })
    .await;
    let login = json!({ "identitytoken": "canary-refresh-token-1" });
    let setup = Setup::at(&registry, &artifact().digest()).token_service(&service).login(&login);
    assert_eq!(setup.pulled().await.bytes, MODULE);
}

#[tokio::test]
async fn a_module_may_hold_the_words_of_the_password() {
    let answers = Answers::of(&artifact());
    let registry = Capture::https(&["127.0.0.1"], move |request| match request.header("authorization") {
        Some(_) => answers.answer(request),
        None => Step::answer("401 Unauthorized", &[("www-authenticate", "Basic realm=\"x\"")], ""),
    })
    .await;
    let setup = Setup::at(&registry, &artifact().digest()).password(std::str::from_utf8(MODULE).unwrap());
    assert_eq!(setup.pulled().await.bytes, MODULE);
}

/// The digest of the module's blob.
fn artifact_blob() -> String {
    format!("sha256:{}", sha256::Digest::of(MODULE))
}
