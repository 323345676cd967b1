//! Kinds of requests that a module asks for, and which rules of the operator's config allow them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use cloud_provider::{Content, Description, Permission};
use egress::{Effect, Endpoint, Method, OperationPattern, OperationPlace, PathPattern};

/// Kinds of requests that are compared for one endpoint: a description may hold more than anybody reads.
const KINDS: usize = 400;

/// One kind of requests.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct RequestKind {
    method: String,
    path: String,
    /// Where the endpoint has one.
    operation: Option<String>,
    /// Their effect, where their method does not tell it: always where the endpoint has an operation.
    effect: Option<Effect>,
    /// Their content.
    content: Content,
}

/// A kind of requests as the rules allow it.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct AllowedKind {
    /// The rule that allows all of them.
    pub(super) rule: String,
    /// Whether it lets all stand that they carry.
    pub(super) is_whole: bool,
    /// Their effect by the most harmful rule for them all, whatever they carry, if it is not what the module says.
    /// Where the endpoint has no operation, a rule may say more.
    pub(super) other_effect: Option<Effect>,
}

/// A line of YAML that a key of an endpoint lacks for the requests that a module asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct MissingLine {
    pub(crate) endpoint: String,
    /// `operation`, `parameters`, `headers` or `allow`.
    pub(crate) key: &'static str,
    pub(crate) yaml: String,
}

/// Without the effect and what they carry: `POST / Describe*`.
impl fmt::Display for RequestKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        self.operation.iter().try_for_each(|it| write!(f, " {it}"))
    }
}

impl RequestKind {
    /// Their most harmful effect, whoever tells it.
    fn most(&self) -> Option<Effect> {
        self.effect.or_else(|| Method::parse(&self.method).ok().map(Effect::of))
    }

    /// Their effect, as the module tells it.
    pub(super) fn effect(&self) -> Option<Effect> {
        self.effect
    }

    /// The answer of the endpoint's rules to them; `None` if no rule allows all of them.
    pub(super) fn allowed_by(&self, endpoint: &Endpoint) -> Option<AllowedKind> {
        if self.operation.is_some() != endpoint.operation.is_some() {
            return None;
        }
        let path = PathPattern::parse(&self.path).ok()?;
        let operation = self.operation.as_deref().map(OperationPattern::parse).transpose().ok()?;
        let content = parsed(&self.content).ok()?;
        let (mut first, mut whole) = (None, None);
        let mut worst = None;
        for rule in rules(endpoint).filter(|it| it.method.as_str() == self.method && it.path.covers(&path)) {
            if let (Some(wide), Some(narrow)) = (rule.operation, &operation)
                && !wide.covers(narrow)
            {
                continue;
            }
            worst = worst.max(Some(rule.effect));
            first.get_or_insert_with(|| rule.to_string());
            if rule.content.covers(&content) {
                whole.get_or_insert_with(|| rule.to_string());
            }
        }
        let differs = |own: Effect, other| match self.operation {
            Some(_) => own != other,
            None => own > other,
        };
        let other_effect = worst.filter(|it| self.effect.is_some_and(|own| differs(own, *it)));
        let is_whole = whole.is_some();
        whole.or(first).map(|rule| AllowedKind { rule, is_whole, other_effect })
    }

    /// Whether a rule allows requests of this kind, or is part of it.
    pub(super) fn meets(&self, rule: &OneRule<'_>) -> bool {
        let path = PathPattern::parse(&self.path);
        let paths_meet = path.is_ok_and(|it| rule.path.covers(&it) || it.covers(rule.path));
        let operations_meet = match (rule.operation, &self.operation) {
            (None, None) => true,
            (Some(rule), Some(own)) => OperationPattern::parse(own).is_ok_and(|it| rule.covers(&it) || it.covers(rule)),
            (Some(_), None) | (None, Some(_)) => false,
        };
        self.method == rule.method.as_str() && paths_meet && operations_meet
    }

