//! Attacks by a catalogue, by a guest, and by authors of Services.

use std::path::Path;

use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};
use tests::capture::{Capture, Step};
use tests::clouds::openstack::Kind;
use tests::control_plane::cluster;
use tests::vendor::{OpenStack, Vendor as _};
use tests::{guests, kubelet, operator};

use super::place::{Place, endpoint};
use super::settled::{Settled, balancing};

#[tokio::test]
async fn attack_a_catalogue_to_the_metadata_address_is_told() {
    leads_nowhere("http://169.254.169.254/v2.1", "http://169.254.169.254").await;
}

#[tokio::test]
async fn attack_a_catalogue_to_another_port_of_loopback_is_told() {
    let other = Capture::http(|_| Step::ok("{}")).await;
    let origin = format!("http://{}", other.address());
    leads_nowhere(&format!("{origin}/v2.1"), &origin).await;
    assert_eq!(other.requests().len(), 0);
}

#[tokio::test]
async fn attack_a_catalogue_to_another_origin_is_told() {
    leads_nowhere("https://nova.attacker.example:8774/v2.1", "https://nova.attacker.example:8774").await;
}

/// Nova is at this URL, as the catalogue says. An operator who looks at the Lease, or at the node that waits, reads so.
async fn leads_nowhere(url: &str, origin: &str) {
    let place = Place::misled("compute", Some(url)).await;
    let (cluster, project) = tokio::join!(cluster(), place.project());
    let process = place.setup(&cluster, &project).started().await;
    kubelet::join(&cluster.admin, "web-1").await.unwrap();
    let at = format!("the catalogue says that the service \"compute\" is at {origin}, which `origins` does not name");
    let parts = ["endpoint compute cannot be reached", &at, "Next step: if that is right, add it to `origins`"];
    for about in ["cloud-controller-manager", "web-1"] {
        operator::event_after(operator::NODE_BACK_OFF, &cluster, about, &parts).await;
    }
    operator::assert_waits(&cluster, "web-1").await;
    let asked = place.arrived();
    assert!(asked.iter().all(|it| !it.line.contains("/servers")), "{asked:?}");
    process.stop().await;
}

#[tokio::test]
async fn attack_a_guest_gets_no_token_of_keystone() {
    let login = json!({ "auth": { "identity": { "methods": ["token"], "token": { "id": "gAAAA" } } } }).to_string();
    let mut crimes = Vec::new();
    for endpoint in ["compute", "network", "load-balancer", "wide"] {
        for path in [&["v3", "auth", "tokens"][..], &["auth", "tokens"], &["identity", "v3", "AUTH", "Tokens"]] {
            let request = request("POST", endpoint, path, &[], Some(&login));
            // Nobody posts anything to Nova.
            let code = if endpoint == "compute" { "E-EGRESS-METHOD" } else { "E-EGRESS-PATH" };
            crimes.push((request, vec![code, endpoint]));
        }
    }
    caught(&crimes).await;
}

#[tokio::test]
async fn attack_a_guest_sends_no_token_of_its_own() {
    let crimes = ["X-Auth-Token", "x-subject-token", "X-Service-Token"].map(|header| {
        let request = request("GET", "wide", &["v2.0", "ports"], &[(header, "gAAAA")], None);
        (request, vec!["E-EGRESS-HEADER", header, "is the host's to set"])
    });
    caught(&crimes).await;
}

#[tokio::test]
async fn attack_a_guest_moves_no_port() {
    let bodies = [
        json!({ "port": { "device_id": "another-server" } }),
        json!({ "port": { "allowed_address_pairs": [], "device_id": "another-server" } }),
        json!({ "port": { "device_owner": "network:router_interface", "fixed_ips": [] } }),
    ];
    let crimes = bodies.map(|body| {
        let path = ["ports", "6b3c1a60-0d11-4c9e-8f3b-2f5a3d4f7a11"];
        (request("PUT", "network", &path, &[], Some(&body.to_string())), vec!["E-EGRESS-CONTENT", "port.device_"])
    });
    caught(&crimes).await;
}

