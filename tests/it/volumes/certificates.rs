//! Authorities, and the certificates that they sign for the webhook.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair};

/// An authority of one test.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// The files of a certificate and of its key.
#[derive(Clone)]
pub(crate) struct Files {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Authority {
    pub(crate) fn new() -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, format!("authority {}", uuid::Uuid::new_v4()));
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Its own certificate, in PEM.
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// Writes a certificate for 127.0.0.1, and its key, in the place of what is there.
    pub(crate) fn write(&self, files: &Files) {
        let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        std::fs::write(&files.certificate, certificate.pem()).unwrap();
        std::fs::write(&files.key, key.serialize_pem()).unwrap();
    }
}

impl Files {
    /// `webhook.crt` and `webhook.key` in a folder.
    pub(crate) fn within(folder: &Path) -> Files {
        Files { certificate: folder.join("webhook.crt"), key: folder.join("webhook.key") }
    }

    /// The flags that name them.
    pub(crate) fn flags(&self) -> [String; 2] {
        [
            format!("--webhook-tls-cert-file={}", self.certificate.display()),
            format!("--webhook-tls-private-key-file={}", self.key.display()),
        ]
    }
}

/// The only certificate in a PEM text.
pub(crate) fn der(pem: &str) -> rustls_pki_types::CertificateDer<'static> {
    use rustls_pki_types::pem::PemObject as _;
    rustls_pki_types::CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}
