//! Whether a request may leave: one pure function, and the only maker of [`Permitted`].

mod permitted;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue, IF_MATCH, IF_NONE_MATCH};

pub(crate) use self::permitted::Permitted;
use self::permitted::TOKENS;
use crate::base_url::BaseUrl;
use crate::canonical::{self, PathPattern, shown};
use crate::content::Carried;
use crate::effect::Effect;
use crate::endpoint::{Endpoint, Requirement, Rule, Signing};
use crate::operation::{self, OperationPlace};
use crate::request::{Body, GuestRequest, Method};

/// Requests of one call about one object, sent and refused ones together.
pub(crate) const REQUESTS: u32 = 100;
/// The largest request body. No cloud's API needs more.
const BODY_BYTES: usize = 8 << 20;

/// The most rules of which it is said why they refuse what a request carries.
const SHOWN_REFUSALS: usize = 3;

/// The HTTP requests that a call may send.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mode {
    /// Nothing: `describe`.
    None,
    /// Requests that only read: `identity`, `get`, `list`.
    Read,
    /// Beside these, requests that change an object that stays or give it members, and nothing else: `attach`.
    Update,
    /// Everything that the rules allow, and so many times what takes something away: `ensure`, `delete`.
    Write {
        /// The most deletions and detachments in one call.
        deletes: u32,
    },
}

/// The call's state when its request is judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallState {
    pub(crate) mode: Mode,
    /// Whether this process may write at all now: it leads, or nobody has to.
    pub(crate) leads: bool,
    /// Requests that the call has made before.
    pub(crate) requests: u32,
    /// The most that it may make.
    pub(crate) most: u32,
    /// Deletions and detachments among them that were permitted.
    pub(crate) deletes: u32,
}

/// Why the policy refuses.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Denied {
    pub(crate) code: Code,
    /// A sentence that says what the operator would have to allow, without its full stop.
    because: String,
    pub(crate) known: Recognized,
}

/// The part of a request that was known when it was refused.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Recognized {
    /// Its path, which says what it is about.
    Path,
    /// Nothing: its endpoint has operations, and it was refused before its own was read.
    Nothing,
    /// Its operation, and what that does if a rule says so.
    Operation(String, Option<Effect>),
}

impl Denied {
    pub(crate) fn new(code: Code, because: impl Into<String>) -> Self {
        Self { code, because: because.into(), known: Recognized::Path }
    }

    pub(crate) fn knowing(self, known: Recognized) -> Self {
        Self { known, ..self }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.because)
    }
}

/// The stable codes of denials.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Code {
    Endpoint,
    ReadOnly,
    Leader,
    Method,
    Path,
    Header,
    Query,
    Operation,
    Content,
    Budget,
    Writes,
    Ip,
    Credential,
}

impl Code {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Endpoint => "E-EGRESS-ENDPOINT",
            Self::ReadOnly => "E-EGRESS-READONLY",
            Self::Leader => "E-EGRESS-LEADER",
            Self::Method => "E-EGRESS-METHOD",
            Self::Path => "E-EGRESS-PATH",
            Self::Header => "E-EGRESS-HEADER",
            Self::Query => "E-EGRESS-QUERY",
            Self::Operation => "E-EGRESS-OPERATION",
            Self::Content => "E-EGRESS-CONTENT",
            Self::Budget => "E-EGRESS-BUDGET",
            Self::Writes => "E-EGRESS-WRITES",
            Self::Ip => "E-EGRESS-IP",
            Self::Credential => "E-EGRESS-CREDENTIAL",
        }
    }
}

/// Decides about a request. The first objection counts, in the order of the questions here.
pub(crate) fn permit(
    endpoints: &[Arc<Endpoint>],
    state: CallState,
    request: GuestRequest,
) -> Result<Permitted, Denied> {
    let endpoint = named(endpoints, &request.endpoint)?;
    let mut known = if endpoint.operation.is_none() { Recognized::Path } else { Recognized::Nothing };
    permit_at(endpoint, state, request, &mut known).map_err(|it| it.knowing(known))
}

