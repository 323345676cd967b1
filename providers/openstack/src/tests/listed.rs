//! All servers, page by page.

use aerostat_sdk::{Address, Instances, Page};
use serde_json::json;

use super::*;
use crate::OpenStack;

/// So many servers with one port each, and other ports.
fn many(servers: usize, ports: usize) -> Project {
    let address = |it: usize| format!("10.{}.{}.7", it / 200 + 10, it % 200);
    Project {
        servers: (0..servers).map(|it| server(it, &format!("node-{it}"))).collect(),
        ports: (0..ports).map(|it| port(100_000 + it, it, &[&address(it)])).collect(),
        page: 1_000,
        ..Project::default()
    }
}

fn list(host: &Host, cursor: Option<&str>, limit: u32) -> Page {
    host.run(|| OpenStack::list(cursor, limit)).unwrap()
}

#[test]
fn openstack_001_few_servers_are_two_requests() {
    let host = many(3, 7).host();
    let page = list(&host, None, 1_000);
    assert_eq!((page.instances.len(), &page.next, page.gaps.len()), (3, &None, 0));
    assert_eq!(page.instances[2].addresses, [Address::internal_ip("10.10.2.7"), Address::internal_ip("10.6.0.11")]);
    assert_eq!(host.requests()[0], "GET compute /servers/detail?limit=1000");
    assert!(host.requests()[1].contains(&format!("device_id={}&device_id={}&device_id={}", id(0), id(1), id(2))));
    assert_eq!(host.requests().len(), 2);
}

#[test]
fn openstack_021_many_servers_are_read_page_by_page() {
    let host = many(2_300, 4_000).host();
    let (mut cursor, mut names) = (None, 0);
    loop {
        let page = list(&host, cursor.as_deref(), 1_000);
        assert!(page.gaps.is_empty() && page.instances.iter().all(|it| it.addresses.len() == 2));
        names += page.instances.len();
        match page.next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    assert_eq!(names, 2_300);
    // Within one list the host answers equal reads from memory: each of these is sent once.
    let mut sent = host.requests();
    sent.sort();
    sent.dedup();
    let of = |start: &str| sent.iter().filter(|it| it.starts_with(start)).count();
    assert_eq!((of("GET compute /servers/detail"), of("GET network /ports"), sent.len()), (3, 4, 7));
    assert!(
        sent.iter()
            .filter(|it| it.contains("/ports"))
            .all(|it| it.contains("tenant_id=p") && !it.contains("device_id="))
    );
}

#[test]
fn a_service_may_show_fewer_on_a_page() {
    let mut project = many(5, 5);
    project.page = 2;
    let host = project.host();
    let first = list(&host, None, 1_000);
    assert_eq!((first.instances.len(), first.next.clone()), (2, Some(id(1))));
    let last = list(&host, Some(&id(3)), 1_000);
    assert_eq!((last.instances.len(), last.next), (1, None));
    assert_eq!(host.requests()[0], "GET compute /servers/detail?limit=1000");
    let small = list(&host, None, 1);
    assert_eq!((small.instances.len(), small.next), (1, Some(id(0))));
}

#[test]
fn openstack_007_deleted_servers_are_not_listed() {
    let mut project = many(3, 3);
    project.servers[0]["status"] = json!("DELETED");
    project.servers[2]["status"] = json!("SOFT_DELETED");
    let page = list(&project.host(), None, 1_000);
    assert_eq!(page.instances.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["node-1"]);
}

#[test]
fn openstack_018_a_server_without_active_port_leaves_a_gap() {
    let mut project = many(4, 3);
    project.ports[0]["status"] = json!("DOWN");
    project.ports[1]["status"] = json!("DOWN");
    project.servers[1]["status"] = json!("SHUTOFF");
    let page = list(&project.host(), None, 1_000);
    // One that runs may be a node; one that was shut down keeps its addresses; one without any port is no node.
    assert_eq!(page.instances.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["node-1", "node-2"]);
    assert!(page.instances[0].addresses.is_empty());
    let [gap] = &page.gaps[..] else { panic!("{:?}", page.gaps) };
    assert!(gap.zone.as_deref() == Some("nova") && gap.reason.contains("node-0"), "{gap:?}");
}
