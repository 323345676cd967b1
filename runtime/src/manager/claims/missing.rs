//! Lines of YAML that an operator's config lacks for the requests that a module asks for.

use std::collections::BTreeMap;

use cloud_provider::{Content, Description, Permission};
use egress::{Effect, Endpoint, OperationPlace};

use super::requests::asked;

/// A line of YAML that a key of an endpoint lacks for the requests that a module asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct MissingLine {
    pub(crate) endpoint: String,
    /// `operation`, `parameters`, `headers` or `allow`.
    pub(crate) key: &'static str,
    pub(crate) yaml: String,
}

/// The lines that each endpoint lacks for the module's requests, ready to be pasted.
pub(crate) fn missing(description: &Description, endpoints: &[&Endpoint]) -> Vec<MissingLine> {
    missing_beyond(None, description, endpoints)
}

/// The lines that each endpoint lacks for requests of a module that the module `before` has not asked for.
pub(crate) fn grown(before: &Description, description: &Description, endpoints: &[&Endpoint]) -> Vec<MissingLine> {
    missing_beyond(Some(before), description, endpoints)
}

fn missing_beyond(
    before: Option<&Description>,
    description: &Description,
    endpoints: &[&Endpoint],
) -> Vec<MissingLine> {
    let mut missing = Vec::new();
    for endpoint in endpoints {
        let described_in = |it: &&cloud_provider::Endpoint| it.name == endpoint.name;
        let Some(described) = description.endpoints.iter().find(described_in) else { continue };
        let before = before.and_then(|it| it.endpoints.iter().find(described_in));
        let mut lacks = |key, yaml| missing.push(MissingLine { endpoint: endpoint.name.clone(), key, yaml });
        if let Some(place) = described.operation.as_ref().filter(|it| !is_operation(endpoint, it))
            && before.is_none_or(|it| it.operation.as_ref() != Some(place))
        {
            lacks("operation", operation_yaml(place));
        }
        let is_new = |it: &&(String, String)| before.is_none_or(|before| !before.parameters.contains(it));
        for (name, value) in described.parameters.iter().filter(|it| !endpoint.parameters.contains(it)).filter(is_new) {
            lacks("parameters", format!("{}: {}", quoted(name), quoted(value)));
        }
        let is_new = |it: &&String| before.is_none_or(|before| !has_header(&before.headers, it));
        for header in described.headers.iter().filter(|it| !has_header(&endpoint.headers, it)).filter(is_new) {
            lacks("headers", format!("- {}", quoted(header)));
        }
        missing_rules(before, described, endpoint).iter().for_each(|it| lacks("allow", format!("- {it}")));
    }
    missing
}

/// Requests that differ in their operation alone: methods, effect, paths and content.
type SimilarRequests = (Vec<String>, Option<Effect>, Vec<String>, Content);

/// The rules that an endpoint's `allow` lacks for what was not asked for `before`. Requests that differ in one thing only
/// are one rule.
fn missing_rules(
    before: Option<&cloud_provider::Endpoint>,
    described: &cloud_provider::Endpoint,
    endpoint: &Endpoint,
) -> Vec<Permission> {
    let asked_before = before.map(asked).unwrap_or_default();
    let mut methods: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for kind in asked(described).into_iter().filter(|it| it.can_be_allowed() && !it.is_allowed_by(endpoint)) {
        if asked_before.iter().any(|it| it.covers(&kind)) {
            continue;
        }
        methods.entry((kind.effect, kind.operation, kind.path, kind.content)).or_default().push(kind.method);
    }
    let mut paths: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for ((effect, operation, path, content), methods) in methods {
        paths.entry((methods, effect, operation, content)).or_default().push(path);
    }
    let mut operations: BTreeMap<_, Vec<Option<String>>> = BTreeMap::new();
    for ((methods, effect, operation, content), paths) in paths {
        operations.entry((methods, effect, paths, content)).or_default().push(operation);
    }
    let names_version = |methods: &[String], paths: &[String]| {
        described.allow.iter().any(|it| it.names_version && holds(it, methods, paths))
    };
    let rule = |((methods, effect, paths, content), operations): (SimilarRequests, Vec<Option<String>>)| {
        let by_method = methods.iter().map(|it| cloud_provider::Effect::of_method(it)).max().unwrap_or_default();
        Permission {
            names_version: names_version(&methods, &paths),
            methods,
            paths,
            operations: operations.into_iter().flatten().collect(),
            effect: match effect {
                None => by_method,
                Some(Effect::Read) => cloud_provider::Effect::Read,
                Some(Effect::Update) => cloud_provider::Effect::Update,
                Some(Effect::Detach) => cloud_provider::Effect::Detach,
                Some(Effect::Write) => cloud_provider::Effect::Write,
                Some(Effect::Delete) => cloud_provider::Effect::Delete,
            },
            actions: Vec::new(),
            content,
        }
    };
    operations.into_iter().map(rule).collect()
}

