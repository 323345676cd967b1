//! Go's side of the contract: a package for each interface.
//!
//! An interface becomes types (for any machine, so that a provider's tests run natively) and functions (for WebAssembly). In memory everything lies as the component model's canonical ABI says: sizes and offsets are in the text that is
//! written, computed by the same library that makes the component.

mod directions;
mod functions;
mod memory;
mod names;
mod types;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use wit_parser::{InterfaceId, Resolve, SizeAlign, Type, TypeDefKind, TypeId, TypeOwner, WorldItem};

use self::directions::Directions;
use crate::contract;

/// The module that the packages belong to.
const MODULE: &str = "aerostat.dev/sdk";
/// The package of words that all others share, and the one that moves them in and out of memory.
const SHARED: &str = "types";
const SHARED_MEMORY: &str = "internal/memory";

/// Every file with its path in the module's folder, formatted by `gofmt`.
///
/// # Errors
///
/// If the contract has something for which Go has no word here yet, or Go is not on the PATH.
pub fn files() -> Result<BTreeMap<PathBuf, String>> {
    let (resolve, package) = contract::resolve()?;
    let mut sizes = SizeAlign::default();
    sizes.fill(&resolve);
    let mut written = Bindings { resolve: &resolve, sizes, directions: Directions::default() };
    let interfaces: Vec<InterfaceId> = resolve.packages[package].interfaces.values().copied().collect();
    for id in &interfaces {
        written.follow(*id)?;
    }
    let mut files = BTreeMap::new();
    for id in interfaces {
        let name = written.package(id);
        let path = |ending: &str| PathBuf::from(&name).join(format!("{name}{ending}.go"));
        let mut add = |path: PathBuf, text: Option<String>| -> Result<()> {
            if let Some(text) = text {
                files.insert(path, format(&text)?);
            }
            Ok(())
        };
        add(path(""), Some(written.types(id)?))?;
        if name == SHARED {
            add(PathBuf::from(SHARED_MEMORY).join("types_wasm.go"), Some(written.shared_memory(id)?))?;
        } else {
            add(path("_wasm"), written.wasm(id)?)?;
            add(path("_native"), written.native(id)?)?;
        }
    }
    Ok(files)
}

struct Bindings<'a> {
    resolve: &'a Resolve,
    sizes: SizeAlign,
    directions: Directions,
}

impl Bindings<'_> {
    /// The name of an interface's package: "load-balancers" is `loadbalancers`.
    fn package(&self, id: InterfaceId) -> String {
        self.resolve.interfaces[id].name.as_deref().unwrap_or_default().replace('-', "")
    }

    /// Whether providers export it. The others they import.
    fn is_exported(&self, id: InterfaceId) -> bool {
        let worlds = self.resolve.worlds.iter();
        worlds
            .flat_map(|(_, it)| it.exports.values())
            .any(|it| matches!(it, WorldItem::Interface { id: it, .. } if *it == id))
    }

    /// The definition behind a name, through `use`.
    fn origin(&self, mut id: TypeId) -> TypeId {
        while let TypeDefKind::Type(Type::Id(next)) = &self.resolve.types[id].kind {
            id = *next;
        }
        id
    }

    /// The interface in which a type is defined.
    fn home(&self, id: TypeId) -> Result<InterfaceId> {
        match self.resolve.types[id].owner {
            TypeOwner::Interface(home) => Ok(home),
            TypeOwner::World(_) | TypeOwner::None => bail!("a type stands in no interface"),
        }
    }

    /// The packages of other interfaces that the code of `id` uses, each in quotation marks.
    fn packages(&self, text: &str, id: InterfaceId) -> Vec<String> {
        let all = self.resolve.interfaces.iter().filter(|(it, _)| *it != id).map(|(it, _)| self.package(it));
        let mut used: Vec<_> = all.filter(|it| uses(text, &format!("{it}."))).collect();
        used.sort();
        used.iter().map(|it| format!("\"{MODULE}/{it}\"")).collect()
    }

    fn size(&self, ty: &Type) -> usize {
        self.sizes.size(ty).size_wasm32()
    }
}

/// The comment about something: WIT's own words.
fn comment(text: Option<&str>, indent: &str) -> String {
    text.unwrap_or_default().lines().map(|it| format!("{indent}// {it}\n")).collect()
}

/// Whether the code, and not its comments, has such words.
fn uses(text: &str, words: &str) -> bool {
    text.lines().any(|it| !it.trim_start().starts_with("//") && it.contains(words))
}

/// The text as `gofmt` writes it.
fn format(text: &str) -> Result<String> {
    let mut gofmt = Command::new("gofmt")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start gofmt: install Go 1.26 or newer, https://go.dev/dl")?;
    gofmt.stdin.take().context("gofmt has a standard input")?.write_all(text.as_bytes())?;
    let output = gofmt.wait_with_output()?;
    if !output.status.success() {
        bail!("gofmt cannot read this:\n{text}");
    }
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_sdk_for_go_has_the_contract_as_it_is() {
        let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../go");
        for (path, text) in files().unwrap() {
            let kept = std::fs::read_to_string(sdk.join(&path)).unwrap_or_default();
            assert!(kept == text, "{} is not up to date: make go-bindings", path.display());
        }
    }
}
