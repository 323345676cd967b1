//! Mistakes of operators, one a row: each error names the mistake, and the remedy.

use std::time::SystemTime;

use super::super::super::credential::Credential as _;
use super::super::{Acs3Keys, RamArn};
use super::world::*;
use crate::endpoint::{AcsVersion, Endpoint, RegionName, Signing};
use crate::key_service::KeyServiceUrl;
use crate::operation::OperationPlace;
use crate::testing::{Scripted, TestServer};

/// The error for an operator who starts with these keys.
fn start(keys: Acs3Keys) -> String {
    let error = load(settings(keys, None)).err().expect("it is refused");
    let cause = std::error::Error::source(&error).map(|it| format!(": {it}")).unwrap_or_default();
    format!("{error}{cause}")
}

/// The error for a guest if STS answers like this.
async fn with_sts(answer: fn() -> Scripted) -> String {
    let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
    let sts = TestServer::script(move |_| answer()).await;
    let credential = load(settings(folder.oidc("t0ken-of-the-pod"), Some(&sts))).unwrap();
    let egress = egress(&cloud, &credential);
    credential.keep().await;
    let text = told(&egress).await;
    assert!(cloud.requests().is_empty() && !text.contains("t0ken"), "{text}");
    text
}

#[test]
fn bad_malformed_files_of_keys_end_the_start() {
    let folder = Folder::new();
    for (name, text, part) in [
        ("id", "", "is empty, or holds"),
        ("id", "LTAI 1", "is empty, or holds what is not visible ASCII; write the value alone, in one line"),
        ("id", "LTAI1\nLTAI2", "in one line"),
        ("id", "LTAI/1", "an access key id that is none"),
        ("secret", "", "is empty, or holds"),
        ("secret", &"s".repeat(20_000), "larger than 16 KiB"),
        ("token", "", "is empty, or holds"),
        ("end", "tomorrow", "holds no time; write the end of the session, as in 2026-11-23T07:00:00Z"),
    ] {
        let keys = folder.session("LTAI1", SystemTime::now() + HOUR);
        folder.write(name, text);
        let error = start(keys);
        assert!(error.contains(part) && !error.contains("secret-of"), "{name}: {error}");
    }
    let keys = folder.session("LTAI1", SystemTime::now() + HOUR);
    std::fs::remove_file(folder.path("end")).unwrap();
    let error = start(keys);
    assert!(error.contains("cannot read") && error.contains("acs3.accessKey.expirationFile"), "{error}");
}

#[tokio::test]
async fn bad_files_that_become_malformed_change_nothing() {
    let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
    let credential = load(settings(folder.key("LTAI1"), None)).unwrap();
    let egress = egress(&cloud, &credential);
    folder.write("secret", "");
    credential.keep().await;
    assert_eq!(status(&egress, "CreateLoadBalancer").await, Ok(200));
    assert_eq!(signers(&cloud), ["LTAI1"]);
}

#[tokio::test]
async fn bad_a_session_that_has_ended_signs_nothing() {
    let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
    let credential = load(settings(folder.session("STS.1", SystemTime::now() - HOUR), None)).unwrap();
    let egress = egress(&cloud, &credential);
    credential.keep().await;
    let text = told(&egress).await;
    assert!(text.contains("its keys have ended") && text.contains("put a new one there"), "{text}");
    assert!(cloud.requests().is_empty());
    folder.session("STS.2", SystemTime::now() + HOUR);
    credential.keep().await;
    assert_eq!(status(&egress, "DescribeLoadBalancers").await, Ok(200));
    assert_eq!(signers(&cloud), ["STS.2"]);
}

#[tokio::test]
async fn bad_a_missing_token_ends_the_start_or_is_said_later() {
    let folder = Folder::new();
    let (role_arn, provider_arn) = (RamArn::parse_role(ROLE).unwrap(), RamArn::parse_provider(PROVIDER).unwrap());
    let text = start(Acs3Keys::Oidc { role_arn, provider_arn, token_file: folder.path("nowhere") });
    assert!(text.contains("cannot read") && text.contains("nowhere") && text.contains("acs3.oidc.tokenFile"), "{text}");
    assert!(start(folder.oidc("")).contains("holds no token"));

    let (cloud, sts) = (TestServer::start("200 OK").await, sts().await);
    let credential = load(settings(folder.oidc("token"), Some(&sts))).unwrap();
    let egress = egress(&cloud, &credential);
    std::fs::remove_file(folder.path("oidc")).unwrap();
    credential.keep().await;
    let text = told(&egress).await;
    assert!(text.starts_with("credential alibaba: cannot read ") && text.contains("No such file"), "{text}");
    assert!(sts.requests().is_empty());
}

