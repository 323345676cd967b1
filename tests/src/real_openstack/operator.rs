//! The operator: aerostat before the real OpenStack, with the rules that its module asks for.

use std::process::Command;

use serde_json::{Value, json};

use super::RealOpenstack;
use super::ground::PASSWORD;
use crate::aerostat::binary;
use crate::control_plane::Cluster;
use crate::guests;
use crate::keystone::REGION;
use crate::operator::Setup;

/// A set-up with the password of the user `aerostat`. Floating IPs are out of the subnet `ext-a`.
///
/// # Panics
///
/// Panics if the module cannot be described.
#[must_use]
pub fn operator(cluster: &Cluster, cloud: &RealOpenstack) -> Setup {
    let mut setup = Setup::guest(cluster, guests::OPENSTACK);
    let password = setup.folder.write("password", PASSWORD);
    let described = described();
    let mut endpoints = described["endpoints"].as_array().cloned().expect("the module has endpoints");
    let places = [
        ("compute", "/v2.1", &cloud.compute),
        ("network", "/v2.0", &cloud.network),
        ("load-balancer", "/", &cloud.load_balancer),
    ];
    endpoints.retain(|endpoint| places.iter().any(|(name, ..)| endpoint["name"] == *name));
    for endpoint in &mut endpoints {
        let (name, path, recorder) = places.iter().find(|(name, ..)| endpoint["name"] == *name).expect("kept above");
        endpoint.as_object_mut().expect("an endpoint").remove("baseUrl");
        endpoint["catalog"] = json!({ "type": name, "interface": "public", "region": REGION, "path": path });
        endpoint["origins"] = json!([{ "url": recorder.url(), "insecure": true }]);
        endpoint["credential"] = json!("openstack");
        endpoint["addresses"] = json!(["127.0.0.0/8"]);
    }
    setup.config["endpoints"] = Value::Array(endpoints);
    setup.config["provider"]["writesAnnotations"] = described["provider"]["writesAnnotations"].clone();
    setup.config["provider"]["settings"] = json!({
        "region": REGION,
        "loadBalancers.floatingNetworkID": cloud.ground.external,
        "loadBalancers.floatingSubnetID": cloud.ground.floating,
        "pollInterval": "1s",
    });
    setup.config["credentials"] = json!([{ "name": "openstack", "keystone": {
        "baseUrl": cloud.cloud.keystone().base_url(),
        "insecure": true,
        "addresses": ["127.0.0.0/8"],
        "password": { "user": { "id": cloud.ground.user }, "passwordFile": password },
        "project": { "id": cloud.ground.project },
    } }]);
    setup
}

/// The skeleton of a configuration that the module's description makes.
fn described() -> Value {
    let binary = binary().expect("cargo build -p aerostat has been made");
    let answer = Command::new(binary).args(["provider", "describe", guests::OPENSTACK]).output();
    let answer = answer.expect("aerostat starts");
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    serde_saphyr::from_slice(&answer.stdout).expect("the skeleton is YAML")
}
