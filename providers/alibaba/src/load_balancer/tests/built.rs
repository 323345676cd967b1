//! Load balancers that were made a moment ago: each part is made by one request, and what calls before have made is not read.

use super::*;

const OWN: &str = "DescribeLoadBalancerAttribute";
const LISTENERS: &str = "DescribeLoadBalancerListeners";
const GROUPS: &str = "DescribeVServerGroups";
const MACHINES: &str = "DescribeVServerGroupAttribute";
const GROUP: &str = "CreateVServerGroup";
const LISTENER: &str = "CreateLoadBalancerTCPListener";
const START: &str = "StartLoadBalancerListener";

fn slow() -> Played<FakeSlb> {
    Played::new(FakeSlb { is_slow: true, ..FakeSlb::default() })
}

/// With as many ports.
fn with_ports(ports: u16) -> LoadBalancer {
    (1..ports).fold(service(), |it, number| it.with_port(Port::new(Protocol::Tcp, 80 + number, 30_080 + number)))
}

/// One call after the cloud has carried out the last change. Answers what it asked for, and whether the Service is ready.
fn step(played: &Played<FakeSlb>, service: &mut LoadBalancer) -> (Vec<String>, bool) {
    played.cloud.borrow_mut().cloud().is_changing = false;
    let before = played.host.sent().len();
    let progress = played.call(service);
    match &progress {
        Ok(Progress::Pending(it)) => assert!(!it.wait.reason.contains("Error::"), "a person reads {}", it.wait.reason),
        Ok(Progress::Ready(_)) => {}
        other => panic!("{other:?}"),
    }
    let asked = actions(&played.host.sent()[before..]).into_iter().map(str::to_owned).collect();
    (asked, matches!(progress, Ok(Progress::Ready(_))))
}

/// Steps until it is ready. Answers what they asked for.
fn settle(played: &Played<FakeSlb>, service: &mut LoadBalancer) -> Vec<String> {
    let mut all = Vec::new();
    for _ in 0..60 {
        let (asked, is_ready) = step(played, service);
        all.extend(asked);
        if is_ready {
            return all;
        }
    }
    panic!("it is not ready: {:?} {all:?}", service.memo);
}

/// A Service whose load balancer has no parts yet.
fn made(played: &Played<FakeSlb>, mut service: LoadBalancer) -> LoadBalancer {
    for _ in 0..2 {
        assert!(!step(played, &mut service).1);
    }
    assert_eq!(service.memo.as_deref(), Some("lb-1 new:0"));
    service
}

/// The number of groups, their machines, and the listeners that serve.
fn shape(played: &Played<FakeSlb>) -> (usize, Vec<usize>, usize) {
    let live = balancer(played);
    let groups = live["Groups"].as_array().unwrap();
    let machines = groups.iter().map(|it| it["Servers"].as_array().unwrap().len()).collect();
    let listeners = live["Listeners"].as_array().unwrap();
    (groups.len(), machines, listeners.iter().filter(|it| it["Status"] == "running").count())
}

#[test]
fn new_load_balancers_take_three_calls_and_three_a_port() {
    for ports in [1, 3, 5] {
        let played = Played::new(FakeSlb::default());
        let mut service = with_ports(ports);
        assert_eq!(settle(&played, &mut service).len(), 3 + 3 * usize::from(ports));
        assert_eq!(service.memo.as_deref(), Some("lb-1"));
        let ports = usize::from(ports);
        assert_eq!(shape(&played), (ports, vec![3; ports], ports));
    }
}

#[test]
fn a_cloud_that_refused_once_gets_one_change_a_call() {
    let played = slow();
    let mut service = made(&played, with_ports(2));
    for (asked, is_ready) in [
        (&[OWN, GROUP, GROUP][..], false),
        (&[OWN, GROUP], false),
        (&[OWN, GROUPS, LISTENER], false),
        (&[OWN, START], false),
        (&[OWN, GROUPS, LISTENER], false),
        (&[OWN, START], true),
    ] {
        assert_eq!(step(&played, &mut service), (asked.iter().map(|it| (*it).to_owned()).collect(), is_ready));
    }
    assert_eq!(service.memo.as_deref(), Some("lb-1"));
    assert_eq!(shape(&played), (2, vec![3; 2], 2));
    let again = settle(&played, &mut service);
    assert_eq!(again, [OWN, LISTENERS, GROUPS, MACHINES, MACHINES], "it is as it should be");
}

#[test]
fn forwarding_ports_come_last_in_a_slow_cloud_too() {
    let mut service = annotated("protocol-port", "https:443,http:80")
        .with_annotation(format!("{PREFIX}cert-id"), "c")
        .with_annotation(format!("{PREFIX}forward-port"), "80:443")
        .with_port(Port::new(Protocol::Tcp, 443, 30_443));
    let (fast, slow) = (Played::new(FakeSlb::default()), slow());
    settle(&fast, &mut service.clone());
    settle(&slow, &mut service);
    assert_eq!(balancer(&slow), balancer(&fast));
    assert_eq!(shape(&slow), (1, vec![3], 2));
}

