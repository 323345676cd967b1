//! Logins at the cloud's own Keystone.

use serde_json::{Value, json};

use crate::setup::{Site, play, port};

#[test]
fn an_application_credential_with_access_rules_suffices() {
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
        site.delete("web").await;
        assert!(site.asked().0.iter().all(|it| it.status != 401 && it.status != 403), "all is allowed");
        process.stop().await;
    });
}

#[test]
fn openstack_022_a_token_that_is_taken_back_is_renewed_once() {
    play(async |cloud| {
        let flags =
            ["--cluster-cidr=10.244.0.0/16", "--configure-cloud-routes=true", "--route-reconciliation-period=2s"];
        let site = Site::new(cloud, "revoked").await.flags(&flags).setting("routerID", &cloud.ground.router);
        let process = site.setup.start();
        site.joined(&[("node-1", 11)]).await;
        let token = site.asked().0.iter().rev().find_map(|it| it.token.clone()).unwrap();
        cloud.cloud.keystone().revoke(&token).await;
        // Services know a token for a minute. Meanwhile the router is read every two seconds.
        let mut asked = Vec::new();
        site.eventually("the old token is refused, and the next one is good", async || {
            asked.extend(site.asked().0);
            asked.iter().any(|it| it.status == 200 && it.token.as_ref() != Some(&token)).then_some(())
        })
        .await;
        let refused: Vec<_> = asked.iter().filter(|it| it.status == 401).collect();
        // Requests that are under way side by side are refused together, all of them with the old token.
        assert!(!refused.is_empty() && refused.iter().all(|it| it.token.as_ref() == Some(&token)), "{refused:?}");
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
