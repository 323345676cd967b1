//! The file's JSON Schema for editors, and the tables of its page: both are made from the types.

use std::any::type_name;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

use expect_test::expect_file;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::file::CloudConfigFile;
use super::text::{AddressList, Constant, Only, ScalarText, WrittenOrigin};

impl<T> JsonSchema for ScalarText<T> {
    fn schema_name() -> Cow<'static, str> {
        last_segment(type_name::<T>()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // A scalar, however it is written: `8` and `"8"` are the same.
        json_schema!({ "type": ["string", "number"] })
    }
}

impl<C: Constant> JsonSchema for Only<C> {
    fn schema_name() -> Cow<'static, str> {
        C::VALUE.into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": C::VALUE })
    }
}

impl JsonSchema for AddressList {
    fn schema_name() -> Cow<'static, str> {
        "AddressList".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "const": "public" }, { "type": "array", "items": { "type": "string" }, "minItems": 1 }] })
    }
}

impl JsonSchema for WrittenOrigin {
    fn schema_name() -> Cow<'static, str> {
        "WrittenOrigin".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let marked = json_schema!({
            "type": "object",
            "required": ["url"],
            "additionalProperties": false,
            "properties": { "url": { "type": "string" }, "insecure": { "type": "boolean" } },
        });
        json_schema!({ "anyOf": [{ "type": "string" }, marked] })
    }
}

/// Names with values that are read as text, however they are written.
pub(super) fn scalars(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": { "type": ["string", "number", "boolean"] } })
}

fn last_segment(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// The schema, without definitions beside it: a reader of it sees each key in its place.
fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|it| it.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<CloudConfigFile>();
    schema.insert("title".to_owned(), "CloudConfig".into());
    schema.remove("description");
    schema.to_value()
}

/// One table for each object that the file has, from the outermost inwards. A line of a doc comment that ends in `Default: …` is
/// two columns.
fn tables(schema: &Value, path: &str, text: &mut String) {
    let Some(keys) = schema["properties"].as_object() else { return };
    let prefix = if path.is_empty() { String::new() } else { format!("{path}.") };
    if !path.is_empty() {
        writeln!(text, "\n### `{path}`").unwrap();
    }
    let required: Vec<_> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    text.push_str("\n| key | meaning | default |\n| --- | --- | --- |\n");
    for (key, value) in keys {
        let description = value["description"].as_str().unwrap_or_else(|| panic!("{prefix}{key} has no doc comment"));
        let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
        let (meaning, default) = description.split_once(" Default: ").unwrap_or((&description, ""));
        let default = match (default, required.contains(&key.as_str())) {
            ("", true) => "required",
            (default, _) => default,
        };
        let row = |it: &str| it.trim_end_matches('.').replace('|', "\\|");
        writeln!(text, "| `{key}` | {} | {} |", row(meaning), row(default)).unwrap();
    }
    for (key, value) in keys {
        let (object, mark) = match value.get("items") {
            Some(items) => (items, "[]"),
            None => (value, ""),
        };
        let object = object["anyOf"].as_array().and_then(|it| it.first()).unwrap_or(object);
        tables(object, &format!("{prefix}{key}{mark}"), text);
    }
}

#[test]
fn the_json_schema_is_made_from_the_types() {
    let text = format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap());
    expect_file!["../../../docs/cloud-config.schema.json"].assert_eq(&text);
}

#[test]
fn the_pages_tables_are_made_from_the_types() {
    const BEGIN: &str = "<!-- made from the types: UPDATE_EXPECT=1 cargo test -p aerostat --lib schema -->\n";
    const END: &str = "\n<!-- end -->";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has a place for the tables");
    let (_, after) = rest.split_once(END).expect("the place ends");
    let mut text = String::new();
    tables(&schema(), "", &mut text);
    expect_file!["../../../docs/configuration.md"]
        .assert_eq(&format!("{before}{BEGIN}{}{END}{after}", text.trim_end()));
}

#[test]
fn the_json_schema_takes_each_shipped_config() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for text in super::shipped::all_texts() {
        let value: Value = serde_saphyr::from_str(&text).unwrap();
        let errors: Vec<_> = validator.iter_errors(&value).map(|it| format!("{}: {it}", it.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:#?}\n{text}");
    }
    let unknown = serde_json::json!({ "apiVersion": "aerostat.dev/v1alpha1", "kind": "CloudConfig", "provder": {} });
    assert!(!validator.is_valid(&unknown));
}
