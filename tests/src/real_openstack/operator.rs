//! The operator: aerostat before the real OpenStack, with the rules that its module asks for.

use std::process::Command;

use serde_json::{Value, json};

use super::RealOpenstack;
use super::cloud::VOLUMES;
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
    let settings = json!({
        "region": REGION,
        "loadBalancers.floatingNetworkID": cloud.ground.external,
        "loadBalancers.floatingSubnetID": cloud.ground.floating,
        "pollInterval": "1s",
    });
    setup_of(cluster, cloud, guests::OPENSTACK, settings)
}

/// The same for the module of volumes, with their controllers and a Lease of this name.
///
/// # Panics
///
/// Panics if the module cannot be described.
#[must_use]
pub fn operator_of_volumes(cluster: &Cluster, cloud: &RealOpenstack, lease: &str) -> Setup {
    let settings = json!({ "region": REGION, "createAgainAfter": "20s" });
    setup_of(cluster, cloud, guests::OPENSTACK_CINDER, settings).flags(&[
        "--controllers=volume-provisioner,volume-attacher,volume-expander",
        &format!("--leader-elect-resource-name={lease}"),
    ])
}

fn setup_of(cluster: &Cluster, cloud: &RealOpenstack, guest: &'static str, settings: Value) -> Setup {
    let mut setup = Setup::guest(cluster, guest);
    let password = setup.folder.write("password", PASSWORD);
    let described = described(guest);
    let mut endpoints = described["endpoints"].as_array().cloned().expect("the module has endpoints");
    // The name of the endpoint, the type in the catalogue, and what follows the catalogue's URL.
    let places = [
        ("compute", "compute", Some("/v2.1"), &cloud.compute),
        ("network", "network", Some("/v2.0"), &cloud.network),
        ("load-balancer", "load-balancer", Some("/"), &cloud.load_balancer),
        // The catalogue's has the project in it.
        ("volume", VOLUMES, None, &cloud.volume),
    ];
    endpoints.retain(|endpoint| places.iter().any(|(name, ..)| endpoint["name"] == *name));
    for endpoint in &mut endpoints {
        let place = places.iter().find(|(name, ..)| endpoint["name"] == *name);
        let (_, kind, path, recorder) = place.expect("kept above");
        endpoint.as_object_mut().expect("an endpoint").remove("baseUrl");
        endpoint["catalog"] = json!({ "type": kind, "interface": "public", "region": REGION });
        if let Some(path) = path {
            endpoint["catalog"]["path"] = json!(path);
        }
        endpoint["origins"] = json!([{ "url": recorder.url(), "insecure": true }]);
        endpoint["credential"] = json!("openstack");
        endpoint["addresses"] = json!(["127.0.0.0/8"]);
    }
    setup.config["endpoints"] = Value::Array(endpoints);
    if let Some(annotations) = described["provider"].get("writesAnnotations") {
        setup.config["provider"]["writesAnnotations"] = annotations.clone();
    }
    setup.config["provider"]["settings"] = settings;
    setup.config["credentials"] = json!([{ "name": "openstack", "keystone": {
        "baseUrl": cloud.cloud.keystone().base_url(),
        "insecure": true,
        "addresses": ["127.0.0.0/8"],
        "password": { "user": { "id": cloud.ground.user }, "passwordFile": password },
        "project": { "id": cloud.ground.project },
    } }]);
    setup
}

/// The skeleton of a configuration that a module's description makes.
fn described(guest: &str) -> Value {
    let binary = binary().expect("cargo build -p aerostat has been made");
    let answer = Command::new(binary).args(["provider", "describe", guest]).output();
    let answer = answer.expect("aerostat starts");
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    serde_saphyr::from_slice(&answer.stdout).expect("the skeleton is YAML")
}
