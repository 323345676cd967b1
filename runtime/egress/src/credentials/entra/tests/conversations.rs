//! Requests for tokens, as Microsoft's own library sends them: azure-identity, recorded in `tests/golden/azure/auth.json`.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use tokio::task::JoinSet;

use super::*;

/// The request for a token of the recording with this name.
fn recorded(name: &str) -> Value {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/azure/auth.json");
    let all: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut request = all[name]["requests"].as_array().and_then(|it| it.last()).expect(name).clone();
    for answer in ["status", "answer"] {
        request.as_object_mut().unwrap().remove(answer);
    }
    if let Some(body) = request["body"].as_object_mut() {
        // Its word for accounts of people, and the secret itself.
        body.remove("client_info");
        body.entry("client_secret").and_modify(|it| *it = "of-the-application".into());
        body.entry("client_assertion").and_modify(|it| *it = words(it));
    }
    request["headers"].as_object_mut().unwrap().remove("authorization");
    request
}

/// The names of an assertion's words, and those of its values that are always the same.
fn words(assertion: &Value) -> Value {
    let names = |it: &Value| it.as_object().map(|it| it.keys().cloned().collect::<BTreeSet<_>>()).unwrap_or_default();
    json!({
        "header": names(&assertion["header"]),
        "claims": names(&assertion["claims"]),
        "alg": assertion["header"]["alg"],
        "iss": assertion["claims"]["iss"],
        "sub": assertion["claims"]["sub"],
    })
}

/// Method, path, query and body of a request of ours, in the words of the recordings.
fn told(request: &str) -> Value {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let target = head.split(' ').nth(1).unwrap();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pairs = |text: &str| -> Value {
        let pairs = url::form_urlencoded::parse(text.as_bytes());
        Value::Object(pairs.map(|(name, value)| (name.to_string(), value.to_string().into())).collect())
    };
    let mut headers = json!({});
    for name in ["content-type", "metadata"] {
        if let Some(value) = header(request, name) {
            headers[name] = value.into();
        }
    }
    let mut body = if body.is_empty() { Value::Null } else { pairs(body) };
    if let Some(assertion) = body.get("client_assertion").and_then(Value::as_str).filter(|it| *it != PROJECTED) {
        let [header, claims] = decoded(assertion);
        body["client_assertion"] = words(&json!({ "header": header, "claims": claims }));
    }
    json!({ "method": head.split(' ').next(), "path": path, "query": pairs(query), "headers": headers, "body": body })
}

/// Header and claims of an assertion, whose signature is right.
fn decoded(token: &str) -> [Value; 2] {
    let parts: Vec<_> = token.split('.').collect();
    let [header, claims, signature] = parts[..] else { panic!("{token}") };
    let bytes = |it: &str| BASE64_URL_SAFE_NO_PAD.decode(it).unwrap();
    let key = key();
    let der =
        <rustls_pki_types::PrivatePkcs8KeyDer<'_> as rustls_pki_types::pem::PemObject>::from_pem_slice(key.as_bytes());
    let pair = ring::signature::RsaKeyPair::from_pkcs8(der.unwrap().secret_pkcs8_der()).unwrap();
    let public = ring::signature::UnparsedPublicKey::new(&ring::signature::RSA_PKCS1_2048_8192_SHA256, pair.public());
    public.verify(format!("{header}.{claims}").as_bytes(), &bytes(signature)).unwrap();
    [header, claims].map(|it| serde_json::from_slice(&bytes(it)).unwrap())
}

async fn asked(world: &World, settings: EntraSettings) -> String {
    let (credential, egress) = world.egress(settings);
    credential.keep().await;
    assert_eq!(send(&egress, Method::Post).await.map(|it| it.status), Ok(200));
    assert_eq!(world.served(), ["Bearer eyJ0.of-entra"]);
    world.giver.requests().last().unwrap().clone()
}

#[tokio::test]
async fn a_secret_becomes_a_token_as_with_azure_identity() {
    let world = World::start().await;
    let request = asked(&world, world.of_secret()).await;
    assert_eq!(told(&request), recorded("client secret"));
}

