use crate::watched::WatchWriter;
use cloud_provider::{Address, AddressKind, Cloud, Description, Freshness, Gap, Instance, Page, Reply, State as Power};
use kube::runtime::watcher::Event;
use prometheus::Registry;
use scripted_cloud::{Answers, ScriptedCloud};
use serde_json::json;

use super::*;
use crate::events::Recorder;
use crate::inventory::instance_list::Gaps;
use crate::metrics::Metrics;
use crate::service::changes::BackendChanges;
use crate::service::testing::node;

/// A cloud that knows instances `i<nth>` of nodes `n<nth>`, and fails as prepared.
#[derive(Default)]
struct World {
    instances: Vec<String>,
    /// What the list leaves out.
    unlisted: Vec<String>,
    incomplete: Option<String>,
    list_fails: Option<Error>,
    get_fails: Option<Error>,
}

impl World {
    fn get(&self, nodes: &[cloud_provider::Node]) -> Answers<Option<Instance>> {
        let answer = |node: &cloud_provider::Node| match &self.get_fails {
            Some(error) => Err(error.clone()),
            None => Ok(self.instances.contains(&node.name).then(|| instance(&node.name))),
        };
        nodes.iter().map(answer).collect::<Vec<_>>().into()
    }

    fn list(&self) -> Reply<Result<Page>> {
        if let Some(error) = &self.list_fails {
            return Err(error.clone()).into();
        }
        let listed = self.instances.iter().filter(|it| !self.unlisted.contains(it));
        let gaps = self.incomplete.clone().map(|reason| Gap { zone: None, reason }).into_iter().collect();
        Ok(Page { instances: listed.map(|it| instance(it)).collect(), next: None, gaps }).into()
    }
}

fn instance(node: &str) -> Instance {
    Instance {
        name: node.to_owned(),
        provider_id: Some(format!("fake://{node}")),
        state: Power::Running,
        machine_type: None,
        zone: None,
        region: Some("r1".to_owned()),
        addresses: vec![Address { kind: AddressKind::InternalIp, value: "10.0.0.1".to_owned() }],
        labels: Vec::new(),
        ..Instance::default()
    }
}

fn names(range: std::ops::RangeInclusive<usize>) -> Vec<String> {
    range.map(|it| format!("n{it}")).collect()
}

/// Nodes, their cloud, and what is asked about them.
struct Rig {
    cloud: Arc<ScriptedCloud>,
    world: Arc<Mutex<World>>,
    nodes: Nodes,
    writer: WatchWriter<KubeNode>,
    inventory: Arc<Inventory>,
    changes: BackendChanges,
    confirmations: Arc<Confirmations>,
    released: Arc<Mutex<Vec<String>>>,
    blocked: Arc<Mutex<Vec<String>>>,
    _events: tokio::sync::mpsc::Receiver<crate::events::recorded::RecordedEvent>,
    run: tokio::task::JoinSet<()>,
}

impl Rig {
    /// A process that starts when these nodes are there, and the cloud is as it is.
    fn start(there: &[String], world: World) -> Self {
        let (cloud, world) = (Arc::new(ScriptedCloud::default()), Arc::new(Mutex::new(world)));
        let (one, all) = (world.clone(), world.clone());
        cloud.get.answers(move |nodes| one.lock().get(&nodes));
        cloud.list.answers(move |_| all.lock().list());
        let (nodes, mut writer) = Nodes::new();
        let listed = there.iter().map(|it| Event::InitApply(node(it, json!({}))));
        for event in std::iter::once(Event::Init).chain(listed).chain([Event::InitDone]) {
            nodes.apply(event, &mut writer);
        }
        let description = Arc::new(Description {
            provider_id_prefixes: vec!["fake://".into()],
            get_batch_size: 1,
            list_page_size: 500,
            ..Description::default()
        });
        let (recorder, _events) = Recorder::captured();
        let offered = Cloud { instances: Some(cloud.clone()), ..cloud.offering(description.clone()) };
        let inventory = Arc::new(Inventory::new(&offered, nodes.clone(), recorder).unwrap());
        let metrics = Metrics::register(&Registry::new()).unwrap();
        let changes = BackendChanges::new(nodes.clone(), description.into(), true, metrics.queue("node"));
        let confirmations = Arc::new(Confirmations::new(Some(inventory.clone()), nodes.clone()));
        let (released, blocked) = (Arc::default(), Arc::default());
        let mut rig = Self {
            cloud,
            world,
            nodes,
            writer,
            inventory,
            changes,
            confirmations,
            released,
            blocked,
            _events,
            run: tokio::task::JoinSet::new(),
        };
        let (running, released, blocked) = (rig.confirmations.clone(), rig.released.clone(), rig.blocked.clone());
        rig.run.spawn(async move {
            let release = move |key: &str| released.lock().push(key.to_owned());
            let report = move |_: &[String], why: &str| blocked.lock().push(why.to_owned());
            match running.run(release, report).await {}
        });
        rig
    }

