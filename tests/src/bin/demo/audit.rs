//! Lines of aerostat's log: what the egress decided, and warnings.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde_json::{Map, Value};
use tests::aerostat::message;

use crate::cloud::short;
use crate::screen::{Colour, Screen};

/// Shows lines of the log, and counts refusals.
#[derive(Default)]
pub(crate) struct Audit {
    /// The rules that were shown: each is shown once.
    rules: BTreeSet<String>,
    /// The refused requests, by code and request, and how often.
    pub(crate) refused: BTreeMap<(String, String), usize>,
    /// The provider whose rules these are, if there is another one.
    provider: Option<&'static str>,
}

impl Audit {
    /// The log of the aerostat that runs this provider beside another one.
    pub(crate) fn of(provider: &'static str) -> Self {
        Self { provider: Some(provider), ..Self::default() }
    }

    /// Shows a line: decisions of the egress, and what is worth a warning.
    pub(crate) fn show(&mut self, screen: &Screen, entry: &Map<String, Value>) -> Result<()> {
        if text(entry, "target") != "audit" {
            if matches!(text(entry, "level"), "WARN" | "ERROR") {
                screen.happened(Colour::Yellow, "aerostat", &cut(message(entry)))?;
            }
            return Ok(());
        }
        let request = match text(entry, "operation") {
            "" => format!("{} {}", text(entry, "method"), short(text(entry, "path"))),
            operation => format!("{}:{operation}", text(entry, "endpoint")),
        };
        if is_refusal(entry) {
            return self.refused(screen, entry, request);
        }
        let number = |key: &str| entry.get(key).and_then(Value::as_u64);
        let answer = match number("status") {
            Some(status) => format!("{status} in {} ms", number("duration_ms").unwrap_or_default()),
            None => text(entry, "error").to_owned(),
        };
        if entry.get("joined").and_then(Value::as_bool).unwrap_or_default() {
            return screen.happened(
                Colour::Dim,
                "request",
                &format!("{request}: not sent, an equal one was just answered"),
            );
        }
        screen.happened(Colour::Green, "request", &format!("{request}: {answer}"))?;
        let rule = text(entry, "rule");
        if self.rules.insert(rule.to_owned()) {
            let provider = self.provider.map(|it| format!("{it}: ")).unwrap_or_default();
            screen.more(Colour::Dim, &format!("let through by {provider}{rule}"))?;
        }
        Ok(())
    }

    /// Shows a refusal. One that comes again, because the node is tried again, only counts.
    fn refused(&mut self, screen: &Screen, entry: &Map<String, Value>, request: String) -> Result<()> {
        let line = format!("{request} on {:?}", text(entry, "endpoint"));
        let times = self.refused.entry((text(entry, "code").to_owned(), request)).or_default();
        *times += 1;
        if *times > 1 {
            return Ok(());
        }
        screen.happened(Colour::Red, "refused", &line)?;
        screen.more(Colour::Red, text(entry, "error"))
    }
}

/// Whether a line of the log says that the egress refused a request.
pub(crate) fn is_refusal(entry: &Map<String, Value>) -> bool {
    text(entry, "target") == "audit" && text(entry, "decision") != "allow"
}

/// A message as long as its first sentences: what a module printed when it crashed stands in the log.
fn cut(message: &str) -> String {
    match message.split_once("; the last that it printed") {
        Some((cause, _)) => format!("{cause}; …"),
        None => message.to_owned(),
    }
}

fn text<'a>(entry: &'a Map<String, Value>, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}
