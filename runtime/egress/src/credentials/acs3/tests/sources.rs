//! Each place that keys can come from.

use std::time::SystemTime;

use super::super::super::credential::Credential as _;
use super::super::Acs3Keys;
use super::world::*;
use crate::key_service::KeyServiceUrl;
use crate::request::SendError;
use crate::testing::TestServer;

#[tokio::test]
async fn keys_of_files_sign_requests_from_the_start() {
    let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
    let credential = load(settings(folder.session("STS.1", SystemTime::now() + HOUR), None)).unwrap();
    let egress = egress(&cloud, &credential);
    let request = with_form(asking("CreateVServerGroup", &[("Id.10", "j"), ("Id.1", "a")], &[]), &[("a", "b c")]);
    send(&egress, request).await.unwrap();
    let [request] = &cloud.requests()[..] else { panic!("one request") };
    assert!(request.starts_with("POST /?RegionId=cn-hangzhou&Id.10=j&Id.1=a HTTP/1.1\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\na=b%20c") && !request.contains("secret-of"), "{request}");
    for (name, value) in [
        ("x-acs-action", "CreateVServerGroup"),
        ("x-acs-version", "2014-05-15"),
        ("x-acs-security-token", "session-of-STS.1"),
    ] {
        assert_eq!(header(request, name), Some(value), "{request}");
    }
    let signed = "ACS3-HMAC-SHA256 Credential=STS.1,SignedHeaders=content-type;host;x-acs-action;x-acs-content-sha256;x-acs-date;\
                  x-acs-security-token;x-acs-signature-nonce;x-acs-version,Signature=";
    let authorization = header(request, "authorization").unwrap();
    assert!(authorization.strip_prefix(signed).is_some_and(|it| it.len() == 64), "{authorization}");
}

#[tokio::test]
async fn each_request_has_another_nonce() {
    let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
    let credential = load(settings(folder.key("LTAI1"), None)).unwrap();
    let egress = egress(&cloud, &credential);
    for _ in 0..2 {
        assert_eq!(status(&egress, "DescribeLoadBalancers").await, Ok(200));
    }
    let requests = cloud.requests();
    let nonces: Vec<_> = requests.iter().map(|it| header(it, "x-acs-signature-nonce").unwrap()).collect();
    assert_ne!(nonces[0], nonces[1]);
    assert!(header(&requests[0], "x-acs-security-token").is_none());
}

#[tokio::test]
async fn keys_of_files_are_read_again() {
    let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
    let credential = load(settings(folder.key("LTAI1"), None)).unwrap();
    let egress = egress(&cloud, &credential);
    let before = credential.account_version();
    assert_eq!(status(&egress, "DescribeLoadBalancers").await, Ok(200));
    folder.key("LTAI2");
    credential.keep().await;
    assert_eq!(status(&egress, "DescribeLoadBalancers").await, Ok(200));
    assert_eq!(signers(&cloud), ["LTAI1", "LTAI2"]);
    assert_eq!(credential.account_version(), before + 1, "nobody knows whose the new key is");
}

#[tokio::test]
async fn a_token_of_a_service_account_becomes_a_session() {
    let (folder, cloud, sts) = (Folder::new(), TestServer::start("200 OK").await, sts().await);
    let credential = load(settings(folder.oidc("header.payload.signature\n"), Some(&sts))).unwrap();
    let egress = egress(&cloud, &credential);
    match status(&egress, "DescribeLoadBalancers").await {
        Err(SendError::RetryAfter(after)) => assert_eq!(after.as_secs(), 1),
        other => panic!("{other:?}"),
    }
    assert!(cloud.requests().is_empty() && sts.requests().is_empty(), "a guest brings no question to STS about");
    futures::future::join_all((0..10).map(|_| credential.keep())).await;
    assert_eq!(status(&egress, "DescribeLoadBalancers").await, Ok(200));
    let [asked] = &sts.requests()[..] else { panic!("one question for all") };
    let body = asked.split_once("\r\n\r\n").unwrap().1;
    let expected = "Action=AssumeRoleWithOIDC&Version=2015%2D04%2D01&Format=JSON&RoleArn=acs%3Aram%3A%3A1234567890123456%3Arole%2Fccm&\
                    OIDCProviderArn=acs%3Aram%3A%3A1234567890123456%3Aoidc%2Dprovider%2Fack&RoleSessionName=aerostat&\
                    DurationSeconds=3600&OIDCToken=header%2Epayload%2Esignature";
    assert_eq!(body, expected);
    assert!(header(asked, "authorization").is_none() && !asked.contains("x-acs-"), "{asked}");
    let request = &cloud.requests()[0];
    assert_eq!(
        (signers(&cloud), header(request, "x-acs-security-token")),
        (vec!["STS.1".into()], Some("session-of-STS.1"))
    );
}

#[tokio::test]
async fn metadata_of_a_machine_is_asked_in_version_2() {
    let cloud = TestServer::start("200 OK").await;
    let ends = SystemTime::now() + HOUR;
    let metadata = TestServer::script(move |request| {
        let text = |it: &str| ("200 OK", String::new(), it.to_owned());
        if request.starts_with("PUT /latest/api/token ")
            && header(request, "x-aliyun-ecs-metadata-token-ttl-seconds") == Some("300")
        {
            return text("metadata-token==");
        }
        if header(request, "x-aliyun-ecs-metadata-token") != Some("metadata-token==") {
            return ("401 Unauthorized", String::new(), String::new());
        }
        match request.split(' ').nth(1).unwrap() {
            "/latest/meta-data/ram/security-credentials/" => text("node-role\n"),
            "/latest/meta-data/ram/security-credentials/node-role" => keys_of_machine("STS.NODE", ends),
            _ => ("404 Not Found", String::new(), String::new()),
        }
    })
    .await;
    let url = KeyServiceUrl::parse(&metadata.url).unwrap();
    let credential = load(settings(Acs3Keys::InstanceMetadata { url }, None)).unwrap();
    let egress = egress(&cloud, &credential);
    credential.keep().await;
    assert_eq!(status(&egress, "DescribeLoadBalancers").await, Ok(200));
    assert_eq!((metadata.requests().len(), signers(&cloud)), (3, vec!["STS.NODE".to_owned()]));
}

#[tokio::test]
async fn a_role_is_taken_with_the_keys_of_files() {
    let (folder, cloud, sts) = (Folder::new(), TestServer::start("200 OK").await, sts().await);
    let credential = load(with_role(settings(folder.key("LTAI1"), Some(&sts)))).unwrap();
    let egress = egress(&cloud, &credential);
    credential.keep().await;
    assert_eq!(status(&egress, "CreateLoadBalancer").await, Ok(200));
    assert_eq!((signers(&sts), signers(&cloud)), (vec!["LTAI1".to_owned()], vec!["STS.1".to_owned()]));
    let asked = &sts.requests()[0];
    assert_eq!(header(asked, "x-acs-action"), Some("AssumeRole"));
    assert_eq!(header(asked, "x-acs-version"), Some("2015-04-01"));
    assert!(asked.ends_with("&DurationSeconds=3600&ExternalId=ex%3A1%2B2"), "{asked}");
}
