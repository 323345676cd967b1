//! Watches of an API server with prepared answers, on a clock that jumps.

use std::sync::Arc;

use crate::node_object::KubeNode;
use bytes::Bytes;
use futures::stream;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::client::{Body, Client};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch::{Receiver, channel};
use tokio::task::JoinSet;

use super::*;

/// The API server's answer to one request.
enum Answer {
    /// Sends these lines, and then nothing more.
    Lines(Vec<Value>),
    /// The same, and ends the answer.
    LinesAndEnd(Vec<Value>),
    /// An error.
    Status(u16),
}

/// How long a test waits for requests, on the clock that jumps.
const DEADLINE: Duration = Duration::from_secs(3600);

/// The requests, as the query and when it came; and what was handed on.
type Log = Vec<(String, Instant)>;
type Seen = Arc<Mutex<Vec<String>>>;

struct Rig {
    requests: Receiver<Log>,
    seen: Seen,
    _watch: JoinSet<()>,
}

impl Rig {
    /// Watches nodes of an API server that gives these answers, and then none.
    fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let ((asked, requests), seen) = (channel(Log::default()), Seen::default());
        let answers = Arc::new(Mutex::new(answers.into_iter().collect::<Vec<_>>()));
        answers.lock().reverse();
        let server = tower::service_fn(move |request: Request<Body>| {
            let query = request.uri().query().unwrap_or_default().to_owned();
            asked.send_modify(|it| it.push((query, Instant::now())));
            let answer = answers.lock().pop();
            async move {
                match answer {
                    Some(answer) => Ok::<_, std::io::Error>(response(answer)),
                    None => std::future::pending().await,
                }
            }
        });
        let api = Api::all(Client::new(server, "default"));
        let (records, mut watch) = (seen.clone(), JoinSet::new());
        watch.spawn(async move {
            let apply = |event: Event<KubeNode>| records.lock().push(text(&event));
            match follow(api, "nodes", "the API server", LASTS, apply).await {}
        });
        Self { requests, seen, _watch: watch }
    }

    /// Waits until so many requests have come. The clock jumps meanwhile.
    async fn asked(&self, times: usize) -> Log {
        let mut requests = self.requests.clone();
        let asked = timeout(DEADLINE, requests.wait_for(|it| it.len() >= times)).await;
        asked.expect("in time").expect("the API server is there").clone()
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().clone()
    }
}

fn response(answer: Answer) -> Response<UnsyncBoxBody<Bytes, std::io::Error>> {
    let text = |lines: Vec<Value>| Bytes::from(lines.iter().map(|it| format!("{it}\n")).collect::<String>());
    let whole = |bytes: Bytes| Full::from(bytes).map_err(|never| match never {}).boxed_unsync();
    match answer {
        Answer::LinesAndEnd(lines) => Response::new(whole(text(lines))),
        Answer::Lines(lines) => {
            let sent = http_body::Frame::data(text(lines));
            let frames = stream::once(async { Ok(sent) }).chain(stream::pending());
            Response::new(StreamBody::new(frames).boxed_unsync())
        }
        Answer::Status(code) => {
            let status = json!({ "kind": "Status", "status": "Failure", "message": "no", "reason": "", "code": code });
            Response::builder().status(code).body(whole(text(vec![status]))).unwrap()
        }
    }
}

fn text(event: &Event<KubeNode>) -> String {
    let of = |node: &KubeNode| {
        let metadata = node.metadata.clone();
        format!("{}@{}", metadata.name.unwrap_or_default(), metadata.resource_version.unwrap_or_default())
    };
    match event {
        Event::Init => "list".to_owned(),
        Event::InitApply(it) => format!("listed {}", of(it)),
        Event::InitDone => "complete".to_owned(),
        Event::Apply(it) => format!("changed {}", of(it)),
        Event::Delete(it) => format!("deleted {}", of(it)),
    }
}

fn node(name: &str, version: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "resourceVersion": version } })
}

fn event(kind: &str, name: &str, version: &str) -> Value {
    json!({ "type": kind, "object": node(name, version) })
}

/// The end of a streamed list.
fn complete(version: &str) -> Value {
    let annotations = json!({ LIST_ENDS: "true" });
    let metadata = json!({ "resourceVersion": version, "annotations": annotations });
    json!({ "type": "BOOKMARK", "object": { "apiVersion": "v1", "kind": "Node", "metadata": metadata } })
}

