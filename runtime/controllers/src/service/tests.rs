//! Load balancers of Services that are not there any more, and of Services that claim another's: without an API server.

mod plans;

use budgets::RequestedChanges;
use cloud_provider::{
    CurrentDescription, Deletion, Error as CloudError, Event, Identity as _, LoadBalancerStatus, LoadBalancers,
    PendingStatus, Progress, Reply, Result as CloudResult,
};
use kube::Client;
use kube::runtime::watcher;
use prometheus::Registry;
use scripted_cloud::ScriptedCloud;
use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;

use super::*;
use crate::cluster_facts::ClusterFacts;
use crate::error::Pause;
use crate::events::recorded::RecordedEvent;
use crate::events::{EventKind, Recorder};
use crate::metrics::Metrics;
use crate::nodes::Nodes;
use crate::service::desired::compared_fields;
use crate::service::error::Error;
use crate::service::plan::{Plan, plan};
use crate::service::services::key;
use crate::service::state::AnswerMeaning;
use crate::service::testing::{ID, cluster, service, with_load_balancer};
use crate::worker::{NextSync, Reconcile as _};

const SECOND: Duration = Duration::from_secs(1);

/// There is no such Service.
fn none(name: &str) -> (u16, Value) {
    let details = json!({ "name": name, "kind": "services" });
    (404, failure(404, "NotFound", details))
}

fn failure(code: u16, reason: &str, details: Value) -> Value {
    json!({ "kind": "Status", "status": "Failure", "message": "no", "reason": reason, "code": code, "details": details })
}

/// An API server that knows one Service at most. `None` of `found` is the honest answer that there is no such Service.
fn api_server(found: Arc<Mutex<Option<(u16, Value)>>>) -> Client {
    let server = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let name = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        assert_eq!(request.uri().query().unwrap_or_default(), "", "a consistent read");
        let (code, body) = found.lock().clone().unwrap_or_else(|| none(&name));
        let response = http::Response::builder().status(code);
        async move { response.body(kube::client::Body::from(body.to_string().into_bytes())) }
    });
    Client::new(server, "default")
}

/// The part that syncs these Services, and the events that it records.
fn syncer(
    client: Client,
    load_balancers: Arc<dyn LoadBalancers>,
    versions: watch::Receiver<u64>,
    services: impl IntoIterator<Item = Service>,
) -> (Syncer, Receiver<RecordedEvent>) {
    let metrics = Metrics::register(&Registry::new()).unwrap();
    let (known, mut writer) = Services::new();
    let listed = services.into_iter().map(watcher::Event::InitApply);
    for event in std::iter::once(watcher::Event::Init).chain(listed).chain([watcher::Event::InitDone]) {
        known.apply(event, &mut writer, |_, _| {});
    }
    let (recorder, events) = Recorder::captured();
    let nodes = Nodes::of([]);
    let changes = BackendChanges::new(nodes.clone(), CurrentDescription::default(), false, metrics.queue(NODES));
    let shared = SharedState {
        client,
        cluster: cluster(),
        load_balancers,
        services: known,
        states: States::default(),
        queue: Arc::new(WorkQueue::new(metrics.queue(SERVICES), Limits::per_key(), random)),
        versions,
        requested: RequestedChanges::default(),
        recorder,
        metrics,
    };
    let syncer = Syncer {
        shared: Arc::new(shared),
        facts: watch::channel(ClusterFacts::default()).1,
        lists: None,
        changes: Arc::new(changes),
        confirmations: Arc::new(Confirmations::new(None, nodes.clone())),
        nodes,
        vanished: Mutex::default(),
        events: Mutex::default(),
        back_off: BackOff { first: SECOND, longest: 60 * SECOND },
    };
    (syncer, events)
}

/// The part that syncs beside a cloud and Services that a test makes up.
struct Rig {
    syncer: Syncer,
    cloud: Arc<ScriptedCloud>,
    /// What the API server answers when it is asked for a Service, if not that there is none.
    found: Arc<Mutex<Option<(u16, Value)>>>,
    events: Receiver<RecordedEvent>,
}

impl Rig {
    fn new(
        services: impl IntoIterator<Item = Service>,
        answers: impl IntoIterator<Item = CloudResult<Deletion>>,
    ) -> Self {
        let cloud = Arc::new(ScriptedCloud::default());
        cloud.ensure.answers(|_| panic!("nothing is to be ensured"));
        cloud.delete.answers(|_| panic!("nothing more is to be deleted"));
        cloud.delete.answers_next(answers.into_iter().map(Reply::from));
        let found = Arc::default();
        let client = api_server(Arc::clone(&found));
        let (syncer, events) = syncer(client, cloud.clone(), cloud.versions(), services);
        Self { syncer, cloud, found, events }
    }

