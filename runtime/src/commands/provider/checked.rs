//! The result of a check, for people and for programs. Pure.

use std::fmt;

use serde::Serialize;

use crate::commands::answer::size;

/// The largest module, in bytes, as `provider.module` has it.
const LARGEST: usize = 4 << 20;

/// The result of a check.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CheckedModule {
    pub(super) file: String,
    pub(super) sha256: String,
    /// In bytes.
    pub(super) size: usize,
    /// Our interfaces alone, and how many others.
    pub(super) exports: Vec<String>,
    pub(super) imports: Vec<String>,
    pub(super) inert_imports: usize,
    /// The version of the contract.
    pub(super) contract: Option<String>,
    pub(super) compile_milliseconds: Option<u128>,
    /// None of a module that does not start.
    pub(super) provider: Option<CheckedProvider>,
    /// Sentences about what is wrong with the module, whatever the config says.
    pub(super) wrong: Vec<String>,
    /// Sentences about what the config lacks; none without a config.
    pub(super) missing: Option<Vec<String>>,
    /// Sentences about what the config allows beyond what the module asks for; none without a config.
    pub(super) wider: Option<Vec<String>>,
    /// Keys that the config lacks, to paste; none if it lacks nothing that can be pasted.
    pub(super) yaml: Option<String>,
}

/// The description, in numbers.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CheckedProvider {
    pub(super) name: String,
    pub(super) version: String,
    #[serde(rename = "providerIDPrefixes")]
    pub(super) provider_id_prefixes: Vec<String>,
    pub(super) endpoints: usize,
    pub(super) rules: usize,
    pub(super) settings: usize,
    pub(super) annotations: usize,
}

impl CheckedModule {
    /// Whether nothing is wrong, and nothing is missing.
    pub(super) fn is_good(&self) -> bool {
        self.wrong.is_empty() && self.missing.as_ref().is_none_or(Vec::is_empty)
    }
}

impl fmt::Display for CheckedModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |about: &str, text: &str| writeln!(f, "{about:<11} {text}");
        line(
            "module",
            &format!("{}: sha256:{}, {} of {} at most", self.file, self.sha256, size(self.size), size(LARGEST)),
        )?;
        if let Some(contract) = &self.contract {
            line("contract", contract)?;
        }
        if !self.exports.is_empty() {
            line("exports", &self.exports.join(", "))?;
        }
        if !self.imports.is_empty() || self.inert_imports > 0 {
            let inert = match self.inert_imports {
                0 => String::new(),
                number => format!("; and {number} of WASI, which reach nothing here"),
            };
            line("imports", &format!("{}{inert}", self.imports.join(", ")))?;
        }
        if let Some(milliseconds) = self.compile_milliseconds {
            line("compiled", &format!("in {milliseconds} ms, within the limits of the compiler"))?;
        }
        if let Some(provider) = &self.provider {
            let CheckedProvider { name, version, provider_id_prefixes, endpoints, rules, settings, annotations } =
                provider;
            let prefixes: Vec<_> =
                provider_id_prefixes.iter().map(|it| if it.is_empty() { "without ://" } else { it }).collect();
            let ids = if prefixes.is_empty() { String::new() } else { format!("; ids {}", prefixes.join(", ")) };
            line("provider", &format!("{name} {version}{ids}"))?;
            line(
                "describes",
                &format!("endpoints: {endpoints}, rules: {rules}, settings: {settings}, annotations: {annotations}"),
            )?;
        }
        self.wrong.iter().try_for_each(|it| line("wrong", it))?;
        self.wider.iter().flatten().try_for_each(|it| line("wider", it))?;
        match self.missing.as_deref() {
            None => {}
            Some([]) => line("missing", "nothing")?,
            Some(missing) => missing.iter().try_for_each(|it| line("missing", it))?,
        }
        match &self.yaml {
            None => Ok(()),
            Some(yaml) => write!(f, "\n# Add this to the config:\n{yaml}"),
        }
    }
}
