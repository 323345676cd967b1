//! Power of machines, as the views of their instances show it.

use serde_json::{Value, json};

use super::world::{World, elements, text};

/// The view of an instance in this state of power.
pub(super) fn view(power: &str, fault_domain: u64) -> Value {
    json!({
        "platformFaultDomain": fault_domain,
        "statuses": [
            { "code": "ProvisioningState/succeeded", "level": "Info" },
            { "code": format!("PowerState/{power}"), "level": "Info" },
        ],
    })
}

impl World {
    /// Sets the state of a machine's power: `running`, `stopped`, `deallocated`. Answers whether there is such a machine.
    pub fn set_power(&mut self, id: &str, power: &str) -> bool {
        let Some(body) = self.get_mut(id) else { return false };
        let view = &mut body["properties"]["instanceView"];
        let others = elements(&view["statuses"]).filter(|it| !text(it, "code").starts_with("PowerState/"));
        let mut statuses: Vec<Value> = others.cloned().collect();
        statuses.push(json!({ "code": format!("PowerState/{power}"), "level": "Info" }));
        view["statuses"] = json!(statuses);
        true
    }
}
