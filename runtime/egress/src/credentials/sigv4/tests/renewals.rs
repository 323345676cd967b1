//! Renewals: before keys end, and when the cloud refuses them.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, SystemTime};

use super::super::super::credential::Credential as _;
use super::super::super::kind::KeySource;
use super::super::super::signing::SigningSource as _;
use super::world::*;
use crate::key_service::KeyServiceUrl;
use crate::request::SendError;
use crate::testing::{Scripted, TestServer};

const MINUTE: Duration = Duration::from_secs(60);

/// A cloud that refuses the first session.
async fn refusing_first(code: &'static str) -> TestServer {
    TestServer::script(move |it| if it.contains("Credential=ASIA1/") { refused(code, "") } else { ok() }).await
}

/// A cloud whose clock is `ahead` of this machine's, and that takes signatures of the last and the next five minutes.
async fn with_clock(ahead: i64) -> TestServer {
    TestServer::script(move |it| by_clock(ahead, it)).await
}

fn by_clock(ahead: i64, request: &str) -> Scripted {
    let now = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(ahead);
    let signed = request.split_once("x-amz-date: ").unwrap().1.split("\r\n").next().unwrap();
    let signed = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", signed).unwrap();
    let signed = signed.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp();
    match (now.as_second() - signed.as_second()).abs() <= 300 {
        true => ok(),
        false => refused("RequestExpired", &format!("date: {}\r\n", httpdate::fmt_http_date(now.into()))),
    }
}

#[tokio::test]
async fn a_session_is_renewed_before_it_ends() {
    let (folder, cloud, sts) = (Folder::new(), TestServer::start("200 OK").await, sts().await);
    let credential = load(settings(folder.web_identity("token-1"), Some(&sts))).unwrap();
    let egress = egress(&cloud, &credential);
    let start = SystemTime::now();
    credential.keep_at(start).await;
    folder.web_identity("token-2");
    credential.keep_at(start + 47 * MINUTE).await;
    assert_eq!(sts.requests().len(), 1, "a fifth of the hour is left");
    credential.keep_at(start + 49 * MINUTE).await;
    assert_eq!(sts.requests().len(), 2);
    assert!(sts.requests()[1].ends_with("token%2D2"), "the token is read each time");
    assert_eq!(status(&egress, "DescribeInstances").await, Ok(200));
    assert_eq!(signers(&cloud), ["ASIA2"]);
}

#[tokio::test]
async fn a_renewed_session_of_the_same_role_is_no_other_account() {
    let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
    let (count, start) = (AtomicU32::new(0), SystemTime::now());
    let sts = TestServer::script(move |_| match count.fetch_add(1, SeqCst) {
        n @ 0..=1 => session(&format!("ASIA{n}"), "ccm", start + (n + 1) * HOUR),
        n => session(&format!("ASIA{n}"), "another", start + (n + 1) * HOUR),
    })
    .await;
    let credential = load(settings(folder.web_identity("token"), Some(&sts))).unwrap();
    let _egress = egress(&cloud, &credential);
    let mut versions = Vec::new();
    for minutes in [0, 49, 107] {
        credential.keep_at(start + minutes * MINUTE).await;
        versions.push((credential.account_version(), credential.generation()));
    }
    assert_eq!(versions, [(1, 1), (1, 2), (2, 3)], "the third one is of another role");
}

#[tokio::test]
async fn an_expired_write_goes_out_again_with_new_keys() {
    for operation in ["CreateTags", "DeleteTags", "DescribeTags"] {
        let (folder, cloud, sts) = (Folder::new(), refusing_first("ExpiredToken").await, sts().await);
        let credential = load(settings(folder.web_identity("token"), Some(&sts))).unwrap();
        let egress = egress(&cloud, &credential);
        credential.keep().await;
        egress.approve(credential.account_version());
        assert_eq!(status(&egress, operation).await, Ok(200), "{operation}");
        assert_eq!(signers(&cloud), ["ASIA1", "ASIA2"], "{operation}");
        assert_eq!(status(&egress, operation).await, Ok(200), "{operation}");
        assert_eq!(signers(&cloud).len(), 3, "{operation}");
    }
}

#[tokio::test]
async fn a_write_that_may_have_happened_is_not_sent_again() {
    let (folder, sts) = (Folder::new(), sts().await);
    let cloud = TestServer::script(|_| {
        let (_, head, body) = refused("ExpiredToken", "");
        ("500 Internal Server Error", head, body)
    })
    .await;
    let credential = load(settings(folder.web_identity("token"), Some(&sts))).unwrap();
    let egress = egress(&cloud, &credential);
    credential.keep().await;
    assert_eq!(status(&egress, "CreateTags").await, Ok(500));
    assert_eq!((cloud.requests().len(), sts.requests().len()), (1, 1));
}

