//! Routes before a table in memory, natively.

mod changed;

use std::cell::RefCell;
use std::rc::Rc;

use aerostat_sdk::testing::{Body, Host, Outcome, Request, answer};
use aerostat_sdk::{
    Address, Cluster, Error, Method, Node, PodNetwork, Result, Route, RouteChange, RouteOutcome, RouteOwnership,
    RouteState, RouteTarget, Routes as _,
};
use serde_json::{Value, json};

use crate::provider::Ibm;
use crate::tests::{instance, page_of, published, refused, settings};

const UID: &str = "c1a5e000-1111-2222-3333-444455556666";
const MARK: &str = "k8s-c1a5e00011112222-";
const POD: &str = "10.244.1.0/24";
const ZONES: [&str; 3] = ["us-south-1", "us-south-2", "us-south-3"];

/// A routing table, and the instances that its entries lead to.
#[derive(Clone)]
struct Table(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    entries: Vec<Value>,
    /// Ids of interfaces that let packets of others through.
    forwarding: Vec<String>,
    /// How many of the next changes of interfaces the cloud refuses: their machines are changing.
    changing_machines: usize,
    /// The statuses and codes with which the next writes are refused.
    refusals: Vec<(u16, &'static str)>,
    /// An entry that somebody makes just before the next creation.
    rival: Option<Value>,
    /// The state of entries that are made or changed.
    lifecycle: Option<&'static str>,
    /// Whether deleted entries stay, as `deleting`, until the test takes them away.
    deletes_slowly: bool,
    sent: Vec<String>,
    made: usize,
}

/// An entry of a zone, as the API shows it.
fn entry(name: &str, destination: &str, zone: &str, hop: &str) -> Value {
    json!({
        "id": format!("r006-{name}"), "name": name, "destination": destination, "zone": { "name": zone }, "action": "deliver",
        "lifecycle_state": "stable", "next_hop": { "address": hop }, "origin": "user", "priority": 2,
    })
}

/// The entries of this cluster's route, one in each of these zones.
fn route(destination: &str, zones: &[&str], hop: &str) -> Vec<Value> {
    let name = |zone: &str| format!("{MARK}{}-{zone}", destination.replace(['.', '/'], "-"));
    zones.iter().map(|zone| entry(&name(zone), destination, zone, hop)).collect()
}

fn node(number: usize) -> Node {
    let mut node = Node::named(format!("node-{number}")).with_provider_id(format!("ibm://acc///c1/0717_{number}"));
    node.addresses = vec![Address::internal_ip("fd00::7"), Address::internal_ip(hop(number))];
    node
}

fn hop(number: usize) -> String {
    format!("10.240.0.{number}")
}

/// The change of a destination's route to another node; `None`: no route.
fn change(destination: &str, before: Option<&str>, after: Option<usize>) -> RouteChange {
    RouteChange {
        destination: destination.to_owned(),
        before: before.map(|it| Route::new(destination, it)),
        after: after.map(|it| RouteTarget { next_hop: hop(it), node: node(it) }),
        extra: Vec::new(),
    }
}

impl Table {
    fn new(entries: Vec<Value>) -> Self {
        Self(Rc::new(RefCell::new(State { entries, ..State::default() })))
    }

    fn host(&self) -> Host {
        let table = self.clone();
        settings().cluster(Cluster::of("prod", UID)).answers(move |request| {
            published::check(request);
            table.0.borrow_mut().answer(request)
        })
    }

    fn apply(&self, changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
        self.host().run(|| Ibm::apply(changes))
    }

    /// The outcome of one change.
    fn one(&self, change: RouteChange) -> Result<RouteOutcome> {
        self.apply(&[change]).pop().unwrap()
    }

    /// Calls until the change is done, and their number.
    fn until_done(&self, change: &RouteChange) -> Result<usize> {
        for calls in 1..10 {
            if self.one(change.clone())? == RouteOutcome::Done {
                return Ok(calls);
            }
        }
        panic!("it is not done: {:?}", self.writes());
    }

    /// How often the table was read.
    fn reads(&self) -> usize {
        self.0.borrow().sent.iter().filter(|it| *it == "GET routes").count()
    }

    fn list(&self) -> Result<Vec<Route>> {
        self.host().run(|| <Ibm as aerostat_sdk::Routes>::list(None, 500)).map(|it| it.routes)
    }

    /// The writes that were sent, in short.
    fn writes(&self) -> Vec<String> {
        let sent = std::mem::take(&mut self.0.borrow_mut().sent);
        sent.into_iter().filter(|it| !it.starts_with("GET")).collect()
    }

    /// The zones and next hops of a destination's entries.
    fn entries(&self, destination: &str) -> Vec<(String, String)> {
        let text = |it: &Value| it.as_str().unwrap().to_owned();
        let state = self.0.borrow();
        let there = state.entries.iter().filter(|it| it["destination"] == *destination);
        let mut all: Vec<_> = there.map(|it| (text(&it["zone"]["name"]), text(&it["next_hop"]["address"]))).collect();
        all.sort();
        all
    }
}

impl State {
    fn answer(&mut self, request: &Request) -> Outcome {
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        let method = format!("{:?}", request.method).to_uppercase().replace("METHOD::", "");
        let last = path.last().copied().unwrap_or_default();
        self.sent.push(format!("{method} {last}"));
        let body: Value = match &request.body {
            Some(Body::Bytes(bytes)) => serde_json::from_slice(bytes).unwrap(),
            _ => Value::Null,
        };
        if request.method != Method::Get
            && path[0] == "vpcs"
            && let Some((status, code)) = self.refusals.pop()
        {
            return refused(status, code);
        }
        match (request.method, &path[..]) {
            (Method::Get, ["vpcs", _]) => {
                answer(200, json!({ "id": "r006-1", "crn": "", "default_routing_table": { "id": "rt-1" } }).to_string())
            }
            (Method::Get, ["instances", id]) => {
                let number = id.strip_prefix("0717_").unwrap().parse().unwrap();
                let mut shown = instance(number);
                if number % 2 == 0 {
                    shown["primary_network_attachment"] = json!({
                        "primary_ip": { "address": hop(number) }, "virtual_network_interface": { "id": format!("vni-{number}") },
                    });
                }
                answer(200, shown.to_string())
            }
            (Method::Patch, ["instances", _, "network_interfaces", id] | ["virtual_network_interfaces", id]) => {
                assert_eq!(body, json!({ "allow_ip_spoofing": true }));
                if let Some(rest) = self.changing_machines.checked_sub(1) {
                    self.changing_machines = rest;
                    return refused(409, "instance_update_conflict");
                }
                self.forwarding.push((*id).to_owned());
                answer(200, "{}")
            }
            (Method::Get, ["vpcs", _, "routing_tables", "rt-1", "routes"]) => page_of(request, "routes", &self.entries),
            (Method::Post, ["vpcs", _, "routing_tables", "rt-1", "routes"]) => {
                self.entries.extend(self.rival.take());
                if self.entries.iter().any(|it| it["name"] == body["name"]) {
                    return refused(409, "not_unique");
                }
                let text = |it: &Value| it.as_str().unwrap().to_owned();
                let (name, to) = (text(&body["name"]), text(&body["next_hop"]["address"]));
                let mut made = entry(&name, &text(&body["destination"]), &text(&body["zone"]["name"]), &to);
                self.made += 1;
                made["id"] = json!(format!("made-{}", self.made));
                made["lifecycle_state"] = json!(self.lifecycle.unwrap_or("stable"));
                self.entries.push(made.clone());
                answer(201, made.to_string())
            }
            (Method::Patch, ["vpcs", _, _, _, "routes", id]) => {
                let Some(found) = self.entries.iter_mut().find(|it| it["id"] == **id) else {
                    return refused(404, "not_found");
                };
                found["next_hop"] = body["next_hop"].clone();
                answer(200, found.to_string())
            }
            (Method::Delete, ["vpcs", _, _, _, "routes", id]) => {
                if self.deletes_slowly {
                    let of_id = self.entries.iter_mut().filter(|it| it["id"] == **id);
                    of_id.for_each(|it| it["lifecycle_state"] = json!("deleting"));
                } else {
                    self.entries.retain(|it| it["id"] != **id);
                }
                answer(204, "")
            }
            _ => refused(404, "not_found"),
        }
    }
}

/// The requests of a route's life: an entry that lacks is made, a move, and the end.
pub(crate) fn life() -> Vec<Request> {
    let table = Table::new(route(POD, &ZONES[..2], &hop(1)));
    let host = table.host();
    for (before, after) in [(1, Some(1)), (1, Some(2)), (2, None), (2, None)] {
        let said = host.run(|| Ibm::apply(&[change(POD, Some(&hop(before)), after)])).remove(0);
        assert!(said.is_ok(), "{said:?}");
    }
    host.sent()
}

#[test]
fn ibm_042_a_route_has_an_entry_in_each_zone() {
    let table = Table::new(Vec::new());
    let changes: Vec<RouteChange> = (1..=10).map(|it| change(&format!("10.244.{it}.0/24"), None, Some(it))).collect();
    assert_eq!(table.apply(&changes), vec![Ok(RouteOutcome::Done); 10]);
    assert_eq!(table.0.borrow().entries.len(), 30);
    assert_eq!(table.entries(POD), ZONES.map(|zone| (zone.to_owned(), hop(1))));
    let names: Vec<String> =
        table.0.borrow().entries[..3].iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, ZONES.map(|zone| format!("{MARK}10-244-1-0-24-{zone}")));
    // An interface of its own, and one that is an object.
    assert_eq!(table.0.borrow().forwarding[..2], ["nic-1", "vni-2"]);

    let listed = table.list().unwrap();
    assert_eq!(listed.len(), 10);
    let first = listed.iter().find(|it| it.destination == POD).unwrap();
    assert_eq!((first.state.clone(), first.ownership), (RouteState::Active, RouteOwnership::Ours));
    assert_eq!(first.next_hop.as_deref(), Some("10.240.0.1"));
    table.writes();
    assert_eq!(table.apply(&changes), vec![Ok(RouteOutcome::Done); 10]);
    assert_eq!(table.writes(), [""; 0], "all is as desired");
}