    /// Whether all requests of the other kind are of this one, and are said to do no more.
    fn covers(&self, other: &Self) -> bool {
        let paths = (PathPattern::parse(&self.path), PathPattern::parse(&other.path));
        let has_path = matches!(paths, (Ok(own), Ok(other)) if own.covers(&other));
        let has_operation = match (&self.operation, &other.operation) {
            (None, None) => true,
            (Some(own), Some(other)) => match (OperationPattern::parse(own), OperationPattern::parse(other)) {
                (Ok(own), Ok(other)) => own.covers(&other),
                (Err(_), _) | (_, Err(_)) => false,
            },
            (Some(_), None) | (None, Some(_)) => false,
        };
        let has_content = match (parsed(&self.content), parsed(&other.content)) {
            (Ok(own), Ok(other)) => own.covers(&other),
            (Err(_), _) | (_, Err(_)) => false,
        };
        self.method == other.method && has_path && has_operation && has_content && other.most() <= self.most()
    }

    /// Their content, for a person; empty if it is not said.
    pub(super) fn carried(&self) -> String {
        self.content.to_string().trim_start_matches(", ").to_owned()
    }

    /// Whether a rule can allow it at all. What is no method and no pattern stays in the table.
    fn can_be_allowed(&self) -> bool {
        Method::parse(&self.method).is_ok()
            && PathPattern::parse(&self.path).is_ok()
            && self.operation.iter().all(|it| OperationPattern::parse(it).is_ok())
            && parsed(&self.content).is_ok()
    }
}

/// The content of requests, in the egress's words.
fn parsed(content: &Content) -> Result<egress::Content, String> {
    let Content { only, values, fields } = content;
    egress::Content::parse(only.as_deref(), values, fields)
}

/// The kinds of requests that a module asks for at an endpoint.
pub(super) fn asked(described: &cloud_provider::Endpoint) -> BTreeSet<RequestKind> {
    let has_operation = described.operation.is_some();
    let of = |permission: &Permission| {
        let effect = if has_operation { Some(permission.effect) } else { permission.own_effect() }.map(effect);
        let operations: Vec<_> = match has_operation && !permission.operations.is_empty() {
            true => permission.operations.iter().cloned().map(Some).collect(),
            false => vec![None],
        };
        let mut kinds = Vec::new();
        for method in &permission.methods {
            for path in &permission.paths {
                kinds.extend(operations.iter().map(|operation| RequestKind {
                    method: method.clone(),
                    path: path.clone(),
                    operation: operation.clone(),
                    effect,
                    content: permission.content.clone(),
                }));
            }
        }
        kinds
    };
    described.allow.iter().flat_map(of).take(KINDS).collect()
}

/// One method, path and operation of a rule.
pub(super) struct OneRule<'a> {
    method: Method,
    path: &'a PathPattern,
    operation: Option<&'a OperationPattern>,
    effect: Effect,
    content: &'a egress::Content,
}

impl OneRule<'_> {
    /// Whether it lets more stand in requests than any of these kinds carry, of which at least one is its own.
    pub(super) fn is_wider_than<'k>(&self, kinds: impl IntoIterator<Item = &'k RequestKind>) -> bool {
        let contents: Vec<_> = kinds.into_iter().filter_map(|it| parsed(&it.content).ok()).collect();
        !contents.is_empty() && !contents.iter().any(|it| it.covers(self.content))
    }
}

impl fmt::Display for OneRule<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        self.operation.iter().try_for_each(|it| write!(f, " {it}"))
    }
}

/// The operator's rules at an endpoint, one by one.
pub(super) fn rules(endpoint: &Endpoint) -> impl Iterator<Item = OneRule<'_>> {
    endpoint.allow.iter().flat_map(|rule| {
        let operations: Vec<_> = match rule.operations.is_empty() {
            true => vec![None],
            false => rule.operations.iter().map(Some).collect(),
        };
        let mut all = Vec::new();
        for method in &rule.methods {
            for path in &rule.paths {
                all.extend(operations.iter().map(|operation| OneRule {
                    method: *method,
                    path,
                    operation: *operation,
                    effect: rule.effect_of(*method),
                    content: &rule.content,
                }));
            }
        }
        all
    })
}

/// The kinds of requests that the operator allows at an endpoint, as in `GET /v1/machines/*`.
pub(crate) fn allowed(endpoint: &Endpoint) -> Vec<String> {
    rules(endpoint).map(|it| it.to_string()).collect()
}

