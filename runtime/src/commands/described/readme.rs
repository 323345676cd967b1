//! Tables for a README, in Markdown.

use std::fmt::Write as _;

use cloud_provider::Description;
use serde_json::{Value, json};

/// The tables of all that an operator or an author of Services writes.
pub(super) fn tables(description: &Description) -> String {
    let mut text = format!("<!-- {} {} -->\n", description.name, description.version);
    let settings = description.settings.iter().map(|setting| {
        let default = if setting.required { "required" } else { setting.default.as_deref().unwrap_or_default() };
        vec![code(&setting.name), cell(default), cell(&setting.doc)]
    });
    table(&mut text, "Settings", &["setting", "default", "meaning"], settings);
    let annotations = description.annotations.iter().map(|row| {
        vec![code(&row.key), cell(&row.values), cell(row.default.as_deref().unwrap_or_default()), cell(&row.doc)]
    });
    table(&mut text, "Annotations", &["annotation", "values", "default", "meaning"], annotations);
    let written = description.writes_annotations.iter().map(|it| vec![code(it)]);
    table(&mut text, "Annotations that it writes", &["annotation"], written);
    let labels = description.node_labels.iter().map(|label| match label.as_str() {
        "*" => vec!["any label that a Service's selector names".to_owned()],
        label => vec![code(label)],
    });
    table(&mut text, "Labels of nodes that it reads", &["label"], labels);
    let prefixes = description.provider_id_prefixes.iter().map(|prefix| match prefix.as_str() {
        "" => vec!["ids without `://`".to_owned()],
        prefix => vec![code(prefix)],
    });
    table(&mut text, "Provider ids", &["they begin with"], prefixes);
    let endpoints =
        description.endpoints.iter().map(|it| vec![code(&it.name), cell(&it.example_base_url), cell(&it.purpose)]);
    table(&mut text, "Endpoints", &["endpoint", "for example", "used for"], endpoints);
    text
}

fn table(text: &mut String, title: &str, columns: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let rows: Vec<_> = rows.map(|it| format!("| {} |\n", it.join(" | "))).collect();
    if rows.is_empty() {
        return;
    }
    let line = vec!["---"; columns.len()].join(" | ");
    let _ = write!(text, "\n## {title}\n\n| {} |\n| {line} |\n{}", columns.join(" | "), rows.concat());
}

fn code(text: &str) -> String {
    format!("`{}`", cell(text))
}

/// A text that ends no cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The same for programs.
pub(super) fn value(description: &Description) -> Value {
    let settings = description
        .settings
        .iter()
        .map(|it| json!({ "name": it.name, "required": it.required, "default": it.default, "doc": it.doc }));
    let annotations = description
        .annotations
        .iter()
        .map(|it| json!({ "key": it.key, "values": it.values, "default": it.default, "doc": it.doc }));
    let endpoints = description
        .endpoints
        .iter()
        .map(|it| json!({ "name": it.name, "exampleBaseUrl": it.example_base_url, "purpose": it.purpose }));
    json!({
        "provider": description.name,
        "version": description.version,
        "settings": settings.collect::<Vec<_>>(),
        "annotations": annotations.collect::<Vec<_>>(),
        "writesAnnotations": description.writes_annotations,
        "nodeLabels": description.node_labels,
        "providerIDPrefixes": description.provider_id_prefixes,
        "endpoints": endpoints.collect::<Vec<_>>(),
    })
}
