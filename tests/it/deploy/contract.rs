//! The contract in a registry, as tools for WIT look for it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tests::aerostat::binary;
use tests::folder::Folder;
use tests::registry::{Access, RealRegistry};
use wit_component::{DecodedWasm, WitPrinter};
use wit_parser::{PackageId, Resolve};

use crate::packed::{Compiled, VERSION, file};
use crate::setup::deploy;

/// The package in a folder or a file as one text, docs with it.
fn read(path: &Path) -> String {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(path).unwrap();
    printed(&resolve, package)
}

/// The text of a package, docs with it.
fn printed(resolve: &Resolve, package: PackageId) -> String {
    let mut printer = WitPrinter::default();
    printer.print(resolve, package, &[]).unwrap();
    printer.output.to_string()
}

/// Pushes a packed release, as alice.
fn push(folder: &Folder, registry: &RealRegistry) {
    let bundle = folder.write("bundle.tar", file(&Compiled::new().packed(), &format!("aerostat-bundle-{VERSION}.tar")));
    let login = json!({ "auths": { registry.address(): { "username": "alice", "password": "correct-horse" } } });
    let mut push = Command::new(binary().unwrap());
    push.args(["bundle", "push"]).arg(bundle).arg(registry.address()).arg("--ca").arg(registry.ca_file());
    let output = push.arg("--login").arg(folder.write("login.json", login.to_string())).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[tokio::test]
async fn the_contract_in_a_registry_is_a_package_of_wit() {
    let (folder, registry) = (Folder::new(), RealRegistry::distribution(Access::Password).await);
    push(&folder, &registry);

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
    assert_eq!(printed(&found, package), read(&deploy().join("../wit")));
}

/// The program that `make wkg` has built.
fn wkg() -> PathBuf {
    let tools = deploy().join("../target/tools");
    let folders = std::fs::read_dir(tools).unwrap().map(|it| it.unwrap().path());
    let found = folders.map(|it| it.join("bin/wkg")).find(|it| it.is_file());
    found.expect("there is no wkg. Next step: make wkg")
}

#[tokio::test]
async fn wkg_gets_the_contract_and_what_a_world_depends_on() {
    let (folder, registry) = (Folder::new(), RealRegistry::distribution(Access::Password).await);
    push(&folder, &registry);
    let address = registry.address();
    let ca = std::fs::read_to_string(registry.ca_file()).unwrap();
    let config = format!(
        "[namespace_registries]\naerostat = \"{address}\"\n\n[registry.\"{address}\".oci]\n\
         auth = {{ username = \"alice\", password = \"correct-horse\" }}\n\
         extra_root_certificates = [{{ encoding = \"pem\", data = \"\"\"\n{ca}\"\"\" }}]\n"
    );
    let config = folder.write("config.toml", config);
    let wkg = |arguments: &[&str]| {
        let mut wkg = Command::new(wkg());
        wkg.current_dir(folder.path("")).args(arguments).arg("--config").arg(&config);
        let output = wkg.arg("--cache").arg(folder.path("cache")).env("NO_PROXY", "127.0.0.1").output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    wkg(&["get", "aerostat:cloud@0.1.0", "--format", "wit", "--output", "./cloud.wit"]);
    assert_eq!(read(&folder.path("cloud.wit")), read(&deploy().join("../wit")));

    // A world of an author's own, whose dependency comes out of the registry.
    std::fs::create_dir(folder.path("wit")).unwrap();
    folder.write(
        "wit/world.wit",
        "package acme:provider;\n\nworld nodes {\n    import aerostat:cloud/http@0.1.0;\n    export aerostat:cloud/provider@0.1.0;\n}\n",
    );
    wkg(&["wit", "fetch"]);
    let world = read(&folder.path("wit"));
    assert!(world.contains("export aerostat:cloud/provider@0.1.0;"), "{world}");
}
