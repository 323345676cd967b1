//! A client that trusts one simulator.

use std::fs;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use super::{Cloud, Simulator};

impl<C: Cloud> Simulator<C> {
    /// A client that speaks the first of these protocols that the simulator knows: `h2` or `http/1.1`.
    ///
    /// # Panics
    ///
    /// Panics if the simulator's certificate cannot be read.
    #[must_use]
    pub fn client(&self, protocols: &[&str]) -> reqwest::Client {
        let pem = fs::read(self.ca_file()).expect("the simulator's certificate is in a file");
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from_pem_slice(&pem).expect("the file holds PEM");
        roots.add(certificate).expect("the certificate is one of an authority");
        let mut tls = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring speaks TLS 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = protocols.iter().map(|it| it.as_bytes().to_vec()).collect();
        reqwest::Client::builder().tls_backend_preconfigured(tls).build().expect("the configuration is complete")
    }
}
