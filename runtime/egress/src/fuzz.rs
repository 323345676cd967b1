//! Structured fuzzing of the policy: what it lets through is what a second, naive reading lets through, and what goes
//! out reads back as what was asked for.

mod foreign;

use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use url::Url;

use crate::base_url::BaseUrl;
use crate::canonical::PathPattern;
use crate::content::RuleContent;
use crate::effect::Effect;
use crate::endpoint::{Endpoint, Rule};
use crate::operation::{OperationPattern, OperationPlace};
use crate::policy::{self, CallState, Mode};
use crate::request::{Body, GuestRequest, Method};

/// How long the test runs. `AEROSTAT_FUZZ_SECONDS` in the environment lengthens or shortens it.
const SECONDS: u64 = 10;

/// A rule as the naive reading has it: methods, patterns as lists of words, operations that it names in full, an effect, and
/// the parameters that may stand.
type FuzzWords = (Vec<Method>, Vec<Vec<String>>, Vec<&'static str>, Option<Effect>, Option<Vec<&'static str>>);

#[derive(Clone, Debug)]
struct Case {
    base_url: &'static str,
    rules: Vec<FuzzWords>,
    state: CallState,
    method: Method,
    path: Vec<String>,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    body: Option<Body>,
    /// Whether the endpoint has an operation, in the parameter `Action`.
    has_operation: bool,
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how long to fuzz is said by whoever runs the tests")]
fn a_permitted_request_was_asked_for_and_allowed() {
    let seconds = std::env::var("AEROSTAT_FUZZ_SECONDS").ok().map_or(SECONDS, |it| it.parse().expect("a number"));
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let (mut permitted, mut denied) = (0_u64, 0_u64);
    loop {
        for _ in 0..1000 {
            let mut tree = case().new_tree(&mut runner).expect("nothing is filtered");
            match check(&tree.current()) {
                Ok(true) => permitted += 1,
                Ok(false) => denied += 1,
                Err(_) => fail(&mut tree),
            }
        }
        if Instant::now() > end {
            break;
        }
    }
    assert!(permitted * 50 > denied && denied * 50 > permitted, "lopsided: {permitted} permitted, {denied} denied");
}

/// Shrinks a case that fails, and fails with what is left of it.
fn fail(tree: &mut dyn ValueTree<Value = Case>) -> ! {
    loop {
        let has_next = if check(&tree.current()).is_err() { tree.simplify() } else { tree.complicate() };
        if !has_next {
            break;
        }
    }
    while check(&tree.current()).is_ok() && tree.complicate() {}
    let case = tree.current();
    panic!("{:?} for {case:#?}", check(&case).err());
}

/// Whether the case was permitted, or which invariant does not hold.
fn check(case: &Case) -> Result<bool, String> {
    let endpoint = case.endpoint();
    let result = policy::permit(&[Arc::new(endpoint.clone())], case.state, case.request());
    let expected = case.is_allowed();
    let permitted = match result {
        Ok(permitted) if expected => permitted,
        Err(_) if !expected => return Ok(false),
        Ok(permitted) => return Err(format!("permitted by {}", permitted.rule())),
        Err(denied) => return Err(format!("denied: {denied}")),
    };
    let that = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };

    let base = Url::parse(case.base_url).map_err(|it| it.to_string())?;
    let text = format!("{}{}", endpoint.place.origins()[0], permitted.target());
    let url = Url::parse(&text).map_err(|it| format!("{text}: {it}"))?;
    that(url.origin() == base.origin(), "another origin")?;
    that(url.username().is_empty() && url.password().is_none(), "a user name")?;
    that(url.as_str() == text, &format!("{text} is not canonical, but {url}"))?;
    that(url.fragment().is_none(), "a fragment")?;
    that(text.bytes().all(|it| it.is_ascii_graphic()), "characters that are not visible")?;

    let decode = |it: &str| percent_encoding::percent_decode_str(it).decode_utf8().map(|it| it.into_owned());
    let segments: Vec<_> =
        url.path_segments().into_iter().flatten().map(decode).collect::<Result<_, _>>().map_err(|it| it.to_string())?;
    let prefix: Vec<_> = base.path().split('/').filter(|it| !it.is_empty()).map(str::to_owned).collect();
    let asked: Vec<_> = prefix.into_iter().chain(case.path.iter().cloned()).collect();
    let segments = if asked.is_empty() && segments == [""] { Vec::new() } else { segments };
    that(segments == asked, &format!("segments {segments:?}"))?;
    that(
        segments.iter().all(|it| !matches!(it.as_str(), "" | "." | "..") && !it.contains(['/', '\\'])),
        "a dot segment",
    )?;
    let pairs: Vec<_> = url.query_pairs().into_owned().collect();
    that(pairs == case.query, &format!("query {pairs:?}"))?;

