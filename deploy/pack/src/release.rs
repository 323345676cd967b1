//! The files of a release, from those that were compiled.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use oci::{Descriptor, Layout, LayoutName};
use sha256::Digest;

use crate::chart::Chart;
use crate::compiled::CompiledRelease;
use crate::contract::ContractPackage;
use crate::manifest::pinned;
use crate::module::ModuleDescription;
use crate::{image, provenance};

const SBOM: &str = "application/vnd.cyclonedx+json";
const STATEMENT: &str = "application/vnd.in-toto+json";
/// The name of the image among the digests of a release; the others are those of modules.
const IMAGE: &str = "image";
/// The name that a container runtime gives an image which it loads from a file.
const LOADED: &str = "io.containerd.image.name";

/// A file that was packed.
#[derive(Debug, Eq, PartialEq)]
pub struct PackedFile {
    /// Its path in the release.
    pub path: String,
    /// All of it.
    pub bytes: Vec<u8>,
}

impl PackedFile {
    /// Writes it below this folder.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(&self.path);
        let parent = path.parent().context("a file is in a folder")?;
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, &self.bytes))
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

/// A manifest with a name, and its SBOM.
struct Named {
    name: LayoutName,
    descriptor: Descriptor,
    /// The manifest that an SBOM is of, the file's name, and the SBOM.
    sboms: Vec<(Descriptor, String, Vec<u8>)>,
}

/// Packs image, chart, manifests, the contract, provenance, and one file with all artifacts.
///
/// # Errors
///
/// If a file is missing, or is not what its name says.
pub fn pack(release: &CompiledRelease) -> Result<Vec<PackedFile>> {
    let CompiledRelease { version, .. } = release;
    let (mut layout, mut subjects) = (Layout::default(), BTreeMap::new());
    let mut files = Vec::new();

    let image = add_image(&mut layout, release, &mut subjects)?;
    files.extend(loadable(&layout, &image.descriptor, version)?);
    let mut digests = BTreeMap::from([(IMAGE.to_owned(), image.descriptor.digest.clone())]);
    let mut named = vec![image];
    for name in modules(&release.folder)? {
        let module = add_module(&mut layout, release, &name, &mut subjects)?;
        digests.insert(name, module.descriptor.digest.clone());
        named.push(module);
    }
    for manifest in manifests(release, &digests)? {
        subjects.insert(manifest.path.clone(), Digest::of(&manifest.bytes));
        files.push(manifest);
    }
    if let Some(folder) = &release.chart {
        let chart = Chart::read(folder, version, &digests)?;
        let path = format!("{}-{version}.tgz", chart.name);
        subjects.insert(path.clone(), Digest::of(&chart.tgz));
        files.push(PackedFile { path, bytes: chart.tgz.clone() });
        let descriptor = chart.add(&mut layout, release.annotations(&chart.name));
        named.push(Named {
            name: release.name(&format!("aerostat/charts/{}", chart.name))?,
            descriptor,
            sboms: Vec::new(),
        });
    }
    if let Some(folder) = &release.contract {
        let package = ContractPackage::read(folder)?;
        let name = package.name.clone();
        named.push(Named { name, descriptor: package.add(&mut layout), sboms: Vec::new() });
    }
    for Named { name, descriptor, .. } in &named {
        let digest = Digest::parse(&descriptor.digest)?;
        subjects.insert(name.to_string(), digest);
    }

    let tools = release.read("BUILT-WITH.txt")?;
    let lock = std::fs::read(&release.lock).with_context(|| format!("cannot read {}", release.lock.display()))?;
    let statement = provenance::statement(release, &subjects, &lock, &String::from_utf8_lossy(&tools))?;
    for Named { name, descriptor, sboms } in named {
        for (subject, title, sbom) in sboms {
            layout.add_referrer(&subject, SBOM, &title, sbom);
        }
        layout.add_referrer(&descriptor, STATEMENT, "provenance.json", statement.clone());
        layout.add_name(&name, descriptor);
    }
    files.push(PackedFile { path: "provenance.json".to_owned(), bytes: statement });
    // Bytes that the reader refuses are no bundle.
    layout.artifacts().map_err(|because| anyhow::anyhow!("the bundle {because}"))?;
    files.push(PackedFile { path: format!("aerostat-bundle-{version}.tar"), bytes: layout.tar() });
    Ok(files)
}

