//! A server that sends bytes instead of answers, and notices when its clients have gone.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, copy, sink, split};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::tls::Identity;

/// What HTTP/2 clients begin with.
const PREFACE: usize = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();
/// The length of an HTTP/2 frame's head, and the type of frames that begin a request.
const FRAME_HEAD: usize = 9;
const HEADERS: u8 = 1;

/// What a [`Raw`] server sends on each connection.
#[derive(Clone, Debug, Default)]
pub struct Bytes {
    /// At once.
    pub greeting: Vec<u8>,
    /// When a request has begun.
    pub answer: Vec<u8>,
    /// Then, again and again, until the client has gone. Empty: nothing.
    pub flood: Vec<u8>,
    /// Whether it reads nothing more once a request has begun. It must flood, or it would not notice an end.
    pub deaf: bool,
}

/// A server on loopback, with a certificate for 127.0.0.1. It stops when it is dropped.
pub struct Raw {
    address: SocketAddr,
    ca: String,
    open: Arc<AtomicUsize>,
    accepted: Arc<AtomicUsize>,
    _server: JoinSet<()>,
}

impl Raw {
    /// Speaks HTTP/2 until the first request.
    ///
    /// # Panics
    ///
    /// Panics if there is no port to listen on.
    pub async fn http2(bytes: Bytes) -> Self {
        Self::start(Identity::new(&["127.0.0.1"], &[b"h2"]), true, bytes).await
    }

    /// Speaks HTTP/1.1 until the first request.
    ///
    /// # Panics
    ///
    /// Panics if there is no port to listen on.
    pub async fn http1(bytes: Bytes) -> Self {
        Self::start(Identity::new(&["127.0.0.1"], &[]), false, bytes).await
    }

    async fn start(identity: Identity, is_http2: bool, bytes: Bytes) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("the listener is bound");
        let (open, accepted) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (ca, counts) = (identity.ca.clone(), (open.clone(), accepted.clone()));
        let mut server = JoinSet::new();
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, bytes, open) = (identity.acceptor.clone(), bytes.clone(), counts.0.clone());
                open.fetch_add(1, SeqCst);
                counts.1.fetch_add(1, SeqCst);
                connections.spawn(async move {
                    // A client that breaks off is what this server waits for.
                    if let Ok(stream) = acceptor.accept(stream).await {
                        let _ = converse(stream, is_http2, bytes).await;
                    }
                    open.fetch_sub(1, SeqCst);
                });
            }
        });
        Self { address, ca, open, accepted, _server: server }
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

/// Returns when the client has closed the connection.
async fn converse(
    stream: tokio_rustls::server::TlsStream<tokio::net::TcpStream>,
    is_http2: bool,
    bytes: Bytes,
) -> io::Result<()> {
    let (mut reader, mut writer) = split(stream);
    writer.write_all(&bytes.greeting).await?;
    writer.flush().await?;
    if is_http2 {
        http2_request(&mut reader).await?
    } else {
        http1_request(&mut reader).await?
    }
    let write = async {
        writer.write_all(&bytes.answer).await?;
        writer.flush().await?;
        while !bytes.flood.is_empty() {
            writer.write_all(&bytes.flood).await?;
        }
        std::future::pending().await
    };
    let read = async {
        if bytes.deaf {
            return std::future::pending().await;
        }
        copy(&mut reader, &mut sink()).await
    };
    tokio::select! {
        written = write => written,
        ended = read => ended.map(|_| ()),
    }
}

async fn http1_request(reader: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    let mut seen = Vec::new();
    while !seen.ends_with(b"\r\n\r\n") {
        seen.push(reader.read_u8().await?);
    }
    Ok(())
}

async fn http2_request(reader: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    reader.read_exact(&mut [0; PREFACE]).await?;
    loop {
        let mut head = [0; FRAME_HEAD];
        reader.read_exact(&mut head).await?;
        let [high, middle, low, kind, ..] = head;
        let length = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
        reader.read_exact(&mut vec![0; length]).await?;
        if kind == HEADERS {
            return Ok(());
        }
    }
}