#[test]
fn ibm_042_a_move_changes_the_entries_where_they_are() {
    let table = Table::new(route(POD, &ZONES, "10.240.0.1"));
    assert_eq!(table.one(change(POD, Some("10.240.0.1"), Some(2))), Ok(RouteOutcome::Done));
    let patched: Vec<String> = ZONES.iter().map(|zone| format!("PATCH r006-{MARK}10-244-1-0-24-{zone}")).collect();
    assert_eq!(table.writes(), [&["PATCH vni-2".to_owned()][..], &patched].concat());
    assert_eq!(table.entries(POD), ZONES.map(|zone| (zone.to_owned(), hop(2))));
}

#[test]
fn ibm_042_a_route_that_drops_packets_is_nobodys_here() {
    let mut drops = entry("somebodys", POD, "us-south-1", "0.0.0.0");
    drops["action"] = json!("drop");
    let table = Table::new(vec![drops.clone()]);
    for it in [change(POD, None, Some(1)), change(POD, Some("0.0.0.0"), None), change(POD, Some("0.0.0.0"), Some(1))] {
        let refused = table.one(it).unwrap_err();
        assert!(matches!(&refused, Error::Invalid(why) if why.contains("does drop")), "{refused:?}");
    }
    assert_eq!((table.writes(), &table.0.borrow().entries), (Vec::new(), &vec![drops]));
}

