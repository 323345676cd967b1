//! The credential that pages for OpenStack make, and its end: their commands, before a real Keystone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use http::Method;
use serde_json::{Value, json};
use tests::control_plane::cluster;
use tests::keystone::{ApplicationCredential, Keystone, python};

use crate::setup::{Folder, commands_for, text};

const PASSWORD: &str = "a-word-of-these-tests";
/// The roles that the page gives the credential, beside the ones that Keystone begins with.
const ROLE: &str = "load-balancer_member";
/// The page of the release for volumes.
const CINDER: &str = "openstack-cinder/README.md";

#[tokio::test]
async fn openstacks_pages_make_and_end_the_credential() {
    let cluster = cluster().await;
    let folder = Folder::new().with("openstack").with("openstack-cinder");
    let keystone = Keystone::start().await;
    let project = keystone.project("aerostat").await;
    let user = keystone.user("operator", PASSWORD, &[&project]).await;
    let role = keystone.done(Method::POST, "/roles", json!({ "role": { "name": ROLE } })).await;
    let role = role["role"]["id"].as_str().unwrap();
    let path = format!("/projects/{project}/users/{user}/roles/{role}");
    keystone.done(Method::PUT, &path, Value::Null).await;
    let client = folder.path("bin/openstack");
    fs::write(&client, format!("#!{}\n{}", python().display(), include_str!("client.py"))).unwrap();
    fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
    let run = |token: &str, command: &str| {
        let place = format!("export OS_AUTH_URL={} OS_TOKEN={token} OS_USER_ID={user}\n", keystone.base_url());
        let said = folder.run(&cluster, &format!("{place}{command}"), "");
        assert!(said.success, "{said:#?}");
    };
    let token = keystone.token_of(&user, PASSWORD, &project).await;
    // That of the cluster, and that of its volumes.
    for (page, rules, [id, secret], (leaving, mark)) in [
        ("../docs/install.md", "openstack/access-rules.json", ["id", "secret"], ("../docs/uninstall.md", "openstack")),
        (CINDER, "openstack-cinder/access-rules.json", ["cinder-id", "cinder-secret"], (CINDER, "leave")),
    ] {
        let [makes] = &commands_for(page, "credential")[..] else { panic!("one command makes it") };
        run(&token, makes);
        let made: Value = serde_json::from_slice(&fs::read(folder.path("made.json")).unwrap()).unwrap();
        let rules: Vec<Value> = serde_json::from_str(&text(rules)).unwrap();
        assert_eq!(made["access_rules"].as_array().map(Vec::len), Some(rules.len()), "Keystone has taken them all");
        let word = |name: &str| made[name].as_str().unwrap().to_owned();
        let credential = ApplicationCredential { id: word("id"), secret: word("secret") };
        let written = [id, secret].map(|it| fs::read_to_string(folder.path(it)).unwrap());
        assert_eq!(written, [credential.id.clone(), credential.secret.clone()], "the files of the Secret");
        assert_eq!(keystone.logs_in(&credential).await, 201);
        let [deletes] = &commands_for(leaving, mark)[..] else { panic!("one command deletes it") };
        run(&token, deletes);
        assert_eq!(keystone.logs_in(&credential).await, 404);
    }
}
