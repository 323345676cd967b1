//! Health checks.

use serde_json::{Value, json};

use super::fields::{default, word};
use crate::clouds::gcp::errors::{self, Refusal};
use crate::clouds::gcp::world::text;

/// Those of target pools.
pub(super) fn http(body: &mut Value) -> Result<(), Refusal> {
    default(body, "port", json!(80));
    default(body, "requestPath", json!("/"));
    times(body)
}

/// Those of backend services: the kind says under which key the rest is.
pub(super) fn any(body: &mut Value) -> Result<(), Refusal> {
    word(body, "type", &["TCP", "SSL", "HTTP", "HTTPS", "HTTP2", "GRPC"])?;
    let kind = text(body, "type");
    let key =
        if kind == "HTTP2" { "http2HealthCheck".to_owned() } else { format!("{}HealthCheck", kind.to_lowercase()) };
    if kind == "HTTP" {
        default(&mut body[&key], "requestPath", json!("/"));
        default(&mut body[&key], "proxyHeader", json!("NONE"));
    }
    default(&mut body[&key], "port", json!(80));
    times(body)
}

fn times(body: &mut Value) -> Result<(), Refusal> {
    for (key, value) in [("checkIntervalSec", 5), ("timeoutSec", 5), ("healthyThreshold", 2), ("unhealthyThreshold", 2)]
    {
        default(body, key, json!(value));
        let most = if key.ends_with("Sec") { 300 } else { 10 };
        if !body[key].as_u64().is_some_and(|it| (1..=most).contains(&it)) {
            let why = format!("Must be between 1 and {most}.");
            return Err(errors::invalid(&format!("resource.{key}"), &body[key].to_string(), &why));
        }
    }
    if body["timeoutSec"].as_u64() > body["checkIntervalSec"].as_u64() {
        let value = body["timeoutSec"].to_string();
        return Err(errors::invalid("resource.timeoutSec", &value, "Must not be greater than checkIntervalSec."));
    }
    Ok(())
}
