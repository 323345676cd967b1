//! The list, page by page.

use std::cell::Cell;

use aerostat_sdk::testing::{Host, Outcome, answer};
use aerostat_sdk::{
    Error, Ingress, InventoryItem, InventoryPage, InventoryState, LoadBalancerInventory, MarkedOwner, Proof, Result,
};

use super::other_networks;
use crate::Aws;
use crate::settings::LoadBalancerSettings;
use crate::tests::{action, host, sent, value};

const CLUSTER: &str = "c1a5e000-1111-2222-3333-444455556666";
const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";

fn list(host: &Host, cursor: Option<&str>) -> Result<InventoryPage> {
    host.run(|| <Aws as LoadBalancerInventory>::list(cursor, 400))
}

fn pairs(tags: &[(&str, &str)], item: &str, key: &str, value: &str) -> String {
    let tag = |(name, text): &(&str, &str)| format!("<{item}><{key}>{name}</{key}><{value}>{text}</{value}></{item}>");
    tags.iter().map(tag).collect()
}

fn ours() -> Vec<(&'static str, &'static str)> {
    [&vendors()[..], &[("aerostat.dev/cluster-uid", CLUSTER), ("aerostat.dev/service-uid", UID)]].concat()
}

fn vendors() -> Vec<(&'static str, &'static str)> {
    vec![("kubernetes.io/service-name", "default/web"), ("kubernetes.io/cluster/prod", "owned")]
}

/// Things by the last part of their names: whose tags they have.
fn tags_of(name: &str) -> String {
    let other = [("aerostat.dev/cluster-uid", "another"), ("aerostat.dev/service-uid", UID)];
    let tags = match name.rsplit('-').next() {
        Some("ours") => ours(),
        Some("kept") => [&ours()[..], &[("aerostat.dev/kept", "true")]].concat(),
        Some("taken") => [&ours()[..], &[("aerostat.dev/kept", "false")]].concat(),
        Some("vendor") => vendors(),
        Some("other") => [&vendors()[..], &other].concat(),
        Some("shared") => vec![("kubernetes.io/cluster/prod", "shared"), ("kubernetes.io/service-name", "default/web")],
        _ => Vec::new(),
    };
    let tags = pairs(&tags, "member", "Key", "Value");
    format!("<ResourceArn>{name}</ResourceArn><LoadBalancerName>{name}</LoadBalancerName><Tags>{tags}</Tags>")
}

fn network(name: &str, state: &str, vpc: &str) -> String {
    format!(
        "<member><LoadBalancerArn>arn-{name}</LoadBalancerArn><LoadBalancerName>{name}</LoadBalancerName><Type>network</Type>\
         <DNSName>{name}.elb</DNSName><VpcId>{vpc}</VpcId><State><Code>{state}</Code><Reason>no room</Reason></State></member>"
    )
}

fn group(name: &str) -> String {
    format!(
        "<member><TargetGroupArn>arn-{name}</TargetGroupArn><TargetGroupName>{name}</TargetGroupName><VpcId>vpc-1</VpcId></member>"
    )
}

fn result(action: &str, body: &str) -> Outcome {
    answer(200, format!("<R><{action}Result>{body}</{action}Result></R>"))
}

/// An account with two pages of Network Load Balancers.
fn account() -> Host {
    host(|request| {
        let (action, marker) = (action(request), value(request, "Marker"));
        let body = match (&*request.endpoint, action, marker) {
            ("elbv2", "DescribeLoadBalancers", None) => {
                let found = ["ours", "vendor", "other", "shared", "none"].map(|it| network(it, "active", "vpc-1"));
                format!("<LoadBalancers>{}</LoadBalancers><NextMarker>m</NextMarker>", found.concat())
            }
            ("elbv2", "DescribeLoadBalancers", Some("m")) => {
                let found = [network("x-ours", "failed", "vpc-1"), network("y-ours", "provisioning", "vpc-1")].concat();
                format!("<LoadBalancers>{found}{}</LoadBalancers>", network("z-ours", "active", "vpc-2"))
            }
            ("elbv2", "DescribeTargetGroups", None) => {
                let found = ["k8s-a-ours", "k8s-a-vendor", "somebody-ours"].map(group).concat();
                format!("<TargetGroups>{found}</TargetGroups>")
            }
            ("elb", "DescribeLoadBalancers", None) => {
                let balancer = "<member><LoadBalancerName>c-ours</LoadBalancerName><DNSName>c.elb</DNSName></member>";
                format!("<LoadBalancerDescriptions>{balancer}</LoadBalancerDescriptions>")
            }
            (endpoint, "DescribeTags", None) => {
                let list = if endpoint == "elb" { "LoadBalancerNames" } else { "ResourceArns" };
                let asked = (1..).map_while(|it| value(request, &format!("{list}.member.{it}")));
                let found: String = asked.map(|it| format!("<member>{}</member>", tags_of(it))).collect();
                format!("<TagDescriptions>{found}</TagDescriptions>")
            }
            ("ec2", "DescribeSecurityGroups", None) => {
                let item = |id: &str, tags: &[(&str, &str)]| {
                    let tags = pairs(tags, "item", "key", "value");
                    format!("<item><groupId>{id}</groupId><groupName>n-{id}</groupName><tagSet>{tags}</tagSet></item>")
                };
                let found = [item("sg-1", &ours()), item("sg-2", &vendors())].concat();
                return answer(200, format!("<R><securityGroupInfo>{found}</securityGroupInfo></R>"));
            }
            other => panic!("{other:?}"),
        };
        result(action, &body)
    })
}

