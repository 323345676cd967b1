//! A release that was packed from a program, a module and a chart, as `make release` packs what it has compiled.

use std::path::{Path, PathBuf};
use std::process::Command;

use pack::{CompiledRelease, PackedFile};
use serde_json::{Value, json};
use tests::aerostat::binary;
use tests::folder::Folder;
use tests::guests;

use crate::chart::PRESETS;
use crate::setup::deploy;

/// The version of a release that nobody makes.
pub(crate) const VERSION: &str = "1.2.3";

/// ELF's numbers of machines.
pub(crate) const AMD64: u16 = 62;
pub(crate) const ARM64: u16 = 183;

/// A program file that holds nothing, for this machine, with one segment of this type.
pub(crate) fn elf(machine: u16, segment: u32) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    // A program in version 1, without an entry; its segments begin behind this head of 64 bytes.
    for (number, size) in
        [(2, 2), (u64::from(machine), 2), (1, 4), (0, 8), (64, 8), (0, 8), (0, 4), (64, 2), (56, 2), (1, 2), (64, 2)]
    {
        bytes.extend(&u64::to_le_bytes(number)[..size]);
    }
    bytes.resize(64, 0);
    bytes.extend(segment.to_le_bytes());
    bytes.resize(64 + 56, 0);
    bytes
}

/// The values of the small chart, with places for digests.
pub(crate) const VALUES: &str =
    "replicas: 2\ndigests:\n  # of a release\n  image: \"\"\n  acme: \"\"\n  other: \"\"\nlast: {}\n";

/// A folder with what `make release` has compiled: two programs and modules; and a chart, manifests and our contract.
pub(crate) struct Compiled {
    pub(crate) folder: Folder,
    version: &'static str,
    /// The folders of the chart and of the manifests.
    chart: PathBuf,
    manifests: PathBuf,
}

impl Compiled {
    /// With the module `acme`, a small chart and a small manifest.
    pub(crate) fn new() -> Self {
        let folder = programs();
        add_module(&folder, "acme", Path::new(guests::ACME));
        std::fs::create_dir_all(folder.path("chart/templates")).unwrap();
        folder.write(
            "chart/Chart.yaml",
            format!("apiVersion: v2\nname: aerostat\nversion: {VERSION}\nappVersion: {VERSION}\n"),
        );
        folder.write("chart/values.yaml", VALUES);
        folder.write("chart/templates/deployment.yaml", "kind: Deployment\n");
        let manifest = "image: \"registry.example.com/aerostat/acme:1.2.3\"\ndigest: \"sha256:DIGEST-OF-THE-MANIFEST\"\n\
                        image: \"registry.example.com/aerostat:1.2.3\" # yours\n";
        folder.write("install-acme.yaml", manifest);
        Self { version: VERSION, chart: folder.path("chart"), manifests: folder.path(""), folder }
    }

    /// With all of what this project's release has, but for the programs, which are empty.
    pub(crate) fn project() -> Self {
        let folder = programs();
        for name in PRESETS {
            // With the flags of a release, they lie beside one another.
            add_module(&folder, name, &Path::new(guests::AWS).with_file_name(format!("{name}.wasm")));
        }
        Self { folder, version: env!("CARGO_PKG_VERSION"), chart: deploy().join("chart"), manifests: deploy() }
    }

    pub(crate) fn release(&self) -> CompiledRelease {
        CompiledRelease {
            version: self.version.to_owned(),
            architectures: vec!["amd64".to_owned(), "arm64".to_owned()],
            commit: Some("0123456789abcdef".to_owned()),
            source: Some("https://git.example.com/aerostat".to_owned()),
            lock: self.folder.path("Cargo.lock"),
            chart: Some(self.chart.clone()),
            manifests: Some(self.manifests.clone()),
            contract: Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit")),
            folder: self.path(),
        }
    }

    pub(crate) fn packed(&self) -> Vec<PackedFile> {
        pack::pack(&self.release()).unwrap()
    }

    pub(crate) fn refused(&self) -> String {
        format!("{:#}", pack::pack(&self.release()).unwrap_err())
    }

    fn path(&self) -> PathBuf {
        self.folder.path("")
    }
}

/// A folder with the programs, and with what is written beside them.
fn programs() -> Folder {
    let folder = Folder::new();
    for (architecture, machine) in [("amd64", AMD64), ("arm64", ARM64)] {
        let program = [elf(machine, 1), vec![b'x'; 100_000]].concat();
        folder.write(&format!("aerostat-linux-{architecture}"), program);
        folder.write(&format!("aerostat-linux-{architecture}.cdx.json"), json!({ "of": architecture }).to_string());
    }
    folder.write("BUILT-WITH.txt", "rustc 1.95.0\nzig 0.16.0\n");
    folder.write("Cargo.lock", "version = 4\n");
    folder
}

/// Puts a module there, with its SBOM and its description.
fn add_module(folder: &Folder, name: &str, module: &Path) {
    folder.write(&format!("{name}.wasm"), std::fs::read(module).unwrap());
    folder.write(&format!("{name}.cdx.json"), json!({ "of": name }).to_string());
    folder.write(&format!("{name}.module.json"), inspected(module));
}

/// The description of a module by `aerostat module inspect`.
fn inspected(module: &Path) -> Vec<u8> {
    let mut command = Command::new(binary().unwrap());
    let output = command.args(["module", "inspect", "--output=json"]).arg(module).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

/// A packed file.
pub(crate) fn file<'a>(files: &'a [PackedFile], path: &str) -> &'a [u8] {
    let found = files.iter().find(|it| it.path == path);
    &found.unwrap_or_else(|| panic!("no {path} in {:?}", files.iter().map(|it| &it.path).collect::<Vec<_>>())).bytes
}

/// A packed file of JSON.
pub(crate) fn json_of(files: &[PackedFile], path: &str) -> Value {
    serde_json::from_slice(file(files, path)).unwrap()
}