    let uri: http::Uri = text.parse().map_err(|it| format!("{text}: {it}"))?;
    that(uri.path_and_query().is_some_and(|it| it.as_str() == permitted.target()), "http reads another target")?;
    that(uri.authority() == Some(&endpoint.place.origins()[0].authority()), "http reads another authority")?;

    that(Some(permitted.effect()) == case.effect(), &format!("the effect {}", permitted.effect()))?;
    if let Some(Body::Form(form)) = &case.body {
        let written: Vec<_> = url::form_urlencoded::parse(permitted.body()).into_owned().collect();
        that(written == *form, &format!("form {written:?}"))?;
    }
    let (headers, _) = permitted.into_headers_and_body();
    for (name, value) in &headers {
        let name = name.as_str();
        that(["accept", "content-type", "if-match", "prefer", "x-extra"].contains(&name), name)?;
        that(value.as_bytes().iter().all(|it| (0x20..0x7f).contains(it)), "a header's value")?;
    }
    let form = matches!(case.body, Some(Body::Form(_)));
    that(headers.len() == case.headers.len() + usize::from(form), "headers are missing")?;
    Ok(true)
}

impl Case {
    fn endpoint(&self) -> Endpoint {
        let pattern = |words: &Vec<String>| PathPattern::parse(&format!("/{}", words.join("/"))).expect("a pattern");
        let rule = |(methods, paths, operations, effect, only): &FuzzWords| {
            let operations = operations.iter().filter(|_| self.has_operation);
            Rule {
                operations: operations.map(|it| OperationPattern::parse(it).expect("a pattern")).collect(),
                effect: *effect,
                content: RuleContent::parse(only.as_deref(), &[], &[]).expect("names"),
                ..Rule::new(methods.clone(), paths.iter().map(pattern).collect::<Vec<_>>())
            }
        };
        Endpoint {
            operation: self.has_operation.then(|| OperationPlace::Parameter("Action".to_owned())),
            allow: self.rules.iter().map(rule).collect(),
            headers: vec!["X-Extra".to_owned()],
            ..Endpoint::new("api", BaseUrl::parse(self.base_url).expect("a base URL"))
        }
    }

    fn request(&self) -> GuestRequest {
        GuestRequest {
            endpoint: "api".to_owned(),
            method: self.method,
            path: self.path.clone(),
            query: self.query.clone(),
            headers: self.headers.clone(),
            body: self.body.clone(),
        }
    }

    /// All names and values of query and form.
    fn pairs(&self) -> Vec<&(String, String)> {
        let form = match &self.body {
            Some(Body::Form(form)) => form.as_slice(),
            Some(Body::Bytes(_)) | None => &[],
        };
        self.query.iter().chain(form).collect()
    }

    /// The rules that match by method, path and operation.
    fn rules(&self) -> Vec<&FuzzWords> {
        let operations: Vec<_> =
            self.pairs().into_iter().filter(|(key, _)| key.eq_ignore_ascii_case("action")).collect();
        let operation = match operations[..] {
            _ if !self.has_operation => None,
            [(key, value)] if key == "Action" => Some(value),
            _ => return Vec::new(),
        };
        let rules = self.rules.iter().filter(|(methods, patterns, operations, _, _)| {
            methods.contains(&self.method)
                && patterns.iter().any(|it| matches(it, &self.path))
                && operation.is_none_or(|it| operations.iter().any(|own| own.eq_ignore_ascii_case(it)))
        });
        rules.collect()
    }

    /// The effect of the request, by the rules that match; `None` if none does.
    fn effect(&self) -> Option<Effect> {
        let by_method = match self.method {
            Method::Get | Method::Head => Effect::Read,
            Method::Post | Method::Put | Method::Patch => Effect::Write,
            Method::Delete => Effect::Delete,
        };
        self.rules().into_iter().map(|(_, _, _, effect, _)| effect.unwrap_or(by_method)).max()
    }

