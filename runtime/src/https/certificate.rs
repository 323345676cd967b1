//! A server's certificate: the operator's, which follows its files, or one that lives as long as the process.

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use jiff::Timestamp;
use parking_lot::Mutex;
use rcgen::{CertificateParams, DnType, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::time::{MissedTickBehavior, interval};
use tokio_rustls::TlsAcceptor;
use tracing::{info, warn};

/// How often the files are read, to see whether they have changed.
const PERIOD: Duration = Duration::from_secs(5);

/// The files of a certificate and of its key, and the flags that name them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct CertificateFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) flags: [&'static str; 2],
}

/// The certificate that a server shows to its clients.
#[derive(Debug)]
pub(super) struct ServedCertificate {
    files: Option<CertificateFiles>,
    shown: Mutex<Arc<CertifiedKey>>,
    /// The contents of the files when they were read last.
    read: Mutex<Pem>,
}

/// The contents of both files.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Pem {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl ServedCertificate {
    /// Reads the files, or makes a certificate of its own.
    ///
    /// # Errors
    ///
    /// With the flag and the file that cannot be used.
    pub(super) fn load(files: Option<CertificateFiles>) -> Result<Self> {
        let (pem, shown) = match &files {
            Some(files) => {
                let pem = files.read()?;
                let shown = files.parse(&pem)?;
                (pem, shown)
            }
            None => (Pem::default(), make().context("cannot make a certificate")?),
        };
        Ok(Self { files, shown: Mutex::new(Arc::new(shown)), read: Mutex::new(pem) })
    }

    /// The acceptor of connections with this certificate.
    pub(super) fn acceptor(self: Arc<Self>) -> Result<TlsAcceptor> {
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .context("ring has no safe TLS version")?
            .with_no_client_auth()
            .with_cert_resolver(self);
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// Shows what the files hold, also when they change. What cannot be used is reported once, and what was shown before
    /// stays.
    pub(super) async fn follow(self: Arc<Self>) -> Infallible {
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut told = String::new();
        loop {
            ticks.tick().await;
            let certificate = self.clone();
            // A disk may hang.
            let again = tokio::task::spawn_blocking(move || certificate.reload()).await;
            match again.unwrap_or_else(|panic| Err(anyhow!(panic))) {
                Ok(()) => told.clear(),
                Err(error) => {
                    let text = format!("{error:#}");
                    if text != told {
                        warn!("{text}; the certificate that was read before is shown");
                        told = text;
                    }
                }
            }
        }
    }

    fn reload(&self) -> Result<()> {
        let Some(files) = &self.files else { return Ok(()) };
        let pem = files.read()?;
        if pem == *self.read.lock() {
            return Ok(());
        }
        let shown = files.parse(&pem)?;
        *self.shown.lock() = Arc::new(shown);
        *self.read.lock() = pem;
        info!("{} {} has changed, and is shown from now on", files.flags[0], files.certificate.display());
        Ok(())
    }
}

impl ResolvesServerCert for ServedCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.shown.lock().clone())
    }
}

impl CertificateFiles {
    fn read(&self) -> Result<Pem> {
        let read = |path: &Path, flag: &str| {
            std::fs::read(path).with_context(|| format!("cannot read {flag} {}; give a PEM file", path.display()))
        };
        let [certificate, key] = self.flags;
        Ok(Pem { certificate: read(&self.certificate, certificate)?, key: read(&self.key, key)? })
    }

    fn parse(&self, pem: &Pem) -> Result<CertifiedKey> {
        let [certificate, key] = self.flags;
        let chain = CertificateDer::pem_slice_iter(&pem.certificate).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(io::Error::other).and_then(|chain| match chain.is_empty() {
            true => Err(io::Error::other("it holds no certificate")),
            false => Ok(chain),
        });
        let chain = chain
            .with_context(|| format!("cannot read {certificate} {}; give a PEM file", self.certificate.display()))?;
        let private = PrivateKeyDer::from_pem_slice(&pem.key)
            .with_context(|| format!("cannot read {key} {}; give a PEM file", self.key.display()))?;
        CertifiedKey::from_der(chain, private, &ring::default_provider())
            .with_context(|| format!("{certificate} and {key} do not belong together; give a certificate and its key"))
    }
}

