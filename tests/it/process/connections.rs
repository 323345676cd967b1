//! Hundreds of hostile clients on the port of `/healthz`: the kubelet's probe is answered all the time.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tests::control_plane::cluster;
use tests::{guests, wait};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::interval;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::setup::{Setup, admin_token};

/// `timeoutSeconds` of the probes in `deploy/deployment.yaml`.
const PROBE: Duration = Duration::from_secs(5);

/// As many failures in a row end the container, and as many again.
const PROBES: usize = 6;

/// A client's behaviour, again and again, on each of many connections.
#[derive(Clone, Copy, Debug)]
enum Client {
    /// Connects, and sends nothing.
    Silent,
    /// Sends its TLS handshake byte by byte.
    SlowHandshake,
    /// Sends the head of its request byte by byte.
    SlowHead,
    /// Sends a thousand requests at once, and reads no answer.
    SlowReader,
    /// Sends one request after the other, and reads the answers.
    KeepAlive,
}

impl Client {
    /// More than there are places for it.
    fn count(self) -> usize {
        match self {
            Self::Silent | Self::SlowHandshake => 400,
            Self::SlowHead | Self::SlowReader | Self::KeepAlive => 100,
        }
    }

    /// Misuses a connection until the server ends it.
    async fn visit(self, from: IpAddr, server: SocketAddr, arrived: &AtomicUsize) -> std::io::Result<()> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((from, 0).into())?;
        let mut tcp = socket.connect(server).await?;
        match self {
            Self::Silent => {
                arrived.fetch_add(1, SeqCst);
                tcp.read_u8().await?;
            }
            Self::SlowHandshake => {
                // The head of a record that announces a ClientHello of 16000 bytes.
                tcp.write_all(&[22, 3, 1, 62, 128]).await?;
                arrived.fetch_add(1, SeqCst);
                drip(&mut tcp, &[1, 0, 62, 124]).await?;
            }
            Self::SlowHead => {
                let mut tls = encrypt(tcp).await?;
                tls.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nx: ").await?;
                arrived.fetch_add(1, SeqCst);
                drip(&mut tls, b"xxxx").await?;
            }
            Self::SlowReader => {
                let mut tls = encrypt(tcp).await?;
                arrived.fetch_add(1, SeqCst);
                tls.write_all(&b"GET /healthz?verbose HTTP/1.1\r\nhost: x\r\n\r\n".repeat(1000)).await?;
                drip(&mut tls, b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await?;
            }
            Self::KeepAlive => {
                let mut tls = encrypt(tcp).await?;
                let (mut ticks, mut answer) = (interval(Duration::from_millis(500)), [0; 4096]);
                tls.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await?;
                arrived.fetch_add(1, SeqCst);
                while tls.read(&mut answer).await? > 0 {
                    ticks.tick().await;
                    tls.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await?;
                }
            }
        }
        Ok(())
    }
}

/// Sends these bytes again and again, one every 200 ms.
async fn drip(stream: &mut (impl tokio::io::AsyncWrite + Unpin), bytes: &[u8]) -> std::io::Result<()> {
    let mut ticks = interval(Duration::from_millis(200));
    for byte in bytes.iter().cycle() {
        ticks.tick().await;
        stream.write_all(&[*byte]).await?;
    }
    Ok(())
}

/// Believes every certificate, as kubelets do when they probe.
#[derive(Debug)]
struct Anybody(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

async fn encrypt(tcp: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
    let provider = ring::default_provider();
    let anybody = Anybody(provider.signature_verification_algorithms);
    let config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(anybody))
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config)).connect(ServerName::from(IpAddr::from(Ipv4Addr::LOCALHOST)), tcp).await
}