/// Whether a permission is about all these requests.
fn holds(permission: &Permission, methods: &[String], paths: &[String]) -> bool {
    let Permission { methods: own, paths: places, .. } = permission;
    methods.iter().all(|it| own.contains(it)) && paths.iter().all(|it| places.contains(it))
}

/// Whether requests say what they do where the operator has named it.
pub(super) fn is_operation(endpoint: &Endpoint, described: &cloud_provider::OperationPlace) -> bool {
    use cloud_provider::OperationPlace::{Header, Parameter};
    match (&endpoint.operation, described) {
        (Some(OperationPlace::Parameter(one)), Parameter(other)) => one == other,
        (Some(OperationPlace::Header(one)), Header(other)) => one.eq_ignore_ascii_case(other),
        (Some(_) | None, _) => false,
    }
}

/// As `operation` of an endpoint in the operator's config.
pub(super) fn operation_yaml(place: &cloud_provider::OperationPlace) -> String {
    match place {
        cloud_provider::OperationPlace::Parameter(name) => format!("{{ parameter: {} }}", quoted(name)),
        cloud_provider::OperationPlace::Header(name) => format!("{{ header: {} }}", quoted(name)),
    }
}

pub(super) fn has_header(headers: &[String], name: &str) -> bool {
    headers.iter().any(|it| it.eq_ignore_ascii_case(name))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {

    use super::super::requests::parsed;
    use super::super::requests::tests::{described, endpoint};
    use super::*;

    fn lines(endpoint: &Endpoint) -> Vec<String> {
        missing(&described(), &[endpoint]).into_iter().map(|it| format!("{}: {}", it.key, it.yaml)).collect()
    }

    #[test]
    fn adv_130_operations_and_effects_are_compared_too() {
        let all = [
            "allow: - { methods: [POST], paths: ['/'], operations: ['Describe*'], effect: read }",
            "allow: - { methods: [POST], paths: ['/'], operations: ['CreateTags', 'DeleteTags'], effect: write }",
            "allow: - { methods: [POST], paths: ['/'], operations: ['TerminateInstances'], effect: delete }",
        ];
        assert_eq!(lines(&endpoint(&[])), all);
        let reads: (&[&str], _) = (&["Describe*"], Effect::Read);
        assert_eq!(lines(&endpoint(&[reads])), all[1..]);
        let narrow: (&[&str], _) = (&["DescribeInstances", "*Tags"], Effect::Write);
        assert_eq!(lines(&endpoint(&[narrow])), [all[0], all[2]], "one operation is not all of them");
        let everything: (&[&str], _) = (&["*"], Effect::Read);
        assert_eq!(lines(&endpoint(&[everything])), all[1..], "nothing else than reads may be taken for reads");
        let worst: (&[&str], _) = (&["*"], Effect::Delete);
        assert_eq!(lines(&endpoint(&[worst])), [""; 0], "what counts as too much is shown by the table");
    }

    #[test]
    fn adv_130_an_endpoint_is_compared_with_all_that_is_described() {
        let mut bare = endpoint(&[(&["*"], Effect::Delete)]);
        (bare.operation, bare.parameters, bare.headers) = (None, Vec::new(), Vec::new());
        bare.allow.iter_mut().for_each(|it| it.operations.clear());
        let lines = lines(&bare);
        let keys =
            ["operation: { parameter: 'Action' }", "parameters: 'Version': '2016-11-15'", "headers: - 'x-amz-trace'"];
        assert_eq!(lines[..3], keys);
        assert_eq!(lines.len(), 6, "and all rules: {lines:?}");
    }

    #[test]
    fn only_what_was_not_asked_for_before_has_grown() {
        let nothing = endpoint(&[]);
        let grown = |before: &Description| {
            let grown = grown(before, &described(), &[&nothing]);
            grown.into_iter().map(|it| format!("{}: {}", it.key, it.yaml)).collect::<Vec<_>>()
        };
        assert_eq!(grown(&described()), [""; 0]);
        assert_eq!(grown(&Description::default()), lines(&nothing), "an endpoint that was not there");
        let mut before = described();
        let allow = &mut before.endpoints[0].allow;
        (allow[1].operations, allow[2].effect) = (vec!["DeleteTags".to_owned()], cloud_provider::Effect::Write);
        assert_eq!(
            grown(&before),
            [
                "allow: - { methods: [POST], paths: ['/'], operations: ['CreateTags'], effect: write }",
                "allow: - { methods: [POST], paths: ['/'], operations: ['TerminateInstances'], effect: delete }",
            ]
        );
        let wide = &mut before.endpoints[0].allow;
        (wide[0].operations, wide[0].effect) = (vec!["*".to_owned()], cloud_provider::Effect::Delete);
        assert_eq!(grown(&before), [""; 0], "everything was asked for");
    }

    #[test]
    fn adv_164_the_content_of_requests_is_compared_too() {
        let content = |only: &[&str], values: &[&str]| Content {
            only: (!only.is_empty()).then(|| only.iter().map(|it| (*it).to_owned()).collect()),
            values: values.iter().map(|it| ("ResourceId.*".to_owned(), vec![(*it).to_owned()])).collect(),
            ..Content::default()
        };
        let mut asks = described();
        asks.endpoints[0].allow[1].content = content(&["Tag.*"], &["sg-*"]);
        let tags: &[&str] = &["CreateTags", "DeleteTags"];
        let all: [(&[&str], Effect); 3] =
            [(&["Describe*"], Effect::Read), (tags, Effect::Write), (&["TerminateInstances"], Effect::Delete)];
        let lacks = |allowed: &Content, asks: &Description| {
            let mut endpoint = endpoint(&all);
            endpoint.allow[1].content = parsed(allowed).unwrap();
            missing(asks, &[&endpoint]).into_iter().map(|it| it.yaml).collect::<Vec<_>>()
        };
        let rule = "- { methods: [POST], paths: ['/'], operations: ['CreateTags', 'DeleteTags'], effect: write, \
                    only: ['Tag.*'], where: { 'ResourceId.*': ['sg-*'] } }";
        assert_eq!(lacks(&Content::default(), &asks), [""; 0], "everything may stand");
        assert_eq!(lacks(&content(&["Tag.*"], &["sg-*"]), &asks), [""; 0]);
        assert_eq!(lacks(&content(&["Tag.*", "ResourceId.*"], &[]), &asks), [""; 0], "any value");
        assert_eq!(lacks(&content(&["Tag.*"], &["sg-0123"]), &asks), [rule]);
        assert_eq!(lacks(&content(&["Tag.*.Key"], &["sg-*"]), &asks), [rule]);
        let open = lacks(&content(&["Tag.*"], &["sg-*"]), &described());
        assert_eq!(open, [rule.split_once(", only").unwrap().0.to_owned() + " }"], "it does not say what it sends");

        let nothing = endpoint(&[]);
        let grown = |before: &Description, now: &Description| grown(before, now, &[&nothing]).len();
        assert_eq!((grown(&described(), &asks), grown(&asks, &described()), grown(&asks, &asks)), (0, 1, 0));
    }
}
