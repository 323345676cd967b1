//! Load balancers: all Services share one, and one security group.

use std::time::{Duration, SystemTime};

use anyhow::Result;

use super::{AskedOfAzure, several, simulator};
use crate::comparison::seconds;
use crate::steps::{MeasuredStep, SteppedCluster};
use crate::table::{Table, beside_vendor, row};
use crate::{changes, services};

/// How long each operation takes.
const OPERATION: Duration = Duration::from_secs(2);

/// Twenty at once, a start with these, and a node that leaves.
pub(crate) async fn measure() -> Result<()> {
    let ground = SteppedCluster::start(simulator(changes::NODES, OPERATION).await?).await?;
    let mut table = beside_vendor(&format!(
        "load balancers of Azure: reads + writes for them, and seconds; operations of {} s, {} nodes",
        OPERATION.as_secs(),
        changes::NODES
    ));
    show(&mut table, "the first external one", &ground.make(services::numbered(0..1), 1).await?, "23 + 5", "");
    show(&mut table, "a further one", &ground.make(services::numbered(1..2), 2).await?, "18 + 3", "");
    let step = ground.make(services::numbered(2..22), 22).await?;
    show(&mut table, "twenty at once", &step, "496 + 62, 318 s", "15 s or less");
    let asked = AskedOfAzure::of(&step.requests);
    let shared = format!("{} + {}", asked.balancers, asked.groups);
    row(&mut table, "  writes of load balancer + security group", shared, "20 + 20", "2 + 2 or less");

    let (ground, since) = ground.restart(&[]).await?;
    let step = ground.step(since, None).await?;
    show(&mut table, "it starts again, with these", &step, "205 + 0", "4 + 0 or less");

    let since = SystemTime::now();
    ground.leave(0).await?;
    show(&mut table, "a node leaves, with these", &ground.step(since, None).await?, "167 + 1", "4 + 1 or less");
    ground.end().await?;
    table.print()
}

/// Twice as many at once as one load balancer has rules for: there are several. Of the vendor's manager, one at a time was recorded.
pub(crate) async fn many() -> Result<()> {
    let ground = SteppedCluster::start(several(changes::NODES, OPERATION).await?).await?;
    let title = "500 load balancers of Azure at once, pools of addresses, operations of";
    let mut table = beside_vendor(&format!("{title} {} s", OPERATION.as_secs()));
    let step = ground.make(services::numbered(0..500), 500).await?;
    show(&mut table, "500 at once", &step, "12 + 3 for each", "");
    let asked = AskedOfAzure::of(&step.requests);
    let shared = format!("{} + {}", asked.balancers, asked.groups);
    row(&mut table, "  writes of load balancer + security group", shared, "1 + 1 for each", "");
    ground.end().await?;
    table.print()
}

/// The figures of a step, and its requests by what they are.
fn show(table: &mut Table, name: &str, step: &MeasuredStep, vendor: &str, wanted: &str) {
    let asked = AskedOfAzure::of(&step.requests);
    row(table, name, format!("{}, {}", asked.of_balancers(), seconds(step.time)), vendor, wanted);
    row(table, "  beside them reads of machines and the network", asked.machines.to_string(), "", "");
    row(table, "  questions about operations", asked.operations.to_string(), "", "");
    step.details(table);
}
