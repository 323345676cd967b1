//! Kinds of requests that a module asks for, and which rules of the operator's config allow them.

use std::collections::BTreeSet;
use std::fmt;

use cloud_provider::{Content, Description, Permission};
use egress::{Effect, Endpoint, Method, OperationPattern, PathPattern};

/// Kinds of requests that are compared for one endpoint: a description may hold more than anybody reads.
const KINDS: usize = 400;

/// One kind of requests.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct RequestKind {
    pub(super) method: String,
    pub(super) path: String,
    /// Where the endpoint has one.
    pub(super) operation: Option<String>,
    /// Their effect, where their method does not tell it: always where the endpoint has an operation.
    pub(super) effect: Option<Effect>,
    /// Their content.
    pub(super) content: Content,
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

/// Without the effect and what they carry: `POST / Describe*`.
impl fmt::Display for RequestKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        self.operation.iter().try_for_each(|it| write!(f, " {it}"))
    }
}

impl RequestKind {
    /// Their most harmful effect, whoever tells it.
    pub(super) fn most(&self) -> Option<Effect> {
        self.effect.or_else(|| Method::parse(&self.method).ok().map(Effect::of))
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
        let fits = |rule: &OneRule<'_>| match (rule.operation, &operation) {
            (Some(wide), Some(narrow)) => wide.covers(narrow),
            (None, _) | (_, None) => true,
        };
        let fitting = rules(endpoint).filter(|it| it.method.as_str() == self.method && it.path.covers(&path));
        let fitting: Vec<_> = fitting.filter(fits).collect();
        // As the egress leaves them out: another text in the body makes another request of it.
        let is_another = |rule: &OneRule<'_>| {
            fitting.iter().any(|it| it.content.covers(&content) && it.content.excludes(rule.content))
        };
        for rule in fitting.iter().filter(|it| !is_another(it)) {
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

    /// Whether the endpoint's rules allow all of them, with all that they carry, and make no less of them than they are.
    pub(super) fn is_allowed_by(&self, endpoint: &Endpoint) -> bool {
        match self.allowed_by(endpoint) {
            // A rule could not say what such a request does.
            None => self.operation.is_none() && endpoint.operation.is_some(),
            Some(AllowedKind { is_whole: false, .. }) => false,
            // A rule that makes too little of a request is not enough: the most harmful one counts.
            Some(AllowedKind { other_effect, .. }) => other_effect >= self.effect || other_effect.is_none(),
        }
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
    pub(super) fn covers(&self, other: &Self) -> bool {
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
    pub(super) fn can_be_allowed(&self) -> bool {
        Method::parse(&self.method).is_ok()
            && PathPattern::parse(&self.path).is_ok()
            && self.operation.iter().all(|it| OperationPattern::parse(it).is_ok())
            && parsed(&self.content).is_ok()
    }
}

/// The content of requests, in the egress's words.
pub(super) fn parsed(content: &Content) -> Result<egress::RuleContent, String> {
    let Content { only, values, fields, body } = content;
    egress::RuleContent::parse(only.as_deref(), values, fields)?.with_body(body)
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
    content: &'a egress::RuleContent,
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
pub(super) mod tests {
    use egress::{BaseUrl, OperationPlace, Rule};

    use super::*;

    /// An endpoint with operations in `Action`, as a module asks for it.
    pub(in crate::manager::claims) fn described() -> Description {
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

    pub(in crate::manager::claims) fn endpoint(rules: &[(&[&str], Effect)]) -> Endpoint {
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

    /// One path whose requests are told apart by a text in their bodies.
    #[test]
    fn a_rule_for_another_text_says_nothing_of_a_request() {
        let body = |kind: &str| vec![("type".to_owned(), vec![kind.to_owned()])];
        let kind = |kind: &str, effect| RequestKind {
            method: "POST".to_owned(),
            path: "/actions".to_owned(),
            operation: None,
            effect: Some(effect),
            content: Content { body: body(kind), ..Content::default() },
        };
        let rule = |kind: &str, effect| Rule {
            content: egress::RuleContent::default().with_body(&body(kind)).unwrap(),
            effect: Some(effect),
            ..Rule::new([Method::Post], [PathPattern::parse("/actions").unwrap()])
        };
        let plain = Endpoint::new("api", BaseUrl::parse("https://api.acme.example").unwrap());
        let (attach, detach) = (rule("attach", Effect::Update), rule("detach", Effect::Detach));
        let both = Endpoint { allow: vec![attach, detach.clone()], ..plain.clone() };
        let (asked, other) = (kind("attach", Effect::Update), kind("detach", Effect::Detach));
        assert!(asked.is_allowed_by(&both) && other.is_allowed_by(&both));
        assert_eq!(other.allowed_by(&both).unwrap().other_effect, None);
        let one = Endpoint { allow: vec![detach], ..plain };
        assert!(!asked.is_allowed_by(&one) && other.is_allowed_by(&one));
        assert!(!kind("detach", Effect::Delete).is_allowed_by(&both), "the rule makes too little of it");
    }
}