#[test]
fn a_description_has_an_entry_for_each_zone() {
    let describe = |host: Host| host.without_cluster().run(<Ibm as aerostat_sdk::Routes>::describe).unwrap();
    let usual = describe(settings());
    assert_eq!((usual.entries_per_route, usual.batch_size), (3, 16));
    let two = describe(settings().setting("routeZones", "us-south-1,us-south-3,us-south-1"));
    assert_eq!((two.entries_per_route, two.batch_size), (2, 20));
    let many = (1..=9).map(|it| format!("z-{it}")).collect::<Vec<_>>().join(",");
    let refused = settings().setting("routeZones", &many).run(<Ibm as aerostat_sdk::Routes>::describe);
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("9 zones")), "{refused:?}");
}

#[test]
fn next_hops_are_addresses_of_instances() {
    let host = Table::new(Vec::new()).host();
    let to = |destination: &str, node: Node| {
        host.run(|| Ibm::next_hop(&PodNetwork { destination: destination.to_owned(), node }))
    };
    assert_eq!(to(POD, node(7)).as_deref(), Ok("10.240.0.7"));
    let without = Node { addresses: Vec::new(), ..node(7) };
    let worker = node(7).with_provider_id("ibm://acc///c1/kube-c1-w2");
    for (destination, node, part) in [
        ("2001:db8::/64", node(7), "are IPv4"),
        (POD, without, "no InternalIP"),
        (POD, worker, "a worker of IBM's Kubernetes service"),
        (POD, Node::named("n"), "no provider id yet"),
    ] {
        let refused = to(destination, node);
        assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains(part)), "{part}: {refused:?}");
    }
    assert_eq!(host.requests(), [""; 0]);
}