/// The same at its endpoint. `known` becomes more on the way.
fn permit_at(
    endpoint: &Arc<Endpoint>,
    state: CallState,
    request: GuestRequest,
    known: &mut Recognized,
) -> Result<Permitted, Denied> {
    let GuestRequest { endpoint: _, method, path, query, headers, body } = request;
    // The least that a rule could say of it: what writes by every rule is refused before anything else is read.
    let rules = endpoint.allow.iter().filter(|it| it.methods.contains(&method));
    let least = rules.map(|it| it.effect_of(method)).min().unwrap_or(Effect::of(method));
    may_call_send(state, method, least, None, None)?;
    let refused = |code| move |because: String| Denied::new(code, format!("endpoint {}: {because}", endpoint.name));
    let (matching, target) = allowed(endpoint, method, &path, body.is_some())?;
    if canonical::asks_for_tokens(endpoint.place.path().iter().chain(&path).map(String::as_str)) {
        return Err(refused(Code::Path)(TOKENS.to_owned()));
    }
    let operation_header = match &endpoint.operation {
        Some(OperationPlace::Header(name)) => Some(name.as_str()),
        Some(OperationPlace::Parameter(_)) | None => None,
    };
    let mut headers =
        canonical::headers(&headers, &endpoint.headers, operation_header).map_err(refused(Code::Header))?;
    let opened: Vec<_> = endpoint.allow.iter().flat_map(|it| it.content.opened()).collect();
    let written_query = canonical::query(&query, &opened).map_err(refused(Code::Query))?;
    let mut pairs = query;
    let is_form = matches!(body, Some(Body::Form(_)));
    let body = match body {
        None => Bytes::new(),
        Some(Body::Bytes(_)) if endpoint.operation.is_some() => {
            let because = "a body is a form where the endpoint has an operation; no config can allow another one";
            return Err(refused(Code::Operation)(because.to_owned()));
        }
        Some(Body::Bytes(bytes)) => {
            canonical::check_bytes(&headers, &bytes).map_err(refused(Code::Query))?;
            Bytes::from(bytes)
        }
        Some(Body::Form(form)) => {
            let written = canonical::form(&form, &opened).map_err(refused(Code::Query))?;
            if headers.insert(CONTENT_TYPE, HeaderValue::from_static(canonical::FORM)).is_some() {
                let because = "the header \"content-type\" is the host's to set where the body is a form";
                return Err(refused(Code::Header)(because.to_owned()));
            }
            pairs.extend(form);
            Bytes::from(written)
        }
    };
    if matches!(endpoint.signing, Some(Signing::Acs3 { .. })) {
        operation::has_no_meaning(&pairs).map_err(refused(Code::Operation))?;
    }
    operation::has_fixed(&endpoint.parameters, &pairs).map_err(refused(Code::Operation))?;
    let operation = match &endpoint.operation {
        Some(place) => Some(place.of(&pairs, &headers).map_err(refused(Code::Operation))?),
        None => None,
    };
    let note = |known: &mut Recognized, effect| {
        if let Some(operation) = operation {
            *known = Recognized::Operation(operation.to_owned(), effect);
        }
    };
    note(known, None);
    let own = endpoint.own_names();
    let carried = Carried { pairs: &pairs, own: &own, headers: &headers, body: if is_form { &[] } else { &body } };
    let judged = judge(endpoint, &matching, method, operation, carried)?;
    note(known, Some(judged.effect));
    if endpoint.operation.is_none() && !judged.effect.writes() {
        operation::has_none(&pairs, &headers).map_err(refused(Code::Operation))?;
    }
    may_call_send(state, method, judged.effect, Some(&judged.rule), operation)?;
    if let Some(because) = judged.refused {
        return Err(refused(Code::Content)(because));
    }
    meets(&judged.requires, &headers).map_err(refused(Code::Header))?;
    within_budgets(state, judged.effect, &body)?;
    let operation = operation.map(str::to_owned);
    let target = if written_query.is_empty() { target } else { format!("{target}?{written_query}") };
    let MatchedRules { rule, effect, requires: _, refused: _ } = judged;
    let (endpoint, origin) = (endpoint.clone(), endpoint.place.base_url().map(BaseUrl::origin));
    Ok(Permitted { endpoint, rule, effect, operation, method, origin, target, headers, body })
}

