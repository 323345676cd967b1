//! The contract in a registry, and the real `wkg` of wasm-pkg-tools, which gets it. `make test-wkg` runs this.

use std::path::{Path, PathBuf};
use std::process::Command;

use tests::aerostat::binary;
use tests::folder::Folder;
use tests::registry::{Access, RealRegistry};
use wit_component::WitPrinter;
use wit_parser::Resolve;

use crate::packed::{Compiled, VERSION, file};

#[expect(dead_code, reason = "the tests of deploy/ use all of it")]
#[path = "../deploy/packed.rs"]
mod packed;

/// The package in a folder or a file as one text, docs with it.
fn printed(path: &Path) -> String {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(path).unwrap();
    let mut printer = WitPrinter::default();
    printer.print(&resolve, package, &[]).unwrap();
    printer.output.to_string()
}

/// The program that `make test-wkg` has built.
fn wkg() -> PathBuf {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools");
    let folders = std::fs::read_dir(tools).unwrap().map(|it| it.unwrap().path());
    let found = folders.map(|it| it.join("bin/wkg")).find(|it| it.is_file());
    found.expect("there is no wkg. Next step: make test-wkg")
}

#[tokio::test]
async fn wkg_gets_the_contract_and_what_a_world_depends_on() {
    let (folder, registry) = (Folder::new(), RealRegistry::distribution(Access::Password).await);
    let address = registry.address();
    let bundle = folder.write("bundle.tar", file(&Compiled::new().packed(), &format!("aerostat-bundle-{VERSION}.tar")));
    let login = format!(r#"{{"auths":{{"{address}":{{"username":"alice","password":"correct-horse"}}}}}}"#);
    let mut push = Command::new(binary().unwrap());
    push.args(["bundle", "push"]).arg(bundle).arg(address).arg("--ca").arg(registry.ca_file());
    let output = push.arg("--login").arg(folder.write("login.json", login)).output().unwrap();
    assert!(output.status.success(), "{output:?}");

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
    wkg(&["get", "aerostat:cloud@0.1.0", "--format", "wit", "--output", "cloud.wit"]);
    let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
    assert_eq!(printed(&folder.path("cloud.wit")), printed(&contract));

    // A world of an author's own, whose dependency comes out of the registry.
    std::fs::create_dir(folder.path("wit")).unwrap();
    folder.write(
        "wit/world.wit",
        "package acme:provider;\n\nworld nodes {\n    import aerostat:cloud/http@0.1.0;\n    export aerostat:cloud/provider@0.1.0;\n}\n",
    );
    wkg(&["wit", "fetch"]);
    let world = printed(&folder.path("wit"));
    assert!(world.contains("export aerostat:cloud/provider@0.1.0;"), "{world}");
}
