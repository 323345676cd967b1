//! Each place that keys can come from.

use std::time::SystemTime;

use super::super::super::kind::KeySource;
use super::world::*;
use crate::key_service::KeyServiceUrl;
use crate::request::SendError;
use crate::testing::TestServer;

use super::super::super::credential::Credential as _;

#[tokio::test]
async fn keys_of_a_file_sign_requests_from_the_start() {
    let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
    let credential = load(settings(folder.shared("AKIA1", "aws_session_token = s3ssion+/="), None)).unwrap();
    let egress = egress(&cloud, &credential);
    assert_eq!(status(&egress, "DescribeInstances").await, Ok(200));
    let [request] = &cloud.requests()[..] else { panic!("one request") };
    assert!(request.contains("authorization: AWS4-HMAC-SHA256 Credential=AKIA1/"), "{request}");
    assert!(
        request
            .contains("/eu-west-1/ec2/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, ")
    );
    assert!(request.contains("x-amz-security-token: s3ssion+/=\r\n") && !request.contains("secret-of"), "{request}");
    assert!(request.ends_with("\r\n\r\nAction=DescribeInstances&Version=2016-11-15"), "{request}");
}

#[tokio::test]
async fn keys_of_a_file_are_read_again() {
    let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
    let credential = load(settings(folder.shared("AKIA1", ""), None)).unwrap();
    let egress = egress(&cloud, &credential);
    let before = *egress.versions().borrow();
    assert_eq!(status(&egress, "DescribeInstances").await, Ok(200));
    folder.shared("AKIA2", "");
    credential.keep().await;
    assert_eq!(status(&egress, "DescribeInstances").await, Ok(200));
    assert_eq!(signers(&cloud), ["AKIA1", "AKIA2"]);
    assert_eq!(credential.account_version(), before + 2, "nobody knows whose the new key is");
}

#[tokio::test]
async fn a_web_identity_becomes_a_session() {
    let (folder, cloud, sts) = (Folder::new(), TestServer::start("200 OK").await, sts().await);
    let credential = load(settings(folder.web_identity("header.payload.signature\n"), Some(&sts))).unwrap();
    let egress = egress(&cloud, &credential);
    match status(&egress, "DescribeInstances").await {
        Err(SendError::RetryAfter(after)) => assert_eq!(after.as_secs(), 1),
        other => panic!("{other:?}"),
    }
    assert!(cloud.requests().is_empty() && sts.requests().is_empty(), "a guest brings no question to STS about");
    credential.keep().await;
    assert_eq!(status(&egress, "DescribeInstances").await, Ok(200));
    let [asked] = &sts.requests()[..] else { panic!("one question") };
    let body = asked.split_once("\r\n\r\n").unwrap().1;
    let expected = "Action=AssumeRoleWithWebIdentity&Version=2011%2D06%2D15&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2F\
                    ccm&RoleSessionName=aerostat&DurationSeconds=3600&WebIdentityToken=header%2Epayload%2Esignature";
    assert_eq!(body, expected);
    assert!(asked.starts_with("POST / HTTP/1.1\r\n") && !asked.contains("authorization"), "{asked}");
    let request = &cloud.requests()[0];
    assert!(request.contains("Credential=ASIA1/") && request.contains("x-amz-security-token: session-of-ASIA1\r\n"));
}

#[tokio::test]
async fn pod_identity_gives_keys_for_the_pods_token() {
    let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
    let ends = SystemTime::now() + HOUR;
    let agent = TestServer::script(move |request| match request.contains("\r\nauthorization: pod-token\r\n") {
        true => keys("ASIAPOD", ends, ", \"AccountId\": \"123456789012\""),
        false => ("401 Unauthorized", String::new(), String::new()),
    })
    .await;
    let credential = load(settings(folder.pod_identity("pod-token", &agent), None)).unwrap();
    let egress = egress(&cloud, &credential);
    credential.keep().await;
    assert_eq!(status(&egress, "DescribeInstances").await, Ok(200));
    assert!(agent.requests()[0].starts_with("GET /v1/credentials HTTP/1.1\r\n"), "{:?}", agent.requests());
    assert_eq!(signers(&cloud), ["ASIAPOD"]);
}

#[tokio::test]
async fn instance_metadata_is_asked_in_version_2() {
    let cloud = TestServer::start("200 OK").await;
    let ends = SystemTime::now() + HOUR;
    let metadata = TestServer::script(move |request| {
        let text = |it: &str| ("200 OK", String::new(), it.to_owned());
        if request.starts_with("PUT /latest/api/token ")
            && request.contains("x-aws-ec2-metadata-token-ttl-seconds: 300\r\n")
        {
            return text("metadata-token==");
        }
        if !request.contains("\r\nx-aws-ec2-metadata-token: metadata-token==\r\n") {
            return ("401 Unauthorized", String::new(), String::new());
        }
        match request.split(' ').nth(1).unwrap() {
            "/latest/meta-data/iam/security-credentials/" => text("node-role\n"),
            "/latest/meta-data/iam/security-credentials/node-role" => keys("ASIANODE", ends, ""),
            _ => ("404 Not Found", String::new(), String::new()),
        }
    })
    .await;
    let url = KeyServiceUrl::parse(&metadata.url).unwrap();
    let credential = load(settings(KeySource::InstanceMetadata { url }, None)).unwrap();
    let egress = egress(&cloud, &credential);
    credential.keep().await;
    assert_eq!(status(&egress, "DescribeInstances").await, Ok(200));
    assert_eq!((metadata.requests().len(), signers(&cloud)), (3, vec!["ASIANODE".to_owned()]));
}

#[tokio::test]
async fn a_role_is_taken_with_the_keys_of_a_file() {
    let (folder, cloud, sts) = (Folder::new(), TestServer::start("200 OK").await, sts().await);
    let credential = load(with_role(settings(folder.shared("AKIA1", ""), Some(&sts)))).unwrap();
    let egress = egress(&cloud, &credential);
    credential.keep().await;
    assert_eq!(status(&egress, "CreateTags").await, Ok(200));
    assert_eq!((signers(&sts), signers(&cloud)), (vec!["AKIA1".to_owned()], vec!["ASIA1".to_owned()]));
    let asked = &sts.requests()[0];
    assert!(asked.contains("/eu-west-1/sts/aws4_request, "), "{asked}");
    let signed = "SignedHeaders=content-type;host;x-amz-date;x-amz-source-account;x-amz-source-arn, ";
    assert!(asked.contains(signed) && asked.contains("x-amz-source-account: 012345678901\r\n"), "{asked}");
    assert!(asked.contains("Action=AssumeRole&") && asked.ends_with("&ExternalId=ex%3A1%2B2"), "{asked}");
}

#[tokio::test]
async fn one_question_serves_all_who_want_keys() {
    let (folder, sts) = (Folder::new(), sts().await);
    let cloud = TestServer::start("200 OK").await;
    let credential = load(settings(folder.web_identity("token"), Some(&sts))).unwrap();
    let _egress = egress(&cloud, &credential);
    futures::future::join_all((0..10).map(|_| credential.keep())).await;
    assert_eq!(sts.requests().len(), 1);
}
