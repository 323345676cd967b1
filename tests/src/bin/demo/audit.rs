//! Lines of aerostat's log: what the gate decided, and warnings.

use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::{Map, Value};
use tests::aerostat::message;

use crate::cloud::short;
use crate::screen::{Colour, Screen};

/// Shows lines of the log, and counts what was refused.
#[derive(Default)]
pub(crate) struct Audit {
    /// The rules that were shown: each is shown once.
    rules: BTreeSet<String>,
    /// What was refused: the code, and the request.
    pub(crate) refused: Vec<(String, String)>,
}

impl Audit {
    /// Shows a line: decisions of the gate, and what is worth a warning.
    pub(crate) fn show(&mut self, screen: &Screen, entry: &Map<String, Value>) -> Result<()> {
        if text(entry, "target") != "audit" {
            if matches!(text(entry, "level"), "WARN" | "ERROR") {
                screen.happened(Colour::Yellow, "aerostat", message(entry))?;
            }
            return Ok(());
        }
        let request = format!("{} {}", text(entry, "method"), short(text(entry, "path")));
        if text(entry, "decision") != "allow" {
            self.refused.push((text(entry, "code").to_owned(), request.clone()));
            screen.happened(Colour::Red, "refused", &format!("{request} on {:?}", text(entry, "endpoint")))?;
            return screen.more(Colour::Red, text(entry, "error"));
        }
        let number = |key: &str| entry.get(key).and_then(Value::as_u64);
        let answer = match number("status") {
            Some(status) => format!("{status} in {} ms", number("duration_ms").unwrap_or_default()),
            None => text(entry, "error").to_owned(),
        };
        let joined = entry.get("joined").and_then(Value::as_bool).unwrap_or_default();
        let shared = if joined { ", with an equal one's answer" } else { "" };
        screen.happened(Colour::Green, "request", &format!("{request}: {answer}{shared}"))?;
        let rule = text(entry, "rule");
        if self.rules.insert(rule.to_owned()) {
            screen.more(Colour::Dim, &format!("let through by {rule}"))?;
        }
        Ok(())
    }
}

fn text<'a>(entry: &'a Map<String, Value>, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}
