//! What an operator can get wrong about endpoints.

use std::path::PathBuf;

use super::address;
use super::base_url::Host;
use super::canonical;
use super::endpoint::Endpoint;
use crate::credentials::Credentials;

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
    #[error("endpoint {endpoint}: `limits.{limit}` must be greater than zero")]
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
pub(super) fn check(endpoints: &[Endpoint], credentials: &Credentials) -> Result<(), GateError> {
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
