//! Logins at the cloud's own Keystone.

use serde_json::{Value, json};

use crate::setup::{Site, play, port};

/// Cases: openstack 22
#[test]
fn openstack_022_an_application_credential_with_rules_suffices() {
    play(async |cloud| {
        let mut site = Site::new(cloud, "rules").await;
        let made = cloud.ground.credential(&cloud.cloud, rules(&site.setup.config)).await;
        let secret = site.setup.folder.write("secret", &made.secret);
        let login = site.setup.config["credentials"][0]["keystone"].as_object_mut().unwrap();
        login.remove("password");
        login.remove("project");
        login.insert("applicationCredential".to_owned(), json!({ "id": made.id, "secretFile": secret }));
        let process = site.start().await;
        site.joined(&[("node-1", 11)]).await;
        site.create("web", json!([port(80)]), &json!({})).await;
        site.address("web", "").await;
        // Its token is taken back: the next request is refused with 401, and goes out with another.
        let asked = site.asked();
        let token = asked.0.iter().rev().find_map(|it| it.token.clone()).unwrap();
        cloud.cloud.keystone().revoke(&token).await;
        site.delete("web").await;
        let asked = site.asked();
        assert!(asked.0.iter().any(|it| it.status == 401), "the old token was refused");
        process.stop().await;
    });
}

/// The access rules for what a configuration allows: the same paths, below what the catalogue says.
fn rules(config: &Value) -> Value {
    let mut rules = Vec::new();
    for endpoint in config["endpoints"].as_array().unwrap() {
        let kind = &endpoint["catalog"]["type"];
        let root = endpoint["catalog"]["path"].as_str().unwrap().trim_end_matches('/');
        for rule in endpoint["allow"].as_array().unwrap() {
            for (method, path) in rule["methods"].as_array().unwrap().iter().flat_map(|method| {
                rule["paths"].as_array().unwrap().iter().map(move |path| (method, path.as_str().unwrap()))
            }) {
                rules.push(json!({ "service": kind, "method": method, "path": format!("{root}{path}") }));
            }
        }
    }
    Value::Array(rules)
}
