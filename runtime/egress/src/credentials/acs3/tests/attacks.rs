//! Guests that want to speak as somebody else, of something else, or to whom the host alone speaks.

use super::world::*;
use crate::egress::Egress;
use crate::request::{GuestRequest, SendError};
use crate::testing::TestServer;

async fn refused_with(egress: &Egress, request: GuestRequest) -> String {
    match send(egress, request).await {
        Err(SendError::Denied(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn adv_a_guest_says_nothing_beside_the_signed_headers() {
    let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
    let credential = load(settings(folder.key("LTAI1"), None)).unwrap();
    let egress = egress(&cloud, &credential);
    let names = [
        ("Action", "E-EGRESS-OPERATION"),
        ("action", "E-EGRESS-OPERATION"),
        ("Version", "E-EGRESS-OPERATION"),
        ("version", "E-EGRESS-OPERATION"),
        ("Timestamp", "E-EGRESS-OPERATION"),
        ("SignatureNonce", "E-EGRESS-OPERATION"),
        ("SignatureMethod", "E-EGRESS-OPERATION"),
        ("Signature", "E-EGRESS-QUERY"),
        ("SecurityToken", "E-EGRESS-QUERY"),
        ("AccessKeyId", "E-EGRESS-QUERY"),
        ("x-acs-security-token", "E-EGRESS-QUERY"),
        ("x-acs-version", "E-EGRESS-QUERY"),
        ("Cookie ", "E-EGRESS-QUERY"),
        ("cookie", "E-EGRESS-QUERY"),
    ];
    for (name, code) in names {
        let text = refused_with(&egress, asking("DescribeLoadBalancers", &[(name, "x")], &[])).await;
        assert!(text.starts_with(code), "{name}: {text}");
        let form = with_form(asking("DescribeLoadBalancers", &[], &[]), &[(name, "x")]);
        let text = refused_with(&egress, form).await;
        assert!(text.starts_with(code), "{name} in a form: {text}");
    }
    for name in [
        "authorization",
        "host",
        "x-acs-security-token",
        "X-Acs-Date",
        "x-acs-version",
        "x-acs-signature-nonce",
        "x-acs-content-sha256",
        "x-acs-accesskey-id",
        "x-acsproxy-ascm-context",
    ] {
        let text = refused_with(&egress, asking("DescribeLoadBalancers", &[], &[(name, "x")])).await;
        assert!(text.starts_with("E-EGRESS-HEADER"), "{name}: {text}");
    }
    assert!(cloud.requests().is_empty());
}

#[tokio::test]
async fn adv_an_action_that_no_rule_names_does_not_leave() {
    let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
    let credential = load(settings(folder.key("LTAI1"), None)).unwrap();
    let egress = egress(&cloud, &credential);
    for action in ["RunInstances", "AssumeRole", "GetCallerIdentity", ""] {
        let text = refused_with(&egress, asking(action, &[], &[])).await;
        assert!(text.starts_with("E-EGRESS-OPERATION"), "{action}: {text}");
    }
    let twice = asking("DescribeLoadBalancers", &[], &[("X-Acs-Action", "DeleteLoadBalancer")]);
    assert!(refused_with(&egress, twice).await.starts_with("E-EGRESS-HEADER"));
    let region = asking("DescribeLoadBalancers", &[("RegionId", "cn-beijing")], &[]);
    assert!(refused_with(&egress, region).await.starts_with("E-EGRESS-OPERATION"));
    assert!(cloud.requests().is_empty());
}

#[tokio::test]
async fn adv_cookies_are_opened_for_the_named_action_alone() {
    let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
    let credential = load(settings(folder.key("LTAI1"), None)).unwrap();
    let egress = egress(&cloud, &credential);
    let cookie = [("Cookie", "session-of-clients")];
    let listener = asking("CreateLoadBalancerHTTPListener", &[("StickySession", "on"), cookie[0]], &[]);
    // The wide rule for Create* does not open it, and one of the rules has to let all stand.
    assert!(send(&egress, listener).await.is_ok());
    let form = with_form(asking("CreateLoadBalancerHTTPListener", &[], &[]), &cookie);
    assert!(send(&egress, form).await.is_ok());
    assert_eq!(cloud.requests().len(), 2);
    for action in ["CreateLoadBalancerTCPListener", "DescribeLoadBalancers", "DeleteLoadBalancer"] {
        let text = refused_with(&egress, asking(action, &cookie, &[])).await;
        assert!(text.starts_with("E-EGRESS-CONTENT") && text.contains("Cookie"), "{action}: {text}");
    }
    let mut closed = slb(&cloud.url);
    closed.allow.pop();
    let closed = try_egress(closed, &credential).unwrap_or_else(|error| panic!("{error}"));
    let text = refused_with(&closed, asking("CreateLoadBalancerHTTPListener", &cookie, &[])).await;
    assert!(text.starts_with("E-EGRESS-QUERY"), "{text}");
    assert_eq!(cloud.requests().len(), 2);
}

#[tokio::test]
async fn adv_a_rule_that_opens_cookies_names_its_actions() {
    let folder = Folder::new();
    let credential = load(settings(folder.key("LTAI1"), None)).unwrap();
    let mut endpoint = slb("https://slb.aliyuncs.com");
    let operations = endpoint.allow[0].operations.clone();
    endpoint.allow[3].operations = operations;
    let error = try_egress(endpoint, &credential).err().expect("it is refused").to_string();
    assert!(error.contains("allow[3] opens the parameter Cookie") && error.contains("without a star"), "{error}");
}

#[tokio::test]
async fn adv_no_provider_is_where_sessions_and_keys_are_given() {
    let folder = Folder::new();
    let (cloud, sts) = (TestServer::start("200 OK").await, sts().await);
    let credential = load(with_role(settings(folder.key("LTAI1"), Some(&sts)))).unwrap();
    let refused = |url: &str| try_egress(slb(url), &credential).err().map(|it| it.to_string()).unwrap_or_default();
    for url in [
        "https://sts.aliyuncs.com",
        "https://sts.cn-hangzhou.aliyuncs.com",
        "https://sts-vpc.cn-hangzhou.aliyuncs.com",
        &sts.url,
    ] {
        assert!(refused(url).contains("which the host alone asks for"), "{url}: {}", refused(url));
    }
    assert!(refused("https://100.100.100.200").contains("metadata"), "{}", refused("https://100.100.100.200"));
    assert!(try_egress(slb(&cloud.url), &credential).is_ok());
}

#[tokio::test]
async fn adv_a_redirect_to_where_keys_are_given_is_an_answer() {
    let (folder, sts) = (Folder::new(), sts().await);
    let credential = load(settings(folder.key("LTAI1"), Some(&sts))).unwrap();
    let metadata = "http://100.100.100.200/latest/meta-data/ram/security-credentials/ccm";
    for to in [&*sts.url, metadata, "https://sts.aliyuncs.com"] {
        let head = format!("location: {to}\r\n");
        let cloud = TestServer::script(move |_| ("307 Temporary Redirect", head.clone(), String::new())).await;
        let answered = status(&egress(&cloud, &credential), "DescribeLoadBalancers").await;
        assert!(matches!(answered, Ok(307)), "{to}: {answered:?}");
        assert_eq!((cloud.requests().len(), sts.requests().len()), (1, 0), "{to}");
    }
}