#[test]
fn a_part_that_is_refused_again_and_again_is_tried_again() {
    let played = slow();
    let mut service = made(&played, service());
    played.cloud.borrow_mut().cloud().busy_at = [[GROUP; 3], [LISTENER; 3], [START; 3]].concat();
    let asked = settle(&played, &mut service);
    let times = |action: &str| asked.iter().filter(|it| *it == action).count();
    assert_eq!([GROUP, LISTENER, START].map(times), [4; 3]);
    assert_eq!([LISTENERS, MACHINES].map(times), [0, 0]);
    assert_eq!(shape(&played), (1, vec![3], 1));
}

#[test]
fn parts_that_a_process_before_has_made_are_read() {
    for died_at in 0..6 {
        let played = slow();
        let mut service = made(&played, with_ports(2));
        for _ in 0..died_at {
            step(&played, &mut service);
        }
        if died_at == 5 {
            // The last one before the end: its answer was not kept.
            let before = service.memo.clone();
            step(&played, &mut service);
            (service.memo, service.current_ingress) = (before, Vec::new());
        }
        service.extra.clear();
        let asked = settle(&played, &mut service);
        assert_eq!(asked[0], OWN);
        assert!(asked.iter().any(|it| it == GROUPS), "{died_at}: {asked:?}");
        assert_eq!(shape(&played), (2, vec![3; 2], 2), "{died_at}");
    }
}

#[test]
fn a_call_that_was_not_answered_leaves_no_part_behind() {
    let played = slow();
    let mut service = made(&played, service());
    let before = service.clone();
    step(&played, &mut service);
    // The host has kept nothing, and a call has had the memo.
    service = LoadBalancer { extra: Vec::new(), ..before };
    settle(&played, &mut service);
    assert_eq!(shape(&played), (1, vec![3], 1));
}

#[test]
fn machines_and_ports_that_come_while_it_is_built_are_there() {
    for steps in 1..6 {
        let played = slow();
        let mut service = made(&played, with_ports(2));
        for _ in 0..steps {
            step(&played, &mut service);
        }
        service.nodes.push(node(4));
        service.ports.remove(0);
        service = service.with_port(Port::new(Protocol::Tcp, 443, 30_443));
        settle(&played, &mut service);
        assert_eq!(shape(&played), (2, vec![4; 2], 2), "after {steps} steps");
    }
}

#[test]
fn more_parts_than_a_memo_counts_are_read() {
    for (ports, memo) in [(341, "lb-1 new:"), (342, "lb-1")] {
        let played = slow();
        let mut service = made(&played, with_ports(ports));
        assert!(!step(&played, &mut service).1);
        let shown = service.memo.unwrap();
        assert!(if ports == 342 { shown == memo } else { shown.starts_with(memo) }, "{ports}: {shown}");
    }
}

#[test]
fn many_machines_and_domains_are_read_in_a_slow_cloud() {
    let played = slow();
    let mut service = LoadBalancer { nodes: (1..=45).map(node).collect(), ..service() };
    settle(&played, &mut service);
    assert_eq!(shape(&played), (1, vec![45], 1));
    let played = slow();
    let mut service = annotated("protocol-port", "https:443")
        .with_annotation(format!("{PREFIX}cert-id"), "c")
        .with_annotation(format!("{PREFIX}domain-extensions"), "a.example.com:cert-1,b.example.com:cert-2");
    service.ports = vec![Port::new(Protocol::Tcp, 443, 30_443)];
    settle(&played, &mut service);
    assert_eq!(shape(&played), (1, vec![3], 1));
    assert_eq!(played.cloud.borrow_mut().cloud().domains.all().count(), 2);
}

#[test]
fn a_refused_listener_holds_up_no_other_of_a_new_one() {
    let played = Played::new(FakeSlb::default());
    let mut service = made(&played, with_ports(1).with_port(Port::new(Protocol::Udp, 53, 30_053)));
    played.cloud.borrow_mut().cloud().refused_at = vec![LISTENER];
    let refused = played.call(&mut service);
    assert!(matches!(&refused, Ok(Progress::Failed(it)) if it.error.why().contains(LISTENER)), "{refused:?}");
    assert_eq!(shape(&played), (2, vec![3; 2], 1));
    assert_eq!(service.memo.as_deref(), Some("lb-1"));
    played.cloud.borrow_mut().cloud().refused_at.clear();
    let asked = settle(&played, &mut service);
    assert_eq!(asked[..3], [OWN, LISTENERS, GROUPS]);
    assert_eq!(shape(&played), (2, vec![3; 2], 2));
}

