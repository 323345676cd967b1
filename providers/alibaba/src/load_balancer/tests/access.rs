//! Lists of access: the ranges of clients, and lists of the cloud that lag. The API has no token with which a repetition makes no second one.

use aerostat_sdk::testing::protocol::{AdminFailure, How, Orders};

use super::*;

fn order(played: &Played<FakeSlb>, fail: Option<AdminFailure>, lists_lag: bool) {
    played.cloud.borrow_mut().order(Orders { fail, lists_lag });
}

fn lists(played: &Played<FakeSlb>) -> usize {
    played.cloud.borrow_mut().cloud().lists.all().count()
}

/// A cloud whose lists lag, and a Service whose list of access is announced.
fn announced() -> (Played<FakeSlb>, LoadBalancer) {
    let played = Played::new(FakeSlb::default());
    order(&played, None, true);
    let mut service = LoadBalancer { source_ranges: vec!["10.0.0.0/8".to_owned()], ..service() };
    for _ in 0..3 {
        let waits = played.call(&mut service);
        assert!(matches!(waits, Ok(Progress::Pending(_))), "{waits:?}");
    }
    let memo = service.memo.as_deref().unwrap();
    assert!(memo.starts_with("lb-1 announced:") && lists(&played) == 0, "{memo}");
    (played, service)
}

/// One call. If the process dies over it, nothing is kept.
fn call(played: &Played<FakeSlb>, service: &mut LoadBalancer) {
    let before = LoadBalancer { extra: Vec::new(), ..service.clone() };
    let _ = played.call(service);
    if played.cloud.borrow_mut().asked().dead {
        *service = before;
        order(played, None, true);
    }
}

/// One call of a deletion. Answers whether it is done.
fn delete(played: &Played<FakeSlb>, service: &mut LoadBalancer) -> bool {
    let host = played.host.clone().at(played.cloud.borrow().now());
    match host.run(|| Alibaba::delete(service)) {
        Ok(Deletion::Pending(it)) => *service = service.clone().after(it.status),
        Ok(Deletion::Done) => return true,
        other => panic!("{other:?}"),
    }
    false
}

#[test]
fn a_list_of_access_is_made_once_while_lists_lag() {
    let (played, mut service) = announced();
    played.cloud.borrow_mut().cloud().busy_at = vec!["CreateLoadBalancerTCPListener"; 3];
    for _ in 0..5 {
        let waits = played.call(&mut service);
        assert!(matches!(waits, Ok(Progress::Pending(_))), "{waits:?}");
        assert_eq!(lists(&played), 1);
    }
    assert!(service.memo.as_deref().unwrap().starts_with("lb-1 acl-1:"), "{:?}", service.memo);
    assert_eq!(
        listener(&played.cloud.borrow_mut().cloud().balancers.get("lb-1").unwrap().body)["AclId"],
        "acl-1",
        "it serves before that"
    );
    order(&played, None, false);
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    assert_eq!((service.memo.as_deref(), lists(&played)), (Some("lb-1"), 1));
}

#[test]
fn a_list_of_access_that_no_list_shows_is_waited_for_so_long() {
    let (played, mut service) = announced();
    let begun = played.cloud.borrow().now();
    played.settle(&mut service);
    let waited = played.cloud.borrow().now() - begun;
    assert!((60..90).contains(&waited), "{waited}");
    assert_eq!((service.memo.as_deref(), lists(&played)), (Some("lb-1"), 1));
}

#[test]
fn a_list_of_access_goes_with_its_service_while_lists_lag() {
    let (played, mut service) = announced();
    assert!(delete(&played, &mut service.clone()), "nothing was sent");
    let (played, mut made) = announced();
    for _ in 0..2 {
        let _ = played.call(&mut made);
    }
    assert_eq!(lists(&played), 1);
    assert!(delete(&played, &mut made), "it is known by its id");
    assert_eq!(played.cloud.borrow_mut().cloud().objects().len(), 0);
    // A list that another call may have made is looked for, and not for ever.
    service.extra.clear();
    let (played, _) = announced();
    let begun = played.cloud.borrow().now();
    while !delete(&played, &mut service) {
        played.cloud.borrow_mut().advance(std::time::Duration::from_secs(1));
    }
    let waited = played.cloud.borrow().now() - begun;
    assert!((60..90).contains(&waited), "{waited}");
}

#[test]
fn a_list_of_access_that_is_refused_is_announced_no_more() {
    let (played, mut service) = announced();
    played.cloud.borrow_mut().cloud().refused_at = vec!["CreateAccessControlList"];
    let refused = played.call(&mut service);
    assert!(matches!(&refused, Ok(Progress::Failed(it)) if matches!(it.error, Error::Invalid(_))), "{refused:?}");
    assert_eq!(service.memo.as_deref(), Some("lb-1"));
    assert!(delete(&played, &mut service), "there is nothing to wait for");
}