#[tokio::test]
async fn keys_of_another_account_repeat_no_write() {
    let (folder, cloud) = (Folder::new(), refusing_first("ExpiredToken").await);
    let credential = load(settings(folder.shared("ASIA1", ""), None)).unwrap();
    let egress = egress(&cloud, &credential);
    egress.approve(credential.account_version());
    folder.shared("AKIAOTHER", "");
    match status(&egress, "CreateTags").await {
        Err(SendError::Unreachable(text)) => assert!(text.contains("account"), "{text}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(signers(&cloud), ["ASIA1"], "the account has to be looked at first");
    assert_eq!(status(&egress, "DescribeTags").await, Ok(200));
}

#[tokio::test]
async fn a_cloud_that_refuses_everything_gets_few_questions() {
    let (folder, sts) = (Folder::new(), sts().await);
    let cloud = TestServer::script(|_| refused("AuthFailure", "")).await;
    let credential = load(settings(folder.web_identity("token"), Some(&sts))).unwrap();
    let egress = egress(&cloud, &credential);
    credential.keep().await;
    for _ in 0..10 {
        assert_eq!(status(&egress, "DescribeInstances").await, Ok(400));
    }
    assert_eq!(sts.requests().len(), 2, "the first session, and one after the first refusal");
    assert_eq!(cloud.requests().len(), 11, "and one request was sent again");
}

#[tokio::test]
async fn a_clock_that_differs_is_corrected_once() {
    for ahead in [7200, -7200] {
        let (folder, cloud) = (Folder::new(), with_clock(ahead).await);
        let credential = load(settings(folder.shared("AKIA1", ""), None)).unwrap();
        let egress = egress(&cloud, &credential);
        egress.approve(credential.account_version());
        assert_eq!(status(&egress, "CreateTags").await, Ok(200), "{ahead}");
        assert_eq!(cloud.requests().len(), 2, "{ahead}: it was refused, and sent again by the cloud's clock");
        assert_eq!(status(&egress, "CreateTags").await, Ok(200), "{ahead}");
        assert_eq!(cloud.requests().len(), 3, "{ahead}: the next one has the right time at once");
    }
}

#[tokio::test]
async fn a_clock_that_never_fits_ends_after_one_more_try() {
    let folder = Folder::new();
    let hours = AtomicU32::new(0);
    let cloud = TestServer::script(move |_| {
        let now = SystemTime::now() + hours.fetch_add(1, SeqCst) * HOUR;
        refused("RequestTimeTooSkewed", &format!("date: {}\r\n", httpdate::fmt_http_date(now)))
    })
    .await;
    let credential = load(settings(folder.shared("AKIA1", ""), None)).unwrap();
    let egress = egress(&cloud, &credential);
    for sent in [1, 3, 5] {
        assert_eq!(status(&egress, "DescribeTags").await, Ok(400));
        assert_eq!(cloud.requests().len(), sent);
    }
}

#[tokio::test]
async fn sts_corrects_the_clock_too() {
    let (folder, cloud) = (Folder::new(), with_clock(7200).await);
    let sts = TestServer::script(|request| match by_clock(7200, request) {
        ("200 OK", ..) => session("ASIA1", "ccm", SystemTime::now() + 3 * HOUR),
        refused => refused,
    })
    .await;
    let credential = load(with_role(settings(folder.shared("AKIA1", ""), Some(&sts)))).unwrap();
    let egress = egress(&cloud, &credential);
    credential.keep().await;
    assert_eq!(status(&egress, "DescribeTags").await, Ok(200));
    assert_eq!((sts.requests().len(), cloud.requests().len()), (2, 1));
}

#[tokio::test]
async fn while_nobody_gives_new_keys_the_old_ones_serve_to_their_end() {
    let (folder, cloud) = (Folder::new(), TestServer::start("200 OK").await);
    let count = AtomicU32::new(0);
    let ends = SystemTime::now() + HOUR;
    let sts = TestServer::script(move |_| match count.fetch_add(1, SeqCst) {
        0 => session("ASIA1", "ccm", ends),
        _ => ("503 Service Unavailable", String::new(), String::new()),
    })
    .await;
    let credential = load(settings(folder.web_identity("token"), Some(&sts))).unwrap();
    let egress = egress(&cloud, &credential);
    let start = SystemTime::now();
    for minutes in [0, 50, 51] {
        credential.keep_at(start + minutes * MINUTE).await;
        assert_eq!(status(&egress, "DescribeTags").await, Ok(200));
    }
    assert_eq!(sts.requests().len(), 3, "it is asked again each time");
    let permitted = {
        // By the cloud's clock two hours have passed.
        assert!(credential.source.clock().correct(SystemTime::now() + 2 * HOUR, SystemTime::now(), "aws"));
        unreachable(&egress).await
    };
    assert!(permitted.contains("its keys have ended") && permitted.contains("status 503"), "{permitted}");
}

#[tokio::test]
async fn a_machine_that_gives_the_same_keys_changes_nothing() {
    let cloud = TestServer::start("200 OK").await;
    let ends = SystemTime::now() + HOUR;
    let metadata = TestServer::script(move |request| match request.contains("security-credentials/role ") {
        true => keys("ASIANODE", ends, ""),
        false => ("200 OK", String::new(), "role".to_owned()),
    })
    .await;
    let url = KeyServiceUrl::parse(&metadata.url).unwrap();
    let credential = load(settings(KeySource::InstanceMetadata { url }, None)).unwrap();
    let _egress = egress(&cloud, &credential);
    let start = SystemTime::now();
    for minutes in [0, 49, 50, 55] {
        credential.keep_at(start + minutes * MINUTE).await;
    }
    assert_eq!((credential.generation(), credential.account_version()), (1, 1));
    assert_eq!(metadata.requests().len(), 2 * 3, "with ten minutes left it waits for eight of them");
}
