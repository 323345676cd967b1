//! Logins that Keystone refuses, and catalogues that lack something: each as an operator reads it on an object.

use std::path::Path;

use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};
use tests::control_plane::cluster;
use tests::{guests, operator};

use super::place::{PASSWORD, Place, Project, endpoint};

/// An endpoint that cannot be used, and the Service that needs it.
struct Unusable {
    /// The name of the endpoint, of its credential and of the Service.
    name: &'static str,
    /// The login, where it is not the right one.
    login: Option<Value>,
    /// Its place in the catalogue, where it is not the right one.
    catalog: Value,
    /// The words of the event.
    parts: Vec<String>,
}

/// A login that Keystone refuses.
fn refused(name: &'static str, login: Value, parts: &[&str]) -> Unusable {
    let by = format!("credential {name}: Keystone (http://127.0.0.1:");
    let parts = ["E-EGRESS-CREDENTIAL", &by].iter().chain(parts).map(|&it| it.to_owned()).collect();
    Unusable { name, login: Some(login), catalog: json!({}), parts }
}

/// A place in the catalogue that is not there.
fn lacking(name: &'static str, catalog: Value, parts: &[&str]) -> Unusable {
    let parts = parts.iter().map(|&it| it.to_owned()).chain([format!("endpoint {name} cannot be reached")]).collect();
    Unusable { name, login: None, catalog, parts }
}

#[tokio::test]
async fn bad_logins_and_catalogues_are_told_with_the_next_step() {
    let place = Place::misled("load-balancer", None).await;
    let (cluster, [right, disabled]) =
        tokio::join!(cluster(), async { [place.project().await, place.project().await] });
    place.keystone.change_user(&disabled.user, json!({ "enabled": false })).await;
    let expired = place.keystone.ended_application_credential(&right.user, PASSWORD, &right.id).await;
    let setup = place.setup(&cluster, &right).module(Path::new(guests::HOSTILE));
    let file = |name: &str, text: &str| setup.folder.write(name, text);
    let by_password = |project: &Project, name: &str, word: &str| {
        json!({
            "password": {
                "user": { "name": format!("of-{}", project.name), "domain": { "name": "Default" } },
                "passwordFile": file(&format!("password-{word}"), word),
            },
            "project": { "name": name, "domain": { "name": "Default" } },
        })
    };
    let by_credential = |id: &str, secret: &str| json!({ "applicationCredential": { "id": id, "secretFile": file(&format!("secret-of-{id}"), secret) } });
    let user = format!("the user \"of-{}\" of the domain \"Default\"", right.name);
    let nobody = format!("the user \"of-{}\"", disabled.name);
    let password =
        "correct the password, the user, its domain or the project, and look whether one of them is disabled";
    let rows = [
        refused("wrong-password", by_password(&right, &right.name, "a-wrong-word"), &[&user, "(401", password]),
        refused("disabled-user", by_password(&disabled, &disabled.name, PASSWORD), &[&nobody, "(401", password]),
        refused("no-project", by_password(&right, "nowhere", PASSWORD), &["the project \"nowhere\"", "(401", password]),
        refused("expired", by_credential(&expired.id, &expired.secret), &[&expired.id, "(401", "it may have expired"]),
        refused("unknown", by_credential("0123456789abcdef", "secret-of-nothing"), &["(404", "make a new one"]),
        lacking("region", json!({ "region": "nowhere" }), &["in the region \"nowhere\"", "correct `catalog.region`"]),
        lacking(
            "interface",
            json!({ "interface": "admin" }),
            &["no interface \"admin\"", "correct `catalog.interface`"],
        ),
        lacking(
            "balancers",
            json!({ "type": "load-balancer" }),
            &["\"load-balancer\"", "Next step: correct `catalog."],
        ),
    ];
    let setup = setup.edit(|config| {
        let provider = config["provider"].as_object_mut().unwrap();
        provider.retain(|key, _| key == "module");
        for row in &rows {
            let mut credential = config["credentials"][0].clone();
            if let Some(login) = &row.login {
                credential["name"] = json!(row.name);
                let keystone = credential["keystone"].as_object_mut().unwrap();
                keystone.retain(|key, _| key == "baseUrl");
                keystone.extend(login.as_object().unwrap().clone());
                config["credentials"].as_array_mut().unwrap().push(credential.clone());
            }
            let allow = json!([{ "methods": ["GET"], "paths": ["/**"] }]);
            let mut own = endpoint(&place, row.name, credential["name"].as_str().unwrap(), allow);
            own["catalog"].as_object_mut().unwrap().extend(row.catalog.as_object().unwrap().clone());
            config["endpoints"].as_array_mut().unwrap().push(own);
        }
    });
    let process = setup.started().await;
    let services: Api<Service> = Api::default_namespaced(cluster.admin.clone());
    for row in &rows {
        let request = json!({ "endpoint": row.name, "method": "GET", "path": ["v2.0", "ports"], "times": 1 });
        let service = json!({
            "metadata": { "name": row.name, "annotations": { "hostile.example/see": request.to_string() } },
            "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] },
        });
        services.create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
    }
    for row in &rows {
        // The guest reports what it was told as JSON.
        let parts: Vec<_> = row.parts.iter().map(|it| it.replace('"', "\\\"")).collect();
        operator::event(&cluster, row.name, &parts.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
    assert!(place.arrived().is_empty(), "{:?}", place.arrived());
    process.stop().await;
}