/// The kinds of requests that a module asks for at an endpoint.
pub(crate) fn needed(description: &Description, endpoint: &Endpoint) -> Vec<String> {
    let described = description.endpoints.iter().find(|it| it.name == endpoint.name);
    described.map(asked).unwrap_or_default().iter().map(ToString::to_string).collect()
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

/// The rules that an endpoint's `allow` lacks for what was not asked for `before`. Requests that differ in one thing only
/// are one rule.
fn missing_rules(
    before: Option<&cloud_provider::Endpoint>,
    described: &cloud_provider::Endpoint,
    endpoint: &Endpoint,
) -> Vec<Permission> {
    let asked_before = before.map(asked).unwrap_or_default();
    // A rule that makes too little of a request is not enough: the most harmful one counts.
    let is_lacking = |kind: &RequestKind| match kind.allowed_by(endpoint) {
        None => kind.operation.is_some() || endpoint.operation.is_none(),
        Some(AllowedKind { is_whole: false, .. }) => true,
        Some(AllowedKind { other_effect, .. }) => other_effect < kind.effect && other_effect.is_some(),
    };
    let mut methods: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for kind in asked(described).into_iter().filter(|it| it.can_be_allowed() && is_lacking(it)) {
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
    let rule = |((methods, effect, paths, content), operations): ((_, Option<Effect>, _, _), Vec<Option<String>>)| {
        Permission {
            methods,
            paths,
            operations: operations.into_iter().flatten().collect(),
            effect: match effect {
                None | Some(Effect::Read) => cloud_provider::Effect::Read,
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

fn effect(it: cloud_provider::Effect) -> Effect {
    match it {
        cloud_provider::Effect::Read => Effect::Read,
        cloud_provider::Effect::Update => Effect::Update,
        cloud_provider::Effect::Detach => Effect::Detach,
        cloud_provider::Effect::Write => Effect::Write,
        cloud_provider::Effect::Delete => Effect::Delete,
    }
}

#[cfg(test)]
mod tests {
    use egress::{BaseUrl, Rule};

    use super::*;

    /// An endpoint with operations in `Action`, as a module asks for it.
    fn described() -> Description {
        let words = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let permission = |operations: &[&str], effect| Permission {
            methods: words(&["POST"]),
            paths: words(&["/"]),
            operations: words(operations),
            effect,
            ..Permission::default()
        };
        let endpoint = cloud_provider::Endpoint {
            name: "ec2".to_owned(),
            operation: Some(cloud_provider::OperationPlace::Parameter("Action".to_owned())),
            parameters: vec![("Version".to_owned(), "2016-11-15".to_owned())],
            headers: words(&["x-amz-trace"]),
            allow: vec![
                permission(&["Describe*"], cloud_provider::Effect::Read),
                permission(&["CreateTags", "DeleteTags"], cloud_provider::Effect::Write),
                permission(&["TerminateInstances"], cloud_provider::Effect::Delete),
            ],
            ..cloud_provider::Endpoint::default()
        };
        Description { endpoints: vec![endpoint], ..Description::default() }
    }

    fn endpoint(rules: &[(&[&str], Effect)]) -> Endpoint {
        let rule = |(operations, effect): &(&[&str], Effect)| Rule {
            operations: operations.iter().map(|it| OperationPattern::parse(it).unwrap()).collect(),
            effect: Some(*effect),
            ..Rule::new([Method::Post], [PathPattern::parse("/").unwrap()])
        };
        Endpoint {
            operation: Some(OperationPlace::Parameter("Action".to_owned())),
            parameters: vec![("Version".to_owned(), "2016-11-15".to_owned())],
            headers: vec!["X-Amz-Trace".to_owned()],
            allow: rules.iter().map(rule).collect(),
            ..Endpoint::new("ec2", BaseUrl::parse("https://ec2.acme.example").unwrap())
        }
    }

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
    fn adv_164_what_requests_carry_is_compared_too() {
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

    #[test]
    fn the_most_harmful_rule_says_what_a_request_does() {
        let rules: [(&[&str], _); 2] = [(&["Describe*"], Effect::Read), (&["D*"], Effect::Delete)];
        let endpoint = endpoint(&rules);
        let kinds = asked(&described().endpoints[0]);
        let say = |operation: &str| {
            let kind = kinds.iter().find(|it| it.operation.as_deref() == Some(operation)).unwrap();
            kind.allowed_by(&endpoint).map(|it| (it.rule, it.other_effect))
        };
        assert_eq!(say("Describe*"), Some(("POST / Describe*".to_owned(), Some(Effect::Delete))));
        assert_eq!(say("DeleteTags"), Some(("POST / D*".to_owned(), Some(Effect::Delete))));
        assert_eq!(say("TerminateInstances"), None);
    }
}
