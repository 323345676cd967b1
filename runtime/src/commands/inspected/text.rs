//! A module's description, as lines.

use std::fmt;

use super::{
    AnnotationLine, EndpointLine, IngressLine, Inspected, InspectedSignature, ModuleLine, PermissionLine, ProviderLine,
    SettingLine,
};
use crate::commands::answer::size;

/// A line: what it is about, and what is to be said about it.
fn line(f: &mut fmt::Formatter<'_>, about: &str, text: &str) -> fmt::Result {
    writeln!(f, "{about:<11} {text}")
}

impl fmt::Display for Inspected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(digest) = &self.manifest {
            line(f, "manifest", &format!("{digest}   write this as provider.module.oci.digest"))?;
        }
        let ModuleLine { sha256, size: bytes, media_type, interfaces: _ } = &self.module;
        let media_type = media_type.map_or_else(String::new, |it| format!(", {it}"));
        line(f, "module", &format!("sha256:{sha256}, {}{media_type}", size(*bytes)))?;
        line(f, "provider", &self.provider.to_string())?;
        for endpoint in &self.endpoints {
            write!(f, "{endpoint}")?;
        }
        for setting in &self.settings {
            line(f, "setting", &setting.to_string())?;
        }
        let AnnotationLine { reads, writes } = &self.annotations;
        for (what, keys) in [("reads", reads), ("writes", writes)] {
            if !keys.is_empty() {
                line(f, "annotations", &format!("{what} {}", keys.join(", ")))?;
            }
        }
        let IngressLine { vip, shared_addresses } = self.ingress;
        for (is_so, what) in [(vip, "answers ipMode VIP"), (shared_addresses, "shares addresses among Services")] {
            if is_so {
                line(f, "ingress", what)?;
            }
        }
        if !self.node_labels.is_empty() {
            line(f, "node labels", &format!("reads {}", self.node_labels.join(", ")))?;
        }
        match self.signatures.as_deref() {
            None => {}
            Some([]) => line(f, "signatures", "none")?,
            Some(found) => found.iter().try_for_each(|it| line(f, "signature", &it.to_string()))?,
        }
        for hint in self.wider.iter().flatten() {
            line(f, "wider", hint)?;
        }
        match self.missing.as_deref() {
            None => Ok(()),
            Some([]) => line(f, "missing", "nothing"),
            Some(missing) => missing.iter().try_for_each(|it| line(f, "missing", it)),
        }
    }
}

impl fmt::Display for ProviderLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, version, contract, capabilities, provider_id_prefixes } = self;
        let capabilities = if capabilities.is_empty() { "nothing".to_owned() } else { capabilities.join(", ") };
        let prefix = |it: &String| if it.is_empty() { "without ://".to_owned() } else { it.clone() };
        let prefixes: Vec<_> = provider_id_prefixes.iter().map(prefix).collect();
        write!(f, "{name} {version}, contract {contract}: {capabilities}")?;
        if prefixes.is_empty() { Ok(()) } else { write!(f, "; ids {}", prefixes.join(", ")) }
    }
}

impl fmt::Display for EndpointLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, purpose, example_base_url, headers, operation, parameters, allow } = self;
        line(f, "endpoint", &format!("{name} ({example_base_url}): {purpose}"))?;
        let also = |what: &str, words: &[String]| match words {
            [] => None,
            words => Some(format!("{what} {}", words.join(", "))),
        };
        let operation = operation.as_ref().map(|it| format!("operation in the {it}"));
        for text in operation.into_iter().chain(also("parameters", parameters)).chain(also("headers", headers)) {
            line(f, "", &format!("  {text}"))?;
        }
        allow.iter().try_for_each(|it| line(f, "", &format!("  {it}")))
    }
}

impl fmt::Display for PermissionLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { methods, paths, operations, effect, carried, actions: _, only: _, values: _, fields: _, body: _ } =
            self;
        write!(f, "{} {}", methods.join(", "), paths.join(", "))?;
        match (operations.is_empty(), effect) {
            (false, _) => write!(f, ": {} ({effect})", operations.join(", "))?,
            // Their methods do not say it.
            (true, &"update" | &"detach") => write!(f, " ({effect})")?,
            (true, _) => {}
        }
        f.write_str(carried)
    }
}

impl fmt::Display for SettingLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, required, default, doc } = self;
        let default = default.as_ref().map_or_else(String::new, |it| format!(" (default {it})"));
        write!(f, "{name}{}{default}: {doc}", if *required { " (required)" } else { "" })
    }
}

impl fmt::Display for InspectedSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = match (&self.key, &self.name) {
            (Some(key), _) if key.is_empty() => "bundle".to_owned(),
            (Some(key), _) => format!("bundle, says key {key}"),
            (None, Some(name)) => format!("under a tag, says {name}"),
            (None, None) => "unreadable".to_owned(),
        };
        match (&self.verified_by, &self.because) {
            (Some(signer), _) => write!(f, "{said}; verified: by {signer}"),
            (None, Some(because)) => write!(f, "{said}; does not count: {because}"),
            (None, None) => write!(f, "{said}; not verified: give --key"),
        }
    }
}
