//! The tables of settings and annotations in a provider's README, made from its description. Not there on wasm.
//!
//! A README marks where they stand; a test fills them in again and compares the whole text, with the crate `expect-test`,
//! which prints the command that rewrites the file:
//!
//! ```
//! # use aerostat_sdk::{Description, form::Bool, key::Key, readme};
//! # fn describe() -> Description {
//! #     let key = Key::new("example.com/quiet", Bool, "Says less.").default("false");
//! #     Description::new("acme", "1.0.0").annotations([&key as &dyn aerostat_sdk::key::Row])
//! # }
//! let text = "# Acme\n<!-- annotations -->\n<!-- end -->\nEnd.\n";
//! let table = "| annotation | values | default | meaning |\n| --- | --- | --- | --- |\n\
//!              | `quiet` | true or false | false | Says less. |\n";
//! let filled = readme::filled(text, &describe(), "example.com/");
//! assert_eq!(filled, format!("# Acme\n<!-- annotations -->\n{table}<!-- end -->\nEnd.\n"));
//! // expect_test::expect_file!["../README.md"].assert_eq(&filled);
//! ```

use crate::Description;

/// The end of a table.
const END: &str = "<!-- end -->\n";

/// `text` with the table of settings between `<!-- settings -->` and `<!-- end -->`, and the one of annotations between
/// `<!-- annotations -->` and `<!-- end -->`. Keys of annotations are shown without `prefix`.
///
/// # Panics
///
/// If there are rows, and `text` has no place for them.
#[must_use]
pub fn filled(text: &str, description: &Description, prefix: &str) -> String {
    let settings = description.settings.iter().map(|setting| {
        let default = if setting.required { "required" } else { setting.default.as_deref().unwrap_or_default() };
        format!("| `{}` | {default} | {} |\n", setting.name, setting.doc)
    });
    let annotations = description.annotations.iter().map(|annotation| {
        let key = annotation.key.strip_prefix(prefix).unwrap_or(&annotation.key);
        format!(
            "| `{key}` | {} | {} | {} |\n",
            annotation.values,
            annotation.default.as_deref().unwrap_or_default(),
            annotation.doc
        )
    });
    let text = put(text, "<!-- settings -->\n", &["setting", "default", "meaning"], &settings.collect::<String>());
    put(
        &text,
        "<!-- annotations -->\n",
        &["annotation", "values", "default", "meaning"],
        &annotations.collect::<String>(),
    )
}

fn put(text: &str, start: &str, columns: &[&str], rows: &str) -> String {
    let parts = || {
        let (before, rest) = text.split_once(start)?;
        Some((before, rest.split_once(END)?.1))
    };
    let Some((before, after)) = parts() else {
        assert!(rows.is_empty(), "the README lacks the lines {start}and {END}between which the table belongs");
        return text.to_owned();
    };
    let line = vec!["---"; columns.len()].join(" | ");
    format!("{before}{start}| {} |\n| {line} |\n{rows}{END}{after}", columns.join(" | "))
}
