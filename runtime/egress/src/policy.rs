//! Whether a request may leave: one pure function, and the only maker of [`Permitted`].

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;

use crate::base_url::Origin;
use crate::canonical::{self, shown};
use crate::endpoint::Endpoint;
use crate::request::{GuestRequest, Method};

/// Requests of one call, sent and refused ones together.
pub(crate) const REQUESTS: u32 = 100;
/// The largest request body. No cloud's API needs more.
const BODY_BYTES: usize = 8 << 20;

/// What a call may do with HTTP.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mode {
    /// Nothing: `describe`.
    None,
    /// GET and HEAD: `identity`, `get`, `list`.
    Read,
    /// Everything that the rules allow, DELETE so many times: `ensure`, `delete`.
    Write {
        /// The most DELETEs in one call.
        deletes: u32,
    },
}

/// How things stand when a request is judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallState {
    pub(crate) mode: Mode,
    /// Whether this process may write at all now: it leads, or nobody has to.
    pub(crate) leads: bool,
    /// Requests that the call has made before.
    pub(crate) requests: u32,
    /// DELETEs among them that were permitted.
    pub(crate) deletes: u32,
}

/// A request that the policy let through. Only [`permit`] makes one.
#[derive(Clone)]
pub(crate) struct Permitted {
    endpoint: Arc<Endpoint>,
    rule: String,
    method: Method,
    /// Path and query, as they go out.
    target: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Permitted {
    pub(crate) fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    /// The rule that let it through, for the audit line: `api.allow[0] GET /v2/droplets/**`.
    pub(crate) fn rule(&self) -> &str {
        &self.rule
    }

    pub(crate) fn method(&self) -> Method {
        self.method
    }

    pub(crate) fn origin(&self) -> Origin {
        self.endpoint.base_url.origin()
    }

    pub(crate) fn target(&self) -> &str {
        &self.target
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    pub(crate) fn into_headers_and_body(self) -> (HeaderMap, Bytes) {
        (self.headers, self.body)
    }
}

/// Why the policy refuses.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Denied {
    pub(crate) code: Code,
    /// A sentence that says what the operator would have to allow, without its full stop.
    because: String,
}

impl Denied {
    pub(crate) fn new(code: Code, because: impl Into<String>) -> Self {
        Self { code, because: because.into() }
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
    Budget,
    Writes,
    Ip,
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
            Self::Budget => "E-EGRESS-BUDGET",
            Self::Writes => "E-EGRESS-WRITES",
            Self::Ip => "E-EGRESS-IP",
        }
    }
}

/// Decides about a request. The first objection counts, in the order of the questions here.
pub(crate) fn permit(
    endpoints: &[Arc<Endpoint>],
    state: CallState,
    request: GuestRequest,
) -> Result<Permitted, Denied> {
    let GuestRequest { endpoint, method, path, query, headers, body } = request;
    let endpoint = named(endpoints, &endpoint)?;
    may_call_send(state, method)?;
    let (rule, target) = allowed(endpoint, method, &path, body.is_some())?;
    let headers = canonical::headers(&headers, &endpoint.headers)
        .map_err(|because| Denied::new(Code::Header, format!("endpoint {}: {because}", endpoint.name)))?;
    let query = canonical::query(&query)
        .and_then(|query| canonical::form(&headers, body.as_deref().unwrap_or_default()).map(|()| query))
        .map_err(|because| Denied::new(Code::Query, format!("endpoint {}: {because}", endpoint.name)))?;
    within_budgets(state, method, body.as_deref())?;
    let target = if query.is_empty() { target } else { format!("{target}?{query}") };
    let body = body.map_or_else(Bytes::new, Bytes::from);
    Ok(Permitted { endpoint: endpoint.clone(), rule, method, target, headers, body })
}

/// Whether this process may write now. Asked again just before a request leaves, which may be a while later.
pub(crate) fn may_write(leads: bool, method: Method) -> Result<(), Denied> {
    if leads || !method.writes() {
        return Ok(());
    }
    Err(Denied::new(
        Code::Leader,
        format!("{method} is a write, and this process no longer leads; the one that holds the Lease does it"),
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

fn may_call_send(state: CallState, method: Method) -> Result<(), Denied> {
    match state.mode {
        Mode::None => {
            Err(Denied::new(Code::ReadOnly, "this call has no HTTP: `describe` answers without asking the cloud"))
        }
        Mode::Read if method.writes() => Err(Denied::new(
            Code::ReadOnly,
            format!("{method} is a write, and this call only reads, with GET and HEAD; no config can allow it"),
        )),
        Mode::Read | Mode::Write { .. } => may_write(state.leads, method),
    }
}

/// The first rule that allows `method` on `path`, and the path as it goes out.
fn allowed(endpoint: &Endpoint, method: Method, path: &[String], has_body: bool) -> Result<(String, String), Denied> {
    let name = &endpoint.name;
    if !endpoint.allow.iter().any(|it| it.methods.contains(&method)) {
        return Err(Denied::new(
            Code::Method,
            format!("endpoint {name} allows {method} nowhere; the operator would have to add it to a rule of `allow`"),
        ));
    }
    if has_body && !method.writes() {
        // Servers disagree about where such a request ends.
        return Err(Denied::new(Code::Method, format!("a {method} has no body; no config can allow it")));
    }
    let target = canonical::path(endpoint.base_url.path(), path)
        .map_err(|because| Denied::new(Code::Path, format!("endpoint {name}: the request's path {because}")))?;
    let found = endpoint
        .allow
        .iter()
        .enumerate()
        .filter(|(_, rule)| rule.methods.contains(&method))
        .find_map(|(index, rule)| Some((index, rule.paths.iter().find(|it| it.matches(path))?)));
    match found {
        Some((index, pattern)) => Ok((format!("{name}.allow[{index}] {method} {pattern}"), target)),
        None => {
            let asked: String = canonical::encode_path(path).chars().take(256).collect();
            Err(Denied::new(
                Code::Path,
                format!(
                    "endpoint {name} does not allow {method} {asked}; the operator would have to add a rule with \
                     this method and a path that matches"
                ),
            ))
        }
    }
}

fn within_budgets(state: CallState, method: Method, body: Option<&[u8]>) -> Result<(), Denied> {
    let over = |what: String| Err(Denied::new(Code::Budget, format!("{what}; no config can allow it")));
    if state.requests >= REQUESTS {
        return over(format!("one call may make {REQUESTS} requests"));
    }
    if body.is_some_and(|it| it.len() > BODY_BYTES) {
        return over(format!("a request's body may have {BODY_BYTES} bytes"));
    }
    match state.mode {
        Mode::Write { deletes } if method == Method::Delete && state.deletes >= deletes => Err(Denied::new(
            Code::Budget,
            format!(
                "one call may send {deletes} DELETEs; the operator would have to raise deletesPerEnsure or deletesPerDelete in `provider.limits`"
            ),
        )),
        Mode::None | Mode::Read | Mode::Write { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests;