    /// The cloud was asked about a Service that is not there any more.
    fn remember(&self, service: &Service) {
        let shared = &self.syncer.shared;
        let Ok(Plan::Ensure(desired)) = plan(service, false, &shared.cluster) else { panic!("it wants one") };
        shared.states.of(&key(service), service, |state| {
            let _ = state.next_step(&compared_fields(desired), &Arc::default(), Instant::now());
            state.begin_call(None);
        });
    }

    async fn reconcile(&self, service: &Service) -> Result<NextSync, Error> {
        self.syncer.reconcile(&key(service)).await
    }

    /// The memos of the deletions that the cloud was asked for.
    fn deleted(&self) -> Vec<Option<String>> {
        self.cloud.delete.calls().iter().map(|it| it.memo.clone()).collect()
    }

    fn told(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.events.try_recv().ok()).map(|it| it.reason).collect()
    }

    /// What the API server answers from now on when it is asked for a Service.
    fn finds(&self, code: u16, body: Value) {
        *self.found.lock() = Some((code, body));
    }

    fn is_forgotten(&self, service: &Service) -> bool {
        self.syncer.shared.states.with(&key(service), |_| ()).is_none()
    }
}

/// A Service with a load balancer whose memo is this.
fn status(name: &str, uid: &str, memo: Option<&str>) -> Service {
    let mut change = with_load_balancer();
    change["metadata"]["name"] = json!(name);
    change["metadata"]["uid"] = json!(uid);
    change["metadata"]["annotations"] = json!({ ID: "lb-1" });
    match memo {
        Some(memo) => change["status"]["conditions"][0]["message"] = json!(memo),
        None => change["status"]["conditions"] = Value::Null,
    }
    service(change)
}

fn pending(memo: Option<&str>) -> CloudResult<Deletion> {
    let status = LoadBalancerStatus { memo: memo.map(str::to_owned), ..LoadBalancerStatus::default() };
    Ok(Deletion::Pending(PendingStatus { status, after: 7 * SECOND, reason: "it is locked".to_owned() }))
}

#[tokio::test(start_paused = true)]
async fn an_orphan_is_deleted_step_by_step() {
    let gone = status("s1", "u1", Some("lb-1"));
    let mut rig = Rig::new([], [pending(None), pending(Some("lb-1 going")), Ok(Deletion::Done)]);
    rig.remember(&gone);
    for _ in 0..2 {
        assert_eq!(rig.reconcile(&gone).await.unwrap(), NextSync::After(7 * SECOND));
        tokio::time::advance(6 * SECOND).await;
        assert_eq!(rig.reconcile(&gone).await.unwrap(), NextSync::After(SECOND), "the cloud is busy");
        tokio::time::advance(SECOND).await;
    }
    assert_eq!(rig.reconcile(&gone).await.unwrap(), NextSync::Done);
    assert_eq!(rig.deleted(), [Some("lb-1"), Some("lb-1"), Some("lb-1 going")].map(|it| it.map(str::to_owned)));
    assert!(rig.is_forgotten(&gone));
    assert_eq!(rig.told(), ["DeletingLoadBalancer", "DeletedLoadBalancer"]);
}

#[tokio::test(start_paused = true)]
async fn an_illegal_move_of_a_state_is_refused_and_told_once() {
    let gone = status("s1", "u1", Some("lb-1"));
    let rig = Rig::new([], [pending(None), pending(None)]);
    rig.remember(&gone);
    rig.syncer.shared.states.with(&key(&gone), |state| {
        state.follow(AnswerMeaning::Pending(Instant::now() + SECOND));
        state.settle();
        assert!(!state.is_at_ease(), "without a call there is no answer");
    });
    let told = rig.reconcile(&gone).await.unwrap_err();
    let (reason, message) = told.event();
    assert_eq!(reason, "SyncLoadBalancerFailed");
    assert!(message.contains("is pending cannot become settled, and stays as it is: this is a fault"), "{message}");
    tokio::time::advance(7 * SECOND).await;
    assert_eq!(rig.reconcile(&gone).await.unwrap(), NextSync::After(7 * SECOND), "its work goes on");
}

