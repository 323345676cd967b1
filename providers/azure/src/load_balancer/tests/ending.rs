//! Services for which everything is as desired once operations have ended.

use super::*;

/// Two Services at a cloud whose operations take a while, and a node that leaves.
fn a_node_leaves(cloud: FakeArm, settings: &[(&str, &str)]) -> (BalancerStage, Vec<LoadBalancer>, usize) {
    let mut stage = BalancerStage::of(cloud, settings);
    let services = stage.all_ready(vec![service(), named("two", &uid(2)).with_port(tcp(443))]);
    stage.nodes.pop();
    let asked = stage.asked();
    (stage, services, asked)
}

fn slow() -> FakeArm {
    FakeArm { takes: 5, ..FakeArm::default() }
}

/// Reads since so many requests: of objects and lists, and of operations.
fn reads(stage: &BalancerStage, since: usize) -> (usize, usize) {
    let sent = stage.host.sent();
    let reads = sent[since..].iter().filter(|it| it.method == Method::Get);
    let (operations, others): (Vec<_>, Vec<_>) = reads.partition(|it| it.path.iter().any(|it| it == "operations"));
    (others.len(), operations.len())
}

#[test]
fn a_node_that_leaves_takes_four_reads_and_a_write() {
    let by_address: &[_] = &[("loadBalancerBackendPoolConfigurationType", "nodeIP")];
    let pool = "Put loadBalancers/kubernetes/backendAddressPools/kubernetes";
    for (settings, most, write) in [(&[] as &[_], 4, "Put networkInterfaces/node-2-nic"), (by_address, 3, pool)] {
        let (stage, services, asked) = a_node_leaves(slow(), settings);
        stage.all_ready(services);
        assert_eq!(stage.writes(asked), [write]);
        let (others, operations) = reads(&stage, asked);
        assert!(others <= most && operations > 0, "{others} reads, {operations} questions about operations");
        let members = part(&stage.balancer(), "backendAddressPools", "kubernetes");
        assert!(!members.to_string().contains("node-2"), "{members}");
    }
}

#[test]
fn a_change_meanwhile_is_a_turn_of_its_own() {
    let (stage, services, _) = a_node_leaves(slow(), &[]);
    let Ok(Progress::Pending(pending)) = stage.batch(&services).remove(0) else { panic!("it is not over") };
    let waiting = services[0].clone().after(pending.status);
    let same = stage.asked();
    assert!(matches!(stage.step(&waiting), Ok(Progress::Pending(_))));
    assert_eq!(reads(&stage, same), (0, 1), "as long as it asks for the same");
    let changed = stage.ready(waiting.with_port(tcp(8_080)));
    assert!(names(&stage.balancer(), "loadBalancingRules").contains(&format!("{BASE}-TCP-8080")));
    assert!(!changed.memo.unwrap().contains('='));
}

#[test]
fn a_node_that_comes_back_meanwhile_stays() {
    let (mut stage, services, _) = a_node_leaves(slow(), &[]);
    let node = BalancerStage::new().nodes.pop().unwrap();
    let Ok(Progress::Pending(pending)) = stage.batch(&services).remove(0) else { panic!("it is not over") };
    stage.nodes.push(node);
    stage.ready(services[0].clone().after(pending.status));
    let pool = part(&stage.balancer(), "backendAddressPools", "kubernetes");
    assert_eq!(pool["properties"]["backendIPConfigurations"].as_array().unwrap().len(), 2, "{pool}");
}

#[test]
fn an_operation_that_fails_is_told_and_made_up_for() {
    let (stage, services, _) = a_node_leaves(slow(), &[]);
    let Ok(Progress::Pending(pending)) = stage.batch(&services).remove(0) else { panic!("it is not over") };
    let waiting = services[0].clone().after(pending.status);
    stage.cloud.borrow_mut().operations_fail = Some("InternalServerError");
    let failed = loop {
        match stage.step(&waiting) {
            Ok(Progress::Pending(_)) => {}
            Ok(Progress::Failed(failed)) => break failed,
            other => panic!("{other:?}"),
        }
    };
    assert!(failed.error.why().contains("InternalServerError: it failed"), "{:?}", failed.error);
    stage.cloud.borrow_mut().operations_fail = None;
    let asked = stage.asked();
    stage.ready(waiting.after(failed.status));
    assert!(reads(&stage, asked).0 >= 3, "everything is looked at again");
}

#[test]
fn operations_that_may_not_be_read_are_looked_at_otherwise() {
    let (stage, services, asked) = a_node_leaves(slow(), &[]);
    stage.cloud.borrow_mut().refusals = vec![("/operations/".to_owned(), 403, "AuthorizationFailed", usize::MAX)];
    stage.all_ready(services);
    assert_eq!(stage.writes(asked), ["Put networkInterfaces/node-2-nic"]);
}