/// A request that the hostile guest sends.
fn request(method: &str, endpoint: &str, path: &[&str], headers: &[(&str, &str)], body: Option<&str>) -> Value {
    let mut headers = headers.to_vec();
    if body.is_some() {
        headers.push(("content-type", "application/json"));
    }
    let body = body.map(str::to_owned);
    json!({ "endpoint": endpoint, "method": method, "path": path, "headers": headers, "body": body, "times": 1 })
}

/// Lets a guest send each request once, for a Service each, with the endpoints and rules as they are shipped, and one whose rules allow
/// all. An event says why it is not sent, and none reaches a service.
async fn caught(crimes: &[(Value, Vec<&str>)]) {
    let place = Place::start().await;
    let (cluster, project) = tokio::join!(cluster(), place.project());
    let all = json!([
        { "methods": ["GET"], "paths": ["/**"] }, { "methods": ["POST", "PUT"], "paths": ["/**"], "effect": "update" },
    ]);
    let setup = place.setup(&cluster, &project).module(Path::new(guests::HOSTILE)).edit(|config| {
        let provider = config["provider"].as_object_mut().unwrap();
        provider.retain(|key, _| key == "module");
        config["endpoints"].as_array_mut().unwrap().push(endpoint(&place, "wide", "openstack", all));
    });
    let process = setup.started().await;
    let services: Api<Service> = Api::default_namespaced(cluster.admin.clone());
    let honest = (request("GET", "compute", &["servers", "detail"], &[], None), vec!["\"status\":200"]);
    for (index, (request, _)) in crimes.iter().chain([&honest]).enumerate() {
        let service = json!({
            "metadata": {
                "name": format!("crime-{index}"), "annotations": { "hostile.example/see": request.to_string() },
            },
            "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] },
        });
        services.create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
    }
    for (index, (_, parts)) in crimes.iter().chain([&honest]).enumerate() {
        operator::event(&cluster, &format!("crime-{index}"), parts).await;
    }
    let arrived = place.arrived();
    assert!(arrived.iter().all(|it| it.line == "GET /compute/v2.1/servers/detail"), "{arrived:?}");
    assert!(arrived.iter().all(|it| it.project.as_ref() == Some(&project.id)), "{arrived:?}");
    process.stop().await;
}

#[tokio::test]
async fn attack_load_balancers_of_others_stay_as_they_are() {
    let place = Place::start().await;
    let (settled, other) = tokio::join!(Settled::at(&place), place.project());
    settled.create("bank", "pay", &json!({})).await;
    settled.served("bank", "pay").await;
    let of_namespace = settled.balancer("bank", "pay").await;
    let build = |name: &str| {
        let name = name.to_owned();
        move |world: &mut tests::clouds::openstack::World| {
            let subnet = world.named(Kind::Subnet, "k8s");
            world.build_balancer(&json!({ "name": name, "vip_subnet_id": subnet }))
        }
    };
    let of_cluster = place.world(&settled.project, build("kube_service_other_bank_pay"));
    let of_project = place.world(&other, build("kube_service_kubernetes_default_thief"));
    let (own, others) = (balancing(&place, &settled.project), balancing(&place, &other));
    let rows: [(&str, &str, &[&str]); 3] = [
        ("of-cluster", &of_cluster, &["kube_service_other_bank_pay", "another cluster's", "it is not touched"]),
        // A part in it is no theft; its port 80 is another's.
        ("of-namespace", &of_namespace, &["80"]),
        // It gets one of its own.
        ("of-project", &of_project, &["which does not exist: another is built"]),
    ];
    for (name, id, parts) in rows {
        settled.create("default", name, &json!({ OpenStack::ID: id })).await;
        settled.told(name, &[&[id], parts].concat()).await;
    }
    settled.served("default", "of-project").await;
    let now = balancing(&place, &settled.project);
    let changed: Vec<_> = own.iter().filter(|it| !now.contains(it)).collect();
    assert_eq!((changed, balancing(&place, &other)), (Vec::new(), others.clone()));
    for (name, ..) in rows {
        settled.delete("default", name).await;
    }
    assert_eq!((balancing(&place, &settled.project), balancing(&place, &other)), (own, others));
    settled.stop().await;
}