#[test]
fn lists_of_access_are_neither_double_nor_left_over_in_trouble() {
    for how in [How::LostBefore, How::LostAfter, How::DiesBefore, How::DiesAfter, How::Failed] {
        for nth in 1..=8 {
            let (played, mut service) = announced();
            order(&played, Some(AdminFailure { nth, how }), true);
            for _ in 0..3 {
                call(&played, &mut service);
            }
            order(&played, None, false);
            played.settle(&mut service);
            assert_eq!((service.memo.as_deref(), lists(&played)), (Some("lb-1"), 1), "{how:?} {nth}");

            let (played, mut service) = announced();
            order(&played, Some(AdminFailure { nth, how }), true);
            call(&played, &mut service);
            order(&played, None, true);
            let mut calls = 0;
            while !delete(&played, &mut service) {
                calls += 1;
                if calls == 3 {
                    order(&played, None, false);
                }
            }
            assert_eq!(played.cloud.borrow_mut().cloud().objects(), [], "{how:?} {nth}");
        }
    }
}

/// A Service whose ranges are a list of access, and then are no more.
fn opened() -> (Played<FakeSlb>, LoadBalancer) {
    let played = Played::new(FakeSlb::default());
    let mut service = LoadBalancer { source_ranges: vec!["10.0.0.0/8".to_owned()], ..service() };
    played.settle(&mut service);
    assert_eq!(lists(&played), 1);
    service.source_ranges.clear();
    (played, service)
}

#[test]
fn lists_of_access_go_with_their_ranges_in_trouble() {
    let all =
        [How::LostBefore, How::LostAfter, How::DiesBefore, How::DiesAfter, How::Failed, How::FailedAfter, How::Busy];
    for how in all {
        // The first call reads, and the second one writes.
        for nth in 1..=12 {
            let (played, mut service) = opened();
            order(&played, Some(AdminFailure { nth, how }), false);
            for _ in 0..3 {
                call(&played, &mut service);
            }
            order(&played, None, false);
            played.settle(&mut service);
            assert_eq!((service.memo.as_deref(), lists(&played)), (Some("lb-1"), 0), "{how:?} {nth}");
        }
    }
}

#[test]
fn a_list_of_access_that_is_still_in_use_is_waited_for() {
    let (played, mut service) = opened();
    played.cloud.borrow_mut().cloud().busy_at = vec!["DeleteAccessControlList"; 2];
    let (off, gone) = ("SetLoadBalancerTCPListenerAttribute", "DeleteAccessControlList");
    assert_eq!(writes(&played.settle(&mut service)), [off, gone, gone, gone]);
    assert_eq!((service.memo.as_deref(), lists(&played)), (Some("lb-1"), 0));
}

#[test]
fn a_deletion_without_a_memo_leaves_no_list_of_access() {
    let (played, mut service) = opened();
    played.cloud.borrow_mut().cloud().busy_at = vec!["DeleteAccessControlList"];
    service.memo = None;
    assert!(!delete(&played, &mut service), "its list is still in use");
    assert_eq!(service.memo.as_deref(), Some("lb-1 unused:acl-1"));
    assert!(delete(&played, &mut service));
    assert_eq!(played.cloud.borrow_mut().cloud().objects(), []);
}

#[test]
fn lists_of_access_beside_refused_listeners_are_not_left() {
    let ranged =
        |port: Port| LoadBalancer { source_ranges: vec!["10.0.0.0/8".to_owned()], ports: vec![port], ..service() };
    let refuse = |played: &Played<FakeSlb>, service: &mut LoadBalancer| {
        played.cloud.borrow_mut().cloud().refused_at = vec!["CreateLoadBalancerTCPListener"];
        (0..6).for_each(|_| drop(played.call(service)));
        assert_eq!((service.memo.as_deref(), lists(played)), (Some("lb-1 unused:acl-1"), 1));
    };
    // Every listener is refused, and then the ranges go.
    let alone = (Played::new(FakeSlb::default()), ranged(Port::new(Protocol::Tcp, 80, 30_080)));
    // The ranges go, and another listener than theirs is refused.
    let beside = (Played::new(FakeSlb::default()), ranged(Port::new(Protocol::Udp, 53, 30_053)));
    for (is_served, (played, mut service)) in [(false, alone), (true, beside)] {
        if is_served {
            played.settle(&mut service);
            service.ports.push(Port::new(Protocol::Tcp, 80, 30_080));
            service.source_ranges.clear();
        }
        refuse(&played, &mut service);
        service.source_ranges.clear();
        played.cloud.borrow_mut().cloud().refused_at.clear();
        assert!(writes(&played.settle(&mut service)).contains(&"DeleteAccessControlList"));
        assert_eq!((service.memo.as_deref(), lists(&played)), (Some("lb-1"), 0), "{is_served}");
    }
}

