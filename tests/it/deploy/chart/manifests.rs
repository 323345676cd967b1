//! The manifests of `deploy/` are what the chart makes, and a kustomization uses them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tests::control_plane::{self, cluster};
use tests::folder;

use super::{PRESETS, objects};
use crate::setup::{Folder, deploy, text};

/// All files of YAML under a folder but for the chart's, by their paths there.
fn files(folder: &Path, below: &Path, all: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder.join(below)).unwrap() {
        let entry = entry.unwrap();
        let path = below.join(entry.file_name());
        match path.extension() {
            _ if path == Path::new("chart") => {}
            _ if entry.path().is_dir() => files(folder, &path, all),
            Some(it) if it == "yaml" => {
                all.insert(path.display().to_string(), fs::read_to_string(entry.path()).unwrap());
            }
            Some(_) | None => {}
        }
    }
}

#[test]
fn the_manifests_are_what_the_chart_makes() {
    let made = folder::Folder::new();
    let output = Command::new(deploy().join("manifests.sh"))
        .arg(made.path(""))
        .env("HELM", control_plane::helm("helm").unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let (mut expected, mut found) = (BTreeMap::new(), BTreeMap::new());
    files(&made.path(""), Path::new(""), &mut expected);
    files(&deploy(), Path::new(""), &mut found);
    // Patches, and what chooses among manifests, are written by hand; a role of a cloud is no manifest.
    found.retain(|name, _| {
        !name.ends_with("-patch.yaml") && name != "kustomization.yaml" && !name.ends_with("/role.yaml")
    });
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "Next step: make manifests");
    for (name, text) in found {
        assert_eq!(text, expected[&name], "deploy/{name} is not what the chart makes. Next step: make manifests");
    }
}

#[tokio::test]
async fn one_file_for_each_cloud_is_accepted_strictly() {
    let cluster = cluster().await;
    let folder = Folder::new();
    for cloud in PRESETS {
        let said = folder.judge(&cluster, &format!("deploy/install-{cloud}.yaml"));
        assert!(said.success && said.error.is_empty(), "{cloud}: {said:#?}");
        assert_eq!(said.out.lines().count(), objects(&text(&format!("install-{cloud}.yaml"))).len(), "{said:#?}");
    }
}

#[tokio::test]
async fn the_kustomization_changes_the_image_of_each_cloud() {
    let cluster = cluster().await;
    let folder = Folder::new();
    for cloud in PRESETS {
        let overlay = "resources: [deploy]\nimages: [{ name: registry.example.com/aerostat, newName: registry.example.org/ours }]\n";
        fs::write(folder.path("kustomization.yaml"), overlay).unwrap();
        let script = format!(
            "sed -i 's/install-[a-z-]*.yaml/install-{cloud}.yaml/' deploy/kustomization.yaml
             kubectl kustomize ."
        );
        let said = folder.run(&cluster, &script, "");
        assert!(said.success && said.error.is_empty(), "{cloud}: {said:#?}");
        let mut plain = sorted(objects(&text(&format!("install-{cloud}.yaml"))));
        for object in plain.iter_mut().filter(|it| it["kind"] == "Deployment") {
            object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("registry.example.org/ours:0.1.0");
        }
        assert_eq!(sorted(objects(&said.out)), plain, "{cloud}");
    }
}

fn sorted(mut objects: Vec<Value>) -> Vec<Value> {
    objects.sort_by_key(|it| format!("{}{}", it["kind"], it["metadata"]));
    objects
}
