//! Services that give keys repeat all that they were sent, wherever they can; and so does the cloud.

use http::header::AUTHORIZATION;

use super::super::super::credential::Credential as _;
use super::super::super::kind::KeySource;
use super::super::Sigv4Credential;
use super::world::*;
use crate::key_service::KeyServiceUrl;
use crate::request::SendError;
use crate::testing::{Scripted, TestServer};

/// A token of a pod, as short and plain as one could be.
const TOKEN: &str = "t0ken0of0the0pod0canary0e5f7a9b1c3d";

/// An error as STS writes it, with this text in every place.
fn everywhere(text: &str) -> Vec<Scripted> {
    let xml = |code: &str, message: &str| {
        format!("<ErrorResponse><Error><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>")
    };
    let body = |body: String| ("400 Bad Request", String::new(), body);
    vec![
        body(xml("InvalidIdentityToken", &format!("the token {text} is none"))),
        body(xml(text, "no")),
        body(xml(&format!("Invalid.{text}"), text)),
        body(format!("{{\"__type\":\"{text}\",\"message\":\"{text}\"}}")),
        body(format!("{{\"Code\":\"{text}\",\"code\":\"{text}\"}}")),
        ("403 Forbidden", format!("x-amzn-errortype: {text}:http://x/\r\nx-amzn-requestid: {text}\r\n"), String::new()),
        ("500 Internal Server Error", String::new(), text.to_owned()),
        ("200 OK", String::new(), text.to_owned()),
        ("200 OK", String::new(), format!("{{\"Code\":\"{text}\",\"Message\":\"{text}\"}}")),
        keys(&format!("ASIA/{text}"), std::time::SystemTime::now() + HOUR, ""),
        ("302 Found", format!("location: http://127.0.0.1/{text}\r\n"), String::new()),
    ]
}

/// The reason that a guest is told why there are no keys.
async fn told(egress: &crate::egress::Egress) -> String {
    match send(egress, "DescribeInstances").await {
        Err(SendError::Denied(text) | SendError::Unreachable(text)) => text,
        other => panic!("{other:?}"),
    }
}

fn assert_hidden(credential: &Sigv4Credential, text: &str, secret: &str, answer: &Scripted) {
    let encoded = percent_encoding::utf8_percent_encode(secret, percent_encoding::NON_ALPHANUMERIC).to_string();
    assert!(!text.contains(secret) && !text.contains(&encoded), "{answer:?}: {text}");
    let secrets = super::super::super::secrets::Secrets::new(credential.secrets());
    assert!(secrets.are_in(secret.as_bytes()), "it is a secret for answers and logs");
}

#[tokio::test]
async fn adv_160_sts_that_repeats_the_token_is_quoted_nowhere() {
    for answer in everywhere(TOKEN) {
        let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
        let scripted = answer.clone();
        let sts = TestServer::script(move |_| scripted.clone()).await;
        let credential = load(settings(folder.web_identity(TOKEN), Some(&sts))).unwrap();
        let egress = egress(&cloud, &credential);
        credential.keep().await;
        assert!(sts.requests()[0].contains(TOKEN), "STS could repeat it");
        assert_hidden(&credential, &told(&egress).await, TOKEN, &answer);
    }
}

#[tokio::test]
async fn adv_160_sts_that_repeats_keys_is_quoted_nowhere() {
    for answer in everywhere("secret-of-AKIA1") {
        let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
        let scripted = answer.clone();
        let sts = TestServer::script(move |_| scripted.clone()).await;
        let credential = load(with_role(settings(folder.shared("AKIA1", ""), Some(&sts)))).unwrap();
        let egress = egress(&cloud, &credential);
        credential.keep().await;
        assert_hidden(&credential, &told(&egress).await, "secret-of-AKIA1", &answer);
    }
}

#[tokio::test]
async fn adv_160_an_agent_that_repeats_the_token_is_quoted_nowhere() {
    for answer in everywhere(TOKEN) {
        let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
        let scripted = answer.clone();
        let agent = TestServer::script(move |_| scripted.clone()).await;
        let credential = load(settings(folder.pod_identity(TOKEN, &agent), None)).unwrap();
        let egress = egress(&cloud, &credential);
        credential.keep().await;
        assert!(agent.requests()[0].contains(&format!("{AUTHORIZATION}: {TOKEN}")), "the agent could repeat it");
        assert_hidden(&credential, &told(&egress).await, TOKEN, &answer);
    }
}

#[tokio::test]
async fn adv_160_metadata_that_repeats_its_token_is_quoted_nowhere() {
    for (answer, at_role) in everywhere(TOKEN).into_iter().flat_map(|it| [(it.clone(), true), (it, false)]) {
        let cloud = TestServer::start("200 OK").await;
        let scripted = answer.clone();
        let metadata = TestServer::script(move |request| match request {
            it if it.starts_with("PUT ") => ("200 OK", String::new(), TOKEN.to_owned()),
            it if it.starts_with("GET /latest/meta-data/iam/security-credentials/ ") && !at_role => {
                ("200 OK", String::new(), "role".to_owned())
            }
            _ => scripted.clone(),
        })
        .await;
        let url = KeyServiceUrl::parse(&metadata.url).unwrap();
        let credential = load(settings(KeySource::InstanceMetadata { url }, None)).unwrap();
        let egress = egress(&cloud, &credential);
        credential.keep().await;
        assert_hidden(&credential, &told(&egress).await, TOKEN, &answer);
    }
}

#[tokio::test]
async fn adv_160_a_cloud_that_knows_a_pods_token_is_withheld() {
    let (folder, sts) = (Folder::new(), sts().await);
    let cloud = TestServer::script(|_| ("200 OK", String::new(), format!("<a>{TOKEN}</a>"))).await;
    let credential = load(settings(folder.web_identity(TOKEN), Some(&sts))).unwrap();
    let egress = egress(&cloud, &credential);
    credential.keep().await;
    match send(&egress, "DescribeInstances").await {
        Err(SendError::Interrupted(text)) => assert!(text.contains("is withheld") && !text.contains(TOKEN), "{text}"),
        other => panic!("{other:?}"),
    }
    assert!(egress.holds_secret(&format!("a log line with {TOKEN}")));
}
