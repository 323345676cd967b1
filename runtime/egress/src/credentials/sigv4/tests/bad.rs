//! Mistakes of operators, one a row: each error names the mistake, and the remedy.

use std::time::SystemTime;

use super::super::super::credential::Credential as _;
use super::super::super::kind::{KeySource, RoleArn};
use super::world::*;
use crate::egress::Egress;
use crate::endpoint::{Endpoint, RegionName, Signing};
use crate::key_service::KeyServiceUrl;
use crate::testing::{Scripted, TestServer};

/// The error for an operator who starts with these keys.
fn start(keys: KeySource) -> String {
    let error = load(settings(keys, None)).err().expect("it is refused");
    let cause = std::error::Error::source(&error).map(|it| format!(": {it}")).unwrap_or_default();
    format!("{error}{cause}")
}

/// The error for a guest if STS answers like this.
async fn with_sts(answer: fn() -> Scripted, shown: impl AsyncFn(&Egress) -> String) -> String {
    let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
    let sts = TestServer::script(move |_| answer()).await;
    let credential = load(settings(folder.web_identity("t0ken-of-the-pod"), Some(&sts))).unwrap();
    let egress = egress(&cloud, &credential);
    credential.keep().await;
    let text = shown(&egress).await;
    assert!(cloud.requests().is_empty() && !text.contains("t0ken"), "{text}");
    text
}

fn sts_error(status: &'static str, code: &str) -> Scripted {
    let body = format!(
        "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type><Code>{code}</Code>\
         <Message>Not authorized to perform\nsts:AssumeRoleWithWebIdentity</Message></Error></ErrorResponse>"
    );
    (status, String::new(), body)
}

#[test]
fn bad_a_malformed_file_ends_the_start() {
    let folder = Folder::new();
    let file = folder.write("credentials", "[default]\naws_access_key_id: AKIA1\n");
    let text = start(KeySource::SharedFile { file: file.clone(), profile: "default".to_owned() });
    let expected = format!(
        "credential aws: {} has a line 2 that is neither a profile in brackets nor name = value; correct it",
        file.display()
    );
    assert_eq!(text, expected);
    let text =
        start(KeySource::SharedFile { file: folder.write("large", &"#".repeat(20_000)), profile: "a".to_owned() });
    assert!(text.contains("larger than 16 KiB"), "{text}");
}

#[tokio::test]
async fn bad_a_file_that_becomes_malformed_changes_nothing() {
    let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
    let credential = load(settings(folder.shared("AKIA1", ""), None)).unwrap();
    let egress = egress(&cloud, &credential);
    folder.write("credentials", "[default]\n");
    credential.keep().await;
    assert_eq!(status(&egress, "CreateTags").await, Ok(200));
    assert_eq!(signers(&cloud), ["AKIA1"]);
}

#[tokio::test]
async fn bad_an_expired_static_session_is_looked_up_once() {
    let folder = Folder::new();
    let cloud = TestServer::script(|_| refused("ExpiredToken", "")).await;
    let credential = load(settings(folder.shared("ASIA1", "aws_session_token = old-session"), None)).unwrap();
    let egress = egress(&cloud, &credential);
    let answer = send(&egress, "CreateTags").await.unwrap();
    assert!(String::from_utf8(answer.body).unwrap().contains("ExpiredToken"), "the guest sees the cloud's reason");
    assert_eq!(cloud.requests().len(), 1, "the file has no other session, and nothing is sent again");
    folder.shared("ASIA2", "aws_session_token = new-session");
    assert_eq!(status(&egress, "DescribeTags").await, Ok(400));
    assert_eq!(signers(&cloud), ["ASIA1", "ASIA1", "ASIA2"]);
}

#[tokio::test]
async fn bad_a_missing_token_ends_the_start_or_is_said_later() {
    let folder = Folder::new();
    let token_file = folder.write("token", "").with_file_name("nowhere");
    let role_arn = RoleArn::parse(ROLE).unwrap();
    let text = start(KeySource::WebIdentity { role_arn, token_file });
    assert!(
        text.contains("cannot read") && text.contains("nowhere") && text.contains("webIdentity.tokenFile"),
        "{text}"
    );
    assert!(text.contains("No such file"), "{text}");
    let text = start(folder.web_identity(""));
    assert!(text.contains("holds no token"), "{text}");

    let (cloud, sts) = (TestServer::start("200 OK").await, sts().await);
    let keys = folder.web_identity("token");
    let KeySource::WebIdentity { token_file, .. } = &keys else { unreachable!("it was made here") };
    let token_file = token_file.clone();
    let credential = load(settings(keys, Some(&sts))).unwrap();
    let egress = egress(&cloud, &credential);
    std::fs::remove_file(token_file).unwrap();
    credential.keep().await;
    let text = unreachable(&egress).await;
    assert!(text.starts_with("credential aws: cannot read ") && text.contains("No such file"), "{text}");
    assert!(sts.requests().is_empty());
}

