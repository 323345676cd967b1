//! A service: one port that a load balancer forwards.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The values of a port.
pub(crate) const PORTS: RangeInclusive<u64> = 1..=65_535;

/// One port of a load balancer. No two have the same.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Service {
    /// Where it listens.
    pub listen_port: u16,
    /// Where targets listen.
    pub destination_port: u16,
    /// `tcp`, `http` or `https`.
    pub protocol: String,
    /// Whether targets are told whose connection it is.
    pub proxyprotocol: bool,
    /// Only of protocols with HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<Http>,
    /// How it finds out which targets serve.
    pub health_check: HealthCheck,
}

/// The settings particular to HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Http {
    /// The cookie of sticky sessions.
    pub cookie_name: String,
    /// The lifetime of sticky sessions, in seconds.
    pub cookie_lifetime: u32,
    /// Ids of certificates.
    pub certificates: Vec<u64>,
    /// Whether port 80 leads to this one.
    pub redirect_http: bool,
    /// Whether a cookie leads to the target of the first request.
    pub sticky_sessions: bool,
    /// In seconds. Absent: as the service likes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_idle: Option<u32>,
}

impl Default for Http {
    fn default() -> Http {
        Http {
            cookie_name: "HCLBSTICKY".to_owned(),
            cookie_lifetime: 300,
            certificates: Vec::new(),
            redirect_http: false,
            sticky_sessions: false,
            timeout_idle: None,
        }
    }
}

/// How a load balancer finds out whether a target serves.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct HealthCheck {
    /// `tcp` or `http`.
    pub protocol: String,
    /// The targets' port.
    pub port: u16,
    /// In seconds.
    pub interval: u32,
    /// In seconds.
    pub timeout: u32,
    /// How many checks in a row must fail.
    pub retries: u32,
    /// Only of the protocol `http`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HealthCheckHttp>,
}

/// The question of a check by HTTP, and the answer that it wants to hear.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct HealthCheckHttp {
    /// The host header.
    pub domain: Option<String>,
    /// The path that is asked for.
    pub path: String,
    /// The text that the answer must hold.
    pub response: String,
    /// Which statuses are good, with `?` for any one digit.
    pub status_codes: Vec<String>,
    /// Whether it is HTTPS.
    pub tls: bool,
}

impl Default for HealthCheckHttp {
    fn default() -> HealthCheckHttp {
        HealthCheckHttp {
            domain: Some(String::new()),
            path: "/".to_owned(),
            response: String::new(),
            status_codes: vec!["2??".to_owned(), "3??".to_owned()],
            tls: false,
        }
    }
}

impl Service {
    /// A service that forwards TCP, and checks its targets by it.
    #[must_use]
    pub fn tcp(listen_port: u16, destination_port: u16) -> Service {
        new(&json!({ "listen_port": listen_port, "destination_port": destination_port }))
            .expect("two ports are enough for a service")
    }

    /// A service that forwards HTTP, and checks its targets by it.
    #[must_use]
    pub fn http(listen_port: u16, destination_port: u16) -> Service {
        new(&json!({
            "listen_port": listen_port, "destination_port": destination_port, "protocol": "http",
            "health_check": { "protocol": "http" },
        }))
        .expect("ports and protocols are enough for a service")
    }
}

/// A new service as a request says it, with the service's defaults where it says nothing.
///
/// # Errors
///
/// Fails with a sentence if the request cannot be read.
pub(crate) fn new(wanted: &Value) -> Result<Service, String> {
    let mut service = json!({
        "protocol": "tcp",
        "proxyprotocol": false,
        "health_check": {
            "protocol": "tcp", "port": wanted["destination_port"], "interval": 15, "timeout": 10, "retries": 3,
        },
    });
    merge(&mut service, wanted);
    complete(service)
}

/// A service with what a request says about it.
///
/// # Errors
///
/// Fails with a sentence if the request cannot be read.
pub(crate) fn updated(service: &Service, wanted: &Value) -> Result<Service, String> {
    let mut updated = json!(service);
    merge(&mut updated, wanted);
    complete(updated)
}

/// Adds what each protocol brings, and takes away what it has no place for unless the request said it.
fn complete(mut service: Value) -> Result<Service, String> {
    if matches!(service["protocol"].as_str(), Some("http" | "https")) && service["http"].is_null() {
        service["http"] = json!({});
    }
    let check = &mut service["health_check"];
    if check["protocol"] == "http" && check["http"].is_null() {
        check["http"] = json!({});
    }
    let mut service: Service = serde_json::from_value(service).map_err(|error| error.to_string())?;
    if service.health_check.protocol == "tcp" {
        service.health_check.http = None;
    }
    if service.protocol == "tcp" {
        service.http = None;
    }
    Ok(service)
}

/// Puts every value of `from` into `into`, at every depth of objects.
fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_a_request_leaves_out_stays() {
        let wanted = json!({
            "listen_port": 443, "destination_port": 30443, "protocol": "https", "proxyprotocol": true,
            "http": { "certificates": [7] },
            "health_check": { "protocol": "http", "port": 30443, "interval": 10, "timeout": 5, "retries": 2 },
        });
        let service = new(&wanted).unwrap();
        let change =
            json!({ "listen_port": 443, "http": { "sticky_sessions": true }, "health_check": { "retries": 4 } });
        let changed = updated(&service, &change).unwrap();
        let http = changed.http.unwrap();
        assert_eq!((http.certificates, http.sticky_sessions, http.cookie_lifetime), (vec![7], true, 300));
        assert_eq!((changed.proxyprotocol, changed.health_check.retries, changed.health_check.interval), (true, 4, 10));
        assert_eq!(changed.health_check.http.unwrap().path, "/");
    }

    #[test]
    fn a_service_that_becomes_tcp_has_no_http() {
        let service = new(&json!({ "listen_port": 80, "destination_port": 30080, "protocol": "http" })).unwrap();
        assert!(service.http.is_some());
        assert_eq!(updated(&service, &json!({ "protocol": "tcp" })).unwrap(), Service::tcp(80, 30080));
    }
}
