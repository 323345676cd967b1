use std::sync::Arc;

use cloud_provider::{Cloud, LoadBalancer, Owner, RouteChange, Volume};
use scripted_cloud::ScriptedCloud;

use super::*;
use crate::account::Account;
use crate::node_lifecycle::plan::tests as nodes;
use crate::nodes::confirmed::tests as evidence;
use crate::route::plan::tests as routes;
use crate::service::confirmations::tests as backends;
use crate::service::inventory::orphans::tests as orphans;

const PAGE: &str = include_str!("../../../../ARCHITECTURE.md");
/// Decisions for which the cloud is asked whenever they are made, and the call of each.
const ASKED: [(&str, &str); 3] = [
    ("delete a load balancer", "delete web"),
    ("label a volume", "get-topology v1"),
    ("make or move a route", "apply 10.244.1.0/24"),
];
const TICK: Duration = Duration::from_nanos(1);

/// Whether something goes by an answer to a question that began at `asked`. `moment` is the one of its rule.
type Deletes = fn(asked: Instant, moment: Instant, now: Instant) -> bool;

/// A moment as the page calls it.
trait Named: AskedAfter {
    const NAME: &'static str;
}

impl Named for AnyTime {
    const NAME: &'static str = "at any time";
}

impl Named for CheckBegan {
    const NAME: &'static str = "the check began";
}

impl Named for NodeCame {
    const NAME: &'static str = "the node came";
}

impl Named for PassBegan {
    const NAME: &'static str = "the pass began";
}

impl Named for LastAnswered {
    const NAME: &'static str = "the last answer about it";
}

impl Named for WriteEnded {
    const NAME: &'static str = "the last call that wrote ended";
}

impl Named for CallEnded {
    const NAME: &'static str = "the last call about it ended";
}

/// A row of the page.
struct Row {
    decision: &'static str,
    moment: &'static str,
    age: Age,
    /// The function that decides, if it deletes or takes away.
    deletes: Option<Deletes>,
}

fn keeping<M: Named>(rule: FreshnessRule<M>, decision: &'static str) -> Row {
    Row { decision, moment: M::NAME, age: rule.age, deletes: None }
}

fn deleting<M: Named>(rule: FreshnessRule<M>, decision: &'static str, deletes: Deletes) -> Row {
    Row { deletes: Some(deletes), ..keeping(rule, decision) }
}

/// All of them, as the page calls them. Those that delete or take away come first.
fn all() -> [Row; 12] {
    [
        deleting(NODE_DELETION, "delete a node", nodes::deletes),
        deleting(ORPHAN, "delete an orphan", |asked, _, now| orphans::deletes(asked, now)),
        deleting(ROUTE_DELETION, "delete a route", |asked, _, now| routes::deletes(asked, now)),
        deleting(FIRST_BACKENDS, "take a node from load balancers, at the start", |asked, last, now| {
            backends::proves(false, asked, now) && evidence::refuses(asked, last, now)
        }),
        deleting(BACKENDS, "take a node from load balancers", |asked, last, now| {
            backends::proves(true, asked, now) && evidence::refuses(asked, last, now)
        }),
        keeping(INITIALISATION, "initialise a node"),
        keeping(LATER_TURN, "initialise a node that had a turn"),
        keeping(TAINT, "taint a node"),
        keeping(ADDRESSES, "update addresses"),
        keeping(LOAD_BALANCER_CREATION, "create a load balancer"),
        keeping(LOAD_BALANCER_CHANGE, "change a load balancer"),
        keeping(POD_NETWORKS, "take a node's pod networks from the cloud"),
    ]
}

impl Row {
    /// The row as the page shows it.
    fn text(&self) -> String {
        let age = match self.age {
            Age::Any => "no limit".to_owned(),
            Age::Seconds(seconds) => format!("{seconds} s"),
            Age::Periods(count) => format!("{count} periods"),
        };
        format!("| {} | {} | {age} |", self.decision, self.moment)
    }

    /// The age from which on an answer is too old, if one is.
    fn limit(&self) -> Option<Duration> {
        match self.age {
            Age::Any => None,
            Age::Seconds(seconds) => Some(Duration::from_secs(seconds)),
            Age::Periods(count) => Some(routes::PERIOD * count),
        }
    }
}

