//! Owners of load balancers: a name that somebody chose proves nothing.

use super::*;

/// A load balancer that was made by hand.
fn body(subnet: &str) -> Value {
    json!({ "is_public": true, "subnets": [{ "id": subnet }], "listeners": [], "pools": [] })
}

fn with(name: &str, subnet: &str) -> Played {
    let mut cloud = FakeVpc::default();
    cloud.balancers.make(name, body(subnet), testing::FakeMoment::default());
    Played::new(cloud)
}

#[test]
fn ibm_036_a_chosen_name_takes_nothing_over() {
    let played = with("shared", "0717-s1");
    let mut service = annotated("vpc-lb-name", "shared");
    let answers: Vec<String> = (0..4).map(|_| format!("{:?}", played.call(&mut service))).collect();
    let part = "is the name of load balancer lb-1, which is not this Service's";
    assert!(answers[1].contains(part) && answers[3].contains(part), "{answers:#?}");
    assert_eq!(played.host.run(|| Ibm::delete(&LoadBalancer { memo: None, ..service })), Ok(Deletion::Done));
    assert!(played.host.requests().iter().all(|it| it.starts_with("GET")), "{:?}", played.host.requests());
}

#[test]
fn ibm_040_a_resource_group_is_an_id_that_nobody_is_asked_for() {
    let played = Played::new(FakeVpc::default()).with("resourceGroupID", "rg0002");
    assert_eq!(played.settle(&mut service()), ["POST "]);
    assert_eq!(played.bodies()[0]["resource_group"], json!({ "id": "rg0002" }));
    assert!(played.host.requests().iter().all(|it| it.contains(" vpc /")), "{:?}", played.host.requests());
}

#[test]
fn ibm_036_a_name_is_that_of_one_vpc_alone() {
    let played = with(NAME, cloud::OTHER_VPC);
    let mut service = service();
    assert_eq!(played.settle(&mut service), ["POST "]);
    assert_eq!(service.memo.as_deref(), Some("lb-2"), "one of another VPC is not the Service's");
    service.memo = None;
    let deletion = played.host.run(|| Ibm::delete(&service));
    assert!(matches!(&deletion, Ok(Deletion::Pending(_))), "{deletion:?}");
    assert_eq!(played.deletions(), ["DELETE /lb-2"]);
}

#[test]
fn one_of_the_vendors_manager_is_taken_over_without_a_write() {
    let made = Played::new(FakeVpc::default());
    let mut service = service();
    made.settle(&mut service);
    service.memo = None;
    assert_eq!(made.settle(&mut service), [""; 0], "it is found by its name");
    assert_eq!(service.memo.as_deref(), Some("lb-1"));
    let chosen = Played::new(FakeVpc::default());
    let mut service = annotated("vpc-lb-name", "shared");
    chosen.settle(&mut service);
    service.memo = None;
    assert_eq!(chosen.settle(&mut service), [""; 0], "it is the one that the Service's status shows");
    assert_eq!(service.memo.as_deref(), Some("lb-1"));
}
