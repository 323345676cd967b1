//! A cloud with load balancers that does as it is told, and remembers what it was asked.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cloud_provider::{
    Deletion, Description, Error, Event, Ingress, IngressDescription, LoadBalancer, LoadBalancerStatus, PendingStatus,
    Progress, Reply, Result,
};
use jiff::Timestamp;
use scripted_cloud::ScriptedCloud;
use tests::rig::{self, FakeCloud};
use tokio::sync::watch;

/// An annotation that the provider reads.
pub(crate) const SIZE: &str = "example.com/size";
/// An annotation that the provider reads, and may ask for.
pub(crate) const ID: &str = "example.com/id";

/// A finalizer of an earlier controller, which may be taken off.
pub(crate) const EARLIER: &str = "example.com/earlier";
/// A finalizer that the provider describes, and that may not be taken off.
pub(crate) const OTHERS: &str = "example.com/others";
/// An annotation that selects nodes.
pub(crate) const NODES: &str = "example.com/nodes";
/// The annotation of old for source ranges, which the provider reads.
pub(crate) const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

/// The cloud's answer about a Service.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// To `ensure`: it is as desired. To `delete`: it is gone.
    Done(LoadBalancerStatus),
    /// A step was made.
    Pending(PendingStatus),
    /// A step failed, and its status is kept. To `ensure` only.
    Failed(LoadBalancerStatus, Error),
    /// It stays in the cloud, for this reason. To `delete` only.
    Kept(String),
    /// Somebody else serves it.
    Elsewhere,
    /// This error.
    Error(Error),
    /// The provider panics.
    Panic,
}

/// A kind of call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Act {
    Ensure,
    Delete,
}

/// One call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) act: Act,
    pub(crate) desired: LoadBalancer,
    /// When it came, by the clock of the API server's audit log.
    pub(crate) at: Timestamp,
    /// When it came, for pauses.
    pub(crate) began: Instant,
    /// How many calls were in flight then, this one included.
    pub(crate) in_flight: usize,
}

impl Call {
    /// The call as `ensure s1`.
    pub(crate) fn name(&self) -> String {
        let act = match self.act {
            Act::Ensure => "ensure",
            Act::Delete => "delete",
        };
        format!("{act} {}", self.desired.owner.name)
    }

    /// The names of the nodes in the desired.
    pub(crate) fn nodes(&self) -> Vec<&str> {
        self.desired.nodes.iter().map(|it| it.name.as_str()).collect()
    }
}

/// A cloud that does as it is told. No two calls about one Service may ever overlap: it panics in the end if they did.
pub(crate) struct Cloud {
    pub(crate) script: Arc<ScriptedCloud>,
    told: Arc<Shared>,
    /// Whether the annotation [`NODES`] is described, which selects nodes.
    selects_nodes: bool,
    /// The description of where load balancers are reached.
    ingress: IngressDescription,
    /// The labels of nodes that it is shown.
    shown_labels: Vec<String>,
}

/// The answers that were prepared for the cloud, and the calls that it got.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// The Services whose answers are held back.
    held: watch::Sender<BTreeSet<String>>,
}

#[derive(Default)]
struct State {
    ensures: BTreeMap<String, Script>,
    deletes: BTreeMap<String, Script>,
    calls: Vec<Call>,
    in_flight: Vec<String>,
    overlaps: Vec<String>,
}

#[derive(Clone, Default)]
struct Script {
    next: VecDeque<Answer>,
    always: Option<Answer>,
    events: Vec<Event>,
    /// How many of the next calls write.
    writes: usize,
}

impl Cloud {
    pub(crate) fn new() -> Arc<Cloud> {
        Cloud::with(false, rig::description().ingress, &[])
    }

    /// A cloud that describes the annotation [`NODES`], which selects nodes.
    pub(crate) fn selecting_nodes() -> Arc<Cloud> {
        Cloud::with(true, rig::description().ingress, &[])
    }

    /// A cloud that describes only this of where its load balancers are reached.
    pub(crate) fn reached(ingress: IngressDescription) -> Arc<Cloud> {
        Cloud::with(false, ingress, &[])
    }

    /// A cloud whose provider is shown this label of nodes.
    pub(crate) fn shown(label: &str) -> Arc<Cloud> {
        Cloud::with(false, rig::description().ingress, &[label])
    }

    fn with(selects_nodes: bool, ingress: IngressDescription, shown_labels: &[&str]) -> Arc<Cloud> {
        let (script, told) = (Arc::new(ScriptedCloud::default()), Arc::<Shared>::default());
        let (ensured, deleted) = (told.clone(), told.clone());
        script.ensure.answers_later(move |desired| ensured.clone().ensure(desired));
        script.delete.answers_later(move |unwanted| deleted.clone().delete(unwanted));
        let shown_labels = shown_labels.iter().map(|it| (*it).to_owned()).collect();
        Arc::new(Cloud { script, told, selects_nodes, ingress, shown_labels })
    }

