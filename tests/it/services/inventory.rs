//! Lists of load balancers serve Services that wait, show changes in the cloud, and show load balancers without a
//! Service.

mod cloud;
mod drift;
mod orphans;
mod restart;
mod waiting;

use std::time::Duration;

use controllers::service::{InventoryOptions, Options};

use crate::controller::workers;

/// The period of these tests.
const PERIOD: Duration = Duration::from_secs(1);

/// Several workers, and a list each second.
fn listing() -> Options {
    with(InventoryOptions { resync_period: PERIOD, ..InventoryOptions::default() })
}

fn with(inventory: InventoryOptions) -> Options {
    Options { inventory, ..workers(4) }
}
