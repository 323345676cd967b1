//! Whom a server's certificate may come from.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rustls::client::ResolvesClientCert;
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsConnector;

use crate::client_certificate::ClientCertificate;
use crate::destination::Destination;
use crate::error::EgressError;

/// TLS 1.2 or 1.3, towards certificates of the destination's own authorities or of the system's, for these protocols.
pub(super) fn connector(destination: &Destination, protocols: &[&[u8]]) -> Result<TlsConnector, EgressError> {
    let whose = || destination.name.clone();
    let roots = match &destination.ca_file {
        Some(file) => {
            roots_of(file).map_err(|source| EgressError::CaFile { whose: whose(), file: file.clone(), source })?
        }
        None => system_roots().map_err(|because| EgressError::Roots { whose: whose(), because })?,
    };
    // Named, because a process may have several providers compiled in and then has no default.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring offers what TLS 1.2 and 1.3 need")
        .with_root_certificates(roots);
    let mut config = match &destination.client_certificate {
        None => config.with_no_client_auth(),
        Some(files) => {
            let shown = ShownCertificate::load(files.clone()).map_err(|source| EgressError::ClientCertificate {
                whose: whose(),
                file: files.cert_file.clone(),
                source,
            })?;
            config.with_client_cert_resolver(Arc::new(shown))
        }
    };
    config.alpn_protocols = protocols.iter().map(|it| it.to_vec()).collect();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// The certificate that is shown, as its files have it now.
#[derive(Debug)]
struct ShownCertificate {
    files: ClientCertificate,
    last: Mutex<Arc<CertifiedKey>>,
}

impl ShownCertificate {
    fn load(files: ClientCertificate) -> Result<Self, FileError> {
        let last = Mutex::new(Self::read(&files)?);
        Ok(Self { files, last })
    }

    fn read(files: &ClientCertificate) -> Result<Arc<CertifiedKey>, FileError> {
        let chain = CertificateDer::pem_file_iter(&files.cert_file)?.collect::<Result<Vec<_>, _>>()?;
        let key = PrivateKeyDer::from_pem_file(&files.key_file)?;
        let provider = rustls::crypto::ring::default_provider();
        let certified = CertifiedKey::new(chain, provider.key_provider.load_private_key(key)?);
        certified.end_entity_cert()?;
        certified.keys_match()?;
        Ok(Arc::new(certified))
    }
}

impl ResolvesClientCert for ShownCertificate {
    fn resolve(&self, _: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        // Files that are being replaced fit together soon; until then the last ones do.
        if let Ok(read) = Self::read(&self.files) {
            *self.last.lock() = read;
        }
        let certified = self.last.lock().clone();
        certified.key.choose_scheme(schemes).is_some().then_some(certified)
    }

    fn has_certs(&self) -> bool {
        true
    }
}

type FileError = Box<dyn std::error::Error + Send + Sync>;

fn roots_of(file: &Path) -> Result<RootCertStore, FileError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file)? {
        roots.add(certificate?)?;
    }
    if roots.is_empty() { Err("it has no certificate".into()) } else { Ok(roots) }
}

/// Where Linux distributions keep their certificate authorities in one file.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

fn system_roots() -> Result<RootCertStore, String> {
    let bundle = BUNDLES.iter().map(Path::new).find(|it| it.is_file());
    let bundle = bundle.ok_or_else(|| format!("there is none of {}", BUNDLES.join(", ")))?;
    // Not `load_native_certs`, which lets variables of the environment choose other files.
    let found = rustls_native_certs::load_certs_from_paths(Some(bundle), None);
    let mut roots = RootCertStore::empty();
    // Some of a system's certificates are too old to be understood; those are left out.
    roots.add_parsable_certificates(found.certs);
    if !roots.is_empty() {
        return Ok(roots);
    }
    let errors: Vec<_> = found.errors.iter().map(ToString::to_string).collect();
    Err(if errors.is_empty() { "none was found".to_owned() } else { errors.join("; ") })
}
