//! Changes that wait for Octavia, and deletions, by the numbers of the specification.

use serde_json::json;

use super::*;

/// The end of a call, or the reason for which it waits and for how many milliseconds.
fn pending<T>(answer: Result<Progress>, ready: impl FnOnce() -> T) -> Result<T, (String, u32)> {
    match answer.unwrap() {
        Progress::Pending(it) => Err((it.wait.reason, it.wait.milliseconds)),
        Progress::Ready(_) => Ok(ready()),
        other => panic!("{other:?}"),
    }
}

fn floating_ips(stage: &Stage) -> usize {
    stage.cloud.borrow_mut().cloud().floating.len()
}

#[test]
fn openstack_041_a_repeated_call_writes_nothing() {
    let mut stage = Stage::new().annotated("enable-health-monitor", "true");
    stage.service.ports.push(Port::new(Protocol::Udp, 53, 30_053));
    stage.ensured().unwrap();
    assert_eq!(stage.ensured().unwrap(), [""; 0]);
    // A new process has neither cursor nor cache: what the Service shows is all it knows.
    stage.service.annotations.reverse();
    stage.service.nodes.reverse();
    assert_eq!(stage.ensured().unwrap(), [""; 0]);
}

#[test]
fn openstack_042_a_node_that_left_is_one_write_for_each_pool() {
    let mut stage = Stage::new().with(|it| it.ports.push(Port::new(Protocol::Tcp, 81, 30_081)));
    stage.ensured().unwrap();
    stage.service.nodes.pop();
    stage.cloud.borrow_mut().asked();
    let mut each = Vec::new();
    loop {
        let answer = stage.run(OpenStack::ensure);
        each.push(stage.writes().len());
        match pending(answer, || ()) {
            Ok(()) => break,
            Err((_, pause)) => {
                assert_eq!(pause, 5_000, "as long as the setting pollInterval");
                stage.pause(pause);
            }
        }
    }
    assert_eq!(each.iter().sum::<usize>(), 2, "{each:?}");
    assert!(each.iter().all(|it| *it < 2), "one at a time: {each:?}");
    stage.change(|cloud| assert_eq!(cloud.members.len(), 4));
}

#[test]
fn openstack_043_an_immutable_load_balancer_is_waited_for() {
    let mut stage = Stage::new();
    stage.ensured().unwrap();
    stage.service.nodes.pop();
    // It shows ACTIVE, and refuses: another has begun a change in between.
    stage.change(|cloud| cloud.hold(2));
    let (reason, pause) = pending(stage.run(OpenStack::ensure), || ()).unwrap_err();
    assert!(reason.contains("immutable") && pause <= 10_000, "{reason} {pause}");
    assert_eq!(stage.events, [""; 0]);
    assert_eq!(stage.ensured().unwrap().last().unwrap(), "PUT /pools/*/members");
    assert_eq!(stage.events, [""; 0]);
}

#[test]
fn openstack_044_a_listener_in_error_is_made_again() {
    let mut stage = Stage::new();
    stage.ensured().unwrap();
    stage.change(|cloud| cloud.listeners.values_mut().for_each(|it| it["provisioning_status"] = json!("ERROR")));
    assert_eq!(stage.ensured().unwrap(), ["DELETE /listeners/*", "POST /listeners"], "its pool serves again");
    stage.change(|cloud| cloud.pools.values_mut().for_each(|it| it["provisioning_status"] = json!("ERROR")));
    assert_eq!(stage.ensured().unwrap(), ["DELETE /pools/*", "POST /pools", "PUT /pools/*/members"]);
    assert_eq!(stage.ensured().unwrap(), [""; 0]);
}

#[test]
fn openstack_048_an_absent_load_balancer_is_deleted() {
    assert_eq!(Stage::new().deleted().unwrap(), [""; 0]);
    let mut gone = Stage::new();
    gone.ensured().unwrap();
    gone.deleted().unwrap();
    assert_eq!(gone.deleted().unwrap(), [""; 0]);
}

#[test]
fn openstack_049_a_change_is_waited_for_before_the_deletion() {
    let mut stage = Stage::new();
    stage.ensured().unwrap();
    stage.change(|cloud| {
        cloud.balancers.values_mut().for_each(|it| it["provisioning_status"] = json!("PENDING_UPDATE"));
    });
    stage.cloud.borrow_mut().asked();
    let Deletion::Pending(waits) = stage.run(OpenStack::delete).unwrap() else { panic!("it is deleted") };
    assert!(waits.wait.milliseconds <= 10_000 && waits.wait.reason.contains("changes"), "{waits:?}");
    assert_eq!(stage.writes(), [""; 0]);
    stage.change(|cloud| cloud.balancers.values_mut().for_each(|it| it["provisioning_status"] = json!("ACTIVE")));
    stage.deleted().unwrap();
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn openstack_050_a_floating_ip_may_be_kept() {
    let mut stage = Stage::new().annotated("keep-floatingip", "true");
    stage.ensured().unwrap();
    assert_eq!(stage.deleted().unwrap(), ["DELETE /loadbalancers/*"]);
    stage.change(|cloud| {
        assert!(cloud.balancers.is_empty() && cloud.floating.values().all(|it| it["port_id"].is_null()));
    });
    assert_eq!(floating_ips(&stage), 1);
}

#[test]
fn openstack_051_a_floating_ip_of_others_stays() {
    for words in ["", "mine", "Floating IP for Kubernetes external service default/web from cluster other"] {
        let mut stage = Stage::new();
        stage.ensured().unwrap();
        stage.change(|cloud| cloud.floating.values_mut().for_each(|it| it["description"] = json!(words)));
        assert_eq!(stage.deleted().unwrap(), ["DELETE /loadbalancers/*"], "{words:?}");
        assert_eq!(floating_ips(&stage), 1, "{words:?}");
    }
}

#[test]
fn openstack_052_one_of_several_takes_its_own_parts() {
    let mut owner = Stage::new().annotated("enable-health-monitor", "true");
    owner.ensured().unwrap();
    let id = owner.service.memo.clone().unwrap();
    let guest = owner.other("guest", "u-1").annotated("load-balancer-id", &id);
    let mut guest = guest
        .annotated("enable-health-monitor", "true")
        .with(|it| it.ports = vec![Port::new(Protocol::Tcp, 81, 30_081)]);
    guest.ensured().unwrap();
    assert_eq!(guest.deleted().unwrap(), ["DELETE /pools/*", "DELETE /listeners/*", "PUT /loadbalancers/*"]);
    owner.change(|cloud| {
        assert_eq!((cloud.listeners.len(), cloud.pools.len(), cloud.monitors.len()), (1, 1, 1));
        assert_eq!(cloud.listeners.values().next().unwrap()["protocol_port"], 80);
        assert!(!cloud.balancers[&id]["tags"].to_string().contains("guest"));
    });
    assert_eq!((floating_ips(&owner), owner.ensured().unwrap().len()), (1, 0));
}

#[test]
fn openstack_053_the_whole_goes_with_address_and_group() {
    let mut stage = Stage::new().setting("loadBalancers.manageSecurityGroups", "true");
    stage.ensured().unwrap();
    let ports = ["PUT /ports/port-11", "PUT /ports/port-12", "PUT /ports/port-13"];
    let whole = ["DELETE /floatingips/*", "DELETE /loadbalancers/*"];
    let expected: Vec<_> = whole.iter().chain(&ports).chain(&["DELETE /security-groups/*"]).copied().collect();
    assert_eq!(stage.deleted().unwrap(), expected);
    assert_eq!(stage.left(), [""; 0]);
}
