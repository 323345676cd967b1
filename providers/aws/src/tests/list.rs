//! The list of the cluster's instances.

use aerostat_sdk::{Error, Gap, Instances, Page, Result};

use super::{Ec2, Host, action, host, listed, refused, sent, settings, value};
use crate::Aws;

fn list(host: &Host, cursor: Option<&str>, limit: u32) -> Result<Page> {
    host.run(|| Aws::list(cursor, limit))
}

const TAGGED: &str = "Action=DescribeInstances Filter.1.Name=tag-key Filter.1.Value.1=kubernetes.io/cluster/prod \
                      Filter.2.Name=vpc-id Filter.2.Value.1=vpc-1 Filter.3.Name=instance-state-name Filter.3.Value.1=pending \
                      Filter.3.Value.2=running Filter.3.Value.3=shutting-down Filter.3.Value.4=stopping Filter.3.Value.5=stopped";

#[test]
fn aws_016_2500_instances_are_three_requests() {
    let host = host(|request| {
        let first = value(request, "NextToken").map_or(0, |it| it.trim_start_matches("from:").parse().unwrap());
        let size: usize = value(request, "MaxResults").unwrap().parse().unwrap();
        let last = 2_500.min(first + size);
        let instances: Vec<_> = (first..last).map(|it| Ec2::new(&format!("i-{it}")).xml()).collect();
        listed(&instances, (last < 2_500).then(|| format!("from:{last}")).as_deref())
    });
    let (mut cursor, mut ids) = (None, Vec::new());
    loop {
        let page = list(&host, cursor.as_deref(), 1_000).unwrap();
        ids.extend(page.instances.into_iter().map(|it| it.provider_id.unwrap()));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(ids, (0..2_500).map(|it| format!("aws:///us-east-1a/i-{it}")).collect::<Vec<_>>());
    let pages = ["", " NextToken=from:1000", " NextToken=from:2000"];
    assert_eq!(sent(&host), pages.map(|it| format!("{TAGGED} MaxResults=1000{it}")));
}

#[test]
fn a_list_shows_what_exists() {
    let host = host(|_| {
        let states = ["running", "terminated", "stopped"];
        let all = states.map(|state| Ec2 { state, ..Ec2::new(&format!("i-{state}")) }.xml());
        listed(&all, None)
    });
    let page = list(&host, None, 1_000).unwrap();
    let ids: Vec<_> = page.instances.iter().map(|it| it.provider_id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["aws:///us-east-1a/i-running", "aws:///us-east-1a/i-stopped"]);
    assert_eq!((page.next, page.gaps), (None, Vec::new()));
}

#[test]
fn the_older_tag_is_a_second_list() {
    let host = host(|request| {
        let both =
            Ec2 { tags: vec![("kubernetes.io/cluster/prod", ""), ("KubernetesCluster", "prod")], ..Ec2::new("i-1") };
        let old = Ec2 { tags: vec![("KubernetesCluster", "prod")], ..Ec2::new("i-2") };
        match (value(request, "Filter.1.Name").unwrap(), value(request, "NextToken")) {
            ("tag-key", _) => listed(&[both.xml()], None),
            ("tag:KubernetesCluster", None) => listed(&[both.xml()], Some("t")),
            ("tag:KubernetesCluster", Some("t")) => listed(&[old.xml()], None),
            other => panic!("{other:?}"),
        }
    });
    let host = host.setting("legacyClusterTag", "true");
    let mut cursor = None;
    let mut pages = Vec::new();
    for _ in 0..3 {
        let page = list(&host, cursor.as_deref(), 1_000).unwrap();
        pages.push((page.instances, page.next.clone()));
        cursor = page.next;
    }
    let expected = [
        (vec![Ec2::new("i-1").instance()], Some("legacy:".to_owned())),
        (Vec::new(), Some("legacy:t".to_owned())),
        (vec![Ec2::new("i-2").instance()], None),
    ];
    assert_eq!(pages, expected);
}

#[test]
fn a_page_has_as_many_as_the_host_asks_for() {
    for (limit, size) in [(1, "5"), (50, "50"), (5_000, "1000")] {
        let host = host(move |request| {
            assert_eq!(value(request, "MaxResults"), Some(size));
            listed(&[], None)
        });
        assert_eq!(list(&host, None, limit), Ok(Page::new(Vec::new(), None)));
    }
}

#[test]
fn pages_smaller_than_those_of_ec2_are_parts_of_them() {
    let host = host(|request| {
        assert_eq!(value(request, "MaxResults"), Some("5"));
        let (from, next) = match value(request, "NextToken") {
            None => (1, Some("a:b+c")),
            Some("a:b+c") => (6, None),
            other => panic!("{other:?}"),
        };
        let states = (from..from + 5).map(|it| if it == 2 { "terminated" } else { "running" });
        let all: Vec<_> =
            states.zip(from..).map(|(state, it)| Ec2 { state, ..Ec2::new(&format!("i-{it}")) }.xml()).collect();
        listed(&all, next)
    });
    let (mut cursor, mut pages) = (None, Vec::new());
    loop {
        let page = list(&host, cursor.as_deref(), 2).unwrap();
        pages.push(page.instances.len());
        cursor = page.next;
        match (&cursor, pages.len()) {
            (Some(cursor), 1) => assert_eq!(cursor, "key+2:"),
            (Some(cursor), 3) => assert_eq!(cursor, "key:a:b+c"),
            (Some(cursor), 4) => assert_eq!(cursor, "key+2:a:b+c"),
            (Some(_), _) => {}
            (None, _) => break,
        }
    }
    assert_eq!(pages, [1, 2, 1, 2, 2, 1], "one of the first does not exist any more");
}

#[test]
fn a_foreign_cursor_is_refused() {
    for cursor in ["servers:1:50", "key", "key+x:t", "other:t"] {
        assert!(matches!(list(&settings(), Some(cursor), 50), Err(Error::Invalid(_))), "{cursor}");
    }
}

#[test]
fn a_list_that_fails_is_no_list() {
    let failed = list(&host(|_| refused(500, "InternalError")), None, 1_000);
    assert!(matches!(failed, Err(Error::Unavailable(_))), "{failed:?}");
}

#[test]
fn an_instance_that_cannot_be_labelled_is_a_gap() {
    let host = host(|request| match action(request) {
        "DescribeInstances" => {
            let labelled = Ec2::new("i-1");
            let accelerated = Ec2 { kind: "p5.48xlarge", ..Ec2::new("i-2") };
            listed(&[labelled.xml(), accelerated.xml()], None)
        }
        "DescribeInstanceTopology" => refused(500, "InternalError"),
        other => panic!("{other}"),
    });
    let page = list(&host, None, 1_000).unwrap();
    assert_eq!(page.instances, [Ec2::new("i-1").instance()]);
    let reason = "DescribeInstanceTopology at endpoint ec2: 500 InternalError: It is so. (request r-1)".to_owned();
    assert_eq!(page.gaps, [Gap { zone: Some("us-east-1a".to_owned()), reason }]);
}