/// Many clients, which connect again whenever their connection ends, until this is dropped.
struct Clients(#[expect(dead_code, reason = "its tasks end when it is dropped")] JoinSet<()>);

impl Clients {
    /// Waits until every client has connected once.
    async fn connect(client: Client, port: u16, from: impl Fn(usize) -> Ipv4Addr) -> Self {
        let (arrived, server) = (Arc::new(AtomicUsize::new(0)), SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let mut tasks = JoinSet::new();
        for number in 0..client.count() {
            let (from, arrived) = (from(number), arrived.clone());
            tasks.spawn(async move {
                let mut ticks = interval(Duration::from_secs(2));
                loop {
                    ticks.tick().await;
                    // An error is the server's end of it.
                    let _ = client.visit(from.into(), server, &arrived).await;
                }
            });
        }
        wait::until(&format!("{} clients, each {client:?}", client.count()), async || {
            (arrived.load(SeqCst) >= client.count()).then_some(())
        })
        .await;
        Self(tasks)
    }
}

/// Probes as a kubelet does: each time on a connection of its own. Returns how long the slowest took.
async fn probe(port: u16) -> Duration {
    let (mut slowest, mut ticks) = (Duration::ZERO, interval(Duration::from_millis(500)));
    for number in 1..=PROBES {
        ticks.tick().await;
        let client = reqwest::Client::builder().danger_accept_invalid_certs(true).no_proxy().timeout(PROBE);
        let client = client.pool_max_idle_per_host(0).build().unwrap();
        let begin = Instant::now();
        let answer = client.get(format!("https://127.0.0.1:{port}/healthz")).send().await;
        let status = answer.map(|it| it.status().as_u16());
        assert!(matches!(status, Ok(200)), "probe {number} after {:?}: {status:?}", begin.elapsed());
        slowest = slowest.max(begin.elapsed());
    }
    slowest
}

/// Probes beside many clients at the probe's own address, and beside as many that have an address each.
async fn check(client: Client) {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE);
    let process = setup.started().await;
    let clients = Clients::connect(client, setup.port, |_| Ipv4Addr::LOCALHOST).await;
    let beside = probe(setup.port).await;
    drop(clients);
    let own = |number: usize| Ipv4Addr::from_bits(0x7f01_0001 + u32::try_from(number).unwrap());
    let _clients = Clients::connect(client, setup.port, own).await;
    let among = probe(setup.port).await;
    eprintln!(
        "{client:?}: the slowest probe took {beside:?} beside clients at its address, {among:?} beside clients at many"
    );
    process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn adv_102_idle_clients_do_not_stop_probes() {
    check(Client::Silent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn adv_102_slow_handshakes_do_not_stop_probes() {
    check(Client::SlowHandshake).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn adv_102_slow_heads_do_not_stop_probes() {
    check(Client::SlowHead).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn adv_102_slow_readers_do_not_stop_probes() {
    check(Client::SlowReader).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn adv_102_busy_clients_do_not_stop_probes() {
    check(Client::KeepAlive).await;
}

/// As many unknown tokens, and as many paths that are not served.
const UNKNOWN: usize = 300;

#[tokio::test(flavor = "multi_thread")]
async fn adv_102_unknown_callers_are_no_load_on_the_api_server() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE);
    let process = setup.started().await;
    let admin = admin_token(&cluster).await;
    assert_eq!(process.get("/metrics", Some(&admin)).await.code, 200);
    let log = cluster.audit().from_now().unwrap();
    let begin = Instant::now();
    let client = reqwest::Client::builder().danger_accept_invalid_certs(true).no_proxy().build().unwrap();
    let mut refused = 0;
    for number in 0..UNKNOWN {
        let url = |path: &str| format!("https://127.0.0.1:{}{path}", setup.port);
        let unknown = client.get(url("/healthz")).bearer_auth(format!("unknown-{number}"));
        let invented = client.get(url(&format!("/invented/{number}")));
        for (request, refusal) in [(unknown, 401), (invented, 403)] {
            match request.send().await.unwrap().status().as_u16() {
                429 => refused += 1,
                other => assert_eq!(other, refusal),
            }
        }
    }
    assert!(refused > 0, "a review was asked for each caller");
    // A caller that was known before is served, although unknown callers have used up their part.
    assert_eq!(process.get("/metrics", Some(&admin)).await.code, 200);
    assert_eq!(process.get("/healthz", None).await.code, 200);

    log.settle(&cluster.admin).await.unwrap();
    let seconds = usize::try_from(begin.elapsed().as_secs() + 1).unwrap();
    let reviews = log.everything().unwrap().iter().filter(|it| it.is_aerostats() && it.uri.contains("review")).count();
    // A burst of 100, 5 a second, and what the admin needed.
    assert!((100..=100 + 5 * seconds + 4).contains(&reviews), "{reviews} reviews in {seconds} s");
    assert!(reviews + refused >= 2 * UNKNOWN, "{reviews} reviews, {refused} refusals");
    process.stop().await;
}
