//! Source ranges: a security group of the Service's own, with a rule for each, that goes with the Service.

use super::*;

const SETTING: &str = "sourceRangeGroups";

fn ranged(ranges: &[&str]) -> LoadBalancer {
    LoadBalancer { source_ranges: ranges.iter().map(|it| (*it).to_owned()).collect(), ..service() }
}

impl Played {
    fn rules(&self) -> Vec<String> {
        self.cloud.borrow_mut().cloud().rules()
    }

    fn groups(&self) -> Vec<Value> {
        self.cloud.borrow_mut().cloud().groups_of("lb-1")
    }

    /// Deletes the Service, and answers what was sent.
    fn gone(&self, service: &LoadBalancer) -> Vec<String> {
        let before = self.host.requests().len();
        for _ in 0..50 {
            let host = self.host.clone().at(self.cloud.borrow().now());
            if host.run(|| Ibm::delete(service)) == Ok(Deletion::Done) {
                let sent = self.host.requests()[before..].iter().map(|it| plain(it)).collect::<Vec<_>>();
                return sent.into_iter().filter(|it| it.starts_with("DELETE")).collect();
            }
            self.cloud.borrow_mut().advance(Duration::from_secs(3));
        }
        panic!("it is not gone: {:?}", self.host.requests());
    }
}

/// The requests of a group's life: made with its rules, given in the place of the usual one, changed, and deleted with the Service.
pub(super) fn life() -> Vec<testing::Request> {
    let played = Played::new(FakeVpc::default()).with(SETTING, "true");
    let mut service = service();
    played.settle(&mut service);
    for range in ["10.0.0.0/8", "192.0.2.0/24"] {
        service.source_ranges = vec![range.to_owned()];
        played.settle(&mut service);
    }
    played.gone(&service);
    played.host.sent()
}

#[test]
fn ibm_041_source_ranges_are_rules_of_an_own_group() {
    let played = Played::new(FakeVpc::default()).with(SETTING, "true");
    let mut service = ranged(&["10.0.0.0/8", "192.0.2.0/24", "10.0.0.0/8", "2001:db8::/32"]);
    assert_eq!(played.settle(&mut service), ["POST vpc /security_groups", "POST "]);
    let bodies = played.bodies();
    assert_eq!((&bodies[0]["name"], &bodies[0]["vpc"]), (&json!(NAME), &json!({ "id": "r006-1" })));
    let all = ["inbound tcp 10.0.0.0/8", "inbound tcp 192.0.2.0/24", "outbound any 0.0.0.0/0"];
    assert_eq!(played.rules(), all);
    assert_eq!(bodies[1]["security_groups"], json!([{ "id": "r006-own-1" }]), "and no other one");
    assert_eq!(played.settle(&mut service), [""; 0]);

    service.source_ranges = vec!["192.0.2.0/24".to_owned(), "198.51.100.7/32".to_owned()];
    let written = played.settle(&mut service);
    let groups = "vpc /security_groups/r006-own-1";
    assert_eq!(written.len(), 2, "{written:?}");
    assert_eq!(
        (&*written[0], written[1].starts_with(&format!("DELETE {groups}/rules/"))),
        (&*format!("POST {groups}/rules"), true)
    );
    assert_eq!(played.rules(), [all[1], all[2], "inbound tcp 198.51.100.7/32"]);
    assert!(played.host.events().is_empty(), "{:?}", played.host.events());
    assert_eq!(played.gone(&service), ["DELETE /lb-1", &format!("DELETE {groups}")]);
    assert!(played.rules().is_empty());
}

#[test]
fn ibm_041_ranges_come_to_a_load_balancer_and_go_again() {
    let played = Played::new(FakeVpc::default()).with(SETTING, "true");
    let mut service = service();
    assert_eq!(played.settle(&mut service), ["POST "]);
    service.source_ranges = vec!["10.0.0.0/8".to_owned()];
    let expected = [
        "POST vpc /security_groups",
        "PUT vpc /security_groups/r006-own-9/targets/lb-1",
        "DELETE vpc /security_groups/r006-usual/targets/lb-1",
    ];
    let written = played.settle(&mut service);
    let own = played.groups()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(written, expected.map(|it| it.replace("r006-own-9", &own)));
    service.source_ranges = vec!["0.0.0.0/0".to_owned()];
    let back =
        ["PUT vpc /security_groups/r006-usual/targets/lb-1", "DELETE vpc /security_groups/r006-own-9/targets/lb-1"];
    assert_eq!(played.settle(&mut service), back.map(|it| it.replace("r006-own-9", &own)));
    assert_eq!(played.groups(), [json!({ "id": "r006-usual" })]);
    assert_eq!(played.gone(&service).len(), 2, "the group goes with the Service");
}

#[test]
fn a_group_of_a_creation_that_was_refused_goes_with_the_service() {
    let refuses: fn() -> aerostat_sdk::testing::Response = || cloud::error(400, "load_balancer_over_quota");
    let mut vpc = FakeVpc::default();
    vpc.refuses = Some(refuses);
    let played = Played::new(vpc).with(SETTING, "true");
    let mut service = ranged(&["10.0.0.0/8"]);
    for _ in 0..4 {
        let _ = played.call(&mut service);
    }
    assert_eq!(played.rules().len(), 2);
    assert_eq!(played.gone(&service).len(), 1);
    assert!(played.rules().is_empty());
}

#[test]
fn changed_rules_of_an_own_group_are_put_right() {
    let played = Played::new(FakeVpc::default()).with(SETTING, "true");
    let mut service = ranged(&["10.0.0.0/8"]);
    played.settle(&mut service);
    let everybody =
        json!({ "id": "rule-x", "direction": "inbound", "protocol": "tcp", "remote": { "cidr_block": "0.0.0.0/0" } });
    let group = json!({ "id": "r006-remote", "direction": "inbound", "protocol": "tcp", "remote": { "id": "r006-g1", "name": "g" } });
    played.cloud.borrow_mut().cloud().groups[0]["rules"].as_array_mut().unwrap().extend([everybody, group]);
    let mut groups = played.groups();
    groups.push(json!({ "id": "r006-g1" }));
    played.cloud.borrow_mut().cloud().balancers.get_mut("lb-1").unwrap().body["security_groups"] = groups.into();
    let written = played.settle(&mut service);
    assert!(written.len() == 2 && written.iter().all(|it| it.contains("/rules/")), "{written:?}");
    assert_eq!((played.rules().len(), played.groups().len()), (2, 2), "a group that somebody gave it stays");
}

#[test]
fn ranges_without_the_setting_make_no_group() {
    let played = Played::new(FakeVpc::default());
    let mut service = ranged(&["10.0.0.0/8"]);
    assert_eq!(played.settle(&mut service), ["POST "]);
    assert!(played.reasons().contains(&"ServiceFieldsIgnored".to_owned()));
    let named = Played::new(FakeVpc::default()).with(SETTING, "true").with("allowedSecurityGroups", "*");
    let mut service = ranged(&["10.0.0.0/8"]).with_annotation(format!("{PREFIX}vpc-security-group"), "clients-1");
    assert_eq!(named.settle(&mut service), ["POST "], "the groups that it names are in the place of it");
    assert!(named.reasons().contains(&"ServiceFieldsIgnored".to_owned()));
}
