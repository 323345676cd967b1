//! Rules of security groups.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::clouds::azure::change::Change;
use crate::clouds::azure::errors::{self, Refusal};
use crate::clouds::azure::world::{World, elements, parts, text};

/// Sides of a rule: the field of one value, and that of several.
const SIDES: [(&str, &str); 4] = [
    ("sourceAddressPrefix", "sourceAddressPrefixes"),
    ("destinationAddressPrefix", "destinationAddressPrefixes"),
    ("sourcePortRange", "sourcePortRanges"),
    ("destinationPortRange", "destinationPortRanges"),
];

pub(super) fn prepare(world: &World, change: &Change<'_>, body: &mut Value) -> Result<(), Refusal> {
    for part in ["securityRules", "defaultSecurityRules"] {
        if body["properties"][part].is_null() {
            body["properties"][part] = json!([]);
        }
    }
    if parts(body, "securityRules").count() > world.behaviour.security_rules {
        let why = format!(
            "Network security group {} cannot have more than {} rules.",
            change.id, world.behaviour.security_rules
        );
        return Err(errors::invalid("SecurityRulesPerNetworkSecurityGroupLimitReached", why));
    }
    let mut priorities = BTreeMap::new();
    for rule in parts(body, "securityRules") {
        let (name, properties) = (text(rule, "name"), &rule["properties"]);
        let priority = properties["priority"].as_u64().unwrap_or_default();
        if !(100..=4_096).contains(&priority) {
            let why = format!(
                "Security rule {name} has invalid Priority. Value provided: {priority} Allowed range 100-4096."
            );
            return Err(errors::invalid("SecurityRuleInvalidPriority", why));
        }
        if let Some(other) = priorities.insert((text(properties, "direction").to_lowercase(), priority), name) {
            let why = format!(
                "Security rule {name} conflicts with rule {other}. Rules cannot have the same Priority and Direction. To learn more \
                 about NSG rules, see aka.ms/nsgrules."
            );
            return Err(errors::invalid("SecurityRuleConflict", why));
        }
        for (one, several) in SIDES {
            let (has_one, count) = (!text(properties, one).is_empty(), elements(&properties[several]).count());
            let has_groups =
                elements(&properties[one.replace("AddressPrefix", "ApplicationSecurityGroups")]).next().is_some();
            if has_one && count > 0 {
                let why = format!("Security rule {name} has both {one} and {several}.");
                return Err(errors::invalid("SecurityRuleParameterBothSingularAndPlural", why));
            }
            if !has_one && count == 0 && !has_groups {
                let why =
                    format!("Required security rule parameters are missing for security rule with Id: {name}: {one}.");
                return Err(errors::invalid("SecurityRuleParameterMissing", why));
            }
        }
    }
    Ok(())
}