fn titles(page: &InventoryPage) -> Vec<(&str, Proof)> {
    page.items.iter().map(|it| (&*it.cloud_object, it.proof)).collect()
}

#[test]
fn each_list_follows_the_other() {
    let account = account();
    let (mut cursor, mut found) = (None, Vec::new());
    for expected in ["network:m", "classic:", "target-groups:", "security-groups:"] {
        let page = list(&account, cursor.as_deref()).unwrap();
        assert_eq!(page.next.as_deref(), Some(expected));
        cursor.clone_from(&page.next);
        found.push(page);
    }
    let last = list(&account, cursor.as_deref()).unwrap();
    assert_eq!(last.next, None);
    let balancer = |it| format!("network load balancer {it}");
    let (ours, vendor) = (balancer("ours"), balancer("vendor"));
    assert_eq!(titles(&found[0]), [(&*ours, Proof::Unique), (&*vendor, Proof::ByName)]);
    let states: Vec<_> = found[1].items.iter().map(|it| it.state.clone()).collect();
    let failed = InventoryState::Failed("no room".to_owned());
    assert_eq!(states, [failed, InventoryState::Changing], "and nothing of another VPC");
    assert_eq!(titles(&found[2]), [("classic load balancer c-ours", Proof::Unique)]);
    assert_eq!(found[2].items[0].memo.as_deref(), Some("c-ours"));
    let groups = [("target group k8s-a-ours", Proof::Unique), ("target group k8s-a-vendor", Proof::ByName)];
    assert_eq!(titles(&found[3]), groups);
    assert_eq!(found[3].items[0].memo, None, "it is the load balancer's");
    assert_eq!(titles(&last), [("security group sg-1 (n-sg-1)", Proof::Unique)]);
}

#[test]
fn an_item_says_whose_it_is_and_where_it_is_reached() {
    let page = list(&account(), None).unwrap();
    let owner = MarkedOwner {
        cluster_uid: Some(CLUSTER.to_owned()),
        uid: Some(UID.to_owned()),
        namespace: Some("default".to_owned()),
        name: Some("web".to_owned()),
    };
    let mut expected = InventoryItem::new("network load balancer ours", owner, Proof::Unique);
    expected.memo = Some("arn-ours".to_owned());
    expected.ingress = vec![Ingress::hostname("ours.elb")];
    assert_eq!(page.items[0], expected);
}

#[test]
fn a_page_costs_a_request_and_one_for_twenty() {
    let count = Cell::new(0);
    let account = host(move |request| match action(request) {
        "DescribeLoadBalancers" => {
            let found: String = (0..45).map(|it| network(&format!("{it}-ours"), "active", "vpc-1")).collect();
            result("DescribeLoadBalancers", &format!("<LoadBalancers>{found}</LoadBalancers>"))
        }
        _ => {
            count.set(count.get() + 1);
            result("DescribeTags", "<TagDescriptions/>")
        }
    });
    assert_eq!(list(&account, None), Ok(InventoryPage::new(Vec::new(), Some("classic:".to_owned()))));
    assert_eq!(sent(&account).len(), 4);
}

#[test]
fn a_cursor_of_another_list_is_refused() {
    for cursor in ["", "m", "instances:", "network"] {
        assert!(matches!(list(&account(), Some(cursor)), Err(Error::Invalid(_))), "{cursor}");
    }
}

#[test]
fn other_load_balancers_are_those_of_all_pages() {
    let names = account().run(|| other_networks(&LoadBalancerSettings::read().unwrap(), "ours")).unwrap();
    let expected = ["other", "shared", "vendor", "x-ours", "y-ours"].map(str::to_owned);
    assert_eq!(names, expected.into(), "all that has a tag of the cluster counts");
}

#[test]
fn a_list_that_does_not_end_is_refused() {
    let endless = host(|request| {
        let next = "<LoadBalancers/><NextMarker>m</NextMarker>";
        result(action(request), next)
    });
    let refused = endless.run(|| other_networks(&LoadBalancerSettings::read().unwrap(), "ours"));
    assert!(matches!(&refused, Err(Error::Unavailable(why)) if why.contains("does not end")), "{refused:?}");
}

#[test]
fn adv_171_a_load_balancer_marked_as_kept_is_shown_so() {
    let account = host(|request| match action(request) {
        action @ "DescribeLoadBalancers" => {
            let found = ["ours", "kept", "taken"].map(|it| network(it, "active", "vpc-1"));
            result(action, &format!("<LoadBalancers>{}</LoadBalancers>", found.concat()))
        }
        action @ "DescribeTags" => {
            let asked = (1..).map_while(|it| value(request, &format!("ResourceArns.member.{it}")));
            let found: String = asked.map(|it| format!("<member>{}</member>", tags_of(it))).collect();
            result(action, &format!("<TagDescriptions>{found}</TagDescriptions>"))
        }
        other => panic!("{other:?}"),
    });
    let page = list(&account, None).unwrap();
    let kept: Vec<_> = page.items.iter().map(|it| it.extra.iter().any(|(key, _)| key == "kept")).collect();
    assert_eq!(kept, [false, true, false]);
}