fn forgotten() -> Value {
    json!({ "type": "ERROR", "object": { "status": "Failure", "message": "too old", "reason": "Expired", "code": 410 } })
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_is_given_up_within_45_seconds() {
    let list = vec![event("ADDED", "n1", "3"), complete("5")];
    let rig = Rig::new([Answer::Lines(list), Answer::Lines(vec![event("MODIFIED", "n1", "7")]), Answer::Lines(vec![])]);
    let requests = rig.asked(4).await;
    for (one, next) in requests.iter().zip(&requests[1..]) {
        assert!(next.1 - one.1 <= Duration::from_secs(45), "{requests:?}");
    }
    assert!(requests[1].1 - requests[0].1 < SHORTEST, "a watch that begins with a list lasts too long: {requests:?}");
    assert!(
        requests[1].0.contains("timeoutSeconds=40") && requests[1].0.ends_with("&resourceVersion=5"),
        "{requests:?}"
    );
    assert!(requests[2].0.ends_with("&resourceVersion=7"), "{requests:?}");
    assert_eq!(rig.seen(), ["list", "listed n1@3", "complete", "changed n1@7"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_is_a_consistent_read() {
    let streamed = Rig::new([Answer::Status(422), Answer::LinesAndEnd(Vec::new())]);
    let requests = streamed.asked(2).await;
    assert!(
        requests[0].0.contains("sendInitialEvents=true") && requests[0].0.ends_with("&resourceVersion="),
        "{requests:?}"
    );
    assert!(!requests[1].0.contains("resourceVersion"), "{requests:?}");
}

#[tokio::test(start_paused = true)]
async fn where_lists_are_not_streamed_pages_are_listed() {
    let page = |name: &str, next: &str| {
        let metadata = json!({ "resourceVersion": "9", "continue": next });
        let list = json!({ "kind": "NodeList", "apiVersion": "v1", "metadata": metadata, "items": [node(name, "3")] });
        Answer::LinesAndEnd(vec![list])
    };
    let rig = Rig::new([Answer::Status(400), page("n1", "more"), page("n2", ""), Answer::Lines(Vec::new())]);
    let requests = rig.asked(4).await;
    assert!(requests[2].0.contains("continue=more"), "{requests:?}");
    assert!(requests[3].0.contains("watch=true") && requests[3].0.ends_with("&resourceVersion=9"), "{requests:?}");
    assert_eq!(rig.seen(), ["list", "listed n1@3", "listed n2@3", "complete"]);
}

#[tokio::test(start_paused = true)]
async fn an_older_list_is_discarded_and_asked_for_again() {
    let rig = Rig::new([
        Answer::Lines(vec![event("ADDED", "n1", "3"), complete("5")]),
        Answer::Lines(vec![event("MODIFIED", "n1", "8"), forgotten()]),
        Answer::Lines(vec![event("ADDED", "n1", "3"), complete("7")]),
        Answer::Lines(vec![event("ADDED", "n1", "8"), complete("8")]),
    ]);
    let requests = rig.asked(5).await;
    assert!(requests[2..4].iter().all(|it| it.0.contains("sendInitialEvents=true")), "{requests:?}");
    let expected =
        ["list", "listed n1@3", "complete", "changed n1@8", "list", "listed n1@3", "list", "listed n1@8", "complete"];
    assert_eq!(rig.seen(), expected);
}

#[tokio::test(start_paused = true)]
async fn an_older_change_never_replaces_a_newer_one() {
    let mut changes = ["6", "9", "7", "9", "10"].map(|it| event("MODIFIED", "n1", it)).to_vec();
    changes.push(event("DELETED", "n1", "8"));
    let rig = Rig::new([Answer::Lines(vec![complete("5")]), Answer::Lines(changes)]);
    rig.asked(3).await;
    assert_eq!(rig.seen(), ["list", "complete", "changed n1@6", "changed n1@9", "changed n1@10"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_deleted_while_it_is_listed_is_gone() {
    let rig = Rig::new([Answer::Lines(vec![
        event("ADDED", "n1", "3"),
        event("ADDED", "n2", "4"),
        event("DELETED", "n1", "6"),
        event("DELETED", "n2", "7"),
        event("ADDED", "n2", "8"),
        complete("9"),
    ])]);
    rig.asked(2).await;
    let seen = rig.seen();
    assert_eq!(seen.last().map(String::as_str), Some("deleted n1@6"));
    assert_eq!(seen.iter().filter(|it| it.starts_with("deleted")).count(), 1, "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_fails_again_and_again_asks_less_often() {
    let rig = Rig::new((0..8).flat_map(|_| [vec![complete("5")], vec![forgotten()]].map(Answer::LinesAndEnd)));
    let requests = rig.asked(17).await;
    // Before each list but the first.
    let pauses: Vec<_> = requests[1..].chunks(2).map(|it| it[1].1 - it[0].1).collect();
    assert!(pauses[0] < Duration::from_millis(100), "what is forgotten is listed at once: {pauses:?}");
    assert!(pauses[1..].iter().all(|it| *it >= BACK_OFF.first), "{pauses:?}");
    assert!(pauses[7] >= Duration::from_secs(20), "{pauses:?}");
}

#[tokio::test(start_paused = true)]
async fn one_object_that_cannot_be_read_keeps_no_other_away() {
    let unreadable = json!({ "type": "MODIFIED", "object": { "metadata": { "name": 7 } } });
    let changes = vec![unreadable, event("MODIFIED", "n1", "7")];
    let rig = Rig::new([Answer::Lines(vec![complete("5")]), Answer::Lines(changes)]);
    rig.asked(3).await;
    assert_eq!(rig.seen(), ["list", "complete", "changed n1@7"]);
}
