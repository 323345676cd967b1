//! The way out from nodes to their own load balancer: rules of the nodes' security group, each with the Service's UID in its name.

use super::*;

const OUTBOUND: &str = "vpc-allow-outbound-traffic";
const SETTING: &str = "outboundSecurityGroup";
/// The beginning of the names of the Service's rules.
const MARK: &str = "kube-0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a11-";
const RULES: &str = "POST vpc /security_groups/r006-nodes/rules";

/// A rule that lets packets out to port 80 of an address.
fn rule(name: &str, address: &str) -> Value {
    json!({
        "name": name, "direction": "outbound", "protocol": "tcp", "remote": { "address": address }, "port_min": 80, "port_max": 80,
    })
}

/// A VPC with the nodes' security group, which has these rules.
fn with_rules(rules: &[Value]) -> Played {
    let played = Played::new(FakeVpc::default()).with(SETTING, "r006-nodes");
    let with_id = |(number, rule): (usize, &Value)| {
        let mut rule = rule.clone();
        rule["id"] = format!("rule-x{number}").into();
        rule
    };
    let rules: Vec<Value> = rules.iter().enumerate().map(with_id).collect();
    played.cloud.borrow_mut().cloud().groups.push(json!({ "id": "r006-nodes", "name": "kube-c1", "rules": rules }));
    played
}

/// The requests of rules in the nodes' group: one is made, and goes with the Service.
pub(super) fn life() -> Vec<testing::Request> {
    let played = with_rules(&[]);
    let mut service = annotated(OUTBOUND, "80");
    played.settle(&mut service);
    played.gone(&service);
    played.host.sent()
}

/// The names of the rules in the nodes' group.
fn names(played: &Played) -> Vec<String> {
    names_in(played, 0)
}

fn names_in(played: &Played, group: usize) -> Vec<String> {
    let rules = played.cloud.borrow_mut().cloud().groups[group]["rules"].clone();
    rules.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().replace(MARK, "")).collect()
}

#[test]
fn nodes_reach_their_load_balancer_by_rules_of_their_group() {
    let played = with_rules(&[rule("by-hand", "192.0.2.1")]);
    let mut service = annotated(OUTBOUND, "80").with_port(Port::new(Protocol::Tcp, 443, 30_443));
    assert_eq!(played.settle(&mut service), ["POST ", RULES]);
    assert_eq!(played.bodies()[1], rule(&format!("{MARK}80-169-48-0-1"), "169.48.0.1"));
    assert_eq!(played.settle(&mut service), [""; 0]);

    service.annotations[0].1 = "443,443".to_owned();
    let written = played.settle(&mut service);
    assert_eq!((written.len(), &*written[0]), (2, RULES), "the new way comes first: {written:?}");
    assert_eq!(names(&played), ["by-hand", "443-169-48-0-1"]);
    let deleted = played.gone(&service);
    assert_eq!((deleted.len(), &*deleted[0]), (2, "DELETE /lb-1"), "{deleted:?}");
    assert_eq!(names(&played), ["by-hand"]);
}

#[test]
fn rules_of_an_address_of_before_go() {
    let played = with_rules(&[rule(&format!("{MARK}80-169-48-9-9"), "169.48.9.9"), rule("by-hand", "169.48.0.1")]);
    let mut service = annotated(OUTBOUND, "80");
    let gone = "DELETE vpc /security_groups/r006-nodes/rules/rule-x0";
    assert_eq!(played.settle(&mut service), ["POST ", gone], "what somebody else lets out is as good");
    service.annotations.clear();
    assert_eq!(played.settle(&mut service), [""; 0]);
    assert_eq!(names(&played), ["by-hand"]);
}

#[test]
fn rules_in_a_group_of_before_go_with_the_service() {
    for is_another in [true, false] {
        let played = with_rules(&[rule("by-hand", "192.0.2.1")]);
        let other = json!({ "id": "r006-other", "name": "kube-c2", "rules": [] });
        played.cloud.borrow_mut().cloud().groups.push(other);
        let mut service = annotated(OUTBOUND, "80");
        played.settle(&mut service);
        let mut later = played.again();
        if is_another {
            later = later.with(SETTING, "r006-other");
            assert_eq!(later.settle(&mut service), ["POST vpc /security_groups/r006-other/rules"]);
        }
        assert_eq!(names(&later), ["by-hand", "80-169-48-0-1"]);
        let deleted = later.gone(&service);
        let is_in = |group: &str| deleted.iter().filter(|it| it.contains(group)).count();
        assert_eq!((is_in("r006-nodes"), is_in("r006-other")), (1, usize::from(is_another)), "{deleted:?}");
        assert_eq!((names(&later), names_in(&later, 1)), (vec!["by-hand".to_owned()], Vec::new()));
    }
}

#[test]
fn deletions_read_the_list_of_groups_once_a_call() {
    let played = with_rules(&[]);
    let mut service = annotated(OUTBOUND, "80");
    played.settle(&mut service);
    played.gone(&service);
    let before = played.host.requests().len();
    assert_eq!(played.host.run(|| Ibm::delete(&service)), Ok(Deletion::Done));
    let asked: Vec<String> = played.host.requests()[before..].iter().map(|it| plain(it)).collect();
    let of_groups: Vec<&String> = asked.iter().filter(|it| it.contains("/security_groups")).collect();
    assert_eq!(of_groups.len(), 2, "the nodes' group by its id, and all: {asked:?}");
}