#[tokio::test]
async fn a_certificate_becomes_a_token_as_with_azure_identity() {
    for (sends_chain, name) in [(false, "client certificate"), (true, "client certificate, chain sent")] {
        let world = World::start().await;
        let request = asked(&world, world.of_certificate(sends_chain)).await;
        assert_eq!(told(&request), recorded(name));
        let form = request.split("\r\n\r\n").nth(1).unwrap();
        let (_, assertion) =
            url::form_urlencoded::parse(form.as_bytes()).find(|(it, _)| it == "client_assertion").unwrap();
        let [header, claims] = decoded(&assertion);
        // As openssl prints the SHA-1 of tests/certificate.pem.
        let thumbprint = hex::decode("99F29F7FEDA6E16C6AE74D3356A8C8EBD30C24A3").unwrap();
        assert_eq!(header["x5t"], BASE64_URL_SAFE_NO_PAD.encode(thumbprint)[..]);
        assert_eq!(claims["aud"], format!("{}/{TENANT}/oauth2/v2.0/token", world.giver.url));
        assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 600);
        let chain = header["x5c"].as_array().map(Vec::len);
        assert_eq!(chain, sends_chain.then_some(1));
    }
}

#[tokio::test]
async fn a_chain_begins_with_the_certificate_of_the_key() {
    let world = World::start().await;
    world.write("certificate.pem", &format!("{OTHER}{}{CERTIFICATE}", key()));
    let request = asked(&world, world.of_certificate(true)).await;
    let form = request.split("\r\n\r\n").nth(1).unwrap();
    let (_, assertion) = url::form_urlencoded::parse(form.as_bytes()).find(|(it, _)| it == "client_assertion").unwrap();
    let chain = decoded(&assertion)[0]["x5c"].clone();
    let der =
        |pem: &str| BASE64_STANDARD.decode(pem.lines().filter(|it| !it.starts_with('-')).collect::<String>()).unwrap();
    assert_eq!(chain, json!([BASE64_STANDARD.encode(der(CERTIFICATE)), BASE64_STANDARD.encode(der(OTHER))]));
}

#[tokio::test]
async fn a_projected_token_becomes_one_of_entra() {
    let world = World::start().await;
    let request = asked(&world, world.of_token()).await;
    let mut recorded = recorded("workload identity: projected token file");
    recorded["body"]["client_assertion"] = PROJECTED.into();
    assert_eq!(told(&request), recorded);
}

#[tokio::test]
async fn a_machine_has_the_tokens_of_its_identity() {
    let id = EntraWord::parse(CLIENT).unwrap();
    let body = json!({
        "access_token": "eyJ0.of-entra", "client_id": CLIENT, "expires_in": "3599", "expires_on": "4102444800",
        "resource": "https://management.azure.com", "token_type": "Bearer",
    });
    for (identity, endpoint, name) in [
        (ManagedIdentity::System, None, "managed identity, system assigned (IMDS)"),
        (ManagedIdentity::ClientId(id), None, "managed identity, user assigned (IMDS)"),
        (ManagedIdentity::System, Some("/msi/token"), "managed identity through IDENTITY_ENDPOINT"),
    ] {
        let world = World::start().await;
        world.say("200 OK", body.clone());
        let request = asked(&world, world.of_machine(identity, endpoint)).await;
        assert_eq!(told(&request), recorded(name));
        let word = header(&request, "x-identity-header");
        assert_eq!(word.as_deref(), endpoint.map(|_| "word-of-the-environment"));
    }
}

#[tokio::test]
async fn an_identity_is_named_by_its_resource_id() {
    let id = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/ccm";
    for (endpoint, name) in [(None, "msi_res_id"), (Some("/msi/token"), "mi_res_id")] {
        let world = World::start().await;
        let identity = ManagedIdentity::ResourceId(EntraWord::parse(id).unwrap());
        let request = asked(&world, world.of_machine(identity, endpoint)).await;
        assert_eq!(told(&request)["query"][name], id);
    }
}

#[tokio::test]
async fn an_expired_token_is_replaced_and_the_write_repeated() {
    let world = World::start().await;
    let (credential, egress) = world.egress(world.of_secret());
    credential.keep().await;
    world.say("200 OK", json!({ "access_token": "eyJ0.another", "expires_in": 3599 }));
    world.said.lock().refused = 1;
    assert_eq!(send(&egress, Method::Post).await.map(|it| it.status), Ok(200), "a write, too");
    assert_eq!(world.served(), ["Bearer eyJ0.of-entra", "Bearer eyJ0.another"]);
}

