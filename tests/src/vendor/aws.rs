//! AWS.

use serde_json::{Value, json};

use crate::clouds::aws::{Service, Simulator};
use crate::control_plane::Cluster;
use crate::guests;
use crate::moto::{AccessKey, REGION};
use crate::operator::Setup;

pub use crate::clouds::aws::CLUSTER;

/// What the provider asks for and changes, as a policy allows it.
const ACTIONS: [&str; 2] = ["ec2:*", "elasticloadbalancing:*"];

/// The id of the instance with this number.
#[must_use]
pub fn instance(number: u64) -> String {
    format!("i-{number:017x}")
}

/// The provider as its README says that an operator sets it up, with the endpoints of these services.
#[must_use]
pub fn setup(cluster: &Cluster, cloud: &Simulator, services: &[Service]) -> Setup {
    let places = cloud.moto().order("prepare", &json!({ "cluster": CLUSTER }));
    let setup = Setup::guest(cluster, guests::AWS);
    take_key(&setup, &cloud.moto().user("aerostat", &ACTIONS));
    let file = setup.folder.path("credentials");
    let endpoints: Vec<_> = services.iter().map(|it| endpoint(*it, cloud)).collect();
    setup.edit(|it| {
        it["provider"]["settings"] = json!({ "region": REGION, "vpc": places["vpc"], "clusterID": CLUSTER });
        it["endpoints"] = json!(endpoints);
        it["credentials"] = json!([{ "name": "aws", "sigv4": { "region": REGION, "sharedFile": { "file": file } } }]);
    })
}

/// Puts a key into the file of the setup, as the tools of AWS write it.
pub fn take_key(setup: &Setup, key: &AccessKey) {
    let AccessKey { id, secret } = key;
    let text = format!("[default]\naws_access_key_id = {id}\naws_secret_access_key = {secret}\n");
    setup.folder.write("credentials", text);
}

/// An endpoint where every operation is allowed that such a provider may ask for.
fn endpoint(service: Service, cloud: &Simulator) -> Value {
    let signed_for = if service == Service::Ec2 { "ec2" } else { "elasticloadbalancing" };
    let rule = |effect: &str, operations: &[&str]| json!({ "methods": ["POST"], "paths": ["/"], "operations": operations, "effect": effect });
    let writes = [
        "AddTags",
        "Apply*",
        "Attach*",
        "Authorize*",
        "Configure*",
        "Create*",
        "Detach*",
        "Modify*",
        "Register*",
        "Replace*",
        "Set*",
    ];
    json!({
        "name": service.name(),
        "baseUrl": cloud.base_url(),
        "credential": "aws",
        "signing": { "region": REGION, "service": signed_for },
        "operation": { "parameter": "Action" },
        "parameters": { "Version": service.version() },
        "allow": [
            rule("read", &["Describe*"]),
            rule("write", &writes),
            rule("delete", &["Delete*", "Deregister*", "Revoke*"]),
        ],
        "tls": { "caFile": cloud.ca_file() },
    })
}
