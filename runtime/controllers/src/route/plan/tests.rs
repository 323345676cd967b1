use std::sync::LazyLock;

use cloud_provider::Error;

use super::*;

static CLUSTER: LazyLock<Vec<Cidr>> = LazyLock::new(|| vec![cidr("10.244.0.0/16"), cidr("fd00:244::/56")]);

fn cidr(text: &str) -> Cidr {
    Cidr::parse(text).unwrap()
}

fn route(destination: &str, hop: &str) -> Route {
    Route {
        destination: destination.to_owned(),
        next_hop: (!hop.is_empty()).then(|| hop.to_owned()),
        ownership: RouteOwnership::Unmarked,
        state: RouteState::Active,
        id: destination.to_owned(),
        extra: Vec::new(),
    }
}

fn in_state(state: RouteState, destination: &str, hop: &str) -> Route {
    Route { state, ..route(destination, hop) }
}

fn foreign(destination: &str, hop: &str) -> Route {
    Route { ownership: RouteOwnership::Foreign, ..route(destination, hop) }
}

/// A world to plan for. Of 100 routes that are no node's, ten could go.
struct World {
    /// Nodes, each with its network and its next hop.
    desired: Vec<(&'static str, Cidr, Option<Result<String>>)>,
    routes: Vec<Route>,
    is_complete: bool,
    /// When the list began that showed the routes.
    listed_at: Instant,
    now: Instant,
    seen: SeenChanges,
    allowance: usize,
    counted: BTreeSet<Cidr>,
    resting: BTreeMap<Cidr, Option<String>>,
    is_full: bool,
    is_busy: bool,
}

impl World {
    fn new(desired: &[(&'static str, &str, &str)], routes: Vec<Route>) -> Self {
        let now = Instant::now();
        let desired = desired.iter().map(|(node, network, hop)| (*node, cidr(network), Some(Ok((*hop).to_owned()))));
        Self {
            desired: desired.collect(),
            routes,
            is_complete: true,
            listed_at: now,
            now,
            seen: SeenChanges::default(),
            allowance: 10,
            counted: BTreeSet::new(),
            resting: BTreeMap::new(),
            is_full: false,
            is_busy: false,
        }
    }

    fn plan(&self) -> RoutePlan {
        let desired: Vec<_> = self
            .desired
            .iter()
            .map(|(node, cidr, hop)| DesiredRoute { node, uid: node, cidr: *cidr, hop: hop.as_ref() })
            .collect();
        let (routes, _) = ListedRoute::all(self.routes.clone());
        let incomplete = (!self.is_complete).then(|| "a table did not answer".to_owned());
        let known = KnownRoutes { routes, began: self.listed_at, incomplete };
        plan(&PlanSituation {
            cluster: &CLUSTER,
            desired: &desired,
            known: &known,
            period: PERIOD,
            now: self.now,
            seen: &self.seen,
            brake: Brake { allowance: self.allowance, counted: &self.counted },
            resting: &self.resting,
            is_full: self.is_full,
            is_busy: self.is_busy,
        })
    }

    /// The plan's changes, each as `10.244.1.0/24: - > n1`.
    fn changes(&self) -> Vec<String> {
        let text = |change: &DestinationChange| {
            let before = change.before.as_ref().map(|it| it.next_hop.as_deref().unwrap_or("nothing"));
            format!("{}: {} > {}", change.cidr, before.unwrap_or("-"), change.hop().map_or("-", String::as_str))
        };
        self.plan().changes.iter().map(text).collect()
    }

    fn withheld(&self) -> Vec<String> {
        self.plan().withheld.iter().map(|it| it.cidr.to_string()).collect()
    }

    fn kept(&self) -> Vec<String> {
        self.plan().kept.iter().map(|(node, cidr)| format!("{node} {cidr}")).collect()
    }
}

/// The period between two lists.
pub(crate) const PERIOD: Duration = Duration::from_secs(600);

/// Whether a route that no node has goes by a list that began at `asked`.
pub(crate) fn deletes(asked: Instant, now: Instant) -> bool {
    let unwanted = World::new(&[], vec![route("10.244.9.0/24", "hop-9")]);
    World { listed_at: asked, now, ..unwanted }.changes() == ["10.244.9.0/24: hop-9 > -"]
}

const N1: (&str, &str, &str) = ("n1", "10.244.1.0/24", "hop-1");
const N2: (&str, &str, &str) = ("n2", "10.244.2.0/24", "hop-2");

#[test]
fn case_178_each_node_gets_its_route_and_then_nothing_happens() {
    let nodes = [N1, N2, ("n1", "fd00:244:0:1::/64", "hop-1")];
    let empty = World::new(&nodes, Vec::new());
    let created = ["10.244.1.0/24: - > hop-1", "10.244.2.0/24: - > hop-2", "fd00:244:0:1::/64: - > hop-1"];
    assert_eq!(empty.changes(), created);
    assert!(empty.kept().is_empty());
    let there = [route("10.244.1.0/24", "hop-1"), route("10.244.2.0/24", "hop-2"), route("fd00:244:0:1::/64", "hop-1")];
    let whole = World::new(&nodes, there.into());
    assert!(whole.changes().is_empty());
    assert_eq!(whole.kept(), ["n1 10.244.1.0/24", "n1 fd00:244:0:1::/64", "n2 10.244.2.0/24"]);
}

#[test]
fn case_180_swapped_routes_are_moved_each_in_one_change() {
    let mut world = World::new(&[N1, N2], vec![route("10.244.1.0/24", "hop-2"), route("10.244.2.0/24", "hop-1")]);
    let moved = ["10.244.1.0/24: hop-2 > hop-1", "10.244.2.0/24: hop-1 > hop-2"];
    assert_eq!(world.changes(), moved);
    world.allowance = 1;
    assert_eq!(world.changes(), &moved[..1]);
    assert_eq!(world.withheld(), ["10.244.2.0/24"]);
    world.seen.changed.insert("n2".to_owned());
    assert_eq!(world.changes(), moved, "n2 was seen to change");
}

#[test]
fn case_181_routes_of_nobody_go_only_inside_the_cluster() {
    let stale = |text: &str| route(text, "gone");
    let world = World::new(
        &[N1],
        vec![
            route("10.244.1.0/24", "hop-1"),
            stale("10.244.50.0/24"),
            stale("10.10.0.0/24"),
            stale("0.0.0.0/0"),
            stale("10.244.0.0/15"),
            stale("fd00:244:0:5::/64"),
            stale("fd00:99::/64"),
        ],
    );
    assert_eq!(world.changes(), ["10.244.50.0/24: gone > -", "fd00:244:0:5::/64: gone > -"]);
}

#[test]
fn case_182_a_blackhole_goes_inside_and_stays_outside() {
    let hole = |text: &str| in_state(RouteState::Blackhole, text, "");
    let world = World::new(&[N1], vec![hole("10.244.9.0/24"), hole("10.1.0.0/24"), route("10.244.8.0/24", "")]);
    let changes = ["10.244.8.0/24: nothing > -", "10.244.9.0/24: nothing > -", "10.244.1.0/24: - > hop-1"];
    assert_eq!(world.changes(), changes, "releases come first");
}

#[test]
fn case_198_networks_are_compared_and_not_their_spelling() {
    let world = World::new(&[("n1", "fd00:244:0:1::/64", "hop-1")], vec![route("fd00:0244:0:0001::/64", "hop-1")]);
    assert!(world.changes().is_empty());
    assert_eq!(world.kept(), ["n1 fd00:244:0:1::/64"]);
}

#[test]
fn case_200_without_an_allowance_only_what_was_seen_goes() {
    let stale = (0..100).map(|nth| route(&format!("10.244.{nth}.0/24"), "gone")).collect();
    let mut world = World::new(&[], stale);
    assert_eq!((world.changes().len(), world.withheld().len()), (10, 90));
    world.allowance = 0;
    assert_eq!((world.changes().len(), world.withheld().len()), (0, 100));
    world.seen.gone.extend([cidr("10.244.7.0/24"), cidr("10.244.8.0/24")]);
    assert_eq!(world.changes(), ["10.244.7.0/24: gone > -", "10.244.8.0/24: gone > -"]);
    world.counted.insert(cidr("10.244.9.0/24"));
    assert_eq!(world.changes().len(), 3, "what was counted before may be tried again");
}

#[test]
fn next_hops_spelled_otherwise_move_no_more_than_may_go() {
    let names: Vec<_> = (0..90).map(|nth| format!("10.244.{nth}.0/24")).collect();
    let routes = names.iter().map(|it| route(it, &format!("i-{it}"))).collect();
    let mut world = World::new(&[], routes);
    world.desired = names.iter().map(|it| ("node", cidr(it), Some(Ok(format!("zones/z/instances/i-{it}"))))).collect();
    assert_eq!((world.changes().len(), world.withheld().len()), (10, 80));
    world.allowance = 0;
    assert_eq!((world.changes().len(), world.withheld().len()), (0, 90));
}

#[test]
fn an_incomplete_list_deletes_and_moves_nothing() {
    let routes = vec![route("10.244.1.0/24", "other"), route("10.244.9.0/24", "gone")];
    let mut world = World::new(&[N1, N2], routes);
    world.is_complete = false;
    world.seen.gone.insert(cidr("10.244.9.0/24"));
    world.seen.changed.insert("n1".to_owned());
    assert_eq!(world.changes(), ["10.244.2.0/24: - > hop-2"]);
    assert!(world.withheld().is_empty());
}

#[test]
fn a_foreign_route_is_never_touched_and_is_a_conflict() {
    let world = World::new(&[N1], vec![foreign("10.244.1.0/24", "igw"), foreign("10.244.9.0/24", "peering")]);
    assert!(world.changes().is_empty());
    let conflicts: Vec<_> = world.plan().conflicts.into_iter().map(|(node, it)| (node, it.cidr)).collect();
    assert_eq!(conflicts, [("n1".to_owned(), cidr("10.244.1.0/24"))]);
    assert!(world.kept().is_empty());
    // Beside one of ours, too.
    let world = World::new(&[N1], vec![route("10.244.1.0/24", "hop-1"), foreign("10.244.1.0/24", "igw")]);
    assert!(world.changes().is_empty() && world.kept().is_empty());
}

#[test]
fn changing_routes_are_waited_for_and_broken_ones_made_again() {
    let of = |state: RouteState, hop: &str| World::new(&[N1], vec![in_state(state, "10.244.1.0/24", hop)]);
    let changing = of(RouteState::Changing, "hop-1");
    assert!(changing.changes().is_empty() && changing.kept().is_empty());
    assert_eq!(changing.plan().changing, BTreeSet::from([cidr("10.244.1.0/24")]));
    for state in [RouteState::Blackhole, RouteState::Partial, RouteState::Failed("quota".to_owned())] {
        let mut broken = of(state.clone(), "hop-1");
        broken.allowance = 0;
        assert_eq!(broken.changes(), ["10.244.1.0/24: hop-1 > hop-1"], "{state:?}");
        assert!(broken.kept().is_empty());
        let mut elsewhere = of(state, "hop-9");
        elsewhere.allowance = 0;
        assert_eq!(elsewhere.changes(), ["10.244.1.0/24: hop-9 > hop-1"], "no packets go there: nothing is taken away");
    }
    let leaving = World::new(&[], vec![in_state(RouteState::Changing, "10.244.1.0/24", "hop-1")]);
    assert!(leaving.changes().is_empty());
    assert_eq!(leaving.plan().changing.len(), 1);
}

#[test]
fn the_desired_route_stays_where_two_have_one_destination() {
    let there = |hops: &[&str]| hops.iter().map(|it| route("10.244.1.0/24", it)).collect();
    let world = World::new(&[N1], there(&["other", "hop-1", "third"]));
    assert_eq!(world.changes(), ["10.244.1.0/24: other > -"], "one after the other");
    assert_eq!(world.kept(), ["n1 10.244.1.0/24"]);
    for hops in [&["hop-1"][..], &["other", "hop-1"]] {
        assert!(World::new(&[N1], there(hops)).plan().changing.is_empty(), "the cloud works on none of {hops:?}");
    }
    let twice = World::new(&[N1], there(&["hop-1", "hop-1"]));
    assert_eq!(twice.changes(), ["10.244.1.0/24: hop-1 > -"]);
    let none = World::new(&[N1], there(&["other", "third"]));
    assert_eq!(none.changes(), ["10.244.1.0/24: other > hop-1"]);
    let nobodys = World::new(&[], there(&["other", "third"]));
    assert_eq!(nobodys.changes(), ["10.244.1.0/24: other > -"]);
}

#[test]
fn case_200_the_share_is_one_of_routes_that_could_go() {
    let routes = vec![
        route("10.244.1.0/24", "hop-1"),
        route("10.244.2.0/24", "gone"),
        foreign("10.244.3.0/24", "peering"),
        route("10.9.0.0/24", "elsewhere"),
    ];
    let (listed, _) = ListedRoute::all(routes);
    assert_eq!(ours(&CLUSTER, &listed), 2, "neither a foreign one nor one outside of the cluster's networks");
}

#[test]
fn a_second_route_goes_only_by_a_whole_list_and_the_brake() {
    let there = vec![route("10.244.1.0/24", "other"), route("10.244.1.0/24", "hop-1")];
    let mut world = World::new(&[N1], there);
    world.seen.changed.insert("n1".to_owned());
    world.is_complete = false;
    assert!(world.changes().is_empty() && world.withheld().is_empty());
    (world.is_complete, world.allowance) = (true, 0);
    assert!(world.changes().is_empty());
    assert_eq!(world.withheld(), ["10.244.1.0/24"]);
    world.routes[0].state = RouteState::Changing;
    assert_eq!(world.plan().changing, BTreeSet::from([cidr("10.244.1.0/24")]), "the cloud works on it");
}

#[test]
fn releases_come_before_moves_and_moves_before_new_routes() {
    let there = vec![route("10.244.2.0/24", "other"), route("10.244.9.0/24", "gone")];
    let changes = World::new(&[N1, N2], there).changes();
    assert_eq!(changes, ["10.244.9.0/24: gone > -", "10.244.2.0/24: other > hop-2", "10.244.1.0/24: - > hop-1"]);
}

#[test]
fn a_resting_destination_is_left_out_until_it_changes() {
    let mut world = World::new(&[N1, N2], Vec::new());
    world.resting.insert(cidr("10.244.1.0/24"), Some("hop-1".to_owned()));
    assert_eq!(world.changes(), ["10.244.2.0/24: - > hop-2"]);
    world.resting.insert(cidr("10.244.1.0/24"), Some("hop-0".to_owned()));
    assert_eq!(world.changes().len(), 2, "the node has moved since");
}

#[test]
fn a_node_whose_next_hop_nobody_knows_keeps_what_is_there() {
    let mut world = World::new(&[N1, N2], vec![route("10.244.1.0/24", "hop-1"), route("10.244.2.0/24", "hop-2")]);
    world.desired[0].2 = None;
    world.desired[1].2 = Some(Err(Error::Unavailable("down".to_owned())));
    assert!(world.changes().is_empty() && world.kept().is_empty() && world.withheld().is_empty());
}

#[test]
fn a_full_table_takes_moves_and_deletions_and_nothing_new() {
    let mut world = World::new(&[N1, N2], vec![route("10.244.1.0/24", "other"), route("10.244.9.0/24", "gone")]);
    world.is_full = true;
    assert_eq!(world.changes(), ["10.244.9.0/24: gone > -", "10.244.1.0/24: other > hop-1"]);
    assert_eq!(world.plan().without_room, BTreeSet::from([("n2".to_owned(), cidr("10.244.2.0/24"))]));
}

#[test]
fn while_the_cloud_works_on_one_change_no_other_is_planned() {
    let stale = route("10.244.9.0/24", "gone");
    let mut world = World::new(&[N1, N2], vec![route("10.244.1.0/24", "hop-1"), stale]);
    world.is_busy = true;
    assert!(world.changes().is_empty() && world.withheld().is_empty());
    assert_eq!(world.kept(), ["n1 10.244.1.0/24"]);
    world.is_busy = false;
    assert_eq!(world.changes().len(), 2);
}

#[test]
fn case_193_batches_hold_no_more_than_the_cloud_takes() {
    let change = |nth: usize| DestinationChange {
        cidr: cidr(&format!("10.{}.{}.0/24", 240 + nth / 250, nth % 250)),
        before: None,
        after: Some(DesiredTarget { node: nth.to_string(), hop: nth.to_string() }),
        is_braked: false,
    };
    let changes: Vec<_> = (0..1000).map(change).collect();
    let of = |size| batches(changes.clone(), size).iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(of(400), [400, 400, 200]);
    assert_eq!(of(1000), [1000]);
    assert_eq!(of(0).len(), 1000, "none is one");
    assert_eq!(batches(changes.clone(), 30).concat(), changes, "in order");
    assert!(batches(Vec::new(), 10).is_empty());
}

#[test]
fn only_what_could_be_deleted_counts_for_the_share() {
    let routes = vec![route("10.244.1.0/24", "a"), foreign("10.244.2.0/24", "b"), route("10.1.0.0/24", "c")];
    assert_eq!(ours(&CLUSTER, &ListedRoute::all(routes).0), 1);
}
