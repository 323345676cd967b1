//! A certificate for a server of the tests, from an authority made for it.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls_pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

pub(super) struct Identity {
    /// The authority's certificate, in PEM.
    pub(super) ca: String,
    pub(super) acceptor: TlsAcceptor,
}

impl Identity {
    /// For these names, and for these protocols if any are given.
    pub(super) fn new(names: &[&str], protocols: &[&[u8]]) -> Self {
        let ca_key = KeyPair::generate().expect("ring makes keys");
        let mut ca = CertificateParams::default();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = ca.self_signed(&ca_key).expect("a key signs");
        let issuer = Issuer::from_params(&ca, &ca_key);

        let key = KeyPair::generate().expect("ring makes keys");
        let names: Vec<_> = names.iter().map(|&it| it.to_owned()).collect();
        let own =
            CertificateParams::new(names).expect("names or addresses").signed_by(&key, &issuer).expect("a key signs");
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key that was just made");

        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring offers what TLS 1.2 and 1.3 need")
            .with_no_client_auth()
            .with_single_cert(vec![own.der().clone()], key)
            .expect("a certificate for this key");
        config.alpn_protocols = protocols.iter().map(|it| it.to_vec()).collect();
        Self { ca: certificate.pem(), acceptor: TlsAcceptor::from(Arc::new(config)) }
    }
}
