//! The zones of load balancers in memory.

use serde_json::{Value, json};

use crate::tests::pairs::{Pairs, members};

/// The zones that a request gives, as answers show them. One that keeps its vSwitch keeps the addresses that the request does not name.
pub(super) fn given(pairs: &Pairs, earlier: &Value) -> Value {
    let all = members(pairs, "ZoneMappings");
    let is_once = |it: &Value| all.iter().filter(|other| other["ZoneId"] == it["ZoneId"]).count() == 1;
    assert!(all.len() > 1 && all.iter().all(is_once), "{pairs:?}");
    let shown = |mapping: &Value| {
        let is_same = |own: &&Value| own["ZoneId"] == mapping["ZoneId"] && own["VSwitchId"] == mapping["VSwitchId"];
        let own = earlier.as_array().into_iter().flatten().find(is_same);
        let mut address = own.map_or_else(|| json!({}), |own| own["LoadBalancerAddresses"][0].clone());
        for name in ["PrivateIPv4Address", "AllocationId"] {
            if let Some(value) = mapping.get(name) {
                address[name] = value.clone();
            }
        }
        json!({ "ZoneId": mapping["ZoneId"], "VSwitchId": mapping["VSwitchId"], "LoadBalancerAddresses": [address] })
    };
    all.iter().map(shown).collect()
}