    /// Whether one of the rules that match lets everything stand that is there.
    fn may_all_stand(&self) -> bool {
        let pairs = self.pairs();
        let names: Vec<_> =
            pairs.iter().map(|(key, _)| key.as_str()).filter(|it| !self.has_operation || *it != "Action").collect();
        let is_once = |name: &&str| names.iter().filter(|it| *it == name).count() == 1;
        let has_bytes = matches!(&self.body, Some(Body::Bytes(bytes)) if !bytes.is_empty());
        self.rules().into_iter().any(|(_, _, _, _, only)| match only {
            None => true,
            Some(only) => !has_bytes && names.iter().all(|it| only.contains(it) && is_once(it)),
        })
    }

    /// The policy once more, written as plainly as can be.
    fn is_allowed(&self) -> bool {
        let Some(effect) = self.effect() else { return false };
        let reads = effect == Effect::Read;
        let may_send = match self.state.mode {
            Mode::None => false,
            Mode::Read => reads,
            Mode::Update => reads || (self.state.leads && effect == Effect::Update),
            Mode::Write { deletes } => {
                let takes_away = [Effect::Delete, Effect::Detach].contains(&effect);
                (reads || self.state.leads) && (!takes_away || self.state.deletes < deletes)
            }
        };
        let is_plain = |text: &str| !text.chars().any(char::is_control);
        let path_is_plain = self.path.iter().all(|segment| {
            is_plain(segment)
                && !["", ".", ".."].contains(&segment.as_str())
                && !segment.contains('/')
                && !segment.contains('\\')
        });
        let pairs_are_plain = self.pairs().into_iter().all(|(key, value)| {
            !key.is_empty() && is_plain(key) && is_plain(value) && !KEYS_REFUSED.contains(&key.as_str())
        });
        let mut names: Vec<_> = self.headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
        names.sort();
        let count = names.len();
        names.dedup();
        let headers_are_plain = names.len() == count
            && names
                .iter()
                .all(|it| ["accept", "content-type", "if-match", "prefer", "x-extra"].contains(&it.as_str()))
            && self.headers.iter().all(|(_, value)| value.chars().all(|it| (' '..='~').contains(&it)));
        let body_fits = match self.body {
            None => true,
            Some(_) if matches!(self.method, Method::Get | Method::Head) => false,
            Some(Body::Bytes(_)) => !self.has_operation,
            Some(Body::Form(_)) => !names.contains(&"content-type".to_owned()),
        };
        // A read says nowhere what it does, unless the operator has named the place.
        let says_nothing =
            self.has_operation || !reads || !self.pairs().iter().any(|(key, _)| key.eq_ignore_ascii_case("action"));
        may_send
            && says_nothing
            && self.may_all_stand()
            && path_is_plain
            && pairs_are_plain
            && headers_are_plain
            && self.state.requests < 100
            && body_fits
    }
}

/// Takes the pattern apart from its left end.
fn matches(pattern: &[String], path: &[String]) -> bool {
    match pattern.split_first() {
        None => path.is_empty(),
        Some((word, rest)) if word == "**" => (0..=path.len()).any(|it| matches(rest, &path[it..])),
        Some((word, rest)) => {
            path.split_first().is_some_and(|(segment, path)| (word == "*" || word == segment) && matches(rest, path))
        }
    }
}

/// Words of at most four letters that carry a credential, alone or as a part.
const SHORT_CREDENTIALS: [&str; 14] =
    ["auth", "hmac", "jwt", "key", "otp", "pass", "pat", "pw", "sas", "sid", "sig", "xacs", "xamz", "xoss"];

const KEYS_REFUSED: [&str; 5] = ["token", "API_KEY", "X-Amz-Signature", "auth[password]", "_method"];

fn case() -> impl Strategy<Value = Case> {
    let path = prop::collection::vec(segment(), 0..5);
    let request = (path, query(), headers(), body(), operation());
    (base_url(), rules(), state(), method(), request, prop::bool::weighted(0.3)).prop_map(
        |(base_url, rules, state, method, (path, mut query, headers, body, operation), has_operation)| {
            let mut body = body.filter(|_| method.has_body() || path.len() == 4);
            for (place, pair) in operation {
                match (&mut body, place) {
                    (Some(Body::Form(form)), true) => form.push(pair),
                    _ => query.push(pair),
                }
            }
            Case { base_url, rules, state, method, path, query, headers, body, has_operation }
        },
    )
}

fn base_url() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "https://api.example.com",
        "https://api.example.com:8443/v3/",
        "https://[2001:db8::7]",
        "http://127.0.0.1:8080/a/b",
    ])
}