#[tokio::test]
async fn bad_a_role_that_is_refused_is_named() {
    let text = with_sts(|| refused("AuthenticationFail.OIDCToken.Invalid", "")).await;
    assert!(
        text.starts_with(
            "credential alibaba: STS does not give a session of the role acs:ram::1234567890123456:role/ccm"
        )
    );
    assert!(text.contains("(AuthenticationFail.OIDCToken.Invalid)") && text.contains("trust policy"), "{text}");
    let text = with_sts(|| ("403 Forbidden", String::new(), "<html>".to_owned())).await;
    assert!(text.contains("(status 403)"), "{text}");
}

#[tokio::test]
async fn bad_an_answer_of_sts_that_is_none_is_said() {
    let text = with_sts(|| ("200 OK", String::new(), "<html>welcome</html>".to_owned())).await;
    assert!(text.contains("is not what its API describes"), "{text}");
    let text = with_sts(|| session("STS.1", "ccm", SystemTime::now() - HOUR)).await;
    assert!(text.contains("have ended already"), "{text}");
    let text = with_sts(|| ("200 OK", String::new(), "a".repeat(100_000))).await;
    assert!(text.contains("more than 65536 bytes"), "{text}");
    let text = with_sts(|| ("302 Found", "location: http://100.100.100.200/\r\n".to_owned(), String::new())).await;
    assert!(text.contains("status 302"), "{text}");
}

#[tokio::test]
async fn bad_an_endpoint_that_cannot_be_signed_for_is_said() {
    let folder = Folder::new();
    let credential = load(settings(folder.key("LTAI1"), None)).unwrap();
    let check =
        |endpoint: Endpoint| try_egress(endpoint, &credential).err().map(|it| it.to_string()).unwrap_or_default();
    for host in [
        "slb.aliyuncs.com",
        "slb.cn-hangzhou.aliyuncs.com",
        "slb-vpc.cn-hangzhou.aliyuncs.com",
        "ecs-cn-hangzhou.aliyuncs.com",
    ] {
        assert_eq!(check(slb(&format!("https://{host}"))), "", "{host}");
    }
    let public = || slb("https://slb.aliyuncs.com");
    assert_eq!(
        check(slb("https://slb.cn-beijing.aliyuncs.com")),
        "endpoint slb: its base URL is https://slb.cn-beijing.aliyuncs.com, whose name holds another region than cn-hangzhou, for \
         which its credential signs; correct one of them"
    );
    let elsewhere = vec![("RegionId".to_owned(), "cn-beijing".to_owned())];
    assert!(check(Endpoint { parameters: elsewhere, ..public() }).contains("`parameters` names the region cn-beijing"));
    assert!(check(Endpoint { signing: None, ..public() }).contains("write signing: { version: … }, as in 2014-05-26"));
    let other = Signing::Sigv4 { region: RegionName::parse("cn-hangzhou").unwrap(), service: "slb".to_owned() };
    assert!(check(Endpoint { signing: Some(other), ..public() }).contains("write signing: { version: … }"));
    let parameter = Some(OperationPlace::Parameter("Action".to_owned()));
    assert!(check(Endpoint { operation: parameter, ..public() }).contains("write operation: { header: x-acs-action }"));
    let nobody = Endpoint { credential: None, ..public() };
    assert!(check(nobody).contains("there is no `credential` that signs"));
    for version in ["", "2014-5-26", "2014-05-26 ", "latest", "2014-13-26"] {
        assert!(AcsVersion::parse(version).is_err(), "{version:?}");
    }
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
    let credential = load(settings(Acs3Keys::InstanceMetadata { url }, None)).unwrap();
    let egress = egress(&cloud, &credential);
    credential.keep().await;
    assert!(told(&egress).await.contains("the machine has no role: attach a RAM role"));
}

#[tokio::test]
async fn bad_an_origin_that_is_not_listed_gets_no_signature() {
    let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
    let keys = folder.key("LTAI1");
    folder.write("secret.origins", "https://slb.aliyuncs.com\n");
    let credential = load(settings(keys, None)).unwrap();
    let error = try_egress(slb(&cloud.url), &credential).err().expect("it is not listed").to_string();
    assert!(error.contains("secret.origins does not list it"), "{error}");
    folder.write("secret.origins", &format!("{}\n", cloud.url));
    credential.keep().await;
    let egress = egress(&cloud, &credential);
    folder.write("secret.origins", "");
    credential.keep().await;
    assert!(told(&egress).await.contains("may no longer sign for"), "it was taken off the list");
    assert!(cloud.requests().is_empty());
}