/// A request of the host itself, for a token. What stands in it is the host's own: it may name what no guest may.
pub(crate) struct OwnRequest {
    pub(crate) method: Method,
    /// Unescaped segments under the endpoint's base URL.
    pub(crate) path: Vec<String>,
    /// A slash follows the path, for what is called a folder there.
    pub(crate) is_folder: bool,
    /// Escaped, without the question mark; empty for none.
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Decides about a request of the host itself, at an endpoint of a credential's own.
pub(crate) fn permit_own(endpoint: &Arc<Endpoint>, request: OwnRequest) -> Result<Permitted, Denied> {
    let OwnRequest { method, path, is_folder, query, headers, body } = request;
    let (matching, mut target) = allowed(endpoint, method, &path, !body.is_empty())?;
    if is_folder {
        target.push('/');
    }
    if !query.is_empty() {
        target = format!("{target}?{query}");
    }
    let carried = Carried { pairs: &[], own: &[], headers: &headers, body: &body };
    let MatchedRules { rule, effect, .. } = judge(endpoint, &matching, method, None, carried)?;
    let (endpoint, origin) = (endpoint.clone(), endpoint.place.base_url().map(BaseUrl::origin));
    Ok(Permitted { endpoint, rule, effect, operation: None, method, origin, target, headers, body })
}

/// Whether this process may write now. Asked again just before a request leaves, which may be a while later.
pub(crate) fn may_write(leads: bool, effect: Effect) -> Result<(), Denied> {
    if leads || !effect.writes() {
        return Ok(());
    }
    Err(Denied::new(
        Code::Leader,
        format!("this is a {effect}, and this process no longer leads; the one that holds the Lease does it"),
    ))
}

fn named<'a>(endpoints: &'a [Arc<Endpoint>], name: &str) -> Result<&'a Arc<Endpoint>, Denied> {
    endpoints.iter().find(|it| it.name == name).ok_or_else(|| {
        let known = endpoints.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "none".to_owned() } else { known };
        Denied::new(
            Code::Endpoint,
            format!(
                "there is no endpoint {}; the operator would have to add it to `endpoints` (there are: {known})",
                shown(name)
            ),
        )
    })
}

/// A rule that matches method and path, and where it stands.
type Matching<'a> = (usize, &'a Rule, &'a PathPattern);

/// The rules that allow `method` on `path`, at least one, and the path as it goes out.
fn allowed<'a>(
    endpoint: &'a Endpoint,
    method: Method,
    path: &[String],
    has_body: bool,
) -> Result<(Vec<Matching<'a>>, String), Denied> {
    let name = &endpoint.name;
    if !endpoint.allow.iter().any(|it| it.methods.contains(&method)) {
        return Err(Denied::new(
            Code::Method,
            format!("endpoint {name} allows {method} nowhere; the operator would have to add it to a rule of `allow`"),
        ));
    }
    if has_body && !method.has_body() {
        // Servers disagree about where such a request ends.
        return Err(Denied::new(Code::Method, format!("a {method} has no body; no config can allow it")));
    }
    let target = canonical::path(endpoint.place.path(), path)
        .map_err(|because| Denied::new(Code::Path, format!("endpoint {name}: the request's path {because}")))?;
    let rules = endpoint.allow.iter().enumerate().filter(|(_, rule)| rule.methods.contains(&method));
    let matching: Vec<_> =
        rules.filter_map(|(index, rule)| Some((index, rule, rule.paths.iter().find(|it| it.matches(path))?))).collect();
    if !matching.is_empty() {
        return Ok((matching, target));
    }
    let asked: String = canonical::encode_path(path).chars().take(256).collect();
    Err(Denied::new(
        Code::Path,
        format!(
            "endpoint {name} does not allow {method} {asked}; the operator would have to add a rule with this method and \
             a path that matches"
        ),
    ))
}

/// The judgement of the rules that match a request.
struct MatchedRules {
    /// For the audit line.
    rule: String,
    effect: Effect,
    requires: Vec<Requirement>,
    /// Why none of the rules lets all stand that the request carries.
    refused: Option<String>,
}

