//! Behaviour that only calls that write can show, against a real socket. The integration tests have the rest.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use budgets::WriteLimits;
use cloud_provider::Demand;
use prometheus::Registry;

use crate::audit::CallId;
use crate::canonical::PathPattern;
use crate::credentials::{CredentialKind, CredentialSettings, Credentials};
use crate::effect::Effect;
use crate::egress::{Egress, EgressCall};
use crate::endpoint::{Endpoint, Rule};
use crate::list_reads::ListReads;
use crate::metrics::Metrics;
use crate::operation::{OperationPattern, OperationPlace};
use crate::policy::Mode;
use crate::reports::Report;
use crate::request::{Body, GuestRequest, GuestResponse, Method, SendError};
use crate::settings::EgressSettings;
use crate::testing::{TestServer, endpoint, request};

fn egress(server: &TestServer, fence: impl Fn() -> bool + Send + Sync + 'static, token: Option<&PathBuf>) -> Egress {
    let mut endpoint = endpoint(&server.url);
    let credentials = token.map(|file| {
        endpoint.credential = Some("token".to_owned());
        CredentialSettings {
            name: "token".to_owned(),
            kind: CredentialKind::Bearer { file: file.clone() },
            limits: WriteLimits::default(),
        }
    });
    let settings = EgressSettings {
        endpoints: vec![endpoint],
        credentials: Credentials::load(credentials.into_iter().collect()).unwrap(),
        fence: Arc::new(fence),
        demands: Arc::new(|_| Demand::default()),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    Egress::new(settings, Metrics::register(&Registry::new()).unwrap()).unwrap_or_else(|error| panic!("{error}"))
}

fn open(egress: &Egress, mode: Mode) -> EgressCall {
    egress.open(CallId { provider: "test".into(), function: "ensure", id: 1 }, mode)
}

fn post() -> GuestRequest {
    GuestRequest {
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: Some(Body::Bytes(b"{\"name\":\"a\"}".to_vec())),
        ..request(Method::Post, &["v2", "load_balancers"])
    }
}

#[track_caller]
fn assert_denied(answer: Result<GuestResponse, SendError>, code: &str) {
    match answer {
        Err(SendError::Denied(text)) if text.starts_with(code) => {}
        other => panic!("expected {code}, but {other:?}"),
    }
}

#[tokio::test]
async fn a_write_carries_its_body() {
    let server = TestServer::start("201 Created").await;
    let egress = egress(&server, || true, None);
    let answer = open(&egress, Mode::Write { deletes: 0 }).send(post()).await;
    assert_eq!(answer.map(|it| it.status), Ok(201));
    let requests = server.requests();
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v2/load_balancers HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("content-type: application/json\r\n") && head.contains("content-length: 12"), "{head}");
    assert_eq!(body, "{\"name\":\"a\"}");
}

#[tokio::test]
async fn a_lease_that_is_lost_while_waiting_stops_a_write() {
    let server = TestServer::start("200 OK").await;
    let asked = AtomicU32::new(0);
    let egress = egress(&server, move || asked.fetch_add(1, SeqCst) == 0, None);
    let mut call = open(&egress, Mode::Write { deletes: 0 });
    assert_denied(call.send(post()).await, "E-EGRESS-LEADER");
    assert_denied(call.send(post()).await, "E-EGRESS-LEADER");
    assert!(server.requests().is_empty());
    assert!(call.send(request(Method::Get, &["v2"])).await.is_ok(), "a read needs no Lease");
}

