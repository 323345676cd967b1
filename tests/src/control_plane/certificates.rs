//! One authority, and what it signs for a control plane.

use std::fs;
use std::path::Path;

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

use super::process::write_secret;

/// The authority that server and clients of one control plane trust.
pub(super) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, both in PEM.
pub(super) struct Identity {
    pub(super) certificate: String,
    pub(super) key: String,
}

impl Authority {
    pub(super) fn new() -> Result<Authority> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, "control plane of a test");
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(Authority { issuer })
    }

    /// The authority's own certificate, in PEM.
    pub(super) fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// The certificate that the API server shows to its clients.
    pub(super) fn server(&self) -> Result<Identity> {
        let names = ["127.0.0.1", "localhost", "kubernetes.default.svc"].map(str::to_owned);
        let mut params = CertificateParams::new(names)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params, "kube-apiserver")
    }

    /// The certificate that a user shows to the API server.
    pub(super) fn client(&self, user: &str, group: Option<&str>) -> Result<Identity> {
        let mut params = CertificateParams::default();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        if let Some(group) = group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        self.sign(params, user)
    }

    fn sign(&self, mut params: CertificateParams, name: &str) -> Result<Identity> {
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Identity { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

impl Identity {
    /// Writes `<name>.crt` and `<name>.key`.
    pub(super) fn write(&self, folder: &Path, name: &str) -> Result<()> {
        fs::write(folder.join(format!("{name}.crt")), &self.certificate)?;
        write_secret(&folder.join(format!("{name}.key")), &self.key)?;
        Ok(())
    }
}

/// Writes the pair of keys that tokens of ServiceAccounts are signed with: `sa.key` and `sa.pub`.
pub(super) fn write_service_account_keys(folder: &Path) -> Result<()> {
    let key = KeyPair::generate()?;
    write_secret(&folder.join("sa.key"), &key.serialize_pem())?;
    fs::write(folder.join("sa.pub"), key.public_key_pem())?;
    Ok(())
}
