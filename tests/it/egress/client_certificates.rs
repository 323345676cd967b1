//! Servers that ask who connects: the certificate that is shown to them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use egress::{
    AllowedAddresses, BaseUrl, ClientCertificate, CredentialKind, CredentialSettings, Credentials, Endpoint,
    KeystoneLogin, KeystoneSettings, WriteLimits,
};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use tests::wait;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::setup::{Folder, Outcome, Setup, endpoint, get};

/// An authority, which signs for the server and for whoever connects.
struct Authority {
    params: CertificateParams,
    key: KeyPair,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self { params, key: KeyPair::generate().unwrap() }
    }

    fn pem(&self) -> String {
        self.params.self_signed(&self.key).unwrap().pem()
    }

    /// A certificate for a name, and its key.
    fn signed(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let signed = params.signed_by(&key, &Issuer::from_params(&self.params, &self.key)).unwrap();
        (signed.pem(), key.serialize_pem())
    }
}

/// A server on loopback that lets nobody in without a certificate of the authority.
struct AskingServer {
    url: String,
    /// The first lines of requests.
    arrived: Arc<Mutex<Vec<String>>>,
    _task: JoinSet<()>,
}

/// Starts one with a certificate of the authority.
async fn server(authority: &Authority) -> AskingServer {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap()).unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build().unwrap();
    let (cert, key) = authority.signed("127.0.0.1");
    let chain = vec![CertificateDer::from_pem_slice(cert.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .unwrap();
    let (acceptor, listener) = (TlsAcceptor::from(Arc::new(config)), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let url = format!("https://{}", listener.local_addr().unwrap());
    let arrived = Arc::<Mutex<Vec<String>>>::default();
    let (mut task, seen) = (JoinSet::new(), arrived.clone());
    task.spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut bytes = vec![0; 4096];
            if stream.read(&mut bytes).await.is_ok_and(|it| it > 0) {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                seen.lock().unwrap().push(text.lines().next().unwrap_or_default().to_owned());
                let answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
                let _ = stream.write_all(answer).await;
                let _ = stream.shutdown().await;
            }
        }
    });
    AskingServer { url, arrived, _task: task }
}

fn shown(folder: &Folder, (cert, key): &(String, String)) -> ClientCertificate {
    ClientCertificate { cert_file: folder.write("cert.pem", cert), key_file: folder.write("key.pem", key) }
}

fn place(url: &str, ca_file: PathBuf, client_certificate: Option<ClientCertificate>) -> Endpoint {
    let addresses = AllowedAddresses::Public;
    Endpoint { ca_file: Some(ca_file), client_certificate, addresses, ..endpoint(url) }
}

#[tokio::test]
async fn a_server_that_asks_is_shown_the_certificate() {
    let (folder, authority) = (Folder::new(), Authority::new());
    let server = server(&authority).await;
    let ca_file = folder.write("ca.pem", &authority.pem());
    let without = Setup::new([place(&server.url, ca_file.clone(), None)]).load().await;
    assert!(!matches!(without.send(&get(&["v2"])).await, Outcome::Answered { .. }));

    let files = shown(&folder, &Authority::new().signed("of-another-authority"));
    let lab = Setup::new([place(&server.url, ca_file, Some(files))]).load().await;
    assert!(!matches!(lab.send(&get(&["v2"])).await, Outcome::Answered { .. }));
    shown(&folder, &authority.signed("aerostat"));
    match lab.send(&get(&["v2"])).await {
        Outcome::Answered { status: 200, .. } => {}
        other => panic!("the files were replaced, and are read for each connection: {other:?}"),
    }
    folder.write("key.pem", "none");
    assert!(matches!(lab.send(&get(&["v2"])).await, Outcome::Answered { .. }), "the last ones that fit stay in use");
}

#[tokio::test]
async fn a_keystone_that_asks_is_shown_the_certificate() {
    let (folder, authority) = (Folder::new(), Authority::new());
    let server = server(&authority).await;
    let settings = KeystoneSettings {
        base_url: BaseUrl::parse(&server.url).unwrap(),
        login: KeystoneLogin::Token { file: folder.write("token", "gAAAA") },
        project: None,
        addresses: AllowedAddresses::Public,
        ca_file: Some(folder.write("ca.pem", &authority.pem())),
        client_certificate: Some(shown(&folder, &authority.signed("aerostat"))),
        proxy: None,
    };
    let kind = CredentialKind::Keystone(Box::new(settings));
    let credential = CredentialSettings { name: "openstack".to_owned(), kind, limits: WriteLimits::default() };
    let credentials = Credentials::load(vec![credential]).unwrap();
    // An egress leads the way to Keystone, also where no endpoint has the credential.
    let _lab = Setup { credentials: credentials.clone(), ..Setup::new([]) }.load().await;
    let mut renewals = JoinSet::new();
    renewals.spawn(credentials.watch());
    let arrived = async || server.arrived.lock().unwrap().first().cloned();
    assert_eq!(wait::until("Keystone is asked", arrived).await, "POST /v3/auth/tokens HTTP/1.1");
}
