//! The certificate that this process shows to a server which asks for one.

use std::path::PathBuf;

/// Files with a certificate and its key, in PEM, which are read again for each connection.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ClientCertificate {
    /// The certificate, and those between it and its authority.
    pub cert_file: PathBuf,
    /// The private key.
    pub key_file: PathBuf,
}
