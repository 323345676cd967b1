//! Keys that are asked for, with roles for service accounts and with EKS Pod Identity: a session ends, and the next one signs.

use std::time::Duration;

use serde_json::{Value, json};
use tests::moto::REGION;
use tests::operator::{NODE_BACK_OFF, initialized, initialized_after};
use tests::tinyproxy::Tinyproxy;

use crate::services::{NETWORK, create, service};
use crate::setup::{Rig, worker};

/// The actions that the role's policy allows.
const ACTIONS: [&str; 2] = ["ec2:*", "elasticloadbalancing:*"];
const TOKEN: &str = "a-token-of-the-service-account";
/// A token that STS refuses.
const UNKNOWN: &str = "another-token-that-nobody-knows";

/// A role, and who may take it: whoever has [`TOKEN`].
fn role(rig: &Rig) -> Value {
    let arn = rig.order("role", &json!({ "name": "aerostat", "actions": ACTIONS }));
    rig.order("token", &json!({ "token": TOKEN, "role": arn }));
    arn
}

/// Keys from there.
fn keys(mut rig: Rig, source: &Value) -> Rig {
    rig.setup = rig.setup.edit(|config| {
        config["credentials"][0]["sigv4"] = source.clone();
        config["credentials"][0]["sigv4"]["region"] = json!(REGION);
    });
    rig
}

fn web_identity(rig: Rig, role: &Value, token: &str) -> Rig {
    let file = rig.setup.folder.write("identity", token);
    let sts = json!({ "baseUrl": rig.cloud.base_url(), "tls": { "caFile": rig.cloud.ca_file() }, "addresses": ["127.0.0.0/8"] });
    keys(rig, &json!({ "webIdentity": { "roleArn": role, "tokenFile": file }, "sts": sts }))
}

/// The host of STS, which a proxy alone knows here.
const STS: &str = "sts.us-east-1.amazonaws.com";

/// STS by its name, through a proxy that asks for a login. Answers where the proxy is asked to connect to, too.
fn through(rig: Rig, proxy: &Tinyproxy, password: &str) -> (Rig, String) {
    let place = format!("{STS}:{}", rig.cloud.base_url().rsplit(':').next().unwrap());
    let [user, password] = [("proxy-user", "aerostat"), ("proxy-password", password)]
        .map(|(name, text)| rig.setup.folder.write(name, text));
    let mut rig = rig;
    rig.setup = rig.setup.edit(|config| {
        let sts = &mut config["credentials"][0]["sigv4"]["sts"];
        sts["baseUrl"] = json!(format!("https://{place}"));
        sts["proxy"] = json!({ "url": proxy.url(), "login": { "userFile": user, "passwordFile": password } });
        sts.as_object_mut().unwrap().remove("addresses");
    });
    (rig, place)
}

/// A node joins; all sessions end; another one joins.
async fn outlives_its_session(rig: &Rig) {
    let process = rig.start().await;
    rig.join(1).await;
    initialized(&rig.cluster, &worker(1)).await;
    rig.order("endSessions", &json!({}));
    rig.join(2).await;
    initialized(&rig.cluster, &worker(2)).await;
    let expired = rig.cloud.requests().iter().filter(|it| it.status == Some(403)).count();
    assert!(expired > 0, "somebody was told that the session has ended");
    process.stop().await;
}

#[tokio::test]
async fn a_session_of_a_web_identity_is_renewed_when_it_ends() {
    let rig = Rig::new().await;
    let role = role(&rig);
    let rig = web_identity(rig, &role, TOKEN);
    outlives_its_session(&rig).await;
    let asked = rig.cloud.asked("sts", "AssumeRoleWithWebIdentity");
    assert_eq!(asked.len(), 2, "{asked:#?}");
}