    /// From now on this is the answer to `ensure`. Until then it is `192.0.2.1`.
    pub(crate) fn ensures(&self, service: &str, answer: Answer) {
        self.lock().ensures.entry(service.to_owned()).or_default().always = Some(answer);
    }

    /// These are the next answers to `ensure`, each for one call.
    pub(crate) fn ensures_next(&self, service: &str, answers: impl IntoIterator<Item = Answer>) {
        self.lock().ensures.entry(service.to_owned()).or_default().next.extend(answers);
    }

    /// From now on this is the answer to `delete`. Until then it is done.
    pub(crate) fn deletes(&self, service: &str, answer: Answer) {
        self.lock().deletes.entry(service.to_owned()).or_default().always = Some(answer);
    }

    /// These are the next answers to `delete`, each for one call.
    pub(crate) fn deletes_next(&self, service: &str, answers: impl IntoIterator<Item = Answer>) {
        self.lock().deletes.entry(service.to_owned()).or_default().next.extend(answers);
    }

    /// The next so many calls of `ensure` write to the cloud. Until then none does.
    pub(crate) fn writes_next(&self, service: &str, calls: usize) {
        self.lock().ensures.entry(service.to_owned()).or_default().writes = calls;
    }

    /// From now on this is said beside each answer to `ensure`.
    pub(crate) fn events(&self, service: &str, events: Vec<Event>) {
        self.lock().ensures.entry(service.to_owned()).or_default().events = events;
    }

    /// From now on the credential is another one, of this account.
    pub(crate) fn is_of(&self, account: &str) {
        self.script.belongs_to(account);
        self.script.gets_another_credential();
    }

    /// From now on the credential is another one, that does not tell its account.
    pub(crate) fn tells_no_account(&self) {
        self.script.names(Ok(None));
        self.script.gets_another_credential();
    }

    /// Holds answers about a Service back. Which answer it is has been decided when the call came.
    pub(crate) fn hold(&self, service: &str) {
        self.told.held.send_if_modified(|it| it.insert(service.to_owned()));
    }

    /// Lets answers about a Service go.
    pub(crate) fn release(&self, service: &str) {
        self.told.held.send_if_modified(|it| it.remove(service));
    }

    /// All calls until now, in order.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.lock().calls.clone()
    }

    /// The calls until now, as `ensure s1`.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.calls().iter().map(Call::name).collect()
    }

    /// How many calls came until now.
    pub(crate) fn count(&self) -> usize {
        self.lock().calls.len()
    }

    /// The calls about one Service.
    pub(crate) fn about(&self, service: &str) -> Vec<Call> {
        let mut calls = self.calls();
        calls.retain(|it| it.desired.owner.name == service);
        calls
    }

    /// How many calls wait for their answer now.
    pub(crate) fn in_flight(&self) -> usize {
        self.lock().in_flight.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.told.lock()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a call down, waits as long as it is held back, and gives what has to be answered, with what is said beside it.
    async fn called(&self, act: Act, desired: &LoadBalancer) -> Reply<Answer> {
        let service = desired.owner.name.clone();
        let script = {
            let mut told = self.lock();
            if told.in_flight.contains(&service) {
                told.overlaps.push(format!("{act:?} {service}"));
            }
            told.in_flight.push(service.clone());
            let in_flight = told.in_flight.len();
            let (at, began) = (Timestamp::now(), Instant::now());
            told.calls.push(Call { act, desired: desired.clone(), at, began, in_flight });
            let scripts = match act {
                Act::Ensure => &mut told.ensures,
                Act::Delete => &mut told.deletes,
            };
            let script = scripts.entry(service.clone()).or_default();
            let answer = script.next.pop_front().or_else(|| script.always.clone());
            let answer = answer.unwrap_or_else(|| Answer::Done(at_address("192.0.2.1")));
            let wrote = script.writes > 0;
            script.writes = script.writes.saturating_sub(1);
            Reply { answer, events: script.events.clone(), wrote }
        };
        let _flight = Flight { told: self, service: service.clone() };
        let mut held = self.held.subscribe();
        held.wait_for(|it| !it.contains(&service)).await.expect("the cloud has the sender");
        script
    }

    async fn ensure(self: Arc<Self>, desired: LoadBalancer) -> Reply<Result<Progress>> {
        let Reply { answer, events, wrote } = self.called(Act::Ensure, &desired).await;
        let answer = match answer {
            Answer::Done(standing) => Ok(Progress::Ready(standing)),
            Answer::Pending(pending_status) => Ok(Progress::Pending(pending_status)),
            Answer::Failed(status, error) => Ok(Progress::Failed(status, error)),
            Answer::Kept(_) => panic!("nothing is kept that shall be there"),
            Answer::Elsewhere => Ok(Progress::NotManaged),
            Answer::Error(error) => Err(error),
            Answer::Panic => panic!("the provider panics about {}", desired.owner.name),
        };
        Reply { answer, events, wrote }
    }

    async fn delete(self: Arc<Self>, unwanted: LoadBalancer) -> Reply<Result<Deletion>> {
        let Reply { answer, events, wrote } = self.called(Act::Delete, &unwanted).await;
        let answer = match answer {
            Answer::Done(_) | Answer::Elsewhere => Ok(Deletion::Done),
            Answer::Pending(pending_status) => Ok(Deletion::Pending(pending_status)),
            Answer::Failed(..) => panic!("a deletion that failed is an error"),
            Answer::Kept(reason) => Ok(Deletion::Kept(reason)),
            Answer::Error(error) => Err(error),
            Answer::Panic => panic!("the provider panics about {}", unwanted.owner.name),
        };
        Reply { answer, events, wrote }
    }
}

