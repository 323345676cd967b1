//! Owners of load balancers: a name that somebody chose proves nothing.

use super::*;
use crate::settings::balancers::IbmBalancerSettings;

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

/// The requests of one whose author chose its name.
pub(super) fn life() -> Vec<testing::Request> {
    let played = Played::new(FakeVpc::default());
    played.settle(&mut annotated("vpc-lb-name", "shared"));
    played.host.sent()
}

#[test]
fn a_chosen_name_is_given_to_one_that_is_known_by_its_own() {
    let played = Played::new(FakeVpc::default());
    let mut service = annotated("vpc-lb-name", "shared");
    assert_eq!(played.settle(&mut service), ["POST ", "PATCH /lb-1"]);
    let bodies = played.bodies();
    assert_eq!((&bodies[0]["name"], &bodies[1]), (&json!(NAME), &json!({ "name": "shared" })));
    assert_eq!(played.settle(&mut service), [""; 0]);
    service.annotations[0].1 = "other".to_owned();
    assert_eq!(played.settle(&mut service), [""; 0], "a name that it has stays");
    assert_eq!(played.gone(&service), ["DELETE /lb-1"]);
}

#[test]
fn a_chosen_name_that_is_taken_meanwhile_is_told() {
    let played = Played::new(FakeVpc::default());
    let mut service = annotated("vpc-lb-name", "shared");
    let _ = (played.call(&mut service), played.call(&mut service));
    let other = body("0717-s1");
    played.cloud.borrow_mut().cloud().balancers.make("shared", other, testing::FakeMoment::default());
    let answers: Vec<String> = (0..30).map(|_| format!("{:?}", played.call(&mut service))).collect();
    assert!(answers[29].contains("vpc-lb-name") && answers[29].contains("choose another"), "{answers:#?}");
    service.annotations.clear();
    assert_eq!(played.settle(&mut service), [""; 0], "it serves under its own");
    assert_eq!(service.memo.as_deref(), Some("lb-1"));
}

#[test]
fn a_lost_creation_of_one_with_a_chosen_name_is_found() {
    for is_deleted in [false, true] {
        let played = Played::new(FakeVpc::default());
        let mut service = annotated("vpc-lb-name", "shared");
        let _ = played.call(&mut service);
        // The process that sends the creation is gone before it has kept the id.
        let announced = service.clone();
        let _ = played.call(&mut service);
        let mut service = LoadBalancer { extra: Vec::new(), ..announced };
        if is_deleted {
            let mut last = None;
            for _ in 0..60 {
                let host = played.host.clone().at(played.cloud.borrow().now());
                last = Some(host.run(|| Ibm::delete(&service)).unwrap());
                if let Some(Deletion::Pending(it)) = &last {
                    service = service.after(it.status.clone());
                }
                played.cloud.borrow_mut().advance(Duration::from_secs(3));
            }
            assert_eq!((last, played.deletions().last().map(|it| &**it)), (Some(Deletion::Done), Some("DELETE /lb-1")));
            assert!(played.cloud.borrow_mut().cloud().balancers.get("lb-1").is_none());
        } else {
            assert_eq!(played.settle(&mut service), ["PATCH /lb-1"], "no second one");
            assert_eq!(service.memo.as_deref(), Some("lb-1"));
        }
    }
}

#[test]
fn one_that_nothing_proves_is_told_at_the_end_of_a_service() {
    for (shown, told) in [(vec![Ingress::ip("169.48.0.1")], &["LoadBalancerNotDeleted"][..]), (Vec::new(), &[])] {
        let played = with("shared", "0717-s1");
        let service = LoadBalancer { current_ingress: shown, ..annotated("vpc-lb-name", "shared") };
        assert_eq!(played.host.run(|| Ibm::delete(&service)), Ok(Deletion::Done));
        assert_eq!(
            (played.reasons(), played.deletions()),
            (told.iter().map(|it| (*it).to_owned()).collect(), Vec::new())
        );
    }
}

#[test]
fn ibm_040_a_resource_group_is_an_id_that_nobody_is_asked_for() {
    let played = Played::new(FakeVpc::default()).with("resourceGroupID", "rg0002");
    assert_eq!(played.settle(&mut service()), ["POST "]);
    assert_eq!(played.bodies()[0]["resource_group"], json!({ "id": "rg0002" }));
    assert!(played.host.requests().iter().all(|it| it.contains(" vpc /")), "{:?}", played.host.requests());
}

