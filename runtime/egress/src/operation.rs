//! APIs with one path for everything: where a request says what it does, and which operations a rule means. Pure.

use std::fmt;

use http::HeaderMap;

use crate::canonical::shown;
use crate::glob;

/// Where a request says what it does.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum OperationPlace {
    /// In this name of the query or of the form: `Action`.
    Parameter(String),
    /// In this header: `x-acs-action`.
    Header(String),
}

/// Names in which known clouds take an operation. They stand nowhere but in the place that the operator has named: a
/// cloud that takes it in two places would choose by itself.
const KNOWN: [&str; 3] = ["action", "xacsaction", "xamztarget"];

impl OperationPlace {
    /// The operation of a request, by its query and form together and its headers. It stands there exactly once, in one
    /// place and spelled as the operator wrote it; in another letter case or with other separators it counts as another
    /// place. The error is a sentence without its full stop.
    pub(crate) fn of<'a>(&self, pairs: &'a [(String, String)], headers: &'a HeaderMap) -> Result<&'a str, String> {
        let own = self.name();
        let is_place = |name: &str| {
            let plain = plain(name);
            plain == self::plain(own) || KNOWN.contains(&plain.as_str())
        };
        let is_own = |name: &str| match self {
            Self::Parameter(own) => name == own,
            Self::Header(own) => name.eq_ignore_ascii_case(own),
        };
        let mut values = Vec::new();
        for (name, value) in pairs.iter().filter(|(name, _)| is_place(name)) {
            values.push((name.as_str(), value.as_str(), matches!(self, Self::Parameter(_))));
        }
        for (name, value) in headers.iter().filter(|(name, _)| is_place(name.as_str())) {
            values.push((name.as_str(), value.to_str().unwrap_or_default(), matches!(self, Self::Header(_))));
        }
        match values[..] {
            [(name, value, is_there)] if is_there && is_own(name) && !value.is_empty() => Ok(value),
            [] => Err(format!("the request has no operation; it must stand in {self}")),
            _ => Err(format!(
                "the request must say what it does exactly once, in {self}, spelled like this, and in no other place; \
                 no config can allow it"
            )),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Parameter(name) | Self::Header(name) => name,
        }
    }
}

impl fmt::Display for OperationPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter(name) => write!(f, "the parameter {name}"),
            Self::Header(name) => write!(f, "the header {name}"),
        }
    }
}

/// Checks that a read says nowhere what it does, where the operator has named no place for it: what the method calls a
/// read, a cloud with operations may carry out as anything else. The error is a sentence without its full stop.
pub(crate) fn has_none(pairs: &[(String, String)], headers: &HeaderMap) -> Result<(), String> {
    let mut names = pairs.iter().map(|(name, _)| name.as_str()).chain(headers.keys().map(|it| it.as_str()));
    match names.find(|it| KNOWN.contains(&plain(it).as_str())) {
        None => Ok(()),
        Some(name) => Err(format!(
            "a read that says what it does in {} may do something else; the operator would have to name that place in \
             `operation`",
            shown(name)
        )),
    }
}

/// Checks that each of the endpoint's fixed parameters stands there exactly once and as the operator wrote it. The error
/// is a sentence without its full stop.
pub(crate) fn has_fixed(fixed: &[(String, String)], pairs: &[(String, String)]) -> Result<(), String> {
    for (name, value) in fixed {
        let mut found = pairs.iter().filter(|(it, _)| plain(it) == plain(name));
        match (found.next(), found.next()) {
            (Some((given, it)), None) if given == name && it == value => {}
            _ => {
                return Err(format!(
                    "each request carries {name}={value} exactly once in its query or form; the operator would have to \
                     change `parameters`"
                ));
            }
        }
    }
    Ok(())
}

/// Names that say how a request is meant, in the form of Alibaba Cloud's APIs that has all in parameters. Where the host says it in
/// headers and signs these, a cloud that takes it in both would choose by itself.
const MEANT: [&str; 8] = [
    "format",
    "signaturemethod",
    "signaturenonce",
    "signaturetype",
    "signatureversion",
    "timestamp",
    "version",
    "xacsversion",
];

