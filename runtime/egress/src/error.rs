//! What an operator can get wrong about endpoints.

use std::path::PathBuf;

use crate::address;
use crate::base_url::Host;
use crate::canonical;
use crate::credentials::Credentials;
use crate::endpoint::Endpoint;

/// Why there is no gate. Each names the endpoint and what to change.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// Two endpoints have one name.
    #[error("endpoint {endpoint} is there twice; rename one of them")]
    Twice {
        /// The endpoint's name.
        endpoint: String,
    },
    /// The base URL is an address that no config can allow.
    #[error("endpoint {endpoint}: its base URL is {address}, {because}; give the cloud's own address")]
    Address {
        /// The endpoint's name.
        endpoint: String,
        /// The address.
        address: std::net::IpAddr,
        /// What it is.
        because: String,
    },
    /// A header that stays the host's.
    #[error("endpoint {endpoint}: `headers` names {header}, which only the host may set; remove it")]
    Header {
        /// The endpoint's name.
        endpoint: String,
        /// The header.
        header: String,
    },
    /// A limit with which nothing could be sent.
    #[error("endpoint {endpoint}: `limits.{limit}` must be a number greater than zero")]
    Limit {
        /// The endpoint's name.
        endpoint: String,
        /// The limit's name in the config.
        limit: &'static str,
    },
    /// A credential that does not exist.
    #[error("endpoint {endpoint} names the credential {credential}, which `credentials` does not define; add it there")]
    Credential {
        /// The endpoint's name.
        endpoint: String,
        /// The name that is not defined.
        credential: String,
    },
    /// A credential that is limited to other origins.
    #[error(
        "endpoint {endpoint}: the credential {credential} may not be sent to {origin}: {file} does not list it; \
         correct the base URL, or add the origin to the file"
    )]
    Origin {
        /// The endpoint's name.
        endpoint: String,
        /// The credential's name.
        credential: String,
        /// The endpoint's origin.
        origin: String,
        /// The file that lists the credential's origins.
        file: PathBuf,
    },
    /// Certificate authorities that cannot be read.
    #[error("endpoint {endpoint}: cannot read certificate authorities from {file}; correct `tls.caFile`")]
    CaFile {
        /// The endpoint's name.
        endpoint: String,
        /// The PEM file.
        file: PathBuf,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The system has no certificate authorities.
    #[error(
        "endpoint {endpoint}: the system has no usable certificate authorities ({because}); install them, or name a \
         file in `tls.caFile`"
    )]
    Roots {
        /// The endpoint's name.
        endpoint: String,
        /// Why not.
        because: String,
    },
}

/// Checks what can be checked before anything runs.
pub(crate) fn check(endpoints: &[Endpoint], credentials: &Credentials) -> Result<(), GateError> {
    for (index, endpoint) in endpoints.iter().enumerate() {
        let name = || endpoint.name.clone();
        if endpoints[..index].iter().any(|it| it.name == endpoint.name) {
            return Err(GateError::Twice { endpoint: name() });
        }
        if let Host::Address(address) = *endpoint.base_url.origin().host() {
            address::permit_literal(address).map_err(|because| GateError::Address {
                endpoint: name(),
                address,
                because,
            })?;
        }
        if let Some(header) =
            endpoint.headers.iter().find(|it| canonical::is_forbidden_header(&it.to_ascii_lowercase()))
        {
            return Err(GateError::Header { endpoint: name(), header: header.clone() });
        }
        let limits = &endpoint.limits;
        let rate_is_usable = limits.requests_per_second.is_finite() && limits.requests_per_second > 0.0;
        for (limit, is_usable) in [
            ("requestsPerSecond", rate_is_usable),
            ("concurrency", limits.concurrency > 0),
            ("responseBytes", limits.response_bytes > 0),
            ("total", !limits.total.is_zero()),
        ] {
            if !is_usable {
                return Err(GateError::Limit { endpoint: name(), limit });
            }
        }
        if let Some(credential) = &endpoint.credential {
            credentials.check(credential, endpoint)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::metrics::Metrics;
    use crate::testing::endpoint;
    use crate::{EndpointLimits, Gate, GateSettings};

    /// What an operator reads, causes included, who changes the usual endpoint like this.
    fn refusal(change: impl Fn(&mut Endpoint)) -> Option<String> {
        let mut changed = endpoint("https://api.example.com");
        changed.ca_file = Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
        change(&mut changed);
        let settings = GateSettings {
            endpoints: vec![changed],
            credentials: Credentials::default(),
            fence: std::sync::Arc::new(|| true),
            demands: std::sync::Arc::new(|_| cloud_provider::Demand::default()),
            withheld: std::sync::Arc::new(|_| ()),
            route: |it| it,
        };
        let error = Gate::new(settings, Metrics::register(&prometheus::Registry::new()).unwrap()).err()?;
        let source = std::error::Error::source(&error).map(|it| format!(": {it}")).unwrap_or_default();
        Some(format!("{error}{source}").replace(env!("CARGO_MANIFEST_DIR"), "DIR"))
    }

    #[test]
    fn limits_must_leave_room_for_a_request() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let text = refusal(|it| it.limits.requests_per_second = rate);
            assert_eq!(
                text.as_deref(),
                Some("endpoint api: `limits.requestsPerSecond` must be a number greater than zero"),
                "{rate}"
            );
        }
        let zeroes: [fn(&mut EndpointLimits); 3] =
            [|it| it.concurrency = 0, |it| it.response_bytes = 0, |it| it.total = std::time::Duration::ZERO];
        for zero in zeroes {
            let text = refusal(|it| zero(&mut it.limits)).unwrap_or_default();
            assert!(text.ends_with("must be a number greater than zero"), "{text}");
        }
    }

    #[test]
    fn headers_of_the_host_cannot_be_opened() {
        for header in ["Authorization", "cookie", "HOST", "X-Forwarded-For", "Proxy-Anything", "Metadata-Flavor"] {
            let text = refusal(|it| it.headers = vec!["x-extra".to_owned(), header.to_owned()]);
            let expected = format!("endpoint api: `headers` names {header}, which only the host may set; remove it");
            assert_eq!(text, Some(expected));
        }
    }

    #[test]
    fn a_file_of_authorities_must_hold_some() {
        expect_test::expect![
            "endpoint api: cannot read certificate authorities from DIR/Cargo.toml; correct `tls.caFile`: it has no certificate"
        ]
        .assert_eq(&refusal(|_| ()).unwrap_or_default());
        let text = refusal(|it| it.ca_file = Some("/nowhere/ca.pem".into())).unwrap_or_default();
        assert!(text.starts_with("endpoint api: cannot read certificate authorities from /nowhere/ca.pem"), "{text}");
        assert!(text.contains("No such file"), "{text}");
    }

    #[test]
    fn names_of_endpoints_are_unique() {
        let twice = [endpoint("https://api.example.com"), endpoint("https://other.example.com")];
        let error = check(&twice, &Credentials::default()).err().map(|it| it.to_string());
        assert_eq!(error.as_deref(), Some("endpoint api is there twice; rename one of them"));
    }
}