/// A certificate that nobody can check, as upstream makes it: it is for probes, which do not.
fn make() -> Result<CertifiedKey> {
    info!("made a self-signed certificate, in memory");
    let mut params = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()])?;
    params.distinguished_name.push(DnType::CommonName, format!("localhost@{}", Timestamp::now().as_second()));
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    let private: PrivateKeyDer<'_> = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    Ok(CertifiedKey::from_der(vec![certificate.der().clone()], private, &ring::default_provider())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a certificate and its key. It goes away with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            let folder = std::env::temp_dir().join(format!("aerostat-{}", uuid::Uuid::new_v4()));
            std::fs::create_dir(&folder).unwrap();
            Self(folder)
        }

        fn files(&self) -> CertificateFiles {
            let flags = ["--tls-cert-file", "--tls-private-key-file"];
            CertificateFiles { certificate: self.0.join("a.crt"), key: self.0.join("a.key"), flags }
        }

        /// Writes a new pair, and returns the certificate.
        fn write(&self) -> Vec<u8> {
            let key = KeyPair::generate().unwrap();
            let certificate = CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
            std::fs::write(self.0.join("a.crt"), certificate.pem()).unwrap();
            std::fs::write(self.0.join("a.key"), key.serialize_pem()).unwrap();
            certificate.der().to_vec()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn shown(certificate: &ServedCertificate) -> Vec<u8> {
        certificate.shown.lock().cert[0].to_vec()
    }

    fn refused(files: CertificateFiles) -> String {
        format!("{:#}", ServedCertificate::load(Some(files)).unwrap_err())
    }

    #[test]
    fn a_certificate_is_made_where_none_is_given() {
        let certificate = Arc::new(ServedCertificate::load(None).unwrap());
        assert_eq!(certificate.shown.lock().cert.len(), 1);
        certificate.reload().unwrap();
        certificate.acceptor().map(drop).unwrap();
    }

    #[test]
    fn a_certificate_follows_its_files_and_stays_when_they_break() {
        let folder = Folder::new();
        let first = folder.write();
        let certificate = ServedCertificate::load(Some(folder.files())).unwrap();
        assert_eq!(shown(&certificate), first);
        let second = folder.write();
        certificate.reload().unwrap();
        assert_eq!(shown(&certificate), second);
        // The certificate of another key: files are replaced one after the other.
        let key = std::fs::read(folder.0.join("a.key")).unwrap();
        let third = folder.write();
        let own = std::fs::read(folder.0.join("a.key")).unwrap();
        std::fs::write(folder.0.join("a.key"), key).unwrap();
        assert!(format!("{:#}", certificate.reload().unwrap_err()).contains("do not belong together"));
        assert_eq!(shown(&certificate), second);
        std::fs::remove_file(folder.0.join("a.key")).unwrap();
        assert!(certificate.reload().is_err());
        std::fs::write(folder.0.join("a.key"), own).unwrap();
        certificate.reload().unwrap();
        assert_eq!(shown(&certificate), third);
    }

    #[test]
    fn files_that_cannot_be_used_are_named_with_their_flags() {
        let folder = Folder::new();
        let nowhere = CertificateFiles { certificate: Path::new("/nowhere.pem").to_owned(), ..folder.files() };
        assert!(refused(nowhere).starts_with("cannot read --tls-cert-file /nowhere.pem"));
        folder.write();
        std::fs::write(folder.0.join("a.crt"), "nonsense").unwrap();
        let text = refused(folder.files());
        assert!(text.starts_with("cannot read --tls-cert-file") && text.contains("no certificate"), "{text}");
        folder.write();
        std::fs::write(folder.0.join("a.key"), "nonsense").unwrap();
        assert!(refused(folder.files()).starts_with("cannot read --tls-private-key-file"));
    }
}