#[tokio::test]
async fn bad_a_role_that_may_not_be_assumed_is_named() {
    let text = with_sts(|| sts_error("403 Forbidden", "AccessDenied"), denied).await;
    assert!(
        text.starts_with("credential aws: STS does not give a session of the role arn:aws:iam::123456789012:role/ccm")
    );
    assert!(text.contains("(AccessDenied)") && text.contains("trust policy"), "{text}");
    assert!(!text.contains("Not authorized"), "{text}");
}

#[tokio::test]
async fn bad_an_answer_of_sts_that_is_none_is_said() {
    let text = with_sts(|| ("200 OK", String::new(), "<html>welcome</html>".to_owned()), unreachable).await;
    assert!(text.contains("is not what its API describes"), "{text}");
    let text = with_sts(|| session("ASIA1", "ccm", SystemTime::now() - HOUR), unreachable).await;
    assert!(text.contains("have ended already"), "{text}");
    let text = with_sts(|| ("200 OK", String::new(), "a".repeat(100_000)), unreachable).await;
    assert!(text.contains("more than 65536 bytes"), "{text}");
    let text =
        with_sts(|| ("302 Found", "location: http://169.254.169.254/\r\n".to_owned(), String::new()), unreachable)
            .await;
    assert!(text.contains("status 302"), "{text}");
    let text = with_sts(|| sts_error("400 Bad Request", "IDPCommunicationError"), unreachable).await;
    assert!(text.contains("IDPCommunicationError"), "{text}");
}

#[tokio::test]
async fn bad_a_wrong_region_is_said_before_anything_is_sent() {
    let folder = Folder::new();
    let credential = load(settings(folder.shared("AKIA1", ""), None)).unwrap();
    let check =
        |endpoint: Endpoint| try_egress(endpoint, &credential).err().map(|it| it.to_string()).unwrap_or_default();
    let signing =
        |region: &str| Some(Signing::Sigv4 { region: RegionName::parse(region).unwrap(), service: "ec2".to_owned() });
    assert_eq!(check(ec2("https://ec2.eu-west-1.amazonaws.com")), "");
    assert_eq!(
        check(Endpoint { signing: signing("us-east-1"), ..ec2("https://ec2.us-east-1.amazonaws.com") }),
        "endpoint ec2: `signing` names the region us-east-1, and the credential aws signs for eu-west-1 alone; correct one of them"
    );
    assert_eq!(
        check(ec2("https://ec2.us-east-1.amazonaws.com")),
        "endpoint ec2: its base URL is https://ec2.us-east-1.amazonaws.com, whose name does not hold the region eu-west-1 of \
         `signing`; correct one of them"
    );
    assert!(check(ec2("https://ec2.us-east-1.api.aws")).contains("does not hold the region eu-west-1"));
    assert_eq!(
        check(Endpoint { signing: None, ..ec2("https://ec2.eu-west-1.amazonaws.com") }),
        "endpoint ec2: the credential aws signs, and needs to know for what; write signing: { region: eu-west-1, service: … }"
    );
    let nobody = Endpoint { credential: None, ..ec2("https://ec2.eu-west-1.amazonaws.com") };
    assert!(check(nobody).contains("there is no `credential` that signs"));
    let text = with_sts(|| sts_error("403 Forbidden", "RegionDisabledException"), denied).await;
    assert!(text.contains("RegionDisabledException"), "{text}");
}

#[tokio::test]
async fn bad_a_pod_without_an_association_is_said() {
    let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
    let agent = TestServer::start("404 Not Found").await;
    let credential = load(settings(folder.pod_identity("token", &agent), None)).unwrap();
    let egress = egress(&cloud, &credential);
    credential.keep().await;
    let text = denied(&egress).await;
    assert!(text.contains("the agent of Pod Identity answers 404") && text.contains("association"), "{text}");
}

#[tokio::test]
async fn bad_a_machine_without_a_role_is_said() {
    let cloud = TestServer::start("200 OK").await;
    let metadata = TestServer::script(|request| match request.starts_with("PUT ") {
        true => ("200 OK", String::new(), "token".to_owned()),
        false => ("404 Not Found", String::new(), String::new()),
    })
    .await;
    let url = KeyServiceUrl::parse(&metadata.url).unwrap();
    let credential = load(settings(KeySource::InstanceMetadata { url }, None)).unwrap();
    let egress = egress(&cloud, &credential);
    credential.keep().await;
    let text = denied(&egress).await;
    assert!(text.contains("the machine has no role: attach an instance profile"), "{text}");
}

#[tokio::test]
async fn bad_an_origin_that_is_not_listed_gets_no_signature() {
    let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
    let keys = folder.shared("AKIA1", "");
    folder.write("credentials.origins", "https://ec2.eu-west-1.amazonaws.com\n");
    let credential = load(settings(keys, None)).unwrap();
    let error = try_egress(ec2(&cloud.url), &credential).err().expect("it is not listed").to_string();
    assert!(error.contains("credentials.origins does not list it"), "{error}");
    folder.write("credentials.origins", &format!("{}\n", cloud.url));
    credential.keep().await;
    let egress = egress(&cloud, &credential);
    folder.write("credentials.origins", "");
    credential.keep().await;
    assert!(unreachable(&egress).await.contains("may no longer sign for"), "it was taken off the list");
    assert!(cloud.requests().is_empty());
}
