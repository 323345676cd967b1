//! The published OpenAPI description of a cloud's API: which requests are allowed, and what an answer looks like.

mod gaps;
mod schema;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use http::{HeaderMap, Method, StatusCode};
use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value, json};

use self::schema::Direction;
use super::record::Recorded;

pub use self::gaps::{Gap, Gaps};

/// Checks requests and answers against an OpenAPI 3.0 description. Each schema is compiled once, when it is needed.
pub struct Description {
    gaps: Gaps,
    operations: Vec<Operation>,
}

/// The effect of one method at one path.
struct Operation {
    method: Method,
    /// The segments of the path, parameters in braces.
    path: Vec<String>,
    parameters: Vec<Parameter>,
    /// The scopes that a token must have, as `droplet:read`.
    scopes: Vec<String>,
    /// Absent where the operation takes no body.
    body: Option<Body>,
    /// By status, by all of its kind as `4xx`, or `default`.
    answers: BTreeMap<String, Answer>,
}

struct Parameter {
    name: String,
    place: Place,
    required: bool,
    text: Text,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Path,
    Query,
}

struct Answer {
    /// Absent where the answer has no body.
    body: Option<Body>,
    headers: Vec<(String, Text)>,
}

/// The content type of JSON.
const JSON: &str = "application/json";
/// The content type of a change, as RFC 7396 has it.
const MERGE_PATCH: &str = "application/merge-patch+json";
/// The content type of a form.
const FORM: &str = "application/x-www-form-urlencoded";

/// The content types that are checked.
const KINDS: [&str; 3] = [FORM, JSON, MERGE_PATCH];

/// The description's schemas by name.
type Schemas = Map<String, Value>;

/// A body: JSON, or a form.
struct Body {
    /// One of [`KINDS`].
    kind: &'static str,
    validator: LazyValidator,
}

/// Checks a body. Most tests meet few of them, so each is compiled when it is met for the first time.
type LazyValidator = LazyLock<Validator, Box<dyn FnOnce() -> Validator + Send + Sync>>;

/// A value that travels as text.
struct Text {
    /// The type that the schema gives it, or its elements.
    kind: String,
    /// Whether it is an array: each element stands there by itself, under the same name.
    repeated: bool,
    validator: Validator,
}

impl Description {
    /// Reads a description, as JSON, whose references stay inside it.
    ///
    /// # Panics
    ///
    /// Panics if this is no OpenAPI description, or holds what is not checked: then it would go unnoticed.
    #[must_use]
    pub fn new(published: &str, gaps: Gaps) -> Description {
        let description: Value = serde_json::from_str(published).expect("a vendored description is JSON");
        let source = Source(&description);
        let schemas = source.0["components"]["schemas"].as_object().cloned().unwrap_or_default();
        let schemas = &Arc::new(schemas);
        let paths = source.0["paths"].as_object().expect("a description has paths");
        let prefix = &source.prefix();
        let operations = paths.iter().flat_map(|(path, item)| {
            let item = item.as_object().expect("a path item is an object");
            item.iter().filter_map(move |(key, operation)| {
                // A path item has other keys beside its methods: `parameters` stands for all of them.
                let method = Method::from_bytes(key.to_uppercase().as_bytes()).ok()?;
                operation.get("responses")?;
                Some(Operation::new(source, schemas, gaps, method, (prefix, path), item, operation))
            })
        });
        Description { gaps, operations: operations.collect() }
    }

    /// Returns the scopes that a token needs for a request: none where the description has no such operation.
    #[must_use]
    pub fn scopes(&self, request: &Recorded) -> &[String] {
        self.operation(&request.method, &request.path).map_or(&[], |(operation, _)| &operation.scopes)
    }

    /// Returns what is wrong with a request, one sentence each.
    pub(super) fn check_request(&self, request: &Recorded) -> Vec<String> {
        let Some((operation, named)) = self.operation(&request.method, &request.path) else {
            return vec!["the description has no such operation".to_owned()];
        };
        let mut wrong = Vec::new();
        for (name, value) in named {
            if let Some(parameter) = operation.parameter(Place::Path, &name) {
                parameter.text.check(&format!("the path's {name}"), &value, &mut wrong);
            }
        }
        for (index, (name, value)) in request.query.iter().enumerate() {
            match operation.parameter(Place::Query, name) {
                None => wrong.push(format!("the query key {name} is not declared")),
                Some(parameter)
                    if !parameter.text.repeated
                        && request.query[..index].iter().any(|(earlier, _)| earlier == name) =>
                {
                    wrong.push(format!("the query key {name} stands there twice"));
                }
                Some(parameter) => parameter.text.check(&format!("the query key {name}"), value, &mut wrong),
            }
        }
        for parameter in operation.parameters.iter().filter(|it| it.place == Place::Query && it.required) {
            if !request.query.iter().any(|(name, _)| *name == parameter.name) {
                wrong.push(format!("the query key {} is missing", parameter.name));
            }
        }
        match &operation.body {
            None if request.body.is_empty() => {}
            None => wrong.push("the operation takes no body".to_owned()),
            Some(validator) => check_body("the request's body", validator, &request.headers, &request.body, &mut wrong),
        }
        wrong
    }

