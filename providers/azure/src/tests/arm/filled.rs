//! Fields that the resource manager adds to objects that are written.

use serde_json::{Value, json};

use super::FakeArm;

impl FakeArm {
    /// Adds the fields that the API adds to an object.
    pub(super) fn fill(&mut self, id: &str, shown: &mut Value, old: Option<&Value>) {
        let lower = id.to_ascii_lowercase();
        if lower.contains("/publicipaddresses/") {
            self.addresses += 1;
            let fresh = if shown["properties"]["publicIPAddressVersion"] == "IPv6" {
                format!("2001:db8::{}", self.addresses)
            } else {
                format!("20.50.0.{}", self.addresses)
            };
            let address = old.map_or(json!(fresh), |it| it["properties"]["ipAddress"].clone());
            shown["properties"]["ipAddress"] = address;
            shown["properties"]["idleTimeoutInMinutes"] = json!(4);
        }
        for kind in [
            "frontendIPConfigurations",
            "backendAddressPools",
            "probes",
            "loadBalancingRules",
            "securityRules",
            "routes",
        ] {
            for part in shown["properties"][kind].as_array_mut().into_iter().flatten() {
                part["id"] = json!(format!("{id}/{kind}/{}", part["name"].as_str().unwrap()));
                part["properties"]["provisioningState"] = json!("Succeeded");
                if kind == "probes" {
                    part["properties"]["numberOfProbes"] = json!(1);
                }
                if kind == "frontendIPConfigurations" {
                    if part["properties"]["privateIPAllocationMethod"].is_null() {
                        part["properties"]["privateIPAllocationMethod"] = json!("Dynamic");
                    }
                    if !part["properties"]["subnet"].is_null() && part["properties"]["privateIPAddress"].is_null() {
                        self.addresses += 1;
                        let version = &part["properties"]["privateIPAddressVersion"];
                        let fresh = if version == "IPv6" {
                            format!("fd00::{}", self.addresses)
                        } else {
                            format!("10.240.0.{}", self.addresses + 90)
                        };
                        part["properties"]["privateIPAddress"] = json!(fresh);
                    }
                }
            }
        }
    }

    /// Changes pools as a write to interfaces does.
    pub(super) fn join(&mut self, id: &str, shown: &Value) {
        let lower = id.to_ascii_lowercase();
        let mut members: Vec<(String, Vec<String>)> = Vec::new();
        let pools = |it: &Value| -> Vec<String> {
            it["properties"]["loadBalancerBackendAddressPools"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|it| it["id"].as_str().unwrap().to_ascii_lowercase())
                .collect()
        };
        if lower.contains("microsoft.network/networkinterfaces/") {
            for it in shown["properties"]["ipConfigurations"].as_array().into_iter().flatten() {
                members.push((format!("{id}/ipConfigurations/{}", it["name"].as_str().unwrap()), pools(it)));
            }
        } else if lower.contains("/virtualmachines/") {
            for nic in shown["properties"]["networkProfileConfiguration"]["networkInterfaceConfigurations"]
                .as_array()
                .into_iter()
                .flatten()
            {
                for it in nic["properties"]["ipConfigurations"].as_array().into_iter().flatten() {
                    let configuration = format!(
                        "{id}/networkInterfaces/{}/ipConfigurations/{}",
                        nic["name"].as_str().unwrap(),
                        it["name"].as_str().unwrap()
                    );
                    members.push((configuration, pools(it)));
                }
            }
        }
        for balancer in self.objects.iter_mut().filter(|(key, _)| key.contains("/loadbalancers/")).map(|(_, it)| it) {
            let own = balancer["id"].as_str().unwrap().to_owned();
            for pool in balancer["properties"]["backendAddressPools"].as_array_mut().into_iter().flatten() {
                let pool_id =
                    format!("{own}/backendAddressPools/{}", pool["name"].as_str().unwrap()).to_ascii_lowercase();
                let mut all: Vec<Value> =
                    pool["properties"]["backendIPConfigurations"].as_array().cloned().unwrap_or_default();
                for (configuration, pools) in &members {
                    all.retain(|it| !it["id"].as_str().unwrap().eq_ignore_ascii_case(configuration));
                    if pools.contains(&pool_id) {
                        all.push(json!({ "id": configuration }));
                    }
                }
                if !all.is_empty() || !pool["properties"]["backendIPConfigurations"].is_null() {
                    pool["properties"]["backendIPConfigurations"] = json!(all);
                }
            }
        }
    }
}