#[test]
fn the_page_says_how_old_an_answer_may_be() {
    let (_, section) = PAGE.split_once("| decision | the question began after | and is younger than |").unwrap();
    let (section, _) = section.split_once("\n\n").unwrap();
    let mut rows: Vec<_> = section.lines().filter(|it| it.starts_with("| ") && !it.contains("---")).collect();
    let expected: Vec<_> = all().iter().map(Row::text).collect();
    let asked: Vec<_> = ASKED.iter().map(|(it, _)| format!("| {it} | it was decided | asked each time |")).collect();
    assert_eq!(rows.split_off(rows.len().min(expected.len())), asked);
    assert_eq!(rows, expected);
}

#[test]
fn nothing_is_deleted_by_an_answer_that_is_too_old() {
    let (mut seen, mut wrong) = (0, Vec::new());
    let moment = Instant::now() + Duration::from_secs(86_400);
    for row in all() {
        let Some(deletes) = row.deletes else { continue };
        seen += 1;
        let mut check = |case: &str, is_right: bool| {
            if !is_right {
                wrong.push(format!("{}: {case}", row.decision));
            }
        };
        let young = row.limit().map_or(Duration::from_secs(3_600), |it| it - TICK);
        check("just asked", deletes(moment, moment, moment));
        check("young enough", deletes(moment, moment, moment + young));
        check("too old", row.limit().is_none() || !deletes(moment, moment, moment + young + TICK));
        let is_bound = row.moment != AnyTime::NAME;
        check(row.moment, deletes(moment - TICK, moment, moment) != is_bound);
        check("nothing bounds it", is_bound || row.limit().is_some());
    }
    assert_eq!((wrong, seen), (Vec::<String>::new(), 5));
}

#[tokio::test(start_paused = true)]
async fn deletions_topologies_and_routes_are_asked_each_time() {
    let script = Arc::new(ScriptedCloud::of_account("ours"));
    let offered = Cloud {
        load_balancers: Some(script.clone()),
        routes: Some(script.clone()),
        persistent_volumes: Some(script.clone()),
        ..script.offering(Arc::default())
    };
    let cloud = Account::new(script.clone(), None).guard(offered);
    let (load_balancers, routes) = (cloud.load_balancers.unwrap(), cloud.routes.unwrap());
    let volumes = cloud.persistent_volumes.unwrap();
    let owner = Owner { name: "web".to_owned(), ..Owner::default() };
    let unwanted = LoadBalancer { owner, ..LoadBalancer::default() };
    let destination = "10.244.1.0/24".to_owned();
    let change = RouteChange { destination, before: None, after: None, pending: None };
    let volume = Volume { handle: "v1".to_owned(), ..Volume::default() };
    for _ in 0..2 {
        load_balancers.delete(&unwanted).await.answer.unwrap();
        volumes.get_topology(std::slice::from_ref(&volume)).await;
        routes.apply(std::slice::from_ref(&change)).await;
        assert_eq!(script.take_calls(), ASKED.map(|(_, call)| call));
    }
}

#[test]
fn a_moment_bounds_the_question() {
    let moment = Instant::now() + Duration::from_secs(86_400);
    let allows = |freshness: Freshness| [moment - TICK, moment, moment + TICK].map(|it| freshness.allows(it, moment));
    let since = [false, true, true];
    assert_eq!(allows(NODE_DELETION.since(CheckBegan(moment))), since);
    assert_eq!(allows(INITIALISATION.since(NodeCame(moment))), since);
    assert_eq!(allows(LATER_TURN.since(NodeCame(moment))), since);
    assert_eq!(allows(POD_NETWORKS.since(NodeCame(moment))), since);
    assert_eq!(allows(ADDRESSES.since(PassBegan(moment))), since);
    assert_eq!(allows(BACKENDS.since(LastAnswered(moment))), since);
    let after = [false, false, true];
    assert_eq!(allows(LOAD_BALANCER_CREATION.since(WriteEnded(Some(moment)))), after);
    assert_eq!(allows(LOAD_BALANCER_CHANGE.since(CallEnded(Some(moment)))), after);
    let any = [true; 3];
    assert_eq!(allows(LOAD_BALANCER_CREATION.since(WriteEnded(None))), any);
    assert_eq!(allows(ORPHAN.since(AnyTime)), any);
}