/// A cluster whose resource group is known by its name, in an account with these.
fn with_groups(groups: &[(&'static str, &'static str)]) -> Played {
    let mut cloud = FakeVpc::default();
    cloud.resource_groups = groups.to_vec();
    Played::new(cloud).with("g2ResourceGroupName", "shop")
}

#[test]
fn resource_groups_may_be_known_by_their_names() {
    let played = with_groups(&[("rg1", "shop-2"), ("rg2", "shop")]);
    assert_eq!(played.settle(&mut service()), ["POST "]);
    assert_eq!(played.bodies()[0]["resource_group"], json!({ "id": "rg2" }));
    let asked = played.host.requests().into_iter().filter(|it| it.contains("resource-manager"));
    assert_eq!(
        asked.collect::<Vec<_>>(),
        ["GET resource-manager /resource_groups?account_id=acc&name=shop"],
        "once, without what requests to the VPC carry"
    );
    let ranged = with_groups(&[("rg2", "shop")]).with("sourceRangeGroups", "true");
    let mut service = LoadBalancer { source_ranges: vec!["10.0.0.0/8".to_owned()], ..service() };
    ranged.settle(&mut service);
    assert_eq!(ranged.bodies()[0]["resource_group"], json!({ "id": "rg2" }), "the security group's, too");
}

#[test]
fn resource_groups_that_are_none_or_several_are_refused() {
    for (groups, part) in [
        (
            &[("rg1", "shop-2")][..],
            "account acc has no resource group \"shop\", or the credential lacks the role Viewer",
        ),
        (&[("rg1", "shop"), ("rg2", "shop")][..], "account acc has 2 resource groups \"shop\": write resourceGroupID"),
    ] {
        let played = with_groups(groups);
        let mut service = service();
        let refused = (0..2).map(|_| played.call(&mut service)).last().unwrap();
        let why = match &refused {
            Err(error) => error.why(),
            Ok(Progress::Failed(failed)) => failed.error.why(),
            other => panic!("{other:?}"),
        };
        assert!(why.contains(part), "{why}");
        assert!(played.host.bodies().is_empty());
    }
    let both = Played::new(FakeVpc::default()).with("g2ResourceGroupName", "shop").with("resourceGroupID", "rg1");
    let refused = both.call(&mut service());
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("take one of them out")), "{refused:?}");
}

#[test]
fn resource_managers_have_an_endpoint_where_a_group_has_a_name() {
    let described =
        |host: Host| host.without_cluster().run(<Ibm as aerostat_sdk::Provider>::describe).unwrap().endpoints;
    let usual = crate::tests::settings();
    assert_eq!(described(usual.clone()).len(), 1);
    let named = usual.setting("g2ResourceGroupName", "shop");
    assert_eq!(described(named.clone())[1].name, "resource-manager");
    let denied = named.answers(|_| Err(testing::Failure::Denied("there is no such endpoint".to_owned())));
    let refused = denied.run(|| IbmBalancerSettings::read()?.resource_group("acc"));
    let part = "needs endpoint resource-manager with GET /resource_groups";
    assert!(
        matches!(&refused, Err(Error::Denied(why)) if why.contains(part) && why.contains("resourceGroupID")),
        "{refused:?}"
    );
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
fn a_shown_hostname_proves_nothing_beside_anothers_name() {
    // The vendor's manager gives a Service what another one has, if it is named.
    let others = "kube-c1-9c2f6f1c9a5e4a8e8f0b1f6d3f6f2a99";
    let played = with(others, "0717-s1");
    let shown = Ingress::hostname("lb-1.lb.appdomain.example");
    let mut thief = LoadBalancer { current_ingress: vec![shown], ..service() };
    assert_eq!(played.host.run(|| Ibm::delete(&thief)), Ok(Deletion::Done));
    assert_eq!(played.settle(&mut thief), ["POST "]);
    assert_eq!(thief.memo.as_deref(), Some("lb-2"), "it gets one of its own");
    assert_eq!(played.deletions(), [""; 0]);
    assert!(played.cloud.borrow_mut().cloud().balancers.get("lb-1").is_some());
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
