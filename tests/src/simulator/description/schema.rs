//! A schema of OpenAPI 3.0 as JSON Schema 2020-12, in which a property that is not declared is an error.
//!
//! Whether a property is declared is known only where all that describes an object comes together. So a schema is closed where a value
//! is (the whole body, a property, an element of an array), and open where it is one part of a composition or the target of a reference.

use serde_json::{Map, Value, json};

/// Keywords that mean the same in both languages.
const SAME: [&str; 11] = [
    "default",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "minItems",
    "minLength",
    "minProperties",
    "multipleOf",
    "pattern",
    "uniqueItems",
];

/// Keywords that restrict no value.
const PROSE: [&str; 6] = ["deprecated", "description", "example", "externalDocs", "title", "xml"];

/// Which way a value travels, and so which of the declared properties it must not have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Direction {
    /// To the service: without what is read-only.
    Request,
    /// From the service: without what is write-only.
    Answer,
}

/// Returns a document that checks a whole value against `schema`. `components` are the description's schemas by name.
///
/// # Panics
///
/// Panics at a keyword that it does not know, because what is not converted would not be checked.
pub(super) fn document(schema: &Value, components: &Map<String, Value>, direction: Direction) -> Value {
    let conversion = Conversion { components, direction };
    let definitions: Map<String, Value> =
        components.iter().map(|(name, schema)| (name.clone(), conversion.open(schema))).collect();
    let mut document = conversion.closed(schema);
    document["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    document["$defs"] = Value::Object(definitions);
    document
}

/// The context in which every schema of a document is converted.
#[derive(Clone, Copy)]
struct Conversion<'a> {
    components: &'a Map<String, Value>,
    direction: Direction,
}

impl Conversion<'_> {
    /// The check of a value: only declared properties, if any are declared.
    fn closed(self, schema: &Value) -> Value {
        let mut converted = self.open(schema);
        let declares = ["$ref", "allOf", "anyOf", "oneOf", "properties"];
        if declares.iter().any(|keyword| converted.get(keyword).is_some()) {
            converted["unevaluatedProperties"] = json!(false);
        }
        converted
    }

    /// The check of a part of a value: further properties are for others to judge.
    fn open(self, schema: &Value) -> Value {
        let schema = schema.as_object().expect("a schema of OpenAPI 3.0 is an object");
        let mut converted = Map::new();
        let mut meant: Vec<Value> = Vec::new();
        for (keyword, value) in schema {
            match keyword.as_str() {
                "$ref" => {
                    converted.insert("$ref".to_owned(), json!(format!("#/$defs/{}", referred(value))));
                }
                "properties" => {
                    let properties = value.as_object().expect("properties are an object");
                    let properties = properties.iter().filter(|(_, schema)| !self.hides(schema));
                    let properties = properties.map(|(name, schema)| (name.clone(), self.closed(schema)));
                    converted.insert(keyword.clone(), Value::Object(properties.collect()));
                }
                "items" => {
                    converted.insert(keyword.clone(), self.closed(value));
                }
                "additionalProperties" => {
                    let value = if value.is_boolean() { value.clone() } else { self.closed(value) };
                    converted.insert(keyword.clone(), value);
                }
                "allOf" | "anyOf" | "oneOf" => {
                    let parts = value.as_array().expect("a composition is an array");
                    converted.insert(keyword.clone(), parts.iter().map(|it| self.open(it)).collect());
                }
                "not" => {
                    converted.insert(keyword.clone(), self.open(value));
                }
                // What is required of the other direction only is not required of this one.
                "required" => {
                    let mut names = value.as_array().expect("required names are an array").clone();
                    names.retain(|name| {
                        let property = name.as_str().and_then(|name| schema.get("properties")?.get(name));
                        !property.is_some_and(|it| self.hides(it))
                    });
                    converted.insert(keyword.clone(), Value::Array(names));
                }
                "type" => {
                    let value = if is(schema, "nullable") { json!([value, "null"]) } else { value.clone() };
                    converted.insert(keyword.clone(), value);
                }
                "enum" => {
                    let mut values = value.as_array().expect("an enumeration is an array").clone();
                    if is(schema, "nullable") && !values.contains(&Value::Null) {
                        values.push(Value::Null);
                    }
                    converted.insert(keyword.clone(), Value::Array(values));
                }
                "minimum" => {
                    let keyword = if is(schema, "exclusiveMinimum") { "exclusiveMinimum" } else { "minimum" };
                    converted.insert(keyword.to_owned(), value.clone());
                }
                "maximum" => {
                    let keyword = if is(schema, "exclusiveMaximum") { "exclusiveMaximum" } else { "maximum" };
                    converted.insert(keyword.to_owned(), value.clone());
                }
                // The property names the alternative that is meant: the others do not count.
                "discriminator" => {
                    let name = value["propertyName"].as_str().expect("a discriminator names a property");
                    let mapping = value["mapping"].as_object().expect("a discriminator has a mapping");
                    meant.extend(mapping.iter().map(|(word, schema)| {
                        let condition = json!({ "required": [name], "properties": { name: { "const": word } } });
                        json!({ "if": condition, "then": { "$ref": format!("#/$defs/{}", referred(schema)) } })
                    }));
                }
                // Each of them changes what the keyword beside it means, and was seen to there.
                "nullable" | "exclusiveMinimum" | "exclusiveMaximum" | "readOnly" | "writeOnly" => {}
                same if SAME.contains(&same) => {
                    converted.insert(keyword.clone(), value.clone());
                }
                prose if PROSE.contains(&prose) || prose.starts_with("x-") => {}
                unknown => panic!("the keyword {unknown} of OpenAPI is not converted to JSON Schema"),
            }
        }
        if !meant.is_empty() {
            let all = converted.entry("allOf").or_insert_with(|| json!([]));
            all.as_array_mut().expect("a composition is an array").extend(meant);
        }
        let converted = Value::Object(converted);
        // Beside a type, the type says it.
        if is(schema, "nullable") && !schema.contains_key("type") && !schema.contains_key("enum") {
            return json!({ "anyOf": [converted, { "type": "null" }] });
        }
        converted
    }

    /// Whether a property with this schema must not be there: for this direction it counts as undeclared.
    fn hides(self, schema: &Value) -> bool {
        let keyword = match self.direction {
            Direction::Request => "readOnly",
            Direction::Answer => "writeOnly",
        };
        match schema.get("$ref") {
            Some(reference) => self.hides(&self.components[referred(reference)]),
            None => schema[keyword] == json!(true),
        }
    }
}