/// Checks that no parameter says how a request is meant that is signed by headers. The error is a sentence without its full stop.
pub(crate) fn has_no_meaning(pairs: &[(String, String)]) -> Result<(), String> {
    match pairs.iter().find(|(name, _)| MEANT.contains(&plain(name).as_str())) {
        None => Ok(()),
        Some((name, _)) => Err(format!(
            "the parameter {} says how a request is meant, which the host says in signed headers; no config can allow it",
            shown(name)
        )),
    }
}

/// A name without what servers may overlook: letter case and separators.
fn plain(name: &str) -> String {
    name.chars().filter(|it| it.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// A pattern for operations: `*` stands for any run of characters. Letter case does not count, since clouds differ in it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OperationPattern(String);

impl OperationPattern {
    /// Reads `Describe*`.
    ///
    /// # Errors
    ///
    /// A sentence that says what to write, if it is empty or holds something that no operation holds.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "*._-:/".contains(it);
        if text.is_empty() || !text.chars().all(is_plain) {
            return Err(format!(
                "{text:?} is no pattern for operations; write letters, digits and `. _ - : /`, and `*` for any run of \
                 characters, as in Describe*"
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// Whether it stands for more than one operation.
    pub(crate) fn has_star(&self) -> bool {
        self.0.contains('*')
    }

    /// Whether the operation is one of those that the pattern stands for.
    #[must_use]
    pub fn matches(&self, operation: &str) -> bool {
        glob::matches(&self.0.to_ascii_lowercase(), &operation.to_ascii_lowercase())
    }
}

impl OperationPattern {
    /// Whether every operation that `other` stands for is one that this stands for. It is never said wrongly.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        glob::covers(&self.0.to_ascii_lowercase(), &other.0.to_ascii_lowercase())
    }
}

impl fmt::Display for OperationPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn operation(place: OperationPlace, pairs: &[(&str, &str)], headers: &[(&str, &str)]) -> Option<String> {
        let pairs: Vec<_> = pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
            })
            .collect();
        place.of(&pairs, &headers).ok().map(str::to_owned)
    }

    fn parameter() -> OperationPlace {
        OperationPlace::Parameter("Action".to_owned())
    }

    #[test]
    fn adv_113_an_operation_stands_in_one_place_once() {
        let describe = ("Action", "DescribeInstances");
        assert_eq!(operation(parameter(), &[("Version", "1"), describe], &[]).as_deref(), Some("DescribeInstances"));
        let terminate = "TerminateInstances";
        for pairs in [
            &[][..],
            &[("Action", "")],
            &[describe, describe],
            &[describe, ("Action", terminate)],
            &[describe, ("action", terminate)],
            &[describe, ("ACTION", terminate)],
            &[describe, ("Action[]", terminate)],
            &[describe, (" Action", terminate)],
            &[describe, ("$Action", terminate)],
            &[describe, ("x-acs-action", terminate)],
            &[("action", terminate)],
        ] {
            assert_eq!(operation(parameter(), pairs, &[]), None, "{pairs:?}");
        }
        for header in ["action", "x-amz-target", "x-acs-action"] {
            assert_eq!(operation(parameter(), &[describe], &[(header, terminate)]), None, "{header}");
        }
    }

    #[test]
    fn adv_113_an_operation_in_a_header_stands_there_alone() {
        let place = || OperationPlace::Header("x-acs-action".to_owned());
        let describe = ("x-acs-action", "DescribeInstances");
        assert_eq!(operation(place(), &[], &[describe]).as_deref(), Some("DescribeInstances"));
        assert_eq!(operation(place(), &[], &[]), None);
        for name in ["Action", "action", "X-Acs-Action", "XAcsAction"] {
            assert_eq!(operation(place(), &[(name, "DeleteInstance")], &[describe]), None, "{name}");
            assert_eq!(operation(place(), &[(name, "DeleteInstance")], &[]), None, "{name}");
        }
    }

    #[test]
    fn adv_113_a_signed_request_has_its_version_in_a_header_alone() {
        let check = |name: &str| has_no_meaning(&[(name.to_owned(), "2014-05-26".to_owned())]);
        for name in [
            "Version",
            "version",
            "VERSION ",
            "Format",
            "Timestamp",
            "SignatureVersion",
            "Signature.Method",
            "x-acs-version",
        ] {
            assert!(check(name).is_err(), "{name}");
        }
        for name in ["AddressIpVersion", "RegionId", "InstanceIds", "EngineVersion"] {
            assert!(check(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn patterns_stand_for_operations_in_any_letter_case() {
        for (pattern, operation, expected) in [
            ("Describe*", "DescribeInstances", true),
            ("Describe*", "Describe", true),
            ("Describe*", "describeinstances", true),
            ("Describe*", "TerminateDescribe", false),
            ("*Instances", "TerminateInstances", true),
            ("*Instances", "InstancesX", false),
            ("Describe*Tables", "DescribeRouteTables", true),
            ("Describe*Tables", "DescribeTable", false),
            ("a*a", "a", false),
            ("a*b*b", "ab", false),
            ("a*b*b", "abxb", true),
            ("*", "Anything", true),
            ("CreateRoute", "CreateRoute", true),
            ("CreateRoute", "CreateRouteTable", false),
        ] {
            assert_eq!(OperationPattern::parse(pattern).unwrap().matches(operation), expected, "{pattern} {operation}");
        }
        for wrong in ["", "Describe Instances", "Action=*", "ü*", "a,b", "a\n"] {
            assert!(OperationPattern::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_pattern_covers_what_stands_for_no_more() {
        for (wide, narrow, expected) in [
            ("*", "Describe*", true),
            ("*", "*", true),
            ("Describe*", "describeInstances", true),
            ("Describe*", "Describe*Tables", true),
            ("Describe*", "D*", false),
            ("DescribeInstances", "Describe*", false),
            ("*Instances", "Describe*", false),
            ("D*s", "Describe*s", true),
            ("a*b*c", "axbyc", true),
            ("a*b*c", "a*c", false),
            ("a**", "a", true),
        ] {
            let pattern = |it| OperationPattern::parse(it).unwrap();
            assert_eq!(pattern(wide).covers(&pattern(narrow)), expected, "{wide} {narrow}");
        }
    }

    /// All patterns of up to three characters against all operations of up to four.
    #[test]
    fn a_wider_pattern_matches_all_that_a_covered_one_does() {
        let texts = |characters: &str, most: usize| {
            let mut all = vec![String::new()];
            let mut newest = all.clone();
            for _ in 0..most {
                newest =
                    newest.iter().flat_map(|it| characters.chars().map(move |next| format!("{it}{next}"))).collect();
                all.extend(newest.clone());
            }
            all.split_off(1)
        };
        let patterns = texts("aB*", 3);
        let patterns: Vec<_> = patterns.iter().map(|it| OperationPattern::parse(it).unwrap()).collect();
        let operations = texts("Abc", 4);
        let mut covered = 0;
        for (wide, narrow) in patterns.iter().flat_map(|wide| patterns.iter().map(move |narrow| (wide, narrow))) {
            let holds = operations.iter().all(|it| wide.matches(it) || !narrow.matches(it));
            assert!(holds || !wide.covers(narrow), "{wide} covers {narrow}");
            covered += u32::from(wide.covers(narrow));
        }
        assert!(covered > 200, "only {covered} pairs cover");
    }

    #[test]
    fn adv_113_fixed_parameters_stand_there_exactly_once() {
        let check = |pairs: &[(&str, &str)]| {
            let pairs: Vec<_> = pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
            has_fixed(&[("Version".to_owned(), "2015-12-01".to_owned())], &pairs).is_ok()
        };
        let own = ("Version", "2015-12-01");
        assert!(check(&[own]) && check(&[("a", "b"), own]));
        for pairs in [
            &[][..],
            &[("Version", "2012-06-01")],
            &[own, own],
            &[own, ("Version", "2012-06-01")],
            &[own, ("version", "2012-06-01")],
            &[("version", "2015-12-01")],
            &[own, ("VERSION ", "x")],
        ] {
            assert!(!check(pairs), "{pairs:?}");
        }
    }
}