    /// How many lists and single questions there were.
    fn asked(&self) -> (usize, usize) {
        (self.cloud.list.asked(), self.cloud.get.calls().iter().map(Vec::len).sum())
    }

    fn join(&mut self, name: &str) {
        self.nodes.apply(Event::Apply(node(name, json!({}))), &mut self.writer);
        self.confirmations.wake();
    }

    fn leave(&mut self, name: &str) {
        self.nodes.apply(Event::Delete(node(name, json!({}))), &mut self.writer);
        self.changes.note(name, Instant::now());
    }

    fn backends(&self) -> Vec<String> {
        // The cache is for those that hear of changes.
        let nodes = self.nodes.all();
        let mut backends: Vec<_> = nodes.iter().filter_map(|it| self.changes.backend_status(it).machine()).collect();
        backends.sort_by_key(|it| it.name[1..].parse::<usize>().unwrap());
        backends.into_iter().map(|it| it.name).collect()
    }

    /// What holds after so many seconds: which nodes are backends, or that no load balancer is changed.
    async fn after(&self, seconds: u64) -> Option<Vec<String>> {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        self.confirmations.are_complete().then(|| self.backends())
    }
}

fn down() -> Error {
    Error::Unavailable("HTTP 503".into())
}

/// Whether a list that lacks a node's instance proves something, which began at `asked`, before or after it is known which
/// nodes exist.
pub(crate) fn proves(is_complete: bool, asked: Instant, now: Instant) -> bool {
    let list = InstanceList::new(Vec::new(), Gaps::default(), asked, 1);
    worthless(&list, rule(is_complete), now, None, true).is_none()
}