#[tokio::test(start_paused = true)]
async fn a_long_pending_load_balancer_is_recorded_with_its_reason() {
    let gone = status("s1", "u1", Some("lb-1"));
    let mut rig = Rig::new([], [pending(None), pending(None), Ok(Deletion::Done)]);
    rig.remember(&gone);
    let longest = rig.syncer.shared.metrics.longest_pending.clone();
    rig.reconcile(&gone).await.unwrap();
    tokio::time::advance(119 * SECOND).await;
    rig.syncer.look_at_waiting(Instant::now());
    assert_eq!((longest.get(), rig.told()), (119.0, vec!["DeletingLoadBalancer".to_owned()]));
    // Asking again does not make the wait begin again.
    rig.reconcile(&gone).await.unwrap();
    tokio::time::advance(SECOND).await;
    rig.syncer.look_at_waiting(Instant::now());
    let told = rig.events.try_recv().unwrap();
    assert_eq!((told.kind, told.reason.as_str()), (EventKind::Normal, "LoadBalancerPending"));
    assert!(told.message.ends_with(": it is locked"), "{}", told.message);
    rig.syncer.look_at_waiting(Instant::now());
    assert!(rig.told().is_empty(), "it is recorded rarely");

    tokio::time::advance(6 * SECOND).await;
    rig.reconcile(&gone).await.unwrap();
    rig.syncer.look_at_waiting(Instant::now());
    assert_eq!(longest.get(), 0.0);
}

#[tokio::test]
async fn a_load_balancer_that_stays_is_not_called_deleted() {
    let gone = status("s1", "u1", None);
    let mut rig = Rig::new([], []);
    let kind = cloud_provider::EventKind::Warning;
    let (reason, message) = ("LoadBalancerNotDeleted".to_owned(), "lb-1 stays".to_owned());
    let events = vec![Event { about: None, kind, reason, message }];
    rig.cloud.delete.answers_next([Reply { answer: Ok(Deletion::Done), events, wrote: false }]);
    rig.remember(&gone);
    assert_eq!(rig.reconcile(&gone).await.unwrap(), NextSync::Done);
    assert_eq!(rig.told(), ["DeletingLoadBalancer", "LoadBalancerNotDeleted"]);
}

#[tokio::test]
async fn an_orphan_belongs_to_the_next_service_with_its_memo() {
    let gone = status("s1", "u1", Some("lb-1"));
    let mut rig = Rig::new([status("restored", "u2", Some("lb-1"))], []);
    rig.remember(&gone);
    assert_eq!(rig.reconcile(&gone).await.unwrap(), NextSync::Done);
    assert!(rig.deleted().is_empty() && rig.is_forgotten(&gone) && rig.told().is_empty());
}

/// Cases: theft-by-memo
#[tokio::test]
async fn theft_by_a_deletion_ends_at_the_memo_of_another_service() {
    let gone = status("s1", "u1", None);
    let owner = status("owner", "u2", Some("lb-1"));
    let mut rig = Rig::new([owner], [pending(Some("lb-1")), Ok(Deletion::Done)]);
    rig.remember(&gone);
    assert_eq!(rig.reconcile(&gone).await.unwrap(), NextSync::Done);
    assert_eq!(rig.deleted(), [None, None]);
    let claims: Vec<_> = rig.cloud.delete.calls().iter().map(|it| !it.annotations.is_empty()).collect();
    assert_eq!(claims, [true, false], "the second time it says nothing of whose it is");
    assert_eq!(rig.told(), ["DeletingLoadBalancer", "LoadBalancerNotDeleted"], "another's stays");
}

/// Cases: theft-by-memo
#[tokio::test]
async fn theft_by_a_deletion_is_refused_if_the_provider_insists() {
    let gone = status("s1", "u1", None);
    let owner = status("owner", "u2", Some("lb-1"));
    let rig = Rig::new([owner], [pending(Some("lb-1")), pending(Some("lb-1"))]);
    rig.remember(&gone);
    let Err(Error::Vanished(CloudError::Invalid(message))) = rig.reconcile(&gone).await else {
        panic!("it is refused")
    };
    assert!(message.contains("default/owner") && message.contains("default/s1"), "{message}");
    assert_eq!(rig.syncer.shared.states.with("default/s1", |it| it.work.memo.clone()).flatten(), None);
}

#[tokio::test]
async fn a_deletion_is_not_told_the_hostname_of_another_service() {
    let reached = |name: &str, uid: &str| {
        let ingress = json!([{ "hostname": "lb-1.example" }]);
        let status = json!({ "loadBalancer": { "ingress": ingress } });
        service(json!({ "metadata": { "name": name, "uid": uid }, "status": status }))
    };
    for (others, told) in [(vec![reached("other", "u2")], 0), (Vec::new(), 1)] {
        let gone = reached("s1", "u1");
        let rig = Rig::new(others, [Ok(Deletion::Done)]);
        rig.remember(&gone);
        assert_eq!(rig.reconcile(&gone).await.unwrap(), NextSync::Done);
        let asked: Vec<usize> = rig.cloud.delete.calls().iter().map(|it| it.current_ingress.len()).collect();
        assert_eq!(asked, [told]);
    }
}