#[test]
fn a_refused_listener_is_not_counted_in_a_slow_cloud() {
    let played = Played::new(FakeSlb::default());
    let mut service = made(&played, with_ports(1).with_port(Port::new(Protocol::Udp, 53, 30_053)));
    played.cloud.borrow_mut().cloud().refused_at = vec![LISTENER];
    played.cloud.borrow_mut().cloud().busy_at = vec![START];
    let (_, is_ready) = step(&played, &mut service);
    assert_eq!((is_ready, service.memo.as_deref()), (false, Some("lb-1")), "the next call reads");
    played.cloud.borrow_mut().cloud().refused_at.clear();
    settle(&played, &mut service);
    assert_eq!(shape(&played), (2, vec![3; 2], 2));
}

#[test]
fn one_that_is_found_by_its_tags_is_read() {
    let played = Played::new(FakeSlb::default());
    let mut known = service();
    played.settle(&mut known);
    // Its listeners are gone, and its groups are there.
    played.cloud.borrow_mut().cloud().balancers.get_mut("lb-1").unwrap().body["Listeners"] = json!([]);
    let mut found = service();
    for _ in 0..2 {
        assert!(!step(&played, &mut found).1);
    }
    assert_eq!((found.memo.as_deref(), found.is_memo_new()), (Some("lb-1"), true));
    assert_eq!(step(&played, &mut found).0, [OWN, GROUPS, LISTENER, START, MACHINES]);
    assert_eq!(shape(&played), (1, vec![3], 1));
}

#[test]
fn listeners_of_others_in_a_new_one_are_seen() {
    let played = Played::new(FakeSlb::default());
    let mut service = made(&played, service());
    let other = json!({ "Status": "stopped", "ListenerPort": 80, "ListenerProtocol": "http", "Description": "" });
    played.cloud.borrow_mut().cloud().balancers.get_mut("lb-1").unwrap().body["Listeners"] = json!([other]);
    let (asked, is_ready) = step(&played, &mut service);
    assert_eq!(asked[..4], [OWN, LISTENERS, GROUPS, "DeleteLoadBalancerListener"]);
    assert!(is_ready);
    assert_eq!(shape(&played), (1, vec![3], 1));
}

#[test]
fn a_new_one_that_a_list_shows_is_not_read_at_all() {
    let played = Played::new(FakeSlb::default());
    let mut service = made(&played, service());
    service.extra.push(("host.listed".to_owned(), "true".to_owned()));
    assert_eq!(
        step(&played, &mut service),
        (["DescribeLoadBalancers", GROUP, LISTENER, START].map(str::to_owned).to_vec(), true)
    );
}

#[test]
fn a_deletion_before_the_last_part_takes_all() {
    let played = slow();
    let mut service = made(&played, with_ports(2));
    for _ in 0..2 {
        step(&played, &mut service);
    }
    assert!(service.memo.as_deref().is_some_and(|it| it.starts_with("lb-1 new:")), "{:?}", service.memo);
    played.cloud.borrow_mut().cloud().is_slow = false;
    assert_eq!(played.host.run(|| Alibaba::delete(&service)), Ok(Deletion::Done));
    assert_eq!(played.cloud.borrow_mut().cloud().objects(), []);
}

#[test]
fn a_load_balancer_that_is_not_shown_yet_is_not_made_again() {
    let played = Played::new(FakeSlb::default());
    let mut service = made(&played, service());
    played.cloud.borrow_mut().cloud().hides_balancers = true;
    let before = played.host.sent().len();
    let early = played.call(&mut service);
    let Ok(Progress::Failed(early)) = early else { panic!("{early:?}") };
    assert!(matches!(&early.error, Error::Unavailable(why) if why.contains("does not show it yet")), "{early:?}");
    assert_eq!(actions(&played.host.sent()[before..]), [OWN]);
    played.cloud.borrow_mut().cloud().hides_balancers = false;
    assert!(!settle(&played, &mut service).iter().any(|it| it == "CreateLoadBalancer"));
    assert_eq!(shape(&played), (1, vec![3], 1));
}

#[test]
fn a_part_without_a_certain_answer_is_looked_for() {
    // A gateway may answer so after the change was begun.
    for (status, is_read) in [(400, false), (500, true), (503, true)] {
        let played = slow();
        let mut service = made(&played, service());
        let cloud = || played.cloud.borrow_mut();
        (cloud().cloud().busy_at, cloud().cloud().busy_with) = (vec![GROUP], status);
        assert!(!step(&played, &mut service).1);
        let asked = settle(&played, &mut service);
        assert_eq!(asked.iter().any(|it| it == MACHINES), is_read, "{status}: {asked:?}");
        assert_eq!(shape(&played), (1, vec![3], 1));
    }
}
