mod asked;
mod batches;
mod spellings;
mod whose;

use async_trait::async_trait;
use cloud_provider::{Address, AddressKind, Description, Event, EventKind, Gap, Identity, Page, Reply, State};
use k8s_openapi::api::core::v1::{NodeAddress, NodeSpec, Taint};
use parking_lot::Mutex;

use super::joining::{FEW, GATHER, Situation, Strategy, strategy};
use super::*;
use crate::freshness::LATER_TURN;

const AGAIN: Freshness = LATER_TURN.at_any_time();

/// A cloud that knows machines, counts calls, and fails as prepared.
#[derive(Default)]
struct Fake {
    machines: Vec<Instance>,
    /// Machines that `list` leaves out.
    unlisted: Vec<String>,
    incomplete: Option<String>,
    /// The zone that is missing, and why.
    gap: Option<(String, String)>,
    /// Errors of the next pages.
    failures: Mutex<Vec<Error>>,
    events: Vec<Event>,
    /// How long a call takes.
    delay: Duration,
    /// Since when this version serves.
    replaced: Mutex<Option<Instant>>,
    calls: Mutex<Vec<String>>,
    /// Notified when a question is cut off.
    cut: tokio::sync::Notify,
    /// The provider ids whose words were asked for, call by call.
    canonical: Mutex<Vec<String>>,
}

/// A question that is under way.
struct Running<'a> {
    cut: &'a tokio::sync::Notify,
    has_ended: bool,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.cut.notify_one();
        }
    }
}

impl Fake {
    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock())
    }
}

#[async_trait]
impl Identity for Fake {
    async fn identity(&self) -> Result<Option<String>> {
        Ok(None)
    }

    fn replaced(&self) -> Option<Instant> {
        *self.replaced.lock()
    }
}