#[test]
fn ranges_of_clients_are_a_list_of_access() {
    let played = Played::new(FakeSlb::default());
    let mut service = service();
    service.source_ranges = vec!["10.0.0.0/8".to_owned(), "192.0.2.0/24".to_owned()];
    played.settle(&mut service);
    let shown = |played: &Played<FakeSlb>| {
        let mut simulated = played.cloud.borrow_mut();
        let cloud = simulated.cloud();
        let live = cloud.balancers.get("lb-1").unwrap().body["Listeners"][0].clone();
        let lists: Vec<Value> = cloud.lists.all().map(|(_, it)| it.body["Entries"].clone()).collect();
        (["AclId", "AclStatus", "AclType"].map(|it| live[it].clone()), lists)
    };
    let on = ["acl-1", "on", "white"].map(Value::from);
    assert_eq!(shown(&played), (on.clone(), vec![json!(["10.0.0.0/8", "192.0.2.0/24"])]));
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    service.source_ranges = vec!["192.0.2.0/24".to_owned(), "198.51.100.0/24".to_owned()];
    assert_eq!(writes(&played.settle(&mut service)), ["AddAccessControlListEntry", "RemoveAccessControlListEntry"]);
    assert_eq!(shown(&played), (on, vec![json!(["192.0.2.0/24", "198.51.100.0/24"])]));
    service.source_ranges.clear();
    let expected = ["SetLoadBalancerTCPListenerAttribute", "DeleteAccessControlList"];
    assert_eq!(writes(&played.settle(&mut service)), expected);
    assert_eq!(shown(&played).1, [Value::Null; 0]);
    service.source_ranges = vec!["2001:db8::/32".to_owned()];
    assert!(matches!(played.call(&mut service), Err(Error::Invalid(_))), "nobody is let in whom no list names");
    service.source_ranges = vec!["10.0.0.0/8".to_owned()];
    played.settle(&mut service);
    assert_eq!(played.host.run(|| Alibaba::delete(&service)), Ok(Deletion::Done));
    assert_eq!(played.cloud.borrow_mut().cloud().objects().len(), 0);
}

#[test]
fn a_list_of_access_goes_with_its_last_listener() {
    let played = Played::new(FakeSlb::default());
    let mut service = service();
    service.source_ranges = vec!["10.0.0.0/8".to_owned()];
    played.settle(&mut service);
    // Another port, and everybody may come in.
    service.ports = vec![Port::new(Protocol::Tcp, 81, 30_080)];
    service.source_ranges.clear();
    assert!(writes(&played.settle(&mut service)).contains(&"DeleteAccessControlList"));
    assert_eq!(played.cloud.borrow_mut().cloud().lists.all().count(), 0);
}

#[test]
fn ports_that_forward_have_no_list_of_access() {
    let played = Played::new(FakeSlb::default());
    let mut service = annotated("protocol-port", "https:443,http:80")
        .with_annotation(format!("{PREFIX}cert-id"), "c")
        .with_annotation(format!("{PREFIX}forward-port"), "80:443")
        .with_port(Port::new(Protocol::Tcp, 443, 30_443));
    // The status of the list at port 443, and at port 80, which sends clients there.
    let shown = |played: &Played<FakeSlb>| {
        let live = played.cloud.borrow_mut().cloud().balancers.get("lb-1").unwrap().body.clone();
        [443, 80].map(|port| {
            let listener = live["Listeners"].as_array().unwrap().iter().find(|it| it["ListenerPort"] == port).unwrap();
            listener["AclStatus"].clone()
        })
    };
    let ranged = |service: &mut LoadBalancer| service.source_ranges = vec!["10.0.0.0/8".to_owned()];
    ranged(&mut service);
    played.settle(&mut service);
    assert_eq!((shown(&played), lists(&played)), ([json!("on"), Value::Null], 1));
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    service.source_ranges.clear();
    let expected = ["SetLoadBalancerHTTPSListenerAttribute", "DeleteAccessControlList"];
    assert_eq!(writes(&played.settle(&mut service)), expected);
    assert_eq!((shown(&played), lists(&played)), ([json!("off"), Value::Null], 0));
    ranged(&mut service);
    played.settle(&mut service);
    assert_eq!((shown(&played), lists(&played)), ([json!("on"), Value::Null], 1));
}