#[tokio::test]
async fn a_token_that_sts_does_not_know_is_told() {
    let rig = Rig::new().await;
    let role = role(&rig);
    let rig = web_identity(rig, &role, UNKNOWN);
    let process = rig.start().await;
    rig.join(1).await;
    rig.said("InstanceMetadataDenied", &["credential aws", "InvalidIdentityToken", "trust policy"]).await;
    create(&rig, &service("web", &[80], &[NETWORK])).await;
    rig.said("SyncLoadBalancerFailed", &["credential aws", "InvalidIdentityToken"]).await;
    // Nobody has to touch the objects: another token is reason enough to try again.
    rig.setup.folder.write("identity", TOKEN);
    initialized(&rig.cluster, &worker(1)).await;
    rig.served("web").await;
    process.stop().await;
}

#[tokio::test]
async fn a_session_that_ends_and_is_not_given_again_is_told() {
    let rig = Rig::new().await;
    let role = role(&rig);
    let rig = web_identity(rig, &role, TOKEN);
    let process = rig.start().await;
    rig.join(1).await;
    initialized(&rig.cluster, &worker(1)).await;
    rig.setup.folder.write("identity", UNKNOWN);
    rig.order("endSessions", &json!({}));
    rig.join(2).await;
    rig.said("InstanceMetadataDenied", &[&worker(2), "credential"]).await;
    rig.setup.folder.write("identity", TOKEN);
    initialized(&rig.cluster, &worker(2)).await;
    process.stop().await;
}

#[tokio::test]
async fn bad_a_role_that_sts_refuses_is_told() {
    let rig = Rig::new().await;
    role(&rig);
    let nobodys = json!("arn:aws:iam::123456789012:role/nobodys");
    let rig = web_identity(rig, &nobodys, TOKEN);
    let process = rig.start().await;
    rig.join(1).await;
    let why = "role/nobodys (AccessDenied); correct the role's name";
    rig.said("InstanceMetadataDenied", &["credential aws", why]).await;
    process.stop().await;
}

#[tokio::test]
async fn a_session_of_a_pod_identity_is_renewed_when_it_ends() {
    let rig = Rig::new().await;
    role(&rig);
    let file = rig.setup.folder.write("identity", TOKEN);
    let url = format!("{}/v1/credentials", rig.cloud.moto().base_url());
    let rig = keys(rig, &json!({ "podIdentity": { "url": url, "tokenFile": file } }));
    outlives_its_session(&rig).await;
}

/// Cases: proxies
#[tokio::test]
async fn sts_is_asked_through_a_proxy_for_each_session() {
    let rig = Rig::new().await;
    let proxy = Tinyproxy::start(&[STS], "BasicAuth aerostat right-word").await;
    let role = role(&rig);
    let (rig, place) = through(web_identity(rig, &role, TOKEN), &proxy, "right-word");
    outlives_its_session(&rig).await;
    assert_eq!(rig.cloud.asked("sts", "AssumeRoleWithWebIdentity").len(), 2);
    let targets = proxy.targets();
    assert!(!targets.is_empty() && targets.iter().all(|it| *it == place), "{targets:?} and not {place}");
}

/// Files are read each ten seconds, and STS is asked again at the end of its own pause: a login that was written is used after so long.
const READ: Duration = Duration::from_secs(20);

/// Cases: proxies, unreachable
#[tokio::test]
async fn a_proxy_that_keeps_sts_away_is_told_until_it_lets_in() {
    let rig = Rig::new().await;
    let proxy = Tinyproxy::start(&[STS], "BasicAuth aerostat right-word").await;
    let role = role(&rig);
    let (rig, place) = through(web_identity(rig, &role, TOKEN), &proxy, "wrong-word");
    let process = rig.start().await;
    rig.join(1).await;
    let parts = ["endpoint sts of credential aws", &place, "the proxy refuses the login (40", "`proxy.login`"];
    rig.said_after(NODE_BACK_OFF, "EndpointUnreachable", &parts).await;
    rig.said("InstanceMetadataUnavailable", &parts).await;
    assert!(rig.cloud.asked("sts", "AssumeRoleWithWebIdentity").is_empty());
    rig.setup.folder.write("proxy-password", "right-word");
    initialized_after(READ, &rig.cluster, &worker(1)).await;
    process.stop().await;
}
