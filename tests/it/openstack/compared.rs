//! `make compare-openstack`, as far as it goes without the program that it is for.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;
use tests::folder::Folder;
use tests::keystone::python;
use tests::openstack_vendor::Stage;
use tests::openstack_vendor::story::stories;
use tests::wait;

#[tokio::test]
async fn another_manager_gets_the_recorded_config_and_flags() {
    let folder = Folder::new();
    let text = format!("#!{}\n{}", python().display(), include_str!("compared/stand_in.py"));
    let program = folder.write("manager", text);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut story = stories().into_iter().find(|it| it.name == "basic").unwrap();
    // It initialises none.
    story.nodes.clear();
    let stage = Stage::with(&story, Some(&program)).await;
    let said: Value = wait::until("it has asked for what its config names", async || {
        serde_json::from_slice(&fs::read(folder.path("said.json")).ok()?).ok()
    })
    .await;
    assert_eq!((&said["login"], &said["network"], &said["kubeconfig"]), (&201.into(), &"ext".into(), &true.into()));
    let flags =
        ["cloud-provider", "cluster-name", "configure-cloud-routes", "leader-elect", "node-status-update-frequency"];
    assert_eq!(flags.map(|it| said["flags"][it].as_str().unwrap()), ["openstack", "prod", "false", "false", "1h"]);
    stage.end().await;
}