    /// Returns what is wrong with an answer, one sentence each. Says nothing where the description has no such operation.
    pub(super) fn check_answer(
        &self,
        request: &Recorded,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Vec<String> {
        let Some((operation, _)) = self.operation(&request.method, &request.path) else {
            return Vec::new();
        };
        let Some(answer) = operation.answer(status) else {
            return vec![format!("no answer is declared for status {status}")];
        };
        let mut wrong = Vec::new();
        for (name, text) in &answer.headers {
            match headers.get(name).map(|value| value.to_str()) {
                Some(Ok(value)) => text.check(&format!("the answer's header {name}"), value, &mut wrong),
                Some(Err(_)) => wrong.push(format!("the answer's header {name} is not text")),
                None if self.gaps.absent.iter().any(|(absent, _)| absent == name) => {}
                None => wrong.push(format!("the answer's header {name} is missing")),
            }
        }
        for name in headers.keys().map(http::HeaderName::as_str) {
            let declared = answer.headers.iter().any(|(declared, _)| declared == name)
                || self.gaps.headers.iter().any(|(gap, _)| *gap == name)
                || gaps::HTTP.contains(&name);
            if !declared {
                wrong.push(format!("the answer's header {name} is not declared"));
            }
        }
        match &answer.body {
            None if body.is_empty() => {}
            None => wrong.push(format!("no body is declared for status {status}")),
            Some(validator) => check_body("the answer", validator, headers, body, &mut wrong),
        }
        wrong
    }

    /// Compiles every schema, so that none is found wrong later.
    ///
    /// # Panics
    ///
    /// Panics if one cannot be checked.
    #[cfg(test)]
    pub(crate) fn compile(&self) {
        for operation in &self.operations {
            operation.body.as_ref().map(|it| LazyLock::force(&it.validator));
            for answer in operation.answers.values() {
                answer.body.as_ref().map(|it| LazyLock::force(&it.validator));
            }
        }
    }

    /// Returns the operation, and the path's parameters with their values.
    fn operation(&self, method: &Method, path: &str) -> Option<(&Operation, Vec<(String, String)>)> {
        let segments: Vec<&str> = path.split('/').collect();
        self.operations
            .iter()
            .filter(|it| it.method == *method)
            .find_map(|operation| Some((operation, operation.matched(&segments)?)))
    }
}

impl Operation {
    fn new(
        source: Source<'_>,
        schemas: &Arc<Schemas>,
        gaps: Gaps,
        method: Method,
        (prefix, path): (&str, &str),
        item: &Map<String, Value>,
        operation: &Value,
    ) -> Operation {
        let shared = item.get("parameters").and_then(Value::as_array);
        let own = operation["parameters"].as_array();
        let parameters = shared.into_iter().chain(own).flatten().map(|it| Parameter::new(source, source.resolved(it)));
        let schemes = operation["security"].as_array().into_iter().flatten().filter_map(Value::as_object);
        let scopes = schemes.flat_map(Map::values).filter_map(Value::as_array).flatten().filter_map(Value::as_str);
        let body = operation.get("requestBody").map(|it| source.resolved(it));
        let answers = operation["responses"].as_object().expect("responses are an object");
        let name = format!("{method} {path}");
        let sent = gaps::fill(gaps.requests, &name, schemas);
        let shown = gaps::fill(gaps.answers, &name, schemas);
        Operation {
            method,
            path: format!("{prefix}{path}").split('/').map(str::to_owned).collect(),
            parameters: parameters.collect(),
            scopes: scopes.map(str::to_owned).collect(),
            body: body.and_then(|it| compiled(it, &sent, Direction::Request)),
            answers: answers
                .iter()
                .map(|(status, answer)| (status.to_lowercase(), Answer::new(source, source.resolved(answer), &shown)))
                .collect(),
        }
    }

    fn parameter(&self, place: Place, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|it| it.place == place && it.name == name)
    }

    /// Returns what is declared for a status: by itself, for all of its kind, or for all.
    fn answer(&self, status: StatusCode) -> Option<&Answer> {
        let kind = format!("{}xx", status.as_u16() / 100);
        [status.as_str(), &kind, "default"].into_iter().find_map(|it| self.answers.get(it))
    }

    /// Returns the path's parameters, or `None` if these segments are not of this path.
    fn matched(&self, segments: &[&str]) -> Option<Vec<(String, String)>> {
        if segments.len() != self.path.len() {
            return None;
        }
        let mut parameters = Vec::new();
        for (declared, actual) in self.path.iter().zip(segments) {
            match declared.strip_prefix('{').and_then(|it| it.strip_suffix('}')) {
                Some(name) => parameters.push((name.to_owned(), (*actual).to_owned())),
                None if declared == actual => {}
                None => return None,
            }
        }
        Some(parameters)
    }
}