#[tokio::test]
async fn a_deletion_that_fails_keeps_what_is_remembered() {
    let gone = status("s1", "u1", Some("lb-1"));
    let mut rig = Rig::new([], [Err(CloudError::Unavailable("down".to_owned())), Ok(Deletion::Done)]);
    rig.remember(&gone);
    let error = rig.reconcile(&gone).await.unwrap_err();
    rig.syncer.show("default/s1", &error, 0);
    assert!(!rig.is_forgotten(&gone));
    assert_eq!(rig.reconcile(&gone).await.unwrap(), NextSync::Done);
    assert_eq!(rig.told(), ["DeletingLoadBalancer", "DeleteLoadBalancerFailed", "DeletedLoadBalancer"]);
}

#[tokio::test]
async fn case_134_a_service_that_nobody_knows_is_nothing() {
    let mut rig = Rig::new([], []);
    assert_eq!(rig.reconcile(&status("s1", "u1", None)).await.unwrap(), NextSync::Done);
    assert!(rig.deleted().is_empty() && rig.told().is_empty());
}

#[tokio::test]
async fn case_116_a_gone_service_without_load_balancer_is_ignored() {
    let rig = Rig::new([], []);
    let depth = || rig.syncer.shared.metrics.queue(SERVICES).depth.get();
    rig.syncer.on_service_event("default/s1", None);
    assert_eq!(depth(), 0);
    rig.remember(&status("s1", "u1", Some("lb-1")));
    rig.syncer.on_service_event("default/s1", None);
    assert_eq!(depth(), 1);
}

#[tokio::test]
async fn a_service_that_is_there_keeps_its_load_balancer() {
    let there = status("s1", "u1", Some("lb-1"));
    let mut rig = Rig::new([], [Ok(Deletion::Done)]);
    rig.remember(&there);
    rig.finds(200, serde_json::to_value(&there).unwrap());
    assert_eq!(rig.reconcile(&there).await.unwrap(), NextSync::After(10 * SECOND));
    assert!(rig.deleted().is_empty() && !rig.is_forgotten(&there) && rig.told().is_empty());

    rig.finds(200, serde_json::to_value(status("s1", "u2", None)).unwrap());
    assert_eq!(rig.reconcile(&there).await.unwrap(), NextSync::Done);
    assert_eq!(rig.deleted(), [Some("lb-1".to_owned())], "another Service has its name");
}

#[tokio::test]
async fn an_older_namesake_takes_nothing_from_a_service() {
    let (older, there) = (status("s1", "u0", None), status("s1", "u1", Some("lb-1")));
    let rig = Rig::new([older], []);
    rig.remember(&there);
    rig.finds(200, serde_json::to_value(&there).unwrap());
    assert_eq!(rig.reconcile(&there).await.unwrap(), NextSync::After(10 * SECOND));
    let memo = rig.syncer.shared.states.with("default/s1", |it| it.work.memo.clone()).flatten();
    assert_eq!(memo.as_deref(), Some("lb-1"), "it is remembered");
}

#[tokio::test]
async fn an_answer_that_is_not_about_a_service_deletes_nothing() {
    let gone = status("s1", "u1", Some("lb-1"));
    let mut rig = Rig::new([], [Ok(Deletion::Done)]);
    rig.remember(&gone);
    let nothing = || Value::Null;
    let another = json!({ "name": "s2", "kind": "services" });
    let namespace = json!({ "name": "s1", "kind": "namespaces" });
    for (code, body) in [
        (500, failure(500, "InternalError", nothing())),
        (403, failure(403, "Forbidden", nothing())),
        (404, failure(404, "NotFound", nothing())),
        (404, failure(404, "NotFound", another)),
        (404, failure(404, "NotFound", namespace)),
        (404, json!("404 page not found")),
        (200, json!("a page")),
    ] {
        rig.finds(code, body.clone());
        let Err(error @ Error::Unknown(_)) = rig.reconcile(&gone).await else { panic!("{code} {body} is an answer") };
        assert_eq!(error.event().0, "DeleteLoadBalancerFailed");
        assert_eq!(error.pause(rig.syncer.back_off, 1), Pause::AtLeast(2 * SECOND));
    }
    assert!(rig.deleted().is_empty() && rig.told().is_empty());
    *rig.found.lock() = None;
    assert_eq!(rig.reconcile(&gone).await.unwrap(), NextSync::Done);
    assert_eq!(rig.deleted().len(), 1);
}

