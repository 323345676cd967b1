//! The requests that reached the simulator.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, Method};

/// One request, and what became of it. A copy is cheap: tests look at all requests again and again.
#[derive(Clone, Debug)]
pub struct Recorded(Arc<RequestFields>);

/// The fields of a [`Recorded`] request.
#[derive(Clone, Debug)]
pub struct RequestFields {
    /// When it arrived.
    pub at: SystemTime,
    /// GET, POST, …
    pub method: Method,
    /// The path as it was sent, without the query.
    pub path: String,
    /// Path and query as they were sent.
    pub target: String,
    /// The query's pairs, decoded, in their order.
    pub query: Vec<(String, String)>,
    /// All headers but `authorization`.
    pub headers: HeaderMap,
    /// The proof that the request offered of its right to be here.
    pub authorization: Authorization,
    /// Empty where there was none.
    pub body: Vec<u8>,
    /// The status that was answered. Absent as long as there is no answer, and for good where a fault or the client prevented it.
    pub status: Option<u16>,
    /// The fault that it met on purpose, in a few words.
    pub fault: Option<&'static str>,
    /// From the request to its answer, with the latency that was asked for. Absent as `status` is.
    pub took: Option<Duration>,
}

/// The sender of a request, as it names itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authorization {
    /// There is no such header.
    Absent,
    /// The token that is accepted now.
    Accepted,
    /// Anything else, as it stands in the header.
    Refused(String),
    /// The header that the cloud itself judges, as it stands: empty without one.
    Judged(String),
}

impl From<RequestFields> for Recorded {
    fn from(fields: RequestFields) -> Self {
        Self(Arc::new(fields))
    }
}

impl Deref for Recorded {
    type Target = RequestFields;

    fn deref(&self) -> &RequestFields {
        &self.0
    }
}

impl DerefMut for Recorded {
    /// Earlier copies stay as they are.
    fn deref_mut(&mut self) -> &mut RequestFields {
        Arc::make_mut(&mut self.0)
    }
}

impl Recorded {
    /// The first value of a query key.
    #[must_use]
    pub fn query_value(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// Whether this is such a request. The method `*` stands for any; in the path a segment `*` stands for any one segment, and `**` at its
    /// end for any number of them.
    #[must_use]
    pub fn is(&self, method: &str, path: &str) -> bool {
        matches(method, path, self)
    }
}

/// The request line without the version, and the status: `GET /v2/droplets?page=1&per_page=200 → 200`.
impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        for (index, (name, value)) in self.query.iter().enumerate() {
            write!(f, "{}{name}={value}", if index == 0 { '?' } else { '&' })?;
        }
        match self.status {
            Some(status) => write!(f, " → {status}"),
            None => write!(f, " → no answer"),
        }
    }
}

/// Whether a method and a path are such: the method `*` stands for any, in the path a segment `*` stands for any one segment, and `**` at
/// its end for any number of them.
pub(super) fn matches(method: &str, path: &str, request: &Recorded) -> bool {
    (method == "*" || request.method == *method) && leads(path, &request.path)
}

fn leads(pattern: &str, path: &str) -> bool {
    let mut path = path.split('/');
    for segment in pattern.split('/') {
        if segment == "**" {
            return true;
        }
        if !path.next().is_some_and(|it| segment == "*" || segment == it) {
            return false;
        }
    }
    path.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_one_segment() {
        assert!(leads("/v2/droplets/*", "/v2/droplets/7"));
        assert!(leads("/v2/droplets", "/v2/droplets"));
        assert!(!leads("/v2/droplets/*", "/v2/droplets"));
        assert!(!leads("/v2/*", "/v2/droplets/7"));
    }

    #[test]
    fn two_stars_stand_for_the_rest() {
        assert!(leads("/v2/droplets/**", "/v2/droplets/7/actions"));
        assert!(leads("/v2/droplets/**", "/v2/droplets"));
        assert!(leads("/**", "/v2/droplets"));
        assert!(!leads("/v2/droplets/**", "/v2/load_balancers"));
    }
}