/// The name of the schema that a reference refers to.
fn referred(reference: &Value) -> &str {
    let reference = reference.as_str().expect("a reference is a string");
    reference.strip_prefix("#/components/schemas/").expect("schemas refer to schemas of the same description")
}

fn is(schema: &Map<String, Value>, keyword: &str) -> bool {
    schema.get(keyword) == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which of the values the converted schema admits, as a request and as an answer.
    #[track_caller]
    fn check(schema: Value, admitted: &[Value], refused: &[Value]) {
        check_one_way(Direction::Request, &schema, admitted, refused);
        check_one_way(Direction::Answer, &schema, admitted, refused);
    }

    #[track_caller]
    fn check_one_way(direction: Direction, schema: &Value, admitted: &[Value], refused: &[Value]) {
        let components = json!({
            "named": { "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] },
            "sized": { "type": "object", "properties": { "size": { "type": "integer" } } },
            "given": { "type": "string", "readOnly": true },
        });
        let document = document(schema, components.as_object().unwrap(), direction);
        let validator = jsonschema::validator_for(&document).unwrap();
        for value in admitted {
            assert!(validator.is_valid(value), "{direction:?}: {document} refuses {value}");
        }
        for value in refused {
            assert!(!validator.is_valid(value), "{direction:?}: {document} admits {value}");
        }
    }

    #[test]
    fn an_undeclared_property_is_refused_at_every_depth() {
        check(
            json!({ "type": "object", "properties": { "all": { "type": "array", "items": { "$ref": "#/components/schemas/named" } } } }),
            &[json!({ "all": [{ "name": "a" }] })],
            &[json!({ "all": [{ "name": "a", "colour": "red" }] }), json!({ "every": [] })],
        );
    }

    #[test]
    fn the_parts_of_a_composition_declare_together() {
        let parts = json!([{ "$ref": "#/components/schemas/named" }, { "$ref": "#/components/schemas/sized" }]);
        for composition in ["allOf", "anyOf"] {
            check(
                json!({ composition: parts }),
                &[json!({ "name": "a", "size": 1 }), json!({ "name": "a" })],
                &[json!({ "name": "a", "size": 1, "colour": "red" })],
            );
        }
        check(
            json!({ "oneOf": [{ "$ref": "#/components/schemas/named" }, { "type": "string" }] }),
            &[json!({ "name": "a" }), json!("a")],
            &[json!({ "name": "a", "size": 1 })],
        );
    }

    #[test]
    fn an_object_of_which_nothing_is_declared_may_hold_anything() {
        let free = [json!({}), json!({ "colour": "red" })];
        check(json!({ "type": "object" }), &free, &[]);
        check(
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
            &free,
            &[json!({ "size": 1 })],
        );
    }

    #[test]
    fn read_only_is_for_answers_and_write_only_for_requests() {
        let schema = json!({
            "properties": {
                "id": { "type": "string", "readOnly": true },
                "urn": { "$ref": "#/components/schemas/given" },
                "secret": { "type": "string", "writeOnly": true },
                "name": { "type": "string" },
            },
            "required": ["id", "secret", "name"],
        });
        let given = json!({ "id": "a", "urn": "b", "name": "c" });
        let sent = json!({ "secret": "a", "name": "c" });
        let both = json!({ "id": "a", "secret": "a", "name": "c" });
        check_one_way(Direction::Answer, &schema, std::slice::from_ref(&given), &[sent.clone(), both.clone()]);
        check_one_way(Direction::Request, &schema, &[sent], &[given, both]);
    }

    #[test]
    fn nullable_adds_null_to_the_type_and_to_the_values() {
        check(json!({ "type": "string" }), &[json!("a")], &[Value::Null]);
        check(json!({ "type": "string", "nullable": true }), &[json!("a"), Value::Null], &[json!(1)]);
        check(json!({ "type": "string", "nullable": true, "enum": ["a"] }), &[json!("a"), Value::Null], &[json!("b")]);
    }

    #[test]
    fn a_reference_may_be_nullable_beside_itself() {
        let property = json!({ "allOf": [{ "$ref": "#/components/schemas/named" }], "nullable": true });
        check(
            json!({ "type": "object", "properties": { "image": property } }),
            &[json!({ "image": null }), json!({ "image": { "name": "a" } })],
            &[json!({ "image": { "name": "a", "colour": "red" } }), json!({ "image": {} }), json!({ "image": 1 })],
        );
    }

    #[test]
    fn a_discriminator_names_the_alternative_that_counts() {
        let sized = json!({ "properties": { "type": { "type": "string" }, "size": { "type": "integer" } } });
        let schema = json!({
            "anyOf": [{ "$ref": "#/components/schemas/named" }, sized],
            "discriminator": { "propertyName": "type", "mapping": { "named": "#/components/schemas/named" } },
        });
        check(
            schema,
            &[json!({ "type": "named", "name": "a" }), json!({ "type": "sized", "size": 1 })],
            &[json!({ "type": "named", "size": 1 })],
        );
    }

    #[test]
    fn an_exclusive_limit_excludes_the_limit() {
        check(json!({ "type": "integer", "minimum": 1, "maximum": 3 }), &[json!(1), json!(3)], &[json!(0), json!(4)]);
        check(
            json!({ "type": "integer", "minimum": 1, "exclusiveMinimum": true, "maximum": 3, "exclusiveMaximum": true }),
            &[json!(2)],
            &[json!(1), json!(3)],
        );
        check(json!({ "minimum": 1, "exclusiveMinimum": false }), &[json!(1)], &[json!(0)]);
    }

    #[test]
    fn a_property_may_be_named_like_a_keyword() {
        let properties = json!({ "nullable": { "type": "boolean" }, "example": { "type": "string" } });
        check(
            json!({ "properties": properties }),
            &[json!({ "nullable": true, "example": "a" })],
            &[json!({ "example": 1 })],
        );
    }

    #[test]
    #[should_panic(expected = "the keyword patternProperties of OpenAPI is not converted")]
    fn an_unknown_keyword_is_not_passed_over() {
        check(json!({ "patternProperties": {} }), &[], &[]);
    }
}
