//! Load balancers of both kinds, one by one, and many while nodes come and go.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tests::clouds::alibaba::{Taking, ZONES};
use tests::vendor::{AlibabaCloud, Vendor as _};

use super::{AskedOfAlibaba, CHANGE, done, simulator};
use crate::changes::{NODES, SERVICES};
use crate::comparison::seconds;
use crate::services;
use crate::steps::{MeasuredStep, SteppedCluster};
use crate::table::{Table, beside_vendor, row};

/// The class of Network Load Balancers.
const NETWORK: &str = "alibabacloud.com/nlb";

/// Nodes that come and go behind many load balancers.
const COMING: usize = 20;

/// Nodes that come beside one load balancer, and Classic Load Balancers beside a Network one, as the vendor's manager was seen with them.
const RECORDED: (usize, usize) = (120, 5);

/// A Service with a Network Load Balancer of so many ports.
fn network(number: usize, ports: usize) -> Service {
    let mut service = services::with_ports(number, ports);
    service.spec.get_or_insert_default().load_balancer_class = Some(NETWORK.to_owned());
    let zones = (format!("{}zone-maps", AlibabaCloud::PREFIX), ZONES.to_owned());
    service.metadata.annotations = Some(BTreeMap::from([zones]));
    service
}

/// Measures and prints.
pub(crate) async fn measure() -> Result<()> {
    let ground = SteppedCluster::start(simulator(NODES + COMING).await?).await?;
    let mut table = beside_vendor(&format!(
        "load balancers of Alibaba Cloud: reads + writes, and seconds; {NODES} nodes, changes of 0.5 s"
    ));
    // The vendor's was recorded at a cloud that is done with a change when it answers. The first one pays for what is asked once a process.
    ground.cloud.behave(|it| it.configuring = Taking::Time(Duration::ZERO));
    for (name, number, ports, vendor, wanted) in [
        ("the first Classic one, of one port, changes done at once", 0, 1, "8 calls, then 4", ""),
        ("a further one, of one port, changes done at once", 1, 1, "8 calls, then 4", "6: 3 + 3 a port"),
        ("a further one, of three ports, changes done at once", 2, 3, "", "12: 3 + 3 a port"),
    ] {
        let step = ground.make(vec![services::with_ports(number, ports)], number + 1).await?;
        show_made(&mut table, name, step, vendor, wanted);
    }
    ground.cloud.behave(|it| it.configuring = Taking::Time(CHANGE));
    for (name, number, ports) in
        [("one of one port, changes of 0.5 s", 3, 1), ("one of three ports, changes of 0.5 s", 4, 3)]
    {
        let step = ground.make(vec![services::with_ports(number, ports)], number + 1).await?;
        show_made(&mut table, name, step, "", "");
    }
    let since = SystemTime::now();
    let annotated = json!({ "metadata": { "annotations": { "example.com/unrelated": "1" } } });
    ground.services().await?.patch("web-001", &PatchParams::default(), &Patch::Merge(annotated)).await?;
    let step = ground.step(since, None).await?;
    show(&mut table, "an annotation that is not the cloud's, at one of one port", &step, "4 + ports: 5 calls", "");
    ground.make(services::numbered(5..SERVICES), SERVICES).await?;

    let since = SystemTime::now();
    ground.join(NODES..NODES + COMING, NODES + COMING).await?;
    let step = ground.step(since, None).await?;
    show(&mut table, &format!("{COMING} nodes come, at {SERVICES} load balancers"), &step, "", "");
    let change_of_group = |step: &MeasuredStep, action: &str| {
        let groups: usize = ground.cloud.with(|world| world.groups.all().count());
        format!("{:.2}", done(&step.requests, action) as f64 / groups as f64)
    };
    row(&mut table, "  calls a group", change_of_group(&step, "/AddVServerGroupBackendServers"), "", "1");
    let since = SystemTime::now();
    for number in NODES..NODES + COMING {
        ground.leave(number).await?;
    }
    let step = ground.step(since, None).await?;
    show(&mut table, &format!("{COMING} nodes go"), &step, "", "");
    row(&mut table, "  calls a group", change_of_group(&step, "/RemoveVServerGroupBackendServers"), "", "1");

    let (ground, since) = ground.restart(&[&format!("--load-balancer-class={NETWORK}")]).await?;
    show(&mut table, "another process begins", &ground.step(since, None).await?, "", "no write");
    let step = ground.make(vec![network(SERVICES, 1)], SERVICES + 1).await?;
    show(&mut table, "a Network one, of one port", &step, "10 calls, then 4", "");
    ground.end().await?;
    table.print()
}

/// Nodes that come beside one load balancer, and one that is not ready beside six.
pub(crate) async fn beside_nodes() -> Result<()> {
    let (joining, classic) = RECORDED;
    let ground = SteppedCluster::start(simulator(NODES + joining).await?).await?;
    let (ground, _) = ground.restart(&[&format!("--load-balancer-class={NETWORK}")]).await?;
    let title = format!("nodes beside load balancers of Alibaba Cloud: reads + writes; {NODES} nodes at first");
    let mut table = beside_vendor(&title);
    ground.make(vec![services::service(0)], 1).await?;
    let since = SystemTime::now();
    ground.join(NODES..NODES + joining, NODES + joining).await?;
    let step = of_classic(ground.step(since, None).await?);
    let name = format!("{joining} nodes come, for a Classic one of one port");
    show(&mut table, &name, &step, "26 rounds of 4 reads", "");
    ground.make(services::numbered(1..classic), classic).await?;
    ground.make(vec![network(classic, 2)], classic + 1).await?;
    let since = SystemTime::now();
    ground.fail(0).await?;
    let step = ground.step(since, None).await?;
    let name = format!("a node is not ready, at {classic} Classic ones and a Network one of two ports");
    show(&mut table, &name, &step, "27 calls", "none: its checks decide");
    ground.end().await?;
    table.print()
}

/// A step without what is asked for the nodes' sake, or for Network ones.
fn of_classic(mut step: MeasuredStep) -> MeasuredStep {
    step.requests.retain(|it| it.path.starts_with("/slb/"));
    step
}

/// The calls of the creation of a Classic one in all, and what they are.
fn show_made(table: &mut Table, name: &str, step: MeasuredStep, vendor: &str, wanted: &str) {
    let step = of_classic(step);
    row(table, &format!("{name}: calls in all"), step.requests.len().to_string(), vendor, wanted);
    show(table, "  reads + writes", &step, "", "");
}

/// The figures of a step, and its requests by what they are.
fn show(table: &mut Table, name: &str, step: &MeasuredStep, vendor: &str, wanted: &str) {
    let figures = format!("{}, {}", AskedOfAlibaba::of(&step.requests).text(), seconds(step.time));
    row(table, name, figures, vendor, wanted);
    let refused = step.requests.len() - done(&step.requests, "");
    row(table, "  refused, since an earlier change was carried out", refused.to_string(), "", "");
    step.details(table);
}
