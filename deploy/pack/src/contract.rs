//! The contract as a package of WIT, in the form of wasm-pkg-tools: a component that holds nothing but types, as `wkg` gets it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use oci::{Descriptor, Layout, LayoutName, PushedInterfaces};
use wit_parser::{PackageId, Resolve};

/// A package of WIT, encoded.
pub(crate) struct ContractPackage {
    /// Where `wkg` looks for it below a registry: the package's own words, `aerostat/cloud:0.1.0`.
    pub(crate) name: LayoutName,
    /// The component.
    bytes: Vec<u8>,
    interfaces: PushedInterfaces,
    annotations: BTreeMap<String, String>,
}

impl ContractPackage {
    /// Reads the folder of a package that has a version.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let mut resolve = Resolve::default();
        let shown = folder.display();
        let (package, _) = resolve.push_dir(folder).with_context(|| format!("{shown} is no package of WIT"))?;
        let name = &resolve.packages[package].name;
        let version = name.version.as_ref().with_context(|| format!("the package in {shown} has no version"))?;
        let tagged = format!("{}/{}:{version}", name.namespace, name.name);
        // Not those of the release: the same contract in two releases has one digest.
        let annotations = [
            ("title", format!("{}:{}", name.namespace, name.name)),
            ("version", version.to_string()),
            ("licenses", env!("CARGO_PKG_LICENSE").to_owned()),
        ];
        Ok(Self {
            name: LayoutName::parse(&tagged).map_err(anyhow::Error::msg)?,
            bytes: wit_component::encode(&resolve, package).with_context(|| format!("{shown} cannot be encoded"))?,
            interfaces: PushedInterfaces { exports: exports(&resolve, package), imports: Vec::new() },
            annotations: annotations
                .into_iter()
                .map(|(key, value)| (format!("org.opencontainers.image.{key}"), value))
                .collect(),
        })
    }

    /// Adds the package.
    pub(crate) fn add(self, layout: &mut Layout) -> Descriptor {
        layout.add_module(self.bytes, &self.interfaces, self.annotations)
    }
}

/// The names of all interfaces and worlds, and what these worlds export, sorted: what `wkg` writes of a package.
fn exports(resolve: &Resolve, package: PackageId) -> Vec<String> {
    let package = &resolve.packages[package];
    let mut names: BTreeSet<_> = package.interfaces.values().filter_map(|it| resolve.id_of(*it)).collect();
    for world in package.worlds.values().map(|it| &resolve.worlds[*it]) {
        names.insert(package.name.interface_id(&world.name));
        names.extend(world.exports.keys().map(|it| resolve.name_world_key(it)));
    }
    names.into_iter().collect()
}