/// The image for all architectures.
fn add_image(layout: &mut Layout, release: &CompiledRelease, subjects: &mut BTreeMap<String, Digest>) -> Result<Named> {
    let annotations = release.annotations("aerostat");
    let (mut images, mut sboms) = (Vec::new(), Vec::new());
    for architecture in &release.architectures {
        let program = format!("aerostat-linux-{architecture}");
        let bytes = release.read(&program)?;
        subjects.insert(program.clone(), Digest::of(&bytes));
        let image = image::add(layout, architecture, bytes, &annotations)?;
        let sbom = format!("{program}.cdx.json");
        sboms.push((image.clone(), sbom.clone(), release.read(&sbom)?));
        images.push(image);
    }
    let descriptor = layout.add_index(&images, &annotations);
    Ok(Named { name: release.name("aerostat")?, descriptor, sboms })
}

/// The image alone, as a folder and as a file: for container runtimes, which load it under a name.
fn loadable(layout: &Layout, image: &Descriptor, version: &str) -> Result<Vec<PackedFile>> {
    let mut image = image.clone();
    image.annotations.insert(LOADED.to_owned(), format!("localhost/aerostat:{version}"));
    let mut alone = layout.clone();
    alone.add_entry(version, image);
    let folder = format!("aerostat-image-{version}");
    let tar = PackedFile { path: format!("{folder}.tar"), bytes: alone.tar() };
    let files = alone.files().into_iter();
    let files = files.map(|(path, bytes)| PackedFile { path: format!("{folder}/{path}"), bytes: bytes.to_vec() });
    Ok(files.chain([tar]).collect())
}

fn add_module(
    layout: &mut Layout,
    release: &CompiledRelease,
    name: &str,
    subjects: &mut BTreeMap<String, Digest>,
) -> Result<Named> {
    let file = format!("{name}.wasm");
    let module = release.read(&file)?;
    subjects.insert(file, Digest::of(&module));
    let description = release.read(&format!("{name}.module.json"))?;
    let description: ModuleDescription =
        serde_json::from_slice(&description).with_context(|| format!("{name}.module.json cannot be read"))?;
    description.check(name, &module)?;
    let mut annotations = release.annotations(name);
    annotations.extend(description.annotations());
    let descriptor = layout.add_module(module, &description.interfaces(), annotations);
    let sbom = format!("{name}.cdx.json");
    let sboms = vec![(descriptor.clone(), sbom.clone(), release.read(&sbom)?)];
    Ok(Named { name: release.name(&format!("aerostat/{name}"))?, descriptor, sboms })
}

/// The one file that installs aerostat, for each module, with the digests of image and module.
fn manifests(release: &CompiledRelease, digests: &BTreeMap<String, String>) -> Result<Vec<PackedFile>> {
    let Some(folder) = &release.manifests else { return Ok(Vec::new()) };
    let modules = digests.iter().filter(|(name, _)| *name != IMAGE);
    let packed = modules.map(|(name, digest)| {
        let path = format!("install-{name}.yaml");
        let text = std::fs::read_to_string(folder.join(&path)).with_context(|| format!("cannot read {path}"))?;
        let text = pinned(&text, &release.version, &digests[IMAGE], digest).with_context(|| path.clone())?;
        Ok(PackedFile { path, bytes: text.into_bytes() })
    });
    packed.collect()
}

/// The names of all modules, sorted.
fn modules(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot look into {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".wasm").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}
