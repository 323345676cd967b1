//! A certificate authority of the simulator's own, and a certificate for where it listens.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls_pki_types::PrivateKeyDer;

/// Where the simulator listens.
const LOOPBACK: [&str; 2] = ["127.0.0.1", "localhost"];

/// The authority's certificate in a file. The folder is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Authority {
    folder: PathBuf,
}

impl Authority {
    /// Makes an authority of the cloud called `name`, and what a server needs to speak TLS with a certificate of it: one for loopback
    /// and for `hosts`, the names under which tests reach the simulator. The server speaks `protocols`, the best first.
    ///
    /// # Errors
    ///
    /// Fails if no folder can be made under `target/`.
    pub(super) fn new(
        name: &str,
        hosts: &[&str],
        protocols: &[&str],
    ) -> anyhow::Result<(Authority, Arc<ServerConfig>)> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.distinguished_name.push(DnType::CommonName, format!("simulated {name}"));
        let certificate = params.self_signed(&key)?;
        let authority = Authority::write(name, &certificate.pem())?;

        let leaf_key = KeyPair::generate()?;
        let names: Vec<String> = LOOPBACK.iter().chain(hosts).map(|it| (*it).to_owned()).collect();
        let leaf = CertificateParams::new(names)?.signed_by(&leaf_key, &Issuer::new(params, key))?;
        let leaf_key = PrivateKeyDer::Pkcs8(leaf_key.serialize_der().into());
        let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], leaf_key)?;
        config.alpn_protocols = protocols.iter().map(|it| it.as_bytes().to_vec()).collect();
        Ok((authority, Arc::new(config)))
    }

    /// The authority's certificate as PEM.
    pub(super) fn file(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    fn write(name: &str, pem: &str) -> anyhow::Result<Authority> {
        let name = format!("{}-{}", name.to_lowercase(), uuid::Uuid::new_v4());
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/simulator").join(name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        // From here on a failure removes the folder, too.
        let authority = Authority { folder: folder.canonicalize()? };
        fs::write(authority.file(), pem)?;
        Ok(authority)
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        // A folder that cannot be removed does no harm under target/.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