impl FakeCloud for Cloud {
    fn offered(self: &Arc<Self>) -> cloud_provider::Cloud {
        let cloud = offer(&self.script, self.selects_nodes);
        let (ingress, shown_labels) = (self.ingress, self.shown_labels.clone());
        let description = Description { ingress, shown_labels, ..(*cloud.description.now()).clone() };
        cloud_provider::Cloud { description: Arc::new(description).into(), ..cloud }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let overlaps = std::mem::take(&mut self.lock().overlaps);
        if !std::thread::panicking() {
            assert!(overlaps.is_empty(), "two calls about one Service at once: {overlaps:?}");
        }
    }
}

/// A call whose answer is outstanding, also one that is given up.
struct Flight<'a> {
    told: &'a Shared,
    service: String,
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        let mut told = self.told.lock();
        let place = told.in_flight.iter().position(|it| *it == self.service);
        told.in_flight.remove(place.expect("it was put there"));
    }
}

/// A cloud that has load balancers and nothing else.
pub(crate) fn offer(script: &Arc<ScriptedCloud>, selects_nodes: bool) -> cloud_provider::Cloud {
    let annotation = |key: &str, doc: &str| cloud_provider::Annotation {
        key: key.to_owned(),
        values: "any text".to_owned(),
        default: None,
        doc: doc.to_owned(),
        ..cloud_provider::Annotation::default()
    };
    let mut annotations = vec![
        annotation(SIZE, "How large it is."),
        annotation(ID, "Which one it is."),
        annotation(SOURCE_RANGES, "Who."),
    ];
    if selects_nodes {
        annotations.push(cloud_provider::Annotation { selects_nodes, ..annotation(NODES, "Which nodes.") });
    }
    let description = Description {
        annotations,
        writes_annotations: vec![ID.to_owned()],
        finalizers: vec![EARLIER.to_owned(), OTHERS.to_owned()],
        takes_finalizers: vec![EARLIER.to_owned()],
        ..rig::description()
    };
    cloud_provider::Cloud { load_balancers: Some(script.clone()), ..script.offering(Arc::new(description)) }
}

/// A load balancer with an address.
pub(crate) fn at_address(ip: &str) -> LoadBalancerStatus {
    let ingress = Ingress { ip: Some(ip.to_owned()), ..Ingress::default() };
    LoadBalancerStatus { ingress: vec![ingress], ..LoadBalancerStatus::default() }
}

/// It is there, with an address and a memo.
pub(crate) fn ready(ip: &str, memo: &str) -> Answer {
    Answer::Done(LoadBalancerStatus { memo: Some(memo.to_owned()), ..at_address(ip) })
}

/// It is being built, and its memo is known.
pub(crate) fn building(memo: &str, after: Duration) -> Answer {
    let standing = LoadBalancerStatus { memo: Some(memo.to_owned()), ..LoadBalancerStatus::default() };
    Answer::Pending(PendingStatus { status: standing, after, reason: "it is being built".to_owned() })
}

/// The cloud is down.
pub(crate) fn unavailable() -> Answer {
    Answer::Error(Error::Unavailable("cloud is down".to_owned()))
}

/// The cloud wants a pause.
pub(crate) fn retry_after(after: Duration) -> Answer {
    Answer::Error(Error::RetryAfter { after, reason: "HTTP 429: slow down".to_owned() })
}
