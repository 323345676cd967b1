//! Services that give keys repeat all that they were sent, wherever they can; and so does the cloud.

use super::super::super::credential::Credential as _;
use super::super::super::secrets::Secrets;
use super::super::{Acs3Credential, Acs3Keys};
use super::world::*;
use crate::key_service::KeyServiceUrl;
use crate::request::SendError;
use crate::testing::{Scripted, TestServer};

/// A token of a pod, as short and plain as one could be.
const TOKEN: &str = "t0ken0of0the0pod0canary0e5f7a9b1c3d";

/// Answers as these services write them, with this text in every place.
fn everywhere(text: &str) -> Vec<Scripted> {
    let error = |code: &str| serde_json::json!({ "Code": code, "Message": text, "RequestId": text }).to_string();
    vec![
        ("400 Bad Request", String::new(), error("AuthenticationFail.OIDCToken.Invalid")),
        ("400 Bad Request", String::new(), error(text)),
        ("400 Bad Request", String::new(), error(&format!("Invalid.{text}"))),
        ("403 Forbidden", format!("x-acs-request-id: {text}\r\n"), String::new()),
        ("500 Internal Server Error", String::new(), text.to_owned()),
        ("200 OK", String::new(), text.to_owned()),
        ("200 OK", String::new(), error(text)),
        keys_of_machine(&format!("STS/{text}"), std::time::SystemTime::now() + HOUR),
        ("302 Found", format!("location: http://127.0.0.1/{text}\r\n"), String::new()),
    ]
}

fn assert_hidden(credential: &Acs3Credential, text: &str, secret: &str, answer: &Scripted) {
    assert!(!text.contains(secret), "{answer:?}: {text}");
    assert!(Secrets::new(credential.secrets()).are_in(secret.as_bytes()), "it is a secret for answers and logs");
}

#[tokio::test]
async fn adv_160_sts_that_repeats_a_token_or_keys_is_quoted_nowhere() {
    for (secret, answer) in
        [TOKEN, "secret-of-LTAI1"].iter().flat_map(|it| everywhere(it).into_iter().map(move |answer| (*it, answer)))
    {
        let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
        let scripted = answer.clone();
        let sts = TestServer::script(move |_| scripted.clone()).await;
        let settings = match secret {
            TOKEN => settings(folder.oidc(TOKEN), Some(&sts)),
            _ => with_role(settings(folder.key("LTAI1"), Some(&sts))),
        };
        let credential = load(settings).unwrap();
        let egress = egress(&cloud, &credential);
        credential.keep().await;
        assert_hidden(&credential, &told(&egress).await, secret, &answer);
    }
}

#[tokio::test]
async fn adv_160_metadata_that_repeats_its_token_is_quoted_nowhere() {
    for answer in everywhere(TOKEN) {
        let cloud = TestServer::start("200 OK").await;
        let scripted = answer.clone();
        let metadata = TestServer::script(move |request| match request {
            it if it.starts_with("PUT ") => ("200 OK", String::new(), TOKEN.to_owned()),
            it if it.starts_with("GET /latest/meta-data/ram/security-credentials/ ") => {
                ("200 OK", String::new(), "role".to_owned())
            }
            _ => scripted.clone(),
        })
        .await;
        let url = KeyServiceUrl::parse(&metadata.url).unwrap();
        let credential = load(settings(Acs3Keys::InstanceMetadata { url }, None)).unwrap();
        let egress = egress(&cloud, &credential);
        credential.keep().await;
        assert_hidden(&credential, &told(&egress).await, TOKEN, &answer);
    }
}

#[tokio::test]
async fn adv_160_a_cloud_that_repeats_the_signature_is_withheld() {
    let folder = Folder::new();
    let cloud = TestServer::script(|request| {
        let signature = request.split_once("Signature=").unwrap().1.lines().next().unwrap();
        ("200 OK", String::new(), format!("{{\"Message\": \"{signature}\"}}"))
    })
    .await;
    let credential = load(settings(folder.key("LTAI1"), None)).unwrap();
    let egress = egress(&cloud, &credential);
    match send(&egress, asking("DescribeLoadBalancers", &[], &[])).await {
        Err(SendError::Interrupted(text)) => assert!(text.contains("is withheld"), "{text}"),
        other => panic!("{other:?}"),
    }
}
