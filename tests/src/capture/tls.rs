//! Servers that speak TLS, each with a certificate from an authority made for it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls_pki_types::PrivateKeyDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

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

/// A server on loopback, with a certificate for 127.0.0.1. It stops when it is dropped.
pub struct TlsServer {
    address: SocketAddr,
    ca: String,
    accepted: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    _server: JoinSet<()>,
}

impl TlsServer {
    /// Speaks one of these protocols, if any are given, and lets `serve` have each connection until it returns.
    pub(super) async fn start<S: Future<Output = ()> + Send>(
        protocols: &[&[u8]],
        serve: impl Fn(TlsStream<TcpStream>) -> S + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("the listener is bound");
        let Identity { ca, acceptor } = Identity::new(&["127.0.0.1"], protocols);
        let (accepted, open, serve) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default(), Arc::new(serve));
        let counts = (accepted.clone(), open.clone());
        let mut server = JoinSet::new();
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, serve, open) = (acceptor.clone(), serve.clone(), counts.1.clone());
                counts.0.fetch_add(1, SeqCst);
                open.fetch_add(1, SeqCst);
                connections.spawn(async move {
                    // A client that breaks off is what some tests are about.
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve(stream).await;
                    }
                    open.fetch_sub(1, SeqCst);
                });
            }
        });
        Self { address, ca, accepted, open, _server: server }
    }

    /// Speaks TLS before a server that does not.
    pub async fn before(address: SocketAddr) -> Self {
        Self::start(&[], move |mut outside| async move {
            if let Ok(mut inside) = TcpStream::connect(address).await {
                // Either end may close it as it likes.
                let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
            }
        })
        .await
    }

    /// `https://127.0.0.1:…`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The certificate authority, in PEM.
    #[must_use]
    pub fn ca(&self) -> &str {
        &self.ca
    }

    /// How many connections were accepted.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.accepted.load(SeqCst)
    }

    /// How many of them the client has not closed.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.load(SeqCst)
    }
}
