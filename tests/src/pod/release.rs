//! A release in a registry, packed as `make release` packs one: image, module and chart. Its program is not optimised.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use oci::{Layout, LayoutName, NewManifest, Platform};
use pack::CompiledRelease;
use serde_json::json;

use crate::aerostat::binary;
use crate::folder::Folder;
use crate::guests;
use crate::machine;
use crate::registry::RealRegistry;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// A release in a registry.
#[derive(Clone, Debug)]
pub struct Release {
    /// Where its image is, and below which its module is, as in `127.0.0.1:5000/aerostat`.
    pub place: String,
    /// The chart, as a file.
    pub chart: PathBuf,
    /// The digest of the image.
    pub image: String,
    /// The digest of the module's manifest.
    pub module: String,
    /// The image of the container that every Pod begins with.
    pub pause: String,
    /// The size of the image.
    pub size: ImageSize,
}

/// The bytes of an image for one architecture.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ImageSize {
    /// The program in it, unpacked.
    pub program: usize,
    /// All that is pulled.
    pub pulled: u64,
}

/// The static program that `make test-pod` builds.
///
/// # Errors
///
/// Fails if it is not there.
pub fn program() -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/machine-program");
    let path = folder.join(format!("aerostat-linux-{}", architecture()));
    if !path.is_file() {
        bail!("there is no {}. Next step: make test-pod", path.display());
    }
    Ok(path)
}

fn architecture() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }
}

impl Release {
    /// Packs a release into a folder, and pushes it and a pause image into a registry.
    ///
    /// # Errors
    ///
    /// Fails if something has not been built, or if the registry refuses something.
    pub fn push(registry: &RealRegistry, folder: &Folder) -> Result<Self> {
        let program = std::fs::read(program()?)?;
        let size = program.len();
        folder.write(&format!("aerostat-linux-{}", architecture()), program);
        folder.write("digitalocean.wasm", std::fs::read(guests::DIGITALOCEAN)?);
        let inspect = ["module", "inspect", "--output=json", guests::DIGITALOCEAN];
        folder.write("digitalocean.module.json", aerostat(&inspect)?);
        // What no cluster reads.
        for name in [&format!("aerostat-linux-{}", architecture()), "digitalocean"] {
            folder.write(&format!("{name}.cdx.json"), "{}");
        }
        folder.write("BUILT-WITH.txt", "rustc 1.95.0\n");
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let packed = pack::pack(&CompiledRelease {
            version: VERSION.to_owned(),
            architectures: vec![architecture().to_owned()],
            commit: None,
            source: None,
            lock: workspace.join("Cargo.lock"),
            chart: Some(workspace.join("deploy/chart")),
            manifests: None,
            contract: None,
            folder: folder.path(""),
        })?;
        for file in &packed {
            file.write(&folder.path(""))?;
        }

        let pushed = push(registry, &folder.path(&format!("aerostat-bundle-{VERSION}.tar")))?;
        folder.write("pause.tar", pause()?);
        push(registry, &folder.path("pause.tar"))?;
        let place = format!("{}/aerostat", registry.address());
        let digest = |name: &str| {
            let line = pushed.lines().find_map(|it| it.strip_prefix(name)?.strip_prefix(' '));
            let digest = line.and_then(|it| it.split_whitespace().next());
            digest.map(str::to_owned).with_context(|| format!("no digest of {name} is in {pushed}"))
        };
        Ok(Self {
            chart: folder.path(&format!("aerostat-{VERSION}.tgz")),
            image: digest(&format!("{place}:{VERSION}"))?,
            module: digest(&format!("{place}/digitalocean:{VERSION}"))?,
            pause: format!("{}/pause:{VERSION}", registry.address()),
            size: ImageSize {
                program: size,
                pulled: std::fs::metadata(folder.path(&format!("aerostat-image-{VERSION}.tar")))?.len(),
            },
            place,
        })
    }
}

/// Runs aerostat. It has to succeed. Returns what it prints.
fn aerostat(arguments: &[&str]) -> Result<String> {
    let output = Command::new(binary()?).args(arguments).output()?;
    ensure!(output.status.success(), "aerostat {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// Pushes a bundle, as `make publish` does. Returns a line of name and digest for each artifact.
fn push(registry: &RealRegistry, bundle: &Path) -> Result<String> {
    let (bundle, authority) = (bundle.display().to_string(), registry.ca_file().display().to_string());
    aerostat(&["bundle", "push", &bundle, registry.address(), "--ca", &authority])
}

/// A bundle with the image of the container that every Pod begins with.
fn pause() -> Result<Vec<u8>> {
    let program = std::fs::read(machine::tools()?.join("pause"))?;
    let mut header = tar::Header::new_ustar();
    header.set_size(program.len() as u64);
    header.set_mode(0o755);
    let mut layer = tar::Builder::new(Vec::new());
    layer.append_data(&mut header, "pause", program.as_slice())?;
    let mut bytes = layer.into_inner()?;
    bytes.flush()?;
    let config = json!({
        "architecture": architecture(),
        "os": "linux",
        "config": { "Entrypoint": ["/pause"], "User": "65535:65535" },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", sha256::Digest::of(&bytes))] },
    });
    let mut layout = Layout::default();
    let manifest = NewManifest {
        artifact_type: None,
        config: layout.add_blob(CONFIG, config.to_string().into_bytes()),
        layers: vec![layout.add_blob(LAYER, bytes)],
        subject: None,
        annotations: [].into(),
    };
    let platform = Platform { architecture: architecture().to_owned(), os: "linux".to_owned() };
    let image = oci::Descriptor { platform: Some(platform), ..layout.add_manifest(&manifest) };
    let index = layout.add_index(&[image], &[].into());
    let name = LayoutName::parse(&format!("pause:{VERSION}")).map_err(anyhow::Error::msg)?;
    layout.add_name(&name, index);
    Ok(layout.tar())
}
