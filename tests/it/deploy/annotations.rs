//! Every artifact of a release says in the registry what it is.

use std::process::Command;

use serde_json::{Value, json};
use tests::aerostat::binary;
use tests::registry::{Access, RealRegistry};

use crate::packed::{Compiled, VERSION};

/// A registry with the release of [`Compiled`], pushed as `make publish` pushes it.
async fn published() -> RealRegistry {
    let (registry, compiled) = (RealRegistry::distribution(Access::Anyone).await, Compiled::new());
    let bundle = compiled.packed().into_iter().find(|it| it.path.starts_with("aerostat-bundle-")).unwrap();
    bundle.write(&compiled.folder.path("")).unwrap();
    let mut push = Command::new(binary().unwrap());
    push.args(["bundle", "push"]).arg(compiled.folder.path(&bundle.path)).arg(registry.address());
    let output = push.arg("--ca").arg(registry.ca_file()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    registry
}

/// The words that every artifact has, by its title.
fn common(title: &str) -> Value {
    json!({
        "org.opencontainers.image.title": title,
        "org.opencontainers.image.version": VERSION,
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.revision": "0123456789abcdef",
        "org.opencontainers.image.source": "https://git.example.com/aerostat",
    })
}

#[tokio::test]
async fn published_artifacts_name_their_content() {
    let registry = published().await;
    let annotations = async |name: &str| registry.manifest(name).await["annotations"].clone();
    let mut module = common("acme");
    module["dev.aerostat.contract"] = json!("0.1.0");
    module["dev.aerostat.endpoints"] = json!("api=https://api.acme.example/v1");
    module["dev.aerostat.provider-version"] = json!("1.0.0");
    assert_eq!(annotations(&format!("aerostat/acme:{VERSION}")).await, module);
    assert_eq!(annotations(&format!("aerostat/charts/aerostat:{VERSION}")).await, common("aerostat"));

    let image = registry.manifest(&format!("aerostat:{VERSION}")).await;
    assert_eq!(image["annotations"], common("aerostat"));
    let of_machines = image["manifests"].as_array().unwrap();
    assert_eq!(of_machines.len(), 2);
    for machine in of_machines {
        let name = format!("aerostat@{}", machine["digest"].as_str().unwrap());
        assert_eq!(annotations(&name).await, common("aerostat"), "{name}");
    }
}