#[tokio::test(start_paused = true)]
async fn adv_105_which_nodes_are_backends_after_a_restart() {
    let few = || names(1..=3);
    let many = || names(1..=20);
    let all = |instances: Vec<String>| World { instances, ..World::default() };
    let denied = || Error::Denied("another account".into());
    /// What it is called, the nodes, the cloud, and which of the nodes are backends, if that is known.
    type Row = (&'static str, Vec<String>, World, Option<Vec<String>>);
    let rows: Vec<Row> = vec![
        ("no nodes", vec![], all(vec![]), Some(vec![])),
        ("few, all there", few(), all(few()), Some(few())),
        ("many, all there", many(), all(many()), Some(many())),
        ("one of few does not exist", few(), all(names(1..=2)), Some(names(1..=2))),
        ("one of many does not exist", many(), all(names(1..=19)), Some(names(1..=19))),
        ("a list that lags", many(), World { unlisted: names(3..=5), ..all(many()) }, Some(many())),
        ("a list that lags by much", many(), World { unlisted: names(3..=19), ..all(many()) }, Some(many())),
        (
            "an incomplete list that lacks much",
            many(),
            World { unlisted: names(3..=19), incomplete: Some("zone b".into()), ..all(many()) },
            None,
        ),
        (
            "an incomplete list that lacks little",
            many(),
            World { unlisted: names(3..=4), incomplete: Some("zone b".into()), ..all(many()) },
            Some(many()),
        ),
        ("a list that fails", many(), World { list_fails: Some(down()), ..all(many()) }, None),
        ("another account, told", many(), World { list_fails: Some(denied()), ..all(many()) }, None),
        ("another account, not told, many", many(), all(names(90..=99)), None),
        ("another account, not told, few", few(), all(names(90..=99)), None),
        ("an empty account", few(), all(vec![]), None),
        (
            "a cloud that is down, few",
            few(),
            World { list_fails: Some(down()), get_fails: Some(down()), ..all(few()) },
            None,
        ),
        ("questions alone fail, few", few(), World { get_fails: Some(down()), ..all(few()) }, Some(few())),
        (
            "questions alone fail, and one is not listed",
            few(),
            World { get_fails: Some(down()), ..all(names(1..=2)) },
            Some(names(1..=2)),
        ),
    ];
    for (what, there, cloud, expected) in rows {
        let rig = Rig::start(&there, cloud);
        assert_eq!(rig.after(120).await, expected, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn adv_105_no_backend_goes_while_the_cloud_fails_later() {
    let mut rig = Rig::start(&names(1..=20), World { instances: names(1..=20), ..World::default() });
    assert_eq!(rig.after(1).await, Some(names(1..=20)));
    assert_eq!(rig.asked(), (1, 0), "a start is one list");
    let refresh = async |rig: &Rig| {
        for _ in 0..3 {
            let list = rig.inventory.list(Freshness::within(Duration::ZERO)).await.ok();
            for node in rig.nodes.all() {
                let _ = rig.inventory.instance_of(&node, list.as_deref()).await;
            }
            tokio::time::sleep(Duration::from_secs(300)).await;
        }
    };
    rig.world.lock().list_fails = Some(down());
    rig.world.lock().get_fails = Some(down());
    refresh(&rig).await;
    assert_eq!(rig.backends(), names(1..=20), "a list that fails");
    *rig.world.lock() = World::default();
    refresh(&rig).await;
    assert_eq!(rig.backends(), names(1..=20), "an empty account");
    *rig.world.lock() = World { instances: names(1..=10), incomplete: Some("zone b".into()), ..World::default() };
    refresh(&rig).await;
    assert_eq!(rig.backends(), names(1..=20), "an incomplete list proves nothing");
    *rig.world.lock() = World { instances: names(1..=10), ..World::default() };
    refresh(&rig).await;
    assert_eq!(rig.backends(), names(1..=10), "twice neither listed nor found alone");
    *rig.world.lock() = World { instances: names(1..=20), ..World::default() };
    refresh(&rig).await;
    assert_eq!(rig.backends(), names(1..=20), "and there again");

    rig.leave("n20");
    assert_eq!(rig.backends(), names(1..=19));
    rig.world.lock().instances.push("n21".into());
    rig.join("n21");
    rig.join("n66");
    let mut expected = names(1..=19);
    expected.push("n21".into());
    assert_eq!(rig.after(20).await, Some(expected), "who joins is asked about alone");
}

#[tokio::test(start_paused = true)]
async fn a_service_waits_for_the_cloud_with_one_event() {
    let rig = Rig::start(&names(1..=20), World { list_fails: Some(down()), ..World::default() });
    assert!(rig.confirmations.hold("default/s1"));
    rig.after(9).await;
    assert!(rig.blocked.lock().is_empty(), "a moment is nobody's concern");
    rig.after(300).await;
    assert_eq!(*rig.blocked.lock(), ["HTTP 503"]);
    assert!(rig.released.lock().is_empty());
    *rig.world.lock() = World { instances: names(1..=20), ..World::default() };
    assert_eq!(rig.after(60).await, Some(names(1..=20)));
    assert_eq!(*rig.released.lock(), ["default/s1"]);
    assert!(!rig.confirmations.hold("default/s1"));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_gone_does_not_wait_for_the_cloud() {
    let rig = Rig::start(&names(1..=20), World { list_fails: Some(down()), ..World::default() });
    assert!(rig.confirmations.hold("default/gone") && rig.confirmations.hold("default/there"));
    rig.confirmations.forget("default/gone");
    assert_eq!(rig.confirmations.waiting.lock().as_ref().map(HashMap::len), Some(1));
    *rig.world.lock() = World { instances: names(1..=20), ..World::default() };
    assert!(rig.after(60).await.is_some());
    assert_eq!(*rig.released.lock(), ["default/there"]);
}

#[tokio::test(start_paused = true)]
async fn answers_to_others_are_not_asked_for_again() {
    let rig = Rig::start(&names(1..=20), World { instances: names(1..=20), ..World::default() });
    rig.after(1).await;
    for _ in 0..12 {
        tokio::time::sleep(Duration::from_secs(300)).await;
        let list = rig.inventory.list(Freshness::within(Duration::from_secs(300))).await.unwrap();
        for node in rig.nodes.all() {
            rig.inventory.instance_of(&node, Some(&list)).await.unwrap();
        }
    }
    assert_eq!(rig.asked(), (1 + 12, 0), "those of the address loop");
}

#[tokio::test(start_paused = true)]
async fn a_list_without_a_reader_is_asked_for_now_and_then() {
    let rig = Rig::start(&names(1..=20), World { instances: names(1..=20), ..World::default() });
    rig.after(3601).await;
    assert_eq!(rig.cloud.list.asked(), 1 + 4);
}
