//! Renewals: before keys end, and when the cloud refuses them.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, SystemTime};

use super::super::super::credential::Credential as _;
use super::world::*;
use crate::testing::{Scripted, TestServer};

const MINUTE: Duration = Duration::from_secs(60);

/// A cloud that refuses the first session.
async fn refusing_first(code: &'static str) -> TestServer {
    TestServer::script(move |it| if it.contains("Credential=STS.1,") { refused(code, "") } else { ok() }).await
}

/// A cloud whose clock is `ahead` of this machine's, and that takes signatures of the last and the next quarter of an hour.
fn by_clock(ahead: i64, request: &str) -> Scripted {
    let now = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(ahead);
    let signed: jiff::Timestamp = header(request, "x-acs-date").unwrap().parse().unwrap();
    match (now.as_second() - signed.as_second()).abs() <= 900 {
        true => ok(),
        false => refused("InvalidTimeStamp.Expired", &format!("date: {}\r\n", httpdate::fmt_http_date(now.into()))),
    }
}

#[tokio::test]
async fn a_session_is_renewed_before_it_ends() {
    let (folder, cloud, sts) = (Folder::new(), TestServer::start("200 OK").await, sts().await);
    let credential = load(settings(folder.oidc("token-1"), Some(&sts))).unwrap();
    let egress = egress(&cloud, &credential);
    let start = SystemTime::now();
    credential.keep_at(start).await;
    folder.oidc("token-2");
    credential.keep_at(start + 47 * MINUTE).await;
    assert_eq!(sts.requests().len(), 1, "a fifth of the hour is left");
    credential.keep_at(start + 49 * MINUTE).await;
    assert_eq!(sts.requests().len(), 2);
    assert!(sts.requests()[1].ends_with("token%2D2"), "the token is read each time");
    assert_eq!(status(&egress, "DescribeLoadBalancers").await, Ok(200));
    assert_eq!((signers(&cloud), credential.account_version()), (vec!["STS.2".to_owned()], 1));
}

#[tokio::test]
async fn a_first_request_waits_for_the_first_session() {
    let (folder, cloud, sts) = (Folder::new(), TestServer::start("200 OK").await, sts().await);
    let credential = load(settings(folder.oidc("token"), Some(&sts))).unwrap();
    let egress = egress(&cloud, &credential);
    let ((), answer) = tokio::join!(credential.keep(), status(&egress, "DescribeLoadBalancers"));
    assert_eq!((answer, signers(&cloud)), (Ok(200), vec!["STS.1".to_owned()]));
}

#[tokio::test]
async fn an_expired_write_goes_out_again_with_new_keys() {
    for code in ["InvalidSecurityToken.Expired", "InvalidAccessKeyId.NotFound", "InvalidAccessKeyId.Inactive"] {
        for operation in ["CreateLoadBalancer", "DeleteLoadBalancer", "DescribeLoadBalancers"] {
            let (folder, cloud, sts) = (Folder::new(), refusing_first(code).await, sts().await);
            let credential = load(settings(folder.oidc("token"), Some(&sts))).unwrap();
            let egress = egress(&cloud, &credential);
            credential.keep().await;
            egress.approve(credential.account_version());
            assert_eq!(status(&egress, operation).await, Ok(200), "{operation}");
            assert_eq!(signers(&cloud), ["STS.1", "STS.2"], "{operation}");
            assert_eq!(status(&egress, operation).await, Ok(200), "{operation}");
            assert_eq!(signers(&cloud).len(), 3, "{operation}");
        }
    }
}

#[tokio::test]
async fn a_write_that_may_have_happened_is_not_sent_again() {
    let (folder, sts) = (Folder::new(), sts().await);
    let cloud = TestServer::script(|_| {
        let (_, head, body) = refused("InvalidSecurityToken.Expired", "");
        ("500 Internal Server Error", head, body)
    })
    .await;
    let credential = load(settings(folder.oidc("token"), Some(&sts))).unwrap();
    let egress = egress(&cloud, &credential);
    credential.keep().await;
    assert_eq!(status(&egress, "CreateLoadBalancer").await, Ok(500));
    assert_eq!((cloud.requests().len(), sts.requests().len()), (1, 1));
}

#[tokio::test]
async fn a_used_nonce_is_replaced_once_with_the_same_keys() {
    let (folder, count) = (Folder::new(), AtomicU32::new(0));
    let cloud = TestServer::script(move |_| match count.fetch_add(1, SeqCst) {
        0 | 2.. => refused("SignatureNonceUsed", ""),
        _ => ok(),
    })
    .await;
    let credential = load(settings(folder.key("LTAI1"), None)).unwrap();
    let egress = egress(&cloud, &credential);
    assert_eq!(status(&egress, "CreateLoadBalancer").await, Ok(200));
    assert_eq!((cloud.requests().len(), credential.generation()), (2, 1));
    assert_eq!(status(&egress, "CreateLoadBalancer").await, Ok(400), "once is enough");
    let requests = cloud.requests();
    let mut nonces: Vec<_> = requests.iter().map(|it| header(it, "x-acs-signature-nonce").unwrap()).collect();
    nonces.sort_unstable();
    nonces.dedup();
    assert_eq!((requests.len(), nonces.len()), (4, 4));
}

#[tokio::test]
async fn a_clock_that_differs_is_corrected_once() {
    for ahead in [7200, -7200] {
        let folder = Folder::new();
        let cloud = TestServer::script(move |it| by_clock(ahead, it)).await;
        let credential = load(settings(folder.key("LTAI1"), None)).unwrap();
        let egress = egress(&cloud, &credential);
        egress.approve(credential.account_version());
        assert_eq!(status(&egress, "CreateLoadBalancer").await, Ok(200), "{ahead}");
        assert_eq!(cloud.requests().len(), 2, "{ahead}: it was refused, and sent again by the cloud's clock");
        assert_eq!(status(&egress, "CreateLoadBalancer").await, Ok(200), "{ahead}");
        assert_eq!(cloud.requests().len(), 3, "{ahead}: the next one has the right time at once");
    }
}

#[tokio::test]
async fn sts_corrects_the_clock_too() {
    let folder = Folder::new();
    let cloud = TestServer::script(|it| by_clock(7200, it)).await;
    let sts = TestServer::script(|request| match by_clock(7200, request) {
        ("200 OK", ..) => session("STS.1", "ccm", SystemTime::now() + 3 * HOUR),
        refused => refused,
    })
    .await;
    let credential = load(with_role(settings(folder.key("LTAI1"), Some(&sts)))).unwrap();
    let egress = egress(&cloud, &credential);
    credential.keep().await;
    assert_eq!(status(&egress, "DescribeLoadBalancers").await, Ok(200));
    assert_eq!((sts.requests().len(), cloud.requests().len()), (2, 1));
}