#[tokio::test]
async fn a_challenge_goes_along_with_the_next_request_for_a_token() {
    let world = World::start().await;
    let (credential, egress) = world.egress(world.of_secret());
    credential.keep().await;
    for status in [200, 401] {
        // Another token has been asked for a moment ago; a challenge is answered all the same, once in half a minute.
        let claims = r#"{"access_token":{"nbf":{"essential":true,"value":"1766836800"}}}"#;
        let challenge = format!(
            "WWW-Authenticate: Bearer error=\"insufficient_claims\", claims=\"{}\"\r\n",
            BASE64_STANDARD.encode(claims)
        );
        (world.said.lock().refused, world.said.lock().challenge) = (1, challenge);
        assert_eq!(send(&egress, Method::Post).await.map(|it| it.status), Ok(status));
        let form = told(&world.giver.requests()[1])["body"].clone();
        assert_eq!(form["claims"], claims);
        world.said.lock().refused = 0;
    }
    credential.keep().await;
    assert_eq!(world.giver.requests().len(), 2);
}

#[tokio::test]
async fn a_token_of_entra_is_renewed_five_minutes_before_its_end() {
    let world = World::start().await;
    let (credential, _egress) = world.egress(world.of_secret());
    let together = futures::future::join_all((0..5).map(|_| credential.keep()));
    together.await;
    assert_eq!(world.giver.requests().len(), 1, "one renewal for all who ask");
    let token = credential.state.lock().token.clone().unwrap();
    assert_eq!((token.ends - token.due).as_secs(), 300);
    let refusal = CredentialRefusal { is_before_all: true, ..CredentialRefusal::default() };
    world.say("200 OK", json!({ "access_token": "eyJ0.another", "expires_in": 120 }));
    assert!(credential.renew(credential.generation(), Instant::now(), &refusal).await);
    let token = credential.state.lock().token.clone().unwrap();
    assert_eq!((token.ends - token.due).as_secs(), 60, "a short one in the middle of its time");
}

#[tokio::test]
async fn another_tenants_token_goes_along() {
    let (world, other) = (World::start().await, World::start().await);
    other.say("200 OK", json!({ "access_token": "eyJ0.of-the-other-tenant", "expires_in": 3599 }));
    let of = |name: &str, settings: EntraSettings| CredentialSettings {
        name: name.to_owned(),
        kind: CredentialKind::Entra(Box::new(settings)),
        limits: WriteLimits::default(),
    };
    let first = EntraSettings { auxiliary: Some("network".to_owned()), ..world.of_secret() };
    let credentials = Credentials::load(vec![of("azure", first.clone()), of("network", other.of_secret())]).unwrap();
    let egress = world.egress_of(credentials.clone());
    let mut watching = JoinSet::new();
    watching.spawn(credentials.watch());
    // The first request waits for both tokens, and no answer may hold them.
    world.said.lock().echoes = true;
    let answer = loop {
        match send(&egress, Method::Get).await {
            Err(SendError::RetryAfter(_)) => tokio::task::yield_now().await,
            other => break other,
        }
    };
    assert!(matches!(answer, Err(SendError::Interrupted(_))), "{answer:?}");
    world.said.lock().echoes = false;
    assert_eq!(send(&egress, Method::Get).await.map(|it| it.status), Ok(200));
    let request = world.service.requests().remove(0);
    let sent = ["authorization", "x-ms-authorization-auxiliary"].map(|it| header(&request, it).unwrap());
    assert_eq!(sent, ["Bearer eyJ0.of-entra", "Bearer eyJ0.of-the-other-tenant"]);
    watching.abort_all();
    for (auxiliary, part) in [("nobody", "is no credential with `entra`"), ("azure", "is itself")] {
        let wrong = EntraSettings { auxiliary: Some(auxiliary.to_owned()), ..first.clone() };
        let error = Credentials::load(vec![of("azure", wrong)]).err().unwrap().to_string();
        assert!(error.contains(part), "{error}");
    }
    let both =
        vec![of("azure", first.clone()), of("network", EntraSettings { auxiliary: Some("azure".to_owned()), ..first })];
    assert!(Credentials::load(both).err().unwrap().to_string().contains("has an auxiliary one itself"));
}