#[tokio::test]
async fn deletes_are_counted_for_each_call() {
    let server = TestServer::start("204 No Content").await;
    let egress = egress(&server, || true, None);
    let delete = || request(Method::Delete, &["v2", "load_balancers", "1"]);
    for _ in 0..2 {
        let mut call = open(&egress, Mode::Write { deletes: 1 });
        assert_eq!(call.send(delete()).await.map(|it| it.status), Ok(204));
        assert_denied(call.send(delete()).await, "E-EGRESS-BUDGET");
    }
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_call_says_whether_a_write_may_have_left() {
    let server = TestServer::start("500 Internal Server Error").await;
    let egress = egress(&server, || true, None);
    let write = Mode::Write { deletes: 0 };
    let mut call = open(&egress, write);
    assert!(call.send(request(Method::Get, &["v2"])).await.is_ok());
    assert_denied(call.send(request(Method::Delete, &["v2", "load_balancers", "1"])).await, "E-EGRESS-BUDGET");
    assert!(!call.wrote(), "a read, and a write that was denied");
    assert!(call.send(post()).await.is_ok());
    assert!(call.send(request(Method::Get, &["v2"])).await.is_ok());
    assert!(call.wrote(), "what the cloud says it failed at may have been done");

    let mut given_up = open(&egress, write);
    assert!(futures::poll!(std::pin::pin!(given_up.send(post()))).is_pending());
    assert!(given_up.wrote(), "nobody knows how far it came");

    let mut paused = open(&egress, write);
    paused.throttle("api", std::time::Duration::from_secs(60), "the quota is nearly used up");
    assert!(matches!(paused.send(post()).await, Err(SendError::RetryAfter(_))));
    assert!(!paused.wrote(), "it was held back");
}

#[tokio::test]
async fn a_write_is_never_sent_again_after_a_401() {
    let server = TestServer::start("401 Unauthorized").await;
    let file = std::env::temp_dir().join(format!("aerostat-token-{}", std::process::id()));
    std::fs::write(&file, "old-token").unwrap();
    let egress = egress(&server, || true, Some(&file));
    std::fs::write(&file, "new-token").unwrap();
    let mut call = open(&egress, Mode::Write { deletes: 0 });
    let answers = [call.send(post()).await, call.send(post()).await];
    std::fs::remove_file(&file).unwrap();
    assert_eq!(answers.map(|it| it.map(|it| it.status)), [Ok(401), Ok(401)]);
    let tokens = ["old-token", "new-token"];
    for (request, token) in server.requests().iter().zip(tokens) {
        assert!(request.contains(&format!("authorization: Bearer {token}\r\n")), "{request}");
    }
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn after_a_new_credential_writes_wait_until_it_is_approved() {
    let server = TestServer::start("401 Unauthorized").await;
    let file = std::env::temp_dir().join(format!("aerostat-approved-{}", std::process::id()));
    std::fs::write(&file, "old-token").unwrap();
    let egress = egress(&server, || true, Some(&file));
    egress.approve(*egress.versions().borrow());
    std::fs::write(&file, "new-token").unwrap();
    let mut call = open(&egress, Mode::Write { deletes: 0 });
    assert!(call.send(post()).await.is_ok(), "its 401 makes the egress read the file again");
    std::fs::remove_file(&file).unwrap();
    match call.send(post()).await {
        Err(SendError::Unreachable(text)) => assert!(text.contains("account"), "{text}"),
        other => panic!("nothing may be written yet, but {other:?}"),
    }
    assert!(call.send(request(Method::Get, &["v2"])).await.is_ok(), "reads show whose it is");
    egress.approve(*egress.versions().borrow());
    assert!(call.send(post()).await.is_ok());
    assert_eq!(server.requests().iter().filter(|it| it.starts_with("POST")).count(), 2);
}

#[tokio::test]
async fn a_replaced_provider_writes_on_if_it_has_seen_the_account() {
    let server = TestServer::start("200 OK").await;
    let egress = egress(&server, || true, None);
    let version = || *egress.versions().borrow();
    egress.approve(version());
    let mut call = open(&egress, Mode::Write { deletes: 0 });
    let seen = version();
    let replace = |seen| egress.replace_provider(seen, || ()).1;
    assert_eq!(replace(Some(seen)), Some(seen + 1));
    assert_eq!(version(), seen + 1, "the account is asked about again");
    assert!(call.send(post()).await.is_ok(), "a call that is under way goes on");

    assert_eq!(replace(Some(seen)), None, "what it has seen is no longer so");
    match call.send(post()).await {
        Err(SendError::Unreachable(text)) => assert!(text.contains("account"), "{text}"),
        other => panic!("nothing may be written yet, but {other:?}"),
    }
    egress.approve(version());
    assert!(call.send(post()).await.is_ok());
    assert_eq!(replace(None), None, "nobody has asked it");
    assert!(call.send(post()).await.is_err());
}

#[tokio::test]
async fn a_change_is_told_once_the_other_provider_serves() {
    let server = TestServer::start("200 OK").await;
    let egress = egress(&server, || true, None);
    let versions = egress.versions();
    let (told, _) = egress.replace_provider(None, || versions.has_changed().unwrap());
    assert!(!told, "those that are told would ask the one before");
    assert!(versions.has_changed().unwrap());
}

/// How many of thirty DELETEs leave, each in a call of its own.
async fn deletions_that_leave(status: &'static str) -> usize {
    let server = TestServer::start(status).await;
    let egress = egress(&server, || true, None);
    for sent in 0..30 {
        let mut call = open(&egress, Mode::Write { deletes: 1 });
        match call.send(request(Method::Delete, &["v2", "load_balancers", "1"])).await {
            Ok(_) => {}
            denied => {
                assert_denied(denied, "E-EGRESS-WRITES");
                assert_eq!(server.requests().len(), sent);
                let metric = egress.metrics().writes_withheld.with_label_values(&["", "api", "deletion"]);
                assert_eq!(metric.get(), 1);
                return sent;
            }
        }
    }
    30
}

#[tokio::test]
async fn adv_104_twenty_deletions_leave_over_all_calls() {
    assert_eq!(deletions_that_leave("204 No Content").await, 20);
    assert_eq!(deletions_that_leave("503 Service Unavailable").await, 20, "they may have been carried out");
}

#[tokio::test]
async fn adv_104_refused_deletions_give_their_places_back() {
    assert_eq!(deletions_that_leave("404 Not Found").await, 30);
    assert_eq!(deletions_that_leave("422 Unprocessable Entity").await, 30);
}

#[tokio::test]
async fn adv_161_a_put_that_may_empty_is_a_detachment() {
    let server = TestServer::start("200 OK").await;
    let mut endpoint = endpoint(&server.url);
    endpoint.allow.push(Rule {
        effect: Some(Effect::Detach),
        ..Rule::new([Method::Put], [PathPattern::parse("/v2/load_balancers/*").unwrap()])
    });
    let settings = EgressSettings {
        endpoints: vec![endpoint],
        credentials: Credentials::load(Vec::new()).unwrap(),
        fence: Arc::new(|| true),
        demands: Arc::new(|_| Demand::default()),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    let egress = Egress::new(settings, Metrics::register(&Registry::new()).unwrap()).unwrap();
    let put = || request(Method::Put, &["v2", "load_balancers", "1"]);
    assert_denied(open(&egress, Mode::Write { deletes: 0 }).send(put()).await, "E-EGRESS-BUDGET");
    for _ in 0..60 {
        let _ = open(&egress, Mode::Write { deletes: 1 }).send(put()).await;
    }
    assert_eq!(server.requests().len(), 50);
    assert_eq!(egress.metrics().writes_withheld.with_label_values(&["", "api", "detachment"]).get(), 10);
}

#[tokio::test]
async fn adv_162_a_write_waits_until_it_is_recorded() {
    let server = TestServer::start("204 No Content").await;
    let egress = egress(&server, || true, None);
    let counts = egress.write_counts();
    counts.keep();
    let mut call = open(&egress, Mode::Write { deletes: 1 });
    let delete = call.send(request(Method::Delete, &["v2", "load_balancers", "1"]));
    let record = async {
        counts.due().await;
        assert!(server.requests().is_empty(), "nothing leaves that is not recorded");
        let record = counts.record(std::time::Instant::now(), false);
        assert_eq!((&*record.written[0].whose, &*record.written[0].kind), ("endpoint api", "deletion"));
        counts.stored(&record);
    };
    let (answer, ()) = tokio::join!(delete, record);
    assert_eq!(answer.map(|it| it.status), Ok(204));
}

/// The reads of an API with an operation: a form that describes.
fn describe() -> GuestRequest {
    let pairs = [("Action", "DescribeInstances"), ("Version", "2016-11-15")];
    let form = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    GuestRequest { body: Some(Body::Form(form)), ..request(Method::Post, &[]) }
}

/// An egress to an API with an operation, whose answers serve no further reads unless somebody waits for them.
fn action_egress(server: &TestServer, fence: impl Fn() -> bool + Send + Sync + 'static) -> Egress {
    let rule = |operation: &str, effect| Rule {
        operations: vec![OperationPattern::parse(operation).unwrap()],
        effect: Some(effect),
        ..Rule::new([Method::Get, Method::Post], [PathPattern::parse("/").unwrap()])
    };
    let mut api = Endpoint {
        operation: Some(OperationPlace::Parameter("Action".to_owned())),
        allow: vec![rule("Describe*", Effect::Read), rule("Terminate*", Effect::Delete)],
        ..endpoint(&server.url)
    };
    api.limits.reuse = std::time::Duration::ZERO;
    let settings = EgressSettings {
        endpoints: vec![api],
        credentials: Credentials::default(),
        fence: Arc::new(fence),
        demands: Arc::new(|_| Demand::default()),
        reports: Arc::new(|_| ()),
        route: |it| it,
    };
    Egress::new(settings, Metrics::register(&Registry::new()).unwrap()).unwrap_or_else(|error| panic!("{error}"))
}

fn terminate() -> GuestRequest {
    let query = vec![("Action".to_owned(), "TerminateInstances".to_owned())];
    GuestRequest { query, ..request(Method::Get, &[]) }
}

#[tokio::test]
async fn adv_113_a_get_that_terminates_counts_as_a_deletion() {
    let server = TestServer::start("200 OK").await;
    let egress = action_egress(&server, || true);
    assert_denied(open(&egress, Mode::Read).send(terminate()).await, "E-EGRESS-READONLY");
    let mut call = open(&egress, Mode::Write { deletes: 1 });
    assert!(call.send(terminate()).await.is_ok());
    assert_denied(call.send(terminate()).await, "E-EGRESS-BUDGET");
    for _ in 0..19 {
        assert!(open(&egress, Mode::Write { deletes: 1 }).send(terminate()).await.is_ok());
    }
    assert_denied(open(&egress, Mode::Write { deletes: 1 }).send(terminate()).await, "E-EGRESS-WRITES");
    assert_eq!(server.requests().len(), 20, "no equal one was joined or answered from memory");
    let follows = action_egress(&server, || false);
    assert_denied(open(&follows, Mode::Write { deletes: 1 }).send(terminate()).await, "E-EGRESS-LEADER");
}

#[tokio::test]
async fn adv_113_a_lost_lease_stops_a_get_that_waits() {
    let server = TestServer::start("200 OK").await;
    let asked = AtomicU32::new(0);
    let egress = action_egress(&server, move || asked.fetch_add(1, SeqCst) == 0);
    assert_denied(open(&egress, Mode::Write { deletes: 9 }).send(terminate()).await, "E-EGRESS-LEADER");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn equal_reads_of_one_list_are_sent_once() {
    let server = TestServer::start("200 OK").await;
    let egress = action_egress(&server, || false);
    let list = ListReads::default();
    for _ in 0..5 {
        let mut page = open(&egress, Mode::Read).within(list.clone());
        assert_eq!(page.send(describe()).await.map(|it| it.status), Ok(200));
    }
    assert_eq!(server.requests().len(), 1);
    let body = server.requests()[0].split_once("\r\n\r\n").unwrap().1.to_owned();
    assert_eq!(body, "Action=DescribeInstances&Version=2016-11-15");
    assert!(open(&egress, Mode::Read).within(ListReads::default()).send(describe()).await.is_ok());
    assert!(open(&egress, Mode::Read).send(describe()).await.is_ok());
    assert_eq!(server.requests().len(), 3, "another list and another call ask for themselves");
    let mut other = describe();
    other.query = vec![("MaxResults".to_owned(), "5".to_owned())];
    assert!(open(&egress, Mode::Read).within(list).send(other).await.is_ok());
    assert_eq!(server.requests().len(), 4, "it is not equal");
}

#[tokio::test]
async fn a_list_answers_later_calls_until_they_write() {
    let server = TestServer::start("200 OK").await;
    let egress = action_egress(&server, || true);
    let list = ListReads::default();
    assert!(open(&egress, Mode::Read).within(list.clone()).send(describe()).await.is_ok());
    let other = || GuestRequest { query: vec![("MaxResults".to_owned(), "5".to_owned())], ..describe() };
    let later = || open(&egress, Mode::Write { deletes: 9 }).within(list.sealed());
    let mut call = later();
    assert!(call.send(describe()).await.is_ok());
    assert_eq!((server.requests().len(), list.is_whole()), (1, true), "the list has read it");
    assert!(call.send(other()).await.is_ok());
    assert!(later().send(other()).await.is_ok());
    assert_eq!(server.requests().len(), 3, "what a later call reads is not kept");
    assert!(call.send(terminate()).await.is_ok());
    assert!(call.send(describe()).await.is_ok());
    assert_eq!(server.requests().len(), 5, "it has written");
    assert!(later().send(describe()).await.is_ok());
    assert_eq!(server.requests().len(), 5);
}

#[tokio::test]
async fn a_list_remembers_no_refusals() {
    let server = TestServer::start("404 Not Found").await;
    let egress = action_egress(&server, || false);
    let list = ListReads::default();
    for _ in 0..2 {
        assert!(open(&egress, Mode::Read).within(list.clone()).send(describe()).await.is_ok());
    }
    assert!(!list.is_whole() && ListReads::default().is_whole());
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_provider_can_stop_an_endpoint_for_a_while() {
    let server = TestServer::start("200 OK").await;
    let egress = action_egress(&server, || true);
    let second = std::time::Duration::from_secs(1);
    let mut none = open(&egress, Mode::None);
    none.throttle("api", 60 * second, "it has no HTTP");
    let mut call = open(&egress, Mode::Read);
    call.throttle("another", 60 * second, "there is none");
    call.throttle("api", std::time::Duration::ZERO, "no time");
    assert!(call.send(describe()).await.is_ok());
    call.throttle("api", 100_000 * second, "the quota is nearly used up");
    call.throttle("api", second, "a shorter pause takes nothing back");
    match open(&egress, Mode::Write { deletes: 1 }).send(terminate()).await {
        Err(SendError::RetryAfter(after)) => assert!(after > 3_500 * second && after <= 3_600 * second, "{after:?}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn people_hear_once_of_each_endpoint_that_is_stopped() {
    let reported = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let reports = reported.clone();
    let url = |name: &str| Endpoint { name: name.to_owned(), ..endpoint("http://127.0.0.1:1") };
    let settings = EgressSettings {
        endpoints: vec![url("api"), url("metadata")],
        credentials: Credentials::default(),
        fence: Arc::new(|| true),
        demands: Arc::new(|_| Demand::default()),
        reports: Arc::new(move |it| reports.lock().push(it)),
        route: |it| it,
    };
    let egress = Egress::new(settings, Metrics::register(&Registry::new()).unwrap()).unwrap();
    let second = std::time::Duration::from_secs(1);
    for nth in 1..30 {
        let mut call = open(&egress, Mode::Read);
        call.throttle("api", nth * second, &format!("the quota\nis used up, {nth}"));
        call.throttle("metadata", nth * second, "slow down");
        call.throttle("nowhere", nth * second, "there is none");
    }
    let taken = || std::mem::take(&mut *reported.lock());
    let reports = taken();
    let texts: Vec<_> = reports
        .iter()
        .map(|report| match report {
            Report::EndpointPaused(text) => text.as_str(),
            Report::WritesWithheld(text) | Report::EndpointUnreachable(text) => panic!("{text}"),
        })
        .collect();
    assert!(texts[0].starts_with("nothing is sent to endpoint api for 1 s"), "{texts:?}");
    assert!(texts[0].contains("the quota") && !texts[0].contains('\n'), "{texts:?}");
    assert!(texts[1].contains("endpoint metadata") && texts[1].contains("slow down"), "{texts:?}");
    assert_eq!(texts.len(), 2);
    tokio::time::advance(600 * second).await;
    open(&egress, Mode::Read).throttle("api", second, "again");
    assert_eq!(taken().len(), 1, "ten minutes later it is news again");
}

#[tokio::test]
async fn adv_116_throttling_counts_as_a_request() {
    let server = TestServer::start("200 OK").await;
    let egress = action_egress(&server, || true);
    let mut call = open(&egress, Mode::Read);
    for _ in 0..200 {
        call.throttle("nowhere", std::time::Duration::from_secs(1), "flood");
    }
    call.throttle("api", std::time::Duration::from_secs(60), "too late");
    assert_denied(call.send(describe()).await, "E-EGRESS-BUDGET");
    assert!(open(&egress, Mode::Read).send(describe()).await.is_ok(), "others are not stopped");
}
