//! The contract in a registry, as tools for WIT look for it.

use std::process::Command;

use serde_json::{Value, json};
use tests::aerostat::binary;
use tests::folder::Folder;
use tests::registry::{Access, RealRegistry};
use wit_component::{DecodedWasm, WitPrinter};
use wit_parser::{PackageId, Resolve};

use crate::packed::{Compiled, VERSION, file};
use crate::setup::deploy;

/// The text of a package, docs with it.
fn printed(resolve: &Resolve, package: PackageId) -> String {
    let mut printer = WitPrinter::default();
    printer.print(resolve, package, &[]).unwrap();
    printer.output.to_string()
}

#[tokio::test]
async fn the_contract_in_a_registry_is_a_package_of_wit() {
    let (folder, registry) = (Folder::new(), RealRegistry::distribution(Access::Anyone).await);
    let bundle = folder.write("bundle.tar", file(&Compiled::new().packed(), &format!("aerostat-bundle-{VERSION}.tar")));
    let mut push = Command::new(binary().unwrap());
    push.args(["bundle", "push"]).arg(bundle).arg(registry.address()).arg("--ca").arg(registry.ca_file());
    let output = push.output().unwrap();
    assert!(output.status.success(), "{output:?}");

    let manifest = registry.manifest("aerostat/cloud:0.1.0").await;
    assert_eq!(manifest["mediaType"], "application/vnd.oci.image.manifest.v1+json");
    assert_eq!(manifest["config"]["mediaType"], "application/vnd.wasm.config.v0+json");
    let [layer] = manifest["layers"].as_array().unwrap().as_slice() else { panic!("one layer: {manifest}") };
    assert_eq!(layer["mediaType"], "application/wasm");
    let blob = async |it: &Value| registry.blob("aerostat/cloud", it["digest"].as_str().unwrap()).await;
    let config: Value = serde_json::from_slice(&blob(&manifest["config"]).await).unwrap();
    assert_eq!((&config["architecture"], &config["os"]), (&json!("wasm"), &json!("wasip2")));
    assert_eq!(config["layerDigests"], json!([layer["digest"]]));
    assert_eq!(config["component"]["imports"], json!([]));
    let exports = config["component"]["exports"].as_array().unwrap();
    for name in ["provider", "instances", "load-balancers", "http"] {
        assert!(exports.contains(&json!(format!("aerostat:cloud/{name}@0.1.0"))), "{exports:?}");
    }

    // As wkg reads it.
    let bytes = blob(layer).await;
    let DecodedWasm::WitPackage(found, package) = wit_component::decode(&bytes).unwrap() else {
        panic!("it is a component, and no package of WIT");
    };
    let mut wanted = Resolve::default();
    let (ours, _) = wanted.push_dir(deploy().join("../wit")).unwrap();
    assert_eq!(printed(&found, package), printed(&wanted, ours));
}
