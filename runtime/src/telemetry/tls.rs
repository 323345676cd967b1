//! The server's certificate: the operator's, or one that lives as long as the process.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use jiff::Timestamp;
use rcgen::{CertificateParams, DnType, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;
use tracing::info;

/// Prepares TLS with the files of `--tls-cert-file` and `--tls-private-key-file`, or with a certificate of its own.
pub(super) fn acceptor(files: Option<(&Path, &Path)>) -> Result<TlsAcceptor> {
    let (chain, key) = match files {
        Some((certificate, key)) => read(certificate, key)?,
        None => make().context("cannot make a certificate for the server of /healthz and /metrics")?,
    };
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .context("ring has no safe TLS version")?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("--tls-cert-file and --tls-private-key-file do not belong together; give a certificate and its key")?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn read(certificate: &Path, key: &Path) -> Result<Identity> {
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| format!("cannot read --tls-cert-file {}; give a PEM file", certificate.display()))?;
    let key = PrivateKeyDer::from_pem_file(key)
        .with_context(|| format!("cannot read --tls-private-key-file {}; give a PEM file", key.display()))?;
    Ok((chain, key))
}

/// A certificate that nobody can check, as upstream makes it: it is for probes, which do not.
fn make() -> Result<Identity> {
    info!("made a self-signed certificate, in memory");
    let mut params = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()])?;
    params.distinguished_name.push(DnType::CommonName, format!("localhost@{}", Timestamp::now().as_second()));
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok((vec![certificate.der().clone()], PrivatePkcs8KeyDer::from(key.serialize_der()).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_made_and_read() {
        acceptor(None).map(drop).unwrap();
        let (chain, key) = make().unwrap();
        assert_eq!(chain.len(), 1);
        assert!(!key.secret_der().is_empty());
    }

    #[test]
    fn a_missing_file_is_named_with_its_flag() {
        let error = acceptor(Some((Path::new("/nowhere.pem"), Path::new("/nowhere.key")))).map(drop).unwrap_err();
        assert!(format!("{error:#}").starts_with("cannot read --tls-cert-file /nowhere.pem"), "{error:#}");
    }
}