/// Lets all of these Services vanish. Returns how many load balancers were deleted.
async fn bring_all(rig: &Rig, gone: &[Service]) -> usize {
    let before = rig.deleted().len();
    for service in gone.iter().filter(|it| !rig.is_forgotten(it)) {
        match rig.reconcile(service).await {
            Ok(next) => assert_eq!(next, NextSync::Done),
            Err(error @ Error::Withheld(_)) => {
                rig.syncer.show(&key(service), &error, 0);
                assert_eq!(error.pause(rig.syncer.back_off, 0), Pause::AtLeast(300 * SECOND));
            }
            Err(error) => panic!("{error}"),
        }
    }
    rig.deleted().len() - before
}

#[tokio::test(start_paused = true)]
async fn few_of_many_orphans_are_deleted_unless_approved() {
    let gone: Vec<_> = (0..50).map(|it| status(&format!("s{it}"), &format!("u{it}"), None)).collect();
    let mut rig = Rig::new([], (0..50).map(|_| Ok(Deletion::Done)));
    gone.iter().for_each(|it| rig.remember(it));
    assert_eq!(bring_all(&rig, &gone).await, 5, "a tenth");
    assert_eq!(bring_all(&rig, &gone).await, 0);
    assert_eq!(rig.syncer.shared.metrics.load_balancers_withheld.get(), 90);
    let told = rig.told().into_iter().filter(|it| it == "LoadBalancerNotDeleted").count();
    assert_eq!(told, 45, "once for each");
    tokio::time::advance(600 * SECOND).await;
    assert_eq!(bring_all(&rig, &gone).await, 4, "a tenth of those that are left");
    rig.syncer.shared.requested.approve(Instant::now());
    let waiting = rig.syncer.shared.states.all(|it| it.allowed(rig.syncer.shared.rights()).len());
    assert_eq!(waiting, 41, "whoever waits is reconciled again");
    assert_eq!(bring_all(&rig, &gone).await, 41);
}

#[tokio::test(start_paused = true)]
async fn another_credential_brings_a_denied_service_back_at_once() {
    let service = status("s1", "u1", None);
    let Rig { syncer, cloud, .. } = Rig::new([], []);
    let shared = syncer.shared.clone();
    let syncer = Arc::new(syncer);
    let start_work = || {
        let rights = shared.rights();
        shared.states.with(&key(&service), |it| it.start_work(rights));
    };
    let denied = Error::Ensure(CloudError::Denied("no".to_owned()));
    let back = async || {
        let began = Instant::now();
        let work = tokio::time::timeout(60 * SECOND, shared.queue.next()).await.expect("it is back").unwrap();
        let key = work.key().to_owned();
        work.succeeded();
        (key, began.elapsed())
    };
    let expected = (key(&service), Duration::ZERO);
    let mut retries = JoinSet::new();
    retries.spawn(syncer.clone().look_after_waiting());
    shared.states.of(&key(&service), &service, |_| ());
    for _ in 0..2 {
        start_work();
        syncer.show(&key(&service), &denied, 0);
        cloud.gets_another_credential();
        assert_eq!(back().await, expected, "nobody waits for the next time that it is looked at");
    }
    start_work();
    syncer.show(&key(&service), &denied, 0);
    shared.requested.approve(Instant::now());
    assert_eq!(back().await, expected, "so does an approval");

    // It was denied with the old credential, after the new one had come.
    retries.shutdown().await;
    start_work();
    cloud.gets_another_credential();
    syncer.show(&key(&service), &denied, 0);
    assert_eq!(back().await, expected);
}

#[tokio::test(start_paused = true)]
async fn three_orphans_are_always_deleted_and_a_retry_is_free() {
    let gone: Vec<_> = (0..5).map(|it| status(&format!("s{it}"), &format!("u{it}"), None)).collect();
    let down = || Err(CloudError::Unavailable("down".to_owned()));
    let rig = Rig::new([], [down(), down(), Ok(Deletion::Done), Ok(Deletion::Done), Ok(Deletion::Done)]);
    gone.iter().for_each(|it| rig.remember(it));
    for _ in 0..2 {
        assert!(matches!(rig.reconcile(&gone[0]).await, Err(Error::Vanished(_))));
    }
    assert_eq!(bring_all(&rig, &gone).await, 3);
}
