//! YAML of values, and values of YAML.

use serde_json::Value;

/// A value as a document.
pub(super) fn write(value: &Value) -> String {
    let mut text = serde_saphyr::to_string(value).expect("values of JSON become YAML");
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// A document that was written here, as a value; null if it cannot be read.
pub(super) fn read(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_default()
}

/// A text in one line, whatever stands in it.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Texts in a list of one line.
pub(super) fn list(texts: &[String]) -> String {
    format!("[{}]", texts.iter().map(|it| quoted(it)).collect::<Vec<_>>().join(", "))
}
