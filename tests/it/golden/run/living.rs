//! Further, living nodes, where machines are gone: a cloud in which no machine is known is taken for
//! another account's, and of the nodes whose machines are known only a part is deleted in ten minutes. There is one for
//! each that is gone.

use std::collections::BTreeSet;

use anyhow::Result;
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::json;
use tests::script::{Machine, Script};

use crate::scenario::{CloudCall, Scenario};

/// The prefix of their names.
const PREFIX: &str = "living-";

/// Whether a node is one of these.
pub(super) fn is_living(node: &str) -> bool {
    node.starts_with(PREFIX)
}

/// Lets them join, as they would be after everything was done for them.
pub(super) async fn join(scenario: &Scenario, admin: &Client, script: &Script) -> Result<()> {
    let asked = scenario.observed.cloud_calls.iter().filter(|call| call.function == "InstanceExists");
    let gone: BTreeSet<_> = asked.filter(|call| call.result != "true").map(CloudCall::node).collect();
    for index in 1..=gone.len() {
        let name = format!("{PREFIX}{index}");
        let (provider_id, address) = (format!("fakecloud://{name}"), format!("10.1.255.{index}"));
        let node: Node = serde_json::from_value(json!({
            "metadata": { "name": name },
            "spec": { "providerID": provider_id },
            "status": {
                "addresses": [{ "type": "InternalIP", "address": address }],
                "conditions": [{ "type": "Ready", "status": "True" }],
            },
        }))?;
        Api::all(admin.clone()).create(&PostParams::default(), &node).await?;
        let addresses = vec![("InternalIP".to_owned(), address)];
        script.set(&name, Machine { provider_id, addresses, ..Machine::default() });
    }
    Ok(())
}