impl Parameter {
    fn new(source: Source<'_>, parameter: &Value) -> Parameter {
        Parameter {
            name: parameter["name"].as_str().expect("a parameter has a name").to_owned(),
            place: match parameter["in"].as_str() {
                Some("path") => Place::Path,
                Some("query") => Place::Query,
                place => panic!("a parameter in {place:?} is not checked"),
            },
            required: parameter["required"] == json!(true),
            text: Text::new(source, &parameter["schema"]),
        }
    }
}

impl Answer {
    fn new(source: Source<'_>, answer: &Value, schemas: &Arc<Schemas>) -> Answer {
        let headers = answer["headers"].as_object().into_iter().flatten();
        Answer {
            body: compiled(answer, schemas, Direction::Answer),
            headers: headers
                .map(|(name, it)| (name.to_lowercase(), Text::new(source, &source.resolved(it)["schema"])))
                .collect(),
        }
    }
}

impl Text {
    fn new(source: Source<'_>, schema: &Value) -> Text {
        let mut schema = source.resolved(schema);
        let repeated = schema["type"] == json!("array");
        if repeated {
            schema = source.resolved(&schema["items"]);
        }
        let kind = schema["type"].as_str().expect("a value that travels as text has a type");
        // It is a number or a word: its schema refers to nothing.
        Text { kind: kind.to_owned(), repeated, validator: validator(schema, &Map::new(), Direction::Request) }
    }

    fn check(&self, what: &str, text: &str, wrong: &mut Vec<String>) {
        let value = match self.kind.as_str() {
            "integer" => text.parse::<i64>().map_or_else(|_| json!(text), |number| json!(number)),
            "boolean" => text.parse::<bool>().map_or_else(|_| json!(text), |it| json!(it)),
            "string" => json!(text),
            kind => panic!("text of type {kind} is not checked"),
        };
        wrong.extend(self.validator.iter_errors(&value).map(|error| format!("{what}: {error}")));
    }
}

fn check_body(what: &str, declared: &Body, headers: &HeaderMap, body: &[u8], wrong: &mut Vec<String>) {
    let kind = headers.get(http::header::CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    if kind.split(';').next() != Some(declared.kind) {
        wrong.push(format!("{what} has the content type {kind:?}"));
    }
    let value = match declared.kind == FORM {
        false => serde_json::from_slice(body),
        true => Ok(url::form_urlencoded::parse(body).map(|(name, value)| (name.into_owned(), json!(value))).collect()),
    };
    match value {
        Err(error) => wrong.push(format!("{what} is not JSON: {error}")),
        Ok(value) => declared.validator.iter_errors(&value).for_each(|error| describe(what, &error, wrong)),
    }
}

/// Says what an error of a body means.
fn describe(what: &str, error: &ValidationError<'_>, wrong: &mut Vec<String>) {
    // That no alternative matches is of little help. What is wrong with the nearest one is.
    if let ValidationErrorKind::OneOfNotValid { context } = error.kind()
        && let Some(nearest) = context.iter().min_by_key(|it| it.len())
    {
        nearest.iter().for_each(|error| describe(what, error, wrong));
        return;
    }
    let place = error.instance_path().as_str();
    wrong.push(match &**error.instance() {
        // It may be a whole page of droplets.
        Value::Array(_) | Value::Object(_) => format!("{what} at {place:?}: {}", error.masked()),
        _ => format!("{what} at {place:?}: {error}"),
    });
}

/// The description as JSON.
#[derive(Clone, Copy)]
struct Source<'a>(&'a Value);

impl<'a> Source<'a> {
    /// The path under which the first server serves all others.
    fn prefix(self) -> String {
        let Some(server) = self.0["servers"][0]["url"].as_str() else { return String::new() };
        let url = url::Url::parse(server).expect("a server is a URL");
        url.path().trim_end_matches('/').to_owned()
    }

    /// Returns what a reference refers to, and anything else as it is.
    fn resolved(self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            None => value,
            Some(reference) => {
                let pointer = reference.strip_prefix('#').expect("references stay inside the description");
                self.resolved(self.0.pointer(pointer).expect("what is referred to is vendored too"))
            }
        }
    }
}

/// Returns what checks the JSON that a request body or an answer declares.
fn compiled(value: &Value, schemas: &Arc<Schemas>, direction: Direction) -> Option<Body> {
    let content = value.get("content")?.as_object().expect("content is an object");
    let kind = KINDS.into_iter().find(|it| content.contains_key(*it)).expect("bodies are JSON or a form");
    let schema = content[kind]["schema"].clone();
    let schemas = Arc::clone(schemas);
    Some(Body { kind, validator: LazyLock::new(Box::new(move || validator(&schema, &schemas, direction))) })
}

fn validator(schema: &Value, schemas: &Schemas, direction: Direction) -> Validator {
    let document = schema::document(schema, schemas, direction);
    let options = jsonschema::options().should_validate_formats(true).offline();
    options.build(&document).expect("a converted schema is a schema")
}