#[async_trait]
impl Instances for Fake {
    async fn get(&self, nodes: &[cloud_provider::Node]) -> Reply<Vec<Result<Option<Instance>>>> {
        let names: Vec<_> = nodes.iter().map(|it| it.name.as_str()).collect();
        self.calls.lock().push(format!("get {}", names.join(" ")));
        let mut running = Running { cut: &self.cut, has_ended: false };
        tokio::time::sleep(self.delay).await;
        running.has_ended = true;
        let found = |node: &cloud_provider::Node| match &node.provider_id {
            Some(id) => self.machines.iter().find(|it| it.provider_id.as_ref() == Some(id)),
            None => self.machines.iter().find(|it| it.name == node.name),
        };
        let answer = nodes.iter().map(|it| Ok(found(it).cloned())).collect();
        Reply { answer, events: self.events.clone(), wrote: false }
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<Page>> {
        let from: usize = cursor.map_or(0, |it| it.parse().unwrap());
        self.calls.lock().push(format!("list {from} {limit}"));
        tokio::time::sleep(self.delay).await;
        if let Some(error) = self.failures.lock().pop() {
            return Err(error).into();
        }
        let listed: Vec<_> = self.machines.iter().filter(|it| !self.unlisted.contains(&it.name)).collect();
        let to = listed.len().min(from + limit as usize);
        Ok(Page {
            instances: listed[from..to].iter().map(|it| (*it).clone()).collect(),
            next: (to < listed.len()).then(|| to.to_string()),
            gaps: self
                .incomplete
                .clone()
                .map(|reason| Gap { zone: None, reason })
                .into_iter()
                .chain(self.gap.clone().map(|(zone, reason)| Gap { zone: Some(zone), reason }))
                .collect(),
        })
        .into()
    }

    /// In this cloud the case of letters does not count, and ids with a minus sign are none.
    async fn canonical_ids(&self, provider_ids: &[String]) -> Vec<Result<String>> {
        self.canonical.lock().push(provider_ids.join(" "));
        let word = |id: &String| match id.contains('-') {
            true => Err(Error::Invalid("no such id".into())),
            false => Ok(id.to_lowercase()),
        };
        provider_ids.iter().map(word).collect()
    }
}

fn instance(nth: usize) -> Instance {
    Instance {
        name: format!("n{nth}"),
        provider_id: Some(format!("fake://{nth}")),
        state: State::Running,
        machine_type: None,
        zone: None,
        region: None,
        addresses: vec![Address { kind: AddressKind::InternalIp, value: format!("10.0.{}.{}", nth / 256, nth % 256) }],
        labels: Vec::new(),
        ..Instance::default()
    }
}

fn machines(count: usize) -> Vec<Instance> {
    (1..=count).map(instance).collect()
}

/// A node that waits.
fn node(nth: usize) -> Node {
    let taint = Taint { key: crate::node_fields::UNINITIALIZED.into(), ..Taint::default() };
    let spec = NodeSpec { taints: Some(vec![taint]), ..NodeSpec::default() };
    let mut node = Node { spec: Some(spec), ..Node::default() };
    node.metadata.name = Some(format!("n{nth}"));
    node
}

/// A node that has a provider id, and waits.
fn known(nth: usize, provider_id: &str) -> Node {
    let mut node = node(nth);
    node.spec.get_or_insert_default().provider_id = Some(provider_id.into());
    node
}

fn inventory(fake: &Arc<Fake>, nodes: impl IntoIterator<Item = Node>) -> Inventory {
    let (recorder, _) = Recorder::captured();
    inventory_with(fake, nodes, recorder)
}

fn inventory_with(fake: &Arc<Fake>, nodes: impl IntoIterator<Item = Node>, recorder: Recorder) -> Inventory {
    let description = Description {
        name: "fake".into(),
        provider_id_prefixes: vec!["fake://".into()],
        get_batch_size: 1,
        list_page_size: 500,
        ..Description::default()
    };
    let cloud = Cloud { instances: Some(fake.clone()), ..Cloud::new(Arc::new(description), fake.clone()) };
    Inventory::new(&cloud, Nodes::of(nodes), recorder).unwrap()
}

#[test]
fn the_strategy_for_a_node_that_joins() {
    let usual = Situation { waiting: 1, many: MANY, ..Situation::default() };
    for (situation, expected) in [
        (usual, Strategy::Get),
        (Situation { waiting: FEW, ..usual }, Strategy::Get),
        (Situation { waiting: FEW + 1, ..usual }, Strategy::Gather),
        (Situation { waiting: 7, has_gathered: true, ..usual }, Strategy::Get),
        (Situation { waiting: 8, ..usual }, Strategy::List),
        (Situation { waiting: 8, many: 9, has_gathered: true, ..usual }, Strategy::Get),
        (Situation { is_doubtful: true, ..usual }, Strategy::List),
        (Situation { is_doubtful: true, has_list: true, ..usual }, Strategy::KnownList),
        (Situation { waiting: 8, has_list: true, ..usual }, Strategy::KnownList),
    ] {
        assert_eq!(strategy(situation), expected, "{situation:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn few_nodes_are_asked_about_alone() {
    let fake = Arc::new(Fake { machines: machines(7), ..Fake::default() });
    let inventory = inventory(&fake, (1..=7).map(node));
    for nth in 1..=7 {
        assert_eq!(inventory.joining(&node(nth)).await, Ok(Some(instance(nth))));
    }
    assert_eq!(fake.calls().len(), 7);
}

#[tokio::test(start_paused = true)]
async fn few_nodes_are_asked_about_side_by_side() {
    let second = Duration::from_secs(1);
    let fake = Arc::new(Fake { machines: machines(7), delay: second, ..Fake::default() });
    let inventory = inventory(&fake, (1..=7).map(node));
    let start = Instant::now();
    let nodes: Vec<_> = (1..=7).map(node).collect();
    let found = futures::future::join_all(nodes.iter().map(|it| inventory.joining(it))).await;
    assert_eq!(found, (1..=7).map(|nth| Ok(Some(instance(nth)))).collect::<Vec<_>>());
    assert_eq!((fake.calls().len(), start.elapsed()), (7, GATHER + second));

    assert_eq!(inventory.joining(&node(3)).await, Ok(Some(instance(3))));
    assert_eq!(fake.calls(), ["get n3"], "a second try asks for itself, and about nobody else");
}

#[tokio::test(start_paused = true)]
async fn a_node_is_asked_about_as_it_is_in_its_turn() {
    let machine = Instance { provider_id: Some("fake://5".into()), ..instance(2) };
    let fake = Arc::new(Fake { machines: vec![instance(1), machine.clone()], ..Fake::default() });
    let inventory = inventory(&fake, (1..=2).map(node));
    inventory.joining(&node(1)).await.unwrap();
    assert_eq!(inventory.joining(&known(2, "fake://2")).await, Ok(None), "by the provider id that it has got");
    assert_eq!(inventory.joining(&known(2, "fake://5")).await, Ok(Some(machine)));
    assert_eq!(fake.calls(), ["get n1", "get n2", "get n2"]);
}

#[tokio::test(start_paused = true)]
async fn case_060_many_nodes_share_one_list() {
    let fake = Arc::new(Fake { machines: machines(1000), ..Fake::default() });
    let inventory = inventory(&fake, (1..=1000).map(node));
    let nodes: Vec<_> = (1..=1000).map(node).collect();
    let found = futures::future::join_all(nodes.iter().map(|it| inventory.joining(it))).await;
    assert!(found.iter().all(|it| matches!(it, Ok(Some(_)))));
    assert_eq!(fake.calls(), ["list 0 500", "list 500 500"]);

    tokio::time::advance(AGAIN.max_age).await;
    inventory.joining(&node(1)).await.unwrap();
    assert_eq!(fake.calls().len(), 2, "the list was too old");
    inventory.list(Freshness::within(Duration::from_secs(300))).await.unwrap();
    assert_eq!(fake.calls().len(), 0, "the address loop takes it for one period");
}

#[tokio::test(start_paused = true)]
async fn two_nodes_are_asked_about_at_once() {
    let fake = Arc::new(Fake { machines: machines(2), ..Fake::default() });
    let inventory = inventory(&fake, (1..=2).map(node));
    let start = Instant::now();
    assert_eq!(inventory.joining(&node(1)).await, Ok(Some(instance(1))));
    assert_eq!(inventory.joining(&node(2)).await, Ok(Some(instance(2))));
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn nodes_that_come_together_wait_a_moment_for_each_other() {
    let fake = Arc::new(Fake { machines: machines(20), ..Fake::default() });
    let nodes: Vec<_> = (1..=20).map(node).collect();
    let (known, mut writer) = Nodes::new();
    let inventory = Inventory { nodes: known.clone(), ..inventory(&fake, []) };
    let mut come = |them: &[Node]| {
        them.iter().for_each(|it| known.apply(kube::runtime::watcher::Event::Apply(it.clone()), &mut writer));
    };
    come(&nodes[..=FEW]);
    let join = async {
        // By the time that the first has waited, the others are there.
        tokio::time::sleep(GATHER / 2).await;
        come(&nodes);
    };
    let (found, ()) = tokio::join!(inventory.joining(&nodes[0]), join);
    assert_eq!(found, Ok(Some(instance(1))));
    assert_eq!(fake.calls(), ["list 0 500"]);
}

#[tokio::test(start_paused = true)]
async fn what_a_list_lacks_is_asked_about() {
    let fake = Arc::new(Fake { machines: machines(9), unlisted: vec!["n9".into()], ..Fake::default() });
    let inventory = inventory(&fake, (1..=9).map(node));
    assert_eq!(inventory.joining(&node(9)).await, Ok(Some(instance(9))));
    assert_eq!(fake.calls(), ["list 0 500", "get n9"]);
}

#[tokio::test(start_paused = true)]
async fn a_missing_name_counts_once_a_list_lacks_it_too() {
    let fake = Arc::new(Fake::default());
    let inventory = inventory(&fake, [node(1)]);
    let error = inventory.joining(&node(1)).await.unwrap_err();
    assert!(matches!(&error, Error::Unavailable(text) if text.contains("n1")), "{error}");
    assert_eq!(fake.calls(), ["get n1"]);
    assert_eq!(inventory.joining(&node(1)).await, Ok(None));
    assert_eq!(fake.calls(), ["list 0 500"], "never more than one call a try");
    assert_eq!(inventory.joining(&node(1)).await, Ok(None));
    assert_eq!(fake.calls(), ["get n1"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_finds_a_machine_by_an_address_that_is_the_name() {
    let name = Address { kind: AddressKind::InternalDns, value: "n1".into() };
    let machine = Instance { name: "web".into(), addresses: vec![name], ..instance(5) };
    let fake = Arc::new(Fake { machines: vec![machine.clone()], ..Fake::default() });
    let inventory = inventory(&fake, [node(1)]);
    inventory.joining(&node(1)).await.unwrap_err();
    assert_eq!(inventory.joining(&node(1)).await, Ok(Some(machine)));
}

#[tokio::test(start_paused = true)]
async fn an_incomplete_list_proves_nothing() {
    let fake = Arc::new(Fake { incomplete: Some("zone b did not answer".into()), ..Fake::default() });
    let inventory = inventory(&fake, [node(1)]);
    for _ in 0..3 {
        inventory.joining(&node(1)).await.unwrap_err();
    }
    let error = inventory.joining(&node(1)).await.unwrap_err();
    assert!(error.to_string().contains("zone b did not answer"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn none_with_a_provider_id_is_certain() {
    let fake = Arc::new(Fake::default());
    let node = known(1, "fake://1");
    let inventory = inventory(&fake, [node.clone()]);
    assert_eq!(inventory.joining(&node).await, Ok(None));
    assert_eq!(fake.calls(), ["get n1"]);
}

#[tokio::test(start_paused = true)]
async fn a_page_that_does_not_come_is_asked_for_in_halves() {
    let failures = || [Error::Unavailable("HTTP 502".into()), Error::Unavailable("HTTP 504".into())];
    let fake = Arc::new(Fake { machines: machines(200), failures: Vec::from(failures()).into(), ..Fake::default() });
    let inventory = inventory(&fake, []);
    let in_halves = ["list 0 500", "list 0 250", "list 0 125", "list 125 125"];
    inventory.list(AGAIN).await.unwrap();
    assert_eq!(fake.calls(), in_halves);
    fake.failures.lock().extend(failures());
    inventory.list(Freshness::within(Duration::ZERO)).await.unwrap();
    assert_eq!(fake.calls(), in_halves, "one list alone may have begun in an outage");
    inventory.list(Freshness::within(Duration::ZERO)).await.unwrap();
    assert_eq!(fake.calls()[0], "list 0 125", "the next list begins with the size that worked");
}

#[tokio::test(start_paused = true)]
async fn a_failed_list_is_not_repeated_by_every_caller() {
    let failures = vec![Error::Unavailable("HTTP 502".into()); 5];
    let fake = Arc::new(Fake { machines: machines(9), failures: failures.into(), ..Fake::default() });
    let inventory = inventory(&fake, (1..=9).map(node));
    let nodes: Vec<_> = (1..=9).map(node).collect();
    let found = futures::future::join_all(nodes.iter().map(|it| inventory.joining(it))).await;
    assert!(found.iter().all(|it| matches!(it, Err(Error::Unavailable(_)))));
    assert_eq!(fake.calls(), ["list 0 500", "list 0 250", "list 0 125", "list 0 62"]);
    tokio::time::advance(Duration::from_millis(5)).await;
    assert_eq!(inventory.joining(&nodes[0]).await, Ok(Some(instance(1))));
}

#[tokio::test(start_paused = true)]
async fn everyone_waits_as_long_as_the_cloud_asks() {
    let pause = Error::RetryAfter { after: Duration::from_secs(60), reason: "quota".into() };
    let fake = Arc::new(Fake { machines: machines(9), failures: vec![pause.clone()].into(), ..Fake::default() });
    let inventory = inventory(&fake, (1..=9).map(node));
    assert_eq!(inventory.joining(&node(1)).await, Err(pause));
    tokio::time::advance(Duration::from_secs(20)).await;
    let left = Error::RetryAfter { after: Duration::from_secs(40), reason: "quota".into() };
    assert_eq!(inventory.joining(&node(2)).await, Err(left));
    assert_eq!(fake.calls().len(), 1);
    tokio::time::advance(Duration::from_secs(40)).await;
    assert_eq!(inventory.joining(&node(2)).await, Ok(Some(instance(2))));
}

/// A node with this name and provider id, which does not wait.
fn existing(name: &str, provider_id: &str) -> Node {
    let mut node = known(1, provider_id);
    node.metadata.name = Some(name.into());
    node.spec.get_or_insert_default().taints = None;
    node
}

fn event(message: &str) -> Event {
    Event { about: None, kind: EventKind::Warning, reason: "Deprecated".into(), message: message.into() }
}

#[tokio::test(start_paused = true)]
async fn a_provider_event_is_recorded_once_in_ten_minutes() {
    let events = vec![event("This size goes away.")];
    let fake = Arc::new(Fake { machines: machines(1), events, ..Fake::default() });
    let (recorder, mut events) = Recorder::captured();
    let inventory = inventory_with(&fake, [node(1)], recorder);
    for _ in 0..3 {
        inventory.joining(&node(1)).await.unwrap();
    }
    let event = events.try_recv().unwrap();
    assert_eq!(event.about.name.as_deref(), Some("n1"));
    assert_eq!((event.kind, event.reason.as_str()), (EventKind::Warning, "Deprecated"));
    assert!(events.try_recv().is_err(), "it was sent once");
    tokio::time::advance(Duration::from_secs(600)).await;
    inventory.joining(&node(1)).await.unwrap();
    events.try_recv().unwrap();
}

#[tokio::test(start_paused = true)]
async fn case_104_a_question_that_is_not_answered_is_given_up() {
    let fake = Arc::new(Fake { machines: machines(1), delay: Duration::from_secs(86_400), ..Fake::default() });
    let node = known(1, "fake://1");
    let inventory = inventory(&fake, [node.clone()]);
    let start = Instant::now();
    let error = inventory.asked(&node, None).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error}");
    assert_eq!(start.elapsed(), CALL);
}

#[tokio::test(start_paused = true)]
async fn a_list_since_a_time_is_read_once() {
    let fake = Arc::new(Fake { machines: machines(9), ..Fake::default() });
    let inventory = inventory(&fake, []);
    let start = Instant::now();
    inventory.list(Freshness::since(start)).await.unwrap();
    inventory.list(Freshness::since(start)).await.unwrap();
    assert_eq!(fake.calls().len(), 1);
    tokio::time::advance(Duration::from_secs(1)).await;
    inventory.list(Freshness::since(start)).await.unwrap();
    assert_eq!(fake.calls().len(), 0);
    inventory.list(Freshness::since(Instant::now())).await.unwrap();
    assert_eq!(fake.calls().len(), 1, "the other one began before");
}

#[tokio::test(start_paused = true)]
async fn a_list_is_familiar_with_one_machine_of_the_cluster() {
    let fake = Arc::new(Fake { machines: machines(2), ..Fake::default() });
    let list = inventory(&fake, []).list(AGAIN).await.unwrap();
    assert!(inventory(&fake, [known(2, "fake://2"), known(3, "fake://3")]).is_familiar(&list));
    assert!(!inventory(&fake, [known(3, "fake://3")]).is_familiar(&list));
    assert!(!inventory(&fake, [node(1)]).is_familiar(&list), "a name proves nothing");
    assert!(!inventory(&fake, [known(1, "aws:///z/fake://1")]).is_familiar(&list));
}

#[tokio::test(start_paused = true)]
async fn adv_103_a_node_that_is_too_large_joins_with_an_event() {
    let fake = Arc::new(Fake { machines: machines(2), ..Fake::default() });
    let mut large = node(1);
    let address =
        |nth| NodeAddress { type_: "InternalIP".to_owned(), address: format!("10.1.{}.{}", nth / 256, nth % 256) };
    large.status.get_or_insert_default().addresses = Some((0..1_000).map(address).collect());
    assert_eq!(machine(&large).addresses.len(), 64);
    let (recorder, mut events) = Recorder::captured();
    let inventory = inventory_with(&fake, [large.clone(), node(2)], recorder);
    for _ in 0..3 {
        assert_eq!(inventory.joining(&large).await, Ok(Some(instance(1))));
    }
    assert_eq!(inventory.joining(&node(2)).await, Ok(Some(instance(2))));
    let event = events.try_recv().unwrap();
    assert_eq!((event.about.name.as_deref(), event.reason.as_str()), (Some("n1"), "NodeTooLarge"));
    assert!(event.message.contains("1000 addresses"), "{}", event.message);
    assert!(events.try_recv().is_err(), "it was told once, and of no other node");
}

/// A cloud that returns this account.
struct Whose(&'static str);

#[async_trait]
impl Identity for Whose {
    async fn identity(&self) -> Result<Option<String>> {
        Ok(Some(self.0.to_owned()))
    }
}

#[test]
fn a_talkative_provider_hides_none_of_our_warnings() {
    let (recorder, mut events) = Recorder::captured();
    let inventory = inventory_with(&Arc::default(), [node(1)], recorder);
    inventory.record_provider_events((0..5_000).map(|nth| event(&nth.to_string())).collect(), Some(&node(1)));
    while events.try_recv().is_ok() {}
    (0..2).for_each(|_| inventory.warn(&node(1), "NodeTooLarge", "too large".to_owned()));
    assert_eq!((events.try_recv().unwrap().reason.as_str(), events.try_recv().is_err()), ("NodeTooLarge", true));
}
