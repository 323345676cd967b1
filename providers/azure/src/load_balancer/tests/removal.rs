//! Services that go.

use aerostat_sdk::Deletion;

use super::*;

#[test]
fn azure_048_and_049_the_last_one_takes_the_balancer_along() {
    let stage = BalancerStage::new();
    let first = stage.ready(service());
    let second = stage.ready(named("two", &uid(2)).with_port(tcp(80)));
    let asked = stage.asked();
    assert!(matches!(stage.delete(&first), Ok(Deletion::Done)));
    let public = format!("Delete publicIPAddresses/kubernetes-{BASE}");
    assert_eq!(stage.writes(asked), ["Put networkSecurityGroups/nsg1", "Put loadBalancers/kubernetes", &*public]);
    assert_eq!(names(&stage.balancer(), "frontendIPConfigurations"), [&*second.name]);
    let asked = stage.asked();
    assert!(matches!(stage.delete(&second), Ok(Deletion::Done)));
    let public = format!("Delete publicIPAddresses/kubernetes-{}", second.name);
    assert_eq!(stage.writes(asked), ["Put networkSecurityGroups/nsg1", "Delete loadBalancers/kubernetes", &*public]);
    let asked = stage.asked();
    assert!(matches!(stage.delete(&second), Ok(Deletion::Done)));
    assert_eq!(stage.writes(asked), [""; 0]);
}

#[test]
fn foreign_parts_keep_a_balancer() {
    let stage = BalancerStage::new();
    let service = stage.ready(service());
    stage.cloud.borrow_mut().touch("Microsoft.Network/loadBalancers/kubernetes", |entry| {
        let frontend = json!({ "name": "theirs", "properties": { "x": 1 } });
        entry["properties"]["frontendIPConfigurations"].as_array_mut().unwrap().push(frontend);
        entry["properties"]["outboundRules"] = json!([{ "name": "out", "properties": { "y": 2 } }]);
    });
    stage.gone(&service);
    let left = stage.balancer();
    assert_eq!(names(&left, "frontendIPConfigurations"), ["theirs"]);
    assert_eq!(left["properties"]["outboundRules"][0]["properties"]["y"], 2);
}

#[test]
fn azure_051_a_refused_deletion_is_waited_for() {
    let stage = BalancerStage::new();
    let service = stage.ready(service());
    stage.cloud.borrow_mut().refusals = vec![("DELETE /".to_owned(), 400, "PublicIPAddressCannotBeDeleted", 2)];
    assert!(
        matches!(stage.delete(&service), Ok(Deletion::Pending(pending)) if pending.wait.reason.contains("PublicIPAddressCannotBeDeleted"))
    );
    stage.gone(&service);
    assert_eq!((stage.balancer(), stage.publics().len()), (Value::Null, 0));
}

#[test]
fn addresses_of_a_process_that_died_are_found() {
    let stage = BalancerStage::new();
    stage.cloud.borrow_mut().refusals = vec![("PUT /subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg1/providers/Microsoft.Network/loadBalancers".to_owned(), 500, "x", 1)];
    assert!(matches!(stage.step(&service()), Ok(Progress::Failed(_))));
    assert_eq!(stage.publics().len(), 1);
    stage.gone(&service());
    assert_eq!(stage.publics(), [""; 0]);
}

#[test]
fn slow_deletions_leave_nothing() {
    let slow = FakeArm { takes: 9, ..FakeArm::default() };
    let stage = BalancerStage::of(slow, &[]);
    let service = stage.ready(service());
    stage.gone(&service);
    stage.cloud.borrow_mut().clock += 20;
    assert!(matches!(stage.delete(&service), Ok(Deletion::Done)));
    assert_eq!(
        (stage.balancer(), stage.publics().len(), names(&stage.group(), "securityRules").len()),
        (Value::Null, 0, 0)
    );
}