#[test]
fn rules_of_a_full_group_make_room_for_each_other() {
    let played = with_rules(&[rule(&format!("{MARK}80-169-48-9-9"), "169.48.9.9")]);
    played.cloud.borrow_mut().cloud().most_rules = 1;
    let gone = "DELETE vpc /security_groups/r006-nodes/rules/rule-x0";
    let mut service = annotated(OUTBOUND, "80");
    assert_eq!(played.settle(&mut service), ["POST ", RULES, gone, RULES], "refused, removed, added");
    assert_eq!(names(&played), ["80-169-48-0-1"]);
}

#[test]
fn rules_of_a_changed_protocol_replace_those_of_before() {
    let played = with_rules(&[]);
    let mut service = network::network(Protocol::Tcp).with_annotation(format!("{PREFIX}{OUTBOUND}"), "80");
    assert_eq!(played.settle(&mut service), ["POST ", RULES]);
    service.ports[0].protocol = Protocol::Udp;
    service = service.with_annotation(format!("{PREFIX}vpc-health-check-udp"), "30100");
    let written = played.settle(&mut service);
    let [.., gone, made] = &written[..] else { panic!("{written:?}") };
    let is_removal = gone.starts_with("DELETE vpc /security_groups/r006-nodes/rules/");
    assert!(is_removal && made == RULES, "the name is free first: {written:?}");
    assert_eq!(played.bodies().last().unwrap()["protocol"], "udp");
    assert_eq!(names(&played), ["80-169-48-0-1"]);
    assert_eq!(played.settle(&mut service), [""; 0]);
}

#[test]
fn rules_of_ours_that_somebody_changed_are_made_again() {
    let own = format!("{MARK}80-169-48-0-1");
    let mut narrow = rule(&own, "169.48.0.1");
    narrow["local"] = json!({ "address": "10.240.0.1" });
    let mut other_port = rule(&own, "169.48.0.1");
    (other_port["port_min"], other_port["port_max"]) = (json!(443), json!(443));
    let gone = "DELETE vpc /security_groups/r006-nodes/rules/rule-x0";
    for (there, ports, written, left) in [
        (&narrow, "80", &["POST ", gone, RULES][..], &["80-169-48-0-1"][..]),
        (&rule(&own, "169.48.9.9"), "80", &["POST ", gone, RULES], &["80-169-48-0-1"]),
        // Another rule that is wanted has the name: it comes back with its own.
        (&other_port, "80,443", &["POST ", gone, RULES, RULES], &["80-169-48-0-1", "443-169-48-0-1"]),
    ] {
        let played = with_rules(&[there.clone(), rule("by-hand", "192.0.2.1")]);
        let mut service = annotated(OUTBOUND, ports).with_port(Port::new(Protocol::Tcp, 443, 30_443));
        assert_eq!(played.settle(&mut service), written);
        assert_eq!(names(&played), [&["by-hand"][..], left].concat());
        assert_eq!(played.settle(&mut service), [""; 0]);
    }
}

#[test]
fn rule_for_a_part_of_the_nodes_is_not_enough() {
    let mut narrow = rule("by-hand", "169.48.0.1");
    narrow["local"] = json!({ "address": "10.240.0.1" });
    let mut wide = narrow.clone();
    wide["local"] = json!({ "cidr_block": "0.0.0.0/0" });
    for (there, written) in [(narrow, &["POST ", RULES][..]), (wide, &["POST "])] {
        let played = with_rules(&[there]);
        assert_eq!(played.settle(&mut annotated(OUTBOUND, "80")), written);
    }
}

#[test]
fn a_way_out_that_cannot_be_is_refused() {
    let private = annotated(OUTBOUND, "80").with_annotation(format!("{PREFIX}ip-type"), "private");
    for (service, setting, part) in [
        (annotated(OUTBOUND, "80"), "", "it needs setting outboundSecurityGroup"),
        (annotated(OUTBOUND, "80,8080"), "r006-nodes", "8080 is no port of the Service"),
        (annotated(OUTBOUND, "http"), "r006-nodes", "is not a list of ports"),
        (private, "r006-nodes", "a private load balancer has no public addresses"),
    ] {
        let played = Played::new(FakeVpc::default());
        let played = if setting.is_empty() { played } else { played.with(SETTING, setting) };
        let refused = played.host.run(|| Ibm::ensure(&service));
        assert!(
            matches!(&refused, Err(Error::Invalid(why)) if why.contains(part) && why.contains(OUTBOUND)),
            "{refused:?}"
        );
        assert_eq!(played.host.requests(), [""; 0], "nobody is asked");
    }
    let played = Played::new(FakeVpc::default()).with(SETTING, "r006-nobody");
    let mut service = annotated(OUTBOUND, "80");
    let told = (0..30).map(|_| played.call(&mut service)).last().unwrap();
    assert!(
        matches!(&told, Err(Error::Invalid(why)) if why.contains("there is no security group r006-nobody")),
        "{told:?}"
    );
    service.annotations.clear();
    assert_eq!(played.settle(&mut service), [""; 0]);
    assert_eq!(played.gone(&service), ["DELETE /lb-1"]);
}
