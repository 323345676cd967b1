//! Mistakes of operators about endpoints.

use std::path::PathBuf;

/// Why there is no egress. Each names the endpoint and what to change.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
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
        /// The kind of the address.
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
    /// Rules that do not say what their requests do, or say it wrongly.
    #[error("endpoint {endpoint}: {because}")]
    Operation {
        /// The endpoint's name.
        endpoint: String,
        /// The mistake, and the remedy.
        because: String,
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
    /// The region or service that a signature is for, missing or not fitting.
    #[error("endpoint {endpoint}: {because}")]
    Signing {
        /// The endpoint's name.
        endpoint: String,
        /// The mistake, and the remedy.
        because: String,
    },
    /// A catalogue that cannot lead anywhere.
    #[error("endpoint {endpoint}: {because}")]
    Catalog {
        /// The endpoint's name.
        endpoint: String,
        /// The mistake, and the remedy.
        because: String,
    },
    /// A certificate to show that cannot be used.
    #[error("{whose}: cannot use the certificate in {file}; correct `tls.certFile` and `tls.keyFile`")]
    ClientCertificate {
        /// The part of the config that names it, as in `endpoint api`.
        whose: String,
        /// The file with the certificate.
        file: PathBuf,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Certificate authorities that cannot be read.
    #[error("{whose}: cannot read certificate authorities from {file}; correct `tls.caFile`")]
    CaFile {
        /// The part of the config that asks for them, as in `endpoint api`.
        whose: String,
        /// The PEM file.
        file: PathBuf,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The login of a proxy, whose files hold none.
    #[error("{whose}: `proxy.login`: {file} {because}")]
    ProxyLogin {
        /// The part of the config that asks for it, as in `endpoint api`.
        whose: String,
        /// The file.
        file: PathBuf,
        /// How the sentence goes on.
        because: String,
    },
    /// A host that no proxy is asked for.
    #[error("{whose}: {origin} is {kind}, which no proxy is asked for; remove `proxy`, or correct the address")]
    BehindProxy {
        /// The part of the config that asks for it, as in `endpoint api`.
        whose: String,
        /// Where it leads.
        origin: String,
        /// The kind of the host.
        kind: &'static str,
    },
    /// The system has no certificate authorities.
    #[error(
        "{whose}: the system has no usable certificate authorities ({because}); install them, or name a \
         file in `tls.caFile`"
    )]
    Roots {
        /// The part of the config that asks for them, as in `endpoint api`.
        whose: String,
        /// Why not.
        because: String,
    },
}