/// The most harmful effect of the rules that match, also by the operation, counts, and each one's requirements: a wide
/// rule for reads must not cover what a narrow one calls a deletion. The content of a request plays no part in that: it
/// could be chosen so that the narrow rule does not match. One of the rules has to let all of it stand.
///
/// Texts in `body` are the one exception. A rule that names some is left out where another one lets all of the request stand that names
/// none of them in the same member: that was read then, and is something else. What is not read counts as the worst.
fn judge(
    endpoint: &Endpoint,
    matching: &[Matching<'_>],
    method: Method,
    operation: Option<&str>,
    carried: Carried<'_>,
) -> Result<MatchedRules, Denied> {
    let name = &endpoint.name;
    let fits = |rule: &Rule| operation.is_none_or(|it| rule.operations.iter().any(|pattern| pattern.matches(it)));
    let mut requires = Vec::new();
    let mut worst: Option<((Effect, bool), String)> = None;
    let (mut is_admitted, mut refusals) = (false, Vec::new());
    let fitting = matching.iter().filter(|(_, rule, _)| fits(rule));
    let fitting: Vec<_> = fitting.map(|it| (it, it.1.content.admits(carried))).collect();
    let is_another = |rule: &Rule| {
        fitting.iter().any(|((_, other, _), admits)| admits.is_ok() && other.content.excludes(&rule.content))
    };
    for ((index, rule, path), admits) in &fitting {
        let pattern = operation.and_then(|it| rule.operations.iter().find(|pattern| pattern.matches(it)));
        let pattern = pattern.map(|it| format!(" {it}")).unwrap_or_default();
        let shown = format!("{name}.allow[{index}] {method} {path}{pattern}");
        let admits = match admits {
            Ok(()) => true,
            Err(_) if is_another(rule) => continue,
            Err(because) => {
                refusals.push(format!("{because} ({shown})"));
                false
            }
        };
        is_admitted |= admits;
        requires.extend(rule.requires.iter().copied());
        let harm = (rule.effect_of(method), admits);
        if worst.as_ref().is_none_or(|(it, _)| *it < harm) {
            worst = Some((harm, shown));
        }
    }
    refusals.truncate(SHOWN_REFUSALS);
    let refused = (!is_admitted && !refusals.is_empty()).then(|| {
        format!(
            "{}; the operator would have to let all that the request carries stand in one rule",
            refusals.join("; ")
        )
    });
    match worst {
        Some(((effect, _), rule)) => Ok(MatchedRules { rule, effect, requires, refused }),
        None => Err(Denied::new(
            Code::Operation,
            format!(
                "endpoint {name} does not allow the operation {}; the operator would have to add it to `operations` of a \
                 rule, with its effect",
                shown(operation.unwrap_or_default())
            ),
        )),
    }
}

/// Whether a call may send a request that does this, as `rule` says of its `operation`, or whichever rule it is.
fn may_call_send(
    state: CallState,
    method: Method,
    effect: Effect,
    rule: Option<&str>,
    operation: Option<&str>,
) -> Result<(), Denied> {
    match state.mode {
        Mode::None => {
            Err(Denied::new(Code::ReadOnly, "this call has no HTTP: `describe` answers without asking the cloud"))
        }
        Mode::Read if effect.writes() => {
            let what = match (rule, operation) {
                (Some(rule), Some(operation)) => format!("{} ({rule})", shown(operation)),
                (Some(rule), None) => rule.to_owned(),
                (None, _) => method.to_string(),
            };
            let next = match method {
                Method::Get | Method::Head | Method::Post => {
                    "if these requests only read, the operator would have to say effect: read in their rule"
                }
                Method::Put | Method::Patch | Method::Delete => "no config can allow it",
            };
            let because = format!("{what} has the effect {effect} here, and this call only reads; {next}");
            Err(Denied::new(Code::ReadOnly, because))
        }
        Mode::Read | Mode::Update | Mode::Write { .. } => may_write(state.leads, effect),
    }
}

/// Whether a request has what its rules require. The error is a sentence without its full stop.
fn meets(requires: &[Requirement], headers: &HeaderMap) -> Result<(), String> {
    for required in requires {
        match required {
            Requirement::IfMatch => {
                let version = headers.get(IF_MATCH).map(|it| it.as_bytes().trim_ascii()).unwrap_or_default();
                // A write that makes an object (`if-none-match: *`) undoes nothing.
                let is_new = headers.get(IF_NONE_MATCH).is_some_and(|it| it.as_bytes().trim_ascii() == b"*");
                if is_new && !headers.contains_key(IF_MATCH) {
                    continue;
                }
                // A star matches whatever is there.
                if version.is_empty() || version.contains(&b'*') {
                    return Err(
                        "the request needs the header if-match with the version that was read, and no star, or for what is \
                                to be made if-none-match with a star; the operator would have to take if-match out of `requires` of the rule"
                            .to_owned(),
                    );
                }
            }
        }
    }
    Ok(())
}

fn within_budgets(state: CallState, effect: Effect, body: &[u8]) -> Result<(), Denied> {
    let over = |what: String| Err(Denied::new(Code::Budget, format!("{what}; no config can allow it")));
    if state.requests >= state.most {
        return over(format!("one call may make {} requests", state.most));
    }
    if body.len() > BODY_BYTES {
        return over(format!("a request's body may have {BODY_BYTES} bytes"));
    }
    match state.mode {
        Mode::Write { deletes } if effect.takes_away() && state.deletes >= deletes => Err(Denied::new(
            Code::Budget,
            format!(
                "one call may send {deletes} deletions and detachments; the operator would have to raise deletesPerEnsure or \
                 deletesPerDelete in `provider.limits`"
            ),
        )),
        Mode::Update if effect > Effect::Update => Err(Denied::new(
            Code::Budget,
            format!(
                "this call attaches a volume, and what attaches one is an update; the rules call this request a {effect}; if it does \
                 no more, the operator would have to say effect: update in its rule"
            ),
        )),
        Mode::None | Mode::Read | Mode::Update | Mode::Write { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests;
