//! Source ranges: a security group of the Service's own, with a rule for each, that goes with the Service.

use aerostat_sdk::testing::protocol::{AdminFailure, How, Orders};

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

    /// A process with the usual settings before the same cloud.
    pub(super) fn again(&self) -> Self {
        let Self { cloud, .. } = self;
        let settings = testing::FakeCloud::settings(cloud.borrow_mut().cloud());
        let host = settings.into_iter().fold(Host::of(cloud), |it, (name, value)| it.setting(name, value));
        Self { host, cloud: SharedCloud::clone(cloud) }
    }

    /// Lists show later what is made from here on, and one of the requests goes wrong.
    fn lag(&self, fail: Option<AdminFailure>) {
        self.cloud.borrow_mut().order(Orders { fail, lists_lag: true });
    }

    /// Deletes the Service, and answers what was sent.
    pub(super) fn gone(&self, service: &LoadBalancer) -> Vec<String> {
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
fn a_group_of_a_refused_creation_goes_with_the_service() {
    let refuses: fn() -> aerostat_sdk::testing::Response = || cloud::error(400, "load_balancer_over_quota");
    for is_deleted_at_once in [true, false] {
        let mut vpc = FakeVpc::default();
        vpc.refuses = Some(refuses);
        let played = Played::new(vpc).with(SETTING, "true");
        played.lag(None);
        let mut service = ranged(&["10.0.0.0/8"]);
        (0..2).for_each(|_| drop(played.call(&mut service)));
        assert_eq!((played.rules().len(), played.reasons()), (2, vec!["LoadBalancerCreationUnclear".to_owned()]));
        assert!(played.host.events()[0].message.contains("it is load_balancer_over_quota"));
        let host = played.host.clone().at(played.cloud.borrow().now());
        if is_deleted_at_once {
            let deletion = host.run(|| Ibm::delete(&service));
            assert!(matches!(&deletion, Ok(Deletion::Pending(_))), "lists lag: {deletion:?}");
        }
        played.cloud.borrow_mut().order(Orders::default());
        if !is_deleted_at_once {
            played.cloud.borrow_mut().advance(Duration::from_secs(60));
            let refused = (0..2).map(|_| played.call(&mut service)).last().unwrap();
            assert!(matches!(&refused, Ok(Progress::Failed(it)) if it.error.is_quota()), "{refused:?}");
            assert_eq!((played.rules().len(), &service.memo), (2, &None), "the group is used again");
        }
        assert_eq!(played.gone(&service), ["DELETE vpc /security_groups/r006-own-1"]);
        assert!(played.rules().is_empty());
    }
}

#[test]
fn a_group_whose_creation_has_no_answer_is_waited_for() {
    for (how, made) in [(How::LostAfter, true), (How::FailedAfter, true), (How::LostBefore, false)] {
        let played = Played::new(FakeVpc::default()).with(SETTING, "true");
        let mut service = ranged(&["10.0.0.0/8"]);
        let _ = played.call(&mut service);
        played.lag(Some(AdminFailure { nth: 3, how }));
        let unclear = played.call(&mut service);
        assert!(matches!(&unclear, Ok(Progress::Pending(_))), "{unclear:?}");
        assert_eq!(played.reasons(), ["LoadBalancerCreationUnclear"]);
        let written = played.host.requests().into_iter().filter(|it| !it.starts_with("GET"));
        assert_eq!(written.map(|it| plain(&it)).collect::<Vec<_>>(), ["POST vpc /security_groups"]);
        let host = played.host.clone().at(played.cloud.borrow().now());
        let deletion = host.run(|| Ibm::delete(&service));
        assert!(matches!(&deletion, Ok(Deletion::Pending(_))), "{deletion:?}");
        played.cloud.borrow_mut().order(Orders::default());
        assert_eq!(played.gone(&service).len(), usize::from(made), "{how:?}");
        assert!(played.rules().is_empty());
    }
}

#[test]
fn a_group_that_is_listed_late_is_given_at_once() {
    let played = Played::new(FakeVpc::default()).with(SETTING, "true");
    played.lag(None);
    let mut made = ranged(&["10.0.0.0/8"]);
    assert_eq!(played.settle(&mut made), ["POST vpc /security_groups", "POST "]);
    let later = Played::new(FakeVpc::default()).with(SETTING, "true");
    let mut service = service();
    later.settle(&mut service);
    later.lag(None);
    service.source_ranges = made.source_ranges;
    let written = later.settle(&mut service);
    assert_eq!((written.len(), later.groups().len()), (3, 1), "{written:?}");
}

#[test]
fn a_taken_name_that_no_list_shows_is_told() {
    let played = Played::new(FakeVpc::default()).with(SETTING, "true");
    let mut service = service();
    played.settle(&mut service);
    played.lag(None);
    let hidden = json!({ "id": "r006-hidden", "name": NAME, "rules": [], "late": true });
    played.cloud.borrow_mut().cloud().groups.push(hidden);
    service.source_ranges = vec!["10.0.0.0/8".to_owned()];
    let told = played.call(&mut service);
    assert!(
        matches!(&told, Err(Error::Unavailable(why)) if why.contains(NAME) && why.contains("not_unique")),
        "{told:?}"
    );
    let new = Played::new(FakeVpc::default()).with(SETTING, "true");
    new.lag(None);
    new.cloud.borrow_mut().cloud().groups.push(json!({ "id": "r006-hidden", "name": NAME, "rules": [], "late": true }));
    let mut service = ranged(&["10.0.0.0/8"]);
    let mut told = None;
    for _ in 0..8 {
        if let Ok(Progress::Failed(failed)) = new.call(&mut service) {
            told = told.or(Some(failed.error));
        }
        new.cloud.borrow_mut().advance(Duration::from_secs(15));
    }
    assert!(
        matches!(&told, Some(Error::Unavailable(why)) if why.contains(NAME) && why.contains("is shown by no list")),
        "{told:?}"
    );
    assert_eq!(new.reasons(), [""; 0], "it is looked for before it is told");
}

#[test]
fn a_setting_that_is_turned_off_takes_groups_away() {
    let played = Played::new(FakeVpc::default()).with(SETTING, "true");
    let mut service = ranged(&["10.0.0.0/8"]);
    played.settle(&mut service);
    let off = played.again().with(SETTING, "false");
    let written = off.settle(&mut service);
    assert_eq!(written.len(), 2, "{written:?}");
    assert_eq!(off.groups(), [json!({ "id": "r006-usual" })], "nobody is shut out any more");
    service.source_ranges.clear();
    assert_eq!(off.gone(&service), ["DELETE /lb-1", "DELETE vpc /security_groups/r006-own-1"]);
    assert!(off.rules().is_empty());
}

#[test]
fn changed_ranges_at_the_most_rules_make_room() {
    let mut vpc = FakeVpc::default();
    vpc.most_rules = 3;
    let played = Played::new(vpc).with(SETTING, "true");
    let mut service = ranged(&["10.0.0.0/8", "192.0.2.0/24"]);
    played.settle(&mut service);
    service.source_ranges = vec!["10.0.0.0/8".to_owned(), "198.51.100.0/24".to_owned()];
    let written = played.settle(&mut service);
    assert_eq!(written.len(), 3, "refused, removed, added: {written:?}");
    assert_eq!(played.rules(), ["inbound tcp 10.0.0.0/8", "outbound any 0.0.0.0/0", "inbound tcp 198.51.100.0/24"]);

    service.source_ranges = vec!["10.0.0.0/8".to_owned(), "203.0.113.0/24".to_owned(), "192.0.2.0/24".to_owned()];
    service.nodes.push(node(4));
    let before = played.host.requests().len();
    let refused = (0..8).map(|_| played.call(&mut service)).last();
    assert!(matches!(&refused, Some(Err(why)) if why.is_quota()), "{refused:?}");
    let written: Vec<String> = played.host.requests()[before..].iter().map(|it| plain(it)).collect();
    assert_eq!(played.rules().len(), 3);
    assert_eq!(
        written.iter().filter(|it| *it == "PUT /lb-1/pools/pool-5/members").count(),
        1,
        "nodes are followed: {written:#?}"
    );
}

#[test]
fn an_annotation_that_comes_later_leaves_the_own_group() {
    let played = Played::new(FakeVpc::default()).with(SETTING, "true").with("allowedSecurityGroups", "*");
    let mut service = ranged(&["10.0.0.0/8"]);
    played.settle(&mut service);
    service = service.with_annotation(format!("{PREFIX}vpc-security-group"), "clients-1");
    assert_eq!(played.settle(&mut service), [""; 0]);
    assert_eq!(played.groups(), [json!({ "id": "r006-own-1" })]);
    assert!(!played.reasons().contains(&"ServiceFieldsIgnored".to_owned()), "{:?}", played.host.events());
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
    let told = played.host.events().pop().unwrap();
    assert_eq!(told.reason, "ServiceFieldsIgnored");
    assert!(
        told.message.contains("loadBalancerSourceRanges do not bind") && told.message.contains("r006-g1"),
        "{told:?}"
    );
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
