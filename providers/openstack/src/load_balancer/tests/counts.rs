//! Requests that are counted: lists instead of reads one by one, and as few writes as there are changes.

use aerostat_sdk::{InventoryPage, LoadBalancerInventory, SortedSet};

use super::*;

/// The lines of all requests since they were asked for last.
fn requests(stage: &Stage) -> Vec<String> {
    stage.cloud.borrow_mut().asked().requests.into_iter().map(|it| it.line).collect()
}

fn listed(stage: &mut Stage) -> InventoryPage {
    stage.run(|_| <OpenStack as LoadBalancerInventory>::list(None, 1_000)).unwrap()
}

#[test]
fn a_new_process_reads_lists_and_writes_nothing() {
    let first = Stage::new();
    let mut services: Vec<_> = (0..20_u16)
        .map(|number| {
            let mut stage = first.other(&format!("web-{number}"), &format!("uid-{number}"));
            // 32 pools in all, ten of them behind one Service.
            let ports = match number {
                0 => 10,
                1..=3 => 2,
                _ => 1,
            };
            stage.service.ports =
                (0..ports).map(|it| Port::new(Protocol::Tcp, 80 + it, 30_000 + number * 20 + it)).collect();
            stage.ensured().unwrap();
            stage
        })
        .collect();
    requests(&first);
    let page = listed(&mut services[0]);
    assert_eq!(page.items.len(), 20);
    // A read that is sent again in the same minute costs nothing.
    let mut asked: SortedSet<String> = requests(&first).into_iter().collect();
    for stage in &mut services {
        stage.service.extra.push(("host.listed".to_owned(), "true".to_owned()));
        assert!(matches!(stage.run(OpenStack::ensure), Ok(Progress::Ready(_))));
        let writes = stage.cloud.borrow_mut().asked().requests;
        assert!(writes.iter().all(|it| !it.writes), "{writes:?}");
        asked.extend(writes.into_iter().map(|it| it.line));
        let memo = stage.service.memo.clone();
        assert!(page.items.iter().any(|it| it.memo == memo), "drift is found by the memo");
    }
    assert!(asked.len() <= 60, "{} requests: {asked:?}", asked.len());
    assert_eq!(listed(&mut services[0]), page, "a revision stays as long as nothing changes");
}

#[test]
fn ten_ports_get_new_source_ranges_by_ten_writes() {
    let mut stage = Stage::new();
    stage.service.ports = (0..10).map(|it| Port::new(Protocol::Tcp, 80 + it, 30_080 + it)).collect();
    stage.ensured().unwrap();
    stage.service.source_ranges = vec!["192.0.2.0/24".to_owned()];
    requests(&stage);
    let mut sent = Vec::new();
    loop {
        let answer = stage.run(OpenStack::ensure).unwrap();
        sent.extend(requests(&stage));
        // Octavia's own time is not counted here.
        stage.pause(10_000);
        if matches!(answer, Progress::Ready(_)) {
            break;
        }
    }
    assert_eq!(sent.iter().filter(|it| it.starts_with("PUT")).count(), 10);
    assert!(sent.len() <= 40, "{}: {sent:?}", sent.len());
}

#[test]
fn a_node_that_leaves_ten_pools_costs_no_more_than_theirs() {
    let mut stage = Stage::new();
    stage.service.ports = (0..10).map(|it| Port::new(Protocol::Tcp, 80 + it, 30_080 + it)).collect();
    stage.ensured().unwrap();
    stage.service.nodes.pop();
    requests(&stage);
    let mut sent = Vec::new();
    loop {
        let answer = stage.run(OpenStack::ensure).unwrap();
        sent.extend(requests(&stage));
        stage.pause(10_000);
        if matches!(answer, Progress::Ready(_)) {
            break;
        }
    }
    assert_eq!(sent.iter().filter(|it| it.starts_with("PUT")).count(), 10);
    assert!(sent.len() <= 50, "{}: {sent:?}", sent.len());
}