fn rules() -> impl Strategy<Value = Vec<FuzzWords>> {
    let word = prop_oneof![
        4 => prop::sample::select(vec!["v2", "droplets", "a:b", "x y"]).prop_map(str::to_owned),
        1 => Just("*".to_owned()),
        3 => Just("**".to_owned()),
    ];
    let patterns = prop::collection::vec(prop::collection::vec(word, 1..5), 1..4);
    let operations = prop::collection::vec(prop::sample::select(OPERATIONS.to_vec()), 1..4);
    let effect = prop::option::weighted(0.5, prop::sample::select(Effect::ALL.to_vec()));
    let only = prop::option::weighted(0.4, prop::sample::subsequence(NAMED.to_vec(), 0..=NAMED.len()));
    prop::collection::vec((prop::collection::vec(method(), 1..4), patterns, operations, effect, only), 1..4)
}

/// Names that rules let stand.
const NAMED: [&str; 3] = ["page", "Tag.1", "tag.1"];

const OPERATIONS: [&str; 3] = ["List", "Make", "Remove"];

/// The operations that a request names: as a rule one, and whether in the form.
fn operation() -> impl Strategy<Value = Vec<(bool, (String, String))>> {
    let name = prop_oneof![12 => Just("Action"), 1 => Just("action"), 1 => Just("ACTION")];
    let value = prop_oneof![
        12 => prop::sample::select(OPERATIONS.to_vec()),
        1 => prop::sample::select(vec!["", "list", "REMOVE", "Remove*", "*"]),
    ];
    let pair = (name, value).prop_map(|(name, value)| (name.to_owned(), value.to_owned()));
    prop_oneof![
        1 => Just(Vec::new()),
        8 => prop::collection::vec((any::<bool>(), pair.clone()), 1..2),
        1 => prop::collection::vec((any::<bool>(), pair), 2..3),
    ]
}

fn state() -> impl Strategy<Value = CallState> {
    let mode = prop_oneof![
        1 => Just(Mode::None),
        4 => Just(Mode::Read),
        4 => Just(Mode::Update),
        12 => (0_u32..3).prop_map(|deletes| Mode::Write { deletes }),
    ];
    let requests = prop_oneof![12 => 0_u32..100, 1 => 100_u32..102];
    (mode, prop::bool::weighted(0.9), requests, 0_u32..3).prop_map(|(mode, leads, requests, deletes)| CallState {
        mode,
        leads,
        requests,
        most: 100,
        deletes,
    })
}

fn method() -> impl Strategy<Value = Method> {
    prop::sample::select(Method::ALL.to_vec())
}

fn segment() -> impl Strategy<Value = String> {
    prop_oneof![
        12 => prop::sample::select(vec!["v2", "droplets", "a:b", "x y"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec![
            "", ".", "..", "...", "%2e%2e", "%2E.", "a/b", "/", "\\", "a%2fb", "a;b", "a?b", "a#b", "@evil.test", "//evil.test",
            "http:", "*", "**", "\r\n", "\0", "\u{7f}", "\u{85}", "\u{202e}", "ü", "%", "%%", "+", "~", "C:",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn query() -> impl Strategy<Value = Vec<(String, String)>> {
    let key = prop_oneof![
        10 => "[a-z_]{2}[a-z_\\[\\]]{0,2}",
        10 => prop::sample::select(NAMED.to_vec()).prop_map(str::to_owned),
        1 => prop::sample::select(KEYS_REFUSED.to_vec()).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["", "a\n", "a&b=c", "ü", "?", "#", "%26"]).prop_map(str::to_owned),
    ]
    // Words that authenticate by chance.
    .prop_map(|name| {
        let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        if SHORT_CREDENTIALS.iter().any(|word| letters.contains(word)) { "page".to_owned() } else { name }
    });
    let value = prop_oneof![8 => "[ -~]{0,8}", 1 => any::<String>()];
    prop::collection::vec((key, value), 0..3)
}

fn headers() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = prop_oneof![
        12 => prop::sample::select(vec!["accept", "Content-Type", "IF-MATCH", "prefer", "x-extra"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec![
            "authorization", "Cookie", "HOST", "x-forwarded-for", "proxy-connection", "content-length", "x-other", "",
            "accept\r\nhost", "accept ", "accépt",
        ]).prop_map(str::to_owned),
    ];
    let value = prop_oneof![12 => "[ -~]{0,8}", 1 => any::<String>()];
    prop::collection::vec((name, value), 0..3)
}

fn body() -> impl Strategy<Value = Option<Body>> {
    let body = prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 0..8).prop_map(Body::Bytes),
        3 => query().prop_map(Body::Form),
    ];
    prop::option::weighted(0.3, body)
}
